// Makes items of what connections have sent, and opens the indexes that the items name.
//
// Threads: the worker's.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "exec/client.h"
#include "exec/turn.h"
#include "exec/worker_context.h"

namespace rowsocket::exec {

class ItemReader {
 public:
  /// Where items go: the turn of the finds, or a batch.
  struct Target {
    Turn& turn;
    base::Arena& arena;
    bool takes_writes;
    /// In a target that takes no writes: a write that is its client's first item stays the last of
    /// the turn, for a batch to take.
    bool hands_writes_over = false;
  };
  enum class Parsed : uint8_t {
    kMore,   ///< The next item can be read.
    kEnd,    ///< Nothing more of this client can be taken now.
    kWrite,  ///< The next item writes, and the target does not take it: it has to be read again.
    kFirstWrite,  ///< The last item of the turn writes, and a batch has to take it.
  };

  explicit ItemReader(WorkerCore& core) : core_(core) {}

  /// Takes one item off the client's input, into `target`.
  Parsed ReadOne(Client& client, engine::Session& session, const Target& target) const;

 private:
  static void Wipe(Client& client, const TurnItem& item);
  static bool OpenInTurn(Client& client, engine::Session& session, TurnItem& item);
  bool GetSilently(Client& client, engine::Session& session, const Target& target) const;
  void Charge(Client& client, TurnItem& item, base::Arena& arena) const;
  bool Spend(Client& client, const Item& item, uint32_t count) const;
  bool HasBudget(Client& client, const Item& item) const;

  WorkerCore& core_;
};

}  // namespace rowsocket::exec
