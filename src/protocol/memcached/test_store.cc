#include "protocol/memcached/test_store.h"

#include <charconv>

#include "model/version.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

TestStore::Entry* TestStore::Find(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  return entry.expires_s != 0 && entry.expires_s <= now_s_ ? nullptr : &entry;
}

int64_t TestStore::ExpiresAt(int64_t exptime) const {
  if (exptime == 0) return 0;
  if (exptime < 0) return now_s_;
  return exptime <= kRelativeExptimeMax ? now_s_ + exptime : exptime;
}

Item TestStore::Describe(const Entry& entry) const {
  Item item;
  item.value = entry.value;
  item.client_flags = entry.client_flags;
  item.cas = entry.cas;
  item.ttl_s = entry.expires_s == 0 ? -1 : entry.expires_s - now_s_;
  item.was_fetched = entry.fetched;
  item.stale = entry.stale;
  item.won_by_other = entry.won;
  return item;
}

void TestStore::Change(const Command& command, Entry* entry) {
  entry->cas = command.meta.has_new_cas ? command.meta.new_cas : ++last_cas_;
}

void TestStore::GetOne(const Command& command, std::string_view key, base::Buffer* out) {
  Entry* entry = Find(key);
  bool created = false;
  if (entry == nullptr && command.dialect == Dialect::kMeta && command.creates) {
    entry = &(entries_[std::string(key)] = Entry());
    entry->expires_s = ExpiresAt(command.create_exptime);
    Change(command, entry);
    created = true;
  }
  if (entry == nullptr) return AppendMiss(command, key, out);
  if (command.verb == Verb::kGat) entry->expires_s = ExpiresAt(command.exptime);
  Item item = Describe(*entry);
  const MetaFlags& meta = command.meta;
  const bool is_due = meta.has_recache && !created && entry->expires_s != 0 &&
                      entry->expires_s < ExpiresAt(meta.recache_s);
  item.won = created || (!entry->won && (entry->stale || is_due));
  AppendHit(command, key, item, out);
  if (item.won) entry->won = true;
  if (!meta.no_update) entry->fetched = true;
}

void TestStore::Get(const Command& command, base::Buffer* out) {
  for (const std::string_view key : command.keys) GetOne(command, key, out);
  AppendGetEnd(command, out);
}

void TestStore::Touch(const Command& command, base::Buffer* out) {
  Entry* const entry = Find(command.key());
  if (entry == nullptr) return AppendNotFound(command, out);
  entry->expires_s = ExpiresAt(command.exptime);
  AppendTouched(command, Describe(*entry), out);
}

void TestStore::Store(const Command& command, base::Buffer* out) {
  Entry* const old = Find(command.key());
  Entry entry;
  entry.value = command.value;
  entry.client_flags = command.client_flags;
  entry.expires_s = ExpiresAt(command.exptime);
  if (command.compares_cas) {
    if (old == nullptr) return AppendNotFound(command, out);
    if (command.cas != old->cas) {
      // The command has the cas of a late client: its value is stored, and the item is still
      // stale.
      const bool may_be_stale = command.meta.invalidates && command.cas != 0;
      if (!may_be_stale || command.cas > old->cas) return AppendExists(command, out);
      entry.stale = true;
      entry.won = old->won;
      entry.expires_s = old->expires_s;
    }
  }
  if (command.verb == Verb::kAdd && old != nullptr) return AppendNotStored(command, out);
  if (command.verb == Verb::kReplace && old == nullptr) return AppendNotStored(command, out);
  Change(command, &entry);
  Entry& stored = entries_[std::string(command.key())] = entry;
  AppendStored(command, Describe(stored), out);
}

void TestStore::Join(const Command& command, base::Buffer* out) {
  Entry* entry = Find(command.key());
  if (entry == nullptr && command.dialect == Dialect::kMeta && command.creates) {
    entry = &(entries_[std::string(command.key())] = Entry());
    entry->expires_s = ExpiresAt(command.create_exptime);
    entry->client_flags = command.client_flags;
  }
  if (entry == nullptr) return AppendNotStored(command, out);
  if (command.compares_cas && command.cas != entry->cas) return AppendExists(command, out);
  if (entry->value.size() + command.value.size() > limits_.item_bytes_max - 1024) {
    return AppendError(command, Error::kTooLarge, out);
  }
  entry->value.insert(command.verb == Verb::kAppend ? entry->value.size() : 0, command.value);
  Change(command, entry);
  AppendStored(command, Describe(*entry), out);
}

