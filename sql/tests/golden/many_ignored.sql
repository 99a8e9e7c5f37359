-- INSERT IGNORE of very many rows into a table with constraints: single rows are taken back, with their index entries.
SET max_error_count = 3;
CREATE TABLE n (d INT PRIMARY KEY);
INSERT INTO n VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
CREATE TABLE t (id INT PRIMARY KEY, k INT, u INT UNIQUE, KEY k (k), CHECK (k <> 1000));
INSERT IGNORE INTO t SELECT id, IF(id = 7000, 1000, id * 7 % 100), IF(id < 6000, id, id DIV 2 * 2) FROM (SELECT a.d + b.d * 10 + c.d * 100 + d.d * 1000 AS id FROM n a, n b, n c, n d) numbers ORDER BY id;
SHOW COUNT(*) WARNINGS;
SELECT COUNT(*), SUM(id), SUM(k) FROM t FORCE INDEX (PRIMARY) WHERE id >= 0;
SELECT COUNT(*), SUM(id), SUM(k) FROM t FORCE INDEX (k) WHERE k >= 0;
SELECT COUNT(*), SUM(id), SUM(k) FROM t FORCE INDEX (u) WHERE u >= 0;
CREATE TABLE child (id INT PRIMARY KEY, parent INT, KEY parent (parent), FOREIGN KEY (parent) REFERENCES t (id));
INSERT IGNORE INTO child SELECT id, id FROM (SELECT a.d + b.d * 10 + c.d * 100 + d.d * 1000 AS id FROM n a, n b, n c, n d) numbers ORDER BY id;
SELECT COUNT(*), SUM(parent) FROM child FORCE INDEX (parent) WHERE parent >= 0;
SELECT COUNT(*), SUM(parent) FROM child FORCE INDEX (PRIMARY) WHERE id >= 0;
