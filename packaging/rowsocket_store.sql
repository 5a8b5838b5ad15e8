-- The table for strings over RESP (resp_port): keys that name no table of the server, with their values.
-- Run it once as an administrator: mariadb < rowsocket_store.sql

CREATE DATABASE IF NOT EXISTS rowsocket;

CREATE TABLE IF NOT EXISTS rowsocket.store (
  db      TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the number that SELECT sets',
  k       VARBINARY(512) NOT NULL,
  v       LONGBLOB       NOT NULL,
  expires BIGINT                  COMMENT 'milliseconds since 1970, or never',
  PRIMARY KEY (db, k),
  KEY expires (expires)
) ENGINE=InnoDB;
