#!/usr/bin/env python3
"""Change data capture by Debezium's MySQL connector (debezium/), unmodified: it takes a snapshot and
follows the log, while the server is killed, files end and are purged, and Debezium itself is ended
or killed and goes on. Each change comes, in order, and what it tells makes the server's tables.

  .ci/clients/debezium.py CLASSPATH-FILE [SECONDS [SEED]]
"""

import base64
import contextlib
import datetime
import decimal
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pymysql

from cohort import Cohort, seed_of
from sources import ask

SOURCE = pathlib.Path(__file__).parent / "debezium" / "Follow.java"
CLIENTS, KEYS = 4, 60


class Follower:
    """Debezium, and what it has told."""

    def __init__(self, classes, port, directory):
        self.command = ["java", "-Xmx512m", "-cp", classes, str(SOURCE), str(port), "app",
                        str(directory)]
        self.errors = directory / "errors"
        self.events, self.process, self.reader = [], None, None

    def start(self):
        """Starts it; it goes on where it was."""
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True)
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,))
        self.reader.start()

    def read(self, lines):
        """Takes what it tells. Of a line that a kill has cut nothing is known."""
        for line in lines:
            with contextlib.suppress(ValueError):
                self.events.append(json.loads(line))

    def end(self, kill):
        """Ends it in good order, or kills it."""
        if kill:
            self.process.kill()
        else:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            # It waits for a server that has gone.
            self.process.kill()
            self.process.wait()
        self.reader.join()

    def again(self):
        """Starts it again if it has ended: it does not wait for a server that is away."""
        if self.process.poll() is not None:
            self.end(kill=True)
            self.start()

    def told(self):
        """The end of its errors."""
        return self.errors.read_text()[-6000:]


def prepare(server):
    """The account and the tables."""
    for sql in (
            "CREATE USER repl@'%' IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO repl@'%'",
            "CREATE DATABASE app",
            "CREATE TABLE app.t (id INT PRIMARY KEY, s VARCHAR(100), n INT, KEY (n))",
            "CREATE TABLE app.done (id BIGINT PRIMARY KEY)",
            "CREATE TABLE app.types (a INT PRIMARY KEY, d DOUBLE, x DECIMAL(20,5), b BIT(7), y YEAR, "
            "t TIME(3), ts TIMESTAMP(6) NULL, dt DATETIME(2), da DATE, bl MEDIUMBLOB, "
            "tx LONGTEXT CHARACTER SET latin1, c CHAR(10), vb VARBINARY(30), u BIGINT UNSIGNED, "
            "e ENUM('x','ü'), st SET('p','q','r'), j JSON)"):
        ask(server, sql)
    for number in range(30):
        ask(server, f"INSERT INTO app.t VALUES ({number}, 'before', {number})")
    ask(server, types_row(random.Random(1), 1))


def types_row(rng, key):
    """A statement that writes a row of all types."""
    def maybe(text):
        return "NULL" if rng.random() < 0.1 else text
    micros = rng.randrange(10**6)
    moment = f"20{rng.randrange(10, 38)}-0{rng.randrange(1, 10)}-1{rng.randrange(10)} 1{rng.randrange(10)}:20:30"
    values = [rng.uniform(-1e9, 1e9), f"{rng.randrange(-10**14, 10**14)}.{rng.randrange(10**5):05}",
              f"b'{rng.randrange(128):b}'", rng.randrange(1901, 2155),
              f"'{rng.randrange(24):02}:10:11.{rng.randrange(1000):03}'", f"'{moment}.{micros:06}'",
              f"'{moment}.{micros // 10000:02}'", f"'{moment[:10]}'", f"x'{rng.randbytes(20).hex()}'",
              "'äöü €'", "'Zeile'", f"x'{rng.randbytes(9).hex()}'", rng.randrange(2**64),
              rng.choice(("'x'", "'ü'")), rng.choice(("'p'", "'p,r'", "''")),
              f"'{json.dumps({'k': [rng.randrange(9), 'ü', None, True]})}'"]
    return f"REPLACE INTO app.types VALUES ({key}, {', '.join(maybe(str(value)) for value in values)})"


def client(server, number, seed, state):
    """Random transactions, each with a number of its own, through kills of the server."""
    rng, connection, count = random.Random(seed), None, 0
    while not state["over"]:
        try:
            if connection is None:
                connection = server.connect(database="app")
                cursor = connection.cursor()
            count += 1
            name = number * 10**6 + count
            cursor.execute("BEGIN")
            try:
                for _ in range(rng.randrange(1, 4)):
                    key, kind = rng.randrange(KEYS), rng.random()
                    if kind < 0.4:
                        cursor.execute("REPLACE INTO t VALUES (%s, %s, %s)", (key, "x" * key, count))
                    elif kind < 0.7:
                        cursor.execute("UPDATE t SET n = n + 1 WHERE id = %s", (key,))
                    elif kind < 0.8:
                        cursor.execute("DELETE FROM t WHERE id = %s", (key,))
                    else:
                        cursor.execute(types_row(rng, key))
                cursor.execute("INSERT INTO done VALUES (%s)", (name,))
                cursor.execute("COMMIT")
            except pymysql.MySQLError as error:
                if error.args[0] not in (1205, 1213):
                    raise
                cursor.execute("ROLLBACK")
            # Debezium is slower than this.
            time.sleep(0.01)
        except (pymysql.OperationalError, pymysql.InterfaceError, OSError):
            connection = None
            time.sleep(0.05)
        except Exception as error:  # pylint: disable=broad-except
            state["failures"].append(error)
            return


