-- AUTO_INCREMENT where rows fail, where numbers run out, and where they are said: found by differ/changes.
CREATE TABLE rows_that_fail (id INT PRIMARY KEY AUTO_INCREMENT, u INT, UNIQUE (u));
INSERT INTO rows_that_fail (u) VALUES (1), (1);
SELECT LAST_INSERT_ID();
INSERT INTO rows_that_fail (u) VALUES (1);
INSERT INTO rows_that_fail (u) VALUES (1);
SELECT LAST_INSERT_ID();
INSERT INTO rows_that_fail (u, id) VALUES (4, NULL), (5, 40) ON DUPLICATE KEY UPDATE u = 6;
SELECT LAST_INSERT_ID();
INSERT INTO rows_that_fail (u, id) VALUES (1, -2) ON DUPLICATE KEY UPDATE id = -7;
SHOW CREATE TABLE rows_that_fail;
INSERT IGNORE INTO rows_that_fail (id, u) SELECT 100, 4;
SHOW CREATE TABLE rows_that_fail;
-- Of what rows are left numbers are taken.
INSERT INTO rows_that_fail (id, u) VALUES (NULL, 10), (300, 11), (NULL, 12), (NULL, 13);
SHOW CREATE TABLE rows_that_fail;
REPLACE INTO rows_that_fail (id, u) VALUES (305, 14), (DEFAULT, 15), (400, 14), (NULL, 16);
SHOW CREATE TABLE rows_that_fail;
-- NULL in the column that counts, in rows that are there.
INSERT INTO rows_that_fail (u) VALUES (4) ON DUPLICATE KEY UPDATE id = NULL;
UPDATE rows_that_fail SET id = NULL WHERE u = 4;
UPDATE rows_that_fail SET id = DEFAULT WHERE u = 4;
SELECT * FROM rows_that_fail ORDER BY id;
-- DEFAULT is zero, which asks for a number, or not.
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
CREATE TABLE zero (id INT PRIMARY KEY AUTO_INCREMENT, u INT);
INSERT INTO zero (id, u) VALUES (DEFAULT, 1);
INSERT INTO zero (u) VALUES (2);
INSERT INTO zero (id, u) VALUES (NULL, 3);
INSERT INTO zero SET id = DEFAULT;
SELECT * FROM zero ORDER BY id;
SET sql_mode = DEFAULT;
-- INSERT_ID waits for the statement that needs it.
SET insert_id = 9;
INSERT INTO zero (id, u) VALUES (3, 4);
UPDATE zero SET u = 5 WHERE id = 3;
INSERT INTO zero (u) VALUES (6);
SELECT * FROM zero ORDER BY id;
-- The end of all numbers.
CREATE TABLE few (id TINYINT PRIMARY KEY AUTO_INCREMENT, u INT, UNIQUE (u)) AUTO_INCREMENT = 126;
INSERT INTO few (u) VALUES (1), (2), (3);
INSERT INTO few (u) VALUES (1);
SHOW CREATE TABLE few;
INSERT INTO few (u) VALUES (2);
SHOW CREATE TABLE few;
INSERT INTO few (u) VALUES (2), (3);
INSERT INTO few (u) VALUES (1) ON DUPLICATE KEY UPDATE u = 7;
-- A number that was taken for another row.
CREATE TABLE taken (id INT PRIMARY KEY AUTO_INCREMENT, u INT, UNIQUE (u));
INSERT INTO taken (u) VALUES (1), (1) ON DUPLICATE KEY UPDATE id = id;
INSERT INTO taken (u) VALUES (1), (2) ON DUPLICATE KEY UPDATE id = VALUES(id);
INSERT INTO taken (u) VALUES (3), (3) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id);
SELECT * FROM taken;
-- NULL is forgiven in rows that come, not in those that are there.
SET sql_mode = '';
CREATE TABLE filled (id INT PRIMARY KEY, v VARCHAR(5) NOT NULL);
INSERT INTO filled VALUES (1, 'a'), (2, 'b');
INSERT INTO filled SELECT * FROM filled f ON DUPLICATE KEY UPDATE v = NULL;
INSERT INTO filled SELECT id + 2, NULL FROM filled f;
INSERT INTO filled VALUES (1, 'x'), (2, 'y') ON DUPLICATE KEY UPDATE v = NULL;
SELECT * FROM filled ORDER BY id;
SET sql_mode = DEFAULT;
-- A table under two names is not changed where rows are told apart by.
CREATE TABLE twice (id INT NOT NULL, u INT, UNIQUE (id));
UPDATE twice a JOIN twice b ON a.id = b.u SET a.id = 9, b.u = 8;
UPDATE twice a JOIN twice b ON a.id = b.u SET a.u = 9, b.u = 8;
-- Rows that a constraint refuses have no number.
CREATE TABLE checked (u INT, CHECK (u <> 3));
INSERT IGNORE INTO checked (u) VALUES (3), ('a'), ('b');
SHOW WARNINGS;
