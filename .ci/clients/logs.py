#!/usr/bin/env python3
"""The slow log and the general log, as files and as tables, and what performance_schema has of statements.

  .ci/clients/logs.py

The same statements are given to MySQL, where it is there, and to Cohort: both logs must have them, with the
same rows sent and examined, and so must the summaries by digest. mysqldumpslow and pt-query-digest read
Cohort's slow log.
"""

import contextlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import time

import pymysql

from cohort import Cohort, free_port
from replicas import MySQL
from sources import Source

PEERS = pathlib.Path(os.environ.get("PEERS_ROOT", "/opt/peers-sid"))

ENTRY = re.compile(
    r"# Time: (?P<time>\S+)\n"
    r"# User@Host: (?P<who>.*?)  Id: +(?P<id>\d+)\n"
    r"# Query_time: (?P<took>[\d.]+)  Lock_time: (?P<locks>[\d.]+) Rows_sent: (?P<sent>\d+)  "
    r"Rows_examined: (?P<examined>\d+)(?P<extra>.*)\n"
    r"(?:use (?P<database>\w+);\n)?"
    r"SET timestamp=(?P<timestamp>\d+);\n"
    r"(?P<text>(?:.|\n)*?);\n(?=# Time|\Z|\S+, Version)")

# What is logged, and what it sends and looks at, is compared.
STATEMENTS = (
    "SELECT * FROM t",
    "SELECT * FROM t WHERE b = 1",
    "SELECT b FROM t WHERE a = 2",
    "SELECT a FROM t WHERE a > 1",
    "SELECT COUNT(*) FROM t",
    "SELECT * FROM t ORDER BY b LIMIT 1",
    "SELECT x.a FROM t x JOIN t y ON x.a = y.a",
    "SELECT x.a FROM t x JOIN t y ON x.b = y.b",
    "SELECT b, COUNT(*) FROM t GROUP BY b",
    "SELECT /* a comment */ b\nFROM t WHERE a IN (1, 2)",
    "INSERT INTO t VALUES (10, 10)",
    "UPDATE t SET b = b + 1 WHERE a = 10",
    "UPDATE t SET b = b + 1",
    "DELETE FROM t WHERE a = 10",
    "BEGIN",
    "COMMIT",
    "SET @x = 1",
    "SELECT * FROM nonesuch",
    "SELECT 'it''s; \\n', \"q\" FROM t",
)
# Plans differ, and so what they count: MySQL joins by hashing what it has read once, counts a row that a sort
# hands on again, knows how many rows a table has, and reads the whole of a small index rather than a range.
EXAMINED_DIFFER = ("SELECT x.a FROM t x JOIN t y ON x.b = y.b", "SELECT * FROM t ORDER BY b LIMIT 1",
                   "SELECT COUNT(*) FROM t", "SELECT a FROM t WHERE a > 1",
                   "SELECT x.a FROM t x JOIN t y ON x.a = y.a", "SELECT 'it''s; \\n', \"q\" FROM t")


class Server:
    """A server, and where its data are."""

    def __init__(self, name, port, user, data):
        self.name, self.port, self.user, self.data = name, port, user, data

    def connect(self, **more):
        return pymysql.connect(host="127.0.0.1", port=self.port, user=self.user, autocommit=True, **more)

    def entries(self, file):
        """The entries of a slow log."""
        text = (self.data / file).read_text()
        return [match.groupdict() for match in ENTRY.finditer(text)]


def run(cursor, sql):
    try:
        cursor.execute(sql)
        return cursor.fetchall()
    except pymysql.MySQLError as error:
        return error.args


def rows(cursor, sql):
    cursor.execute(sql)
    return cursor.fetchall()


def make(server):
    with server.connect() as root, root.cursor() as cursor:
        for sql in ("DROP DATABASE IF EXISTS logged", "CREATE DATABASE logged",
                    "CREATE TABLE logged.t (a INT PRIMARY KEY, b INT)",
                    "INSERT INTO logged.t VALUES (1, 1), (2, 2), (3, 3)"):
            cursor.execute(sql)


