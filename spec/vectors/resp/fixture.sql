-- The tables of the vectors, in schema shop; rowsocket_store.sql and rowsocket_tokens.sql make those of the port.
DROP TABLE IF EXISTS product;
CREATE TABLE product (id INT PRIMARY KEY, name VARCHAR(50), price DECIMAL(10,2), stock INT NOT NULL DEFAULT 0, sku VARCHAR(20), UNIQUE KEY by_sku (sku)) ENGINE=InnoDB;
DROP TABLE IF EXISTS line;
CREATE TABLE line (a INT, b VARCHAR(10), n INT, PRIMARY KEY (a, b)) ENGINE=InnoDB;

-- Before each vector
DELETE FROM product;
INSERT INTO product VALUES (7, 'Teapot', 24.90, 5, 'T-7'), (8, 'Cup', NULL, 0, 'C:8');
DELETE FROM line;
INSERT INTO line VALUES (1, 'x:y', 3);
DELETE FROM rowsocket.store;
DELETE FROM rowsocket.tokens;
