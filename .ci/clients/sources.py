#!/usr/bin/env python3
"""The log comes in: Cohort replicates from a real MySQL 9.7 by GTID and from a real MariaDB 10.11 by
file and position, and a second Cohort from the first. Sources and replicas are killed under random
rows and definitions; in the end all have the source's rows, each once.

  .ci/clients/sources.py [SECONDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import json
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

import replicas
from cohort import ROOT, TARGET, Cohort, free_port, seed_of
from replicas import FORGIVEN, PEERS, TYPES, tables

sys.path.insert(0, str(ROOT / "differ"))
from suites import MariaDB, MySQL  # noqa: E402

CLIENTS = 4


class Source(replicas.Replica):
    """A throw-away peer that others replicate from, and that can be killed."""

    def __init__(self, peer, directory, port, *flags):
        self.port = port
        self.flags = ("--skip-networking=0", "--bind-address=127.0.0.1", f"--port={port}", *flags)
        super().__init__(peer, directory, *self.flags)

    def again(self):
        """Kills it, and starts it again."""
        self.end()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.peer.command(self.data, self.socket), *self.flags], stdout=log, stderr=log,
                start_new_session=True)
        until = time.monotonic() + 120
        while True:
            try:
                self.run("SELECT 1")
                return
            except pymysql.MySQLError:
                assert self.process.poll() is None and time.monotonic() < until, self.name
                time.sleep(0.1)

    def connect(self, **options):
        """A connection as root."""
        return pymysql.connect(unix_socket=str(self.socket), user="root", **options)



def ask(server, sql):
    """One statement; its rows as dictionaries."""
    with contextlib.closing(server.connect(autocommit=True)) as connection, \
            connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def several(server, *statements):
    """Statements of one session."""
    with contextlib.closing(server.connect(autocommit=True)) as connection, connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)


def status(server):
    """What SHOW REPLICA STATUS says."""
    return ask(server, "SHOW REPLICA STATUS")[0]


def executed(server):
    """gtid_executed, in a line."""
    return ask(server, "SELECT @@gtid_executed AS e")[0]["e"].replace("\n", "")


def until(what, told):
    """Waits until something is so."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, told()
        time.sleep(0.05)


def prepare(source):
    """The tables of the load."""
    with contextlib.closing(source.connect(autocommit=True)) as connection, \
            connection.cursor() as cursor:
        for sql in (
                "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
                "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'secret'",
                "GRANT ALL ON *.* TO repl@'127.0.0.1'"):
            # A replica that has accounts of its own does not need the source's.
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute(sql)
        cursor.execute("SET sql_log_bin = 1")
        for sql in (
                "CREATE DATABASE app DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                "USE app",
                "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(100), n INT, KEY (n))",
                "CREATE TABLE bare (n INT, v VARCHAR(100))",
                "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES "
                "t (id) ON DELETE CASCADE ON UPDATE SET NULL)",
                f"CREATE TABLE types ({TYPES})",
                "CREATE TABLE docs (id INT PRIMARY KEY, a JSON, n INT, b JSON)",
                "CREATE TABLE made_of (id INT AUTO_INCREMENT PRIMARY KEY, n INT, "
                "g INT AS (n + 1) STORED, v INT AS (n * 2) VIRTUAL, KEY (v))"):
            cursor.execute(sql)


def documents(rng):
    """A statement that writes documents, or changes parts of them."""
    def value():
        return json.dumps(rng.choice((None, rng.randrange(10**6), "ü" * rng.randrange(300),
                                      [1, {"x": [True]}], {"k": "v", "w": {}}, 1.5)))
    path = rng.choice(("$.k", "$.list[0]", "$.list[1]", "$.list[last]", "$.list[5]", "$.in.k",
                       "$.in.\"a b\"", "$.missing.k", "$[0].k"))
    column, kind = rng.choice("ab"), rng.random()
    if kind < 0.3:
        whole = json.dumps({"k": "x" * rng.randrange(200), "list": [1, [2], "3"], "in": {"k": None}})
        return ("REPLACE INTO docs VALUES (%s, %s, %s, %s)",
                (rng.randrange(20), whole, rng.randrange(9), rng.choice((whole, value()))))
    if kind < 0.4:
        return f"UPDATE docs SET {column} = JSON_REMOVE({column}, '{path}') WHERE n < 5", ()
    function = rng.choice(("JSON_SET", "JSON_REPLACE"))
    other = f", b = JSON_SET(b, '{path}', 1)" if rng.random() < 0.3 and column == "a" else ""
    return (f"UPDATE docs SET n = n + 1, {column} = {function}({column}, '{path}', "
            f"JSON_EXTRACT(%s, '$')){other} WHERE id %% 5 = %s", (value(), rng.randrange(5)))


