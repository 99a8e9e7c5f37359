#!/usr/bin/env python3
"""Everything can be killed, and everything ends with its client.

For each statement of a list: KILL QUERY ends it within half a second, and when its client is gone
without a word it ends within two seconds (both measured on the process list). A client that does
not read its rows is ended by KILL, too. Afterwards no lock, transaction or thread is left behind.

  kill.py [NAME…]      only these statements
"""

import os
import socket
import struct
import sys
import threading
import time

import pymysql
from pymysql.constants import COMMAND

from cohort import Cohort

KILL_SECONDS, GONE_SECONDS = 0.5, 2.0
# Unoptimised code on a busy machine takes its time.
SLOW = float(os.environ.get("KILL_CHECK_SLOWNESS", "1"))
INTERRUPTED = 1317

BIG = "big a, big b, big c, big d"
# Name and statement; each takes minutes or for ever.
RUNNING = {
    "sleep": "SELECT SLEEP(600)",
    "sleep per row": "SELECT COUNT(*) FROM big WHERE SLEEP(0.01)",
    "cross join": f"SELECT COUNT(*) FROM {BIG}",
    "cross join without a match": f"SELECT a.id FROM {BIG} WHERE a.v + b.v + c.v + d.v < 0",
    "sum of a cross join": f"SELECT SUM(a.v + b.v * c.v) FROM {BIG}",
    "groups": f"SELECT a.v, b.v, c.v, COUNT(*) FROM {BIG} GROUP BY a.v, b.v, c.v",
    "distinct": f"SELECT COUNT(*) FROM (SELECT DISTINCT a.id x, b.id y, c.id z FROM {BIG}) t",
    "count distinct": f"SELECT COUNT(DISTINCT a.id, b.id, c.id) FROM {BIG}",
    "sort": f"SELECT a.id FROM {BIG} ORDER BY a.v + b.v, c.v, d.v LIMIT 9999999, 1",
    "group_concat": f"SELECT LENGTH(GROUP_CONCAT(a.v, b.v)) FROM {BIG}",
    "union": f"SELECT COUNT(*) FROM (SELECT a.id x, b.id y, c.id z FROM {BIG} UNION "
             f"SELECT 1, 2, 3) t",
    "derived table": f"SELECT COUNT(*) FROM (SELECT a.id FROM {BIG} LIMIT 999999999) t",
    "subquery per row": "SELECT COUNT(*) FROM big a, big b WHERE a.v = "
                        "(SELECT MAX(c.v) + a.id + b.id FROM big c)",
    "exists per row": "SELECT COUNT(*) FROM big a, big b WHERE EXISTS "
                      "(SELECT 1 FROM big c, big d WHERE c.v + d.v = -a.id - b.id)",
    "in per row": "SELECT COUNT(*) FROM big a, big b, big c WHERE a.id + b.id + c.id + 0.5 IN "
                  "(SELECT v FROM big)",
    "recursive cte": "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) "
                     "SELECT COUNT(*) FROM n",
    "wide recursive cte": "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL "
                          "SELECT n.i + 1 FROM n, big WHERE n.i < 4) SELECT COUNT(*) FROM n",
    "recursive cte with distinct": "WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT i % 1000000000 "
                                   "+ 1 FROM n) SELECT COUNT(*) FROM n",
    "insert select": f"INSERT INTO sink SELECT a.id FROM {BIG}",
    "insert ignore select": f"INSERT IGNORE INTO keyed SELECT 1 FROM {BIG}",
    "replace select": f"REPLACE INTO keyed SELECT 1 FROM {BIG}",
    "update with a slow condition": "UPDATE big SET v = v + 1 WHERE (SELECT COUNT(*) FROM sink, "
                                    "wide b, wide c WHERE b.id + c.id < big.id) < 0",
    "update": f"UPDATE keyed SET id = id WHERE id > (SELECT COUNT(*) FROM {BIG})",
    "delete": f"DELETE FROM wide WHERE (SELECT COUNT(*) FROM {BIG}) < 0",
    "delete joined": "DELETE keyed FROM keyed, big a, big b, big c, big d WHERE a.v + b.v + c.v "
                     "+ d.v < 0",
    "update joined": "UPDATE wide, big b, big c, big d SET wide.v = 1 WHERE b.v + c.v + d.v < 0",
    "like": "SELECT COUNT(*) FROM big WHERE CONCAT(id, REPEAT('a', 100000)) LIKE "
            "'%a%a%a%a%a%a%a%a%b'",
    "one like with underscores": "SELECT REPEAT('a', 4000000) LIKE "
                                 "CONCAT('%', REPEAT('_', 300000), 'b%')",
    "regexp": "SELECT COUNT(*) FROM big a, big b WHERE CONCAT(a.id, b.id, REPEAT('a', 100000)) REGEXP "
              "'(a|aa)+(a|b)*c'",
    "long regexps": "SELECT COUNT(*) FROM big WHERE CONCAT(REPEAT('a', 1000000), id) REGEXP "
                    "'(.*a){20}b'",
    "one locate": "SELECT LOCATE(CONCAT(REPEAT('a', 2000000), 'b'), REPEAT('a', 8000000))",
    # With both in one operand, no key of b spares the evaluation per pair.
    "repeat": "SELECT COUNT(*) FROM big a, big b WHERE LENGTH(REPEAT(a.id, 4000000)) + b.id = 0",
    "do": f"DO (SELECT COUNT(*) FROM {BIG})",
    "set": f"SET @x = (SELECT COUNT(*) FROM {BIG})",
    "select into": f"SELECT COUNT(*) INTO @x FROM {BIG}",
    "in list": "SELECT COUNT(*) FROM big a, big b, big c WHERE a.id + b.id + c.id IN ("
               + ", ".join(f"{i}.5" for i in range(3000)) + ")",
    "case": "SELECT SUM(CASE " + " ".join(f"WHEN a.id + b.id = {i}.5 THEN 1" for i in range(2000))
            + f" END) FROM {BIG}",
}
# What waits: what another session does first, and the statement.
WAITING = {
    "row lock": ("BEGIN; UPDATE wide SET v = 2 WHERE id = 1", "UPDATE wide SET v = 3 WHERE id = 1"),
    "table's metadata": ("BEGIN; SELECT * FROM wide LIMIT 1", "ALTER TABLE wide ADD COLUMN n INT"),
    "create index behind": ("BEGIN; UPDATE wide SET v = 2 WHERE id = 1",
                            "CREATE INDEX late ON wide (v)"),
    "drop table": ("BEGIN; SELECT * FROM wide LIMIT 1", "DROP TABLE wide"),
    "lock tables": ("LOCK TABLES wide WRITE", "LOCK TABLES wide READ"),
    "read of a locked table": ("LOCK TABLES wide WRITE", "SELECT COUNT(*) FROM wide"),
    "flush tables": ("LOCK TABLES wide WRITE", "FLUSH TABLES WITH READ LOCK"),
    "write under a global lock": ("FLUSH TABLES WITH READ LOCK", "UPDATE wide SET v = 9"),
    "get_lock": ("SELECT GET_LOCK('l', 0)", "SELECT GET_LOCK('l', 600)"),
    "backup lock": ("LOCK INSTANCE FOR BACKUP", "CREATE TABLE late (a INT)"),
}
# What works on many rows; some of it is over before it can be killed on a fast machine.
BUILDING = {
    "create index": "CREATE INDEX i ON many (v, w)",
    "alter": "ALTER TABLE many MODIFY w BIGINT",
    "check table": "CHECK TABLE many",
    "delete all": "DELETE FROM many WHERE v >= 0",
    "update all": "UPDATE many SET v = v + 1, w = w + 1",
}


