#include "frontend/resp/unit_run.h"

#include <algorithm>

#include "frontend/resp/rows.h"
#include "frontend/resp/watch.h"
#include "keyspace/time.h"
#include "model/limits.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Unit;
using model::ErrorCode;

RespUnitRun::RespUnitRun(RespWork& work, Unit& unit, engine::Session& session, size_t bytes_max,
                         base::Buffer& out)
    : work_(work),
      unit_(unit),
      session_(session),
      bytes_max_(bytes_max),
      out_(out),
      begin_(out.size()),
      has_failed_watch_(HasFailedWatch(work.calls)) {
  work_.moved = &moved_;
}

void RespUnitRun::AppendKnown() {
  for (; next_ < work_.calls.size() && !work_.calls[next_].known_reply.empty(); ++next_) {
    out_.Append(work_.calls[next_].known_reply);
  }
}

Outcome RespUnitRun::ExecuteOne(uint32_t request, bool appends) {
  const size_t before = out_.size();
  const size_t read_before = work_.bytes_read;
  work_.wrong = {};
  if (appends) AppendKnown();
  // Calls whose replies are appended are executed in their order, so the search goes on from the
  // last one.
  const auto call =
      std::find_if(work_.calls.begin() + static_cast<std::ptrdiff_t>(appends ? next_ : 0),
                   work_.calls.end(), [request](const RespCall& one) {
                     return one.known_reply.empty() && one.unit_request == request;
                   });
  const size_t left = bytes_max_ - std::min(bytes_max_, out_.size() - begin_);
  Outcome outcome = ExecuteCall(work_, *call, left, session_, out_);
  const bool is_too_large = outcome.ok() && out_.size() - begin_ > bytes_max_;
  if (is_too_large) outcome = Outcome::Fail(ErrorCode::kResultsize);
  static_assert(model::kTokenAnswerBytesMax == size_t{64} << 10, "the text names the limit");
  const bool is_kept = work_.tokened != nullptr && bytes_max_ == model::kTokenAnswerBytesMax;
  if (is_kept && outcome.error.code == ErrorCode::kResultsize && work_.wrong.empty()) {
    work_.wrong =
        "TOOLARGE the reply is larger than the 64 KiB that are kept with a token: read in another "
        "transaction";
  }
  static_assert(model::kReadBytesMax == size_t{256} << 20, "the text names the limit");
  if (outcome.ok() && work_.bytes_read > bytes_max_ + model::kReadBytesMax) {
    work_.wrong =
        "TOOLARGE a command, or a transaction, reads or makes values of at most 256 MiB and "
        "resp_reply_max_bytes: send fewer keys at a time";
    outcome = Outcome::Fail(ErrorCode::kResultsize);
  }
  if (appends) {
    ++next_;
  } else {
    out_.Truncate(before);
    work_.bytes_read = read_before;  // Run reads it again, and counts it then.
  }
  return outcome;
}

Outcome RespUnitRun::Run() {
  const keyspace::StillClock still;  // As in Redis, no key expires within a transaction.
  out_.Truncate(begin_);
  next_ = 0;
  work_.hits = work_.misses = 0;
  work_.bytes_read = 0;
  if (has_failed_watch_) {
    unit_.end = Unit::End::kStopped;
    unit_.ended_at = 0;
    unit_.rows = 0;
    return {};
  }
  if (work_.is_exec) resp::AppendArray(work_.commands, &out_);
  const Outcome outcome = exec::RunRequests(
      unit_, session_,
      [this](uint32_t request, bool appends) { return ExecuteOne(request, appends); });
  AppendKnown();
  return outcome;
}

}  // namespace rowsocket::frontend
