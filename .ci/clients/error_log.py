#!/usr/bin/env python3
"""The error log: its forms, its settings, performance_schema.error_log, and a server that is killed.

  .ci/clients/error_log.py

Where MySQL 9.7 is at hand, statements about the log are answered by both in the same way.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pymysql

from cohort import BINARY, Cohort, free_port
from replicas import MySQL
from sources import Source, ask

PEERS = pathlib.Path(os.environ.get("PEERS_ROOT", "/opt/peers-sid"))

LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) (\d+) \[(System|ERROR|Warning|Note)\] "
                  r"\[(MY-\d{6})\] \[(Server|Engine|Repl|Coord)\] (.*)")

# Both servers answer these in the same way, or with the same error.
ALIKE = (
    "SELECT @@log_error_services, @@log_error_suppression_list, @@log_error_verbosity",
    "SET GLOBAL log_error_suppression_list = 'foo'",
    "SET GLOBAL log_error_suppression_list = 'MY-010926,,'",
    "SET GLOBAL log_error_suppression_list = 'MY-099999'",
    "SET GLOBAL log_error_suppression_list = 'MY-001064'",
    "SET GLOBAL log_error_suppression_list = NULL",
    "SET GLOBAL log_error_suppression_list = 'ER_SERVER_STARTUP_MSG,010926 , MY-010914'",
    "SELECT @@log_error_suppression_list",
    "SET GLOBAL log_error_suppression_list = DEFAULT",
    "SET GLOBAL log_error_services = 'log_sink_internal'",
    "SET GLOBAL log_error_services = 'log_filter_internal, log_sink_internal'",
    "SELECT @@log_error_services",
    "SET GLOBAL log_error_services = DEFAULT",
    "SET log_error_services = ''",
    "SET GLOBAL log_error = 'x'",
    "SET GLOBAL log_error_verbosity = 5",
    "SELECT @@log_error_verbosity",
    "SET GLOBAL log_error_verbosity = DEFAULT",
    "FLUSH ERROR LOGS",
    "SELECT COLUMN_NAME, IS_NULLABLE, DATETIME_PRECISION FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = 'error_log' ORDER BY ORDINAL_POSITION",
    "SELECT PRIO, ERROR_CODE, SUBSYSTEM FROM performance_schema.error_log "
    "WHERE ERROR_CODE IN ('MY-010931', 'MY-010116') ORDER BY LOGGED",
)


def answer(connection, sql):
    """The rows, or the error."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()
    except pymysql.MySQLError as error:
        return error.args


def alike(server):
    with contextlib.ExitStack() as stack:
        room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="error-log-")))
        peer = Source(MySQL(room, PEERS), room, free_port())
        stack.callback(peer.end)
        here, there = (stack.enter_context(contextlib.closing(
            pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True)))
            for port in (server.port, peer.port))
        for sql in ALIKE:
            ours, theirs = answer(here, sql), answer(there, sql)
            assert ours == theirs, (sql, ours, theirs)
    print(f"error_log: {len(ALIKE)} statements are answered as by MySQL", flush=True)


def lines(path):
    """The lines of a text log; each has MySQL's form."""
    found = []
    for line in path.read_text().splitlines():
        match = LINE.fullmatch(line)
        assert match, line
        found.append(match.groups())
    return found


def told(server):
    """performance_schema.error_log, as lines of text have it."""
    with contextlib.closing(server.connect(autocommit=True)) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute("SELECT LOGGED, THREAD_ID, PRIO, ERROR_CODE, SUBSYSTEM, DATA "
                       "FROM performance_schema.error_log ORDER BY LOGGED")
        return [(f"{moment.isoformat(timespec='microseconds')}Z", str(thread),
                 "ERROR" if level == "Error" else level, code, subsystem, data)
                for moment, thread, level, code, subsystem, data in cursor.fetchall()]


def wrong_login(server, user):
    with contextlib.suppress(pymysql.MySQLError):
        server.connect(user=user, password="wrong")


def standard_error():
    """Without a file lines go to standard error; what is a note is left out."""
    with Cohort() as server:
        assert lines(server.log) == told(server)
        codes = [line[3] for line in told(server)]
        assert codes[0] == "MY-010116" and codes[-1] == "MY-010931", codes
        assert "MY-010453" in codes, "a new data directory has an account without a password"
        wrong_login(server, "nobody")
        assert lines(server.log)[-1][3] == "MY-010931"
        assert ask(server, "SELECT @@log_error")[0]["@@log_error"] == "stderr"
        status = {row["Variable_name"]: int(row["Value"])
                  for row in ask(server, "SHOW STATUS LIKE 'Error_log_%'")}
        last = datetime.datetime.fromisoformat(told(server)[-1][0])
        assert status["Error_log_buffered_events"] == len(codes), status
        assert abs(status["Error_log_latest_write"] / 1e6 - last.timestamp()) < 1e-5, (status, last)
        server.stop()
        assert [line[3] for line in lines(server.log)][-2:] == ["MY-013172", "MY-010910"]
    print("error_log: standard error and the table tell the same", flush=True)


