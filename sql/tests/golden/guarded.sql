-- What variables forbid or change in definitions, transactions and large joins.

-- sql_require_primary_key.
SET sql_require_primary_key = 1;
CREATE TABLE a (x INT);
CREATE TABLE a (x INT PRIMARY KEY);
CREATE TABLE unique_only (x INT NOT NULL UNIQUE);
CREATE TABLE a4 LIKE a;
ALTER TABLE a DROP PRIMARY KEY;
ALTER TABLE a DROP PRIMARY KEY, ADD PRIMARY KEY (x);
SET sql_require_primary_key = 0;
CREATE TABLE np (x INT);
SET sql_require_primary_key = 1;
ALTER TABLE np ADD y INT;
CREATE TABLE np4 LIKE np;
ALTER TABLE np RENAME TO np5;
ALTER TABLE np5 COMMENT = 'x';
CREATE INDEX i ON np5 (x);
TRUNCATE np5;
RENAME TABLE np5 TO np;
ALTER TABLE np ADD PRIMARY KEY (x);
SET sql_require_primary_key = 0;
DROP TABLE a, unique_only, a4, np;

-- SHOW CREATE in the modes ANSI_QUOTES and ANSI.
CREATE TABLE q (`a` INT, `select` INT, `b"c` INT, `d``e` INT, KEY k (a), UNIQUE KEY `desc` (`select`));
SET sql_mode = 'ANSI_QUOTES';
SHOW CREATE TABLE q;
SHOW CREATE DATABASE golden;
SET sql_mode = 'ANSI';
SELECT @@sql_mode;
SHOW CREATE TABLE q;
SHOW CREATE DATABASE golden;
CREATE TABLE r (a REAL, "b" INT AUTO_INCREMENT, c VARCHAR(3) COLLATE utf8mb4_bin COMMENT 'q', PRIMARY KEY ("b") USING BTREE) COMMENT = 'x';
SHOW CREATE TABLE r;
SET sql_mode = DEFAULT;
SHOW CREATE TABLE q;
SHOW CREATE TABLE r;
DROP TABLE q, r;

-- max_join_size and sql_big_selects.
CREATE TABLE big (id INT PRIMARY KEY, a INT);
INSERT INTO big VALUES (1,1), (2,1), (3,1), (4,1), (5,1), (6,1), (7,1), (8,1), (9,1), (10,1), (11,1), (12,1), (13,1), (14,1), (15,1), (16,1);
SET max_join_size = 3;
SELECT @@sql_big_selects;
SELECT COUNT(a) FROM big;
SELECT id FROM big WHERE id = 1;
SELECT COUNT(*) FROM big x, big y WHERE x.a = y.a;
INSERT INTO big SELECT id + 100, a FROM big;
UPDATE big SET a = 1 WHERE a = 2;
DELETE FROM big WHERE a = 2;
SET sql_big_selects = 1;
SELECT COUNT(a) FROM big;
SET sql_big_selects = 0, max_join_size = 100;
SELECT COUNT(a) FROM big;
SET max_join_size = DEFAULT;
SELECT @@sql_big_selects;
SELECT COUNT(*) FROM big x, big y WHERE x.a = y.a;
DROP TABLE big;

-- Definitions where transactions are read-only.
CREATE TABLE t (id INT PRIMARY KEY, a INT);
START TRANSACTION READ ONLY;
CREATE TABLE x (a INT);
DROP TABLE x;
SET TRANSACTION READ ONLY;
CREATE TABLE y (a INT);
INSERT INTO t VALUES (1, 1);
SET SESSION TRANSACTION READ ONLY;
CREATE TABLE z (a INT);
DROP TABLE y;
DROP TABLE IF EXISTS nope;
ALTER TABLE t ADD b INT;
RENAME TABLE t TO t2;
CREATE INDEX i ON t (a);
TRUNCATE t;
DROP DATABASE IF EXISTS nodb;
CREATE USER reader;
DROP USER IF EXISTS reader;
SET PASSWORD = '';
LOCK TABLES t WRITE;
LOCK TABLES t READ;
UNLOCK TABLES;
BEGIN;
DROP TABLE t;
SELECT 1 FROM t FOR UPDATE;
SELECT 1 FROM t FOR SHARE;
COMMIT;
PREPARE s FROM 'CREATE TABLE z (a INT)';
EXECUTE s;
START TRANSACTION READ WRITE;
INSERT INTO t VALUES (5, 5);
DROP TABLE y;
COMMIT;
SET SESSION TRANSACTION READ WRITE;

-- What is said of all transactions overtakes what was said of the next.
SET TRANSACTION READ ONLY;
SET SESSION TRANSACTION READ WRITE;
INSERT INTO t VALUES (10, 1);
SET TRANSACTION READ ONLY;
SET @@session.transaction_read_only = 0;
INSERT INTO t VALUES (11, 1);
SET TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE;
SET SESSION transaction_isolation = 'READ-COMMITTED';
INSERT INTO t VALUES (12, 1);
SET TRANSACTION READ ONLY;
SET GLOBAL transaction_read_only = 0;
INSERT INTO t VALUES (13, 1);
SET TRANSACTION READ ONLY;
SELECT 1;
BEGIN;
INSERT INTO t VALUES (14, 1);
COMMIT;
INSERT INTO t VALUES (15, 1);
SELECT id FROM t ORDER BY id;
DROP TABLE t, y;

-- Variables that are only there.
SHOW VARIABLES LIKE 'innodb_stats_transient_sample_pages';
SHOW VARIABLES LIKE 'explain_json_format_version';
SET explain_json_format_version = 3;
SELECT @@explain_json_format_version;
SET innodb_stats_transient_sample_pages = 1;

-- Character sets of the server and of the database, with their collations.
SET collation_server = utf8mb4_bin;
SELECT @@character_set_server, @@collation_server, @@global.collation_server;
CREATE DATABASE of_session;
SHOW CREATE DATABASE of_session;
SET character_set_server = binary;
SELECT @@character_set_server, @@collation_server;
SET character_set_server = utf8mb4;
SELECT @@character_set_server, @@collation_server;
DROP DATABASE of_session;
SET character_set_database = binary;
SELECT @@character_set_database, @@collation_database;
SET collation_database = utf8mb4_bin;
SELECT @@character_set_database, @@collation_database;
