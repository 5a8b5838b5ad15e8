// The commands of RESP that change their connection, and are answered without the engine: its login
// (AUTH, HELLO), its database (SELECT), MULTI, DISCARD, UNWATCH, and its end (QUIT). RESET, which
// also changes the account, is in RespFrontend.
//
// Flow: RespStateChanges::Note, if the change may have to be taken back; then Append.
// Threads: one at a time.
// Lifetime: one for each connection, whose parts outlive it.
#pragma once

#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"
#include "exec/frontend.h"
#include "frontend/resp/command.h"
#include "frontend/resp/login.h"
#include "frontend/resp/own_client.h"
#include "frontend/resp/state.h"
#include "frontend/resp/state_changes.h"
#include "model/account.h"

namespace rowsocket::frontend {

class RespConnectionCommands {
 public:
  RespConnectionCommands(RespState& state, RespStateChanges& changes, RespOwnClient& own_client,
                         RespLogin& login)
      : state_(state), changes_(changes), own_client_(own_client), login_(login) {}

  /// Carries out the command, and appends its reply, or makes its item one that asks for a login.
  /// False: the command is none of those above. `account`: the connection's; null: it may do
  /// everything.
  bool Append(RespVerb verb, RespArguments arguments, const model::Account* account,
              base::Arena& arena, base::Buffer& out, exec::Item* item);

 private:
  /// Changes the database. Returns an empty text, or an error.
  std::string_view Select(std::string_view text, const model::Account* account);

  RespState& state_;
  RespStateChanges& changes_;
  RespOwnClient& own_client_;
  RespLogin& login_;
};

}  // namespace rowsocket::frontend
