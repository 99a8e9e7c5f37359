#!/usr/bin/env python3
"""A disk that is really full (a small tmpfs), with real clients.

While it is full: reads go on, further commits are refused with 1021, KILL and a client that goes
away end what waits, DDL fails and changes nothing, a kill -9 loses nothing that was acknowledged.
When there is room again, writing goes on without a restart. Needs the right to mount; without it
the check is left out.

  full_disk.py
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pymysql
import requests

from cohort import Cohort, free_port

SMALL, LARGE = "64m", "512m"
FULL, GONE = 1021, (0, 2006, 2013)


def mount(directory, *options):
    return subprocess.run(["mount", *options, directory], capture_output=True).returncode == 0


def ask(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def error_of(connection, statement):
    try:
        ask(connection, statement)
        return 0
    except pymysql.MySQLError as error:
        return error.args[0]


class Writer(threading.Thread):
    """Inserts rows until it gets an error; counts those that were acknowledged."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.connection = server.connect(autocommit=True, database="d")
        self.number, self.done, self.error, self.enough = number, 0, None, False
        self.start()

    def run(self):
        try:
            while not self.enough:
                value = self.done + 1
                ask(self.connection, f"INSERT INTO t VALUES ({self.number}, {value}, "
                                     f"{value}, REPEAT('x', 30000))")
                self.done = value
        except pymysql.MySQLError as error:
            self.error = error.args[0]


def end(writers):
    """Has the writers finish."""
    for writer in writers:
        writer.enough = True
    for writer in writers:
        writer.join(20)
        assert not writer.is_alive(), f"writer {writer.number} waits, though there is room"


def wait_for(what, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what.__doc__ or what}")


def check_rows(connection, writers):
    """All that was acknowledged is there, and at most one more of each; the index agrees."""
    for writer in writers:
        (count,), = ask(connection, f"SELECT COUNT(*) FROM t WHERE w = {writer.number}")
        (by_index,), = ask(connection, "SELECT COUNT(v) FROM t FORCE INDEX (v) "
                                       f"WHERE v > 0 AND w = {writer.number}")
        assert writer.done <= count <= writer.done + 1, (writer.number, writer.done, count)
        assert by_index == count, (by_index, count)
    (_, _, kind, text), = ask(connection, "CHECK TABLE t")
    assert (kind, text) == ("status", "OK"), (kind, text)


def main():
    directory = tempfile.mkdtemp(prefix="cohort-full-")
    if not mount(directory, "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs"):
        print("full_disk: left out, for nothing can be mounted here")
        pathlib.Path(directory).rmdir()
        return
    try:
        check(directory)
    finally:
        subprocess.run(["umount", "-l", directory], check=False)
        pathlib.Path(directory).rmdir()
    print("full_disk: passed")


def check(directory):
    port = free_port()
    server = Cohort("--console-port", str(port))
    server.data = pathlib.Path(directory) / "data"
    with server:
        admin = server.connect(autocommit=True)
        ask(admin, "CREATE DATABASE d")
        ask(admin, "USE d")
        ask(admin, "CREATE TABLE t (w INT, n INT, v INT, b TEXT, PRIMARY KEY (w, n), KEY v (v))")
        ask(admin, "CREATE TABLE small (a INT PRIMARY KEY)")
        writers = [Writer(server, number) for number in range(4)]
        # What is left of the disk goes to a file, so that it stays full whatever a checkpoint
        # gives back.
        wait_for(lambda: free(directory) < 1000, 60)
        hog = (pathlib.Path(directory) / "hog").open("wb", buffering=0)
        wait_for(lambda: fill(hog) or "commits wait, and" in server.log.read_text(), 60)
        # Whoever has a place in the log waits; all others hear of it.
        wait_for(lambda: fill(hog) or error_of(admin, "REPLACE INTO small VALUES (1)") == FULL)

        reader = server.connect(autocommit=True, database="d")
        assert ask(reader, "SELECT COUNT(*) > 100 FROM t") == ((1,),)
        console = requests.Session()
        first = console.post(f"http://127.0.0.1:{port}/login", {"user": "root", "password": ""}, timeout=30).text
        assert "The disk is full" in first and "binlog." in first, first
        assert error_of(reader, "CREATE INDEX w ON t (n)") != 0
        assert ask(reader, "SHOW INDEX FROM t WHERE Key_name = 'w'") == ()
        waiting = [writer for writer in writers if writer.is_alive()]
        if waiting:
            end_those_who_wait(reader, waiting)

        hog.close()
        (pathlib.Path(directory) / "hog").unlink()
        assert mount(directory, "-o", f"remount,size={LARGE}"), "the disk cannot be made larger"
        wait_for(lambda: error_of(admin, "REPLACE INTO small VALUES (2)") == 0)
        # Before the writers, who write hundreds of megabytes a second, have filled it again.
        end(writers)
        error = error_of(admin, "CREATE INDEX w ON t (n)")
        assert error == 0, (error, free(directory))
        assert "The disk is full" not in console.get(f"http://127.0.0.1:{port}/now", timeout=30).text
        check_rows(admin, writers)
        log = server.log.read_text()
        assert "commits wait" in log and "there is room on the disk again" in log, log

        # Full once more, and killed there; it starts on the full disk.
        hog = (pathlib.Path(directory) / "hog").open("wb", buffering=0)
        late = [Writer(server, number) for number in range(10, 12)]
        wait_for(lambda: fill(hog) or server.log.read_text().count("commits wait, and") > 1, 60)
        server.stop(signal.SIGKILL)
        end(late)
        hog.close()
        (pathlib.Path(directory) / "hog").unlink()
        server.start()
        admin = server.connect(autocommit=True, database="d")
        check_rows(admin, writers + late)
        assert error_of(admin, "REPLACE INTO small VALUES (3)") == 0
        assert server.stop() == 0
    print(f"full_disk: {sum(writer.done for writer in writers + late)} commits acknowledged, "
          f"{len(waiting)} waited")


def end_those_who_wait(reader, waiting):
    """One by KILL, the next by going away: both are gone from the list soon."""
    def listed(number):
        return any(row[0] == number for row in ask(reader, "SHOW PROCESSLIST"))

    killed = waiting[0]
    number = killed.connection.thread_id()
    ask(reader, f"KILL {number}")
    wait_for(lambda: not listed(number), 2)
    killed.join(2)
    assert killed.error in GONE, killed.error
    if len(waiting) > 1:
        number = waiting[1].connection.thread_id()
        waiting[1].connection._sock.shutdown(socket.SHUT_RDWR)
        wait_for(lambda: not listed(number), 5)


def free(directory):
    """What is left on the disk, in pages."""
    return os.statvfs(directory).f_bfree


def fill(hog):
    """Takes what is free."""
    try:
        while True:
            hog.write(b"x" * 65536)
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
