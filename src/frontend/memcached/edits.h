// Every verb that may change a row. Its editor decides on the locked row, so that what the decision
// depends on (whether there is a row, whether it has expired, its cas, its number) cannot change
// meanwhile.
//
// Flow: ExecuteEdit executes one edit for each key, then writes the reply of the last decision.
// Threads: the session's.
// Errors: an outcome that is not ok leaves a part of the reply in `out`, which the caller takes
// back.
#pragma once

#include <array>
#include <span>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"

namespace rowsocket::frontend {

/// Whether the command is executed as an edit.
bool IsEdit(const memcached::Command& command);

/// The request of an edit, which tells the executor that the item writes, and to which row. Its
/// editor leaves every row as it is; ExecuteEdit puts in the editor that decides. For several keys
/// (gat) it names no row.
model::Request EditRequest(const MemcachedWork& work);

/// Columns that an edit may change: values, flags, cas and expiry.
inline constexpr size_t kEditColumnsMax =
    model::kContainerValuesMax + keyspace::kItemColumnsBesidesValues;
/// Notes in the request what the command may do to a row of the container, by which the rights of
/// its account are judged. `columns`: room for the columns that it may update.
void SetEditRights(const memcached::Command& command, const keyspace::Container& container,
                   int64_t now_ms, std::span<uint32_t> columns, model::Edit* edit);

/// Executes an edit, and appends its reply. `request`: the result of EditRequest.
engine::Outcome ExecuteEdit(MemcachedShared& shared, MemcachedWork& work, model::Request request,
                            engine::Session& session, base::Buffer& out);

}  // namespace rowsocket::frontend
