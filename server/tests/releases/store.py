#!/usr/bin/env python3
"""Stores a small data directory and a backup of it, as this version writes them, with answers to queries.
Every later version opens them: main.rs beside this looks.

  store.py 0.1        with BINARY_UNDER_TEST or target/release/cohort; needs zstd and mysql

A release is stored once, when its format is final. What is stored already is never made again: a version
that cannot read it has broken a promise (docs/format.md).
"""

import io
import json
import pathlib
import signal
import subprocess
import sys
import tarfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / ".ci/clients"))
from cohort import BINARY, Cohort, free_port  # noqa: E402

# In the base: a checkpoint follows.
BASE = r"""
CREATE DATABASE kept CHARACTER SET latin1 COLLATE latin1_swedish_ci;
USE kept;
CREATE TABLE numbers (a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d INT ZEROFILL, e BIGINT UNSIGNED,
  f DECIMAL(65,30), g FLOAT, h DOUBLE, i BIT(10), j BOOL, k YEAR, l FLOAT(7,3), PRIMARY KEY (e),
  KEY (f DESC, a), UNIQUE KEY (b));
INSERT INTO numbers VALUES (-128, 65535, -8388608, 42, 18446744073709551615,
    -12345678901234567890123456789012345.123456789012345678901234567890, 1.5, -2.5e300, b'1010101010', TRUE, 1901, 1234.567),
  (127, 0, 8388607, 4294967295, 0, 0.000000000000000000000000000001, -0.1, 1e-300, b'1', FALSE, 2155, -0.001),
  (NULL, NULL, NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE texts (id INT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci,
  l VARCHAR(40), b VARBINARY(40), g VARCHAR(20) CHARACTER SET gbk, s CHAR(10) CHARACTER SET sjis,
  w VARCHAR(20) CHARACTER SET utf16, de VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_de_pb_0900_as_cs,
  long_text MEDIUMTEXT, e ENUM('one','two','drei'), x SET('p','q','r'), KEY (u), UNIQUE KEY (l, b), KEY (g), KEY (w),
  KEY (de), KEY (long_text(20))) AUTO_INCREMENT = 100;
INSERT INTO texts (u, l, b, g, s, w, de, long_text, e, x) VALUES
  ('Straße 😀', 'Zürich', x'00ff10', '汉字', 'かな', '語ü', 'Ärger', REPEAT('long ', 60000), 'two', 'p,r'),
  ('strasse', 'ZURICH', '', '漢', 'カナ', 'a', 'Arger', '', 'drei', ''),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
DELETE FROM texts WHERE id = 102;
CREATE TABLE times (d DATE, t TIME(6), dt DATETIME(3), ts TIMESTAMP(6) NULL, made DATETIME DEFAULT '2026-01-02 03:04:05',
  PRIMARY KEY (d, t), KEY (ts), KEY (dt DESC));
INSERT INTO times (d, t, dt, ts) VALUES ('1000-01-01', '-838:59:59', '9999-12-31 23:59:59.999', '1970-01-01 00:00:01.000001'),
  ('9999-12-31', '838:59:58.999999', '0001-01-01 00:00:00.001', '2038-01-19 03:14:07.999999'), ('2026-11-27', '00:00:00', NULL, NULL);
CREATE TABLE documents (id BIGINT PRIMARY KEY, j JSON, tags JSON, price DECIMAL(10,2), net DECIMAL(10,2) AS (price / 1.19) STORED,
  city VARCHAR(30) AS (j->>'$.city') VIRTUAL, secret INT INVISIBLE DEFAULT 7, KEY ((CAST(tags->'$[*]' AS UNSIGNED ARRAY))),
  KEY ((LOWER(city))), KEY (net), CONSTRAINT dear CHECK (price < 1000));
INSERT INTO documents (id, j, tags, price) VALUES (1, '{"city": "Köln", "n": [1, 2.5, null, true, "x"], "deep": {"a": {"b": []}}}', '[1, 2, 3]', 119),
  (2, '{"city": "Oslo", "big": 18446744073709551615}', '[3, 4]', 11.9), (3, NULL, '[]', NULL);
CREATE TABLE parents (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET utf8mb4 UNIQUE);
CREATE TABLE children (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE ON UPDATE SET NULL);
INSERT INTO parents VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO children VALUES (10, 1), (11, 1), (20, 2), (30, NULL);
CREATE TABLE keyless (a INT, b VARCHAR(10), KEY (b));
INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, NULL);
CREATE TABLE many (id INT PRIMARY KEY, v INT, KEY (v));
SET cte_max_recursion_depth = 10000;
INSERT INTO many WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i, i % 97 FROM n;
CREATE ALGORITHM = MERGE VIEW dear_documents (id, price) AS SELECT id, price FROM documents WHERE price > 100 WITH CHECK OPTION;
CREATE ROLE reader;
GRANT SELECT ON kept.* TO reader;
CREATE USER ann@'%' IDENTIFIED WITH caching_sha2_password BY 'Ann''s password' REQUIRE SSL PASSWORD EXPIRE INTERVAL 90 DAY
  FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2 ATTRIBUTE '{"team": "shop"}';
CREATE USER bob@localhost IDENTIFIED WITH mysql_native_password BY 'bob' ACCOUNT LOCK;
GRANT reader TO ann@'%' WITH ADMIN OPTION;
GRANT UPDATE (price), INSERT ON kept.documents TO ann@'%';
GRANT BACKUP_ADMIN, PROCESS ON *.* TO bob@localhost;
SET DEFAULT ROLE reader TO ann@'%';
SET PERSIST max_connections = 77;
"""

