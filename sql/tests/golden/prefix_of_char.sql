-- A CHAR has no spaces at its end, and neither have the beginnings that an index has of it.
SET NAMES utf8mb4;
CREATE TABLE p (id INT PRIMARY KEY, c CHAR(10) COLLATE utf8mb4_0900_ai_ci, UNIQUE KEY u (c(3)));
INSERT INTO p VALUES (1, 'ab');
INSERT INTO p VALUES (2, 'ab x');
INSERT INTO p VALUES (2, 'ab');
INSERT INTO p VALUES (2, 'ab\tx'), (3, 'abc'), (4, ''), (5, NULL);
INSERT INTO p VALUES (6, '   y');
SELECT id, c FROM p WHERE c = 'ab' ORDER BY id;
SELECT id FROM p WHERE c LIKE 'ab%' ORDER BY id;
REPLACE INTO p VALUES (7, 'AB z');
SELECT id, c FROM p ORDER BY id;
CREATE TABLE q (id INT PRIMARY KEY, c CHAR(10) COLLATE utf8mb4_0900_bin, v VARCHAR(10) COLLATE utf8mb4_0900_bin, UNIQUE KEY u (c(3)), UNIQUE KEY w (v(3)));
INSERT INTO q VALUES (1, 'ab', 'ab');
INSERT INTO q VALUES (2, 'ab x', 'q');
INSERT INTO q VALUES (2, 'z', 'ab x');
SELECT id FROM q WHERE v = 'ab' OR v = 'ab x' ORDER BY id;
