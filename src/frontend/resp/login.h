// How a client of RESP logs in: AUTH and HELLO.
//
// Flow: AppendAuth or AppendHello answers the command at once, or makes its item one that asks for
// a login; Ended appends the answer when the login has been checked. A login that fails changes
// nothing: as in Redis, an earlier login goes on.
// Threads: one at a time.
// Lifetime: one for each connection; what the port shares, the connection's state and its own
// client outlive it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"
#include "exec/frontend.h"
#include "frontend/resp/command.h"
#include "frontend/resp/own_client.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/state.h"
#include "model/account.h"
#include "model/error.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

class RespLogin {
 public:
  RespLogin(const RespShared& shared, RespState& state, RespOwnClient& own_client)
      : shared_(shared), state_(state), own_client_(own_client) {}

  /// Whether the client is logged in. Without accounts, every client is.
  bool is_logged_in() const { return is_logged_in_; }
  /// Whether a command that is answered unchecked may hold a password: one that logs in, or,
  /// because it may be misspelt, any before the login. Null: the command does not exist.
  bool MayHoldPassword(const RespCommand* command) const {
    if (!shared_.accounts) return false;
    return !is_logged_in_ || (command != nullptr && (command->verb == RespVerb::kAuth ||
                                                     command->verb == RespVerb::kHello));
  }
  /// RESET: makes the connection what it was when it began.
  void Reset() { is_logged_in_ = !shared_.accounts; }

  // AppendAuth and AppendHello append a reply, or make the item ask for a login.
  void AppendAuth(RespArguments arguments, base::Arena& arena, base::Buffer& out, exec::Item* item);
  /// HELLO. `account`: the connection's; null: it may do everything, once it is logged in.
  void AppendHello(RespArguments arguments, const model::Account* account, base::Arena& arena,
                   base::Buffer& out, exec::Item* item);
  /// Appends the answer to a login that has been checked. `account`: the connection's new one;
  /// null: it may do everything.
  void Ended(const model::Error& answer, const model::Account* account, base::Buffer& out);

 private:
  /// What a successful HELLO sets.
  struct Hello {
    resp::Version version = resp::Version::k2;
    std::optional<std::string> name;
  };

  static void LogIn(std::string_view user, std::string_view password, base::Arena& arena,
                    exec::Item* item);
  void Take(const Hello& hello);
  /// Appends the reply to a successful HELLO.
  void AppendServer(base::Buffer& out) const;

  const RespShared& shared_;
  RespState& state_;
  RespOwnClient& own_client_;
  bool is_logged_in_ = !shared_.accounts;
  std::optional<Hello> hello_;  ///< Has a value if the login under way is HELLO's.
};

}  // namespace rowsocket::frontend