def trouble(server, follower, rng, state):
    """Kills and ends, of both, and files that end and go."""
    while not state["over"]:
        time.sleep(rng.uniform(0.5, 1.5))
        follower.again()
        what = rng.random()
        if what < 0.25:
            server.stop(signal.SIGKILL)
            server.start()
            state["kills"] += 1
        elif what < 0.5:
            follower.end(kill=rng.random() < 0.5)
            follower.start()
            state["starts"] += 1
        else:
            ask(server, "FLUSH BINARY LOGS")


def shown(value):
    """A value of the server as Debezium tells it, as far as both can be compared."""
    epoch = datetime.datetime(1970, 1, 1)
    match value:
        case bytes():
            return value.hex()
        case decimal.Decimal() | float():
            return float(value)
        case datetime.datetime():
            return (value - epoch) // datetime.timedelta(microseconds=1)
        case datetime.date():
            return (value - epoch.date()).days
        case datetime.timedelta():
            return value // datetime.timedelta(microseconds=1)
        case _:
            return value


def compared(table, row):
    """A row that Debezium has told, in the same terms."""
    if table != "types":
        return row
    row = dict(row)
    if row["x"] is not None:
        row["x"] = float(row["x"])
    # Of seconds' parts up to 3 digits it tells milliseconds.
    if row["dt"] is not None:
        row["dt"] *= 1000
    if row["ts"] is not None:
        moment = datetime.datetime.fromisoformat(row["ts"]).replace(tzinfo=None)
        row["ts"] = shown(moment)
    if row["b"] is not None:
        row["b"] = base64.b64decode(row["b"]).hex()
    if row["j"] is not None:
        row["j"] = json.loads(row["j"])
    if row["u"] is not None:
        row["u"] %= 2**64
    return row


def contents(server):
    """The tables, by their keys."""
    found = {}
    with contextlib.closing(server.connect(database="app", autocommit=True)) as connection, \
            connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        for table in ("t", "done", "types"):
            cursor.execute(f"SELECT * FROM {table}")
            for row in cursor.fetchall():
                row = {name: shown(value) for name, value in row.items()}
                if row.get("j") is not None:
                    row["j"] = json.loads(row["j"])
                found[table, row.get("id", row.get("a"))] = row
    return found


def made(events):
    """What the events make; each of them is told once, or again as it was."""
    tables, seen, last = {}, {}, {}
    for event in events:
        source = event["source"]
        table = source["table"]
        if event["op"] != "r":
            place = (source["file"], source["pos"], source["row"])
            told = (event["op"], table, event["before"], event["after"])
            assert seen.setdefault(place, told) == told, ("told otherwise again", place, told)
        after = event["after"]
        key = (table, (after or event["before"]).get("id", (after or event["before"]).get("a")))
        if after is None:
            tables.pop(key, None)
        else:
            tables[key] = compared(table, after)
        if table == "done":
            last[key[1]] = last.get(key[1], 0) + 1
    return tables, len(seen)


def main():
    classes = pathlib.Path(sys.argv[1]).read_text().strip()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 15
    seed = seed_of(3)
    print(f"debezium: seed {seed}", flush=True)
    state = {"over": False, "failures": [], "kills": 0, "starts": 0}
    with tempfile.TemporaryDirectory(prefix="debezium-") as directory, \
            Cohort("--server-id", "51", "--max-binlog-size", "200000") as server:
        prepare(server)
        follower = Follower(classes, server.port, pathlib.Path(directory))
        follower.start()
        try:
            until = time.monotonic() + 60
            while not any(event["op"] == "r" for event in follower.events):
                assert time.monotonic() < until, follower.told()
                time.sleep(0.1)
            threads = [threading.Thread(target=client, args=(server, n, seed * 10 + n, state))
                       for n in range(1, CLIENTS + 1)]
            for thread in threads:
                thread.start()
            ending = threading.Timer(seconds, lambda: state.update(over=True))
            ending.start()
            try:
                trouble(server, follower, random.Random(seed), state)
            finally:
                state["over"] = True
                for thread in threads:
                    thread.join()
            assert not state["failures"], state["failures"]
            ask(server, "INSERT INTO app.done VALUES (1)")
            until = time.monotonic() + 90
            while not any(event["source"]["table"] == "done" and event["op"] == "c" and
                          event["after"]["id"] == 1 for event in follower.events[-2000:]):
                assert time.monotonic() < until, follower.told()
                follower.again()
                time.sleep(0.2)
        finally:
            follower.end(kill=True)
        wanted = contents(server)
        found, count = made(follower.events)
        for key in wanted.keys() | found.keys():
            assert wanted.get(key) == found.get(key), (key, wanted.get(key), found.get(key))
    print(f"debezium: {count} changes make the same {len(wanted)} rows, after {state['kills']} kills "
          f"of the server and {state['starts']} starts of Debezium", flush=True)


if __name__ == "__main__":
    main()
