#!/usr/bin/env python3
"""Single cases of replication that random loads do not meet: what is behind a hidden transaction, a
source that has purged, XA transactions that a filter leaves out, places that are forgotten, tables
that are not as the source's.

  .ci/clients/replica_cases.py [CASE...]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import os
import pathlib
import signal
import sys
import tempfile

from cohort import TARGET, Cohort, free_port
from replicas import PEERS
from sources import MySQL, Source, ask, executed, follow, several, status, until

ROOT = ("SOURCE_USER='root'",)
REPL = ("SOURCE_USER='repl'", "SOURCE_PASSWORD='secret'", "SOURCE_SSL=1")


def arrive(source, *replicas):
    """Waits until the replicas have all."""
    wanted = executed(source)
    for replica in replicas:
        has_all = f"SELECT GTID_SUBSET('{wanted}', @@gtid_executed) AS d"
        until(lambda: ask(replica, has_all)[0]["d"] == 1, lambda: (wanted, status(replica)))


@contextlib.contextmanager
def pair():
    """A Cohort that follows another one."""
    with Cohort("--server-id", "1") as source, Cohort("--server-id", "2") as replica:
        follow(replica, source.port, *ROOT, "SOURCE_AUTO_POSITION=1", "SOURCE_HEARTBEAT_PERIOD=1")
        several(source, "CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY)",
            "CREATE DATABASE away", "CREATE TABLE away.t (id INT PRIMARY KEY)")
        arrive(source, replica)
        yield source, replica


def check_hidden():
    """What comes before a transaction that is hidden is applied without waiting for another one."""
    with pair() as (source, replica):
        ask(replica, "STOP REPLICA")
        several(source, "INSERT INTO app.t VALUES (1), (2)", "SET sql_log_bin = 0", "INSERT INTO app.t VALUES (3)")
        ask(replica, "START REPLICA")
        arrive(source, replica)
        assert [row["id"] for row in ask(replica, "SELECT id FROM app.t")] == [1, 2]


def check_purged():
    """What was purged at the source cannot come: it is told, and not tried for ever."""
    with pair() as (source, replica):
        ask(replica, "STOP REPLICA")
        several(source, "INSERT INTO app.t VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO app.t VALUES (2)")
        active = ask(source, "SHOW BINARY LOG STATUS")[0]["File"]
        # A file is kept for who reads it, until it is known to have gone.
        until(lambda: ask(source, f"PURGE BINARY LOGS TO '{active}'") or
              len(ask(source, "SHOW BINARY LOGS")) == 1, lambda: ask(source, "SHOW BINARY LOGS"))
        ask(replica, "START REPLICA")
        until(lambda: status(replica)["Replica_IO_Running"] == "No", lambda: status(replica))
        found = status(replica)
        assert found["Last_IO_Errno"] == 1236 and "purged" in found["Last_IO_Error"], found


def check_left_out():
    """XA transactions that a filter leaves out end as if they had not been, through kills; one that
    was prepared before the replica began to follow is missed."""
    with pair() as (source, replica):
        ask(replica, "STOP REPLICA")
        ask(replica, "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (away)")
        ask(replica, "START REPLICA")
        number = 0
        for end in ("COMMIT", "ROLLBACK"):
            for kills in (False, True):
                number += 1
                with contextlib.closing(source.connect(autocommit=True)) as connection:
                    cursor = connection.cursor()
                    for sql in (f"XA START 'x{number}'", f"INSERT INTO away.t VALUES ({number})",
                                f"XA END 'x{number}'", f"XA PREPARE 'x{number}'"):
                        cursor.execute(sql)
                    if kills:
                        arrive(source, replica)
                        replica.stop(signal.SIGKILL)
                        replica.start()
                    cursor.execute(f"XA {end} 'x{number}'")
                ask(source, f"INSERT INTO app.t VALUES ({number})")
                arrive(source, replica)
        assert not ask(replica, "SELECT * FROM away.t") and not ask(replica, "XA RECOVER")
        ask(replica, "STOP REPLICA")
        several(source, "XA START 'old'", "INSERT INTO app.t VALUES (77)", "XA END 'old'", "XA PREPARE 'old'")
        new = ask(replica, f"SELECT GTID_SUBTRACT('{executed(source)}', @@gtid_executed) AS g")[0]["g"]
        ask(replica, f"SET GLOBAL gtid_purged = '+{new}'")
        ask(replica, "START REPLICA")
        ask(source, "XA COMMIT 'old'")
        until(lambda: status(replica)["Last_SQL_Errno"] == 1397, lambda: status(replica))


def check_forgotten_place():
    """After RESET REPLICA ALL the next source is followed from where it is said."""
    with Cohort("--server-id", "1") as first, Cohort("--server-id", "2") as second, \
            Cohort("--server-id", "3") as replica:
        for source in (first, second):
            several(source, "CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY)",
                "INSERT INTO app.t VALUES (1)")
        several(replica, "CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY)")
        for source, number in ((first, 7), (second, 8)):
            place = ask(source, "SHOW BINARY LOG STATUS")[0]
            follow(replica, source.port, *ROOT, f"SOURCE_LOG_FILE='{place['File']}'",
                   f"SOURCE_LOG_POS={place['Position']}")
            ask(source, f"INSERT INTO app.t VALUES ({number})")
            until(lambda: ask(replica, f"SELECT * FROM app.t WHERE id = {number}"),
                  lambda: status(replica))
            several(replica, "STOP REPLICA", "RESET REPLICA ALL")
        assert [row["id"] for row in ask(replica, "SELECT id FROM app.t")] == [7, 8]


def check_until():
    """START REPLICA UNTIL: a position within a transaction's first event is behind its beginning; what
    was executed already is nowhere to go."""
    with pair() as (source, replica):
        ask(replica, "STOP REPLICA")
        ask(source, "INSERT INTO app.t VALUES (0)")
        place = ask(source, "SHOW BINARY LOG STATUS")[0]
        ask(source, "INSERT INTO app.t VALUES (1)")
        ask(source, "INSERT INTO app.t VALUES (2)")

        def go(condition):
            ask(replica, f"START REPLICA UNTIL {condition}")
            until(lambda: status(replica)["Replica_SQL_Running"] == "No", lambda: status(replica))
            assert not status(replica)["Last_SQL_Errno"], status(replica)
            ask(replica, "STOP REPLICA")
            return [row["id"] for row in ask(replica, "SELECT id FROM app.t")]
        where = f"SOURCE_LOG_FILE = '{place['File']}', SOURCE_LOG_POS = "
        assert go(f"{where}{place['Position']}") == [0]
        assert go(f"{where}{place['Position'] + 1}") == [0, 1]
        assert go(f"SQL_BEFORE_GTIDS = '{executed(replica)}'") == [0, 1]
        assert go(f"SQL_AFTER_GTIDS = '{executed(replica)}'") == [0, 1]
        assert go(f"SQL_AFTER_GTIDS = '{executed(source)}'") == [0, 1, 2]


def check_numbers():
    """ALTER TABLE numbers rows as its source does, whatever was rolled back there."""
    with pair() as (source, replica):
        ask(source, "CREATE TABLE app.n (k INT PRIMARY KEY, a INT UNIQUE AUTO_INCREMENT)")
        key = 0
        for actions in ("FORCE", "MODIFY a BIGINT, ADD COLUMN b INT AUTO_INCREMENT UNIQUE -- b goes on", "FORCE",
                        "MODIFY b INT", "ADD COLUMN c INT UNIQUE AUTO_INCREMENT", "DROP COLUMN c",
                        "ADD COLUMN c INT AUTO_INCREMENT UNIQUE, AUTO_INCREMENT = 400",
                        "MODIFY c INT, MODIFY b INT AUTO_INCREMENT FIRST",
                        "DROP COLUMN b, ADD COLUMN d BIGINT UNIQUE AUTO_INCREMENT"):
            key += 3
            several(source, f"INSERT INTO app.n (k) VALUES ({key}), ({key + 2})",
                    "BEGIN", f"INSERT INTO app.n (k) VALUES ({key + 1})", "ROLLBACK")
            ask(source, f"ALTER TABLE app.n {actions}")
            arrive(source, replica)
            rows = ask(source, "SELECT * FROM app.n")
            assert rows == ask(replica, "SELECT * FROM app.n"), (actions, rows)


def stops(source, replica, change, code, mend):
    """A change of the source stops the replica, until the cause is mended."""
    ask(source, change)
    until(lambda: status(replica)["Last_SQL_Errno"] == code, lambda: (change, status(replica)))
    ask(replica, mend)
    ask(replica, "START REPLICA")
    arrive(source, replica)


def check_tables(source, replica):
    """Foreign keys and CHECKs that only the replica's rows break, columns that only it has, documents
    that the source has changed in their places."""
    several(source, "CREATE DATABASE app", "CREATE TABLE app.p (id INT PRIMARY KEY)",
        "CREATE TABLE app.c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES app.p (id) "
        "ON UPDATE CASCADE ON DELETE CASCADE)",
        "CREATE TABLE app.k (id INT PRIMARY KEY, v INT)", "CREATE TABLE app.j (n INT, d JSON)",
        "INSERT INTO app.p VALUES (1), (2)", "INSERT INTO app.c VALUES (1, 1), (2, 2)")
    arrive(source, replica)
    several(replica, "SET sql_log_bin = 0", "DELETE FROM app.p WHERE id = 2", "ALTER TABLE app.k ADD CHECK (v < 5)",
        "ALTER TABLE app.k ADD COLUMN more VARCHAR(9) NOT NULL DEFAULT 'here', ADD COLUMN w INT AS (v + 1)")
    ask(source, "UPDATE app.p SET id = 10 WHERE id = 1")
    arrive(source, replica)
    assert [row["p"] for row in ask(replica, "SELECT p FROM app.c ORDER BY id")] == [10]
    stops(source, replica, "INSERT INTO app.c VALUES (3, 2)", 1452,
          "INSERT INTO app.p VALUES (2)")
    stops(source, replica, "INSERT INTO app.k VALUES (1, 9)", 3819,
          "ALTER TABLE app.k DROP CHECK k_chk_1")
    several(source, "INSERT INTO app.k VALUES (2, 3)", "UPDATE app.k SET v = 4 WHERE id = 1")
    arrive(source, replica)
    found = [tuple(row.values()) for row in ask(replica, "SELECT * FROM app.k ORDER BY id")]
    assert found == [(1, 4, "here", 5), (2, 3, "here", 4)], found
    # What the source's columns have that are not here is left out, whatever it is.
    several(source, "CREATE TABLE app.w (id INT PRIMARY KEY, v VARCHAR(9), c CHAR(9) CHARACTER SET gbk, "
        "d DECIMAL(9,3), e ENUM('a', 'b'), j JSON, t DATETIME(3), b BIT(11), x TEXT, l CHAR(200))",
        "INSERT INTO app.w VALUES (1, 'one', '\u4e2d', 1.5, 'b', '[1, 2]', NOW(3), b'101', 'text', 'l')")
    arrive(source, replica)
    several(replica, "SET sql_log_bin = 0", "ALTER TABLE app.w DROP c, DROP d, DROP e, DROP j, DROP t, DROP b, "
        "DROP x, DROP l")
    several(source, "INSERT INTO app.w VALUES (2, 'two', NULL, 2.5, 'a', '{}', NULL, b'1', REPEAT('x', 300), 'm')",
        "UPDATE app.w SET v = 'new', x = 'other', j = JSON_ARRAY(3) WHERE id = 1",
        "INSERT INTO app.w (id, v) VALUES (3, 'gone')", "DELETE FROM app.w WHERE id = 3")
    arrive(source, replica)
    found = [tuple(row.values()) for row in ask(replica, "SELECT * FROM app.w ORDER BY id")]
    assert found == [(1, "new"), (2, "two")], found
    # A row without a key is found by a document that has holes at the source.
    partial = () if isinstance(source, Cohort) else ("SET binlog_row_value_options = 'PARTIAL_JSON'",)
    several(source, *partial, """INSERT INTO app.j VALUES (1, '{"a": "xxxxxxxxxx"}')""",
        "UPDATE app.j SET d = JSON_SET(d, '$.a', 'y')", "DELETE FROM app.j")
    arrive(source, replica)
    assert not ask(replica, "SELECT * FROM app.j")


def check_tables_of_cohort():
    """The same, from a Cohort."""
    with Cohort("--server-id", "1") as source, Cohort("--server-id", "2") as replica:
        follow(replica, source.port, *ROOT, "SOURCE_AUTO_POSITION=1")
        check_tables(source, replica)


@contextlib.contextmanager
def mysql_source():
    """A MySQL with an account `repl`, whose privileges are not those of here."""
    with tempfile.TemporaryDirectory(prefix="cases-") as directory:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        source = Source(MySQL(TARGET / "mysqltest", PEERS), directory, free_port(), "--server-id=4",
                        "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog",
                        "--innodb-buffer-pool-size=64M")
        try:
            several(source, "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'secret'",
                "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'")
            yield source
        finally:
            source.end()


def check_tables_of_mysql():
    """The same, from a MySQL."""
    if not (PEERS / "usr/sbin/mysqld").exists():
        print("replica_cases: without MySQL, which is not there", flush=True)
        return
    with mysql_source() as source, Cohort("--server-id", "5") as replica:
        new = executed(source)
        if new:
            ask(replica, f"SET GLOBAL gtid_purged = '+{new}'")
        follow(replica, source.port, *REPL, "SOURCE_AUTO_POSITION=1")
        check_tables(source, replica)


def main():
    cases = {name.removeprefix("check_"): case for name, case in globals().items()
             if name.startswith("check_") and name != "check_tables"}
    for name in sys.argv[1:] or cases:
        cases[name]()
        print(f"replica_cases: {name}", flush=True)


if __name__ == "__main__":
    main()
