// Which columns of a row are fields: all but those of the key, or those that a keyspace of kind
// row names (rowsocket.keyspaces); and the column that holds when a row expires.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "frontend/resp/work.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {

inline constexpr size_t kNoColumn = SIZE_MAX;

/// Whether the column holds when the call's row expires. Such a column is no field.
bool IsExpiry(const RespCall& call, std::string_view column);
/// The position of the column of expiry among the columns of the call's index, after the fields if
/// these are listed; kNoColumn: there is none.
size_t ExpiryColumnAt(const RespCall& call);
/// Whether the cell of this column says that the row has expired.
bool IsExpired(const RespCall& call, const model::Value& cell);
/// Why the keys of a keyspace whose rows expire cannot be used; empty: they can be.
/// `may_name_tables`: the client may know of tables that it has no rights on.
std::string WhyNoExpiry(const keyspace::Keyspace& keyspace, bool may_name_tables);

/// Whether the keyspace of the call's key hides the column, so that it is no field.
bool IsHidden(const RespCall& call, std::string_view column);
/// Makes hidden fields absent for a command that reads or deletes them. False: the command sets or
/// compares a hidden field.
bool HideFields(RespCall* call);
/// Whether a field that is no column of the call's table counts as absent, because the call only
/// reads or deletes fields.
bool MayLackFields(const RespCall& call);
/// Sorts the names, and leaves each of them once. Sorting matters: one command may have kColumnsMax
/// names, and looking for each among all others would keep its worker busy.
template <typename Name>
void LeaveEachOnce(std::vector<Name>* names) {
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
}
/// The values that a command gives to fields in pairs; a field that it names several times has the
/// last value. Many pairs are sorted: looking for each of kColumnsMax fields among all pairs would
/// keep a worker busy.
template <typename Name>
class RespGivenFields {
 public:
  /// `pairs`: a name, its value, the next name, and so on.
  explicit RespGivenFields(std::span<const Name> pairs) : pairs_(pairs) {
    if (pairs.size() / 2 <= kFewPairs) return;
    for (size_t at = 0; at + 1 < pairs.size(); at += 2) sorted_.push_back(at);
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [pairs](size_t a, size_t b) { return pairs[a] < pairs[b]; });
  }
  /// The value of a field. Null: the command does not name the field.
  const Name* ValueOf(const Name& field) const {
    if (sorted_.empty()) {
      for (size_t end = pairs_.size(); end >= 2; end -= 2) {
        if (pairs_[end - 2] == field) return &pairs_[end - 1];
      }
      return nullptr;
    }
    const auto after =
        std::upper_bound(sorted_.begin(), sorted_.end(), field,
                         [this](const Name& wanted, size_t at) { return wanted < pairs_[at]; });
    const bool is_given = after != sorted_.begin() && pairs_[*(after - 1)] == field;
    return is_given ? &pairs_[*(after - 1) + 1] : nullptr;
  }

 private:
  static constexpr size_t kFewPairs = 8;  ///< Up to this many are searched one by one, and nothing
                                          ///< is allocated.

  const std::span<const Name> pairs_;
  std::vector<size_t> sorted_;  ///< The positions of the names, in the order of the names; empty:
                                ///< there are few pairs.
};
/// Removes from the names the columns that a command may not open. `all`: the command reads all
/// fields.
void ShowFields(const RespCall& call, bool all, engine::IndexNames* names);

}  // namespace rowsocket::frontend
