// Opens tables for a session, and with a table that is written to, the tables of its foreign keys
// that the server opens for statements of SQL. What all servers do alike is in table_opener.cc, the
// rest in one table_opener.cc for each family.
//
// Each open table holds a metadata lock, which is what DDL waits for. Threads: the session's.
// Errors: open_table, view, system_table, killed; in MariaDB table_engine and sequence, in MySQL
// unserved; busy or gives way where a lock is in the way.
#pragma once

#include <string>
#include <string_view>

#include "api.h"
#include "engine/server/open_table.h"
#include "engine/server/session_thd.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

// For tables.cc, in table_opener.cc.

/// Opens one more instance of the table. REQUIRES: open->access is set. A failure leaves nothing
/// open.
Outcome OpenTableInstance(SessionThd& thd, const std::string& db, const std::string& name,
                          OpenTable* open);

// For the families' files, in table_opener.cc.

/// Closes what is opened while it lives, unless that is kept: also where memory runs out.
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

/// Opens one table into open->tables and `*table`. `foreign_key`: the name of the key for whose
/// sake it is opened; null for the table that the client named. `*table` stays null where a table
/// of a foreign key may be missing, and is. A failure may leave something open.
Outcome OpenOneTable(SessionThd& thd, OpenTable* open, std::string_view db, std::string_view name,
                     thr_lock_type lock, const char* foreign_key, TABLE** table);

// For table_opener.cc, in each family's own.

/// Opens into open->tables the tables that the server would open for the foreign keys of a table
/// that is to be written to, open->table. A failure may leave something open.
Outcome OpenForeignKeyTables(SessionThd& thd, OpenTable* open);
/// Prepares the reference by which a table is opened, in open->list. `foreign_key`: the name of the
/// key for whose sake it is opened; null for the table that the client named.
TableReference& MakeReference(OpenTable* open, std::string_view db, std::string_view name,
                              thr_lock_type lock, const char* foreign_key);
/// Whether the error's number says that a table of a foreign key is missing, and may be.
bool MayBeMissing(unsigned number);
/// Whether the error's number says that there is no such table or database, and not that the server
/// cannot tell, or cannot open the table. To be asked right after the server's open_table.
bool SaysNoTable(unsigned number);
/// Prepares a table that has just been opened, or says why this library does not serve it.
Outcome CheckServed(TABLE& table, Access access);

}  // namespace rowsocket::engine::server
