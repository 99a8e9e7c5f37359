-- REGEXP_REPLACE of an occurrence; REGEXP of NULL.
SELECT REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, -1), REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, 0), REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, 2), REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, 4), REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 5, -1);
SELECT REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, -1), REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, 0), REGEXP_INSTR('abc def ghi', '[a-z]+', 1, -1), REGEXP_INSTR('abc def ghi', '[a-z]+', 1, 0), REGEXP_INSTR('abc def', '[a-z]+', 1, 2);
SELECT REGEXP_REPLACE('abc', 'b', 'X', 1, NULL), REGEXP_REPLACE('abc', 'b', 'X', 1, -9223372036854775808), REGEXP_REPLACE('abc', 'b', 'X', 1, 2147483647);
SELECT REGEXP_REPLACE('abc', 'b', 'X', -1);
SELECT REGEXP_REPLACE('abc', 'b', 'X', 0, -1);
SELECT 'a' REGEXP NULL, 'a' RLIKE NULL, 'a' NOT REGEXP NULL, 'a' NOT RLIKE NULL, NULL REGEXP 'a', NULL NOT RLIKE 'a', NULL REGEXP NULL;
SELECT 'a' REGEXP (NULL), 'a' REGEXP CONCAT(NULL, 'a'), REGEXP_LIKE('a', NULL), 1 + ('a' REGEXP NULL), NOT 'a' REGEXP NULL;
SELECT 'a' REGEXP TRUE, '1' REGEXP TRUE, 'a' REGEXP 1, '1' REGEXP 1, 'a' LIKE NULL, 'a' NOT LIKE NULL;
CREATE TABLE t (v VARCHAR(10), p VARCHAR(10));
INSERT INTO t VALUES ('abc', 'b'), ('abc', NULL), (NULL, 'b');
SELECT v REGEXP p, v NOT REGEXP p, v RLIKE p FROM t;
SELECT COUNT(*) FROM t WHERE v REGEXP NULL;
SELECT 'a' REGEXP NULL = 1, 'a' REGEXP NULL OR 1, 'a' REGEXP NULL IS NULL, 1 + '1' REGEXP NULL + 1, 'a' REGEXP NULL AND 0;
CREATE VIEW w AS SELECT v REGEXP NULL AS a, v NOT RLIKE NULL AS b, v REGEXP p AS c FROM t;
SELECT * FROM w;
DROP VIEW w;
SELECT COUNT(*) FROM t WHERE v NOT RLIKE NULL OR v REGEXP 'a';
DROP TABLE t;
