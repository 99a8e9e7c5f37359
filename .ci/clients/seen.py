#!/usr/bin/env python3
"""What monitoring reads: the views of sys, what performance_schema has of tables and files, mysqld_exporter.

  .ci/clients/seen.py

MySQL, where it is there, is asked the same: views have the same columns, and count the same.
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request

import pymysql

from cohort import Cohort, free_port
from logs import PEERS, rows, run
from replicas import MySQL
from sources import Source

MADE = (
    "CREATE DATABASE seen",
    "CREATE TABLE seen.t (a INT PRIMARY KEY AUTO_INCREMENT, b INT, c INT, KEY b (b), KEY bc (b, c), UNIQUE KEY c (c))",
    "INSERT INTO seen.t (b, c) VALUES (1, 1), (2, 2), (3, 3)",
    "CREATE TABLE seen.u (a INT, b INT, KEY never (b))",
    "INSERT INTO seen.u VALUES (1, 1), (2, 2)",
    "SELECT * FROM seen.t FORCE INDEX (c) WHERE c = 1",
    "SELECT * FROM seen.t WHERE a = 2",
    "SELECT * FROM seen.u WHERE a = 2",
    "UPDATE seen.t SET b = 7 WHERE a = 1",
    "DELETE FROM seen.t WHERE a = 3",
    "SELECT * FROM seen.u ORDER BY a + 1",
    "SELECT * FROM seen.nonesuch",
)
ASKED = (
    "SELECT table_name, redundant_index_name, redundant_index_columns, dominant_index_name, sql_drop_index "
    "FROM sys.schema_redundant_indexes WHERE table_schema = 'seen'",
    "SELECT object_name, index_name FROM sys.schema_unused_indexes WHERE object_schema = 'seen' AND object_name = 'u'",
    "SELECT table_name, rows_fetched, rows_inserted, rows_updated, rows_deleted FROM sys.schema_table_statistics "
    "WHERE table_schema = 'seen' ORDER BY 1",
    "SELECT index_name, rows_selected FROM sys.schema_index_statistics WHERE table_schema = 'seen' "
    "AND table_name = 't' AND index_name IN ('b', 'c') ORDER BY 1",
    "SELECT object_name, rows_full_scanned FROM sys.schema_tables_with_full_table_scans WHERE object_schema = 'seen'",
    "SELECT table_name, column_name, max_value, auto_increment FROM sys.schema_auto_increment_columns "
    "WHERE table_schema = 'seen'",
    "SELECT query, exec_count, err_count, rows_sent, rows_affected, full_scan FROM sys.statement_analysis "
    "WHERE query LIKE '%`seen` . `%' AND query NOT LIKE '%FORCE%' AND query NOT LIKE 'CREATE%' ORDER BY 1",
    "SELECT query, errors FROM sys.statements_with_errors_or_warnings WHERE query LIKE '%nonesuch%'",
    "SELECT query, rows_sorted, sorts_using_scans FROM sys.statements_with_sorting WHERE query LIKE '%`seen`%'",
    "SELECT db, object_type, count FROM sys.schema_object_overview WHERE db = 'seen'",
    "SELECT ERROR_NUMBER, ERROR_NAME, SQL_STATE, SUM_ERROR_RAISED > 0 "
    "FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER = 1146",
    "SELECT COUNT(*), SUM(ERROR_NUMBER), SUM(CRC32(CONCAT(ERROR_NUMBER, ERROR_NAME, SQL_STATE))) "
    "FROM performance_schema.events_errors_summary_global_by_error",
)


def views(servers):
    """All views of sys can be read; their columns are MySQL's, but for those that only Cohort has."""
    known = [row[0] for row in rows(servers[-1], "SELECT table_name FROM information_schema.views "
                                                 "WHERE table_schema = 'sys' ORDER BY 1")]
    assert len(known) > 35, known
    for view in known:
        names = []
        # What has our name has nothing beside it.
        for cursor in servers[-1:] if "cohort_" in view else servers:
            cursor.execute(f"SELECT * FROM sys.`{view}`")
            names.append([column[0] for column in cursor.description])
        assert names[0] == names[-1], (view, names)
        rows(servers[-1], f"SHOW COLUMNS FROM sys.`{view}`")
        assert len(rows(servers[-1], f"SHOW CREATE VIEW sys.`{view}`")) == 1
    told = run(servers[-1], "DROP VIEW sys.version")
    assert told and told[0] == 1044, told
    told = run(servers[-1], "CREATE VIEW sys.mine AS SELECT 1")
    assert told and told[0] == 1044, told
    print(f"seen: {len(known)} views of sys", flush=True)


