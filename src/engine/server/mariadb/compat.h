// What differs between the lines of MariaDB that this library is built for, 10.11 and 11.8: one
// inline function for each difference. No other file asks for the server's version
// (scripts/check-docs). Included by api.h alone, behind the server's headers.
#pragma once

#include <string>
#include <string_view>

#if MYSQL_VERSION_ID >= 110800
#include <sql_type_vector.h>
#endif

namespace rowsocket::engine::server {

#if MYSQL_VERSION_ID >= 110800

inline constexpr const char* kServerLine = "mariadb-11.8";

/// A member of a transaction. Most are storage engines; the binary log and the cache of vector
/// indexes are not.
using Participant = transaction_participant;

/// The storage engine that a participant is; null for other participants.
inline handlerton* EngineOf(Participant* participant) {
  st_plugin_int* const plugin = hton2plugin[participant->slot];
  const bool is_engine = plugin != nullptr && plugin->plugin->type == MYSQL_STORAGE_ENGINE_PLUGIN;
  return is_engine ? static_cast<handlerton*>(participant) : nullptr;
}

/// Makes the engine's log as durable as commits are. In 11.8 InnoDB's function flushes whatever
/// innodb_flush_log_at_trx_commit says, so that the variable is read here: with 0 and 2 no commit
/// waits for a flush, and neither do answers.
inline void FlushLogs(handlerton* engine, ulonglong flush_at_commit) {
  if (engine->db_type != DB_TYPE_INNODB || (flush_at_commit & 1) != 0) engine->flush_logs(engine);
}

inline int PrepareToWrite(handler& file, bool sets_fields) {
  return file.prepare_for_modify(sets_fields, /*can_lookup=*/true);
}

/// Whether rows are found by the key's order or equality. False for full-text, spatial and vector
/// indexes.
inline bool IsSearchable(const KEY& key) {
  return key.algorithm != HA_KEY_ALG_FULLTEXT && key.algorithm != HA_KEY_ALG_RTREE &&
         key.algorithm != HA_KEY_ALG_VECTOR;
}

inline const TYPELIB* TypelibOf(const Field_enum& field) { return field.typelib(); }

inline bool IsVector(const Field& field) { return field.type_handler() == &type_handler_vector; }

/// Whether the server keeps an index of the table in a table of its own beside it (VECTOR). When a
/// row of such a table fails after the engine has changed it, only a rollback of the whole
/// statement takes the change back.
inline bool HasIndexBeside(const TABLE& table) { return table.s->hlindexes() != 0; }

/// Tells the index beside the table that another statement begins. The index stays locked from its
/// first use in the transaction on, so that its handler and its cache have to be told as the
/// table's handler is.
inline void BeginStatementOfIndexBeside(THD* thd, TABLE* table) {
  if (table->hlindex == nullptr || table->hlindex->in_use != thd) return;
  table->hlindex->file->start_stmt(thd, table->reginfo.lock_type);
  // The cache registers itself with the first statement of the transaction alone, and would not
  // hear of the rollback of a later statement.
  for (Ha_trx_info* each = thd->transaction->all.ha_list; each != nullptr; each = each->next()) {
    st_plugin_int* const plugin = hton2plugin[each->ht()->slot];
    if (plugin != nullptr && plugin->plugin->type == MYSQL_DAEMON_PLUGIN &&
        std::string_view(plugin->name.str, plugin->name.length) == "mhnsw") {
      trans_register_ha(thd, /*all=*/false, each->ht(), 0);
    }
  }
}

inline bool IsTableName(std::string_view name) {
  return !Lex_ident_table::check_name({name.data(), name.size()}, /*check_for_path_chars=*/true);
}

inline bool IsSameColumn(const LEX_CSTRING& left, const LEX_CSTRING& right) {
  return Lex_ident_column::streq(left, right);
}

inline void FoldCase(CHARSET_INFO* charset, std::string* name) {
  std::string folded(name->size() * charset->casedn_multiply(), '\0');
  folded.resize(charset->casedn(name->data(), name->size(), folded.data(), folded.size()));
  *name = std::move(folded);
}

/// Whether the THD's account may not take the role; `access`: its global privileges with the role.
inline int CheckRole(THD* thd, const std::string& role, privilege_t* access) {
  return acl_check_setrole(thd, {role.c_str(), role.size()}, access);
}

inline privilege_t ColumnPrivileges(THD* thd, GRANT_INFO* grant, const char* db, const char* table,
                                    const Field& field) {
  return get_column_grant(thd, grant, db, table, field.field_name);
}

/// Fills in the account that SQL would choose for a client, without a login. True: there is none.
/// A client without a host name is known by its address.
inline bool FindAccount(Security_context* context, const std::string& user, const char* host,
                        const char* ip) {
  const auto text = [](const char* name) {
    return LEX_CSTRING{name != nullptr ? name : "", name != nullptr ? strlen(name) : 0};
  };
  return acl_getroot(context, {user.c_str(), user.size()}, text(host != nullptr ? host : ip),
                     text(ip), text(nullptr));
}

inline bool ShowsOtherVersion() { return !IS_SYSVAR_AUTOSIZE(&server_version_ptr); }

/// @@global.long_query_time, in microseconds.
inline ulonglong LongQueryTime() { return global_system_variables.log_slow_query_time; }

/// Sets how many rows the slow query log shows as examined.
inline void SetExaminedRows(THD* thd, ha_rows rows) { thd->m_examined_row_count = rows; }

#else

inline constexpr const char* kServerLine = "mariadb-10.11";

using Participant = handlerton;

inline handlerton* EngineOf(Participant* participant) { return participant; }

/// InnoDB's function reads innodb_flush_log_at_trx_commit itself.
inline void FlushLogs(handlerton* engine, ulonglong) { engine->flush_logs(engine); }

inline int PrepareToWrite(handler& file, bool) {
  return file.prepare_for_insert(/*do_create=*/true);
}

inline bool IsSearchable(const KEY& key) { return (key.flags & (HA_FULLTEXT | HA_SPATIAL)) == 0; }

inline const TYPELIB* TypelibOf(const Field_enum& field) { return field.typelib; }

inline bool IsVector(const Field&) { return false; }
inline bool HasIndexBeside(const TABLE&) { return false; }
inline void BeginStatementOfIndexBeside(THD*, TABLE*) {}

inline bool IsTableName(std::string_view name) {
  return !check_table_name(name.data(), name.size(), /*check_for_path_chars=*/true);
}

inline bool IsSameColumn(const LEX_CSTRING& left, const LEX_CSTRING& right) {
  return my_strcasecmp(system_charset_info, left.str, right.str) == 0;
}

inline void FoldCase(CHARSET_INFO* charset, std::string* name) {
  name->resize(my_casedn_str(charset, name->data()));
}

inline int CheckRole(THD* thd, const std::string& role, privilege_t* access) {
  return acl_check_setrole(thd, role.c_str(), access);
}

inline privilege_t ColumnPrivileges(THD* thd, GRANT_INFO* grant, const char* db, const char* table,
                                    const Field& field) {
  return get_column_grant(thd, grant, db, table, field.field_name.str);
}

inline bool FindAccount(Security_context* context, const std::string& user, const char* host,
                        const char* ip) {
  const char* const address = ip != nullptr ? ip : "";
  return acl_getroot(context, user.c_str(), host != nullptr ? host : address, address, "");
}

inline bool ShowsOtherVersion() { return using_custom_server_version; }

inline ulonglong LongQueryTime() { return global_system_variables.long_query_time; }

inline void SetExaminedRows(THD* thd, ha_rows rows) { thd->set_examined_row_count(rows); }

#endif

}  // namespace rowsocket::engine::server