def client(source, seed, state):
    """Random transactions until it is over, through kills of the source."""
    rng, connection = random.Random(seed), None
    while not state["over"]:
        try:
            if connection is None:
                connection = source.connect(
                    database="app", init_command="SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
                cursor = connection.cursor()
                if source.name == "mysql":
                    cursor.execute(f"SET binlog_row_image = '{rng.choice(('FULL', 'MINIMAL', 'NOBLOB'))}'")
                    cursor.execute(f"SET binlog_transaction_compression = {rng.randrange(2)}")
                    cursor.execute("SET binlog_row_value_options = "
                                   f"'{rng.choice(('', 'PARTIAL_JSON'))}'")
                else:
                    cursor.execute(f"SET binlog_row_image = '{rng.choice(('FULL', 'MINIMAL', 'NOBLOB'))}'")
            try:
                cursor.execute("BEGIN")
                for _ in range(rng.randrange(1, 6)):
                    if rng.random() < 0.03:
                        name = f"of_query{rng.randrange(3)}"
                        cursor.execute(f"DROP TABLE IF EXISTS {name}")
                        cursor.execute(f"CREATE TABLE {name} AS SELECT * FROM t WHERE n > %s",
                                       (rng.randrange(-1000, 1000),))
                    # MariaDB's documents are texts.
                    if rng.random() < 0.2 and source.name == "mysql":
                        cursor.execute(*documents(rng))
                    if rng.random() < 0.1:
                        cursor.execute("INSERT INTO made_of (n) VALUES (%s)", (rng.randrange(99),))
                        cursor.execute("UPDATE made_of SET n = n + 1 WHERE id %% 7 = %s",
                                       (rng.randrange(7),))
                    else:
                        replicas.change(rng, cursor)
                cursor.execute(rng.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))
            except pymysql.MySQLError as error:
                if error.args[0] not in (*FORGIVEN, 1305):
                    raise
                cursor.execute("ROLLBACK")
        except (pymysql.MySQLError, OSError) as error:
            if not isinstance(error, (pymysql.OperationalError, OSError, pymysql.InterfaceError)):
                state["failures"].append(error)
                return
            connection = None
            time.sleep(0.05)


def end_prepared(source):
    """Rolls back what a kill has left prepared."""
    with contextlib.closing(source.connect(autocommit=True)) as connection, \
            connection.cursor() as cursor:
        cursor.execute("XA RECOVER")
        for _, length, _, name in cursor.fetchall():
            with contextlib.suppress(pymysql.MySQLError):
                cursor.execute("XA ROLLBACK '" + (name[:length].decode() if isinstance(name, bytes)
                                                  else name[:length]) + "'")


def trouble(source, followers, rng, state):
    """Kills the source or one of those who follow, and ends files."""
    while not state["over"]:
        time.sleep(rng.uniform(0.5, 2))
        what = rng.random()
        # What MariaDB has prepared it may lose, and keep in its log, when it is killed.
        if what < 0.15 and source.name == "mysql":
            source.again()
            state["kills"] += 1
            end_prepared(source)
        elif what < 0.7:
            server = rng.choice(followers)
            server.stop(signal.SIGKILL)
            server.start()
            state["kills"] += 1
        else:
            ask(source, "FLUSH BINARY LOGS")


def check(name, server):
    """What stopped it, if it was stopped."""
    status = ask(server, "SHOW REPLICA STATUS")[0]
    assert not status["Last_SQL_Error"], (name, status["Last_SQL_Error"])
    assert status["Replica_SQL_Running"] == "Yes", (name, status)
    return status


def compare(name, source, follower, state):
    """Waits until a follower has all of it, and compares."""
    until = time.monotonic() + 120
    while True:
        status = check(name, follower)
        if status["Auto_Position"]:
            executed = ask(source, "SELECT @@gtid_executed AS e")[0]["e"].replace("\n", "")
            done = ask(follower, f"SELECT GTID_SUBSET('{executed}', @@gtid_executed) AS d")[0]["d"]
        else:
            end = ask(source, "SHOW MASTER STATUS")[0]
            here = (status["Relay_Source_Log_File"], status["Exec_Source_Log_Pos"])
            done = here >= (end["File"], end["Position"])
        if done:
            break
        assert time.monotonic() < until, (name, "stands still", status, state)
        time.sleep(0.1)
    wanted = tables(lambda sql: ask(source, sql))
    found = tables(lambda sql: ask(follower, sql))
    assert wanted.keys() == found.keys(), (name, wanted.keys() ^ found.keys())
    for table in wanted:
        assert wanted[table] == found[table], (
            name, table, [row for row in wanted[table] if row not in found[table]][:3],
            [row for row in found[table] if row not in wanted[table]][:3])
    with contextlib.closing(follower.connect(database="app", autocommit=True)) as connection, \
            connection.cursor() as cursor:
        for table in wanted:
            cursor.execute(f"CHECK TABLE {table}")
            for row in cursor.fetchall():
                assert row[3] == "OK", (name, row)
    return sum(map(len, wanted.values()))


