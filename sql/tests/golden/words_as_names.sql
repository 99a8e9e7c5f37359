-- After a point every word is a name.
CREATE TABLE t (id INT, `select` INT, `group` INT, `from` INT);
INSERT INTO t VALUES (1, 2, 3, 4);
SELECT t.select FROM t;
SELECT t.select, t.group, t.from, golden.t.select FROM t WHERE t.select = 2 GROUP BY t.select, t.group, t.from ORDER BY t.select;
SELECT MAX(t.select), t.select + 1 AS q FROM t GROUP BY t.select;
UPDATE t SET t.select = 5 WHERE t.group = 3;
SELECT x.id FROM t x WHERE x.select IN (SELECT x.select FROM t);
-- The columns of information_schema have their own names, however they are spelled.
SELECT table_name, table_SCHEMA FROM information_schema.tables WHERE table_schema = 'golden';
SELECT table_name AS x, t.table_name, CONCAT(table_name) FROM information_schema.tables t WHERE table_schema = 'golden';
SELECT Table_Name FROM information_schema.tables WHERE table_schema = 'golden' GROUP BY table_name HAVING table_name = 't' ORDER BY table_name;
SELECT table_name FROM information_schema.tables WHERE table_schema = 'golden' UNION SELECT 'x';
SELECT ID FROM t;
-- The words of the grammar.
SELECT COUNT(*), SUM(reserved) FROM information_schema.keywords;
SELECT * FROM information_schema.keywords WHERE word IN ('SELECT', 'LATERAL', 'ACCOUNT');
SELECT word FROM information_schema.keywords ORDER BY word LIMIT 5;
