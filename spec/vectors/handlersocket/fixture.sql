-- The tables that the vectors of this folder speak of. Loaded anew before each file of vectors.
CREATE OR REPLACE DATABASE hsvec CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE hsvec;

CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50),
  user_email VARCHAR(255), created DATETIME) ENGINE=InnoDB;
INSERT INTO user VALUES
  (101, 'Yukari Takeba', 'yukari.takeba@example.com', '2010-02-03 11:22:33'),
  (102, 'Fuuka Yamagishi', 'fuuka.yamagishi@example.com', '2010-05-21 18:30:01'),
  (103, 'Mitsuru Kirijo', 'mitsuru.kirijo@example.com', NULL),
  (104, 'Junpei Iori', NULL, '2011-01-16 00:00:00'),
  (105, '', '', '2012-12-12 12:12:12');

-- A secondary index of two parts, a unique one, and a TEXT column. Never written to.
CREATE TABLE item (id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, name VARCHAR(40),
  note TEXT, UNIQUE KEY name_u (name), KEY grp_qty (grp, qty)) ENGINE=InnoDB;
INSERT INTO item VALUES
  (1, 1, 10, 'apple', 'red'), (2, 1, 20, 'banana', NULL), (3, 1, 30, NULL, 'nameless'),
  (4, 2, 10, 'date', ''), (5, 2, 20, 'elder', 'berry'), (6, 2, 20, 'fig', 'tree'),
  (7, 3, 5, 'grape', 'vine');

-- A primary key of two parts. Never written to.
CREATE TABLE pair (a INT, b VARCHAR(10), v VARCHAR(20), PRIMARY KEY (a, b)) ENGINE=InnoDB;
INSERT INTO pair VALUES (1, 'a', '1a'), (1, 'b', '1b'), (1, 'c', '1c'), (2, 'a', '2a'),
  (2, 'b', '2b'), (3, 'a', '3a');

-- NULL in an index and in a cell. Never written to.
CREATE TABLE nullable (id INT PRIMARY KEY, k INT, v VARCHAR(10), KEY k (k)) ENGINE=InnoDB;
INSERT INTO nullable VALUES (1, NULL, 'n1'), (2, NULL, 'n2'), (3, 5, NULL), (4, 7, 's'), (5, 9, '');

-- Any byte, in keys and in cells. Never written to.
CREATE TABLE bytes (k VARBINARY(16) PRIMARY KEY, v VARBINARY(64)) ENGINE=InnoDB;
INSERT INTO bytes VALUES
  ('low', x'000102030405060708090A0B0C0D0E0F'), ('mid', x'101112131F207F'), ('high', x'8090A0FEFF'),
  ('nul', x'00'), ('null', NULL), ('empty', ''), ('mixed', x'61004162094301630A64'),
  (x'0102', 'low key'), (x'00', 'nul key'), ('', 'empty key'), (x'780D', 'key with CR');

CREATE TABLE nothing (id INT PRIMARY KEY, v VARCHAR(10)) ENGINE=InnoDB;

-- The tables that vectors write to; each vector fills them with its own `sql`.
CREATE TABLE acct (id INT PRIMARY KEY, a INT, b BIGINT, s VARCHAR(20), g INT, KEY g (g))
  ENGINE=InnoDB;
CREATE TABLE ins (id INT PRIMARY KEY, a VARCHAR(20) DEFAULT 'dflt', b INT,
  c VARCHAR(20) NOT NULL DEFAULT 'cc', UNIQUE KEY b (b)) ENGINE=InnoDB;
CREATE TABLE auto (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB;
CREATE TABLE blobs (k VARBINARY(16) PRIMARY KEY, v LONGBLOB) ENGINE=InnoDB;

-- Names that need no escaping in P, however odd.
CREATE TABLE `odd name` (id INT PRIMARY KEY, `größe` INT, `a b` INT, KEY `2nd` (`a b`),
  KEY `ключ` (`größe`)) ENGINE=InnoDB;
INSERT INTO `odd name` VALUES (1, 10, 100), (2, 20, 200);

-- What is refused.
CREATE VIEW user_view AS SELECT user_id, user_name FROM user;
CREATE TABLE trg (id INT PRIMARY KEY, v INT) ENGINE=InnoDB;
INSERT INTO trg VALUES (1, 10);
CREATE TRIGGER trg_bi BEFORE INSERT ON trg FOR EACH ROW SET NEW.v = NEW.v + 1;
CREATE TABLE words (id INT PRIMARY KEY, t TEXT, FULLTEXT KEY ft (t)) ENGINE=InnoDB;
INSERT INTO words VALUES (1, 'some words');

-- What only MariaDB has: for the vectors with `"mysql": false`.
CREATE SEQUENCE seq;
CREATE TABLE ver (id INT PRIMARY KEY, v INT) ENGINE=InnoDB WITH SYSTEM VERSIONING;
INSERT INTO ver VALUES (1, 10);