def counted(servers):
    """The same is counted on both."""
    differ = 0
    for cursor in servers:
        for sql in MADE:
            run(cursor, sql)
    for sql in ASKED:
        told = [rows(cursor, sql) for cursor in servers]
        if told[0] != told[-1]:
            differ += 1
            print(f"differs: {sql}\n  MySQL  {told[0]}\n  Cohort {told[-1]}", flush=True)
    assert not differ
    print(f"seen: {len(ASKED)} questions have MySQL's answers", flush=True)


# What is emptied, and what then begins anew beside it.
EMPTIED = (
    ("events_statements_summary_by_thread_by_event_name", {"thread"}),
    ("events_statements_summary_by_digest", {"digest"}),
    ("events_statements_histogram_global", {"histogram"}),
    ("events_statements_summary_global_by_event_name",
     {"thread", "account", "user", "host", "histogram", "global"}),
    ("file_summary_by_instance", {"files", "events"}),
    ("file_summary_by_event_name", {"files", "events"}),
)
COUNTS = {
    "digest": "SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest",
    "histogram": "SELECT SUM(COUNT_BUCKET) FROM performance_schema.events_statements_histogram_global",
    "files": "SELECT SUM(COUNT_STAR) FROM performance_schema.file_summary_by_instance",
    "events": "SELECT SUM(COUNT_STAR) FROM performance_schema.file_summary_by_event_name",
} | {
    place: f"SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_{name}_by_event_name "
           "WHERE EVENT_NAME = 'statement/sql/select'"
    for place, name in {"global": "global", "thread": "by_thread", "account": "by_account", "user": "by_user",
                        "host": "by_host"}.items()
}


def emptied(places):
    """TRUNCATE TABLE begins the same sums anew as on MySQL."""
    for table, expected in EMPTIED:
        told = []
        for port, user in places:
            with pymysql.connect(host="127.0.0.1", port=port, user=user, autocommit=True) as connection, \
                    connection.cursor() as cursor:
                for _ in range(60):
                    cursor.execute("SELECT 1")
                # Files are used, too.
                cursor.execute("CREATE TABLE seen.files (a INT)")
                for n in range(30):
                    cursor.execute("INSERT INTO seen.files VALUES (%s)", n)
                cursor.execute("DROP TABLE seen.files")
                # In this order, so that looking does not count twice where it is looked at.
                before = {name: rows(cursor, sql)[0][0] for name, sql in COUNTS.items()}
                assert all(count >= 30 for count in before.values()), (port, before)
                cursor.execute(f"TRUNCATE TABLE performance_schema.{table}")
                after = {name: rows(cursor, sql)[0][0] or 0 for name, sql in COUNTS.items()}
                told.append({name for name in COUNTS if after[name] < before[name]})
        assert told[0] == told[-1], f"{table}\n  MySQL  {told[0]}\n  Cohort {told[-1]}"
        assert told[-1] == expected, (table, told[-1])
    print(f"seen: {len(EMPTIED)} tables are emptied as on MySQL", flush=True)


