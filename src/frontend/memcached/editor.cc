#include "frontend/memcached/editor.h"

#include <algorithm>

#include "base/require.h"
#include "frontend/memcached/edits.h"
#include "frontend/memcached/exptime.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::frontend {

using keyspace::CasKind;
using keyspace::Layout;
using memcached::Verb;
using memcached::VerbKind;
using model::CellChange;
using model::Decision;
using model::Value;

/// Memory that a decision needs until it is carried out; one for each thread.
struct MemcachedEditor::Scratch {
  base::Buffer joined;
  base::Buffer value;
  base::Arena arena;
  std::array<CellChange, kEditColumnsMax> changes;

  static Scratch& OfThread() {
    thread_local Scratch scratch;
    return scratch;
  }

  /// Prepares for a new decision, and frees the memory that a large value took.
  void Reset() {
    arena.Reset();
    if (joined.capacity() > model::kKeptValueBytesMax) joined.Release();
    if (value.capacity() > model::kKeptValueBytesMax) value.Release();
  }
};

MemcachedEditor::MemcachedEditor(MemcachedShared& shared, const MemcachedWork& work,
                                 const MemcachedTarget& target, bool may_delete)
    : shared_(shared),
      work_(work),
      command_(work.command),
      target_(target),
      container_(*target.container),
      may_delete_(may_delete) {}

Decision MemcachedEditor::Decide(std::span<const Value> row, std::span<const CellChange>* changes) {
  Scratch& scratch = Scratch::OfThread();
  scratch.Reset();
  changes_ = 0;
  stale_ = promises_ = is_cas_of_sent_ = false;
  kept_marks_ = KeptMarks::kNone;
  item_ = {};
  refusal_ = {};
  now_ms_ = shared_.keyspaces->NowMs();
  ReadRow(row);
  Decision decision = Decision::kKeep;
  if (!refusal_.empty()) {
    decision = LeaveRow(Result::kRefused);
  } else if (command_.error == memcached::Error::kTooLarge) {
    // A row that never expires is no cache entry: it stays.
    result_ = Result::kTooLarge;
    if (is_there_ && old_expiry_ms_ != keyspace::kNever) decision = DropItem();
  } else if (MayDecide(&decision)) {
    switch (KindOf(command_.verb)) {
      case VerbKind::kStore:
        decision = Store();
        break;
      case VerbKind::kJoin:
        decision = Join();
        break;
      case VerbKind::kCount:
        decision = ChangeNumber();
        break;
      case VerbKind::kDelete:
        decision = Remove();
        break;
      case VerbKind::kTouch:
        decision = Touch();
        break;
      case VerbKind::kGet:
        decision = GetOrCreate();
        break;
      case VerbKind::kFlush:
      case VerbKind::kDebug:
      case VerbKind::kNoItem:
        ROWSOCKET_REQUIRE(!"a command without an edit has no decision");
        break;
    }
  }
  // An expired row is deleted with all its columns by the next request that meets it, but not with
  // the rows that refer to it: no client has asked for that.
  only_cleans_up_ = found_expired_ && decision != Decision::kStore;
  if (found_expired_) {
    decision = decision == Decision::kStore ? Decision::kRenew : Decision::kClear;
  }
  *changes = std::span(scratch.changes.data(), changes_);
  return decision;
}

void MemcachedEditor::ReadRow(std::span<const Value> row) {
  has_row_ = !row.empty();
  is_there_ = found_expired_ = false;
  old_flags_ = 0;
  old_cas_ = 0;
  old_expiry_ms_ = keyspace::kNever;
  old_value_ = {};
  if (!has_row_) return;
  const Layout& layout = container_.full_layout;
  keyspace::RowView view(container_, target_, layout, Scratch::OfThread().joined);
  view.Begin();
  for (const Value& cell : row) view.Take(cell);
  if (!view.is_there()) {
    refusal_ = "the row has another key, which its columns take for equal";
    return;
  }
  found_expired_ = view.is_expired(now_ms_);
  is_there_ = !found_expired_;
  old_flags_ = view.flags();
  old_cas_ = view.cas();
  old_expiry_ms_ = view.expiry_ms();
  old_value_ = view.value();
}

Decision MemcachedEditor::LeaveRow(Result result) {
  result_ = result;
  return Decision::kKeep;
}

Decision MemcachedEditor::Decline(std::string_view why) {
  refusal_ = why;
  return LeaveRow(Result::kRefused);
}

