#!/usr/bin/env python3
"""mysqlbinlog and recovery agree: after kill -9 and a restart, replaying what MySQL's own
mysqlbinlog prints of every log file gives exactly the rows that the server has. What foreign keys
do to other tables stands there, too, and says that nobody must do it again.

The tool's name is in COHORT_MYSQLBINLOG.
"""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

import pymysql

from cohort import Cohort

CLIENTS, KEYS, SECONDS = 6, 500, 5
TABLES = "t", "child", "docs"
RETRY = (1062, 1205, 1213, 1452)


def document(text):
    """A JSON document of all kinds of values, small or with large offsets."""
    values = [None, True, -1, 70000, 2**40, 2**64 - 1, 0.5, text, "é \\ \""]
    return json.dumps({"n": random.choice(values), "list": values, "nested": {"": {}, "a": []},
                       "long": "x" * random.choice((0, 70000))})


def write(server, state):
    """Random changes until the server goes."""
    try:
        connection = server.connect(database="app")
        cursor = connection.cursor()
        while True:
            try:
                cursor.execute("BEGIN")
                for _ in range(random.randint(1, 5)):
                    key, text = random.randrange(KEYS), "x" * random.randrange(200)
                    cursor.execute(*random.choice((
                        ("INSERT INTO t VALUES (%s, %s, 1)", (key, text)),
                        ("REPLACE INTO t VALUES (%s, %s, 2)", (key, text)),
                        ("UPDATE t SET n = n + 1 WHERE id = %s", (key,)),
                        ("UPDATE t SET s = %s WHERE id BETWEEN %s AND %s", (text, key, key + 3)),
                        ("DELETE FROM t WHERE id = %s", (key,)),
                        ("UPDATE low SET n = n + 1 WHERE id = %s", (key,)),
                        ("REPLACE INTO low (s, n, id) VALUES (%s, 3, %s)", (text, key % 20)),
                        ("INSERT INTO child VALUES (%s, %s)", (key, (key + 1) % KEYS)),
                        ("REPLACE INTO docs VALUES (%s, %s)", (key, document(text))),
                        ("UPDATE docs SET j = JSON_SET(j, '$.n', %s) WHERE id = %s", (key, key + 1)),
                    )))
                cursor.execute(random.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            except pymysql.MySQLError as error:
                if error.args[0] not in RETRY:
                    raise
                cursor.execute("ROLLBACK")
    except (pymysql.MySQLError, OSError) as error:
        if not state["killed"]:
            state["failures"].append(error)


ROW = re.compile(r"^### (INSERT INTO|UPDATE|DELETE FROM) `app`\.`(t|child|docs)`$")
VALUE = re.compile(r"^###   @(\d+)=(NULL|-?\d+|'[^']*')")


def replay(text, tables):
    """Applies the decoded rows events to the rows of `tables`."""
    kind, part, rows, values, looks = None, None, None, {}, True

    def apply():
        if kind in ("UPDATE", "DELETE FROM"):
            before = values["WHERE"]
            assert rows.pop(before[1], None) == before, f"{kind} of a row that is not there"
            if looks and rows is tables["t"] and kind == "DELETE FROM":
                left = [row for row in tables["child"].values() if row[2] == before[1]]
                assert not left, f"a replica deletes {left}, which stayed here"
        if kind in ("UPDATE", "INSERT INTO"):
            after = values["SET"]
            assert after[1] not in rows, "a row is there already"
            rows[after[1]] = after

    for line in text.splitlines():
        if "_rows: table id" in line:
            # Whether who applies it looks at foreign keys.
            looks = "NO_FOREIGN_KEY_CHECKS_F" not in line
        if match := ROW.match(line):
            if kind:
                apply()
            kind, rows, values = match[1], tables[match[2]], {}
        elif line in ("### SET", "### WHERE"):
            part = line[4:]
            values[part] = {}
        elif kind and (match := VALUE.match(line)):
            values[part][int(match[1])] = match[2].strip("'").replace(r"\\", "\\")
        elif kind and not line.startswith("###"):
            apply()
            kind = None


def stored(cursor, table):
    """The rows of a table, as `replay` has them."""
    cursor.execute(f"SELECT * FROM {table}")
    return {str(row[0]): {i + 1: "NULL" if v is None else str(v) for i, v in enumerate(row)}
            for row in cursor.fetchall()}


def main():
    tool = os.environ["COHORT_MYSQLBINLOG"]
    with Cohort("--max-binlog-size", "200000", "--cohort-delta-size", "500000") as server:
        setup = server.connect(autocommit=True).cursor()
        setup.execute("CREATE DATABASE app")
        setup.execute("CREATE TABLE app.t (id INT PRIMARY KEY, s VARCHAR(200), n INT, KEY (n))")
        setup.execute("CREATE TABLE app.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) "
                      "REFERENCES app.t (id) ON DELETE CASCADE)")
        setup.execute("CREATE TABLE app.docs (id INT PRIMARY KEY, j JSON)")
        setup.execute("CREATE VIEW app.low AS SELECT id, n, s FROM app.t WHERE id < 20 WITH CHECK OPTION")
        state = {"killed": False, "failures": []}
        threads = [threading.Thread(target=write, args=(server, state)) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS)
        state["killed"] = True
        server.stop(signal.SIGKILL)
        for thread in threads:
            thread.join(60)
        assert not state["failures"], state["failures"]
        server.start()
        cursor = server.connect(database="app").cursor()
        recovered = {table: stored(cursor, table) for table in TABLES}
        assert all(recovered.values()), "there are rows to compare"
        cursor.execute("SELECT COUNT(*) FROM child LEFT JOIN t ON t.id = child.t "
                       "WHERE t.id IS NULL")
        assert cursor.fetchone() == (0,), "every child has its parent"
        files = sorted(pathlib.Path(server.data).rglob("binlog.[0-9]*"))
        # A commit goes to the file that the start began, which stays in use while it is read.
        cursor.execute("INSERT INTO t VALUES (-1, 'after the start', NULL)")
        recovered["t"]["-1"] = {1: "-1", 2: "after the start", 3: "NULL"}
        cursor.execute("COMMIT")
        cursor.execute("SHOW BINARY LOG STATUS")
        in_use, end = cursor.fetchone()[:2]
        assert files[-1].name == in_use and files[-1].stat().st_size > end, (files[-1], in_use)
        tables, cascades = {table: {} for table in TABLES}, 0
        for file in files:
            done = subprocess.run(
                [tool, "--verify-binlog-checksum", "-vv", "--base64-output=decode-rows", file],
                capture_output=True, text=True)
            assert done.returncode == 0, f"{file.name}: {done.stderr}"
            assert ("truncated event" in done.stderr) == (file.name == in_use), done.stderr
            replay(done.stdout, tables)
            cascades += done.stdout.count("NO_FOREIGN_KEY_CHECKS_F")
        assert tables == recovered, "the log and the recovered rows differ"
        assert cascades > 0, "children went with their parents"
        count = sum(map(len, tables.values()))
        print(f"binlog: {len(files)} files give the {count} rows that were recovered")


if __name__ == "__main__":
    main()
