// Opens tables for a session; together with a table that is written to, it opens the tables of
// foreign keys that the server opens for statements of SQL. What all servers do alike is in
// table_opener.cc, the rest in one table_opener.cc for each family.
//
// Each open table holds a metadata lock, which is what DDL waits for.
// Threads: the session's.
// Errors: open_table, view, system_table, killed; in MariaDB table_engine and sequence, in MySQL
// unserved; busy or gives way if a lock is in the way.
#pragma once

#include <string>
#include <string_view>

#include "api.h"
#include "engine/server/open_table.h"
#include "engine/server/session_thd.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

// Called by tables.cc, defined in table_opener.cc:

/// Opens one more instance of the table. REQUIRES: open->access is set. A failure leaves nothing
/// open.
Outcome OpenTableInstance(SessionThd& thd, const std::string& db, const std::string& name,
                          OpenTable* open);

// Called by the families' files, defined in table_opener.cc:

/// Closes the tables that are opened while it lives, even if memory runs out, unless Keep is
/// called.
class OpenGuard {
 public:
  explicit OpenGuard(THD* thd)
      : thd_(thd), tables_(thd->open_tables), locks_(thd->mdl_context.mdl_savepoint()) {}
  ~OpenGuard();
  OpenGuard(const OpenGuard&) = delete;
  OpenGuard& operator=(const OpenGuard&) = delete;
  void Keep() { kept_ = true; }

 private:
  THD* const thd_;
  TABLE* const tables_;
  const MDL_savepoint locks_;
  bool kept_ = false;
};

/// Opens one table into open->tables and `*table`. `foreign_key`: the name of the key for which the
/// table is opened; null for the table that the client named. `*table` stays null if it is a table
/// of a foreign key that may be missing, and is. A failure may leave something open.
Outcome OpenOneTable(SessionThd& thd, OpenTable* open, std::string_view db, std::string_view name,
                     thr_lock_type lock, const char* foreign_key, TABLE** table);

// Called by table_opener.cc, defined in each family's own table_opener.cc:

/// Opens into open->tables the tables that the server would open for the foreign keys of a table
/// that is to be written to, open->table. A failure may leave something open.
Outcome OpenForeignKeyTables(SessionThd& thd, OpenTable* open);
/// Prepares the reference by which a table is opened, in open->list. `foreign_key`: the name of the
/// key for which the table is opened; null for the table that the client named.
TableReference& MakeReference(OpenTable* open, std::string_view db, std::string_view name,
                              thr_lock_type lock, const char* foreign_key);
/// Whether the error's number says that a table of a foreign key is missing, which is allowed.
bool MayBeMissing(unsigned number);
/// Whether the error's number says that there is no such table or database, and not that the server
/// cannot tell, or cannot open the table. Call it right after the server's open_table.
bool SaysNoTable(unsigned number);
/// Prepares a table that has just been opened, or says why this library does not serve it.
Outcome CheckServed(TABLE& table, Access access);

}  // namespace rowsocket::engine::server