bool MemcachedEditor::MayDecide(Decision* decision) {
  const bool is_set = command_.verb == Verb::kSet;
  const bool needs_order = command_.meta.has_new_cas || (is_set && command_.meta.invalidates);
  if (needs_order && container_.cas_kind == CasKind::kHash) {
    *decision = Decline("the container has no cas_column, which E and I need");
    return false;
  }
  // For mg a cas is no condition: it only tells which value the client has, so that the reply can
  // leave it out.
  if (!command_.compares_cas || IsGet(command_.verb)) return true;
  if (!is_there_) {
    const bool counts = KindOf(command_.verb) == VerbKind::kCount;
    if (counts && command_.creates) return true;  // There is no cas to compare with.
    const bool joins = KindOf(command_.verb) == VerbKind::kJoin;
    *decision = LeaveRow(joins ? Result::kNotStored : Result::kNotFound);
    return false;
  }
  if (old_cas_ == command_.cas) return true;
  const bool is_older = command_.cas != 0 && command_.cas < old_cas_;
  if (is_set && command_.meta.invalidates && is_older) {
    *decision = StoreStale();
  } else {
    *decision = LeaveRow(Result::kExists);
  }
  return false;
}

Decision MemcachedEditor::Store() {
  if (command_.verb == Verb::kAdd && is_there_) return LeaveRow(Result::kNotStored);
  if (command_.verb == Verb::kReplace && !is_there_) return LeaveRow(Result::kNotStored);
  return Write(work_.value, command_.value, command_.client_flags, NewExpiry(command_.exptime),
               Result::kStored);
}

// Stores a value with an older cas as stale. The expiry stays, and so does the promise that a
// client renews the item.
Decision MemcachedEditor::StoreStale() {
  stale_ = true;
  kept_marks_ = KeptMarks::kPromise;
  return Write(work_.value, command_.value, command_.client_flags, old_expiry_ms_, Result::kStored);
}

Decision MemcachedEditor::Join() {
  if (!is_there_) {
    if (!command_.creates) return LeaveRow(Result::kNotStored);
    return Create(command_.value, command_.client_flags, command_.create_exptime, Result::kStored);
  }
  const size_t size = old_value_.size() + command_.value.size();
  if (size > shared_.settings.limits.item_bytes_max) return LeaveRow(Result::kTooLarge);
  base::Buffer& joined = Scratch::OfThread().value;
  joined.Truncate(0);
  const bool appends = command_.verb == Verb::kAppend;
  joined.Append(appends ? old_value_ : command_.value);
  joined.Append(appends ? command_.value : old_value_);
  return WriteValue(joined.view(), Result::kStored);
}

Decision MemcachedEditor::ChangeNumber() {
  if (!is_there_) {
    if (!command_.creates) return LeaveRow(Result::kNotFound);
    number_ = command_.initial;
    return Create(keyspace::NumberToCell(number_, &number_text_).text(), 0, CreatedExptime(),
                  Result::kNumber);
  }
  uint64_t old = 0;
  if (!memcached::ParseStoredNumber(old_value_, &old)) return LeaveRow(Result::kNotNumeric);
  if (command_.meta.has_guard && old <= command_.meta.guard) return LeaveRow(Result::kNotStored);
  const bool adds = command_.verb == Verb::kIncrement;
  number_ = adds ? old + command_.delta : old - std::min(old, command_.delta);
  kept_marks_ = KeptMarks::kAll;  // A change of the number leaves the item the same.
  return WriteValue(keyspace::NumberToCell(number_, &number_text_).text(), Result::kNumber);
}

Decision MemcachedEditor::Remove() {
  if (!is_there_) return LeaveRow(Result::kNotFound);
  const memcached::MetaFlags& meta = command_.meta;
  if (!meta.invalidates && !meta.removes_value) {
    result_ = Result::kDeleted;
    return Decision::kDelete;
  }
  const bool has_no_expiry = container_.full_layout.expiry == Layout::kNone;
  if (meta.has_exptime && has_no_expiry && NewExpiry(command_.exptime) <= now_ms_) {
    result_ = Result::kDeleted;
    return Decision::kDelete;
  }
  if (meta.removes_value) {
    std::span<const Value> columns;
    if (!Split({}, &columns)) return Decline("several value columns cannot be emptied");
    for (uint32_t i = 0; i < columns.size(); ++i) Put(container_.full_layout.value + i, columns[i]);
    Put(container_.full_layout.flags, keyspace::NumberToCell(command_.client_flags, &flags_text_));
    item_.client_flags = command_.client_flags;
  } else if (!ShowRow(old_expiry_ms_)) {
    return LeaveRow(Result::kUnshowable);
  }
  if (meta.has_exptime) PutExpiry(NewExpiry(command_.exptime));
  if (!PutCas()) return LeaveRow(Result::kRefused);
  stale_ = meta.invalidates;
  // An emptied item is another item, which no client has read.
  if (!meta.removes_value) kept_marks_ = KeptMarks::kAccess;
  result_ = Result::kDeleted;
  return Decision::kStore;
}

