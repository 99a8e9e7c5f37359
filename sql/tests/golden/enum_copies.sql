-- What was no member stays so where it is copied, whatever the mode.
CREATE TABLE a (id INT PRIMARY KEY, s ENUM('a', 'b'));
SET sql_mode = '';
INSERT INTO a VALUES (1, 'zzz'), (2, 'b');
SET sql_mode = DEFAULT;
CREATE TABLE b SELECT * FROM a;
CREATE TABLE c LIKE a;
INSERT INTO c SELECT * FROM a;
ALTER TABLE a MODIFY s ENUM('b', 'a');
UPDATE a SET s = s;
SELECT id, s, s + 0 FROM a ORDER BY id;
SELECT id, s, s + 0 FROM b ORDER BY id;
SELECT id, s, s + 0 FROM c ORDER BY id;
INSERT INTO c VALUES (3, '');
INSERT INTO c VALUES (3, 'zzz');