def statements(server):
    """What both logs and the summary have of the statements."""
    make(server)
    with server.connect(database="logged") as session, session.cursor() as cursor:
        for sql in ("SET GLOBAL log_output = 'FILE,TABLE'", "SET GLOBAL slow_query_log_file = 'compared.log'",
                    "SET GLOBAL general_log_file = 'general_compared.log'",
                    "SET GLOBAL slow_query_log = ON", "SET GLOBAL general_log = ON",
                    "TRUNCATE TABLE mysql.slow_log", "TRUNCATE TABLE mysql.general_log",
                    "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest",
                    "SET SESSION long_query_time = 0"):
            cursor.execute(sql)
        for sql in STATEMENTS:
            run(cursor, sql)
        cursor.execute("SET SESSION long_query_time = 10")
        cursor.execute("SET GLOBAL slow_query_log = OFF")
        cursor.execute("SET GLOBAL general_log = OFF")
        cursor.execute("FLUSH SLOW LOGS, GENERAL LOGS")
        slow = [(entry["text"], entry["sent"], entry["examined"])
                for entry in server.entries("compared.log") if entry["text"] in STATEMENTS]
        table = [(row[0].decode(), str(row[1]), str(row[2])) for row in rows(
            cursor, "SELECT sql_text, rows_sent, rows_examined FROM mysql.slow_log") if row[0].decode() in STATEMENTS]
        assert slow == table, (server.name, slow, table)
        text = (server.data / "general_compared.log").read_text()
        general = [sql for sql in STATEMENTS if f" Query\t{sql}\n" in text]
        table = {row[0].decode() for row in rows(
            cursor, "SELECT argument FROM mysql.general_log WHERE command_type = 'Query'")}
        assert set(general) <= table, (server.name, set(general) - table)
        summary = rows(cursor, "SELECT DIGEST_TEXT, COUNT_STAR, SUM_ERRORS, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, "
                               "SUM_ROWS_EXAMINED, SUM_SELECT_SCAN, SUM_SELECT_FULL_JOIN, SUM_SELECT_RANGE, "
                               "SUM_SORT_ROWS, SUM_SORT_SCAN, SUM_NO_INDEX_USED, QUERY_SAMPLE_TEXT "
                               "FROM performance_schema.events_statements_summary_by_digest "
                               "WHERE SCHEMA_NAME = 'logged' AND COUNT_STAR > 0 ORDER BY 1")
        summary = [row for row in summary if row[-1] in STATEMENTS]
        quantiles = rows(cursor, "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest "
                                 "WHERE COUNT_STAR > 0 AND NOT (MIN_TIMER_WAIT <= QUANTILE_95 AND QUANTILE_95 <= "
                                 "QUANTILE_99 AND QUANTILE_99 <= QUANTILE_999)")
        assert quantiles == ((0,),), quantiles
    return slow, general, summary


def compared(cohort, mysql):
    """Both servers log, and count, the same."""
    known = [statements(server) for server in (mysql, cohort)]
    differ = []
    for what, one, other in zip(("slow log", "general log", "summary"), *known):
        if what == "slow log":
            one, other = ([(text, sent, "" if text in EXAMINED_DIFFER else examined)
                           for text, sent, examined in entries] for entries in (one, other))
        if what == "summary":
            # The order of the texts depends on the collation of the column.
            one, other = (sorted(row[:5] + (row[5:] if row[-1] not in EXAMINED_DIFFER else ()) for row in entries)
                          for entries in (one, other))
        differ += [(what, a, b) for a, b in zip(one, other) if a != b]
        if len(one) != len(other):
            differ.append((what, set(map(str, one)) ^ set(map(str, other))))
    for difference in differ:
        print("differs:", *difference, sep="\n  ", flush=True)
    assert not differ
    print(f"logs: {len(STATEMENTS)} statements are logged and counted as by MySQL", flush=True)


