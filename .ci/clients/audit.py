#!/usr/bin/env python3
"""The audit log: what it records, who may change it, and what a strict one refuses.

  .ci/clients/audit.py
"""

import contextlib
import json
import signal
import stat
import threading

import pymysql

from cohort import Cohort
from logs import rows, run


def connect(server, user="root", **more):
    return pymysql.connect(host="127.0.0.1", port=server.port, user=user, autocommit=True, **more)


def lines(server, name="audit.log"):
    """All that was recorded: each line is JSON. The last one may be half written."""
    path = server.data / name
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def settle(cursor):
    cursor.execute("FLUSH LOGS")


def events(server):
    """Each kind of event, and no others."""
    with connect(server) as root, root.cursor() as cursor:
        assert rows(cursor, "SELECT @@cohort_audit_log_events") == (
            ("CONNECTIONS,REFUSALS,DEFINITIONS,ACCOUNTS",),)
        cursor.execute("SET GLOBAL cohort_audit_log = ON")
        cursor.execute("CREATE DATABASE audited")
        cursor.execute("CREATE TABLE audited.t (a INT)")
        cursor.execute("INSERT INTO audited.t VALUES (1)")
        cursor.execute("SELECT * FROM audited.t")
        cursor.execute("CREATE USER joe@localhost IDENTIFIED BY 'Secret-9-word'")
        cursor.execute("GRANT INSERT ON audited.* TO joe@localhost")
        with contextlib.suppress(pymysql.MySQLError):
            connect(server, "joe", password="wrong")
        with contextlib.suppress(pymysql.MySQLError):
            connect(server, "no\nbody\" \\", password="wrong")
        with connect(server, "joe", password="Secret-9-word", database="audited") as joe, joe.cursor() as own:
            assert run(own, "SELECT * FROM t")[0] == 1142
            assert run(own, "DROP TABLE t")[0] == 1142
            assert run(own, "SET GLOBAL cohort_audit_log = OFF")[0] == 1227
            own.execute("INSERT INTO t VALUES (2)")
        # SUPER alone is not enough, nor is what changes other variables.
        cursor.execute("CREATE USER admin@localhost")
        cursor.execute("GRANT SUPER, SYSTEM_VARIABLES_ADMIN ON *.* TO admin@localhost")
        with connect(server, "admin") as admin, admin.cursor() as own:
            for name, value in (("", "OFF"), ("_events", "''"), ("_strict", "ON"), ("_file", "'x.log'")):
                assert run(own, f"SET GLOBAL cohort_audit_log{name} = {value}")[0] == 1227, name
        cursor.execute("SET GLOBAL cohort_audit_log_events = 'writes, READS'")
        assert rows(cursor, "SELECT @@cohort_audit_log_events") == (("WRITES,READS",),)
        cursor.execute("INSERT INTO audited.t VALUES (3)")
        cursor.execute("PREPARE s FROM 'DELETE FROM audited.t WHERE a = ?'")
        cursor.execute("SET @a = 3")
        cursor.execute("EXECUTE s USING @a")
        cursor.execute("DROP TABLE audited.t")
        assert run(cursor, "SET GLOBAL cohort_audit_log_events = 'EVERYTHING'")[0] == 1231
        assert run(cursor, "SET GLOBAL cohort_audit_log_file = 'my.cnf'")[0] == 1231
        cursor.execute("SET GLOBAL cohort_audit_log_events = DEFAULT")
        cursor.execute("SET GLOBAL cohort_audit_log = OFF")
        cursor.execute("CREATE DATABASE unseen")
        settle(cursor)
    told = [(line["event"], line["command"], line["user"], line.get("statement"), line.get("error"))
            for line in lines(server)]
    for wanted in (
            ("definitions", "create_db", "root", "CREATE DATABASE audited", 0),
            ("definitions", "create_table", "root", "CREATE TABLE audited.t (a INT)", 0),
            ("accounts", "create_user", "root", "CREATE USER joe@localhost IDENTIFIED BY <secret>", 0),
            ("accounts", "grant", "root", "GRANT INSERT ON audited.* TO joe@localhost", 0),
            ("connections", "connect", "joe", None, 1045),
            ("connections", "connect", "no\nbody\" \\", None, 1045),
            ("connections", "connect", "joe", None, 0),
            ("connections", "quit", "joe", None, 0),
            ("refusals", "select", "joe", "SELECT * FROM t", 1142),
            ("definitions", "drop_table", "joe", "DROP TABLE t", 1142),
            ("refusals", "set_option", "joe", "SET GLOBAL cohort_audit_log = OFF", 1227),
            ("accounts", "set_option", "root", "SET GLOBAL cohort_audit_log_events = 'writes, READS'", None),
            ("accounts", "set_option", "root", "SET GLOBAL cohort_audit_log = OFF", None),
            ("writes", "insert", "root", "INSERT INTO audited.t VALUES (3)", 0)):
        assert wanted in told, (wanted, told)
    text = (server.data / "audit.log").read_text()
    for secret in ("Secret-9-word", "VALUES (1)", "VALUES (2)", "unseen", "FROM audited.t\"", "DROP TABLE audited.t"):
        assert secret not in text, secret
    assert any(line["command"] == "delete" or "DELETE" in line.get("statement", "") for line in lines(server)), told
    assert stat.S_IMODE((server.data / "audit.log").stat().st_mode) & 0o007 == 0
    print(f"audit: {len(told)} events, each kind of them", flush=True)


