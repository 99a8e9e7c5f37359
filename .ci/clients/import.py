#!/usr/bin/env python3
"""`cohort import` from a real MySQL 9.7 and a real MariaDB 10.11 that change all the time: what is
there follows and is the same, a row that is changed at the target is found by its key, what cannot come
over is listed, and no kill leaves something half that looks whole.

  .ci/clients/import.py [SEED]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pymysql

import replicas
import sources
from cohort import BINARY, TARGET, Cohort, free_port
from replicas import FORGIVEN, PEERS
from sources import MariaDB, MySQL, Source, ask

CLIENTS = 2
# Rows of the table that takes long enough to copy for somebody to come in between.
LARGE = 1 << 16
MARK = "cohort_import_unfinished"


class Calm(random.Random):
    """Draws none of the definitions and two-phase commits of `replicas.change`."""

    def random(self):
        return 0.05 + 0.95 * super().random()


def load(source, seed, state):
    """Random changes of rows until it is over."""
    rng = Calm(seed)
    try:
        with contextlib.closing(source.connect(
                database="app",
                init_command="SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")) as connection, \
                connection.cursor() as cursor:
            while not state["over"]:
                try:
                    cursor.execute("BEGIN")
                    for _ in range(rng.randrange(1, 6)):
                        replicas.change(rng, cursor)
                    cursor.execute("UPDATE large SET n = n + 1 WHERE id = %s", (rng.randrange(LARGE),))
                    cursor.execute("INSERT INTO made_of (n) VALUES (%s)", (rng.randrange(99),))
                    cursor.execute(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
                except pymysql.MySQLError as error:
                    if error.args[0] not in FORGIVEN:
                        raise
                    cursor.execute("ROLLBACK")
                time.sleep(0.002)
    except Exception as error:  # pylint: disable=broad-except
        state["failures"].append(error)


@contextlib.contextmanager
def loaded(source, seed):
    """A load while something is done."""
    state = {"over": False, "failures": []}
    threads = [threading.Thread(target=load, args=(source, seed * 100 + n, state))
               for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        state["over"] = True
        for thread in threads:
            thread.join()
    assert not state["failures"], state["failures"]


def prepare(source):
    """Tables of all kinds, and one that takes long."""
    sources.prepare(source)
    with contextlib.closing(source.connect(database="app", autocommit=True)) as connection, \
            connection.cursor() as cursor:
        for sql in (
                "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
                "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
                "CREATE TABLE large (id INT PRIMARY KEY, n INT, v VARCHAR(200), w VARBINARY(99), "
                "KEY (n), UNIQUE KEY (n, id), KEY (v(20)))",
                "INSERT INTO large VALUES (0, 0, REPEAT('x', 150), X'00FF27')",
                *(f"INSERT INTO large SELECT id + {1 << n}, id * 7 % 1000, CONCAT(v, id), "
                  f"UNHEX(SHA2(id, 256)) FROM large" for n in range(LARGE.bit_length() - 1)),
                # What a text does not tell, a copy by texts gets wrong.
                "CREATE TABLE odd (a VARCHAR(20), b BINARY(3), e ENUM('x', 'y'), s SET('p', 'q', 'r'), "
                "f FLOAT, g FLOAT(7,3), d DOUBLE, b10 BIT(10), y YEAR, da DATE, dt DATETIME(6), "
                "z INT(5) ZEROFILL, l VARCHAR(20) CHARACTER SET latin1, u BIGINT UNSIGNED, "
                "t TEXT, PRIMARY KEY (a, b))",
                r"INSERT INTO odd VALUES ('it''s\\', X'000027', 0, 5, 0.1, 1.235, 1e-320, 513, 0, "
                r"'0000-00-00', '2024-02-31 01:02:03.000004', 42, 'é', 18446744073709551615, "
                "'a\\0b\\n\\t\\'c\\\\'), ('B', X'00', NULL, '', 3.4028234e38, NULL, -1e308, 0, 2155, "
                "NULL, NULL, NULL, '€', NULL, NULL), ('Ä😀', X'FF', 'y', 'p,q,r', 1.17549e-38, 0, 0.1, 1, "
                "1901, '9999-12-31', NULL, 0, '', 0, REPEAT('ü', 30000)), "
                "('tiny', X'01', 'x', 'q', 0.00001, 0, 0.00001, 1, 1970, NULL, NULL, 0, '', 0, '')",
                "CREATE TABLE few (a INT, b VARCHAR(10))",
                "INSERT INTO few VALUES (1, 'a'), (1, 'a'), (NULL, NULL)",
                "CREATE VIEW z_first AS SELECT id, n FROM large WHERE n > 3",
                "CREATE VIEW a_second AS SELECT id FROM z_first",
                "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'",
                "GRANT ALL ON *.* TO app@'127.0.0.1'"):
            cursor.execute(sql)
        if source.name == "mysql":
            cursor.execute("CREATE TABLE documents (id BIGINT UNSIGNED PRIMARY KEY, j JSON)")
            cursor.execute("""INSERT INTO documents VALUES (1, '{"b": [1.50, -0.0, 1e100], "a": "it''s \\\\"x"}'), """
                           "(18446744073709551615, JSON_OBJECT('d', 1.5, 'm', NOW())), (3, NULL)")


def importing(source, target, *flags, databases=""):
    """The command. MySQL and Cohort have TLS without being told to."""
    options = "?ssl-mode=REQUIRED" if source.name != "mariadb" else ""
    return [BINARY, "import", f"mysql://repl:secret@127.0.0.1:{source.port}/{databases}{options}",
            "--to", f"mysql://root@127.0.0.1:{target.port}", *flags]


def run(command, wanted=0):
    """What it says, to standard output and error."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == wanted, (command, done.returncode, said)
    return said


