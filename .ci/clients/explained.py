#!/usr/bin/env python3
"""EXPLAIN FOR CONNECTION: whose statement may be asked about, what is told of it, and which errors there are.

  .ci/clients/explained.py

MySQL, where it is there, is asked the same: it must have the same errors and the same columns, and be silent where
Cohort is. Of a statement that runs Cohort's answer must be that of EXPLAIN of it.
"""

import contextlib
import pathlib
import tempfile
import threading
import time

import pymysql

from cohort import Cohort, free_port
from logs import PEERS
from replicas import MySQL
from sources import Source

MADE = ("CREATE DATABASE e", "CREATE TABLE e.t (a INT PRIMARY KEY, b INT, KEY b (b))",
        "INSERT INTO e.t VALUES (1, 1), (2, 2), (3, 3)", "CREATE USER one", "CREATE USER two",
        "GRANT ALL ON e.* TO one", "GRANT ALL ON e.* TO two", "CREATE USER seer IDENTIFIED BY 'x'",
        "GRANT PROCESS ON *.* TO seer", "GRANT SELECT ON e.* TO seer")
FORMS = ("", "FORMAT = TRADITIONAL ", "FORMAT=TREE ", "format = 'json' ")
# What runs, and whether there is a plan of it; None: nothing is said of it, and that is no error.
RUNNING = (
    ("SELECT SLEEP(0.4) FROM t WHERE a = 1", True),
    ("/* a */ SELECT b, SLEEP(0.2) FROM t WHERE b > 1", True),
    ("(SELECT SLEEP(0.4))", True),
    ("WITH x AS (SELECT 1 AS a) SELECT SLEEP(0.4) FROM x", True),
    ("UPDATE t SET b = b WHERE a = 2 AND SLEEP(0.4)", True),
    ("DELETE FROM t WHERE a = 2 AND SLEEP(0.4)", True),
    ("REPLACE INTO t VALUES (9, SLEEP(0.4))", True),
    ("INSERT INTO t SELECT 8, SLEEP(0.4)", True),
    ("DO SLEEP(0.4)", False),
    ("SET @x = (SELECT SLEEP(0.4))", False),
    ("CREATE TABLE made AS SELECT SLEEP(0.4) AS a", False),
)
# What is refused, whatever runs.
REFUSED = ("EXPLAIN FOR CONNECTION 987654", "DESC FORMAT = TREE FOR CONNECTION 987654", "EXPLAIN FOR CONNECTION -1",
           "EXPLAIN FOR CONNECTION CONNECTION_ID()", "EXPLAIN FOR CONNECTION 'x'", "EXPLAIN FOR CONNECTION",
           "EXPLAIN FOR CONNECTION 5 FORMAT = JSON", "EXPLAIN ANALYZE FOR CONNECTION 5",
           "PREPARE s FROM 'EXPLAIN FOR CONNECTION 5'", "EXPLAIN FOR CONNECTION {own}")


def outcome(cursor, sql):
    """The error, or the columns and the rows."""
    try:
        cursor.execute(sql)
    except pymysql.MySQLError as error:
        return error.args
    if cursor.description is None:
        return None
    return [column[0] for column in cursor.description], cursor.fetchall()


def told(server):
    """What a server says in each case. Rows are its own affair, but for their columns."""
    found = {}
    with contextlib.ExitStack() as stack:
        def enter(user, **options):
            connection = stack.enter_context(server(user=user, autocommit=True, **options))
            return connection, stack.enter_context(connection.cursor())
        root = enter("root")[1]
        for sql in MADE:
            root.execute(sql)
        (_, asking), (runner, running), (_, other) = enter("one"), enter("one", database="e"), enter("two")
        seer = enter("seer", password="x")[1]
        own, number = asking.connection.thread_id(), runner.thread_id()
        # MySQL's own default is another one.
        asking.execute("SET SESSION explain_format = 'TRADITIONAL'")
        for sql in REFUSED:
            found[sql] = outcome(asking, sql.format(own=own))
        found["idle"] = outcome(asking, f"EXPLAIN FOR CONNECTION {number}")
        for sql, has_plan in RUNNING:
            for form in FORMS:
                thread = threading.Thread(target=outcome, args=(running, sql))
                thread.start()
                time.sleep(0.15)
                answer = outcome(asking, f"EXPLAIN {form}FOR CONNECTION {number}")
                if form == FORMS[1]:
                    found["other", sql] = outcome(other, f"EXPLAIN FOR CONNECTION {number}")
                    found["seer", sql] = isinstance(outcome(seer, f"EXPLAIN FOR CONNECTION {number}"), tuple)
                thread.join()
                if has_plan:
                    columns, rows = answer
                    assert rows, (sql, form)
                    found[sql, form] = columns
                    if server.name == "cohort":
                        asking.execute("USE e")
                        plain = outcome(asking, "EXPLAIN " + form.replace("'", "") + sql)
                        assert answer == plain, (sql, form, answer, plain)
                else:
                    found[sql, form] = answer
            running.execute("DROP TABLE IF EXISTS made")
    return found


class Server:
    """How to reach one."""

    def __init__(self, name, connect):
        self.name, self.connect = name, connect

    def __call__(self, **options):
        return self.connect(**options)


def main():
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Cohort())
        own = told(Server("cohort", server.connect))
        assert own["idle"] is None and own["other", RUNNING[0][0]][0] == 1045, own
        assert own[RUNNING[0][0], ""][:3] == ["id", "select_type", "table"], own
        assert own[RUNNING[-1][0], ""][0] == 3012 and own[REFUSED[0]] == (1094, "Unknown thread id: 987654"), own
        with server.connect() as root, root.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_explain_other'")
            assert int(cursor.fetchone()[1]) > len(RUNNING) * len(FORMS), "they are counted"
        if (PEERS / "usr/sbin/mysqld").exists():
            room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="explained-")))
            peer = Source(MySQL(room, PEERS), room, free_port())
            stack.callback(peer.end)
            theirs = told(Server("mysql", lambda **options: pymysql.connect(
                host="127.0.0.1", port=peer.port, **options)))
            for case, answer in own.items():
                assert answer == theirs[case], (case, answer, theirs[case])
            print(f"explained: {len(own)} answers are MySQL's", flush=True)
        assert server.stop() == 0
    print("explained: for connections")


if __name__ == "__main__":
    main()