def attacked(server):
    """What somebody tries who may change variables, but not the audit log."""
    with connect(server) as root, root.cursor() as cursor:
        cursor.execute("CREATE DATABASE attacked")
        cursor.execute("CREATE TABLE attacked.secret (a INT)")
        cursor.execute("CREATE USER sva@localhost")
        cursor.execute("CREATE USER nobody@localhost IDENTIFIED BY ''")
        cursor.execute("GRANT SYSTEM_VARIABLES_ADMIN, PERSIST_RO_VARIABLES_ADMIN ON *.* TO sva@localhost")
        cursor.execute("SET PERSIST cohort_audit_log_file = 'attacked.log'")
        cursor.execute("SET GLOBAL cohort_audit_log_events = DEFAULT")
        cursor.execute("SET GLOBAL cohort_audit_log = ON")
        with connect(server, "sva") as sva, sva.cursor() as own:
            for name in ("slow_query_log_file", "general_log_file"):
                for path in ("attacked.log", "./attacked.log", f"{server.data}/attacked.log", "../data/attacked.log"):
                    assert run(own, f"SET GLOBAL {name} = '{path}'")[0] == 1231, (name, path)
            for sql in ("RESET PERSIST", "RESET PERSIST cohort_audit_log_file",
                        "RESET PERSIST IF EXISTS COHORT_AUDIT_LOG"):
                assert run(own, sql)[0] == 1227, sql
            # It is not rotated away by a variable of the other logs.
            own.execute("SET GLOBAL cohort_log_file_size_max = 4096")
            for _ in range(40):
                assert run(own, "DROP TABLE attacked.secret")[0] == 1142
            own.execute("SET GLOBAL cohort_log_file_size_max = 0")
        (server.data / "link.log").symlink_to("mysqld-auto.cnf")
        assert run(cursor, "SET GLOBAL general_log_file = 'link.log'")[0] == 1231
        for sql in ("CREATE VIEW attacked.v AS SELECT 1", "DROP VIEW attacked.v", "CREATE ROLE ghost",
                    "GRANT ghost TO nobody@localhost", "SET DEFAULT ROLE ghost TO nobody@localhost",
                    "REVOKE ghost FROM nobody@localhost", "REVOKE ALL, GRANT OPTION FROM nobody@localhost",
                    "DROP ROLE ghost", "RESET PERSIST cohort_audit_log_file",
                    f"CREATE TABLE attacked.big (a INT) /* {'x' * 9_000_000} */"):
            cursor.execute(sql)
        with connect(server, "nobody") as nobody, nobody.cursor() as own:
            assert run(own, f"SELECT * FROM attacked.secret /* {'x' * 9_000_000} */")[0] == 1142
            try:
                nobody.select_db("attacked")
                raise AssertionError("nobody is in")
            except pymysql.MySQLError as error:
                assert error.args[0] == 1044, error
        settle(cursor)
        cursor.execute("SET GLOBAL cohort_audit_log = OFF")
        cursor.execute("SET GLOBAL cohort_audit_log_file = DEFAULT")
    told = [(line["event"], line["command"], line["user"], line.get("statement", "")[:60], line.get("error"))
            for line in lines(server, "attacked.log")]
    assert sum(line[3] == "DROP TABLE attacked.secret" for line in told) == 40, told
    for wanted in (("definitions", "create_view", 0), ("definitions", "drop_view", 0), ("accounts", "create_role", 0),
                   ("accounts", "grant_roles", 0), ("accounts", "alter_user_default_role", 0),
                   ("accounts", "revoke_roles", 0), ("accounts", "revoke_all", 0), ("accounts", "drop_role", 0),
                   ("definitions", "create_table", 0), ("refusals", "select", 1142), ("refusals", "change_db", 1044)):
        assert wanted in [(line[0], line[1], line[4]) for line in told], (wanted, told)
    assert any(line[3].startswith("RESET PERSIST") for line in told), told
    assert max(map(len, (server.data / "attacked.log").read_text().splitlines())) < 100_000
    print(f"audit: {len(told)} events of an attack, none of which is missing", flush=True)


