#!/usr/bin/env python3
"""Operating the server: what it refuses and says, how it stops, what settings do."""

import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

import pymysql

from cohort import BINARY, Cohort, free_port


def refused(*flags, environment=None):
    """Runs a server that must not start; returns what it says."""
    done = subprocess.run([BINARY, "serve", *flags], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(environment or {})})
    assert done.returncode == 1 or done.returncode == 2, (done.returncode, done.stderr)
    return done.stderr


def check_refusals(server):
    """A port or directory in use, an open door, settings that do not exist."""
    with tempfile.TemporaryDirectory() as directory:
        fresh = ("--datadir", directory + "/data", "--port", str(free_port()))
        said = refused("--datadir", directory + "/data", "--port", str(server.port))
        assert "is in use" in said and "--port" in said, said
        said = refused("--datadir", str(server.data), "--port", str(free_port()))
        assert "in use" in said or "another server" in said, said
        said = refused(*fresh, "--bind-address", "0.0.0.0")
        assert "without a password anybody may log in as 'root'@'localhost'" in said, said
        assert "no_such_thing" in refused(*fresh, environment={"COHORT_NO_SUCH_THING": "1"})
        file = pathlib.Path(directory, "cohort.toml")
        file.write_text("max_conections = 5\n")
        assert "max_conections" in refused(*fresh, "--config", str(file))
        file.write_text("max_connections = \"many\"\n")
        assert "max_connections" in refused(*fresh, "--config", str(file))
    usage = subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True, check=True)
    assert "Examples:" in usage.stdout and "--sync-binlog" in usage.stdout


def check_limits(server):
    """max_connections; settings of the file and the environment are global variables."""
    connection = server.connect(autocommit=True)
    cursor = connection.cursor()
    cursor.execute("SELECT @@GLOBAL.max_connections, @@GLOBAL.innodb_lock_wait_timeout, @@port")
    assert cursor.fetchone() == (3, 7, server.port)
    others = [server.connect() for _ in range(2)]
    try:
        server.connect()
        raise AssertionError("one connection too many was let in")
    except pymysql.MySQLError as error:
        assert error.args[0] == 1040, error.args
    for other in others:
        other.close()
    cursor.execute("SET GLOBAL max_connections = 1000")
    many = [server.connect() for _ in range(200)]
    for other in many:
        assert other.ping(reconnect=False) is None
        other.close()
    cursor.execute("SET wait_timeout = 1")
    time.sleep(2.5)
    try:
        cursor.execute("SELECT 1")
        raise AssertionError("wait_timeout did not end the connection")
    except pymysql.MySQLError as error:
        assert error.args[0] in (2006, 2013, 4031), error.args


def check_socket(server):
    """The Unix socket, in the data directory unless it is put elsewhere."""
    connection = pymysql.connect(unix_socket=str(server.data / "mysql.sock"), user="root")
    connection.ping()
    connection.close()


def check_stop(server):
    """SIGTERM: a running statement ends well, an idle client is sent home, the port is free."""
    busy, idle = server.connect(autocommit=True), server.connect()
    answers = []

    def run():
        cursor = busy.cursor()
        cursor.execute("SELECT SLEEP(1), 'done'")
        answers.append(cursor.fetchone())

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begun < 8
    thread.join(10)
    assert answers == [(0, "done")], answers
    try:
        idle.ping(reconnect=False)
        raise AssertionError("the server is gone, and its connection lives")
    except pymysql.MySQLError:
        pass
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", server.port))
    assert not (server.data / "mysql.sock").exists()
    server.start()
    log = server.log.read_text()
    assert "starting" in log and "ready on" in log and "stopped" in log, log


def check_shutdown(server):
    """SHUTDOWN and `mysqladmin shutdown` stop the server as SIGTERM does, for who may; RESTART says that it cannot."""
    with server.connect() as root, root.cursor() as cursor:
        cursor.execute("CREATE USER IF NOT EXISTS weak@'127.0.0.1'")
        with server.connect(user="weak") as weak, weak.cursor() as asked:
            for sql, who, code in (("SHUTDOWN", asked, 1227), ("RESTART", asked, 1227), ("RESTART", cursor, 3707)):
                try:
                    who.execute(sql)
                    raise AssertionError(f"{sql} is taken")
                except pymysql.MySQLError as error:
                    assert error.args[0] == code, (sql, error)

    def by_statement():
        with server.connect() as root, root.cursor() as cursor:
            cursor.execute("SHUTDOWN")

    def by_command():
        subprocess.run(["mysqladmin", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uroot", "shutdown"], check=True)

    for stop in (by_statement, by_command):
        stop()
        assert server.process.wait(60) == 0
        assert "SHUTDOWN by user root" in server.log.read_text()
        server.start()
    print("operation: check_shutdown passed", flush=True)


def check_coordinator():
    """It comes with the server; a second server on the machine serves without one, unless it is
    asked for."""
    ports = ("--coordinator-port", str(free_port()), "--coordinator-grpc-port", str(free_port()))
    with Cohort(*ports) as first, Cohort(*ports) as second:
        for server, wanted in ((first, "coordinating global"), (second, "no coordinator of global")):
            until = time.monotonic() + 30
            while wanted not in server.log.read_text():
                assert time.monotonic() < until, f"{wanted} …: {server.log.read_text()}"
                time.sleep(0.02)
            server.connect().close()
        with tempfile.TemporaryDirectory() as directory:
            said = refused("--datadir", directory + "/data", "--port", str(free_port()), *ports,
                           "--coordinator", "on")
            assert "is in use" in said and "--coordinator-port" in said, said
    print("operation: check_coordinator passed", flush=True)


def main():
    check_coordinator()
    os.environ["COHORT_INNODB_LOCK_WAIT_TIMEOUT"] = "7"
    with Cohort("--max-connections", "3") as server:
        del os.environ["COHORT_INNODB_LOCK_WAIT_TIMEOUT"]
        for check in (check_refusals, check_socket, check_limits, check_stop, check_shutdown):
            check(server)
            print(f"operation: {check.__name__} passed", flush=True)


if __name__ == "__main__":
    main()