// A touch and a gat leave the cas as it is. A cas column that updates itself would change it, so
// the column gets its present value again, even NULL, which counts as a cas as well.
Decision MemcachedEditor::Touch() {
  const bool is_gat = command_.verb == Verb::kGat;
  if (!is_there_) {
    if (is_gat && command_.creates) return GetOrCreate();
    return LeaveRow(is_gat ? Result::kMiss : Result::kNotFound);
  }
  const int64_t expiry_ms = NewExpiry(command_.exptime);
  if (!ShowRow(IsSeenBefore(command_.meta.ttl_at) ? old_expiry_ms_ : expiry_ms)) {
    return LeaveRow(Result::kUnshowable);
  }
  result_ = is_gat ? Result::kHit : Result::kTouched;
  if (expiry_ms <= now_ms_ && may_delete_) return Decision::kDelete;
  PutExpiry(expiry_ms);
  if (changes_ == 0) return Decision::kKeep;
  PutSameCas();
  return Decision::kStore;
}

// Copies the value for the reply, because the row is gone when the reply is written. False when the
// value is larger than a reply may be.
bool MemcachedEditor::ShowRow(int64_t expiry_ms) {
  item_.value = old_value_;
  item_.size = old_value_.size();
  item_.client_flags = old_flags_;
  item_.cas = old_cas_;
  item_.ttl_s = keyspace::TtlOf(expiry_ms, now_ms_);
  if (!command_.returns_value) return true;
  if (old_value_.size() > shared_.settings.limits.reply_bytes_max) return false;
  base::Buffer& copy = Scratch::OfThread().value;
  copy.Truncate(0);
  copy.Append(old_value_);
  item_.value = copy.view();
  return true;
}

// The later one of the flags T and N counts, as in memcached, which carries out the flags in their
// order.
int64_t MemcachedEditor::CreatedExptime() const {
  const memcached::MetaFlags& meta = command_.meta;
  return meta.exptime_at > meta.create_at ? command_.exptime : command_.create_exptime;
}

bool MemcachedEditor::IsSeenBefore(uint8_t flag_at) const {
  return flag_at != 0 && flag_at < command_.meta.exptime_at;
}

int64_t MemcachedEditor::renewal_ttl_s() const {
  const bool is_touched = command_.verb == Verb::kGat && !IsSeenBefore(command_.meta.recache_at);
  return keyspace::TtlOf(is_touched ? NewExpiry(command_.exptime) : old_expiry_ms_, now_ms_);
}

int64_t MemcachedEditor::CreatedTtl(int64_t expiry_ms) const {
  const memcached::MetaFlags& meta = command_.meta;
  const bool sees_exptime = meta.exptime_at != 0 && meta.exptime_at < meta.ttl_at;
  const bool sees_create = meta.create_at != 0 && meta.create_at < meta.ttl_at;
  if (!sees_exptime && !sees_create) return -1;
  if (sees_exptime && sees_create) return keyspace::TtlOf(expiry_ms, now_ms_);
  return keyspace::TtlOf(NewExpiry(sees_exptime ? command_.exptime : command_.create_exptime),
                         now_ms_);
}

// In a container without a column of expiry, an item that would expire later never expires, and an
// item that has expired is dropped. If the request would have kept its item when the rights of its
// account were checked, it keeps the item although it reaches the row later: whether it may delete
// was not checked.
int64_t MemcachedEditor::NewExpiry(int64_t exptime) const {
  const int64_t expiry_ms = ExpiryOf(exptime, now_ms_);
  const bool keeps =
      container_.expiry == keyspace::ExpiryKind::kNone && (expiry_ms > now_ms_ || !may_delete_);
  return keeps ? keyspace::kNever : expiry_ms;
}

// For mg with N: an absent item is made empty, and this client is to fill it.
Decision MemcachedEditor::GetOrCreate() {
  if (is_there_) {
    return LeaveRow(ShowRow(old_expiry_ms_) ? Result::kHit : Result::kUnshowable);
  }
  promises_ = true;
  const Decision decision = Create({}, 0, CreatedExptime(), Result::kHit);
  item_.won = true;
  item_.was_fetched = false;
  return decision;
}

Decision MemcachedEditor::Create(std::string_view value, uint32_t flags, int64_t exptime,
                                 Result result) {
  std::span<const Value> columns;
  if (!Split(value, &columns))
    return Decline("the value does not have the columns of the container");
  const int64_t expiry_ms = NewExpiry(exptime);
  const Decision decision = Write(columns, value, flags, expiry_ms, result);
  item_.ttl_s = CreatedTtl(expiry_ms);
  return decision;
}