# In the log alone: kill -9 follows.
LOG = r"""
USE kept;
ALTER TABLE numbers ADD COLUMN added VARCHAR(10) CHARACTER SET utf8mb4 DEFAULT 'new' AFTER a, DROP COLUMN j;
UPDATE many SET v = v + 1 WHERE id % 2;
DELETE FROM many WHERE id > 4000;
UPDATE documents SET j = JSON_SET(j, '$.city', 'Bonn') WHERE id = 1;
DELETE FROM parents WHERE id = 1;
CREATE INDEX later ON many (v, id);
FLUSH BINARY LOGS;
CREATE TABLE made_last (id INT AUTO_INCREMENT PRIMARY KEY, t TEXT) CHARACTER SET utf8mb4 SELECT 'ä' AS t;
RENAME TABLE keyless TO without_key;
DELETE FROM without_key WHERE a = 1 LIMIT 1;
DROP USER bob@localhost;
BEGIN;
INSERT INTO parents VALUES (4, 'four');
SAVEPOINT s;
INSERT INTO parents VALUES (5, 'five');
ROLLBACK TO s;
COMMIT;
XA START 'held', 'branch', 7;
INSERT INTO parents VALUES (9, 'nine');
UPDATE children SET parent = 3 WHERE id = 30;
XA END 'held', 'branch', 7;
XA PREPARE 'held', 'branch', 7;
"""

