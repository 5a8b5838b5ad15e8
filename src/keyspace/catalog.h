// All present containers and keyspaces: read from the mapping tables, and published for every
// connection.
//
// Flow: before a turn a worker calls Refresh, or RefreshNow if the turn before met an unknown name;
// a change makes a new Snapshot with a higher version; connections take it when they see the
// version.
// How soon: a change of the mapping tables is seen by every request that comes kMappingAgeMsMax
// after it, or later; a change of the mapped tables themselves, after kTableAgeMsMax. A request
// that meets a table which has changed since its container was made fails (IndexPin), and makes the
// next Refresh look at all tables.
// Threads: all; one at a time reads the tables. Others go on with the current snapshot; the first
// read, and one that RefreshNow asks for, is waited for, at most kMappingWaitMsMax.
// Errors: a definition that is wrong disables only its container, and is logged once; the log gets
// at most 100 lines a minute.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "keyspace/container.h"
#include "model/error.h"

namespace rowsocket::keyspace {

/// What the keys that begin with a prefix mean.
struct Keyspace {
  const KeyspaceDefinition* definition = nullptr;
  /// kValue: the container of the values; null: no container has that name. kRow: the container
  /// that says when rows expire; null: they never expire.
  const Container* container = nullptr;
};

struct Snapshot {
  uint64_t version = 0;
  Config config;
  std::vector<std::shared_ptr<const Container>> containers;  ///< In the order of their names.
  const Container* first = nullptr;  ///< For keys that name none: `default`, or the first one.
  /// The rows of RESP's keyspaces that expire, and those of its store: containers without values.
  /// They have no name, so that no memcached key can name them.
  std::vector<std::shared_ptr<const Container>> expiring_rows;

  /// False: the mapping tables have not been read yet, so that nobody knows what keys mean.
  bool is_read() const { return version != 0; }
  const Container* Find(std::string_view name) const { return FindShared(name).get(); }
  std::shared_ptr<const Container> FindShared(std::string_view name) const;

  /// Null: the rows of the keyspace do not expire.
  std::shared_ptr<const Container> FindExpiringRows(std::string_view title) const;
  /// Whether a container, or rows that expire, have this title.
  bool HasTitle(std::string_view title) const;

  /// The keyspace with the longest prefix of the key; null: no prefix fits.
  const Keyspace* FindKeyspace(std::string_view key) const;
  /// Fills keyspaces_. REQUIRES: nothing that the keyspaces point to will change any more.
  void MakeKeyspaces();

 private:
  std::unordered_map<std::string_view, Keyspace> keyspaces_;  ///< By prefix.
  std::vector<size_t> prefix_lengths_;                        ///< From the longest.
};

class Catalog {
 public:
  explicit Catalog(std::function<void(const std::string&)> log);

  std::shared_ptr<const Snapshot> current() const;
  /// The version of the current snapshot; cheap to call.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Why the last read of the mapping tables has failed, if none has succeeded yet.
  model::ErrorCode unread_because() const {
    return unread_because_.load(std::memory_order_relaxed);
  }

  /// Reads the mapping tables again when they are due. Only the first read is waited for, if
  /// another thread is at it: without it nobody knows what keys mean (Snapshot::is_read), and after
  /// kMappingWaitMsMax requests are refused. REQUIRES: no turn is open in the session.
  void Refresh(engine::Session& session);
  /// Reads the mapping tables now, whenever they were read last, unless another thread begins to
  /// read them meanwhile, or another thread's read lasts longer than kMappingWaitMsMax.
  void RefreshNow(engine::Session& session);
  /// Whether the mapping tables were read longer than a few milliseconds ago. A request that names
  /// a disabled container, whose definition may have been corrected, then has them read again.
  bool MayBeOutOfDate() const;
  /// Has the log told from now on if there are no containers.
  void ExpectContainers() { expects_containers_.store(true, std::memory_order_relaxed); }
  /// Makes the store of RESP, if there is one, expire from now on.
  void FollowStore() {
    follows_store_.store(true, std::memory_order_relaxed);
    MarkStale();
  }
  /// Makes the next Refresh look at all mapped tables, because a request has shown that one has
  /// changed.
  void MarkStale() { is_stale_.store(true, std::memory_order_relaxed); }

 private:
  bool IsStale(int64_t now_ms) const;
  void Read(engine::Session& session, int64_t now_ms) REQUIRES(refresh_mutex_);
  bool MakeContainers(engine::Session& session, const Snapshot& old, Snapshot* made);
  static std::shared_ptr<const Container> MakeOne(engine::Session& session,
                                                  const ContainerDefinition& definition,
                                                  const std::shared_ptr<const Container>& before,
                                                  const Options& options, bool* has_changed);
  void Report(const Snapshot& old, const Snapshot& made) REQUIRES(refresh_mutex_);
  void Log(const std::string& line) REQUIRES(refresh_mutex_);

  const std::function<void(const std::string&)> log_;
  std::atomic<int64_t> tried_ms_;  ///< When the last read of the mapping tables began.
  std::atomic<int64_t> read_ms_;   ///< When the last read that has succeeded began.
  std::atomic<bool> expects_containers_{false};
  std::atomic<bool> follows_store_{false};
  std::atomic<bool> is_stale_{false};
  /// The moment from which MarkStale() has an effect again: the last look that it caused found no
  /// change.
  std::atomic<int64_t> stale_counts_from_ms_{0};
  std::atomic<uint64_t> version_{0};
  std::atomic<model::ErrorCode> unread_because_{model::ErrorCode::kNone};
  /// How often the mapping tables were read. A thread that has waited for another thread's read
  /// needs none of its own.
  std::atomic<uint64_t> reads_begun_{0};
  base::TimedMutex refresh_mutex_;                     ///< Held while the tables are read.
  int64_t checked_ms_ GUARDED_BY(refresh_mutex_) = 0;  ///< When the mapped tables were looked at.
  /// The last read of the mapping tables has failed because one could not be opened.
  bool cannot_open_ GUARDED_BY(refresh_mutex_) = false;
  /// When the period began in which `lines_` lines were logged.
  int64_t logs_since_ms_ GUARDED_BY(refresh_mutex_) = 0;
  unsigned lines_ GUARDED_BY(refresh_mutex_) = 0;
  mutable base::Mutex current_mutex_;  ///< Held for a copy of the pointer.
  std::shared_ptr<const Snapshot> current_ GUARDED_BY(current_mutex_);
};

}  // namespace rowsocket::keyspace
