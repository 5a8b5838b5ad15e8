// Which columns of a row are fields: all but those of the key, or those that a keyspace of kind
// row names (rowsocket.keyspaces); and the column that holds when a row expires.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "frontend/resp/work.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {

inline constexpr size_t kNoColumn = SIZE_MAX;

/// Whether the column holds when the call's row expires. Such a column is no field.
bool IsExpiry(const RespCall& call, std::string_view column);
/// Where it stands among the columns of the call's index, behind the fields where these are listed;
/// kNoColumn: there is none.
size_t ExpiryColumnAt(const RespCall& call);
/// Whether the cell of this column says that the row has expired.
bool IsExpired(const RespCall& call, const model::Value& cell);
/// Why keys of a keyspace whose rows expire cannot be used; empty: they can.
/// `may_name_tables`: the client may know of tables that it has no rights on.
std::string WhyNoExpiry(const keyspace::Keyspace& keyspace, bool may_name_tables);

/// Whether the keyspace of the call's key does not have the column as a field.
bool IsHidden(const RespCall& call, std::string_view column);
/// Says that fields which are hidden are absent to a command that reads or deletes them. False: the
/// command sets or compares one.
bool HideFields(RespCall* call);
/// Whether a field that the call's table has no column for is just absent: a name that is read, or
/// that is to go.
bool MayLackFields(const RespCall& call);
/// Sorts the names, and leaves each of them once. One command may have kColumnsMax names: to look
/// for each among all others would keep its worker busy.
template <typename Name>
void LeaveEachOnce(std::vector<Name>* names) {
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
}
/// Leaves the columns that a command may open. `all`: the command reads all fields.
void ShowFields(const RespCall& call, bool all, engine::IndexNames* names);

}  // namespace rowsocket::frontend
