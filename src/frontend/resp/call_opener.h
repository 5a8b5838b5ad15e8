// How the calls of a command get their indexes and requests: from indexes that the connection has
// found before, or by an item that asks for an index.
//
// Flow: Open for the calls that call_maker.h has made. If the item asks for an index, the finder
// gets it (RespIndexFinder::Opened), and the command is parsed again. If the names of a key could
// be those of a table but are not, the key belongs to the store.
// Threads: one at a time.
// Lifetime: one for each connection, whose finder and requests outlive it.
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

  /// Opens the indexes and makes the requests. False: the item asks for an index that a call needs.
  /// True: all indexes are open, or `*error` and, if it is not null, `*wrong` say what is wrong.
  /// `account`: the connection's; null: it may do everything. REQUIRES: `*error` is empty, or says
  /// why there are no calls.
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
  /// Makes the item one that asks for the call's index. False: an earlier item has asked, and
  /// `*error` says why the index is not open.
  bool Ask(const RespCall& call, const model::Account* account, exec::Item* item,
           std::string* error);

  RespIndexFinder& finder_;
  const RespRepeatedRequests& requests_;
};

}  // namespace rowsocket::frontend
