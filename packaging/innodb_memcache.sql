-- The mapping tables of the memcached protocol, with the names that MySQL's plugin gave them, and a
-- first container `default`. Existing tables and rows stay as they are, so the script may run again.
--
--   mariadb < innodb_memcache.sql
--
-- docs/MEMCACHED.md describes the columns. Rows of these tables take effect without a restart.

CREATE DATABASE IF NOT EXISTS innodb_memcache;
USE innodb_memcache;

CREATE TABLE IF NOT EXISTS containers (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  db_schema VARCHAR(250) NOT NULL,
  db_table VARCHAR(250) NOT NULL,
  key_columns VARCHAR(250) NOT NULL,
  value_columns VARCHAR(250),
  flags VARCHAR(250) NOT NULL DEFAULT '0',
  cas_column VARCHAR(250),
  expire_time_column VARCHAR(250),
  unique_idx_name_on_key VARCHAR(250) NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The first row counts. innodb_only: served from the table. disabled: refused.
CREATE TABLE IF NOT EXISTS cache_policies (
  policy_name VARCHAR(40) NOT NULL PRIMARY KEY,
  get_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  set_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  delete_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  flush_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS config_options (
  name VARCHAR(250) NOT NULL PRIMARY KEY,
  value VARCHAR(250) NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO cache_policies
  VALUES ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only');
INSERT IGNORE INTO config_options VALUES ('separator', '|'), ('table_map_delimiter', '.');

-- Byte-exact keys of up to 250 bytes, values of up to 1 MB (more, if daemon_memcached_item_size_max
-- allows more). `cas` changes with every change, also by SQL. `expires`: seconds since 1970; NULL:
-- never.
CREATE TABLE IF NOT EXISTS demo (
  id VARBINARY(250) NOT NULL PRIMARY KEY,
  value MEDIUMBLOB NOT NULL,
  flags INT UNSIGNED NOT NULL DEFAULT 0,
  cas DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  expires DECIMAL(20, 3) NULL,
  KEY expires (expires)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4;

INSERT IGNORE INTO containers
  VALUES ('default', 'innodb_memcache', 'demo', 'id', 'value', 'flags', 'cas', 'expires', 'PRIMARY');