def slow_statements(server):
    """What makes a statement slow, and what an entry says."""
    with server.connect(database="logged") as session, session.cursor() as cursor, \
            server.connect(database="logged") as other, other.cursor() as blocker:
        cursor.execute("SET GLOBAL slow_query_log_file = 'slow2.log'")
        cursor.execute("SET GLOBAL log_output = DEFAULT")
        cursor.execute("SET GLOBAL slow_query_log = ON")
        cursor.execute("SET GLOBAL log_slow_extra = ON")
        cursor.execute("SET SESSION long_query_time = 0.2")
        before = int(rows(cursor, "SHOW STATUS LIKE 'Slow_queries'")[0][1])
        run(cursor, "SELECT 1")
        run(cursor, "SELECT SLEEP(0.3)")
        # A wait for a lock is a part of it, and told.
        blocker.execute("BEGIN")
        blocker.execute("UPDATE t SET b = 7 WHERE a = 1")
        waiter = threading.Timer(0.4, other.rollback)
        waiter.start()
        run(cursor, "UPDATE t SET b = 8 WHERE a = 1")
        waiter.join()
        # So is an error, and KILL.
        timer = threading.Timer(0.3, lambda: run(blocker, f"KILL QUERY {session.thread_id()}"))
        timer.start()
        run(cursor, "SELECT SLEEP(5)")
        timer.join()
        cursor.execute("SET SESSION min_examined_row_limit = 1000000")
        run(cursor, "SELECT SLEEP(0.25)")
        cursor.execute("SET SESSION min_examined_row_limit = 0")
        # Values stand in the place of parameters.
        cursor.execute("PREPARE s FROM 'SELECT SLEEP(?), ?'")
        cursor.execute("SET @a = 0.21, @b = 'it''s'")
        cursor.execute("EXECUTE s USING @a, @b")
        cursor.execute("SET SESSION long_query_time = 0")
        cursor.execute("ALTER TABLE t ADD c INT")
        cursor.execute("SET GLOBAL log_slow_admin_statements = ON")
        cursor.execute("ALTER TABLE t DROP c")
        cursor.execute("SET GLOBAL log_slow_admin_statements = OFF")
        cursor.execute("SET SESSION long_query_time = 10")
        cursor.execute("SET GLOBAL log_queries_not_using_indexes = ON")
        cursor.execute("SET GLOBAL log_throttle_queries_not_using_indexes = 2")
        for number in range(4):
            run(cursor, f"SELECT {number} FROM t WHERE b = 1")
            run(cursor, f"SELECT {number} FROM t WHERE a = 1")
        cursor.execute("SET GLOBAL log_queries_not_using_indexes = OFF")
        cursor.execute("SET GLOBAL log_throttle_queries_not_using_indexes = 0")
        cursor.execute("CREATE USER 'evil\n# Query_time: 9'@localhost")
        cursor.execute("SET GLOBAL slow_query_log = OFF")
        cursor.execute("FLUSH SLOW LOGS")
        entries = server.entries("slow2.log")
        texts = [entry["text"] for entry in entries]
        expected = ["SELECT SLEEP(0.3)", "UPDATE t SET b = 8 WHERE a = 1", "SELECT SLEEP(5)",
                    "SELECT SLEEP(0.21), 'it\\'s'", "SET SESSION long_query_time = 0",
                    "SET GLOBAL log_slow_admin_statements = ON", "ALTER TABLE t DROP c",
                    "SET GLOBAL log_slow_admin_statements = OFF", "SET SESSION long_query_time = 10",
                    "SELECT 0 FROM t WHERE b = 1", "SELECT 1 FROM t WHERE b = 1"]
        # The statement that sets long_query_time is measured by what it has set.
        texts = [text for text in texts if text in expected or not text.startswith("SET")]
        assert texts == [text for text in expected if text in texts] and len(texts) >= 9, texts
        by_text = {entry["text"]: entry for entry in entries}
        update = by_text["UPDATE t SET b = 8 WHERE a = 1"]
        assert 0.3 < float(update["locks"]) <= float(update["took"]) < 5, update
        assert "Errno: 0 Killed: 0" in update["extra"], update
        killed = by_text["SELECT SLEEP(5)"]
        assert float(killed["took"]) < 4, killed
        after = int(rows(cursor, "SHOW STATUS LIKE 'Slow_queries'")[0][1])
        assert after - before == len(entries), (before, after, len(entries))
        cursor.execute("SET GLOBAL log_slow_extra = OFF")
        cursor.execute("DROP USER 'evil\n# Query_time: 9'@localhost")
    mode = stat.S_IMODE((server.data / "slow2.log").stat().st_mode)
    assert mode & 0o007 == 0, oct(mode)
    print(f"logs: {len(entries)} slow statements, for each reason there is", flush=True)
    return server.data / "slow2.log"


