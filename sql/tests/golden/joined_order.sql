-- Targets of a join are changed in the order of FROM, whatever is assigned first.
CREATE TABLE o (id INT PRIMARY KEY, c VARCHAR(5));
INSERT INTO o VALUES (1, '0'), (2, '0');
UPDATE o x JOIN o y ON x.id = y.id SET y.c = 'y', x.c = 'x';
SELECT * FROM o;
UPDATE o x JOIN o y ON x.id = y.id SET x.c = 'x', y.c = 'y';
SELECT * FROM o;
UPDATE o y JOIN o x ON x.id = y.id + 1 SET x.c = 'x', y.c = 'y';
SELECT * FROM o;
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT PRIMARY KEY, v INT, FOREIGN KEY (v) REFERENCES a (id));
INSERT INTO a VALUES (1, 0), (2, 0);
INSERT INTO b VALUES (1, 1), (2, 2);
UPDATE a JOIN b ON a.id = b.v SET b.v = NULL, a.v = 7;
SELECT * FROM a;
SELECT * FROM b;
-- The row behind a key that is gone.
UPDATE o x JOIN o y ON x.id = y.id SET x.id = x.id + 10, y.c = 'z';
SELECT * FROM o;
