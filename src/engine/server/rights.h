// What an account may do through an opened index, as one look at the server's grants has found it,
// and which privileges a request needs.
//
// Threads: the session's.
// Lifetime: a look counts in its own turn, and in later ones as judge.h says.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/server/privileges.h"
#include "model/request.h"

namespace rowsocket::engine::server {

struct Rights {
  uint64_t account = 0;  ///< The account's id; 0: none yet.
  uint64_t grants_seen = 0;
  uint64_t generation = 0;  ///< The generation of the session's tables; see tables.h.
  /// The look went on to the table and its columns. Otherwise only `on_all_opened` and
  /// `denied_on_all` are known.
  bool is_whole = false;
  Privileges on_all_opened = 0;  ///< On all opened columns, filter columns and parts of the key.
  Privileges on_table = 0;
  Privileges on_some_column = 0;  ///< On the table, or on some column of it, opened or not.
  Privileges denied_on_all = 0;   ///< Privileges that the account has on no column of the table.
  std::vector<Privileges> columns, filters, key;  ///< By opened column, filter column, key part.

  /// Begins a look at the account's grants, and forgets the earlier look.
  void Begin(uint64_t account_id, uint64_t seen, uint64_t of_generation);
  /// Notes that the account has these privileges on the whole table.
  void SetTable(Privileges privileges) { on_all_opened = on_table = on_some_column = privileges; }
  /// Ends a whole look.
  void SumUp();

  /// Whether the account may have the request executed. REQUIRES: is_whole.
  bool Allow(const model::Request& request) const;

 private:
  bool AllowFind(const model::Find& find) const;
  bool AllowEdit(const model::Edit& edit) const;
};

/// The privileges that the request needs, on any columns.
Privileges NeedsOf(const model::Request& request);

/// Keeps the looks of the last accounts that used an index.
class RightsKept {
 public:
  /// The slot for a look of this account, which may still hold an older look, or that of another
  /// account.
  Rights& Of(uint64_t account_id, uint64_t grants_seen);

 private:
  std::vector<Rights> rights_;  ///< By the account's id; their number is a power of 2.
};

}  // namespace rowsocket::engine::server