def run(source, followers, seconds, seed):
    """A load on a source, with trouble, and what its followers have in the end."""
    state = {"over": False, "failures": [], "kills": 0}
    threads = [threading.Thread(target=client, args=(source, seed * 100 + n, state))
               for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    ending = threading.Timer(seconds, lambda: state.update(over=True))
    ending.start()
    try:
        trouble(source, followers, random.Random(seed), state)
    finally:
        state["over"] = True
        for thread in threads:
            thread.join()
    assert not state["failures"], state["failures"]
    above = source
    for number, follower in enumerate(followers):
        name = f"{source.name} to Cohort" + " to Cohort" * number
        rows = compare(name, above, follower, state)
        print(f"sources: {name}: {rows} rows, after {state['kills']} kills", flush=True)
        above = follower


def piped(server, text):
    """The stock client reads a text."""
    subprocess.run(["chroot", PEERS, "mysql", "--no-defaults", "-h127.0.0.1", f"-P{server.port}",
                    "-uroot"], input=text, check=True)


def rows_of(server):
    """What is in the tables."""
    return tables(lambda sql: ask(server, sql))


def binlog(*files, more=()):
    """What mysqlbinlog makes of files of a peer or of Cohort."""
    inside = tempfile.mkdtemp(prefix="binlogs-", dir=PEERS / "tmp")
    for file in files:
        subprocess.run(["cp", file, inside], check=True)
    paths = (f"/{path.relative_to(PEERS)}" for path in sorted(pathlib.Path(inside).iterdir()))
    command = ["chroot", PEERS, "mysqlbinlog", "--no-defaults", *more, *paths]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["rm", "-rf", inside], check=True)
    return text


def files_of(source):
    """The files of a source's log, oldest first."""
    data = source.data
    return sorted(path for path in data.iterdir() if path.name.startswith("binlog.0"))


def check_texts(source):
    """mysqlbinlog's text and mysqldump's default one are taken, and a second time do nothing; what
    was dumped goes on as a replica."""
    text = binlog(*files_of(source))
    with Cohort("--server-id", "24") as server, Cohort("--server-id", "25") as copy:
        for _ in range(2):
            piped(server, text)
            assert rows_of(server) == rows_of(source), source.name
        executed = ask(source, "SELECT @@gtid_executed AS e")[0]["e"]
        subset = f"SELECT GTID_SUBSET('{executed}', @@gtid_executed) AS d"
        assert ask(server, subset)[0]["d"] == 1
        # Cohort's own log, as text, makes the same of an empty server, twice.
        own = binlog(*files_of(server))
        for _ in range(2):
            piped(copy, own)
            assert rows_of(copy) == rows_of(source)
        assert ask(copy, subset)[0]["d"] == 1
        # Rows that are there already, or gone, are no error if the text says so (rbr_exec_mode).
        ask(source, "FLUSH BINARY LOGS")
        ask(source, "INSERT INTO app.t VALUES (100001, 'new', 1), (100002, 'new', 2)")
        ask(source, "DELETE FROM app.t WHERE id = 100002")
        text = binlog(files_of(source)[-1], more=("--idempotent", "--skip-gtids"))
        assert b"RBR_EXEC_MODE" in text
        for _ in range(2):
            piped(copy, text)
            assert rows_of(copy) == rows_of(source)
    executed = ask(source, "SELECT @@gtid_executed AS e")[0]["e"]
    subset = f"SELECT GTID_SUBSET('{executed}', @@gtid_executed) AS d"
    dump = subprocess.run(
        ["chroot", PEERS, "mysqldump", "--no-defaults", "-h127.0.0.1", f"-P{source.port}",
         "-urepl", "-psecret", "--single-transaction", "--no-tablespaces", "--databases", "app"],
        check=True, capture_output=True).stdout
    with Cohort("--server-id", "26") as server:
        piped(server, dump)
        server.stop(signal.SIGKILL)
        server.start()
        assert rows_of(server) == rows_of(source)
        assert ask(server, subset)[0]["d"] == 1
        purged = ask(server, f"SELECT GTID_SUBSET('{executed}', @@gtid_purged) AS d")
        assert purged[0]["d"] == 1
        # Nobody else's business.
        with contextlib.closing(server.connect(autocommit=True)) as connection, \
                connection.cursor() as cursor:
            cursor.execute("SELECT @@gtid_executed")
            before = cursor.fetchone()
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute("CREATE TABLE app.hidden (id INT PRIMARY KEY)")
            cursor.execute("INSERT INTO app.hidden VALUES (1)")
            cursor.execute("SELECT @@gtid_executed")
            assert cursor.fetchone() == before
            cursor.execute("DROP TABLE app.hidden")
        follow(server, source.port, "SOURCE_USER='repl'", "SOURCE_PASSWORD='secret'",
               "SOURCE_AUTO_POSITION=1")
        ask(source, "INSERT INTO app.bare VALUES (1, 'behind the dump')")
        executed = ask(source, "SELECT @@gtid_executed AS e")[0]["e"]
        waited = ask(server, f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60) AS w")
        assert waited[0]["w"] == 0, check("after a dump", server)
        assert rows_of(server) == rows_of(source)
        # Whoever follows this one gets the source's transactions with their own times.
        text = binlog(*files_of(server))
        assert b"original_commit_timestamp" in text and b"original_server_version" in text
    print(f"sources: {source.name}: texts of mysqlbinlog and mysqldump", flush=True)


