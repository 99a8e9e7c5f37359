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
    "SELECT ERROR_NUMBER, SQL_STATE, SUM_ERROR_RAISED > 0 FROM performance_schema.events_errors_summary_global_by_error "
    "WHERE ERROR_NUMBER = 1146",
)
# Of these MySQL has a column more, or what it is is not here.
COLUMNS_DIFFER = {"x$statement_analysis"}


def views(servers):
    """All views of sys can be read; their columns are MySQL's."""
    known = [row[0] for row in rows(servers[-1], "SELECT table_name FROM information_schema.views "
                                                 "WHERE table_schema = 'sys' ORDER BY 1")]
    assert len(known) > 35, known
    for view in known:
        names = []
        for cursor in servers:
            cursor.execute(f"SELECT * FROM sys.`{view}`")
            names.append([column[0] for column in cursor.description])
        assert view in COLUMNS_DIFFER or names[0] == names[-1], (view, names)
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
        waits(server)
        exporter(server)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
