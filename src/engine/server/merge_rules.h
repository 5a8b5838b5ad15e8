// Which requests of an index may be merged into one change of a row (S7, S9 of engine/session.h):
// requests whose answers and changes depend on nothing but the values of the row.
//
// Threads: the session's. Lifetime: as what a IndexState has looked up.
#pragma once

#include "api.h"
#include "engine/server/index.h"
#include "engine/server/tables.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

MergeRules FindMergeRules(const OpenTable& open, const IndexState& index);

}  // namespace rowsocket::engine::server