def general(server):
    """Who comes, what they say, and what must not stand there."""
    with server.connect() as root, root.cursor() as cursor:
        cursor.execute("SET GLOBAL general_log_file = 'general2.log'")
        cursor.execute("SET GLOBAL general_log = ON")
        cursor.execute("CREATE USER logged@localhost IDENTIFIED BY 'SecretWord'")
        cursor.execute("ALTER USER logged@localhost IDENTIFIED BY 'SecretWord'")
        cursor.execute("SET PASSWORD FOR logged@localhost = 'SecretWord'")
        with contextlib.suppress(pymysql.MySQLError):
            cursor.execute("CREATE USER IDENTIFIED BY 'SecretWord'")
        session = pymysql.connect(host="127.0.0.1", port=server.port, user="logged", password="SecretWord")
        with session.cursor() as own:
            own.execute("SELECT 'said'")
            assert run(own, "SET sql_log_off = ON")[0] == 1227
        session.ping()
        session.close()
        cursor.execute("SET sql_log_off = ON")
        cursor.execute("SELECT 'unsaid'")
        cursor.execute("SET sql_log_off = OFF")
        cursor.execute("DROP USER logged@localhost")
        cursor.execute("SET GLOBAL general_log = OFF")
        cursor.execute("FLUSH GENERAL LOGS")
    text = (server.data / "general2.log").read_text()
    for wanted in (" Connect\tlogged@localhost on  using ", " Query\tSELECT 'said'\n", " Quit\t\n",
                   "CREATE USER logged@localhost IDENTIFIED BY <secret>"):
        assert wanted in text, (wanted, text)
    assert "SecretWord" not in text and "unsaid" not in text, text
    print("logs: the general log has who came and what they said, without passwords", flush=True)


def files(server):
    """Paths, rotation by FLUSH LOGS and by size, and files that cannot be written."""
    with server.connect() as root, root.cursor() as cursor:
        for path in ("my.cnf", "binlog.000001", "../x.ini", "no/such/directory/x.log", ""):
            for variable in ("slow_query_log_file", "general_log_file"):
                told = run(cursor, f"SET GLOBAL {variable} = '{path}'")
                assert told[0] == 1231, (variable, path, told)
        for bad in ("'NOWHERE'", "''", "'FILE,NOWHERE'", "NULL"):
            told = run(cursor, f"SET GLOBAL log_output = {bad}")
            assert told and told[0] in (1231, 1232), (bad, told)
        cursor.execute("SET GLOBAL log_output = 'table,file'")
        assert rows(cursor, "SELECT @@log_output") == (("FILE,TABLE",),)
        cursor.execute("SET GLOBAL log_output = 'NONE'")
        cursor.execute("SET GLOBAL general_log = ON")
        cursor.execute("SELECT 'nowhere'")
        cursor.execute("SET GLOBAL log_output = 'FILE'")
        cursor.execute("SET GLOBAL general_log_file = 'rotated.log'")
        cursor.execute("SELECT 'before'")
        cursor.execute("FLUSH GENERAL LOGS")
        file = server.data / "rotated.log"
        file.rename(server.data / "rotated.old.log")
        cursor.execute("FLUSH GENERAL LOGS")
        cursor.execute("SELECT 'after'")
        cursor.execute("FLUSH GENERAL LOGS")
        assert "'before'" in (server.data / "rotated.old.log").read_text()
        assert "'after'" in file.read_text() and "'before'" not in file.read_text()
        assert file.read_text().startswith(("cohort, Version: ",))
        # What is there already stays: a rotated file goes behind the last one.
        kept = {"rotated.log.1": "first", "rotated.log.7.gz": "packed", "rotated.log.x": "no number"}
        for name, text in kept.items():
            (server.data / name).write_text(text)
        cursor.execute("SET GLOBAL cohort_log_file_size_max = 20000")
        for number in range(60):
            cursor.execute(f"SELECT {number}, '{'x' * 1000}'")
        cursor.execute("SET GLOBAL general_log = OFF")
        cursor.execute("FLUSH GENERAL LOGS")
        cursor.execute("SET GLOBAL cohort_log_file_size_max = 0")
        assert all((server.data / name).read_text() == text for name, text in kept.items())
        older = sorted(server.data.glob("rotated.log.[89]"))
        assert older and older[0].name == "rotated.log.8", older
        assert 20_000 <= older[0].stat().st_size < 60_000 and file.stat().st_size < 60_000
        # A directory in the place of the file: statements go on, and the server says why.
        (server.data / "blocked.log").mkdir()
        cursor.execute("SET GLOBAL general_log_file = 'blocked.log'")
        cursor.execute("SET GLOBAL general_log = ON")
        cursor.execute("SELECT 'blocked'")
        cursor.execute("SET GLOBAL general_log = OFF")
        cursor.execute("FLUSH GENERAL LOGS")
    print("logs: files are rotated, and only logs are written", flush=True)


