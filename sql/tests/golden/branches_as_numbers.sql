-- What IF and CASE choose, beside numbers: a hexadecimal or bit literal is a number there.
CREATE TABLE t (i INT PRIMARY KEY, b BIGINT, s VARCHAR(20), d DECIMAL(20,2), f DOUBLE);
INSERT INTO t VALUES (1, 9007199254740993, '9007199254740993', 1.5, 1.5), (2, 9007199254740992, '2', 2, 2), (3, 3, 'x', 3, 3), (10, 10, '1e1', 10, 10);
SELECT IF(1, _binary'5', 'x') > 10, IF(1, X'3130', 5) = 10, IF(1, X'0a', '5') = 10, IF(1, b'1010', 5) = 10, CASE WHEN 1 THEN 0x0a END = 10, IF(0, 1, X'0a') + 0, IF(1, X'0a', NULL) = 10, IF(1, 0x0a, 1) = 10;
SELECT IF(1, X'0a', '5') IN (10, 11), IF(1, X'0a', '5') BETWEEN 9 AND 11, 10 IN (IF(1, X'0a', '5'), 3), 10 BETWEEN IF(1, X'09', '') AND 11, CASE IF(1, X'0a', '5') WHEN 10 THEN 1 END, CASE 10 WHEN IF(1, X'0a', '5') THEN 1 END, IF(1, IF(1, X'0a', 'x'), 'y') = 10, IF(1, X'0a', '5') = '10', IF(1, X'3130', '5') = '10', HEX(IF(1, X'0a', '5'));
SELECT i FROM t WHERE IF(i > 2, X'0a', X'03') = i;
SELECT IF(i, s, 'y') = b, IF(i, s, 'y') = d, IF(i, s, 'y') = 3, IF(i, s, 'y') = 1e1, IF(i, s, i) = b, IF(i > 2, i, s) = b FROM t WHERE i <> 3;
SELECT i FROM t WHERE b = IF(1, '9007199254740993', '2');
SELECT i FROM t WHERE b = IF(i > 1, '9007199254740993', '9007199254740992');
SELECT i FROM t WHERE d > IF(i > 1, '1.5', '2');
SELECT IF(1, '9007199254740993', 'a') = 9007199254740992, CASE WHEN 1 THEN '9007199254740993' END = 9007199254740992;
SELECT IF(1, '-0', 'x') = 0, IF(1, ' 5', 'x') = 5, IF(1, '5', 'x') <=> 5, IF(1, '5', 'x') & 4, IF(1, '5.7', 'x') | 0, IF(1, '5.7', 'x') DIV 1, -IF(1, '5.7', 'x'), IF(1, '5.7', 'x') % 2, IF(1, '5', 'x') IN (5.0, 'a');
