// The text of an error for a client, with the prefix by which clients tell errors apart.
//
// Threads: any; the functions keep nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "exec/unit.h"
#include "frontend/resp/command.h"
#include "frontend/resp/work.h"
#include "model/account.h"
#include "model/error.h"

namespace rowsocket::frontend {

/// How the error of EXEC begins: with the number of the command that is to blame, from 1; 0: WATCH.
std::string Blame(size_t number);
/// The error of a command that has too few arguments, or too many. `subcommand`: in upper or lower
/// case; empty: none.
std::string RespWrongCount(std::string_view command, std::string_view subcommand = {});
/// The error of a command that does not exist. The text has the bytes that the client sent; those
/// that would end the line are replaced. Before the login `arguments` is the command alone: the
/// arguments of a misspelt AUTH are a password.
std::string RespUnknownCommand(RespArguments arguments);
/// The error of a command, or of a transaction, with more than kRespUnitKeysMax keys.
std::string RespTooManyKeys();
/// The error of an EXEC that is refused before anything of it is tried.
std::string RespNothingDone(std::string_view why);
/// The error that a client gets, with its prefix.
std::string RespErrorText(const model::Error& error, const RespWork& work);
/// The error of a call that names fields which its table lacks, or which rowsocket.keyspaces hides.
std::string RespNoField(const RespCall& call);
/// The error of a call whose keyspace names a table that does not exist. `may_name_tables`: the
/// client may know the table's name.
std::string RespNoTable(const RespCall& call, bool may_name_tables);
/// The GRANT of privileges on a table to the account.
std::string RespGrant(std::string_view privileges, std::string_view db, std::string_view table,
                      const model::Account& account);
/// The error of a call whose account lacks a privilege: with the GRANT.
std::string RespDeniedText(const RespCall& call, const model::Account& account);
/// The text of an error of one call, or of several calls together. `call`: the call that has
/// failed; null: not one call alone. `account`: the connection's; null: it may do everything.
std::string RespFailureText(const model::Error& error, const RespWork& work, const RespCall* call,
                            const model::Account* account);
/// Appends the reply to an item that has failed, or whose unit was stopped. `unit`: the item's;
/// null: the item has none. `account`: the connection's; null: it may do everything.
void AppendRespFailure(const RespWork& work, const exec::Unit* unit, const model::Error& error,
                       const model::Account* account, base::Buffer& out);

}  // namespace rowsocket::frontend
