-- Of what is lost of a TEXT or BLOB column as a number nothing is said, but as a decimal; nor of a
-- user variable as an integer.
CREATE TABLE t (id INT PRIMARY KEY, tx TEXT, bl BLOB, vc VARCHAR(10));
INSERT INTO t VALUES (1, '12x', '12x', '12x'), (2, 'abc', 'abc', 'abc');
SELECT tx + 1, bl + 1, tx | 0, tx = 12, tx IN (1, 12), 12 IN (tx, 5), NOT tx, tx AND 1, ABS(tx), CAST(tx AS DOUBLE) FROM t ORDER BY id;
SELECT vc + 1 FROM t ORDER BY id;
SELECT CAST(tx AS DECIMAL(10, 2)) FROM t ORDER BY id;
SELECT CAST(tx AS SIGNED) FROM t ORDER BY id;
SELECT tx DIV 5 FROM t ORDER BY id;
SELECT SEC_TO_TIME(tx) FROM t ORDER BY id;
SELECT id FROM t WHERE tx;
SET @v = '12x';
SELECT @v | 0, 5 ^ @v, LEFT('abcdefghijklmnop', @v), 2 << @v;
SELECT @v + 1;
SELECT CAST(@v AS SIGNED);
