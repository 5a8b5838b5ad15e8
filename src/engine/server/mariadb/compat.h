// What differs between the lines of MariaDB that this library is built for. Each function has one
// block; its comment names the first line that has the new way ("since 11.8"). No other file asks
// for the server's version (scripts/check-tree). Included only by api.h, after the server's
// headers.
//
// To add a line, name it in the next #if. The compiler then stops in each block, because no block
// has a side for lines that it does not name: compare the block with the new line's source, and add
// the line to the side that is right for it (`|| ROWSOCKET_LINE == 1203`), or give it a side of its
// own. All steps: docs/PORTING.md, "Another version of a server".
#pragma once

/// 10.11 is 1011, 11.8 is 1108.
#define ROWSOCKET_LINE (MYSQL_VERSION_ID / 100)

#if ROWSOCKET_LINE != 1011 && ROWSOCKET_LINE != 1108
#error "This file knows MariaDB 10.11 and 11.8 only: see its first lines"
#endif

#include <string>
#include <string_view>

#if ROWSOCKET_LINE == 1108
#include <sql_type_vector.h>
#elif ROWSOCKET_LINE != 1011
#error "Which side does this line of MariaDB take? See the first lines"
#endif

namespace rowsocket::engine::server {

// --- Transactions ---

/// A participant of a transaction. Since 11.8 some are no storage engines: the binary log, and the
/// cache of vector indexes.
#if ROWSOCKET_LINE == 1108
using Participant = transaction_participant;
#elif ROWSOCKET_LINE == 1011
using Participant = handlerton;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif

/// The participant as a storage engine; null for other participants.
inline handlerton* EngineOf(Participant* participant) {
#if ROWSOCKET_LINE == 1108
  st_plugin_int* const plugin = hton2plugin[participant->slot];
  const bool is_engine = plugin != nullptr && plugin->plugin->type == MYSQL_STORAGE_ENGINE_PLUGIN;
  return is_engine ? static_cast<handlerton*>(participant) : nullptr;
#elif ROWSOCKET_LINE == 1011
  return participant;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Makes the engine's log as durable as commits are. Since 11.8 InnoDB's function always flushes,
/// so innodb_flush_log_at_trx_commit is checked here: with 0 and 2 no commit waits for a flush, and
/// neither do answers. InnoDB's function of 10.11 checks the variable itself.
inline void FlushLogs(handlerton* engine, [[maybe_unused]] ulonglong flush_at_commit) {
#if ROWSOCKET_LINE == 1108
  if (engine->db_type != DB_TYPE_INNODB || (flush_at_commit & 1) != 0) engine->flush_logs(engine);
#elif ROWSOCKET_LINE == 1011
  engine->flush_logs(engine);
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Since 11.8 the handler is also told whether the statement changes rows that it finds.
inline int PrepareToWrite(handler& file, [[maybe_unused]] bool sets_fields) {
#if ROWSOCKET_LINE == 1108
  return file.prepare_for_modify(sets_fields, /*can_lookup=*/true);
#elif ROWSOCKET_LINE == 1011
  return file.prepare_for_insert(/*do_create=*/true);
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

// --- Indexes and columns ---

/// False for full-text, spatial and vector indexes. Since 11.8 these are algorithms; before, flags.
inline bool IsSearchable(const KEY& key) {
#if ROWSOCKET_LINE == 1108
  return key.algorithm != HA_KEY_ALG_FULLTEXT && key.algorithm != HA_KEY_ALG_RTREE &&
         key.algorithm != HA_KEY_ALG_VECTOR;
#elif ROWSOCKET_LINE == 1011
  return (key.flags & (HA_FULLTEXT | HA_SPATIAL)) == 0;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// 11.8 has FULLTEXT as the key's algorithm, 10.11 as a flag of it.
inline bool IsFullText(const KEY& key) {
#if ROWSOCKET_LINE == 1108
  return key.algorithm == HA_KEY_ALG_FULLTEXT;
#elif ROWSOCKET_LINE == 1011
  return (key.flags & HA_FULLTEXT) != 0;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Since 11.8 an ALTER may copy a table while sessions write to it (since 11.2 in the server).
inline bool IsCopiedByAlter(const TABLE& table) {
#if ROWSOCKET_LINE == 1108
  return table.s->online_alter_binlog != nullptr;
#elif ROWSOCKET_LINE == 1011
  static_cast<void>(table);
  return false;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// The labels of an ENUM: Field_enum::typelib is a function since 11.8, a member before.
inline const TYPELIB* TypelibOf(const Field_enum& field) {
#if ROWSOCKET_LINE == 1108
  return field.typelib();
#elif ROWSOCKET_LINE == 1011
  return field.typelib;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// The type VECTOR is there since 11.8.
inline bool IsVector([[maybe_unused]] const Field& field) {
#if ROWSOCKET_LINE == 1108
  return field.type_handler() == &type_handler_vector;
#elif ROWSOCKET_LINE == 1011
  return false;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// VECTOR indexes are there since 11.8.
inline bool HasVectorIndexTable([[maybe_unused]] const TABLE& table) {
#if ROWSOCKET_LINE == 1108
  return table.s->hlindexes() != 0;
#elif ROWSOCKET_LINE == 1011
  return false;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// From its first use in the transaction on, the index (since 11.8) stays locked, so that its
/// handler and its cache have to be told, just as the table's handler is.
inline void BeginStatementOfVectorIndexTable([[maybe_unused]] THD* thd,
                                             [[maybe_unused]] TABLE* table) {
#if ROWSOCKET_LINE == 1108
  if (table->hlindex == nullptr || table->hlindex->in_use != thd) return;
  table->hlindex->file->start_stmt(thd, table->reginfo.lock_type);
  // The cache registers itself only with the first statement of the transaction, and would not hear
  // of the rollback of a later statement.
  for (Ha_trx_info* each = thd->transaction->all.ha_list; each != nullptr; each = each->next()) {
    st_plugin_int* const plugin = hton2plugin[each->ht()->slot];
    if (plugin != nullptr && plugin->plugin->type == MYSQL_DAEMON_PLUGIN &&
        std::string_view(plugin->name.str, plugin->name.length) == "mhnsw") {
      trans_register_ha(thd, /*all=*/false, each->ht(), 0);
    }
  }
#elif ROWSOCKET_LINE != 1011
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

// --- Names: since 11.8 by the types of identifiers ---

inline bool IsTableName(std::string_view name) {
#if ROWSOCKET_LINE == 1108
  return !Lex_ident_table::check_name({name.data(), name.size()}, /*check_for_path_chars=*/false);
#elif ROWSOCKET_LINE == 1011
  return !check_table_name(name.data(), name.size(), /*check_for_path_chars=*/false);
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

inline bool HasName(const Field& field, const LEX_CSTRING& name) {
#if ROWSOCKET_LINE == 1108
  return Lex_ident_column::streq(field.field_name, name);
#elif ROWSOCKET_LINE == 1011
  return my_strcasecmp(system_charset_info, field.field_name.str, name.str) == 0;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Since 11.8 the folded text may be longer than the name.
inline void FoldCase(const CHARSET_INFO* charset, std::string* name) {
#if ROWSOCKET_LINE == 1108
  std::string folded(name->size() * charset->casedn_multiply(), '\0');
  folded.resize(charset->casedn(name->data(), name->size(), folded.data(), folded.size()));
  *name = std::move(folded);
#elif ROWSOCKET_LINE == 1011
  name->resize(my_casedn_str(charset, name->data()));
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

// --- Accounts: since 11.8 with names that have a length ---

/// Whether the THD's account may not take the role; `access`: its global privileges with the role.
inline int CheckRole(THD* thd, const std::string& role, privilege_t* access) {
#if ROWSOCKET_LINE == 1108
  return acl_check_setrole(thd, {role.c_str(), role.size()}, access);
#elif ROWSOCKET_LINE == 1011
  return acl_check_setrole(thd, role.c_str(), access);
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

inline privilege_t ColumnPrivileges(THD* thd, GRANT_INFO* grant, const char* db, const char* table,
                                    const Field& field) {
#if ROWSOCKET_LINE == 1108
  return get_column_grant(thd, grant, db, table, field.field_name);
#elif ROWSOCKET_LINE == 1011
  return get_column_grant(thd, grant, db, table, field.field_name.str);
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Fills in the account that SQL would choose for a client, without a login. True: there is no such
/// account. A client without a host name is known by its address.
inline bool FindAccount(Security_context* context, const std::string& user, const char* host,
                        const char* ip) {
#if ROWSOCKET_LINE == 1108
  const auto text = [](const char* name) {
    return LEX_CSTRING{name != nullptr ? name : "", name != nullptr ? strlen(name) : 0};
  };
  return acl_getroot(context, {user.c_str(), user.size()}, text(host != nullptr ? host : ip),
                     text(ip), text(nullptr));
#elif ROWSOCKET_LINE == 1011
  const char* const address = ip != nullptr ? ip : "";
  return acl_getroot(context, user.c_str(), host != nullptr ? host : address, address, "");
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

// --- The server's own variables ---

inline bool ShowsOtherVersion() {
#if ROWSOCKET_LINE == 1108
  return !IS_SYSVAR_AUTOSIZE(&server_version_ptr);
#elif ROWSOCKET_LINE == 1011
  return using_custom_server_version;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Takes over block_encryption_mode, which AES_ENCRYPT asks since 11.8 (since 11.2 in the server).
/// Returns whether it has changed.
inline bool FollowEncryptionMode([[maybe_unused]] system_variables* mine) {
#if ROWSOCKET_LINE == 1108
  const ulong mode = global_system_variables.block_encryption_mode;
  const bool changed = mine->block_encryption_mode != mode;
  mine->block_encryption_mode = mode;
  return changed;
#elif ROWSOCKET_LINE == 1011
  return false;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Whether the slow query log has a request that took so long whatever min_examined_row_limit and
/// log_slow_rate_limit say. Since 11.8 (since 11.7 in the server, MDEV-33144).
inline bool IsAlwaysLogged([[maybe_unused]] int64_t us) {
#if ROWSOCKET_LINE == 1108
  return static_cast<ulonglong>(us) >= global_system_variables.log_slow_always_query_time;
#elif ROWSOCKET_LINE == 1011
  return false;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// @@global.long_query_time, in microseconds. Since 11.8 it has another name.
inline ulonglong LongQueryTime() {
#if ROWSOCKET_LINE == 1108
  return global_system_variables.log_slow_query_time;
#elif ROWSOCKET_LINE == 1011
  return global_system_variables.long_query_time;
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

/// Sets how many rows the slow query log shows as examined.
inline void SetExaminedRows(THD* thd, ha_rows rows) {
#if ROWSOCKET_LINE == 1108
  thd->m_examined_row_count = rows;
#elif ROWSOCKET_LINE == 1011
  thd->set_examined_row_count(rows);
#else
#error "Which side does this line of MariaDB take? See the first lines"
#endif
}

}  // namespace rowsocket::engine::server