def history(server):
    """events_statements_current, _history and the summaries by event, account, user and host."""
    with server.connect(database="logged") as session, session.cursor() as cursor, \
            server.connect() as root, root.cursor() as watcher:
        for number in range(15):
            cursor.execute(f"SELECT {number}")
        run(cursor, "SELECT * FROM nonesuch")
        thread = rows(watcher, "SELECT THREAD_ID, PROCESSLIST_USER, CONNECTION_TYPE FROM performance_schema.threads "
                               f"WHERE PROCESSLIST_ID = {session.thread_id()}")[0]
        events = rows(watcher, "SELECT SQL_TEXT, EVENT_NAME, MYSQL_ERRNO, RETURNED_SQLSTATE, ROWS_SENT, DIGEST_TEXT "
                               "FROM performance_schema.events_statements_history "
                               f"WHERE THREAD_ID = {thread[0]} ORDER BY EVENT_ID")
        assert len(events) == 10, events
        assert events[-1][:4] == ("SELECT * FROM nonesuch", "statement/sql/select", 1146, "42S02"), events[-1]
        assert events[-2][:5] == ("SELECT 14", "statement/sql/select", 0, None, 1), events[-2]
        assert events[-2][5] == "SELECT ?", events[-2]
        sleeper = threading.Thread(target=lambda: run(cursor, "SELECT SLEEP(0.5)"))
        sleeper.start()
        time.sleep(0.2)
        running = rows(watcher, "SELECT SQL_TEXT, END_EVENT_ID, TIMER_WAIT FROM "
                                f"performance_schema.events_statements_current WHERE THREAD_ID = {thread[0]}")
        sleeper.join()
        assert running[0][:2] == ("SELECT SLEEP(0.5)", None) and running[0][2] > 10**11, running
        cursor.execute("SELECT COUNT_STAR FROM performance_schema.events_statements_summary_global_by_event_name "
                       "WHERE EVENT_NAME = 'statement/sql/select'")
        selects = cursor.fetchone()[0]
        cursor.execute("SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest")
        assert cursor.fetchone()[0] > 0
    with server.connect() as root, root.cursor() as watcher:
        for table in ("events_statements_summary_by_account_by_event_name",
                      "events_statements_summary_by_user_by_event_name",
                      "events_statements_summary_by_host_by_event_name"):
            counted = rows(watcher, f"SELECT SUM(COUNT_STAR) FROM performance_schema.{table} "
                                    "WHERE EVENT_NAME = 'statement/sql/select'")[0][0]
            assert counted >= selects, (table, counted, selects)
        for table in ("accounts", "users", "hosts"):
            row = rows(watcher, f"SELECT SUM(CURRENT_CONNECTIONS), SUM(TOTAL_CONNECTIONS) FROM performance_schema.{table}")
            assert row[0][0] == 1 and row[0][1] > 3, (table, row)
        watcher.execute("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
        left = rows(watcher, "SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest")
        assert left[0][0] == 1, left
        kept = rows(watcher, "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_global_by_event_name "
                             "WHERE EVENT_NAME = 'statement/sql/select'")[0][0]
        assert kept >= selects, (kept, selects)
        told = run(watcher, "TRUNCATE TABLE performance_schema.threads")
        assert told[0] in (1044, 1683), told
    print("logs: the last statements of each session, and sums by who ran them", flush=True)


def read_by_others(slow):
    """The tools that people read slow logs with."""
    for tool, wanted in (("mysqldumpslow", "SELECT SLEEP"), ("pt-query-digest", "SELECT")):
        if shutil.which(tool) is None:
            print(f"logs: {tool} is not here", flush=True)
            continue
        told = subprocess.run([tool, str(slow)], check=True, capture_output=True, text=True).stdout
        assert wanted in told, (tool, told)
        assert "Count: " in told or "# Query 1" in told, told
        print(f"logs: {tool} reads the slow log", flush=True)


def gone():
    """A log whose directory is gone is turned off at a start, and what tells of the server's users is not."""
    with Cohort() as server:
        away = server.directory / "away"
        away.mkdir()
        with server.connect() as root, root.cursor() as cursor:
            for name, variable in (("slow", "slow_query_log"), ("general", "general_log")):
                cursor.execute(f"SET PERSIST {variable}_file = '{away / name}.log'")
                cursor.execute(f"SET PERSIST {variable} = ON")
            cursor.execute("SET PERSIST long_query_time = 0")
        assert server.stop() == 0
        shutil.rmtree(away)
        begun = server.log.stat().st_size
        server.start()
        told = server.log.read_text()[begun:]
        for name, variable in (("slow", "slow_query_log"), ("general", "general_log")):
            assert re.search(f"{away / name}.log' not found .*; {variable} is OFF now", told), told
        with server.connect() as root, root.cursor() as cursor:
            assert rows(cursor, "SELECT @@slow_query_log, @@general_log") == ((0, 0),)
            for name, variable in (("slow", "slow_query_log"), ("general", "general_log")):
                said = run(cursor, f"SET GLOBAL {variable} = ON")
                assert said == (29, f"File '{away / name}.log' not found (OS errno 2 - No such file or directory)"), said
            # The rows of a table stand elsewhere.
            cursor.execute("SET GLOBAL log_output = 'TABLE'")
            assert not run(cursor, "SET GLOBAL slow_query_log = ON")
            cursor.execute("SET GLOBAL slow_query_log = OFF, GLOBAL log_output = 'FILE'")
            away.mkdir()
            cursor.execute("SET GLOBAL slow_query_log = ON, GLOBAL general_log = ON")
            cursor.execute("SELECT 'again'")
            cursor.execute("FLUSH SLOW LOGS")
            cursor.execute("FLUSH GENERAL LOGS")
            assert all("'again'" in (away / f"{name}.log").read_text() for name in ("slow", "general"))
            cursor.execute("RESET PERSIST")
            cursor.execute(f"SET PERSIST cohort_audit_log_file = '{away}/audit.log'")
            cursor.execute("SET PERSIST cohort_audit_log = ON")
        assert server.stop() == 0
        shutil.rmtree(away)
        try:
            server.start()
            raise AssertionError("it starts without its audit log")
        except RuntimeError as error:
            assert "cohort_audit_log_file" in str(error), error
            server.process = None
    print("logs: without the directory of a log", flush=True)


def unmeasured():
    """`performance_schema = off`, on the command line and in the settings file: nothing is kept, and the slow log
    has all the same how long statements took."""
    with tempfile.TemporaryDirectory(prefix="logs-") as room:
        settings = pathlib.Path(room) / "cohort.toml"
        settings.write_text('performance-schema = "off"\n')
        for flags in (("--performance-schema=off",), ("--config", str(settings))):
            with Cohort(*flags) as server:
                cohort = Server("cohort", server.port, "root", server.data)
                with cohort.connect() as client, client.cursor() as cursor:
                    cursor.execute("SET GLOBAL slow_query_log = ON")
                    cursor.execute("SET SESSION long_query_time = 0.05")
                    cursor.execute("SELECT SLEEP(0.1)")
                    cursor.execute("SELECT @@performance_schema")
                    assert cursor.fetchone() == (0,), "it is off"
                    for table in ("events_statements_summary_by_digest", "threads", "processlist",
                                  "file_summary_by_instance"):
                        cursor.execute(f"SELECT COUNT(*) FROM performance_schema.{table}")
                        assert cursor.fetchone() == (0,), table
                    cursor.execute("SHOW PROCESSLIST")
                    assert cursor.fetchall(), "it does not come from there"
                    cursor.execute("SELECT VARIABLE_VALUE FROM performance_schema.global_status "
                                   "WHERE VARIABLE_NAME = 'Slow_queries'")
                    assert int(cursor.fetchone()[0]) == 1, "counters go on"
                    cursor.execute("FLUSH SLOW LOGS")
                until = time.monotonic() + 5
                while not (entries := cohort.entries("slow.log")):
                    assert time.monotonic() < until, "the slow log goes on"
                    time.sleep(0.05)
                [entry] = entries
                assert entry["text"] == "SELECT SLEEP(0.1)" and 0.1 <= float(entry["took"]) < 5, entry


def main():
    unmeasured()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Cohort())
        cohort = Server("cohort", server.port, "root", server.data)
        if (PEERS / "usr/sbin/mysqld").exists():
            room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logs-")))
            peer = Source(MySQL(room, PEERS), room, free_port())
            stack.callback(peer.end)
            with pymysql.connect(host="127.0.0.1", port=peer.port, user="root") as root, root.cursor() as cursor:
                cursor.execute("SELECT @@datadir")
                data = pathlib.Path(cursor.fetchone()[0])
            outside = PEERS / data.relative_to("/")
            compared(cohort, Server("mysql", peer.port, "root", outside if outside.exists() else data))
        else:
            statements(cohort)
        slow = slow_statements(cohort)
        general(cohort)
        files(cohort)
        history(cohort)
        read_by_others(slow)
        assert server.stop() == 0
    gone()


if __name__ == "__main__":
    main()
