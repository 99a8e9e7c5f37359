-- A user variable that is NULL is a binary string; a parameter that is NULL is a number beside one.
SET NAMES utf8mb4;
SELECT CHARSET(@unset), COLLATION(@unset), @unset, @unset + 1, CONCAT(@unset, 'a'), COALESCE(@unset, 'ä'), COALESCE(@unset, 0) + 1, @unset = 'a', IFNULL(@unset, 12);
CREATE TABLE t (id INT PRIMARY KEY, vc VARCHAR(10), KEY (vc));
INSERT INTO t VALUES (1, 'a'), (2, 'B'), (3, 'ä');
SELECT id FROM t WHERE vc = @unset;
SET @last = 'b';
SELECT id FROM t WHERE vc = @last;
SET @last = NULL;
SELECT COUNT(*) FROM t WHERE vc = @last OR @last IS NULL;
SET @n = 0;
SELECT ROUND(12.345, NULL), TRUNCATE(12.345, NULL);
PREPARE s FROM 'SELECT id + ?, id * ?, id / ?, id % ?, MOD(id, ?), id - ? FROM t ORDER BY id';
SET @v = NULL;
EXECUTE s USING @v, @v, @v, @v, @v, @v;
SET @v = 2;
EXECUTE s USING @v, @v, @v, @v, @v, @v;
-- A variable that is set to NULL keeps the type that it had.
set @kept_number = 5;
set @kept_number = null;
select bit_xor(@kept_number), bit_or(@kept_number << 2), @kept_number + 1;
set @kept_text = 'abc';
set @kept_text = null;
select bit_or(@kept_text | 1), concat(@kept_text, 'x');
