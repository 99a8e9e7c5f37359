-- Defaults of columns of bytes, as information_schema and SHOW tell them.
CREATE TABLE t (
  id INT PRIMARY KEY,
  b BINARY(4) NOT NULL DEFAULT '',
  c BINARY(4) DEFAULT 'ab',
  d VARBINARY(9) NOT NULL DEFAULT '',
  e VARBINARY(9) DEFAULT 'page',
  f VARBINARY(9) DEFAULT 0x00FF,
  g VARBINARY(9) DEFAULT NULL,
  h ENUM('x', 'y z') CHARACTER SET binary NOT NULL DEFAULT 'y z',
  i SET('x', 'y') CHARACTER SET binary DEFAULT 'x,y',
  j ENUM('x', 'y') CHARACTER SET ascii DEFAULT 'x',
  k CHAR(4) CHARACTER SET binary DEFAULT 'k',
  l VARBINARY(9) DEFAULT (UPPER('x'))
);
SELECT column_name, column_type, column_default, character_set_name, collation_name, data_type, character_maximum_length, character_octet_length FROM information_schema.columns WHERE table_name = 't' AND table_schema = DATABASE() ORDER BY ordinal_position;
SHOW COLUMNS FROM t;
SHOW FULL COLUMNS FROM t;
SHOW CREATE TABLE t;
INSERT INTO t (id) VALUES (1);
SELECT id, HEX(b), HEX(c), HEX(d), HEX(e), HEX(f), HEX(g), h, i, HEX(k), l FROM t;
ALTER TABLE t ALTER COLUMN e SET DEFAULT 'other', ALTER COLUMN d DROP DEFAULT;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 't' AND table_schema = DATABASE() AND column_name IN ('d', 'e') ORDER BY 1;
CREATE TABLE u SELECT h, i, e FROM t;
SHOW CREATE TABLE u;
SELECT column_name, column_default, character_set_name FROM information_schema.columns WHERE table_name = 'u' AND table_schema = DATABASE() ORDER BY ordinal_position;
CREATE TABLE v (h ENUM('a', 'b')) DEFAULT CHARSET binary;
SHOW CREATE TABLE v;
SELECT column_name, column_type, character_set_name, collation_name FROM information_schema.columns WHERE table_name = 'v' AND table_schema = DATABASE();
DROP TABLE t, u, v;
