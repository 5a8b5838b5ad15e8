// One open instance of a table, with what the session knows about it while it is open.
//
// Threads: the session's.
// Lifetime: until Tables::CloseAll.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api.h"
#include "own.h"

namespace rowsocket::engine::server {

enum class Access : uint8_t { kRead, kWrite };

/// One open instance of a table.
struct OpenTable {
  TABLE* table = nullptr;
  Access access = Access::kRead;
  bool rolls_back = false;     ///< The engine can take a statement back (InnoDB).
  bool changed = false;        ///< The table was written to in this turn.
  MYSQL_LOCK* lock = nullptr;  ///< Held from its first use in a turn to its end, or longer.
  uint64_t used_in = 0;        ///< The last turn that locked it.
  bool stays_locked = false;   ///< The lock stays between turns that only read.
  bool is_innodb = false;      ///< An InnoDB table that is not partitioned.
  /// A row may depend on when it is written (ON UPDATE, DEFAULT ...).
  bool depends_on_time = false;
  /// The table, or one that its foreign keys may change, has a full-text index of InnoDB.
  bool has_full_text = false;
  /// Serial of the Index for which the handler is initialized; 0: none.
  uint64_t positioned_for = 0;
  bool reads_key = false;  ///< The handler reads the parts of the key as well.

  /// The references of the open tables, which must outlive them: the instance itself, then the
  /// children of its foreign keys.
  std::deque<TableReference> list;
  std::vector<std::unique_ptr<std::string>> names;
  std::vector<TABLE*> tables;
  OpenTableOwn own;

  /// Makes a copy of the text that lives as long as the table is open.
  const char* Keep(std::string_view text) {
    return names.emplace_back(std::make_unique<std::string>(text))->c_str();
  }
  /// Ends the initialization of the handler.
  void EndScan();
};

}  // namespace rowsocket::engine::server