def file():
    """A file: its settings are obeyed, a tool may rename it, and a new start reads it."""
    with Cohort("--log-error", "error") as server:
        path = server.data / "error.err"
        assert ask(server, "SELECT @@log_error")[0]["@@log_error"] == str(path.resolve())
        assert server.log.read_text() == "", "nothing goes to standard error"
        assert lines(path) == told(server)
        ask(server, "SET GLOBAL log_error_verbosity = 3")
        wrong_login(server, "nobody")
        assert lines(path)[-1][2:4] == ("Note", "MY-010926")
        for suppressed in ("MY-010926", "ER_ACCESS_DENIED_ERROR_WITH_PASSWORD"):
            ask(server, f"SET GLOBAL log_error_suppression_list = '{suppressed}'")
            before = len(lines(path))
            wrong_login(server, "nobody")
            assert len(lines(path)) == before
        ask(server, "SET GLOBAL log_error_suppression_list = ''")
        ask(server, "SET GLOBAL log_error_services = 'log_filter_internal; log_sink_internal; log_sink_json'")
        wrong_login(server, "both'\n2026-01-01T00:00:00.000000Z 0 [System] [MY-010931] [Server] ")
        text = lines(path)[-1]
        objects = [json.loads(line) for line in (server.data / "error.err.00.json").read_text().splitlines()]
        assert len(objects) == 1
        said = objects[0]
        assert (said["time"], said["msg"], f"MY-{said['err_code']:06}") == (text[0], text[5], text[3])
        assert said["label"] == "Note" and said["prio"] == 3 and said["subsystem"] == "Server", said
        assert said["err_symbol"] == "ER_ACCESS_DENIED_ERROR_WITH_PASSWORD", said
        ask(server, "SET GLOBAL log_error_services = 'log_sink_internal'")
        ask(server, "SET GLOBAL log_error_verbosity = 1")
        before = len(lines(path))
        wrong_login(server, "unfiltered")
        assert len(lines(path)) == before + 1, "without the filter all is written"
        ask(server, "SET GLOBAL log_error_services = DEFAULT")
        for value in ("log_sink_syseventlog", "log_sink_json; log_sink_json"):
            try:
                ask(server, f"SET GLOBAL log_error_services = '{value}'")
                raise AssertionError(value)
            except pymysql.MySQLError as error:
                assert error.args[0] == 1231, error
        # Another log cannot have its file.
        for variable in ("general_log_file", "slow_query_log_file"):
            try:
                ask(server, f"SET GLOBAL {variable} = '{path}'")
                raise AssertionError(variable)
            except pymysql.MySQLError as error:
                assert error.args[0] == 1231, error
        ask(server, "SET GLOBAL log_error_verbosity = 3")
        path.rename(path.with_suffix(".1.err"))
        wrong_login(server, "renamed")
        assert not path.exists()
        ask(server, "FLUSH ERROR LOGS")
        wrong_login(server, "again")
        assert [line[3] for line in lines(path)] == ["MY-010926"]
        ask(server, "FLUSH LOGS")
        wrong_login(server, "more")
        assert len(lines(path)) == 2
        before = lines(path)
        server.stop(signal.SIGKILL)
        server.flags = (*server.flags, "--config", str(server.directory / "toml"))
        (server.directory / "toml").write_text('log_error_suppression_list = "MY-010453"\n'
                                               "log_error_verbosity = 3\n")
        server.start()
        assert told(server)[:2] == before and lines(path) == told(server), (before, told(server))
        # A file that cannot be written stops nothing; standard error has what it should have.
        path.unlink()
        path.mkdir()
        ask(server, "FLUSH ERROR LOGS")
        wrong_login(server, "homeless")
        assert "homeless" in server.log.read_text() and "cannot be written" in server.log.read_text()
        path.rmdir()
        wrong_login(server, "home")
        assert "home'@" in lines(path)[-1][5]
    print("error_log: a file is written as its settings say, and read again", flush=True)


def refused_start():
    """Whoever starts it sees why not, wherever the log is."""
    with tempfile.TemporaryDirectory() as directory, Cohort() as server:
        for log, is_file in (("log.err", True), ("nowhere/log.err", False)):
            done = subprocess.run(
                [BINARY, "serve", "--datadir", f"{directory}/data", "--port", str(free_port()), "--socket",
                 str(server.data / "mysql.sock"), "--coordinator", "off", "--log-error", log],
                capture_output=True, text=True, timeout=30)
            assert done.returncode == 1
            if is_file:
                assert "is in use" in done.stderr, done
                last = lines(pathlib.Path(directory, "data", log))[-1]
                assert last[2:4] == ("ERROR", "MY-010119") and "is in use" in last[5], last
            else:
                assert "log-error " in done.stderr and "No such file" in done.stderr, done
    print("error_log: a refused start is told in the log and where it was tried", flush=True)


def main():
    os.environ.pop("NOTIFY_SOCKET", None)
    standard_error()
    file()
    refused_start()
    if (PEERS / "usr/sbin/mysqld").exists():
        with Cohort() as server:
            alike(server)


if __name__ == "__main__":
    main()