# What is made to compute a result, where both make it.
COMPUTED = (
    "SELECT * FROM t ORDER BY c", "SELECT a, COUNT(*) FROM u GROUP BY a", "SELECT DISTINCT a FROM u",
    "SELECT COUNT(DISTINCT a) FROM u", "SELECT a, COUNT(DISTINCT b) FROM u GROUP BY a",
    "SELECT GROUP_CONCAT(a ORDER BY b) FROM u", "SELECT SUM(a) FROM u",
    "SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t UNION ALL SELECT a FROM u",
    "SELECT a FROM t INTERSECT SELECT a FROM u", "SELECT a FROM t EXCEPT SELECT a FROM u",
    "SELECT * FROM (SELECT a FROM u LIMIT 5) AS d", "SELECT * FROM (SELECT a, COUNT(*) FROM u GROUP BY a) AS d",
    "SELECT * FROM (SELECT DISTINCT a FROM u) AS d",
    "WITH x AS (SELECT COUNT(*) AS n FROM u) SELECT * FROM x AS one JOIN x AS two",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "SELECT a, SUM(b) FROM u GROUP BY a WITH ROLLUP", "SELECT SUM(a) OVER (PARTITION BY a) FROM u",
    "SELECT SUM(SUM(b)) OVER () FROM u GROUP BY a",
    "SELECT * FROM t, LATERAL (SELECT COUNT(*) FROM u WHERE u.a = t.a) AS l", "DELETE FROM u WHERE a > 100",
)


def computed(servers):
    """Created_tmp_tables counts as on MySQL."""
    for sql in COMPUTED:
        told = []
        for cursor in servers:
            cursor.execute("USE seen")
            cursor.execute("FLUSH STATUS")
            cursor.execute(sql)
            told.append(int(rows(cursor, "SHOW SESSION STATUS LIKE 'Created_tmp_tables'")[0][1]))
        assert told[0] == told[-1], (sql, told)
    ask = "SELECT SUM(SUM_CREATED_TMP_TABLES) FROM performance_schema.events_statements_summary_by_digest " \
          "WHERE DIGEST_TEXT LIKE 'SELECT `a` , COUNT%'"
    assert [rows(cursor, ask)[0][0] for cursor in servers] == [2] * len(servers)
    print(f"seen: temporary tables of {len(COMPUTED)} statements", flush=True)


def waits(server):
    """Who waits for whom."""
    connect = lambda: pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True)
    with connect() as holder, holder.cursor() as held, connect() as waiter, waiter.cursor() as waiting, \
            connect() as watcher, watcher.cursor() as cursor:
        held.execute("BEGIN")
        held.execute("UPDATE seen.t SET b = 1 WHERE a = 1")
        thread = threading.Thread(target=lambda: run(waiting, "UPDATE seen.t SET b = 2 WHERE a = 1"))
        thread.start()
        until = time.monotonic() + 20
        while not (told := rows(cursor, "SELECT waiting_pid, waiting_query, blocking_pid, locked_table, "
                                        "sql_kill_blocking_connection FROM sys.innodb_lock_waits")):
            assert time.monotonic() < until, "nobody waits"
        holder.rollback()
        thread.join()
        assert told == ((waiter.thread_id(), "UPDATE seen.t SET b = 2 WHERE a = 1", holder.thread_id(),
                         "`seen`.`t`", f"KILL {holder.thread_id()}"),), told
        told = rows(cursor, "SELECT user, command, current_statement FROM sys.session "
                            f"WHERE conn_id = {watcher.thread_id()}")
        assert told[0][:2] == ("root@localhost", "Query") and told[0][2].startswith("SELECT user, command"), told
    print("seen: who waits for whom", flush=True)


