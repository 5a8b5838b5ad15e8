-- The tables of the RESP port (resp_port). Run it once as an administrator: mariadb < rowsocket_store.sql

CREATE DATABASE IF NOT EXISTS rowsocket;

-- Strings: the values of keys that neither name a table of the server nor begin with a prefix of a keyspace.
CREATE TABLE IF NOT EXISTS rowsocket.store (
  db      TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the number that SELECT sets',
  k       VARBINARY(1024) NOT NULL,
  v       LONGBLOB       NOT NULL,
  expires BIGINT                  COMMENT 'milliseconds since 1970, or never',
  PRIMARY KEY (db, k),
  KEY expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- What keys that begin with a prefix mean (docs/RESP.md, "Keyspaces"). The longest prefix counts.
CREATE TABLE IF NOT EXISTS rowsocket.keyspaces (
  prefix    VARBINARY(250) NOT NULL,
  kind      ENUM('value', 'row') NOT NULL,
  container VARCHAR(50)    COMMENT 'value: name of a row of innodb_memcache.containers',
  db_schema VARCHAR(64)    COMMENT 'row: the schema of its table',
  db_table  VARCHAR(64)    COMMENT 'row: the table',
  db_index  VARCHAR(64)    COMMENT 'row: a unique index whose columns are the key (NULL: the primary key)',
  fields    VARCHAR(2000)  COMMENT 'row: the columns that are fields, separated by commas (NULL: all but the key)',
  if_absent ENUM('insert', 'refuse') NOT NULL DEFAULT 'insert' COMMENT 'row: what HSET does where there is no row',
  read_only BOOLEAN        NOT NULL DEFAULT FALSE,
  expires   VARCHAR(64)    COMMENT 'row: the column that holds when a row expires, in seconds since 1970 (NULL: no row does)',
  PRIMARY KEY (prefix)
) ENGINE=InnoDB;

-- The column that a table of an older version lacks.
SET @add = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE rowsocket.keyspaces ADD COLUMN expires VARCHAR(64)', 'DO 0')
            FROM information_schema.COLUMNS
            WHERE TABLE_SCHEMA = 'rowsocket' AND TABLE_NAME = 'keyspaces' AND COLUMN_NAME = 'expires');
PREPARE add_expires FROM @add;
EXECUTE add_expires;
DEALLOCATE PREPARE add_expires;

-- An older version took keys of at most 512 bytes.
SET @widen = (SELECT IF(COUNT(*) = 1, 'ALTER TABLE rowsocket.store MODIFY k VARBINARY(1024) NOT NULL, ROW_FORMAT=DYNAMIC', 'DO 0')
              FROM information_schema.COLUMNS
              WHERE TABLE_SCHEMA = 'rowsocket' AND TABLE_NAME = 'store' AND COLUMN_NAME = 'k'
                AND CHARACTER_MAXIMUM_LENGTH < 1024);
PREPARE widen_key FROM @widen;
EXECUTE widen_key;
DEALLOCATE PREPARE widen_key;
