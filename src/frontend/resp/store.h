// Strings with expiry: rows of the table rowsocket.store (packaging/rowsocket_store.sql), for keys
// that name no table of the server.
//
// An expired row counts as absent. While the port is used, RespPurge removes expired rows, a
// thousand each second, on a server without a replication source; each node of a cluster does.
// Threads: const, any; RespPurge: all workers. Errors: as rows.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// The names of the store, and the key of a call in it. `database`: 0 to 15, in digits.
void NameStore(engine::IndexNames* names);
RespKey StoreKey(std::string_view database, std::string_view key, base::Arena& arena);

/// Whether the command only reads its string.
bool ReadsString(RespVerb verb);
/// What the options of a command say. Empty, or the text of an error.
std::string_view PrepareStored(RespCall& call, base::Arena& arena);
/// EXPIRE and its kin, on any key.
std::string_view PrepareExpire(RespCall& call, base::Arena& arena);
/// What TTL, PTTL, EXPIRETIME and PEXPIRETIME answer of a key that is there.
int64_t TimeUntil(const RespCall& call, int64_t expires_ms);
engine::Outcome ExecuteStored(RespWork& work, const RespCall& call, engine::Session& session,
                              base::Buffer& out);

/// Removes expired rows.
class RespPurge {
 public:
  /// `may_purge`: whether the server may change rows by itself now.
  explicit RespPurge(std::function<bool()> may_purge) : may_purge_(std::move(may_purge)) {}
  /// Called by workers between turns; one of them does something, once a second.
  void Run(engine::Session& session);

 private:
  static constexpr int64_t kEveryMs = 1000;
  static constexpr uint64_t kRowsMax = 1000;

  const std::function<bool()> may_purge_;
  std::atomic<int64_t> next_ms_{0};
  std::shared_ptr<engine::Index> index_;  ///< The worker's that has moved next_ms_ on.
};

}  // namespace rowsocket::frontend
