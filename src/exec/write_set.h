// Which rows a batch may have changed, as far as the texts of its requests say.
//
// While the batch is being committed, its changes can be visible to other sessions before they are
// durable (commit_board.h). A find that may have seen such a change is answered only when the
// commit has returned. Most finds are about other rows, and must not wait: a WriteSet tells which
// is which, without asking the engine.
//
// Two keys are taken for those of different rows when each is
//
//   - a decimal integer of at most 15 digits, without sign or leading zero, or
//   - ASCII that begins with a letter and is no address of INET6: its letters and digits count, and
//     letters that some collation takes for the same (case; i j y; m n; u v w) count as one, and so
//     do texts that differ as Lithuanian `ch` and `c`, or as Hungarian `ccs` and `cscs`,
//
// and what counts differs. All other keys may be of the same row. Every find in a table may have
// seen a change if the batch has inserted rows, changed several at once, used several indexes or
// may have moved a row to another key, or if a key column may take two such texts for one value
// (a YEAR of two and of four digits; KeyColumns). If foreign keys may have changed other tables,
// every find may have seen a change.
//
// Flow: Clear, Add for each request that writes, then MayConcern.
// Threads: one owner.
// Limits: 8,192 bits, so that now and then a find waits without need.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/facts.h"
#include "engine/index.h"
#include "exec/row_name.h"
#include "model/request.h"

namespace rowsocket::exec {

/// Which opened columns of an index are parts of its key, because a change of such a column moves
/// the row; and what else a change of a row may mean.
struct KeyColumns {
  static constexpr uint32_t kNoPart = UINT32_MAX;

  KeyColumns() = default;  ///< Nothing is known: every change may move its row.
  KeyColumns(const engine::Index& index, const engine::IndexFacts& facts);
  bool MayMove(const model::Find& find) const;
  /// Whether foreign keys may cause further changes because of the request, in this table or
  /// others.
  bool MayCascade(const model::Request& request) const;

  bool are_known = false;  ///< Only changes of the columns in `parts` change the key.
  /// The key part that each opened column is; kNoPart: none.
  std::vector<uint32_t> parts;
  bool is_text_by_text = false;  ///< Texts that a WriteSet takes for different are different
                                 ///< values.
  bool is_referenced = true;     ///< Foreign keys refer to the table.
  /// A change of the opened columns may change the key of another index.
  bool changes_other_keys = true;
};

class WriteSet {
 public:
  void Clear();
  /// `key`: what is known of the key of `index`.
  void Add(const engine::Index& index, const model::Request& request, const KeyColumns& key);
  /// Adds all rows of the table.
  void AddAnyRow(const engine::Index& index);
  /// Whether a find of the row, or of several rows of its index, may have seen a change.
  bool MayConcern(const RowName& row) const;

 private:
  struct Table {
    uint64_t hash = 0;        ///< The hash of the table's name.
    uint64_t index_hash = 0;  ///< The hash of the index's name and the number of key parts.
    bool any_row = false;
  };
  static constexpr size_t kBits = 8192;

  const Table* Find(uint64_t hash) const;
  Table& FindOrAdd(uint64_t hash, uint64_t index_hash);

  std::vector<Table> tables_;
  bool any_table_ = false;
  std::array<uint64_t, kBits / 64> bits_{};
};

}  // namespace rowsocket::exec
