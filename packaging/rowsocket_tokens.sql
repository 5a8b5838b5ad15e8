-- The table for handlersocket_tokens=ON and RESP's ROW.ONCE: the requests with a token that took effect, and
-- their answers.
-- Run it once as an administrator: mariadb < rowsocket_tokens.sql

CREATE DATABASE IF NOT EXISTS rowsocket;

CREATE TABLE IF NOT EXISTS rowsocket.tokens (
  token   VARBINARY(64)   NOT NULL,
  request LONGBLOB        NOT NULL COMMENT 'the index and the request as it was sent',
  answer  LONGBLOB        NOT NULL COMMENT 'the line that it was answered with',
  created BIGINT UNSIGNED NOT NULL COMMENT 'seconds since 1970',
  PRIMARY KEY (token),
  KEY created (created)
) ENGINE=InnoDB;
