-- A document that is no such number or date goes into an index on an expression as 0 or NULL.
CREATE TABLE t (id INT PRIMARY KEY, j JSON, KEY k ((CAST(j->'$.a' AS UNSIGNED))));
INSERT INTO t VALUES (1, '{"a":null}');
INSERT INTO t VALUES (2, '{"a":"x"}');
INSERT INTO t VALUES (3, '{"a":"5"}'), (4, '{"a":[1]}');
INSERT INTO t VALUES (5, '{"a":1.7}'), (6, '{}'), (7, NULL), (8, '{"a":true}'), (9, '{"a":-3}');
INSERT IGNORE INTO t VALUES (10, '{"a":{}}');
UPDATE t SET j = '{"a":"y"}' WHERE id = 3;
CHECK TABLE t;
CREATE TABLE u (id INT PRIMARY KEY, j JSON, KEY l ((CAST(j->'$.a' AS DATE))));
INSERT INTO u VALUES (11, '{"a":"2020-01-01"}'), (12, '{"a":false}');
SELECT id FROM u WHERE CAST(j->'$.a' AS DATE) = '2020-01-01';
CREATE TABLE g (id INT PRIMARY KEY, j JSON, n INT UNSIGNED AS (CAST(j->'$.a' AS UNSIGNED)), KEY (n));
INSERT INTO g (id, j) VALUES (1, '{"a":null}');
INSERT INTO g (id, j) VALUES (2, '{"a":"x"}');
