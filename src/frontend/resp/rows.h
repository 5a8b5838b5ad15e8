// Commands on rows: a row is a hash whose fields are its columns. NULL is an absent field; the
// key's columns are no fields.
//
// Threads: any; the functions keep nothing.
// Errors: outcomes of the engine; RespWork::wrong for errors that it does not have.
#pragma once

#include <string_view>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// Sets the columns that a command opens: `names->columns`, or `names->lists`.
void NameColumns(const RespCall& call, engine::IndexNames* names);
/// Makes the request of a call whose index is open. Returns an empty text, or an error.
std::string_view PrepareCall(RespCall& call, const model::Account* account, base::Arena& arena);
/// Whether no row can have the call's key, because its columns cannot hold the key, or because a
/// number in it is not written as the server writes it. Of such keys the engine is asked nothing.
bool NoRowCanHaveKey(const RespCall& call, engine::Session& session);
/// Executes the call and appends its reply; of several keys, the reply comes with the last one.
engine::Outcome ExecuteCall(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                            engine::Session& session, base::Buffer& out);

/// Whether the call is OBJECT FREQ, which is refused with kRespNoFrequency if the key exists.
bool AsksFrequency(const RespCall& call);
inline constexpr std::string_view kRespNoFrequency =
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
    "when switching between policies at runtime LRU and LFU data will take some time to adjust.";

}  // namespace rowsocket::frontend
