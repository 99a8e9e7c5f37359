-- Texts that are bound to parameters where integers are wanted, or bytes beside bytes; and
-- aggregates that take no DISTINCT.
PREPARE s FROM 'SELECT LEFT(\'abcdef\', ?), CAST(? AS SIGNED), ? | 0, REPEAT(\'a\', ?), ELT(?, \'a\', \'b\', \'c\'), SUBSTRING(\'abcdef\', ?)';
SET @v = '1.5';
EXECUTE s USING @v, @v, @v, @v, @v, @v;
SET @v = '2.5';
EXECUTE s USING @v, @v, @v, @v, @v, @v;
SET @v = '1.5e0';
EXECUTE s USING @v, @v, @v, @v, @v, @v;
PREPARE t FROM 'SELECT LEFT(\'abcdef\', ?)';
SET @v = '2x';
CREATE TABLE b (id INT PRIMARY KEY, vn VARBINARY(4));
INSERT INTO b VALUES (1, '12'), (2, X'00ff');
PREPARE u FROM 'SELECT HEX(vn & ?), HEX(? | vn), HEX(vn ^ ?), HEX(~?), HEX(? << 1) FROM b';
SET @v = '34';
EXECUTE u USING @v, @v, @v, @v, @v;
SET @v = '345';
EXECUTE u USING @v, @v, @v, @v, @v;
SELECT BIT_OR(DISTINCT id) FROM b;
SELECT STD(DISTINCT id) FROM b;
SELECT VARIANCE(DISTINCT id) FROM b;
SELECT BIT_OR(ALL id), STD(ALL id), COUNT(DISTINCT id), SUM(DISTINCT id), AVG(DISTINCT id), MIN(DISTINCT id), GROUP_CONCAT(DISTINCT id) FROM b;
SELECT NULLIF(255, X'00ff'), NULLIF(0, X'00ff'), '5' BETWEEN 1 AND X'00ff', LAST_INSERT_ID(X'00ff');
