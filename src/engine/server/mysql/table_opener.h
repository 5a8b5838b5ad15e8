// Opens tables for a session.
//
// Each open table holds a metadata lock, which is what DDL waits for. Threads: the session's.
// Errors: open_table, view, system_table, table_engine, unserved; busy or gives way where a lock is
// in the way.
#pragma once

#include <string>
#include <string_view>

#include "engine/server/open_table.h"
#include "engine/session.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

class TableOpener {
 public:
  explicit TableOpener(WorkerThd& thd) : thd_(thd) {}

  /// REQUIRES: open->access is set. A failure leaves nothing open.
  Outcome Open(const std::string& db, const std::string& name, OpenTable* open);

 private:
  Outcome OpenInstance(const std::string& db, const std::string& name, OpenTable* open);
  /// `foreign_key`: the key for whose sake the table is opened; empty for the instance itself.
  Outcome OpenOne(OpenTable* open, const std::string& db, const std::string& name,
                  thr_lock_type lock, const std::string& foreign_key, TABLE** table);
  Outcome OpenForeignKeyTable(OpenTable* open, const TABLE* of, const LEX_CSTRING& db,
                              const LEX_CSTRING& name, const LEX_CSTRING& key, bool changes);
  Outcome OpenForeignKeyTables(OpenTable* open, const TABLE* table, const char* but);
  Outcome FailureToOpen(Open_table_context* context);

  WorkerThd& thd_;
};

}  // namespace rowsocket::engine::server