def lines(server, statements):
    connection = server.connect(autocommit=True, database="test")
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    return connection


def prepare(server):
    lines(server, [
        "CREATE TABLE big (id INT PRIMARY KEY, v INT)",
        "INSERT INTO big VALUES " + ", ".join(f"({i}, {i * 7 % 1000})" for i in range(1000)),
        "CREATE TABLE sink (id INT)",
        "INSERT INTO sink VALUES (1)",
        "CREATE TABLE keyed (id INT PRIMARY KEY)",
        "INSERT INTO keyed VALUES (1)",
        "CREATE TABLE wide (id INT PRIMARY KEY, v INT)",
        "INSERT INTO wide SELECT id, v FROM big",
        "CREATE TABLE many (id INT AUTO_INCREMENT PRIMARY KEY, v INT, w INT)",
        "INSERT INTO many (v, w) SELECT a.v, b.v FROM big a, big b WHERE b.id < 200",
    ]).close()


class Run:
    """A statement under way: with a thread that waits for its result, or without."""

    def __init__(self, server, statement, waits=True):
        self.connection = lines(server, [
            "SET SESSION cte_max_recursion_depth = 4294967295",
            "SET SESSION group_concat_max_len = 1073741824",
            "SET SESSION lock_wait_timeout = 600, innodb_lock_wait_timeout = 600"])
        self.id, self.statement, self.error = self.connection.thread_id(), statement, None
        self.thread = None
        if waits:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()
        else:
            self.connection._execute_command(COMMAND.COM_QUERY, statement)

    def run(self):
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(self.statement)
                self.result = cursor.fetchall()
        except pymysql.Error as error:
            self.error = error.args[0]

    def vanish(self, how):
        """Ends the connection as a client does that dies: the kernel closes it, or resets it."""
        stream = self.connection._sock
        if how == "half":
            return stream.shutdown(socket.SHUT_WR)
        if how == "reset":
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection._rfile.close()
        return stream.close()


