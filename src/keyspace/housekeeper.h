// The thread that removes expired rows, and carries out delayed flushes.
//
// Flow: wakes every kPurgeTickMs while there is something to remove, otherwise every kPurgeIdleMs,
// and when a flush is due. Each round removes a chunk of each container (purge.h), in a transaction
// of its own, so that other writers and replicas are not held up. A purge passes over a row that is
// locked; a flush waits for the row, as a flush without a delay does. The thread removes nothing
// while KeyspacesSettings::why_no_housekeeping has a reason, as on a replica, which waits for the
// changes of its source.
// Threads: Start and Stop from the owner's, Follow from any.
// Limits: rows_per_second rows of one container.
// Errors: work that fails, for lack of memory for instance, is tried again later, except a flush
// that can never succeed, which is dropped. If there is no memory for the thread's session, the log
// says so once, and the thread goes on trying.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "exec/session_thread.h"
#include "keyspace/keyspaces.h"
#include "keyspace/purge.h"
#include "model/account.h"

namespace rowsocket::keyspace {

struct HousekeeperSettings {
  /// The account that needs the right to delete. Null: everything may be deleted.
  std::shared_ptr<const model::Account> account;
  const char* account_variable = "";  ///< The variable that names the account, for the log.
  unsigned rows_per_second = 0;       ///< Removed from one container; 0: expired rows stay.
  /// Called with the number of purged rows; may be null.
  std::function<void(uint64_t rows)> on_purged;
};

/// The settings that the plugins give to their one housekeeper.
struct HousekeeperRules {
  HousekeeperSettings containers;  ///< For items of memcached's containers, and their flushes.
  HousekeeperSettings resp;        ///< For rows of RESP's keyspaces, and its strings.
};

class Housekeeper {
 public:
  Housekeeper(Keyspaces& keyspaces, engine::SessionFactory& sessions, HousekeeperRules rules)
      : keyspaces_(keyspaces),
        sessions_(sessions),
        rules_(std::make_shared<const HousekeeperRules>(std::move(rules))) {}
  ~Housekeeper() { Stop(); }
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  /// Starts the thread. False when the system gives none.
  bool Start();
  void Stop();
  /// Takes new rules, which hold from the next round on. The former ones may be in use until Stop.
  void Follow(HousekeeperRules rules);

  /// Makes one round over all containers; without memory the round ends early. True when there may
  /// be more to do. Public for tests.
  bool RunOnce(engine::Session& session);
  /// Waits until a flush that a round has begun has ended. Tests use it, too.
  void AwaitFlush();
  /// How long to pause after a round. `next_flush_ms` may be kNever, and the clock may be before
  /// 1970.
  static int64_t PauseMs(int64_t next_flush_ms, int64_t now_ms, bool has_more);

 private:
  using ContainerPtr = std::shared_ptr<const Container>;

  struct Upkeep {
    Purge purge;
    bool has_more = true;  ///< The last round may have left expired rows.
    /// What the rate allowed rounds so far to remove beyond whole rows: in thousandths of a row.
    uint64_t owed_thousandths = 0;
    int64_t flush_again_ms = 0;  ///< When a flush that failed is tried again.
    bool was_denied = false;     ///< The log says already that the account may not delete.
    bool was_refused = false;    ///< The log says already that the table lets no row be deleted.
  };

  void TellThatItHasNoSession();
  /// Pauses before the thread tries again to get a session. False: the thread is to end.
  bool PauseWithoutSession();
  void Loop(engine::Session& session);
  bool Round(engine::Session& session);
  std::shared_ptr<const HousekeeperRules> Rules();
  Upkeep& UpkeepOf(const Container& container) { return upkeep_[container.title()]; }
  bool MayPurge(engine::Session& session, const Container& container,
                const HousekeeperSettings& settings, Upkeep* upkeep);
  void TellIfTheTableKeepsItsRows(const Container& container, const Purge::Done& done,
                                  Upkeep* upkeep);
  void FlushDue(const ContainerPtr& container);
  void PutOffOrDropDueFlush(const Container& container, const engine::NoHousekeeping& reason);
  void DropDueFlush(const Container& container, std::string_view why);
  void Flush(engine::Session& session, const Container& container);
  void EndFlushIfItIsOver();
  void NoteFlush();
  /// Removes as many expired rows as rows_per_second allows for kPurgeTickMs, however long ago the
  /// last round was. True when there may be more.
  bool PurgeRowsOfOneTick(engine::Session& session, const Container& container,
                          const HousekeeperSettings& settings);

  Keyspaces& keyspaces_;
  engine::SessionFactory& sessions_;
  std::map<std::string, Upkeep> upkeep_;  ///< By ContainerDefinition::title.

  /// The flush that is under way, on a thread of its own, because it may wait for a row.
  struct FlushUnderWay {
    exec::SessionThread thread;
    ContainerPtr container;
    int64_t at_ms = 0;
    // Written by the flush's thread until that has ended:
    bool flushed = false;
    model::Error error;  ///< Why it has failed; no error: for a reason that may pass.
  };
  FlushUnderWay flush_;

  base::Mutex mutex_;  ///< The mutex of wake_, on which the housekeeper sleeps.
  std::shared_ptr<const HousekeeperRules> rules_ GUARDED_BY(mutex_);
  base::Condition wake_;
  std::atomic<bool> stopping_{false};  ///< Written under the mutex.
  exec::SessionThread thread_;
};

}  // namespace rowsocket::keyspace
