// Decides what one command does to one row.
//
// Flow: the engine calls Decide with the row under its lock, perhaps several times; afterwards
// result() and the other accessors say what was decided last.
// Threads: the session's.
// Lifetime: changes are views of the command, of the editor and of the thread's scratch room, valid
// until the next Decide on the thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"
#include "keyspace/row.h"
#include "model/request.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::frontend {

class MemcachedEditor final : public model::RowEditor {
 public:
  enum class Result : uint8_t {
    kStored,
    kNotStored,
    kExists,
    kNotFound,
    kDeleted,
    kTouched,
    kNumber,
    kHit,
    kMiss,
    kNotNumeric,
    kTooLarge,
    kRefused,     ///< refusal() says why.
    kUnshowable,  ///< The value is more than a reply may hold: nothing was changed.
  };
  /// Which marks of the item move from its old cas to the new one.
  enum class KeptMarks : uint8_t { kNone, kAccess, kPromise, kAll };

  /// `may_delete`: the account's right to delete the row was checked.
  MemcachedEditor(MemcachedShared& shared, const MemcachedWork& work, const MemcachedTarget& target,
                  bool may_delete);

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>* changes) override;

  Result result() const { return result_; }
  /// The bytes of the value of the row that was found.
  size_t bytes_read() const { return old_value_.size(); }
  /// The item as the decision leaves it.
  const memcached::Item& item() const { return item_; }
  uint64_t number() const { return number_; }
  std::string_view refusal() const { return refusal_; }
  int64_t now_ms() const { return now_ms_; }
  /// The seconds left to live that the flag R of mg is compared with. REQUIRES: result() is kHit.
  int64_t renewal_ttl_s() const;
  bool found_expired() const { return found_expired_; }
  /// Whether the row is deleted only because it has expired: the request itself changes nothing.
  bool only_cleans_up() const { return only_cleans_up_; }
  /// stale: whether the change marks the item as stale. promises: whether the client has won, and
  /// is to renew the item.
  bool stale() const { return stale_; }
  bool promises() const { return promises_; }
  KeptMarks kept_marks() const { return kept_marks_; }
  uint64_t old_cas() const { return old_cas_; }
  /// Whether the item's cas is a hash of the bytes that were sent: its columns may have stored
  /// other bytes.
  bool is_cas_of_sent() const { return is_cas_of_sent_; }
  /// Sets the hash of the stored bytes as the cas.
  void CorrectCas(uint64_t cas) { item_.cas = cas; }

 private:
  struct Scratch;

  void ReadRow(std::span<const model::Value> row);
  model::Decision LeaveRow(Result result);
  model::Decision Decline(std::string_view why);
  /// Whether the command's cas, if it compares one, is the item's, and the container has the cas
  /// column that flags E and I need. Otherwise `*decision` is what to do.
  bool MayDecide(model::Decision* decision);

  model::Decision Store();
  model::Decision StoreStale();
  model::Decision Join();
  model::Decision ChangeNumber();
  model::Decision Remove();
  model::Decision Touch();
  model::Decision GetOrCreate();
  model::Decision Create(std::string_view value, uint32_t flags, int64_t exptime, Result result);

  /// Writes all of an item: a new item, or one whose content is replaced.
  model::Decision Write(std::span<const model::Value> columns, std::string_view value,
                        uint32_t flags, int64_t expiry_ms, Result result);
  model::Decision WriteValue(std::string_view value, Result result);
  model::Decision StoreOrDelete(int64_t expiry_ms) const;
  /// Drops an item that has a time of expiry, because its new value is too large. If it was not
  /// checked whether the account may delete the row, the row stays, as an expired one.
  model::Decision DropItem();
  bool Split(std::string_view value, std::span<const model::Value>* columns);
  /// Adds the cas after the change to the changes.
  bool PutCas();
  void PutSameCas();
  void PutExpiry(int64_t expiry_ms);
  void Put(uint32_t column, const model::Value& value);
  bool ShowRow(int64_t expiry_ms);
  /// The expiry that this exptime gives a row.
  int64_t NewExpiry(int64_t exptime) const;
  int64_t CreatedExptime() const;
  /// The remaining time that the flag t answers for a row that was just made: as the flags before t
  /// have left it.
  int64_t CreatedTtl(int64_t expiry_ms) const;
  /// Whether the flag at this position comes before the flag that touches the row.
  bool IsSeenBefore(uint8_t flag_at) const;

  MemcachedShared& shared_;
  const MemcachedWork& work_;
  const memcached::Command& command_;
  const MemcachedTarget& target_;
  const keyspace::Container& container_;
  const bool may_delete_;
  int64_t now_ms_ = 0;

  // The row that Decide was given.
  bool has_row_ = false;  ///< True for an expired row as well.
  bool is_there_ = false;
  bool found_expired_ = false;
  uint32_t old_flags_ = 0;
  uint64_t old_cas_ = 0;
  int64_t old_expiry_ms_ = keyspace::kNever;
  std::string_view old_value_;

  // The last decision.
  bool only_cleans_up_ = false;
  Result result_ = Result::kRefused;
  memcached::Item item_;
  uint64_t number_ = 0;
  std::string_view refusal_;
  bool stale_ = false;
  KeptMarks kept_marks_ = KeptMarks::kNone;
  bool promises_ = false;
  bool is_cas_of_sent_ = false;
  uint32_t changes_ = 0;
  keyspace::TextRoom cas_text_;
  keyspace::TextRoom expiry_text_;
  keyspace::TextRoom flags_text_;
  keyspace::TextRoom number_text_;
};

}  // namespace rowsocket::frontend
