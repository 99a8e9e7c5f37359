#!/usr/bin/env python3
"""The log goes out: a real MySQL 9.7 and a real MariaDB 10.11 replicate from a server that is killed
and started again under load, with rotations, purges and changes of definitions; in the end they
have its rows, each once. mysqlbinlog gets the files as they are, byte by byte.

  .ci/clients/replicas.py [SECONDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pymysql

from cohort import ROOT, TARGET, Cohort, seed_of

sys.path.insert(0, str(ROOT / "differ"))
from suites import MariaDB, MySQL  # noqa: E402

PEERS = pathlib.Path(os.environ.get("PEERS_ROOT", "/opt/peers-sid"))
CLIENTS, KEYS = 6, 300
# What a client meets that is no fault of anybody's: duplicates, deadlocks, a table that is away.
FORGIVEN = (1050, 1051, 1264, 1406, 1054, 1060, 1061, 1062, 1072, 1091, 1146, 1205, 1213, 1397,
            1412, 1451, 1452, 1690, 3572)
TYPES = ("a INT PRIMARY KEY, f FLOAT, d DOUBLE, x DECIMAL(20,5), b BIT(7), y YEAR, t TIME(3), "
         "ts TIMESTAMP(6) NULL, dt DATETIME(2), bl MEDIUMBLOB, tx LONGTEXT CHARACTER SET latin1, "
         "g CHAR(9) CHARACTER SET gbk, j VARCHAR(90) CHARACTER SET ujis, c CHAR(10), vb VARBINARY(30), u BIGINT UNSIGNED, e ENUM('x','ü'), s SET('p','q','r'), "
         "KEY (x, y), KEY (c(3))")


class Replica:
    """A throw-away peer that replicates."""

    def __init__(self, peer, directory, *flags):
        self.peer, self.name = peer, peer.name
        self.log = directory / f"{peer.name}.log"
        self.data, self.socket = directory / peer.name, directory / f"{peer.name}.sock"
        peer.make(self.data)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*peer.command(self.data, self.socket), *flags], stdout=log, stderr=log,
                start_new_session=True)
        until = time.monotonic() + 120
        while True:
            try:
                self.run("SELECT 1")
                return
            except pymysql.MySQLError:
                assert self.process.poll() is None and time.monotonic() < until, self.name
                time.sleep(0.1)

    def connect(self):
        """A connection as root."""
        return pymysql.connect(unix_socket=str(self.socket), user="root", autocommit=True)

    def run(self, sql):
        """One statement; its rows as dictionaries."""
        with self.connect() as connection, connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def status(self):
        """SHOW REPLICA STATUS, by both its vocabularies."""
        rows = self.run("SHOW SLAVE STATUS" if self.name == "mariadb" else "SHOW REPLICA STATUS")
        words = {"Master": "Source", "Slave": "Replica"}
        def renamed(name):
            for old, new in words.items():
                name = name.replace(old, new)
            return name
        return {renamed(name): value for name, value in rows[0].items()}

    def check(self):
        """What stopped it, if it was stopped."""
        status = self.status()
        if status["Replica_SQL_Running"] != "Yes":
            workers = []
            if self.name == "mysql":
                workers = self.run("SELECT last_error_message m FROM performance_schema."
                                   "replication_applier_status_by_worker "
                                   "WHERE last_error_message <> ''")
            raise AssertionError((self.name, status["Last_SQL_Error"], workers))
        error = status["Last_IO_Error"]
        if error and "reconnecting" not in error and "connecting to" not in error:
            raise AssertionError((self.name, error, self.log.read_text()[-3000:]))

    def end(self):
        """Kills it."""
        self.process.kill()
        self.process.wait()


def two_phases(rng, cursor, statement, values):
    """An XA transaction of a statement, which may change nothing."""
    xid = f"'x{rng.getrandbits(48)}'"
    cursor.execute("COMMIT")
    cursor.execute(f"XA START {xid}")
    try:
        cursor.execute(statement, values)
        cursor.execute(f"XA END {xid}")
    except pymysql.MySQLError as error:
        if error.args[0] in FORGIVEN:
            with contextlib.suppress(pymysql.MySQLError):
                cursor.execute(f"XA END {xid}")
            cursor.execute(f"XA ROLLBACK {xid}")
        raise
    cursor.execute(f"XA PREPARE {xid}")
    cursor.execute(f"XA {rng.choice(('COMMIT', 'ROLLBACK'))} {xid}")


def change(rng, cursor):
    """One random statement, or a few."""
    key, text = rng.randrange(KEYS), "".join(rng.choices("abcäöüß \\'\"%\n", k=rng.randrange(60)))
    number = rng.randrange(-1000, 1000)
    kind = rng.random()
    if kind < 0.02:
        name = f"made{rng.randrange(4)}"
        cursor.execute(rng.choice((
            f"CREATE TABLE IF NOT EXISTS {name} (id INT PRIMARY KEY, v VARCHAR(50) DEFAULT 'x')",
            f"DROP TABLE IF EXISTS {name}",
            f"ALTER TABLE {name} ADD COLUMN n{rng.randrange(3)} INT NOT NULL DEFAULT 7",
            f"ALTER TABLE {name} DROP COLUMN n{rng.randrange(3)}",
            f"CREATE INDEX i{rng.randrange(3)} ON {name} (v)",
            f"TRUNCATE TABLE {name}",
            f"RENAME TABLE {name} TO made{rng.randrange(4)}",
            f"CREATE OR REPLACE VIEW seen AS SELECT id, n FROM t WHERE n > {number}",
            f"SET sql_mode = '{rng.choice(('ANSI', 'TRADITIONAL', ''))}'",
        )))
        return
    if kind < 0.03:
        two_phases(rng, cursor, "UPDATE t SET n = %s WHERE id = %s", (number, key))
        return
    if kind < 0.05:
        cursor.execute(f"INSERT INTO made{rng.randrange(4)} (id, v) VALUES (%s, %s)", (key, text))
        return
    cursor.execute(*rng.choice((
        ("INSERT INTO t VALUES (%s, %s, %s)", (key, text, number)),
        ("REPLACE INTO t VALUES (%s, %s, %s)", (key, text, number)),
        ("UPDATE t SET n = n + 1 WHERE id BETWEEN %s AND %s", (key, key + 5)),
        ("UPDATE t SET id = %s WHERE id = %s", (rng.randrange(KEYS), key)),
        ("DELETE FROM t WHERE id = %s", (key,)),
        ("INSERT INTO bare VALUES (%s, %s)", (key % 9, text)),
        ("UPDATE bare SET v = %s WHERE n = %s LIMIT 2", (text, key % 9)),
        ("DELETE FROM bare WHERE n = %s LIMIT 3", (key % 9,)),
        ("INSERT INTO child VALUES (%s, %s)", (key, rng.randrange(KEYS))),
        ("INSERT INTO t VALUES (%s, %s, 0) ON DUPLICATE KEY UPDATE s = VALUES(s)", (key, text)),
        ("REPLACE INTO types VALUES (%s, %s, %s, %s, %s, %s, '-12:34:56.789', "
         "'2024-01-02 03:04:05.678901', '2024-01-02 03:04:05.67', %s, %s, %s, %s, %s, %s, %s, "
         "'ü', 'p,r')",
         (key, number / 3, number / 7, f"{number}.{abs(number)}", abs(number) % 128,
          1950 + key % 100, os.urandom(key % 30) * rng.choice((1, 1, 1, 3000)), text,
          "".join(rng.choices("中文座阿aA é", k=key % 9)), "表示丂ｱa\\" * (key % 15), text[:10],
          os.urandom(key % 30), 2**64 - 1 - key)),
        ("UPDATE types SET f = NULL, u = %s WHERE a = %s", (key, rng.randrange(KEYS))),
    )))


def client(server, seed, state):
    """Random transactions until it is over, through kills of the server."""
    rng, connection = random.Random(seed), None
    while not state["over"]:
        try:
            if connection is None:
                connection = server.connect(
                    database="app", init_command="SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
                cursor = connection.cursor()
            try:
                cursor.execute("BEGIN")
                for _ in range(rng.randrange(1, 6)):
                    change(rng, cursor)
                cursor.execute(rng.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
            except pymysql.MySQLError as error:
                if error.args[0] not in FORGIVEN:
                    raise
                cursor.execute("ROLLBACK")
        except (pymysql.MySQLError, OSError) as error:
            if not isinstance(error, (pymysql.OperationalError, OSError, pymysql.InterfaceError)):
                state["failures"].append(error)
                return
            connection = None
            time.sleep(0.05)


def trouble(server, replicas, rng, state):
    """Kills the server, ends files, purges those that all replicas have."""
    while not state["over"]:
        time.sleep(rng.uniform(0.5, 2))
        what = rng.random()
        if what < 0.3:
            server.stop(signal.SIGKILL)
            server.start()
            state["kills"] += 1
            with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
                cursor.execute("XA RECOVER")
                for _, length, _, name in cursor.fetchall():
                    # Its own client may end it first.
                    with contextlib.suppress(pymysql.MySQLError):
                        cursor.execute(f"XA ROLLBACK '{name[:length]}'")
            continue
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("FLUSH BINARY LOGS")
            if what < 0.6:
                first = min(replica.status()["Source_Log_File"] for replica in replicas)
                if first:
                    cursor.execute(f"PURGE BINARY LOGS TO '{first}'")


def tables(run, schema="app"):
    """Each base table's name, columns and sorted rows."""
    names = run("SELECT table_name AS n FROM information_schema.tables WHERE table_type = "
                f"'BASE TABLE' AND table_schema = '{schema}' ORDER BY 1")
    found = {}
    for name in (row["n"] for row in names):
        rows = [tuple(row.values()) for row in run(f"SELECT * FROM {schema}.{name}")]
        found[name] = sorted(rows, key=repr)
    return found