def changed_rows(source, target):
    """A comparison under load names the rows that somebody has changed at the target."""
    differences = (
        ("UPDATE app.large SET v = 'changed' WHERE id = 55555",
         "`app`.`large`: (`id`) = (55555) differs"),
        ("DELETE FROM app.odd WHERE a = 'B'",
         "`app`.`odd`: (`a`, `b`) = ('B', X'000000') is missing at the target"),
        ("UPDATE app.odd SET f = f * 1.0001 WHERE a = 'tiny'",
         "`app`.`odd`: (`a`, `b`) = ('tiny', X'010000') differs"),
        ("INSERT INTO app.odd (a, b) VALUES ('z', X'27')",
         "`app`.`odd`: (`a`, `b`) = ('z', X'270000') is at the target only"),
        ("INSERT INTO app.few VALUES (1, 'a')", "`app`.`few`: a row"),
        ("CREATE TABLE app.more (id INT)", "`app`.`more` is at the target only"))
    for sql, _ in differences:
        ask(target, sql)
    said = run(importing(source, target, "--compare"), 1)
    for _, words in differences:
        assert words in said, (words, said)
    assert f"{len(differences)} differences" in said, said


def refused(source):
    """What cannot come over is listed; it is left out on demand."""
    for sql in ("CREATE TRIGGER app.tr BEFORE INSERT ON app.few FOR EACH ROW SET NEW.a = 1",
                "CREATE PROCEDURE app.pr() SELECT 1",
                "CREATE TABLE app.places (id INT PRIMARY KEY, g GEOMETRY)",
                "CREATE TABLE app.old (id INT PRIMARY KEY) ENGINE=MyISAM",
                "CREATE VIEW app.there AS SELECT id FROM app.places",
                "CREATE USER some@localhost IDENTIFIED BY 'x'",
                "GRANT SELECT ON app.* TO some@localhost"):
        ask(source, sql)
    with Cohort("--server-id", "34") as target:
        said = run(importing(source, target, databases="app"), 1)
        for words in ("trigger `app`.`tr`: error 1235", "procedure `app`.`pr`: error 1235",
                      "table `app`.`places`", "table `app`.`old`: MyISAM has no consistent snapshot",
                      "view `app`.`there`: error 1146",
                      "GRANT SELECT ON `app`.* TO `some`@`localhost`: error 1235",
                      "cannot come over, and nothing was copied"):
            assert words in said, (words, said)
        names = [row["Database"] for row in ask(target, "SHOW DATABASES")]
        assert not {"app", MARK, "cohort_import_trial"} & set(names), names
        said = run(importing(source, target, "--follow", "--skip-unsupported"), 1)
        assert "a replica needs all tables" in said, said
        run(importing(source, target, "--skip-unsupported", databases="app"))
        found = {next(iter(row.values())) for row in ask(target, "SHOW TABLES IN app")}
        assert "large" in found and not {"places", "old", "there"} & found, found
        assert "has a database app already" in run(importing(source, target, databases="app"), 1)
        ask(source, "DROP USER some@localhost")
        for what in ("TRIGGER app.tr", "PROCEDURE app.pr", "VIEW app.there", "TABLE app.places",
                     "TABLE app.old"):
            ask(source, f"DROP {what}")


def begun(target, process):
    """Waits until the copy is under way."""
    until = time.monotonic() + 60
    while not ask(target, "SELECT 1 FROM information_schema.tables WHERE table_schema = 'app' "
                          "AND table_name = 'large'"):
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.002)


