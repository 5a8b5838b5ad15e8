// How the calls of a command get their indexes and requests: from what the connection has found, or
// by an item that asks for an index.
//
// Flow: Open for the calls that are made (call_maker.h). Where the item asks for an index, the
// finder gets it (RespIndexFinder::Opened), and the command is parsed again. Where the names of a
// key may be those of a table and are not, the key is the store's.
// Threads: one at a time. Lifetime: one for each connection, whose finder and requests outlive it.
// Limits: those of the finder (index_finder.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/arena.h"
#include "exec/frontend.h"
#include "frontend/resp/index_finder.h"
#include "frontend/resp/repeated_requests.h"
#include "frontend/resp/work.h"
#include "model/account.h"

namespace rowsocket::frontend {

class RespCallOpener {
 public:
  RespCallOpener(RespIndexFinder& finder, const RespRepeatedRequests& requests)
      : finder_(finder), requests_(requests) {}

  /// False: the item asks for an index that a call needs. True: all are open, or `*error` says what
  /// is wrong, with `*wrong` if that is not null. `account`: the connection's; null: it may do
  /// everything. REQUIRES: `*error` is empty, or says why there are no calls.
  bool Open(std::span<RespCall> calls, const model::Account* account, base::Arena& arena,
            exec::Item* item, std::string* error, const RespCall** wrong = nullptr);

 private:
  enum class Found : uint8_t {
    kYes,    ///< The call's request is made.
    kAgain,  ///< The call was changed, and another index is to be looked for.
    kNo,     ///< Ask comes next.
    kWrong,  ///< `*error` says why the call is refused.
  };
  Found Find(RespCall& call, const model::Account* account, base::Arena& arena, std::string* error);
  /// Makes the item one that asks for the call's index. False: that has been asked before, and
  /// `*error` says what came of it.
  bool Ask(const RespCall& call, const model::Account* account, exec::Item* item,
           std::string* error);

  RespIndexFinder& finder_;
  const RespRepeatedRequests& requests_;
};

}  // namespace rowsocket::frontend
