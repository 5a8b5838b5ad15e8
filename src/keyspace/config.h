// The rows of the mapping tables (schema innodb_memcache, and rowsocket.keyspaces), as they are.
//
// Flow: ReadConfig opens the tables by name and reads them all in one turn of its own.
// Threads: the session's.
// Limits: kMappingRowsMax rows of each table; Config says if there are more.
// Errors: a table that is missing, or is not as its script makes it, gives a Config that says so
// (`problem`, `left_out`), and no error. A table that is locked, or that the server cannot open
// now, gives that error, because its rows are unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"

namespace rowsocket::keyspace {

/// The schema of memcached's mapping tables, such as `containers`; MySQL's plugin has the same.
inline constexpr std::string_view kContainersSchema = "innodb_memcache";
/// The schema of the tables that MySQL's plugin does not have: RESP's keyspaces and store.
inline constexpr std::string_view kRowsocketSchema = "rowsocket";
/// The table of kRowsocketSchema with RESP's strings, except those that are items of a container.
inline constexpr std::string_view kStoreTable = "store";

/// A row of `containers`, or what stands for one where `is_expiring_rows`; NULL is empty.
struct ContainerDefinition {
  std::string name;   ///< What clients and keyspaces call it; empty where `is_expiring_rows`.
  std::string title;  ///< What the log calls it, such as "container x": no two have the same.
  std::string db;
  std::string table;
  std::string key_columns;
  std::string value_columns;
  std::string flags;
  std::string cas_column;
  std::string expire_time_column;
  std::string index;
  /// Of rows that expire, those of a keyspace or of RESP's store, and of no row of `containers`:
  /// the container has a key and a time of expiry, and no value.
  bool is_expiring_rows = false;
  bool is_store = false;  ///< RESP's store: expiry is in milliseconds, in which 0 is a moment.

  friend bool operator==(const ContainerDefinition&, const ContainerDefinition&) = default;
};

/// A row of `rowsocket.keyspaces`: what keys that begin with a prefix mean. NULL is empty.
struct KeyspaceDefinition {
  enum class Kind : uint8_t {
    kValue,  ///< Each key is an item of a container.
    kRow,    ///< Each key is a row, whose columns are fields.
  };
  std::string prefix;
  Kind kind = Kind::kValue;
  std::string container;            ///< kValue: the container's name.
  std::string db, table, index;     ///< kRow; no index: the primary key.
  std::vector<std::string> fields;  ///< kRow: the columns that are fields; empty: all.
  bool inserts = true;  ///< kRow: a command that sets fields makes a row if there is none.
  bool read_only = false;
  std::string expires;  ///< kRow: the column that holds when a row expires; empty: no row does.

  friend bool operator==(const KeyspaceDefinition&, const KeyspaceDefinition&) = default;
};

/// The first row of `cache_policies`, and `config_options`.
struct Options {
  // The error for requests whose policy forbids them; empty: such requests are carried out.
  std::string get_refusal;
  std::string set_refusal;
  std::string delete_refusal;
  std::string flush_refusal;
  std::string policy_problem;  ///< Which policy has a value that is not served.
  /// 0: the configured text is no separator, so that containers of several columns cannot be used.
  char separator = '|';
  std::string delimiter = ".";
  std::vector<std::string> relaxed;  ///< Containers with an option `durability.NAME` = relaxed.

  friend bool operator==(const Options&, const Options&) = default;
};

struct Config {
  std::vector<ContainerDefinition> containers;  ///< In the order of their names.
  std::vector<KeyspaceDefinition> keyspaces;    ///< In the order of their prefixes.
  Options options;
  std::string problem;   ///< Why there are no containers.
  std::string left_out;  ///< Which rows of which mapping tables are not read; empty: none.

  friend bool operator==(const Config&, const Config&) = default;
};

/// Whether a failure to open a table says nothing about the table: it is locked, or the session was
/// killed.
inline bool IsLockedOrKilled(const engine::Outcome& outcome) {
  return outcome.result == engine::Outcome::Result::kBusy || model::EndsWait(outcome.error);
}

/// The names in a list, without empty ones. `separators`: the bytes that end a name.
std::vector<std::string> SplitNames(std::string_view text, std::string_view separators);

/// Reads the mapping tables. REQUIRES: no turn is open. An outcome that is not ok leaves `*config`
/// as it was. `*unopened`: the table that could not be opened; empty: none.
engine::Outcome ReadConfig(engine::Session& session, Config* config, std::string* unopened);

}  // namespace rowsocket::keyspace
