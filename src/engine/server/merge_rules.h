// Which requests of an index may be merged into one change of a row (S7, S9 of engine/session.h):
// requests whose answers and changes depend only on the values of the row.
//
// Threads: the session's.
// Lifetime: like all that an IndexState has looked up.
#pragma once

#include "engine/session.h"
#include "model/request.h"

namespace rowsocket::engine::server {

class IndexState;
struct OpenTable;

/// Why the requests of an index are not merged into one change of a row, for each kind of request.
struct MergeRules {
  NotMergeable find = NotMergeable::kNone;
  NotMergeable modify = NotMergeable::kNone;  ///< For updates, increments and decrements.
  NotMergeable erase = NotMergeable::kNone;   ///< For deletes.
  NotMergeable edit = NotMergeable::kNone;    ///< For edits, which update, delete and insert.

  /// The reason for a request whose key names one row.
  NotMergeable Of(const model::Request& request) const;
};

MergeRules FindMergeRules(const OpenTable& open, const IndexState& index);

}  // namespace rowsocket::engine::server
