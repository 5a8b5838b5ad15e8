#include "engine/index.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "base/sip_hash.h"

namespace rowsocket::engine {

namespace {

/// A text that differs for different names, because each name comes after its length. The pin
/// counts by its address, which stays taken as long as the index lives.
std::string KeyOf(const IndexNames& names) {
  std::string key;
  const auto add = [&key](const std::string& name) {
    key.append(std::to_string(name.size())).append(1, ':').append(name);
  };
  add(names.db);
  add(names.table);
  add(names.index);
  for (const std::string& column : names.columns) add(column);
  key.append(1, ';');
  for (const std::string& column : names.filter_columns) add(column);
  key.append(1, ';').append(std::to_string(reinterpret_cast<uintptr_t>(names.pin.get())));
  key.append(1, ';').append(std::to_string(static_cast<int>(names.kept_lists)));
  if (names.index_is_number()) key.append(1, '#');
  return key;
}

}  // namespace

bool IndexPin::Holds(IndexFacts now) const {
  now.is_referenced = facts.is_referenced;
  now.has_key_that_follows = facts.has_key_that_follows;
  const auto forget = [](const std::vector<ColumnFacts>& were, std::vector<ColumnFacts>* are) {
    for (size_t i = 0; i < std::min(were.size(), are->size()); ++i) {
      (*are)[i].is_in_key = were[i].is_in_key;
    }
  };
  forget(facts.key, &now.key);
  forget(facts.columns, &now.columns);
  return now == facts;
}

struct IndexRegistry::State {
  /// Hashes keys of KeyOf, whose names clients choose, by a secret of the registry: no client can
  /// make many keys with one hash, which would make each search slow. If the system gives no
  /// random key the secret is 0.
  class Hash {
   public:
    Hash() : secret_(base::SipKey::Random().value_or(base::SipKey())) {}
    size_t operator()(std::string_view key) const { return base::SipHash(secret_, key); }

   private:
    base::SipKey secret_;
  };

  struct Entry {
    std::weak_ptr<Index> index;
    uint64_t serial = 0;
  };

  /// The id of the next index. Reserves the memory in which Release gives it back.
  uint32_t NextId() REQUIRES(mutex) {
    if (!free_ids.empty()) return free_ids.back();
    free_ids.reserve(next_id + 1);
    return next_id;
  }
  /// Takes the id that NextId has given. Needs no memory.
  void TakeNextId() REQUIRES(mutex) {
    if (free_ids.empty()) {
      ++next_id;
    } else {
      free_ids.pop_back();
    }
  }

  // A newer object may have the names of the index that has gone.
  void Release(const std::string& key, const Index& index) {
    const base::MutexLock lock(mutex);
    const auto found = by_names.find(key);
    if (found != by_names.end() && found->second.serial == index.serial()) by_names.erase(found);
    free_ids.push_back(index.id());
  }

  /// Guards the members below. Recursive: if memory runs out in Get, the new index is deleted,
  /// which calls Release.
  base::RecursiveMutex mutex;
  std::unordered_map<std::string, Entry, Hash> by_names GUARDED_BY(mutex);
  std::vector<uint32_t> free_ids GUARDED_BY(mutex);
  uint32_t next_id GUARDED_BY(mutex) = 0;
  uint64_t last_serial GUARDED_BY(mutex) = 0;
};

IndexRegistry::IndexRegistry() : state_(std::make_shared<State>()) {}

// Memory may run out anywhere: nothing is taken before the index is there to give it back.
std::shared_ptr<Index> IndexRegistry::Get(const IndexNames& names) {
  const std::string key = KeyOf(names);
  const base::MutexLock lock(state_->mutex);
  const auto found = state_->by_names.find(key);
  if (found != state_->by_names.end()) {
    std::shared_ptr<Index> index = found->second.index.lock();
    if (index != nullptr) return index;
  }
  auto made = std::make_unique<Index>(names, state_->NextId(), state_->last_serial + 1);
  auto release = [state = state_, key = key](const Index* last) {
    state->Release(key, *last);
    delete last;
  };
  state_->TakeNextId();
  ++state_->last_serial;
  std::shared_ptr<Index> index(made.release(), std::move(release));
  state_->by_names[key] = {index, index->serial()};
  return index;
}

}  // namespace rowsocket::engine
