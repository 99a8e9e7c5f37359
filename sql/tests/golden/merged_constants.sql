-- A column of a merged table that is a constant belongs to its block for all that.
CREATE TABLE t (a INT);
INSERT INTO t VALUES (1), (2), (3);
SELECT a, (SELECT SUM(d.x + t.a) FROM (SELECT 5 x FROM t) d) m FROM t;
WITH d AS (SELECT 5 x FROM t) SELECT a, (SELECT SUM(d.x + t.a) FROM d) m FROM t;
CREATE VIEW v AS SELECT 5 x, a FROM t;
SELECT a, (SELECT SUM(v.x + t.a) FROM v) m FROM t;
SELECT a FROM t HAVING (SELECT SUM(v.x + t.a) FROM v) > 20;
SELECT a, (SELECT MAX(v.x) FROM v WHERE v.a = t.a) m FROM t;
SELECT (SELECT SUM(t.a) FROM v) m FROM t;
SELECT (SELECT SUM(v.x) FROM t LIMIT 1) m FROM v;
SELECT (SELECT COUNT(v.x) FROM t z LIMIT 1) m FROM v;
SELECT SUM(v.x), SUM(v.a) FROM v;
SELECT a, (SELECT SUM((SELECT MAX(v.x) FROM v WHERE v.a <= t.a)) FROM t z) m FROM t;
SELECT 5 AS x FROM t HAVING SUM(x) > 1;
