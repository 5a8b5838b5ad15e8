// Which rows a batch may have changed, as far as the texts of its requests say.
//
// While it is being committed its changes can be visible to other sessions before they are durable
// (commit_board.h). A find that may have seen one of them is answered only when the commit has
// returned. Most finds are about other rows, and must not wait: this tells them apart, without asking
// the engine.
//
// Two keys are taken for those of different rows when each is
//   - a decimal integer of at most 15 digits, without sign or leading zero, or
//   - ASCII that begins with a letter and is no address of INET6, of which letters and digits count, and
//     letters that some collation takes for the same (case; i j y; u v w) as one,
// and what counts differs. All else may be the same row. A table of which the batch has inserted rows,
// changed several at once, used several indexes or may have moved a row to another key (KeyPlaces) has
// no row that is surely another one.
// Not looked at: rows that foreign keys changed in tables which the batch does not name, nor those of
// rowsocket.tokens; containers of a gat behind its first key's; keys of which two such texts are one
// value (a YEAR or a date of two and of four digits, an ENUM by name and by number, a FLOAT of more
// than 7 digits, words as keys of a number).
//
// Flow: Clear, Add for each request that writes, then MayConcern.
// Threads: one owner. Limits: 8,192 bits, so that now and then a find waits that would not have to.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/facts.h"
#include "engine/index.h"
#include "model/request.h"

namespace rowsocket::exec {

/// Which opened columns of an index are parts of its key: a change of them moves the row.
struct KeyPlaces {
  static constexpr uint32_t kNoPart = UINT32_MAX;

  KeyPlaces() = default;  ///< Nothing is known: every change may move its row.
  KeyPlaces(const engine::Index& index, const engine::IndexFacts& facts);
  bool MayMove(const model::Find& find) const;

  bool are_known = false;       ///< And nothing but a change of these columns changes the key.
  std::vector<uint32_t> parts;  ///< By opened column.
};

class WriteSet {
 public:
  void Clear();
  /// `key`: that of the index.
  void Add(const engine::Index& index, const model::Request& request, const KeyPlaces& key);
  bool MayConcern(const engine::Index& index, const model::Request& find) const;

 private:
  struct Table {
    uint64_t hash = 0;   ///< Of its name.
    uint64_t shape = 0;  ///< Of the index's name and the number of key parts.
    bool any_row = false;
  };
  static constexpr size_t kBits = 8192;

  const Table* Find(uint64_t hash) const;

  std::vector<Table> tables_;
  std::array<uint64_t, kBits / 64> bits_{};
};

}  // namespace rowsocket::exec