def interrupted(source):
    """Somebody is killed while rows are copied."""
    with Cohort("--server-id", "35") as target:
        for who in ("tool", "target", "Ctrl-C"):
            ask(target, "DROP DATABASE IF EXISTS app")
            process = subprocess.Popen(
                importing(source, target, "--follow", "--replace", "--threads", "1"), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            begun(target, process)
            if who == "tool":
                process.kill()
            elif who == "target":
                target.stop(signal.SIGKILL)
            else:
                process.send_signal(signal.SIGINT)
            said = "".join(process.communicate(timeout=60))
            assert process.returncode != 0, (who, "was quick", said)
            if who == "target":
                assert f"the database {MARK} says so" in said, said
                target.start()
            names = {row["Database"] for row in ask(target, "SHOW DATABASES")}
            if who == "Ctrl-C":
                assert "interrupted" in said and "is dropped again" in said, said
                assert not {"app", MARK} & names, names
                continue
            assert MARK in names, names
            for flags in ((), ("--compare",), ("--follow",)):
                again = run(importing(source, target, *flags), 1)
                assert "is not finished; --replace begins anew" in again, again
            ask(source, "CREATE DATABASE IF NOT EXISTS aside")
            again = run(importing(source, target, "--replace", databases="aside"), 1)
            assert "is not finished; name app, too" in again, again
            ask(source, "DROP DATABASE aside")
        run(importing(source, target, "--follow", "--compare"))
        # It has transactions of the source, and may take them all again.
        run(importing(source, target, "--follow", "--compare", "--replace"))


def check(source, seed):
    """All of it, from one source."""
    prepare(source)
    interrupted(source)
    refused(source)
    with Cohort("--server-id", "33") as target:
        with loaded(source, seed):
            said = run(importing(source, target, "--follow", "--compare"))
            assert "has caught up" in said and "no difference" in said, said
            target.stop(signal.SIGKILL)
            target.start()
            said = run(importing(source, target, "--compare"))
            assert "no difference" in said, said
        rows = sources.compare("import", source, target, {})
        if source.name == "mysql":
            # A DECIMAL within JSON, whose text is another one when it is a DOUBLE.
            ask(source, "INSERT INTO app.documents VALUES (5, JSON_OBJECT('d', 1.50))")
        said = run(importing(source, target, "--compare"))
        assert "no difference" in said and "too often" not in said, said
        with Cohort("--server-id", "36") as third:
            said = run(importing(target, third, "--follow", "--compare"))
            assert "has caught up" in said and "no difference" in said, said
        # Of one database: what else is changed at the source does not come.
        ask(source, "CREATE DATABASE aside_b")
        ask(source, "CREATE TABLE aside_b.t (id INT PRIMARY KEY)")
        ask(source, "CREATE DATABASE asideXb")
        with Cohort("--server-id", "39") as part:
            run(importing(source, part, "--follow", "--compare", databases="aside_b"))
            ask(source, "CREATE TABLE asideXb.t (id INT PRIMARY KEY)")
            ask(source, "INSERT INTO asideXb.t VALUES (1)")
            ask(source, "INSERT INTO aside_b.t VALUES (7)")
            run(importing(source, part, "--follow", "--compare", "--replace", databases="aside_b"))
            ask(source, "INSERT INTO aside_b.t VALUES (8)")
            run(importing(source, part, "--compare", databases="aside_b"))
            found = [row["id"] for row in ask(part, "SELECT id FROM aside_b.t")]
            assert found == [7, 8], found
            names = {row["Database"] for row in ask(part, "SHOW DATABASES")}
            assert not {"asideXb", "app"} & names, names
        ask(source, "DROP DATABASE aside_b")
        ask(source, "DROP DATABASE asideXb")
        assert ask(target, "SELECT COUNT(*) c FROM app.a_second")[0]["c"] > LARGE // 2
        with pymysql.connect(host="127.0.0.1", port=target.port, user="app", password="secret"):
            pass
        for table in ("large", "odd", "made_of", "child"):
            shown = [ask(server, f"SHOW CREATE TABLE app.{table}")[0]["Create Table"]
                     for server in (source, target)]
            # MySQL has counted what was rolled back, too, and says this of what it is told so.
            shown = [re.sub(r" AUTO_INCREMENT=\d+| CHARACTER SET utf8mb4", "", text) for text in shown]
            assert shown[0] == shown[1] or source.name == "mariadb", shown
        with loaded(source, seed + 1):
            changed_rows(source, target)
    print(f"import: {source.name}: {rows} rows", flush=True)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    print(f"import: seed {seed}", flush=True)
    room = TARGET / "mysqltest"
    with tempfile.TemporaryDirectory(prefix="import-") as directory:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        peers = [(MariaDB(room, pathlib.Path("/")), ("--log-bin=binlog", "--binlog-format=ROW"))]
        if (PEERS / "usr/sbin/mysqld").exists():
            peers.append((MySQL(room, PEERS), ("--gtid-mode=ON", "--enforce-gtid-consistency=ON",
                                               "--log-bin=binlog")))
        for number, (peer, flags) in enumerate(peers):
            source = Source(peer, directory, free_port(), f"--server-id={number + 2}", *flags)
            try:
                check(source, seed)
            finally:
                source.end()


if __name__ == "__main__":
    main()