def check_null(source, follower):
    """NULL does not come into a column that has none here, whatever the image."""
    ask(source, "CREATE TABLE app.strict (id INT PRIMARY KEY, n INT, m INT, "
                "g INT AS (m + 1) STORED)")
    ask(source, "INSERT INTO app.strict (id, n, m) VALUES (1, 1, 1)")
    compare("before NULL", source, follower, None)
    ask(follower, "ALTER TABLE app.strict MODIFY n INT NOT NULL")
    for image, sql in (("MINIMAL", "UPDATE app.strict SET n = NULL WHERE id = 1"),
                       ("FULL", "UPDATE app.strict SET n = NULL, m = 2 WHERE id = 1")):
        with contextlib.closing(source.connect(autocommit=True)) as connection, \
                connection.cursor() as cursor:
            cursor.execute("UPDATE app.strict SET n = 1")
            cursor.execute(f"SET binlog_row_image = '{image}'")
            cursor.execute(sql)
        until = time.monotonic() + 60
        while True:
            status = ask(follower, "SHOW REPLICA STATUS")[0]
            if status["Last_SQL_Errno"]:
                break
            assert time.monotonic() < until, (image, status)
            time.sleep(0.05)
        assert status["Last_SQL_Errno"] == 1048, (image, status["Last_SQL_Error"])
        executed = ask(source, "SELECT @@gtid_executed AS e")[0]["e"].replace("\n", "")
        missing = ask(follower, f"SELECT GTID_SUBTRACT('{executed}', @@gtid_executed) AS m")[0]["m"]
        with contextlib.closing(follower.connect(autocommit=True)) as connection, \
                connection.cursor() as cursor:
            cursor.execute(f"SET gtid_next = '{missing}'")
            cursor.execute("COMMIT")
        ask(follower, "START REPLICA")
    print(f"sources: {source.name}: NULL is refused where there is none", flush=True)


def follow(server, port, *more):
    """Has a server follow another one."""
    options = ", ".join(("SOURCE_HOST='127.0.0.1'", f"SOURCE_PORT={port}", "SOURCE_CONNECT_RETRY=1",
                         *more))
    ask(server, f"CHANGE REPLICATION SOURCE TO {options}")
    ask(server, "START REPLICA")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = seed_of(2)
    print(f"sources: seed {seed}", flush=True)
    room = TARGET / "mysqltest"
    with tempfile.TemporaryDirectory(prefix="sources-") as directory:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        if (PEERS / "usr/sbin/mysqld").exists():
            source = Source(MySQL(room, PEERS), directory, free_port(), "--server-id=2",
                            "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog",
                            "--max-binlog-size=200000")
            try:
                prepare(source)
                with Cohort("--server-id", "21") as first, Cohort("--server-id", "22") as second:
                    follow(first, source.port, "SOURCE_USER='repl'", "SOURCE_PASSWORD='secret'",
                           "SOURCE_AUTO_POSITION=1", "SOURCE_SSL=1")
                    follow(second, first.port, "SOURCE_USER='root'", "SOURCE_AUTO_POSITION=1")
                    run(source, [first, second], seconds, seed)
                    check_texts(source)
                    check_null(source, first)
                    for server in (first, second):
                        assert "panicked" not in server.log.read_text()
            finally:
                source.end()
        source = Source(MariaDB(room, pathlib.Path("/")), directory, free_port(), "--server-id=3",
                        "--log-bin=binlog", "--binlog-format=ROW", "--max-binlog-size=200000",
                        "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
        try:
            prepare(source)
            with Cohort("--server-id", "23") as first:
                follow(first, source.port, "SOURCE_USER='repl'", "SOURCE_PASSWORD='secret'")
                run(source, [first], seconds, seed)
                assert "panicked" not in first.log.read_text()
        finally:
            source.end()


if __name__ == "__main__":
    main()
