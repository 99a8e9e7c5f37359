-- What INSERT and UPDATE make of values, where it depends on where these come from, and what is told of
-- numbers: found by differ/changes.
-- A literal is a text in the connection's character set, whatever another row had there before.
CREATE TABLE texts (js JSON, bl BLOB, la VARCHAR(5) CHARACTER SET latin1);
INSERT INTO texts (js) VALUES (1.5);
INSERT INTO texts (js) VALUES ('1');
INSERT INTO texts (la, bl) VALUES (2.5, 1.5);
INSERT INTO texts (la, bl) VALUES ('ä', 'ä');
INSERT INTO texts (js) VALUES ('1'), (2);
INSERT INTO texts (js) VALUES (3), ('1');
SELECT HEX(bl), HEX(la), js FROM texts;
-- TEXT and BLOB keep of another column what clients are shown of it, VARCHAR and the like its number.
CREATE TABLE held (id INT PRIMARY KEY, yr YEAR, bt BIT(12), f FLOAT, z INT(5) ZEROFILL, v VARCHAR(30), tx TEXT, bl BLOB, c BINARY(3));
INSERT INTO held (id, yr, bt, f, z) VALUES (1, 0, 1089, 1.1, 7);
UPDATE held SET v = yr, tx = yr, bl = yr, c = yr;
SELECT HEX(v), HEX(tx), HEX(bl), HEX(c) FROM held;
UPDATE held SET v = bt, tx = bt, bl = bt;
SELECT HEX(v), HEX(tx), HEX(bl) FROM held;
UPDATE held SET v = f, tx = f, bl = f;
SELECT HEX(v), HEX(tx), HEX(bl) FROM held;
UPDATE held SET v = z, tx = z, bl = z;
SELECT HEX(v), HEX(tx), HEX(bl) FROM held;
UPDATE held SET v = COALESCE(yr, 1), tx = COALESCE(yr, 1), bl = (SELECT 0);
SELECT HEX(v), HEX(tx), HEX(bl) FROM held;
INSERT INTO held (id, v, tx, bl) SELECT id + 1, bt, bt, bt FROM held;
INSERT INTO held (id, v, tx, bl) SELECT 3, x, x, x FROM (SELECT DISTINCT yr AS x FROM held WHERE id = 1) d;
INSERT INTO held (id, v, tx, bl) SELECT 4, bt, bt, bt FROM held WHERE id = 1 UNION ALL SELECT 5, bt, bt, bt FROM held WHERE id = 1;
INSERT INTO held (id, bt) VALUES (1, 66) ON DUPLICATE KEY UPDATE v = VALUES(bt), tx = VALUES(bt);
SELECT id, HEX(v), HEX(tx), HEX(bl) FROM held ORDER BY id;
-- A date that was chosen among others is a text where a number is stored; as a column holds it, it is a number.
CREATE TABLE numbers (id INT PRIMARY KEY, d DATE, dt DATETIME, ti TIME, js JSON, i BIGINT, y YEAR, b BIT(64), s SET('k1'));
INSERT INTO numbers (id, d, dt, ti, js) VALUES (1, '2020-01-02', '2020-01-02 10:11:12', '00:00:12', 'true');
SET sql_mode = '';
UPDATE numbers SET i = d, y = ti, b = dt;
SELECT i, y, HEX(b) FROM numbers;
UPDATE numbers SET i = dt, y = dt, b = ti, s = d;
SELECT i, y, HEX(b), s FROM numbers;
UPDATE numbers SET i = COALESCE(d), y = js;
SELECT i, y FROM numbers;
UPDATE numbers SET i = CASE WHEN id THEN ti END, y = IF(id, d, d);
SELECT i, y FROM numbers;
UPDATE numbers SET i = d + INTERVAL 1 DAY, y = -0.4;
SELECT i, y FROM numbers;
INSERT INTO numbers (id, i) SELECT 2, MAX(d) FROM numbers;
SELECT i FROM numbers WHERE id = 2;
INSERT INTO numbers (id, ti, d) VALUES (3, CAST('[1]' AS JSON), CAST('[1]' AS JSON));
SELECT ti, d FROM numbers WHERE id = 3;
INSERT INTO numbers (id, ti, dt) VALUES (4, 20200101101112, 0.3);
SELECT ti, dt FROM numbers WHERE id = 4;
SET sql_mode = DEFAULT;
INSERT INTO numbers (id, s) VALUES (5, DATE'2020-01-02');
INSERT INTO numbers (id, i) SELECT 5, MAX(d) FROM numbers;
-- Columns that have not got their values yet are seen with their defaults.
CREATE TABLE defaults_seen (id INT PRIMARY KEY AUTO_INCREMENT, a INT DEFAULT 5, b INT NOT NULL DEFAULT 7, c INT NOT NULL, e INT, f ENUM('x', 'y') NOT NULL, d DATETIME DEFAULT CURRENT_TIMESTAMP, vy VARBINARY(5) DEFAULT X'FF00');
INSERT INTO defaults_seen (e, a, c) VALUES (a + b, 1, a + 1);
INSERT INTO defaults_seen (e, c, a) VALUES (c, 4, 9);
INSERT INTO defaults_seen (a, b, c, e) VALUES (1, 2, 3, a), (b, 8, 9, b);
INSERT INTO defaults_seen (e, f, c) VALUES (f, 'y', 1);
INSERT INTO defaults_seen (e, c) VALUES (d IS NULL, id);
SELECT id, a, b, c, e, f, HEX(vy) FROM defaults_seen ORDER BY id;
SELECT DEFAULT(id), DEFAULT(d), HEX(DEFAULT(vy)) FROM defaults_seen LIMIT 1;
INSERT IGNORE INTO defaults_seen (c, e) VALUES (NULL, 1), (NULL, DEFAULT), (DEFAULT, 3), (DEFAULT, 4);
SHOW WARNINGS;