Decision MemcachedEditor::Write(std::span<const Value> columns, std::string_view value,
                                uint32_t flags, int64_t expiry_ms, Result result) {
  const Layout& layout = container_.full_layout;
  for (uint32_t i = 0; i < columns.size(); ++i) Put(layout.value + i, columns[i]);
  if (!is_there_ || flags != old_flags_)
    Put(layout.flags, keyspace::NumberToCell(flags, &flags_text_));
  PutExpiry(expiry_ms);
  item_.value = value;
  item_.size = value.size();
  item_.client_flags = flags;
  item_.ttl_s = keyspace::TtlOf(expiry_ms, now_ms_);
  if (!PutCas()) return LeaveRow(Result::kRefused);
  result_ = result;
  return StoreOrDelete(expiry_ms);
}

Decision MemcachedEditor::WriteValue(std::string_view value, Result result) {
  std::span<const Value> columns;
  if (!Split(value, &columns))
    return Decline("the value does not have the columns of the container");
  const Layout& layout = container_.full_layout;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    Put(layout.value + i, columns[i]);
    // The new value is made from the old one: a column that would round it refuses it.
    Scratch::OfThread().changes[changes_ - 1].fit = model::CellChange::Fit::kTold;
  }
  int64_t expiry_ms = old_expiry_ms_;
  if (command_.meta.has_exptime && result == Result::kNumber) {
    expiry_ms = NewExpiry(command_.exptime);
    PutExpiry(expiry_ms);
  }
  item_.value = value;
  item_.size = value.size();
  item_.client_flags = old_flags_;
  item_.ttl_s =
      keyspace::TtlOf(IsSeenBefore(command_.meta.ttl_at) ? old_expiry_ms_ : expiry_ms, now_ms_);
  if (!PutCas()) return LeaveRow(Result::kRefused);
  result_ = result;
  return StoreOrDelete(expiry_ms);
}

// An item that has expired already is not stored, and its row is deleted. If the row exists, and it
// was not checked whether the account may delete it, the row gets the moment that has passed
// instead.
Decision MemcachedEditor::StoreOrDelete(int64_t expiry_ms) const {
  const bool stores = expiry_ms > now_ms_ || (is_there_ && !may_delete_);
  return stores ? Decision::kStore : Decision::kDelete;
}

Decision MemcachedEditor::DropItem() {
  if (may_delete_) return Decision::kDelete;
  PutExpiry(ExpiryOf(-1, now_ms_));
  PutSameCas();
  return Decision::kStore;
}

bool MemcachedEditor::Split(std::string_view value, std::span<const Value>* columns) {
  base::Arena& arena = Scratch::OfThread().arena;
  const std::span<Value> parts = arena.Allocate<Value>(container_.values);
  *columns = parts;
  if (container_.values > 1) {
    return keyspace::SplitColumns(value, container_.separator, arena, parts);
  }
  parts[0] = Value(value);
  return true;
}

bool MemcachedEditor::PutCas() {
  if (container_.cas_kind == CasKind::kHash) {
    const uint32_t flags = container_.has_flags ? item_.client_flags : 0;
    item_.cas = keyspace::CasOfContent(flags, item_.value);
    is_cas_of_sent_ = !container_.keeps_bytes;
    return true;
  }
  const uint64_t largest = shared_.keyspaces->LargestCas(container_);
  item_.cas = command_.meta.has_new_cas ? command_.meta.new_cas
                                        : shared_.keyspaces->NextCas(old_cas_, largest);
  if (item_.cas == 0 || item_.cas > largest) {
    refusal_ = "the cas_column cannot hold this cas";
    return false;
  }
  Put(container_.full_layout.cas, keyspace::CasToCell(item_.cas, container_.cas_kind, &cas_text_));
  return true;
}

void MemcachedEditor::PutSameCas() {
  if (container_.cas_kind == CasKind::kHash) return;
  if (container_.full_layout.cas == Layout::kNone) return;
  Scratch::OfThread().changes[changes_++] = {container_.full_layout.cas, Value(), /*keeps=*/true};
}

void MemcachedEditor::PutExpiry(int64_t expiry_ms) {
  if (is_there_ && expiry_ms == old_expiry_ms_) return;
  Put(container_.full_layout.expiry, keyspace::ExpiryToCell(expiry_ms, container_, &expiry_text_));
}

void MemcachedEditor::Put(uint32_t column, const Value& value) {
  if (column == Layout::kNone) return;
  Scratch::OfThread().changes[changes_++] = {column, value};
}

}  // namespace rowsocket::frontend
