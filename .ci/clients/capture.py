#!/usr/bin/env python3
"""Change data capture by python-mysql-replication, unmodified: it follows the log by GTID, and goes
on where it was, while the server is killed and files end. Each change comes once, in order, and what
it tells makes the server's tables.

  .ci/clients/capture.py [SECONDS [SEED]]
"""

import contextlib
import random
import signal
import sys
import threading
import time

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import GtidEvent
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from cohort import Cohort, seed_of
from debezium import client, prepare
from sources import ask

ROWS = [DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent]
CLIENTS = 4


class Follower:
    """What the reader has told; it is made anew whenever the connection is lost."""

    def __init__(self, server, number):
        self.server, self.number = server, number
        self.tables, self.done, self.over, self.failures = {}, [], False, []
        self.uuid, self.last = None, 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        """Follows until it is over."""
        while not self.over:
            try:
                self.follow()
            except (pymysql.OperationalError, pymysql.InterfaceError, OSError):
                time.sleep(0.05)
            except Exception as error:  # pylint: disable=broad-except
                self.failures.append(error)
                return

    def follow(self):
        """Follows until the connection is lost."""
        settings = {"host": "127.0.0.1", "port": self.server.port, "user": "repl",
                    "passwd": "secret"}
        where = {"auto_position": f"{self.uuid}:1-{self.last}"} if self.last else \
            {"log_file": "binlog.000001", "log_pos": 4, "resume_stream": True}
        reader = BinLogStreamReader(
            connection_settings=settings, server_id=self.number, only_events=[*ROWS, GtidEvent],
            only_schemas=["app"], blocking=False, slave_heartbeat=1, **where)
        changes, name = [], None
        with contextlib.closing(reader):
            # A reader that does not wait ends with the log; then it goes on from there.
            for event in reader:
                if isinstance(event, GtidEvent):
                    # What was gathered is a whole transaction: the next one begins.
                    self.take(changes, name)
                    changes, name = [], event.gtid
                    continue
                kind = type(event)
                for row in event.rows:
                    changes.append((kind, event.table, row))
            self.take(changes, name)
        time.sleep(0.02)

    def take(self, changes, name):
        """The changes of a transaction."""
        if name is None:
            return
        uuid, number = name.split(":")
        assert int(number) == self.last + 1, (name, self.last, "is missing or comes again")
        self.uuid, self.last = uuid, int(number)
        for kind, table, row in changes:
            values = row["after_values"] if kind is UpdateRowsEvent else row["values"]
            before = row["before_values"] if kind is UpdateRowsEvent else row["values"]
            place = (table, next(iter(before.values())))
            if kind is WriteRowsEvent:
                assert place not in self.tables, (name, place, "is there already")
            else:
                assert self.tables.pop(place) == before, (name, place, "was another")
            if kind is not DeleteRowsEvent:
                self.tables[table, next(iter(values.values()))] = values
            if table == "done" and kind is WriteRowsEvent:
                self.done.append(values["id"])

    def end(self):
        """Waits for it."""
        self.over = True
        self.thread.join()
        assert not self.failures, self.failures


def contents(server):
    """The tables, by their keys, as the reader has values."""
    found = {}
    with contextlib.closing(server.connect(database="app", autocommit=True)) as connection, \
            connection.cursor(pymysql.cursors.DictCursor) as cursor:
        for table in ("t", "done", "types"):
            cursor.execute(f"SELECT * FROM {table}")
            for row in cursor.fetchall():
                found[table, next(iter(row.values()))] = row
    return found


def alike(table, row):
    """A row in terms that both have."""
    if table != "types":
        return row
    row = dict(row)
    # A SET is a set there, a BIT a text of digits, a document one with texts in bytes.
    for name in ("st", "b", "j"):
        row.pop(name, None)
    return row


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = seed_of(2)
    print(f"capture: seed {seed}", flush=True)
    rng = random.Random(seed)
    state = {"over": False, "failures": [], "kills": 0}
    with Cohort("--server-id", "61", "--max-binlog-size", "100000") as server:
        prepare(server)
        follower = Follower(server, 62)
        threads = [threading.Thread(target=client, args=(server, n, seed * 10 + n, state))
                   for n in range(1, CLIENTS + 1)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(rng.uniform(0.3, 1))
            if rng.random() < 0.5:
                server.stop(signal.SIGKILL)
                server.start()
                state["kills"] += 1
            else:
                ask(server, "FLUSH BINARY LOGS")
        state["over"] = True
        for thread in threads:
            thread.join()
        assert not state["failures"], state["failures"]
        wanted, until = contents(server), time.monotonic() + 60
        while len(follower.done) < sum(table == "done" for table, _ in wanted):
            assert time.monotonic() < until and not follower.failures, follower.failures
            time.sleep(0.1)
        time.sleep(0.2)
        follower.end()
        assert len(follower.done) == len(set(follower.done))
        for key in wanted.keys() | follower.tables.keys():
            here, there = wanted.get(key), follower.tables.get(key)
            assert here and there and alike(key[0], here) == alike(key[0], there), (key, here, there)
    print(f"capture: {follower.last} transactions, each once, make the same {len(wanted)} rows, after "
          f"{state['kills']} kills", flush=True)


if __name__ == "__main__":
    main()
