// Opens tables for a session, and with a table that is written to, the children of its foreign
// keys.
//
// Each open table holds a metadata lock, which is what DDL waits for. Threads: the session's.
// Errors: open_table, view, sequence, system_table, table_engine; busy or gives way where a lock is
// in the way.
#pragma once

#include <string>
#include <string_view>

#include "engine/server/open_table.h"
#include "engine/session.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

/// Whether the table's engine, or its partitions' engine, can take a statement back.
bool RollsBack(const TABLE& table);

class TableOpener {
 public:
  explicit TableOpener(WorkerThd& thd) : thd_(thd) {}

  /// REQUIRES: open->access is set. A failure leaves nothing open.
  Outcome Open(const std::string& db, const std::string& name, OpenTable* open);

 private:
  Outcome OpenInstance(const std::string& db, const std::string& name, OpenTable* open);
  Outcome OpenOne(OpenTable* open, std::string_view db, std::string_view name, thr_lock_type lock,
                  bool for_foreign_key, TABLE** table);
  Outcome FailureToOpen(Open_table_context* context, OpenTable* open, bool for_foreign_key);
  Outcome OpenForeignKeyChildren(OpenTable* open, TABLE* parent, bool deletes, bool updates,
                                 unsigned depth);

  WorkerThd& thd_;
};

}  // namespace rowsocket::engine::server