def wait_until(condition, limit):
    begun = time.monotonic()
    while time.monotonic() - begun < limit:
        if condition():
            return time.monotonic() - begun
        time.sleep(0.01)
    return None


class Checks:
    def __init__(self, server):
        self.server, self.failed = server, []
        self.boss = server.connect(autocommit=True, database="test")

    def ask(self, sql):
        with self.boss.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def is_running(self, run):
        rows = self.ask("SHOW PROCESSLIST")
        return any(row[0] == run.id and row[4] not in ("Sleep",) for row in rows)

    def is_there(self, run):
        return any(row[0] == run.id for row in self.ask("SHOW PROCESSLIST"))

    def report(self, name, what, took, limit):
        good = took is not None and took <= limit * SLOW
        shown = "never" if took is None else f"{took:.2f} s"
        print(f"{'ok  ' if good else 'FAIL'} {name}: {what}: {shown}", flush=True)
        if not good:
            self.failed.append(f"{name}: {what}")

    def kill(self, name, statement, may_end=False):
        run = Run(self.server, statement)
        if wait_until(lambda: self.is_running(run), 5) is None:
            return self.missed(name, run, may_end)
        time.sleep(0.1 if may_end else 0.3)
        if not run.thread.is_alive():
            return self.missed(name, run, may_end)
        begun = time.monotonic()
        self.ask(f"KILL QUERY {run.id}")
        run.thread.join(10)
        took = None if run.thread.is_alive() else time.monotonic() - begun
        self.report(name, "KILL QUERY", took, KILL_SECONDS)
        if took is None:
            self.ask(f"KILL {run.id}")
        elif run.error not in (INTERRUPTED, None) or (run.error is None and "SLEEP" not in
                                                      statement and not may_end):
            self.failed.append(f"{name}: {run.error}")
            print(f"FAIL {name}: error {run.error}, result {run.result if run.error is None else ''}")
        run.connection.close()

    def missed(self, name, run, may_end):
        if run.thread:
            run.thread.join(10)
        if not may_end:
            self.failed.append(f"{name}: over too early: {run.error}")
            print(f"FAIL {name}: over too early: {run.error}", flush=True)
        else:
            print(f"skip {name}: over before it could be killed ({run.error})", flush=True)

    def vanish(self, name, statement, how):
        run = Run(self.server, statement, waits=False)
        if wait_until(lambda: self.is_running(run), 5) is None:
            return self.missed(name, run, False)
        time.sleep(0.3)
        begun = time.monotonic()
        run.vanish(how)
        wait_until(lambda: not self.is_there(run), 10)
        gone = not self.is_there(run)
        took = time.monotonic() - begun if gone else None
        self.report(name, f"client gone ({how})", took, GONE_SECONDS)
        if took is None:
            self.ask(f"KILL {run.id}")