def strict(server):
    """What cannot be recorded is not done."""
    with connect(server) as root, root.cursor() as cursor, connect(server) as other, other.cursor() as second:
        cursor.execute("CREATE DATABASE strict")
        cursor.execute("CREATE TABLE strict.t (a INT)")
        cursor.execute("SET GLOBAL cohort_audit_log_file = 'strict.log'")
        cursor.execute("SET GLOBAL cohort_audit_log_events = 'WRITES,DEFINITIONS,CONNECTIONS'")
        cursor.execute("SET GLOBAL cohort_audit_log_strict = ON")
        cursor.execute("SET GLOBAL cohort_audit_log = ON")
        second.execute("INSERT INTO strict.t VALUES (1)")
        told = lines(server, "strict.log")
        assert [line.get("begins") for line in told if line["event"] == "writes"] == [True, None], told
        # A directory in the place of the file.
        (server.data / "gone.log").mkdir()
        cursor.execute("SET GLOBAL cohort_audit_log_file = 'gone.log'")
        for sql in ("INSERT INTO strict.t VALUES (2)", "DELETE FROM strict.t", "DROP TABLE strict.t",
                    "TRUNCATE TABLE strict.t"):
            assert run(second, sql)[0] == 3164, sql
        assert rows(second, "SELECT * FROM strict.t") == ((1,),)
        try:
            connect(server).close()
            raise AssertionError("a client came in unrecorded")
        except pymysql.MySQLError as error:
            assert error.args[0] == 3164, error
        for sql in ("CREATE VIEW strict.v AS SELECT 1", "CREATE DATABASE strict2"):
            assert run(second, sql)[0] == 3164, sql
        # One that was moved away is made again.
        cursor.execute("SET GLOBAL cohort_audit_log_file = 'strict.log'")
        (server.data / "strict.log").rename(server.data / "moved.log")
        second.execute("INSERT INTO strict.t VALUES (4)")
        assert "VALUES (4)" in (server.data / "strict.log").read_text()
        second.execute("DELETE FROM strict.t WHERE a = 4")
        cursor.execute("SET GLOBAL cohort_audit_log_strict = OFF")
        second.execute("INSERT INTO strict.t VALUES (3)")
        cursor.execute("SET GLOBAL cohort_audit_log = OFF")
        cursor.execute("SET GLOBAL cohort_audit_log_file = DEFAULT")
        assert rows(second, "SELECT * FROM strict.t ORDER BY a") == ((1,), (3,))
    print("audit: a strict log refuses what it cannot record", flush=True)


def killed(server):
    """What a strict log was told is there after kill -9, before what it tells of."""
    with connect(server) as root, root.cursor() as cursor:
        cursor.execute("SET GLOBAL cohort_audit_log_file = 'killed.log'")
        cursor.execute("SET GLOBAL cohort_audit_log_events = 'WRITES'")
        cursor.execute("SET GLOBAL cohort_audit_log_strict = ON")
        cursor.execute("SET GLOBAL cohort_audit_log = ON")
        cursor.execute("CREATE TABLE strict.k (a INT PRIMARY KEY)")

    def write(first):
        with contextlib.suppress(pymysql.MySQLError, OSError), connect(server) as session, session.cursor() as cursor:
            for number in range(first, first + 100_000):
                cursor.execute(f"INSERT INTO strict.k VALUES ({number})")
    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 1_000_000)]
    for thread in threads:
        thread.start()
    while len(lines(server, "killed.log")) < 200:
        pass
    server.stop(signal.SIGKILL)
    for thread in threads:
        thread.join()
    server.start()
    with connect(server) as root, root.cursor() as cursor:
        kept = {row[0] for row in rows(cursor, "SELECT a FROM strict.k")}
    text = (server.data / "killed.log").read_text()
    recorded = {int(line.split("VALUES (")[1].split(")")[0]) for line in text.split("\n")[:-1] if "VALUES (" in line}
    assert kept and kept <= recorded, kept - recorded
    print(f"audit: {len(kept)} rows that survived kill -9 are all recorded", flush=True)


def main():
    with Cohort() as server:
        events(server)
        attacked(server)
        strict(server)
        killed(server)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