def compare(server, replica):
    """Waits until a replica has everything, and compares."""
    def own(sql):
        with server.connect(autocommit=True) as connection, \
                connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(sql)
            return cursor.fetchall()
    end = own("SHOW BINARY LOG STATUS")[0]
    place = (end["File"], end["Position"])
    last = None
    quiet = time.monotonic()
    while True:
        replica.check()
        status = replica.status()
        here = (status["Relay_Source_Log_File"], status["Exec_Source_Log_Pos"])
        if here >= place:
            break
        if here != last:
            last, quiet = here, time.monotonic()
        assert time.monotonic() - quiet < 120, (replica.name, "stands still", here, place, status)
        time.sleep(0.1)
    wanted, found = tables(own), tables(replica.run)
    assert wanted.keys() == found.keys(), (replica.name, wanted.keys() ^ found.keys())
    for name in wanted:
        assert wanted[name] == found[name], (
            replica.name, name, [row for row in wanted[name] if row not in found[name]][:3],
            [row for row in found[name] if row not in wanted[name]][:3])
    return sum(map(len, wanted.values()))


def check_files(server, directory):
    """mysqlbinlog --read-from-remote-server --raw gets whole files as they are."""
    inside = tempfile.mkdtemp(prefix="binlogs-", dir=PEERS / "tmp")
    os.chmod(inside, 0o777)
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SHOW BINARY LOGS")
        names = [row[0] for row in cursor.fetchall()]
    subprocess.run(
        ["chroot", PEERS, "mysqlbinlog", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uroot",
         "--read-from-remote-server", "--raw", "--to-last-log",
         f"--result-file=/tmp/{pathlib.Path(inside).name}/", names[0]], check=True)
    for name in names[:-1]:
        assert (pathlib.Path(inside) / name).read_bytes() == (server.data / name).read_bytes(), name
    subprocess.run(["rm", "-rf", inside], check=True)
    return len(names) - 1


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = seed_of(2)
    print(f"replicas: seed {seed}", flush=True)
    rng, replicas = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="replicas-") as directory, \
            Cohort("--max-binlog-size", "200000") as server:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            for sql in (
                    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
                    "SET PERSIST character_set_server = utf8mb4",
                    "SET PERSIST collation_server = utf8mb4_general_ci",
                    "SET collation_server = utf8mb4_general_ci",
                    # MySQL 9 has no such plugin: its replicas would stop.
                    "SET sql_log_bin = 0",
                    "CREATE USER repl@'%' IDENTIFIED WITH mysql_native_password BY 'secret'",
                    "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
                    "SET sql_log_bin = 1",
                    "CREATE USER safe@'%' IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO safe@'%'",
                    "CREATE DATABASE app DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                    "USE app",
                    "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(100), n INT, KEY (n))",
                    "CREATE TABLE bare (n INT, v VARCHAR(100))",
                    "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES "
                    "t (id) ON DELETE CASCADE ON UPDATE SET NULL)",
                    f"CREATE TABLE types ({TYPES})"):
                cursor.execute(sql)
        room = TARGET / "mysqltest"
        if (PEERS / "usr/sbin/mysqld").exists():
            mysql = Replica(MySQL(room, PEERS), directory, "--server-id=2", "--gtid-mode=ON",
                            "--enforce-gtid-consistency=ON", "--replica-parallel-workers=4")
            replicas.append(mysql)
            mysql.run(f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={server.port},"
                      " SOURCE_USER='safe', SOURCE_PASSWORD='secret', SOURCE_AUTO_POSITION=1,"
                      " SOURCE_SSL=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=1000,"
                      " SOURCE_COMPRESSION_ALGORITHMS='zstd'")
            mysql.run("START REPLICA")
        mariadb = Replica(MariaDB(room, pathlib.Path("/")), directory, "--server-id=3")
        replicas.append(mariadb)
        mariadb.run(f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={server.port}, "
                    "MASTER_USER='repl', MASTER_PASSWORD='secret', MASTER_USE_GTID=no, "
                    "MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_CONNECT_RETRY=1")
        mariadb.run("SET GLOBAL slave_compressed_protocol = ON")
        mariadb.run("START SLAVE")
        try:
            state = {"over": False, "failures": [], "kills": 0}
            threads = [threading.Thread(target=client, args=(server, seed * 100 + n, state))
                       for n in range(CLIENTS)]
            for thread in threads:
                thread.start()
            ending = threading.Timer(seconds, lambda: state.update(over=True))
            ending.start()
            trouble(server, replicas, rng, state)
            for thread in threads:
                thread.join()
            assert not state["failures"], state["failures"]
            for replica in replicas:
                rows = compare(server, replica)
                print(f"replicas: {replica.name}: {rows} rows, after {state['kills']} kills",
                      flush=True)
            if (PEERS / "usr/bin/mysqlbinlog").exists():
                print(f"replicas: mysqlbinlog: {check_files(server, directory)} files", flush=True)
        finally:
            for replica in replicas:
                replica.end()
        assert "panicked" not in server.log.read_text()


if __name__ == "__main__":
    main()