def running(checks, names):
    for number, (name, statement) in enumerate(RUNNING.items()):
        if names and name not in names:
            continue
        checks.kill(name, statement)
        checks.vanish(name, statement, "reset" if number % 2 else "closed")


def slow_readers(checks, names):
    """Clients that do not take their rows; the last one keeps a table from being changed."""
    if names and "slow reader" not in names:
        return
    statement = "SELECT REPEAT('x', 1000), a.id FROM wide a, big b, big c"
    for what in ["KILL QUERY", "KILL"]:
        run = Run(checks.server, statement, waits=False)
        wait_until(lambda: checks.is_running(run), 5)
        time.sleep(0.5)
        begun = time.monotonic()
        checks.ask(f"{what} {run.id}")
        ended = wait_until(lambda: not checks.is_running(run), 10)
        checks.report("slow reader", what, ended, KILL_SECONDS)
        checks.ask("ALTER TABLE wide COMMENT 'changed'")
        took = time.monotonic() - begun
        checks.report("slow reader", f"ALTER TABLE after {what}", took, GONE_SECONDS)
        if what == "KILL":
            took = wait_until(lambda: not checks.is_there(run), 10)
            checks.report("slow reader", "its connection is gone", took, KILL_SECONDS)
        run.vanish("reset")
    checks.vanish("slow reader", statement, "closed")


def ahead(checks, names):
    """A client that sends ahead, and then closes its side, gets all its answers."""
    if names and "ahead" not in names:
        return
    run = Run(checks.server, "SELECT SLEEP(2)", waits=False)
    for _ in range(2):
        run.connection._next_seq_id = 0
        run.connection.write_packet(b"\x03SELECT 7")
    run.connection._sock.shutdown(socket.SHUT_WR)
    answers = []
    for _ in range(3):
        result = pymysql.connections.MySQLResult(run.connection)
        run.connection._next_seq_id = 1
        result.read()
        answers.append(result.rows)
    assert answers == [((0,),), ((7,),), ((7,),)], answers
    print("ok   ahead: a client that closed its side after three commands got three answers")
    checks.vanish("half closed", "SELECT SLEEP(600)", "half")


def waiting(checks, names):
    for number, (name, (first, statement)) in enumerate(WAITING.items()):
        if names and name not in names:
            continue
        holder = lines(checks.server, first.split("; "))
        checks.kill(name, statement)
        checks.vanish(name, statement, "reset" if number % 2 else "closed")
        holder.close()


def building(checks, names):
    for name, statement in BUILDING.items():
        if names and name not in names:
            continue
        checks.kill(name, statement, may_end=True)
        if name == "create index":
            wait_until(lambda: not checks.ask("SHOW INDEX FROM many WHERE Key_name = 'i'")
                       or not checks.ask("DROP INDEX i ON many"), 10)


def main():
    names = sys.argv[1:]
    with Cohort() as server:
        server.connect().cursor().execute("CREATE DATABASE test")
        prepare(server)
        checks = Checks(server)
        running(checks, names)
        slow_readers(checks, names)
        ahead(checks, names)
        waiting(checks, names)
        building(checks, names)
        if checks.failed:
            sys.exit("not in time:\n  " + "\n  ".join(checks.failed))


main()
