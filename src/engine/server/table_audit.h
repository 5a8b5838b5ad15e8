// What a session tells the server's audit plugins about the tables that requests reach. One .cc for
// each family of servers; MySQL's community server has no such plugins.
//
// Flow: IsWanted -> { Tell } -> Release; Close, when there is nothing to do for a while. A plugin
//       keeps with a THD which user it belongs to, and whether that user is to be audited, so that
//       each account needs a THD.
// Threads: the session's.
// Limits: kAuditThdsMax THDs of a session.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/table_access.h"

class THD;

namespace rowsocket::engine::server {

/// Whether the server has events of tables at all.
extern const bool kHasTableAudit;

class TableAudit {
 public:
  TableAudit() = default;
  ~TableAudit() { Close(); }
  TableAudit(const TableAudit&) = delete;
  TableAudit& operator=(const TableAudit&) = delete;

  /// Whether a plugin asks for events of tables.
  static bool IsWanted();
  /// Tells the plugins of the access. `session`: the THD of this thread.
  void Tell(THD* session, const TableAccess& access);
  /// Lets go of the plugins that Tell has used. Call after the last Tell of a turn.
  void Release();
  /// Whether there are THDs. Like a SQL session, each THD keeps the plugins that were there when it
  /// began from being uninstalled.
  bool holds_plugins() const { return !owners_.empty(); }
  /// Ends the THDs. Call on the session's thread.
  void Close();

 private:
  struct Owner {
    uint64_t account_id;
    THD* thd;
  };
  THD* ThdOf(THD* session, uint64_t account_id);

  std::vector<Owner> owners_;
};

}  // namespace rowsocket::engine::server
