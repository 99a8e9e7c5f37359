-- A column that equals one of an outer row is the same for all rows of a group.
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO t VALUES (1, 10, 2), (2, 20, 3), (3, 30, 3);
SELECT o.id, (SELECT CONCAT(q.a, ':', SUM(q.id)) FROM t q WHERE q.id = o.b) x FROM t o ORDER BY o.id;
SELECT id, (SELECT a FROM t q WHERE q.id = t.id GROUP BY q.b) x FROM t ORDER BY id;
SELECT (SELECT q.a FROM t q WHERE q.id = t.id HAVING COUNT(*)) x FROM t ORDER BY id;
SELECT (SELECT q.a FROM t q WHERE q.id = t.id + 1 GROUP BY q.b) x FROM t ORDER BY id;
SELECT (SELECT q.a FROM t q WHERE q.b = t.id GROUP BY q.b) x FROM t ORDER BY id;
SELECT (SELECT q.b FROM t q WHERE q.b = t.b GROUP BY q.a LIMIT 1) x FROM t ORDER BY id;
SELECT (SELECT MAX(q.a) + q.b FROM t q WHERE q.b = t.b) x FROM t ORDER BY id;
SELECT (SELECT MAX(q.a) + q.b FROM t q WHERE q.b > t.b) x FROM t ORDER BY id;
