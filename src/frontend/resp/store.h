// Strings with expiry: rows of the table rowsocket.store (packaging/rowsocket_store.sql), for keys
// that name no table of the server.
//
// An expired row counts as absent; the housekeeper removes it (keyspace/housekeeper.h).
// Threads: any; the functions keep nothing.
// Errors: as in rows.h.
#pragma once

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// The names of the store, with the columns that the call needs: a value may have megabytes, and is
/// not read if only its expiry counts.
void NameStore(const RespCall& call, engine::IndexNames* names);
/// The key of a call in the store. `database`: 0 to 15, in digits.
RespKey StoreKey(std::string_view database, std::string_view key, base::Arena& arena);

/// What a command on a string may do to its row. REQUIRES: the command changes it.
RespEffect EffectOf(const RespCall& call);
/// Reads the options of a command. Returns an empty text, or an error.
std::string_view PrepareString(RespCall& call, base::Arena& arena);
engine::Outcome ExecuteString(RespWork& work, const RespCall& call, engine::Session& session,
                              base::Buffer& out);

}  // namespace rowsocket::frontend
