#include "exec/hot_rows.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/sip_hash.h"
#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

/// How often a sampler hands over what it has, and chooses how many items it looks at.
constexpr int64_t kFlushMs = 100;
/// A sampler with kManyKept rows that it may not hand over yet looks at half as many items as
/// before, and with each further kMoreKept rows at half as many again.
constexpr size_t kMoreKept = 100;
constexpr uint32_t kItemsPerSampleMax = 1u << 16;

/// How many bytes the first character of `text` has: up to three, because the server's tables of
/// information_schema have no longer characters; 0 if the text begins with no character, or with
/// a control character.
size_t CharacterBytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return base::IsControl(text[0]) ? 0 : 1;
  const size_t bytes = lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  const bool goes_on = std::all_of(text.begin() + 1, text.begin() + static_cast<ptrdiff_t>(bytes),
                                   [](char byte) { return (byte & 0xc0) == 0x80; });
  return goes_on ? bytes : 0;
}

/// Appends a text that may have any bytes; bytes that are no character are shown as \xHH.
void AppendShown(std::string_view text, std::string* shown) {
  // Most keys are numbers or names. Of a long key, only as much is looked at as is shown.
  const std::string_view begin = text.substr(0, model::kHotKeyBytesMax + 1);
  const auto other =
      std::find_if(begin.begin(), begin.end(), [](char byte) { return byte < ' ' || byte > '~'; });
  const auto plain = static_cast<size_t>(other - begin.begin());
  if (shown->size() + plain <= model::kHotKeyBytesMax) {
    shown->append(text.substr(0, plain));
    text.remove_prefix(plain);
  }
  while (!text.empty() && shown->size() < model::kHotKeyBytesMax) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(text[0]);
      shown->append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    } else {
      shown->append(text.substr(0, bytes));
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
}

/// The key as an operator reads it: a,7,NULL. After kHotKeyBytesMax bytes no part begins, and a
/// part that has begun gets at most one more character.
std::string KeyText(std::span<const model::Value> key) {
  std::string text;
  for (const model::Value& value : key) {
    if (!text.empty()) text += ',';
    AppendShown(value.is_null() ? std::string_view("NULL") : value.text(), &text);
  }
  return text;
}

/// The row whose lock the lane waits for on behalf of the item. For a unit, that is the first lock
/// of another session that it has met.
RowName RowWaitedFor(const Item& item) {
  if (item.unit == nullptr || item.unit->met_locks_count == 0) return item.row_name();
  const UnitRequest& request = item.unit->requests[item.unit->met_locks[0]];
  return {*request.index, request.request};
}

}  // namespace

HotRowCounts& HotRowCounts::operator+=(const HotRowCounts& other) {
  requests += other.requests;
  merged += other.merged;
  lock_waits += other.lock_waits;
  lock_ns += other.lock_ns;
  overcount += other.overcount;
  return *this;
}

// Rows of two schemas, or found by two indexes, seldom have the same key and table.
size_t HotRowSketch::Hash::operator()(const HotRowName& name) const {
  return HashText(HashText(0, name.key), name.table);
}

// The heap keeps iterators, which hold as long as the table of hashes does not grow. A count that
// rises leaves the heap as it is (TakeLowest).
void HotRowSketch::Add(const HotRowName& name, const HotRowCounts& counts) {
  if (rows_.empty()) {
    rows_.reserve(rows_max_);
    heap_.reserve(rows_max_);
  }
  const auto known = rows_.find(name);
  if (known != rows_.end()) {
    known->second += counts;
    return;
  }
  if (rows_.size() >= rows_max_) return ReplaceLowest(name, counts);
  PutOnHeap(rows_.emplace(name, counts).first);
}

void HotRowSketch::PutOnHeap(Rows::iterator row) {
  heap_.push_back({row->second.*measure_, row});
  std::push_heap(heap_.begin(), heap_.end());
}

// A rank whose row has been counted since goes back on the heap with the present count. The first
// rank that is up to date is the lowest of all, because no row has a lower count than its rank
// says.
HotRowSketch::Rank HotRowSketch::TakeLowest() {
  while (true) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Rank rank = heap_.back();
    heap_.pop_back();
    if (rank.row->second.*measure_ == rank.count) return rank;
    PutOnHeap(rank.row);
  }
}

