#!/bin/bash
# dump.sh PORT: mariadb-dump and, where it is installed, MySQL's mysqldump write out a database,
# the command line restores it elsewhere, and a dump of the copy equals the first one. They lock
# the tables that they dump (the default), or dump one snapshot; restoring locks them, too. So do
# mydumper and myloader.
set -euo pipefail
port=$1
server=(-h127.0.0.1 -P"$port" -uroot --default-character-set=utf8mb4)
client=(mariadb "${server[@]}")
same=(--skip-comments --routines --events --triggers)
sid=${PEERS_ROOT:-/opt/peers-sid}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${client[@]}" <<'SQL'
CREATE DATABASE dumped;
CREATE DATABASE restored;
USE dumped;
CREATE TABLE items (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(50) COLLATE utf8mb4_bin NOT NULL DEFAULT 'ünnamed' COMMENT 'its name''s comment',
  price DECIMAL(10,2) DEFAULT NULL, size DOUBLE, small TINYINT(1) NOT NULL DEFAULT 0,
  born DATE, at TIME(3), made DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  seen TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, y YEAR, bytes VARBINARY(20), body TEXT, raw LONGBLOB,
  UNIQUE KEY name_born (name, born DESC), KEY body (body(10)), KEY made (made) COMMENT 'when'
) COMMENT='things';
INSERT INTO items VALUES
  (1, 'a''b"c\\d\n', 1.50, 1e-300, 1, '2024-02-29', '-01:02:03.004', '2024-01-01 10:11:12.123456', '2024-01-01 00:00:00', 2024, x'00ff27', 'text; -- no comment', x'000102'),
  (5, '日本語 😀', NULL, NULL, 0, NULL, NULL, '9999-12-31 23:59:59.999999', NULL, NULL, NULL, '', '');
CREATE TABLE empty_one (a INT, b INT, KEY ab (a, b));
-- It comes before its parent in a dump.
CREATE TABLE childs_of_items (
  id INT PRIMARY KEY, item BIGINT UNSIGNED, other INT, kind ENUM('new','ünused') DEFAULT 'new',
  flags SET('a','b','c'), KEY item_kind (item, kind),
  CONSTRAINT `of item` FOREIGN KEY (item) REFERENCES items (id) ON DELETE CASCADE,
  FOREIGN KEY (other) REFERENCES childs_of_items (id) ON DELETE SET NULL ON UPDATE RESTRICT);
INSERT INTO childs_of_items VALUES (1, 5, NULL, 'ünused', 'a,c'), (2, NULL, 1, 'new', ''), (3, 1, 2, NULL, NULL);
-- Rows that look different from each other: negative numbers, NULLs, bytes, escapes.
CREATE TABLE many (
  id INT PRIMARY KEY, uuid BINARY(16), i INT, b BIGINT, u BIGINT UNSIGNED, n DECIMAL(20,6), f DOUBLE,
  g FLOAT, d DATE, t TIME(3), e DATETIME(6), y YEAR, c CHAR(10), v VARCHAR(100), x VARBINARY(50),
  body MEDIUMTEXT, raw MEDIUMBLOB, KEY (i), KEY (v));
SET cte_max_recursion_depth = 20000;
INSERT INTO many
WITH RECURSIVE numbers (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM numbers WHERE k < 20000)
SELECT k, UNHEX(MD5(k)), IF(k % 7 = 0, NULL, k - 10000), -k * 1000000007, 18446744073709551615 - k,
  IF(k % 5 = 0, NULL, (k - 9000) / 7), IF(k % 11 = 0, NULL, -k / 3e0), k / 8,
  DATE_ADD('2000-01-01', INTERVAL k DAY), SEC_TO_TIME(k - 10000),
  DATE_ADD('2000-01-01 00:00:00.000001', INTERVAL k * 1009 SECOND), 1950 + k % 200,
  IF(k % 3 = 0, NULL, CHAR(65 + k % 26)), CONCAT('it''s \\', CHAR(10), k, ' "', REPEAT('ü😀', k % 5)),
  UNHEX(SHA1(k)), IF(k % 13 = 0, NULL, REPEAT(CONCAT(k, '%_;'), k % 9)), UNHEX(REPEAT(HEX(k), 1 + k % 4))
FROM numbers;
SQL
# Dumps `dumped` with a command, restores it and compares the copy's dump with it.
there_and_back() { # COMMAND…
  "$@" "${same[@]}" dumped >"$work/first"
  "${client[@]}" restored <"$work/first"
  "$@" "${same[@]}" restored >"$work/second"
  cmp "$work/first" "$work/second" || { diff -a "$work"/{first,second} | cut -c1-500; exit 1; }
  [ "$("${client[@]}" -N -e "SELECT COUNT(*), MAX(id) FROM restored.items")" = $'2\t5' ]
  "${client[@]}" -e "INSERT INTO restored.items (name) VALUES ('next')"
  [ "$("${client[@]}" -N -e "SELECT id FROM restored.items WHERE name = 'next'")" = 6 ]
}
mariadb_dump=(mariadb-dump "${server[@]}")
there_and_back "${mariadb_dump[@]}"
there_and_back "${mariadb_dump[@]}" --single-transaction
there_and_back "${mariadb_dump[@]}" --lock-all-tables
there_and_back "${mariadb_dump[@]}" --hex-blob
[[ $("${mariadb_dump[@]}" dumped) = *'LOCK TABLES `items` WRITE'* ]]
if [ -x "$sid/usr/bin/mysqldump" ]; then
  mysqldump=(chroot "$sid" mysqldump "${server[@]}" --set-gtid-purged=OFF)
  there_and_back "${mysqldump[@]}"
  there_and_back "${mysqldump[@]}" --single-transaction
  there_and_back "${mysqldump[@]}" --lock-all-tables
  there_and_back "${mysqldump[@]}" --hex-blob
  there_and_back "${mysqldump[@]}" --skip-extended-insert
  "${mysqldump[@]}" --all-databases >/dev/null
  # The snapshot's place in the log: nothing was committed since.
  position=$("${mysqldump[@]}" --single-transaction --source-data=2 dumped |
    sed -n "s/^-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='\(.*\)', SOURCE_LOG_POS=\(.*\);/\1 \2/p")
  [ "$position" = "$("${client[@]}" -N -e "SHOW BINARY LOG STATUS" | cut -f1,2 | tr '\t' ' ')" ]
  chroot "$sid" mysqlslap -h127.0.0.1 -P"$port" -uroot --auto-generate-sql --concurrency=4 --iterations=1 \
    --number-of-queries=200 >/dev/null
else
  echo "dump.sh: left out, for it is missing: MySQL's mysqldump"
fi
mydumper -h 127.0.0.1 -P "$port" -u root -B dumped -o "$work/mydumper"
myloader -h 127.0.0.1 -P "$port" -u root -d "$work/mydumper" -s dumped -B loaded
# mydumper leaves out columns whose default is the current time, which it takes for generated ones.
for database in dumped loaded; do
  "${mariadb_dump[@]}" "${same[@]}" "$database" many empty_one >"$work/$database"
done
cmp "$work/dumped" "$work/loaded"
mariadb-slap -h127.0.0.1 -P"$port" -uroot --auto-generate-sql --concurrency=4 --iterations=1 \
  --number-of-queries=200 >/dev/null
"${client[@]}" -e "DROP DATABASE dumped; DROP DATABASE restored; DROP DATABASE loaded"
echo "dump.sh: what was dumped is what was restored"