void TestStore::Delete(const Command& command, base::Buffer* out) {
  Entry* const entry = Find(command.key());
  if (entry == nullptr) return AppendNotFound(command, out);
  if (command.compares_cas && command.cas != entry->cas) return AppendExists(command, out);
  if (command.meta.removes_value) {
    entry->value.clear();
    entry->client_flags = command.client_flags;
    entry->expires_s = ExpiresAt(command.exptime);
    if (command.meta.has_new_cas) entry->cas = command.meta.new_cas;
  }
  if (command.meta.invalidates) {
    if (command.meta.has_exptime) entry->expires_s = ExpiresAt(command.exptime);
    entry->stale = true;
    entry->won = false;
    Change(command, entry);
  } else if (!command.meta.removes_value) {
    entries_.erase(entries_.find(command.key()));
  }
  AppendDeleted(command, out);
}

void TestStore::Count(const Command& command, base::Buffer* out) {
  Entry* entry = Find(command.key());
  uint64_t number = command.initial;
  if (entry == nullptr) {
    if (!command.creates) return AppendNotFound(command, out);
    entry = &(entries_[std::string(command.key())] = Entry());
    entry->expires_s = ExpiresAt(command.create_exptime);
  } else {
    if (command.compares_cas && command.cas != entry->cas) return AppendExists(command, out);
    if (!ParseStoredNumber(entry->value, &number)) {
      return AppendError(command, Error::kNotNumeric, out);
    }
    if (command.meta.has_guard && number <= command.meta.guard) {
      return AppendNotStored(command, out);
    }
    if (command.verb == Verb::kIncrement) {
      number += command.delta;
    } else {
      number = number < command.delta ? 0 : number - command.delta;
    }
  }
  entry->value = std::to_string(number);
  if (command.meta.has_exptime) entry->expires_s = ExpiresAt(command.exptime);
  Change(command, entry);
  AppendNumber(command, number, Describe(*entry), out);
}

void TestStore::Stats(const Command& command, base::Buffer* out) {
  const std::string_view what = command.stats_word(0);
  if (what.empty()) AppendStat(command, "curr_items", entries_.size(), out);
  if (what.empty() || what == "items") return AppendStatsEnd(command, out);
  if (what == "reset") return AppendReset(command, out);
  if (what == "sizes") {
    AppendStat(command, "sizes_status", "disabled", out);
    return AppendStatsEnd(command, out);
  }
  const bool detail = what == "detail";
  const std::string_view mode = command.stats_word(1);
  if (detail && (mode == "on" || mode == "off")) return AppendOk(command, out);
  AppendError(command, detail ? Error::kStatsDetailUsage : Error::kNoSuchStats, out);
}

void TestStore::Debug(const Command& command, base::Buffer* out) {
  const Entry* const entry = Find(command.key());
  if (entry == nullptr) return AppendMiss(command, command.key(), out);
  const std::string details = "exp=-1 la=0 cas=" + std::to_string(entry->cas) +
                              " fetch=no cls=1 size=" + std::to_string(entry->value.size());
  AppendMetaDebug(command, details, out);
}

void TestStore::Execute(const Command& command, base::Buffer* out) {
  if (command.error == Error::kTooLarge && command.dialect == Dialect::kBinary &&
      !command.keys.empty()) {
    const Entry* const old = Find(command.key());
    if (old != nullptr && old->expires_s != 0) entries_.erase(entries_.find(command.key()));
  }
  if (command.error != Error::kNone) return AppendError(command, command.error, out);
  switch (command.verb) {
    case Verb::kNone:
      return;
    case Verb::kGet:
    case Verb::kGat:
      return Get(command, out);
    case Verb::kTouch:
      return Touch(command, out);
    case Verb::kSet:
    case Verb::kAdd:
    case Verb::kReplace:
      return Store(command, out);
    case Verb::kAppend:
    case Verb::kPrepend:
      return Join(command, out);
    case Verb::kDelete:
      return Delete(command, out);
    case Verb::kIncrement:
    case Verb::kDecrement:
      return Count(command, out);
    case Verb::kFlushAll:
      if (command.exptime <= 0) entries_.clear();
      return AppendOk(command, out);
    case Verb::kNoop:
    case Verb::kVerbosity:
    case Verb::kClientName:
    case Verb::kQuit:
      return AppendOk(command, out);
    case Verb::kVersion:
      return AppendVersion(command, model::kMemcachedVersion, out);
    case Verb::kStats:
      return Stats(command, out);
    case Verb::kMetaDebug:
      return Debug(command, out);
  }
}

}  // namespace rowsocket::memcached
