-- A user variable that was never set is a text beside texts; one that was set to NULL makes bytes of
-- them.
SELECT IFNULL(@nosuch, 'a') = 'A', 'a' = @nosuch, UPPER(IFNULL(@nosuch, 'abc')), LEFT(IFNULL(@nosuch, '日本'), 1), JSON_OBJECT('k', IFNULL(@nosuch, 'x')), JSON_QUOTE(@nosuch);
SELECT CHARSET(IFNULL(@nosuch, 'a')), CHARSET(CONCAT(@nosuch, 'a')), CHARSET(UPPER(@nosuch)), CHARSET(IF(1, @nosuch, 'x')), CHARSET(COALESCE(@nosuch, _latin1'x')), CHARSET(CASE WHEN 1 THEN @nosuch ELSE 'a' END), CHARSET(NULLIF('a', @nosuch)), CHARSET(CONCAT(@nosuch)), COLLATION(GREATEST(@nosuch, 'a'));
SELECT @nosuch COLLATE utf8mb4_bin;
SELECT CONCAT(@nosuch, 1), @nosuch + 1, @nosuch IS NULL, @nosuch <=> NULL, COALESCE(@nosuch, 5) + 1, IF(@nosuch, 1, 2), @nosuch OR 1, HEX(IFNULL(@nosuch, 'é')), LENGTH(IFNULL(@nosuch, 'é'));
SELECT @made IS NULL, @made := 'abc', CONCAT(@made, 'x'), UPPER(@made);
SELECT @made, UPPER(@made), @made = 'ABC';
SET @n = NULL;
SELECT IFNULL(@n, 'a') = 'A', CHARSET(IFNULL(@n, 'x')), CHARSET(@n);
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10), KEY (v));
INSERT INTO t VALUES (1, 'a'), (2, 'B');
SELECT id FROM t WHERE v = @nosuch2;
SELECT id FROM t WHERE v = IFNULL(@nosuch2, 'b');
SELECT id FROM t WHERE v IN (@nosuch2, 'b');
SELECT id, @row := IFNULL(@row, 0) + 1 FROM t ORDER BY id;
SELECT MAX(@nosuch3), GROUP_CONCAT(@nosuch3), GROUP_CONCAT(v, @nosuch3) FROM t;
