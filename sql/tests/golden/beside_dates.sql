-- Dates and times beside what is none, and what numbers of several types have in common.
CREATE TABLE t (id INT PRIMARY KEY, d DATE, m DATETIME, f DATETIME(2), ts TIMESTAMP, c VARCHAR(40), h CHAR(30), b VARBINARY(40), i INT, l BIGINT, u INT UNSIGNED, w BIGINT UNSIGNED, y YEAR, ti TINYINT, x DECIMAL(20,3), KEY d (d), KEY c (c), KEY i (i), KEY y (y));
INSERT INTO t VALUES (1, '2020-01-02', '2020-01-02', '2020-01-02', '2020-01-02 10:11:12', '2020-01-02 10:11:12', '2020-01-02', '20200102', 20200102, 20200102000000, 5, 7, 2020, -1, 20200102);
INSERT INTO t VALUES (2, '2020-01-02', '2020-01-02 10:11:12', '2020-01-02 10:11:12.25', '2020-01-02 10:11:12', '20200102', '2020-01-02 10:11:12.5', '2020-01-02 00:00:00', 200102, 20200102101112, 4000000000, 18446744073709551615, 2021, 3, 20200102101112.25);
INSERT INTO t VALUES (3, '1999-12-31', '1999-12-31 23:59:59', '1999-12-31 23:59:59.99', '1999-12-31 23:59:59', 'x', '', '1999-12-31', 991231, 19991231, 0, 0, 1999, 100, 0.5);
-- A date beside a text that differs from row to row is compared with the date of it.
SELECT id, d = c, c = d, d <=> c, d < c, d > c, d <> c, d >= h, m = c, m < c, f = h, d = b FROM t;
SELECT a.id, z.id FROM t a JOIN t z ON a.d = z.c ORDER BY 1, 2;
SELECT a.id, z.id FROM t a JOIN t z ON z.c = a.d WHERE a.id < 3 ORDER BY 1, 2;
SELECT id, d = '2020-01-02 10:11:12', d = CONCAT('2020-01-02', ' 10:11:12'), c = DATE'2020-01-02' FROM t;
SELECT id, DATE(m) = c, COALESCE(d) = c, CAST(m AS DATE) = h FROM t;
-- Beside an integer it is compared as a number, unless that is a constant.
SELECT id, d = i, i = d, d < i, d = l, m = i, m = l, l < m, f = l, f > l, d = x, m <=> l FROM t;
SELECT id, d = 200102, d = 991231, m = 20200102, m = 20200102101112, i = DATE'2020-01-02', l = TIMESTAMP'2020-01-02 10:11:12' FROM t;
SELECT id FROM t WHERE i = DATE'2020-01-02';
SELECT a.id, z.id FROM t a JOIN t z ON a.d = z.i ORDER BY 1, 2;
-- A year stands before its first day.
SELECT id, d < y, d > y, y < m, y = d, y > d, ts > y FROM t;
SELECT a.id, z.id FROM t a JOIN t z ON a.d > z.y ORDER BY 1, 2;
-- A literal that is no date.
SELECT NULLIF(d, '') FROM t;
SELECT NULLIF(m, 'x') FROM t;
SELECT NULLIF('x', d) FROM t;
SELECT NULLIF(d, '2020-01-02'), NULLIF(m, '2020-01-02 10:11:12'), NULLIF(c, d) FROM t WHERE id < 3;
SELECT d = 'x' COLLATE utf8mb4_bin FROM t;
SELECT d = '2020-01-02' COLLATE utf8mb4_bin FROM t;
-- LEAST and GREATEST show the digits of a second that any of them can have.
SELECT id, GREATEST(m, c), GREATEST(c, m), LEAST(m, h), GREATEST(m, b), GREATEST(f, c), GREATEST(ts, c) FROM t WHERE id < 3;
SELECT id, GREATEST(m, x), GREATEST(m, 20200102101113), GREATEST(m, '2020-01-02 10:11:13'), GREATEST(m, '2020-01-02 10:11:13.5'), GREATEST(d, c) FROM t WHERE id < 2;
SELECT GREATEST(m, '2019-01-01 10:11:13.125'), LEAST(m, '2021-01-01'), GREATEST(m, d), GREATEST(f, d), GREATEST(ts, m), LEAST(ts, ts) FROM t;
SELECT LEAST(0, m), LEAST(m, 20190101), LEAST(m, 20190101101112), GREATEST(ts, 20250101) FROM t WHERE id = 1;
-- Whole numbers with a sign and without one.
SELECT id, COALESCE(u, l), IFNULL(u, i) - 5000000000, IF(id = 1, u, ti) - 10, COALESCE(w, i), COALESCE(w, l), IF(id = 1, ti, y), COALESCE(NULL, u, ti) FROM t;
SELECT u FROM t UNION SELECT l FROM t ORDER BY 1;
SELECT id, u / w, u / y, w / i, 5 / u FROM t;
SELECT MAX(ts), MIN(ts), COUNT(DISTINCT ts) FROM t;
SET time_zone = '+05:00';
SELECT id, COALESCE(ts, ts), IF(id = 1, ts, ts), IFNULL(ts, m), NULLIF(ts, m), CASE id WHEN 1 THEN ts END FROM t;
SELECT MAX(ts), MIN(ts) FROM t;
SELECT * FROM (SELECT MAX(ts) AS big, id FROM t GROUP BY id) q ORDER BY big, id;
SELECT ts FROM t UNION SELECT ts FROM t ORDER BY 1;
SELECT COALESCE(big, big) FROM (SELECT ts AS big FROM t UNION ALL SELECT ts FROM t) q ORDER BY 1;
DROP TABLE t;
