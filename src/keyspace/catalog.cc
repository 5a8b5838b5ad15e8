#include "keyspace/catalog.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/clock.h"
#include "model/limits.h"

namespace rowsocket::keyspace {

namespace {

constexpr int64_t kNotYet = INT64_MIN / 2;
/// How old the last look at the tables may be when a request has shown that a mapped table has
/// changed, or names a disabled container.
constexpr int64_t kStaleAgeMsMax = 5;
/// How long a thread waits for another one's read. That one may have to repair a crashed table
/// first, which can take hours.
constexpr std::chrono::milliseconds kReadWaitMax{model::kMappingWaitMsMax};
/// For how long requests that have met a changed table, or a disabled container, cause no further
/// look, after a look that found no change.
constexpr int64_t kStalePauseMs = 100;
/// How many lines the log gets in a period.
constexpr unsigned kLogLinesMax = 100;
constexpr int64_t kLogPeriodMs = 60'000;

/// Why keys with the prefix cannot be used, by the snapshot; empty: they can be.
std::string WhyUnusable(const KeyspaceDefinition& keyspace, const Snapshot& snapshot) {
  const auto& known = snapshot.config.keyspaces;
  if (std::find(known.begin(), known.end(), keyspace) == known.end()) return {};
  if (keyspace.prefix.empty()) return "a prefix may not be empty";
  const bool is_value = keyspace.kind == KeyspaceDefinition::Kind::kValue;
  if (is_value && snapshot.Find(keyspace.container) == nullptr) {
    return "innodb_memcache.containers has no container '" + keyspace.container + "'";
  }
  if (!is_value && (keyspace.db.empty() || keyspace.table.empty())) {
    return "a keyspace of kind row needs db_schema and db_table";
  }
  return {};
}

std::string TitleOf(const KeyspaceDefinition& keyspace) {
  return "keyspace '" + keyspace.prefix + "'";
}

/// The definition of the container that says when rows of the keyspace expire.
ContainerDefinition ExpiryOf(const KeyspaceDefinition& keyspace) {
  ContainerDefinition definition;
  definition.title = TitleOf(keyspace);
  definition.db = keyspace.db;
  definition.table = keyspace.table;
  definition.index = keyspace.index.empty() ? "PRIMARY" : keyspace.index;
  definition.expire_time_column = keyspace.expires;
  definition.is_expiring_rows = true;
  return definition;
}

/// The definition of the container that says when strings of RESP expire.
ContainerDefinition ExpiryOfStore() {
  ContainerDefinition definition;
  definition.title = "the store of RESP";
  definition.db = kRowsocketSchema;
  definition.table = kStoreTable;
  definition.index = "PRIMARY";
  definition.expire_time_column = "expires";
  definition.is_expiring_rows = definition.is_store = true;
  return definition;
}

bool Expires(const KeyspaceDefinition& keyspace) {
  return keyspace.kind == KeyspaceDefinition::Kind::kRow && !keyspace.expires.empty() &&
         !keyspace.db.empty() && !keyspace.table.empty();
}

}  // namespace

std::shared_ptr<const Container> Snapshot::FindShared(std::string_view name) const {
  const auto found = std::lower_bound(
      containers.begin(), containers.end(), name,
      [](const auto& container, std::string_view wanted) { return container->name() < wanted; });
  return found != containers.end() && (*found)->name() == name ? *found : nullptr;
}

std::shared_ptr<const Container> Snapshot::FindExpiringRows(std::string_view title) const {
  const auto found = std::find_if(expiring_rows.begin(), expiring_rows.end(),
                                  [&](const auto& one) { return one->title() == title; });
  return found != expiring_rows.end() ? *found : nullptr;
}

// The titles of containers have the order of the names.
bool Snapshot::HasTitle(std::string_view title) const {
  const auto found = std::lower_bound(
      containers.begin(), containers.end(), title,
      [](const auto& container, std::string_view wanted) { return container->title() < wanted; });
  const bool is_container = found != containers.end() && (*found)->title() == title;
  return is_container || FindExpiringRows(title) != nullptr;
}

const Keyspace* Snapshot::FindKeyspace(std::string_view key) const {
  for (const size_t length : prefix_lengths_) {
    if (length > key.size()) continue;
    const auto found = keyspaces_.find(key.substr(0, length));
    if (found != keyspaces_.end()) return &found->second;
  }
  return nullptr;
}

void Snapshot::MakeKeyspaces() {
  for (const KeyspaceDefinition& keyspace : config.keyspaces) {
    if (keyspace.prefix.empty()) continue;
    const bool is_value = keyspace.kind == KeyspaceDefinition::Kind::kValue;
    keyspaces_[keyspace.prefix] = {
        &keyspace, is_value ? Find(keyspace.container) : FindExpiringRows(TitleOf(keyspace)).get()};
    prefix_lengths_.push_back(keyspace.prefix.size());
  }
  std::sort(prefix_lengths_.begin(), prefix_lengths_.end(), std::greater<>());
  prefix_lengths_.erase(std::unique(prefix_lengths_.begin(), prefix_lengths_.end()),
                        prefix_lengths_.end());
}

Catalog::Catalog(std::function<void(const std::string&)> log)
    : log_(std::move(log)), tried_ms_(kNotYet), read_ms_(kNotYet), checked_ms_(kNotYet) {
  auto none = std::make_shared<Snapshot>();
  none->config.problem = "the mapping tables have not been read yet";
  current_ = std::move(none);
}

std::shared_ptr<const Snapshot> Catalog::current() const {
  const base::MutexLock lock(current_mutex_);
  return current_;
}

void Catalog::Refresh(engine::Session& session) {
  const int64_t now_ms = base::CoarseNowMs();
  const int64_t age_ms_max = IsStale(now_ms) ? kStaleAgeMsMax : model::kMappingAgeMsMax;
  const bool is_due = now_ms - tried_ms_.load(std::memory_order_relaxed) >= age_ms_max;
  if (version() == 0) {
    if (is_due) return RefreshNow(session);
    if (refresh_mutex_.TryLockFor(kReadWaitMax)) refresh_mutex_.Unlock();
    return;
  }
  if (!is_due || !refresh_mutex_.TryLock()) return;
  const base::MutexLock lock(refresh_mutex_, std::adopt_lock);
  Read(session, now_ms);
}

bool Catalog::MayBeOutOfDate() const {
  return base::CoarseNowMs() - read_ms_.load(std::memory_order_relaxed) >= kStaleAgeMsMax;
}

bool Catalog::IsStale(int64_t now_ms) const {
  return is_stale_.load(std::memory_order_relaxed) &&
         now_ms >= stale_counts_from_ms_.load(std::memory_order_relaxed);
}

void Catalog::RefreshNow(engine::Session& session) {
  const uint64_t begun = reads_begun_.load(std::memory_order_relaxed);
  if (!refresh_mutex_.TryLockFor(kReadWaitMax)) return;
  const base::MutexLock lock(refresh_mutex_, std::adopt_lock);
  // Another thread began to look in the meantime, and has seen what this request asks for.
  if (reads_begun_.load(std::memory_order_relaxed) != begun) return;
  Read(session, base::CoarseNowMs());
}

void Catalog::Read(engine::Session& session, int64_t now_ms) {
  reads_begun_.fetch_add(1, std::memory_order_relaxed);
  tried_ms_.store(now_ms, std::memory_order_relaxed);
  const std::shared_ptr<const Snapshot> old = current();
  auto made = std::make_shared<Snapshot>();
  // If the tables cannot be read now, nothing changes.
  std::string unopened;
  const engine::Outcome outcome = ReadConfig(session, &made->config, &unopened);
  const bool cannot_open = outcome.error.code == model::ErrorCode::kOpenTable;
  if (cannot_open && !std::exchange(cannot_open_, true))
    Log(unopened + " cannot be opened (error " + std::to_string(outcome.error.number) +
        (old->is_read() ? "): what was read of the mapping tables before still counts"
                        : "): until it can be, RESP serves no keys"));
  if (!old->is_read()) unread_because_.store(outcome.error.code, std::memory_order_relaxed);
  if (!outcome.ok()) return;
  cannot_open_ = false;
  read_ms_.store(now_ms, std::memory_order_relaxed);
  const bool is_same = made->config == old->config;
  const bool is_stale = IsStale(now_ms);
  if (is_same && !is_stale && now_ms - checked_ms_ < model::kTableAgeMsMax) return;
  is_stale_.store(false, std::memory_order_relaxed);
  const bool has_changed = MakeContainers(session, *old, made.get());
  checked_ms_ = now_ms;
  if (is_stale && !has_changed) stale_counts_from_ms_.store(now_ms + kStalePauseMs);
  if (is_same && !has_changed) return;
  made->version = old->version + 1;
  made->MakeKeyspaces();
  Report(*old, *made);
  {
    const base::MutexLock lock(current_mutex_);
    current_ = made;
  }
  version_.store(made->version, std::memory_order_release);
}

// A container that has not changed stays the same object.
bool Catalog::MakeContainers(engine::Session& session, const Snapshot& old, Snapshot* made) {
  bool has_changed = false;
  for (const ContainerDefinition& definition : made->config.containers) {
    auto container = MakeOne(session, definition, old.FindShared(definition.name),
                             made->config.options, &has_changed);
    if (made->first == nullptr || definition.name == "default") made->first = container.get();
    made->containers.push_back(std::move(container));
  }
  std::sort(made->containers.begin(), made->containers.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
  const auto add_expiring_rows = [&](const ContainerDefinition& definition) {
    made->expiring_rows.push_back(MakeOne(session, definition,
                                          old.FindExpiringRows(definition.title),
                                          made->config.options, &has_changed));
  };
  for (const KeyspaceDefinition& keyspace : made->config.keyspaces) {
    if (Expires(keyspace)) add_expiring_rows(ExpiryOf(keyspace));
  }
  if (follows_store_.load(std::memory_order_relaxed)) add_expiring_rows(ExpiryOfStore());
  return has_changed || made->containers.size() != old.containers.size();
}

std::shared_ptr<const Container> Catalog::MakeOne(engine::Session& session,
                                                  const ContainerDefinition& definition,
                                                  const std::shared_ptr<const Container>& before,
                                                  const Options& options, bool* has_changed) {
  // Counters and a delayed flush belong to a table.
  const bool is_same_table = before != nullptr && before->definition.db == definition.db &&
                             before->definition.table == definition.table;
  auto state = is_same_table ? before->state : std::make_shared<ContainerState>();
  std::shared_ptr<const Container> container;
  const bool is_defined_the_same = before != nullptr && before->definition == definition;
  const engine::Outcome outcome =
      MakeContainer(session, definition, options, std::move(state),
                    is_defined_the_same ? before.get() : nullptr, &container);
  const bool is_busy = !outcome.ok();
  const bool is_as_before =
      is_defined_the_same &&
      (is_busy ||
       (before->problem == container->problem && before->pin == container->pin &&
        before->separator == container->separator && before->relaxed == container->relaxed));
  if (is_as_before) return before;
  *has_changed = true;
  if (!is_busy) return container;
  auto locked = std::make_shared<Container>(*container);
  locked->problem = "its table is locked at the moment";
  locked->is_locked = true;
  return locked;
}

// The lines are limited, because users who may write to the mapping tables could otherwise fill the
// disk.
void Catalog::Log(const std::string& line) {
  const int64_t now_ms = base::CoarseNowMs();
  if (now_ms - logs_since_ms_ > kLogPeriodMs) {
    logs_since_ms_ = now_ms;
    lines_ = 0;
  }
  if (++lines_ < kLogLinesMax) return log_(line);
  if (lines_ == kLogLinesMax)
    log_("the mapping changes all the time: no more changes are logged for a minute");
}

// Logs each problem once when it appears, and once when it has gone.
void Catalog::Report(const Snapshot& old, const Snapshot& made) {
  const auto report = [this](const std::string& was, const std::string& is)
                          REQUIRES(refresh_mutex_) {
                            if (!is.empty() && is != was) Log(is);
                          };
  if (expects_containers_.load(std::memory_order_relaxed)) {
    report(old.config.problem, made.config.problem);
  }
  report(old.config.left_out, made.config.left_out);
  report(old.config.options.policy_problem, made.config.options.policy_problem);
  for (const auto& container : made.containers) {
    const auto before = old.FindShared(container->name());
    const std::string was = before != nullptr ? before->problem : std::string();
    if (container->problem == was) continue;
    Log(container->title() +
        (container->usable() ? " is in use" : " is disabled: " + container->problem));
  }
  for (const auto& rows : made.expiring_rows) {
    // Commands on strings say by themselves what is wrong with the store, or that there is none.
    if (rows->definition.is_store) continue;
    const auto before = old.FindExpiringRows(rows->title());
    report(before != nullptr ? before->problem : std::string(),
           rows->usable()
               ? std::string()
               : "rowsocket.keyspaces: " + rows->title() + " is disabled: " + rows->problem);
  }
  for (const KeyspaceDefinition& keyspace : made.config.keyspaces) {
    const std::string was = WhyUnusable(keyspace, old), is = WhyUnusable(keyspace, made);
    if (was != is && !is.empty()) Log("rowsocket.keyspaces: " + is);
  }
}

}  // namespace rowsocket::keyspace
