#include "keyspace/delete_rows.h"

#include <span>
#include <vector>

#include "engine/statements.h"
#include "keyspace/found_key.h"
#include "model/limits.h"

namespace rowsocket::keyspace {

using engine::Outcome;
using model::CompareOp;

model::Request DeleteRowsRequest() {
  model::Request request;
  request.find.op = CompareOp::kGe;
  request.find.limit = model::kFlushChunkRows;
  request.find.modification = model::Modification::kDelete;
  request.find.wants_before_images = true;
  return request;
}

Outcome MayDeleteRows(engine::Session& session, engine::Index& index, model::Request request) {
  request.find.wants_before_images = false;
  return session.MayExecute(index, request);
}

namespace {

/// Deletes all other rows with this key, which has a NULL, so that any number of rows may have it.
/// Rows are deleted in chunks, because an engine remembers all rows that one statement deletes.
Outcome DeleteEqual(const Container& container, engine::Session& session,
                    std::span<const model::Value> key) {
  model::Request request = DeleteRowsRequest();
  request.find.op = CompareOp::kEq;
  request.find.key = key;
  request.find.key_parts_given = static_cast<uint32_t>(key.size());
  request.find.wants_before_images = false;
  KeyCollector none(container);
  Outcome all;
  for (;;) {
    const Outcome outcome = session.Execute(*container.key_index, request, none);
    if (!outcome.ok()) return FailAfter(all, outcome);
    AddDone(outcome, &all);
    if (outcome.rows == 0) return all;
  }
}

}  // namespace

// Deletes in chunks, each after the last key of the chunk before: otherwise each search would pass
// over the rows that are deleted already.
Outcome DeleteAllRows(const Container& container, engine::Session& session) {
  model::Request request = DeleteRowsRequest();
  std::vector<FoundKey> chunk;
  std::vector<model::Value> last;
  Outcome all;
  for (;;) {
    KeyCollector keys(container);
    const Outcome outcome = session.Execute(*container.key_index, request, keys);
    if (!outcome.ok()) return FailAfter(all, outcome);
    AddDone(outcome, &all);
    if (keys.rows.empty()) return all;
    chunk = std::move(keys.rows);
    last = chunk.back().Values();
    if (chunk.back().has_null()) {
      const Outcome equal = DeleteEqual(container, session, last);
      if (!equal.ok()) return FailAfter(all, equal);
      AddDone(equal, &all);
    }
    request.find.op = CompareOp::kGt;
    request.find.key = last;
    request.find.key_parts_given = static_cast<uint32_t>(last.size());
  }
}

}  // namespace rowsocket::keyspace
