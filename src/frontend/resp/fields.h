// Which columns of a row are fields: all but those of the key, or those that a keyspace of kind
// row names (rowsocket.keyspaces).
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// Whether the keyspace of the call's key does not have the column as a field.
bool IsHidden(const RespCall& call, std::string_view column);
/// Says that fields which are hidden are absent to a command that reads or deletes them. False: the
/// command sets or compares one.
bool HideFields(RespCall* call);
/// Leaves the columns that a command may open. `all`: the command reads all fields.
void ShowFields(const RespCall& call, bool all, engine::IndexNames* names);

}  // namespace rowsocket::frontend
