-- The table of the documents' examples, and its container for memcached's protocol. What is there stays, also a container
-- of that name.
CREATE DATABASE IF NOT EXISTS test;
CREATE TABLE IF NOT EXISTS test.user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50),
  user_email VARCHAR(255), created DATETIME) ENGINE=InnoDB;
INSERT IGNORE INTO test.user VALUES (7, 'Hana Abe', 'hana.abe7@example.com', '2010-01-01 00:04:19'),
  (101, 'Yukari Takeba', 'yukari.takeba@example.com', '2010-02-03 11:22:33');
INSERT IGNORE INTO innodb_memcache.containers (name, db_schema, db_table, key_columns, value_columns, flags, cas_column,
  expire_time_column, unique_idx_name_on_key)
  VALUES ('user', 'test', 'user', 'user_id', 'user_name,user_email,created', '0', '0', '0', 'PRIMARY');