// A new row takes the place, and the count, of the row with the lowest count. Without memory for
// the new row's name there is one row less.
void HotRowSketch::ReplaceLowest(const HotRowName& name, const HotRowCounts& counts) {
  const Rank lowest = TakeLowest();
  auto row = rows_.extract(lowest.row);
  row.key() = name;
  row.mapped() = counts;
  row.mapped().*measure_ += lowest.count;
  if (measure_ == &HotRowCounts::requests) row.mapped().overcount += lowest.count;
  PutOnHeap(rows_.insert(std::move(row)).position);
}

void HotRowSketch::Clear() {
  heap_.clear();
  rows_.clear();
}

HotRows::HotRows() : slices_(kSlices) {}

void HotRows::Add(const Rows& rows, int64_t now_ms) {
  const int64_t number = now_ms / kSliceMs;
  const base::MutexLock lock(mutex_);
  Slice& slice = slices_[static_cast<size_t>(number) % kSlices];
  if (slice.number != number) {
    slice.by_requests.Clear();
    slice.by_locks.Clear();
    slice.number = number;
  }
  for (const auto& [name, counts] : rows) {
    if (counts.requests != 0) slice.by_requests.Add(name, {counts.requests, counts.merged});
    if (counts.lock_waits != 0) slice.by_locks.Add(name, {0, 0, counts.lock_waits, counts.lock_ns});
  }
}

// Copies one slice under the mutex, so that a worker that hands over its rows waits for one copy at
// most, however many slices a reader wants.
HotRows::Rows HotRows::RowsOfSlice(int64_t number) {
  Rows rows;
  const base::MutexLock lock(mutex_);
  const Slice& slice = slices_[static_cast<size_t>(number) % kSlices];
  if (slice.number != number) return rows;
  const auto& by_requests = slice.by_requests.rows();
  const auto& by_locks = slice.by_locks.rows();
  rows.reserve(by_requests.size() + by_locks.size());
  rows.insert(rows.end(), by_requests.begin(), by_requests.end());
  rows.insert(rows.end(), by_locks.begin(), by_locks.end());
  return rows;
}

HotRows::Rows HotRows::Top(int64_t seconds, int64_t now_ms) {
  const int64_t last = now_ms / kSliceMs, first = last - seconds * 1000 / kSliceMs;
  std::map<HotRowName, HotRowCounts> sums;
  for (int64_t number = std::max<int64_t>(first, 0); number <= last; ++number) {
    for (const auto& [name, counts] : RowsOfSlice(number)) sums[name] += counts;
  }
  using Row = std::pair<HotRowName, HotRowCounts>;
  Rows rows(sums.begin(), sums.end()), top;
  for (const auto measure : {&HotRowCounts::requests, &HotRowCounts::merged,
                             &HotRowCounts::lock_waits, &HotRowCounts::lock_ns}) {
    const size_t count = std::min(kTop, rows.size());
    std::partial_sort(
        rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), rows.end(),
        [measure](const Row& a, const Row& b) { return a.second.*measure > b.second.*measure; });
    for (size_t i = 0; i < count && rows[i].second.*measure != 0; ++i) top.push_back(rows[i]);
  }
  std::sort(top.begin(), top.end(), [](const Row& a, const Row& b) { return a.first < b.first; });
  top.erase(std::unique(top.begin(), top.end(),
                        [](const Row& a, const Row& b) { return a.first == b.first; }),
            top.end());
  std::stable_sort(top.begin(), top.end(), [](const Row& a, const Row& b) {
    return a.second.requests > b.second.requests;
  });
  return top;
}

HotRows::Rows HotRows::OfLastSlice(int64_t now_ms) {
  Rows rows;
  {
    const int64_t last = now_ms / kSliceMs - 1;
    const base::MutexLock lock(mutex_);
    for (const Slice& slice : slices_) {
      if (slice.number != last || last < 0) continue;
      const auto& counted = slice.by_requests.rows();
      rows.assign(counted.begin(), counted.end());
    }
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.requests != b.second.requests ? a.second.requests > b.second.requests
                                                  : a.first < b.first;
  });
  if (rows.size() > kTop) rows.resize(kTop);
  return rows;
}

void HotRows::Clear() {
  const base::MutexLock lock(mutex_);
  for (Slice& slice : slices_) {
    slice.by_requests.Clear();
    slice.by_locks.Clear();
  }
}

