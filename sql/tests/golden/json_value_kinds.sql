-- The text that JSON_VALUE yields does not pad, and is a constant beside others.
SELECT COLLATION(JSON_VALUE('{"a":"b"}', '$.a')), COERCIBILITY(JSON_VALUE('{"a":"b"}', '$.a')), COLLATION(JSON_VALUE('"a"', '$' RETURNING BINARY(5))), COLLATION(CONCAT(JSON_VALUE('"a"', '$'), 'x'));
SELECT JSON_VALUE('"a "', '$') = 'a', JSON_VALUE('"a"', '$') = 'a ', JSON_VALUE('"A"', '$') = 'a', JSON_VALUE('"a"', '$') LIKE 'A';
CREATE TABLE t (s VARCHAR(10));
INSERT INTO t VALUES ('A '), ('a');
SELECT s, s = JSON_VALUE('"a"', '$') FROM t;
CREATE TABLE u SELECT JSON_VALUE('"a"', '$') AS x, JSON_VALUE('"a"', '$' RETURNING CHAR(7)) AS y;
SHOW CREATE TABLE u;
-- A time has no date, and of a date no time is taken.
SELECT JSON_VALUE(JSON_ARRAY(TIME'10:11:12'), '$[0]' RETURNING DATETIME) AS a, JSON_VALUE(JSON_ARRAY(TIME'10:11:12'), '$[0]' RETURNING DATE) AS b, JSON_VALUE(JSON_ARRAY(TIME'10:11:12'), '$[0]' RETURNING TIME) AS c;
SELECT JSON_VALUE(JSON_ARRAY(DATE'2020-01-02'), '$[0]' RETURNING TIME) AS a, JSON_VALUE(JSON_ARRAY(DATE'2020-01-02'), '$[0]' RETURNING DATETIME) AS b, JSON_VALUE(JSON_ARRAY(TIMESTAMP'2020-01-02 03:04:05'), '$[0]' RETURNING DATE) AS c;
SELECT JSON_VALUE(JSON_ARRAY(TIMESTAMP'2020-01-02 03:04:05'), '$[0]' RETURNING TIME) AS a, JSON_VALUE(JSON_ARRAY(TIMESTAMP'2020-01-02 03:04:05'), '$[0]' RETURNING YEAR) AS b;
SELECT JSON_VALUE(JSON_ARRAY(TIME'10:11:12'), '$[0]' RETURNING DATETIME ERROR ON ERROR) AS a;
-- DIV is exact.
SELECT CAST('9223372036854775807' AS JSON) DIV 2, CAST('1.5' AS JSON) DIV 1, CAST('"7"' AS JSON) DIV 2, CAST(CAST(7.9 AS DECIMAL(5,1)) AS JSON) DIV 2, 100 DIV CAST('7' AS JSON), CAST('null' AS JSON) DIV 2, CAST(NULL AS JSON) DIV 2;
-- JSON_KEYS and JSON_SEARCH do not take a value for an array of one.
SELECT JSON_KEYS('{"a":1}', '$[0]'), JSON_KEYS('[{"a":1}]', '$[0]'), JSON_KEYS('[{"a":1}]', '$[last]'), JSON_KEYS('{"a":{"b":1}}', '$.a[0]'), JSON_KEYS('{"a":{"b":1}}', '$.a');
SELECT JSON_SEARCH('{"a":"x"}', 'all', '%', NULL, '$[0]'), JSON_SEARCH('[["x"],"y"]', 'all', '%', NULL, '$**[0]'), JSON_SEARCH('"x"', 'one', 'x', NULL, '$[0]'), JSON_SEARCH('["x"]', 'one', 'x', NULL, '$[0][0]'), JSON_SEARCH('["x"]', 'one', 'x', NULL, '$[0]');
SELECT JSON_SEARCH('[["x"],"y",{"a":"z"}]', 'all', '%', NULL, '$[*]'), JSON_SEARCH('[["x"],"y",{"a":"z"}]', 'all', '%', NULL, '$[0 to 1]'), JSON_SEARCH('{"a":"x"}', 'all', '%', NULL, '$[0 to 1]'), JSON_SEARCH('{"a":["x"],"b":"y"}', 'all', '%', NULL, '$.*[0]');
SELECT JSON_EXTRACT('{"a":1}', '$[0]'), JSON_LENGTH('{"a":1}', '$[0]'), JSON_CONTAINS_PATH('{"a":1}', 'one', '$[0]');
-- What holds no JSON is none, NULL too.
CREATE TABLE v (i INT, d DATE, s VARCHAR(5), j JSON, b BLOB);
INSERT INTO v VALUES (NULL, NULL, NULL, NULL, NULL);
SELECT JSON_VALID(i), JSON_VALID(d), JSON_VALID(s), JSON_VALID(j), JSON_VALID(NULL), JSON_VALID(1) FROM v;
-- SOUNDS LIKE
SELECT 'hello' SOUNDS LIKE 'hallo', 'a' SOUNDS LIKE 'b', NULL SOUNDS LIKE 'a', NOT 'a' SOUNDS LIKE 'a', 'a' sounds like CONCAT('a', ''), 'x' SOUNDS LIKE 'y' = 0;
SELECT s FROM t WHERE s SOUNDS LIKE 'a' AND 1 ORDER BY s;
CREATE VIEW w AS SELECT s SOUNDS LIKE 'A' AS a FROM t;
SELECT VIEW_DEFINITION FROM information_schema.views WHERE TABLE_NAME = 'w';
