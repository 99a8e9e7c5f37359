-- Where texts are compared or searched, a document is its text, and compares byte by byte.
CREATE TABLE t (id INT PRIMARY KEY, j JSON);
INSERT INTO t VALUES (1, '"A"'), (2, '{"k":"É"}'), (3, '"a "');
SELECT id, j LIKE '%a%', j LIKE '%e%', NOT j LIKE '%a%', INSTR(j, 'a'), LOCATE('a', j), POSITION('a' IN j) FROM t;
SELECT id, j REGEXP 'a', REGEXP_LIKE(j, 'a'), REGEXP_REPLACE(j, 'a', 'x'), REGEXP_INSTR(j, 'a'), REGEXP_SUBSTR(j, 'a') FROM t;
SELECT id, FIELD('a', j, 'e'), FIELD(j, 'A', 'a'), FIELD('A', j), FIELD(j, j), FIND_IN_SET('a', j) FROM t;
SELECT id, STRCMP(j, 'a'), STRCMP(j, '"a"') FROM t;
SELECT id, j = 'a', j <> 'A', j > 'a', j <=> 'A', j IN ('a', 'A'), NULLIF(j, 'A') FROM t;
SELECT id, CONCAT(j, '') LIKE '%a%', REPLACE(j, 'a', 'x'), SUBSTRING_INDEX(j, 'a', 1), TRIM('a' FROM j), INSERT(j, 1, 1, 'x') = 'xa"', UPPER(j) = '"A"' FROM t;
SELECT id, IF(1, j, j) LIKE '%a%', IFNULL(j, 'x') LIKE '%a%', COALESCE(j, j) LIKE '%a%', j->'$' LIKE '%a%', j->'$.k' LIKE '%e%', JSON_EXTRACT(j, '$') REGEXP 'a' FROM t;
SELECT id, j->>'$' LIKE '%a%', JSON_UNQUOTE(j) LIKE '%a%', CAST(j AS CHAR) LIKE '%a%', JSON_SET(j, '$.b', 'A') LIKE '%a%' FROM t;
SELECT id, CASE j WHEN 'a' THEN 1 WHEN '"a"' THEN 2 ELSE 3 END, CASE WHEN j = 'A' THEN 1 ELSE 0 END, ELT(1, j, 'a') = '"a"' FROM t;
SELECT COLLATION(IFNULL(j, 'x')), COERCIBILITY(j), COLLATION(CONCAT(j, 'a')), COERCIBILITY(CONCAT(j, 'a')) FROM t WHERE id = 1;
DELETE FROM t WHERE j LIKE '%a%';
SELECT id FROM t;
-- No document is larger than a packet may be.
SELECT JSON_STORAGE_SIZE(JSON_ARRAY(REPEAT('x', 40000000), REPEAT('x', 40000000)));
INSERT INTO t VALUES (4, JSON_ARRAY(REPEAT('x', 30000000)));
UPDATE t SET j = JSON_ARRAY(j, j, j) WHERE id = 4;
UPDATE t SET j = JSON_SET(j, '$[1]', j, '$[2]', j) WHERE id = 4;
INSERT INTO t SELECT 5, JSON_MERGE_PRESERVE(j, j, j) FROM t WHERE id = 4;
INSERT INTO t SELECT 5, JSON_ARRAYAGG(x.j) FROM t x, t y WHERE x.id = 4;
SELECT id, JSON_STORAGE_SIZE(j) FROM t ORDER BY id;
-- Padding is none in a set.
SELECT FIND_IN_SET('a', CAST('a ' AS CHAR) COLLATE utf8mb4_bin), FIND_IN_SET('a ', 'b,a' COLLATE utf8mb4_general_ci), FIND_IN_SET('A', 'b,a' COLLATE utf8mb4_general_ci), FIND_IN_SET('ss', 'x,ß'), FIND_IN_SET('', 'a,,b'), FIND_IN_SET('', '');