# What the first one does, what the second and the third then wait with, and how the first lets go.
LOCKING = (
    (("BEGIN", "SELECT * FROM mdl.t"), "ALTER TABLE mdl.t ADD c INT", "SELECT * FROM mdl.t", "ROLLBACK"),
    (("BEGIN", "INSERT INTO mdl.t VALUES (1, 1)"), "TRUNCATE TABLE mdl.t", None, "ROLLBACK"),
    (("BEGIN", "SELECT * FROM mdl.t FOR UPDATE"), "DROP TABLE mdl.t", "INSERT INTO mdl.t VALUES (2, 2)", "ROLLBACK"),
    (("BEGIN", "SELECT * FROM mdl.t FOR SHARE"), "CREATE INDEX b ON mdl.t (b)", None, "COMMIT"),
    (("BEGIN", "SELECT * FROM mdl.t"), "LOCK TABLES mdl.t WRITE", "SELECT * FROM mdl.t", "COMMIT"),
    (("BEGIN", "UPDATE mdl.t SET b = 1"), "LOCK TABLES mdl.t READ", None, "COMMIT"),
    (("LOCK TABLES mdl.t READ",), "INSERT INTO mdl.t VALUES (3, 3)", "DROP TABLE mdl.t", "UNLOCK TABLES"),
    (("LOCK TABLES mdl.t READ, mdl.u WRITE",), "SELECT * FROM mdl.u", "RENAME TABLE mdl.t TO mdl.v", "UNLOCK TABLES"),
    (("SELECT GET_LOCK('Abc', 1), GET_LOCK('Abc', 1), GET_LOCK('é', 1)",), "DO GET_LOCK('aBC', 60)", None,
     "DO RELEASE_ALL_LOCKS()"),
    (("FLUSH TABLES WITH READ LOCK",), "INSERT INTO mdl.t VALUES (4, 4)", "ALTER TABLE mdl.t ADD d INT",
     "UNLOCK TABLES"),
    (("LOCK INSTANCE FOR BACKUP",), "CREATE TABLE mdl.w (a INT)", None, "UNLOCK INSTANCE"),
)
LOCKS = """SELECT t.PROCESSLIST_ID, OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, COLUMN_NAME, LOCK_TYPE, LOCK_DURATION,
    LOCK_STATUS FROM performance_schema.metadata_locks JOIN performance_schema.threads AS t
    ON t.THREAD_ID = OWNER_THREAD_ID WHERE t.PROCESSLIST_ID <> CONNECTION_ID()"""
LOCK_WAITS = """SELECT waiting_pid, blocking_pid, object_schema, object_name, waiting_account LIKE '%_@localhost',
    waiting_lock_type, waiting_lock_duration, waiting_query, blocking_lock_type, blocking_lock_duration,
    sql_kill_blocking_query = CONCAT('KILL QUERY ', blocking_pid),
    sql_kill_blocking_connection = CONCAT('KILL ', blocking_pid)
    FROM sys.x$schema_table_lock_waits WHERE waiting_pid <> blocking_pid
    AND blocking_lock_type <> 'SHARED_UPGRADABLE'"""


def is_here(lock):
    """Whether Cohort has a lock like that: none of schemas, of files, or that becomes stronger later. A statement
    that writes passes the global read lock, and does not hold it."""
    who, kind, _, name, _, mode, *_ = lock
    return (kind not in ("SCHEMA", "TABLESPACE") and mode != "SHARED_UPGRADABLE"
            and not (name or "").startswith("#sql"))


def locks_of(place, situation):
    """The metadata locks and waits of one situation, with who has them, on one server."""
    port, user = place
    first, *waiting, last = situation
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(pymysql.connect(host="127.0.0.1", port=port, user=user, autocommit=True))
                    for _ in range(4)]
        cursors = [session.cursor() for session in sessions]
        watch = cursors[3]
        for sql in ("DROP DATABASE IF EXISTS mdl", "CREATE DATABASE mdl",
                    "CREATE TABLE mdl.t (a INT PRIMARY KEY, b INT)", "CREATE TABLE mdl.u (a INT)", *first):
            cursors[0].execute(sql)
        numbers = {session.thread_id(): number for number, session in enumerate(sessions)}
        threads, found = [], []
        for number, sql in enumerate(waiting, 1):
            if sql is None:
                continue
            # Who got locks of tables gives them back, so that the next one gets on.
            steps = (cursors[number], (sql, "UNLOCK TABLES"))
            threads.append(threading.Thread(target=lambda cursor, all_of: [run(cursor, sql) for sql in all_of],
                                            args=steps))
            threads[-1].start()
            until = time.monotonic() + 20
            pending = f"SELECT 1 FROM ({LOCKS}) AS locks WHERE LOCK_STATUS = 'PENDING' AND " \
                      f"PROCESSLIST_ID = {sessions[number].thread_id()}"
            while not rows(watch, pending):
                assert time.monotonic() < until, f"{sql} does not wait"
                time.sleep(0.02)
        writers = {n for n, sql in enumerate(waiting, 1) if sql and sql.startswith("INSERT")}
        for who, *lock in rows(watch, LOCKS):
            lock = (numbers[who], *lock)
            passes = lock[0] in writers and lock[1] == "GLOBAL" and lock[-1] == "GRANTED"
            if is_here(lock) and not passes:
                found.append(lock)
        waits = [(numbers[waiter], numbers[blocker], *rest) for waiter, blocker, *rest in rows(watch, LOCK_WAITS)]
        cursors[0].execute(last)
        for thread in threads:
            thread.join()
    return sorted(found, key=str), sorted(waits, key=str)


