// How a command of RESP becomes calls: one for each of its keys, or one for all keys that match its
// pattern.
//
// Flow: Make for a command by itself; Add for the commands of a transaction, one after the other.
// Each call then says which row its key names (key_locator.h), but has neither index nor request.
// Threads: one at a time.
// Lifetime: one for each connection; what the port shares, the connection's state and its locator
// outlive it. Calls have views of their command's arguments; they lie in the arena, or where Add
// puts them.
// Limits: kRespUnitKeysMax keys and kColumnsMax fields of a command. The keys of a transaction are
// counted in transactions.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "frontend/resp/command.h"
#include "frontend/resp/key_locator.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/state.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

class RespCallMaker {
 public:
  RespCallMaker(const RespShared& shared, const RespState& state, const RespKeyLocator& locator)
      : shared_(shared), state_(state), locator_(locator) {}

  // `may_name_tables`: the client may know the names of tables.
  /// Makes the calls of a command that is no part of a transaction. None: `*error` says why;
  /// otherwise it is empty.
  std::span<RespCall> Make(const RespCommand& command, RespArguments arguments,
                           bool may_name_tables, base::Arena& arena, std::string* error) const;
  /// Adds the calls of a command to those of others, however many these are. False: `*error` says
  /// why not; otherwise it is empty.
  bool Add(const RespCommand& command, RespArguments arguments, bool may_name_tables,
           base::Arena& arena, std::vector<RespCall>* calls, std::string* error) const;

 private:
  /// Makes the calls of a command that has one for each of its keys, as many as it has keys. False:
  /// `*error` says why not.
  bool MakeForKeys(const RespCommand& command, RespArguments arguments, bool may_name_tables,
                   base::Arena& arena, std::span<RespCall> calls, std::string* error) const;
  /// Completes the call of one key, which already knows the position of its key among the
  /// arguments. False: `*error` says why not.
  bool MakeOne(const RespCommand& command, RespArguments arguments, bool may_name_tables,
               base::Arena& arena, RespCall* call, std::string* error) const;
  /// Add for EVAL or EVALSHA.
  bool AddScript(const RespCommand& command, RespArguments arguments, bool may_name_tables,
                 base::Arena& arena, std::vector<RespCall>* calls, std::string* error) const;
  /// Add for RENAME or COPY.
  bool AddMove(const RespCommand& command, RespArguments arguments, bool may_name_tables,
               base::Arena& arena, std::vector<RespCall>* calls, std::string* error) const;

  const RespShared& shared_;
  const RespState& state_;
  const RespKeyLocator& locator_;
};

std::span<RespCall> CopyCalls(std::span<const RespCall> calls, base::Arena& arena);

}  // namespace rowsocket::frontend