// The lengths keep the parts apart: a.b and c are not a and b.c. Without a random key for the hash,
// nothing is shown of the row, because anybody could then try keys until one has this hash.
std::string HiddenKey(const HotRowName& name) {
  static const std::optional<base::SipKey> hash_key = base::SipKey::Random();
  if (!hash_key) return "#";
  std::string text;
  for (const std::string* const part : {&name.schema, &name.table, &name.key}) {
    const uint64_t bytes = part->size();
    text.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes)).append(*part);
  }
  char shown[32];
  snprintf(shown, sizeof(shown), "#%016" PRIx64, base::SipHash(*hash_key, text));
  return shown;
}

// Each item is chosen by chance, one in items_per_sample_, whichever were chosen before it:
// requests that come in a pattern are not met always at the same place of it, and when
// items_per_sample_ changes, the number may be drawn anew without an item being counted too high or
// too low.
uint64_t HotRowSampler::DrawPassedOver() {
  if (items_per_sample_ == 1) return 0;
  const double chance = static_cast<double>(random_()) / (std::minstd_rand::max() + 1.0);
  return static_cast<uint64_t>(std::log(chance) / std::log1p(-1.0 / items_per_sample_));
}

void HotRowSampler::AddTurn(const Turn& turn, const std::vector<TurnItem>& items) {
  if (rows_ == nullptr) return;
  items_ += items.size();
  uint64_t place = until_next_;
  for (; place < items.size(); place += 1 + DrawPassedOver()) {
    Look(turn, items[place]);
    if (kept_.size() < many_kept_) continue;
    items_per_sample_ = std::min(2 * items_per_sample_, kItemsPerSampleMax);
    many_kept_ = kept_.size() + kMoreKept;
  }
  until_next_ = place - items.size();
}

void HotRowSampler::Look(const Turn& turn, const TurnItem& item) {
  if (!item.is_finished() || item.item.kind != Item::Kind::kRequest) return;
  HotRowCounts counts;
  counts.requests = items_per_sample_;
  if (turn.IsMerged(item)) counts.merged = items_per_sample_;
  if (item.item.unit != nullptr) {
    for (const UnitRequest& one : item.item.unit->requests) {
      Keep(RowName(*one.index, one.request), counts);
    }
    return;
  }
  const RowName row = item.item.row_name();
  if (row.is_row()) return Keep(row, counts);
  item.client->frontend->VisitRows(item.item, [&](const RowName& one) { Keep(one, counts); });
}

void HotRowSampler::AddLockWait(const Item& item, int64_t ns, bool is_handed_back) {
  if (rows_ == nullptr || item.kind != Item::Kind::kRequest) return;
  HotRowCounts waited, asked;
  waited.lock_waits = 1;
  waited.lock_ns = static_cast<uint64_t>(std::max<int64_t>(ns, 1));
  Keep(RowWaitedFor(item), waited);
  if (is_handed_back) return;
  asked.requests = 1;
  if (item.unit == nullptr) return Keep(item.row_name(), asked);
  for (const UnitRequest& one : item.unit->requests) {
    Keep(RowName(*one.index, one.request), asked);
  }
}

void HotRowSampler::Keep(const RowName& row, const HotRowCounts& counts) {
  if (!row.is_row() || kept_.size() == model::kHotRowsKeptMax) return;
  const engine::IndexNames& names = row.index().names();
  try {
    kept_.emplace_back(
        HotRowName{names.db, names.table, names.index.empty() ? "PRIMARY" : names.index,
                   KeyText(row.key())},
        counts);
  } catch (const std::bad_alloc&) {  // The request is not counted.
  }
}

void HotRowSampler::Flush(int64_t now_ms) {
  if (rows_ == nullptr || now_ms - flushed_ms_ < kFlushMs) return;
  const int64_t period_ms = std::clamp<int64_t>(now_ms - flushed_ms_, 1, 1000);
  flushed_ms_ = now_ms;
  const uint64_t wanted =
      std::max<uint64_t>(1, model::kHotSamplesPerSecond * static_cast<uint64_t>(period_ms) / 1000);
  const uint64_t chosen_from = std::min<uint64_t>(1 + items_ / wanted, kItemsPerSampleMax);
  if (std::exchange(items_per_sample_, static_cast<uint32_t>(chosen_from)) != chosen_from)
    until_next_ = DrawPassedOver();
  items_ = 0;
  many_kept_ = kManyKept;
  if (kept_.empty()) return;
  try {
    rows_->Add(kept_, now_ms);
  } catch (const std::bad_alloc&) {  // The rows are not counted.
  }
  kept_.clear();
}

}  // namespace rowsocket::exec