def metadata_locks(places):
    """Who has which metadata lock, and who waits for which, is told as MySQL tells it."""
    for situation in LOCKING:
        told = [locks_of(place, situation) for place in places]
        assert told[0] == told[-1], f"{situation}\n  MySQL  {told[0]}\n  Cohort {told[-1]}"
        assert any(lock[-1] == "PENDING" for lock in told[-1][0]), told
    print(f"seen: metadata locks in {len(LOCKING)} situations", flush=True)


def exporter(server):
    """mysqld_exporter, as it comes, gets all that it asks for by default, and more."""
    program = shutil.which("prometheus-mysqld-exporter")
    if program is None:
        assert "CI" not in os.environ, "prometheus-mysqld-exporter is missing"
        print("seen: mysqld_exporter is not here", flush=True)
        return
    with pymysql.connect(host="127.0.0.1", port=server.port, user="root") as root, root.cursor() as cursor:
        cursor.execute("CREATE USER exporter@localhost IDENTIFIED BY 'watches'")
        # It leaves out statements without a default database.
        cursor.execute("USE seen")
        cursor.execute("SELECT * FROM t")
        cursor.execute("GRANT PROCESS, REPLICATION CLIENT, REPLICATION SLAVE, SELECT ON *.* TO exporter@localhost")
    more = ("info_schema.processlist", "info_schema.tables", "info_schema.schemastats", "auto_increment.columns",
            "binlog_size", "engine_innodb_status", "info_schema.clientstats", "info_schema.userstats",
            "perf_schema.eventsstatements", "perf_schema.eventsstatementssum", "perf_schema.eventswaits",
            "perf_schema.file_events", "perf_schema.file_instances", "perf_schema.indexiowaits",
            "perf_schema.tableiowaits", "perf_schema.tablelocks", "perf_schema.memory_events", "slave_hosts")
    port = free_port()
    process = subprocess.Popen(
        [program, f"--web.listen-address=127.0.0.1:{port}", *(f"--collect.{name}" for name in more)],
        env={**os.environ, "DATA_SOURCE_NAME": f"exporter:watches@(127.0.0.1:{server.port})/"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
                    text = reply.read().decode()
                break
            except OSError:
                assert time.monotonic() < until, "the exporter does not answer"
                time.sleep(0.1)
    finally:
        process.terminate()
        log = process.communicate()[0]
    failed = re.findall(r'mysql_exporter_collector_success\{collector="([^"]+)"\} 0', text)
    assert not failed, (failed, log)
    for name in ("mysql_up 1", "mysql_global_status_queries", "mysql_global_variables_max_connections",
                 "mysql_perf_schema_events_statements_total{digest=", "mysql_perf_schema_index_io_waits_total{",
                 "mysql_perf_schema_file_events_total{"):
        assert name in text, name
    assert "level=error" not in log, log
    print(f"seen: mysqld_exporter reads {len(text.splitlines())} lines", flush=True)


def main():
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Cohort())
        ports = [(server.port, "root")]
        if (PEERS / "usr/sbin/mysqld").exists():
            room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seen-")))
            peer = Source(MySQL(room, PEERS), room, free_port())
            stack.callback(peer.end)
            ports.insert(0, (peer.port, "root"))
        cursors = []
        for port, user in ports:
            connection = stack.enter_context(contextlib.closing(pymysql.connect(
                host="127.0.0.1", port=port, user=user, autocommit=True)))
            cursors.append(connection.cursor())
        views(cursors)
        counted(cursors)
        computed(cursors)
        waits(server)
        metadata_locks(ports)
        emptied(ports)
        exporter(server)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
