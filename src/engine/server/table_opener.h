// Opens tables for a session, and with a table that is written to, the tables of its foreign keys
// that the server opens for statements of SQL. What all servers do alike is in table_opener.cc, the
// rest in one table_opener.cc for each family.
//
// Each open table holds a metadata lock, which is what DDL waits for. Threads: the session's.
// Errors: open_table, view, system_table, table_engine; in MariaDB sequence, in MySQL unserved;
// busy or gives way where a lock is in the way.
#pragma once

#include <string>

#include "api.h"
#include "engine/server/open_table.h"
#include "engine/server/worker_thd.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

/// Opens one more instance of the table. REQUIRES: open->access is set. A failure leaves nothing
/// open.
Outcome OpenInstance(WorkerThd& thd, const std::string& db, const std::string& name,
                     OpenTable* open);

// What table_opener.cc and those of the families ask of each other.

/// Closes what is opened while it lives, unless that is kept: also where memory runs out.
class Opening {
 public:
  explicit Opening(THD* thd)
      : thd_(thd), tables_(thd->open_tables), locks_(thd->mdl_context.mdl_savepoint()) {}
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  void Keep() { kept_ = true; }

 private:
  THD* const thd_;
  TABLE* const tables_;
  const MDL_savepoint locks_;
  bool kept_ = false;
};

/// Each family's own: opens the table into open->table, and the tables of its foreign keys into
/// open->tables. A failure may leave something open.
Outcome OpenWithForeignKeys(WorkerThd& thd, const std::string& db, const std::string& name,
                            OpenTable* open);
/// Why the server's open_table has failed. Afterwards the THD can go on.
Outcome FailureToOpen(WorkerThd& thd, Open_table_context* context);

}  // namespace rowsocket::engine::server
