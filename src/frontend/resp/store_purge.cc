// How expired strings are removed.
#include <string>

#include "base/clock.h"
#include "frontend/resp/store.h"
#include "frontend/resp/stored_row.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::Value;

// When it is time again is asked of a clock that does not step back, as the calendar's may.
void RespPurge::Run(engine::Session& session) {
  const int64_t now_ms = base::CoarseNowMs();
  int64_t next_ms = next_ms_.load(std::memory_order_relaxed);
  // The worker that moves the time on has a second for itself.
  if (now_ms < next_ms || !next_ms_.compare_exchange_strong(next_ms, INT64_MAX)) return;
  const bool is_open =
      may_purge_() &&
      (index_ != nullptr ||
       session.OpenIndex({"rowsocket", "store", "expires", {}, {"expires"}}, &index_).ok());
  if (is_open) {
    const std::string now = std::to_string(NowMs());
    const Value from;  // NULL: rows that never expire come before all others.
    const model::Filter until{/*stops_scan=*/true, model::CompareOp::kLe, 0,
                              Value(std::string_view(now))};
    model::Request request;
    request.find.op = model::CompareOp::kGt;
    request.find.key = {&from, 1};
    request.find.key_parts_given = 1;
    request.find.limit = kRowsMax;
    request.find.filters = {&until, 1};
    request.find.modification = model::Modification::kDelete;
    model::NoRows none;
    session.BeginTurn(true);
    const Outcome outcome = session.Execute(*index_, request, none);
    if (outcome.ok() && outcome.rows != 0)
      session.Commit();
    else
      session.Rollback();
    if (!outcome.ok()) index_.reset();
  }
  next_ms_.store(base::CoarseNowMs() + kEveryMs);
}

}  // namespace rowsocket::frontend
