// Requests that took longer than the server's long_query_time: the last ones are kept in memory,
// and each goes to the server's own log of slow queries.
//
// Flow: a worker calls NoteTurn when a turn or batch has its answers, NoteHeld when held replies
// have left, NoteWaited for a request that the wait lane has executed, and then Write.
//
// Threads: any.
// Limits: kSlowKeptMax requests are kept; kSlowOfTurnMax of one turn, or of those that come back
// from the lane at a time, are written to the log; all are counted.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "engine/session.h"
#include "exec/item_runs.h"
#include "exec/stats.h"
#include "exec/turn.h"

namespace rowsocket::exec {

struct SlowEntry {
  uint64_t number = 0;  ///< Numbers the plugin's slow requests from 0, as they came.
  int64_t began_s = 0;  ///< When the request came, in seconds since 1970.
  uint64_t whole_us = 0;
  std::string verb, text, address, name;
};

class SlowLog {
 public:
  /// `plugin`: the plugin's name. `verb_name`: gives the name of an Item::verb. `shows_values`:
  /// whether texts show the values of a request.
  SlowLog(std::string_view plugin, std::string_view (*verb_name)(uint32_t verb),
          bool (*shows_values)())
      : plugin_(plugin), verb_name_(verb_name), shows_values_(shows_values) {}

  /// A slow request that is yet to be written.
  struct Noted {
    SlowEntry entry;
    std::string text, user, schema;  ///< For the server's log.
    uint64_t lock_us = 0, rows = 0, examined = 0;
    bool writes = false;
  };

  /// A request that the wait lane has executed.
  struct Waited {
    int64_t lock_ns, sent_ns;
    const engine::Outcome& outcome;
  };

  /// Adds the turn's requests that took `slow_us` or longer to `noted`. `runs`: those of `items`.
  /// REQUIRES: the items' views are still valid.
  void NoteTurn(const ItemRuns& runs, const std::vector<TurnItem>& items, int64_t answered_ns,
                int64_t slow_us, StatBlock& stats, std::vector<Noted>* noted) const;
  /// Adds one entry for all requests of a client whose held replies have left (HeldReplies), if
  /// the wait has made them slow. The entry is without their keys, which are gone by now.
  void NoteHeld(const TurnClient& client, int64_t sent_ns, int64_t slow_us, StatBlock& stats,
                std::vector<Noted>* noted) const;
  /// Writes what was noted, and forgets it. REQUIRES: no turn is open in the session.
  void Write(std::vector<Noted>* noted, engine::Session& session);
  /// Counts and notes a request that waited for a lock if it was slow.
  void NoteWaited(const Item& item, const TurnClient& client, const Waited& waited, int64_t slow_us,
                  StatBlock& stats, std::vector<Noted>* noted) const;

  /// At most `count` of the slow requests that are kept, the last one first.
  std::vector<SlowEntry> Last(size_t count) const;
  size_t size() const;
  void Clear();

 private:
  struct Times {
    int64_t whole_us = 0;
    int64_t lock_us = 0;
  };
  struct Rows {
    uint64_t done = 0;    ///< Sent or changed.
    uint64_t passed = 0;  ///< Outcome::rows_passed.
  };

  Noted MakeNoted(uint32_t verb, const Frontend& frontend, const Times& times,
                  std::string text) const;
  void Note(const Item& item, const Frontend& frontend, const Times& times, const Rows& rows,
            std::vector<Noted>* noted) const;
  void Keep(SlowEntry entry);

  const std::string plugin_;
  std::string_view (*const verb_name_)(uint32_t verb);
  bool (*const shows_values_)();
  mutable base::Mutex mutex_;
  uint64_t next_ GUARDED_BY(mutex_) = 0;
  std::deque<SlowEntry> kept_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::exec