QUERIES = r"""
SELECT @@max_connections, @@gtid_executed;
SELECT a, added, b, c, d, e, f, g, h, HEX(i), k, l FROM kept.numbers ORDER BY e;
SELECT e FROM kept.numbers WHERE f > -1e34 ORDER BY f DESC;
SELECT id, u, l, HEX(b), g, s, w, de, LENGTH(long_text), MD5(long_text), e, x FROM kept.texts ORDER BY id;
SELECT id FROM kept.texts WHERE u = 'STRASSE 😀';
SELECT id FROM kept.texts FORCE INDEX (de) ORDER BY de;
SELECT * FROM kept.times ORDER BY d;
SELECT d FROM kept.times WHERE ts > '2000-01-01';
SELECT *, secret FROM kept.documents ORDER BY id;
SELECT id FROM kept.documents WHERE 3 MEMBER OF (tags) ORDER BY id;
SELECT id FROM kept.documents WHERE LOWER(city) = 'bonn';
SELECT * FROM kept.parents ORDER BY id;
SELECT * FROM kept.children ORDER BY id;
SELECT * FROM kept.without_key ORDER BY a, b;
SELECT COUNT(*), SUM(id), SUM(v), SUM(id * v) FROM kept.many;
SELECT COUNT(*), MAX(id) FROM kept.many FORCE INDEX (later) WHERE v = 50;
SELECT * FROM kept.made_last;
SELECT * FROM kept.dear_documents ORDER BY id;
SELECT TABLE_NAME, TABLE_COLLATION, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'kept' ORDER BY 1;
SHOW CREATE DATABASE kept;
SHOW CREATE TABLE kept.numbers;
SHOW CREATE TABLE kept.texts;
SHOW CREATE TABLE kept.times;
SHOW CREATE TABLE kept.documents;
SHOW CREATE TABLE kept.children;
SHOW CREATE TABLE kept.without_key;
SHOW CREATE TABLE kept.many;
SHOW CREATE VIEW kept.dear_documents;
SELECT User, Host, plugin, authentication_string, account_locked, password_expired, password_lifetime FROM mysql.user WHERE User IN ('ann', 'bob', 'reader', 'root') ORDER BY User;
SHOW GRANTS FOR ann@'%';
SELECT ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER = 'ann';
SELECT * FROM mysql.default_roles;
XA RECOVER;
SELECT gid, trans_type, status FROM cohort.global_transactions ORDER BY gid;
"""


def statements(script):
    return [part.strip() for part in script.split(";\n") if part.strip()]


def execute(server, script):
    """Runs a script in one session."""
    connection = server.connect(autocommit=True)
    with connection.cursor() as cursor:
        for statement in statements(script):
            cursor.execute(statement)
    return connection


def answers(server):
    """What the server that has written it all says, as mysql --batch shows it."""
    text = ""
    for query in statements(QUERIES):
        rows = subprocess.run(
            ["mysql", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uroot", "-N", "--batch",
             "--default-character-set=utf8mb4", "--init-command=SET time_zone = '+00:00'", "-e", query],
            check=True, capture_output=True, text=True).stdout
        text += f"> {query}\n{rows}"
    return text


def packed(archive, target):
    subprocess.run(["zstd", "-q", "-f", "-19", "-o", target], input=archive, check=True)
    print(f"{target}: {target.stat().st_size} bytes")


def archive_of(directory):
    """The directory as a tar archive; without keys, which are nobody's business."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(directory.iterdir()):
            if path.is_file() and path.suffix not in (".pem", ".sock", ".lock"):
                member = tarfile.TarInfo(path.name)
                member.size = path.stat().st_size
                archive.addfile(member, io.BytesIO(path.read_bytes()))
    return out.getvalue()


def main():
    release = HERE / sys.argv[1]
    if (release / "data.tar.zst").exists():
        sys.exit(f"{release} is there: what is stored stays")
    release.mkdir(exist_ok=True)
    http = free_port()
    with Cohort("--coordinator", "on", "--coordinator-port", str(http)) as server:
        execute(server, "SET GLOBAL time_zone = '+00:00'")
        execute(server, BASE).close()
        # A transaction that nobody goes on with: it is undone some day, but not before it is stored.
        order = {"gid": "stored", "trans_type": "tcc", "timeout_to_fail": 10 ** 8}
        asked = urllib.request.Request(f"http://127.0.0.1:{http}/api/dtmsvr/prepare",
                                       json.dumps(order).encode(), {"content-type": "application/json"})
        urllib.request.urlopen(asked).read()
        assert server.stop() == 0
        server.start()
        execute(server, LOG)
        (release / "answers.txt").write_text(answers(server))
        backup = subprocess.run([BINARY, "backup", "--port", str(server.port), "-"], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        server.stop(signal.SIGKILL)
        packed(archive_of(server.data), release / "data.tar.zst")
        packed(backup, release / "backup.tar.zst")


if __name__ == "__main__":
    main()
