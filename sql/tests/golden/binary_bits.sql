-- Operators and aggregates on bits take binary strings as such.
CREATE TABLE b (id INT PRIMARY KEY, f BINARY(4), v VARBINARY(16), l BLOB, c VARCHAR(16), n INT);
INSERT INTO b VALUES (1, X'0F0F00FF', X'0102030405060708090A', X'80', '12', 12), (2, X'FFFF0001', X'FFFFFFFFFFFFFFFFFFFF', X'', '5', 5), (3, X'12345678', X'00', X'FF00', 'x', 0), (4, NULL, NULL, NULL, NULL, NULL);
SELECT id, HEX(f & X'FFFF0000'), HEX(f | X'00000001'), HEX(f ^ f), HEX(X'FF00FF00' & f), HEX(~f), HEX(~v), HEX(~l) FROM b;
SELECT id, HEX(f << 1), HEX(f >> 1), HEX(f << 8), HEX(f >> 12), HEX(f << 31), HEX(f << 32), HEX(f >> 1000), HEX(f << 0), HEX(v << 4), HEX(v >> 9), HEX(l << 3) FROM b;
SELECT id, HEX(f << n), HEX(f << NULL), HEX(f << '3'), HEX(f >> -1) FROM b WHERE id > 1;
SELECT id, BIT_COUNT(f), BIT_COUNT(v), BIT_COUNT(l), BIT_COUNT(c), BIT_COUNT(n), BIT_COUNT(~f), BIT_COUNT(f & f) FROM b;
-- With anything that is no binary string they are numbers; a hexadecimal literal is one if it stands alone.
SELECT id, c & X'0F', n & X'04', n | c, c << 1, X'0F' & X'FF', X'0F' << 1, ~X'00', b'101' | 2 FROM b WHERE id = 1;
SELECT HEX(_binary'ab' & X'FFFF'), HEX(_binary'ab' | _binary'  '), HEX(~_binary'a'), HEX(X'0F' | _binary X'F0'), HEX(_binary'ab' << 3), BIT_COUNT(X'FFFF'), BIT_COUNT(_binary'12');
SELECT id, f & NULL, NULL | v, ~NULL FROM b WHERE id = 1;
SELECT HEX(CAST('ab' AS BINARY) & CAST('a ' AS BINARY)), HEX(UNHEX('F0F0') ^ UNHEX('FFFF'));
-- They must be of one length.
SELECT f & v FROM b;
SELECT f & X'FF' FROM b;
SELECT _binary'ab' ^ _binary'abc';
SELECT id FROM b WHERE f & X'0F000000' = X'0F000000' ORDER BY id;
SELECT id FROM b WHERE f & X'00000001' <> X'00000000' ORDER BY id;
SELECT id, (f & X'0000FFFF') = X'000000FF', HEX((f & X'0000FFFF') << 4 | X'80000000') FROM b;
-- Aggregates.
SELECT HEX(BIT_AND(f)), HEX(BIT_OR(f)), HEX(BIT_XOR(f)), BIT_AND(n), BIT_OR(n), BIT_XOR(n), BIT_OR(c) FROM b WHERE id <> 3;
SELECT id, HEX(BIT_AND(v)), HEX(BIT_OR(v)), HEX(BIT_XOR(f)) FROM b GROUP BY id ORDER BY id;
SELECT HEX(BIT_AND(f)), HEX(BIT_OR(f)), HEX(BIT_XOR(v)), BIT_AND(n) FROM b WHERE id > 10;
SELECT HEX(BIT_OR(v)) FROM b;
SELECT BIT_AND(l) FROM b;
SELECT HEX(BIT_OR(SUBSTRING(l, 1, 1))) FROM b WHERE id IN (1, 3);
SELECT HEX(BIT_OR(f)), HEX(BIT_OR(~f)) FROM b;
SELECT id FROM b GROUP BY id HAVING BIT_OR(f) > X'10000000' ORDER BY id;
SET @v = X'0F0F';
SELECT HEX(@v & X'00FF'), HEX(~@v), HEX(@v << 4), BIT_COUNT(@v);
UPDATE b SET f = f | X'00000080' WHERE id = 3;
SELECT HEX(f) FROM b WHERE id = 3;
DROP TABLE b;
-- Dates and times are floating point numbers where functions on numbers take them.
CREATE TABLE d (id INT PRIMARY KEY, d DATE, t TIME, m DATETIME, f DATETIME(6), s TIME(3));
INSERT INTO d VALUES (1, '2020-01-02', '10:11:12', '2020-01-02 10:11:12', '2020-01-02 10:11:12.5', '10:11:12.345'), (2, '1000-01-01', '-00:00:01', '9999-12-31 23:59:59', '1000-01-01 00:00:00.000001', '-01:02:03.4'), (3, NULL, NULL, NULL, NULL, NULL);
SELECT id, CEILING(d), FLOOR(t), CEILING(m), CEILING(f), FLOOR(f), CEILING(s), FLOOR(s) FROM d;
SELECT id, ROUND(d), ROUND(t, 1), ROUND(m, -2), ROUND(f), ROUND(s, 1), TRUNCATE(d, -2), TRUNCATE(m, 1), TRUNCATE(s, 1) FROM d;
SELECT id, ABS(d), ABS(t), ABS(m), ABS(f), ABS(s), -d, -t, -m, -s FROM d;
SELECT id, ABS(d) DIV 3, CEILING(m) / 3, ROUND(d) + 0.1, CONCAT(-t, ABS(d)) FROM d;
SELECT CEILING(DATE'2020-01-02'), ABS(TIME'-10:00:00'), -DATE'2020-01-02', ROUND(TIMESTAMP'2020-01-02 10:11:12', -1);
DROP TABLE d;
