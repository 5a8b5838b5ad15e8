// Commands on rows: a row is a hash whose fields are its columns. NULL is an absent field; the
// key's columns are no fields.
//
// Threads: const, any. Errors: outcomes of the engine; RespWork::wrong where it has none.
#pragma once

#include <string>
#include <string_view>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// The columns that a command opens: `names->columns`, or what `names->lists` says.
void NameColumns(const RespCall& call, engine::IndexNames* names);
/// Makes the request of a call whose index is open. Empty, or the text of an error.
std::string_view PrepareCall(RespCall& call, const model::Account* account, base::Arena& arena);
/// Whether no row can have the call's key, because its columns cannot hold the key, or because a
/// number in it is not written as the server writes it. Of such keys the engine is asked nothing.
bool IsOfNoRow(const RespCall& call, engine::Session& session);
/// Executes the call and appends its reply; of several keys, the reply comes with the last one.
engine::Outcome ExecuteCall(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                            engine::Session& session, base::Buffer& out);

/// Whether the call is OBJECT FREQ of a key that is there, which is an error, then `work->wrong`.
bool RefusesFrequency(const RespCall& call, bool is_there, RespWork* work);

/// What stands in front of the error of EXEC: which of the commands is to blame, from 1; 0: WATCH.
std::string Blame(size_t number);
/// The error of an EXEC that is refused before anything of it is tried.
std::string RespNothingDone(std::string_view why);
/// The error that a client gets, with its prefix.
std::string RespErrorText(const model::Error& error, const RespWork& work);
/// The error of a call that names fields which its table does not have, or which
/// rowsocket.keyspaces leaves out.
std::string RespNoField(const RespCall& call);
/// The error of a call whose keyspace is of a table that is not there. `tells`: the client may know
/// the table's name.
std::string RespNoTable(const RespCall& call, bool tells);
/// The error of a call whose account lacks a privilege: with the GRANT.
std::string RespDeniedText(const RespCall& call, const model::Account& account);

}  // namespace rowsocket::frontend
