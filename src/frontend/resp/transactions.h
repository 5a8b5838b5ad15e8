// The transactions of one connection of RESP: the commands between MULTI and EXEC become one item.
//
// Flow: Queue for each command after MULTI, then Exec. TakeWhole takes a transaction that has come
// as a whole at once. Both add the comparison of the watched keys, the calls of all commands
// (call_maker.h) with their indexes (call_opener.h), and a token (tokens.h).
// Threads: one at a time.
// Lifetime: one for each connection, whose parts outlive it.
// Limits: kRespCommandsMax commands of resp_request_max_bytes in all; kRespUnitKeysMax keys;
// kRespWatchedKeysMax watched keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "exec/frontend.h"
#include "frontend/resp/call_maker.h"
#include "frontend/resp/call_opener.h"
#include "frontend/resp/command.h"
#include "frontend/resp/index_finder.h"
#include "frontend/resp/server_commands.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/state.h"
#include "frontend/resp/state_changes.h"
#include "frontend/resp/tokens.h"
#include "frontend/resp/watched_keys.h"
#include "frontend/resp/work.h"
#include "model/account.h"
#include "protocol/resp/request.h"

namespace rowsocket::frontend {

class RespTransactions {
 public:
  /// What a transaction needs of its connection.
  struct Parts {
    RespState& state;
    RespStateChanges& changes;
    const RespWatchedKeys& watched;
    const RespCallMaker& maker;
    RespIndexFinder& finder;
    RespCallOpener& opener;
    RespTokens& tokens;
    RespServerCommands& server;
  };

  RespTransactions(const RespShared& shared, const Parts& parts)
      : shared_(shared),
        state_(parts.state),
        changes_(parts.changes),
        watched_(parts.watched),
        maker_(parts.maker),
        finder_(parts.finder),
        opener_(parts.opener),
        tokens_(parts.tokens),
        server_(parts.server) {}

  // `account`: the connection's; null: it may do everything.
  /// Answers a command after MULTI: it is queued, or refused, which makes the transaction fail.
  void Queue(const RespCommand& command, RespArguments arguments, const model::Account* account,
             base::Arena& arena, exec::Item* item);
  /// Makes the item of EXEC. False: an index has to be opened first, and EXEC is parsed again.
  bool Exec(const model::Account* account, base::Arena& arena, exec::Item* item);
  /// Takes a transaction whose EXEC is in the input, too. `consumed`: the bytes of its MULTI;
  /// `limits`: the limits of each of its commands. Returns the bytes of the transaction, 0 if an
  /// index has to be opened first, and no value if its commands are to be taken one by one.
  std::optional<size_t> TakeWhole(std::string_view input, size_t consumed,
                                  const resp::RequestLimits& limits, const model::Account* account,
                                  base::Arena& arena, exec::Item* item);

 private:
  /// A command between MULTI and EXEC; the arguments lie in the input or the arena.
  struct CommandWithArguments {
    const RespCommand* command;
    RespArguments arguments;
  };
  struct Transaction {
    std::vector<RespCall> calls;
    uint32_t commands = 0;
    size_t key_calls = 0;    ///< The calls that ask the engine, without those of watched keys.
    std::string_view token;  ///< The token that ROW.ONCE has given; empty: none.
    /// The words of each command, from which RespTokens::IdentityOf makes the token's identity.
    std::vector<RespArguments> identity_words;
  };

  /// Why the command may not stand between MULTI and EXEC; empty: it may. `bytes`: the bytes of all
  /// commands up to this one; `before`: how many commands come before it; `has_token`: one of them
  /// is ROW.ONCE.
  std::string WhyNotQueued(const CommandWithArguments& added, size_t bytes, size_t before,
                           bool has_token) const;
  /// Adds the calls that compare the watched keys. False: `*error` says why not.
  bool AddWatched(const model::Account* account, base::Arena& arena, std::vector<RespCall>* calls,
                  std::string* error) const;
  /// Adds the calls of a command between MULTI and EXEC. False: `*error` says why not.
  bool AddCommand(const CommandWithArguments& added, const model::Account* account,
                  base::Arena& arena, exec::Item* item, Transaction* transaction,
                  std::string* error) const;
  /// AddCommand for a command that is answered without the engine.
  bool AddAnswered(const CommandWithArguments& added, const model::Account* account,
                   base::Arena& arena, exec::Item* item, Transaction* transaction,
                   std::string* error) const;
  /// Makes the item of EXEC. `error`: why the transaction cannot be; empty: it can. False: an index
  /// has to be opened first, and EXEC is parsed again.
  bool Make(Transaction& transaction, std::string error, const model::Account* account,
            base::Arena& arena, exec::Item* item);
  /// Makes the item of EXEC from what MULTI has queued. False: an index has to be opened first, and
  /// EXEC is parsed again.
  bool PrepareQueued(const model::Account* account, base::Arena& arena, exec::Item* item);

  const RespShared& shared_;
  RespState& state_;
  RespStateChanges& changes_;
  const RespWatchedKeys& watched_;
  const RespCallMaker& maker_;
  RespIndexFinder& finder_;
  RespCallOpener& opener_;
  RespTokens& tokens_;
  RespServerCommands& server_;
};

}  // namespace rowsocket::frontend
