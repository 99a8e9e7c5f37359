#!/usr/bin/env python3
"""Random transactions of several clients, at each isolation level, with a server that is killed
again and again; what they saw is checked for circles in time, and for what was lost.

See `history_check.py` for what is claimed. An unknown outcome (a commit that was under way when the
server was killed) is settled by what is there at the end. What anybody read, and what was
acknowledged, must be there; a transaction that was prepared (XA) must be there to be ended.

  histories.py [SEED] [SECONDS] [CLIENTS]
"""

import itertools
import random
import signal
import sys
import threading
import time

import pymysql

from cohort import Cohort
from history_check import (COMMITTED, REPEATABLE, SERIALIZABLE, UNCOMMITTED, Add, Append, History,
                           Read, Txn, self_test)

LEVELS = (COMMITTED, REPEATABLE, SERIALIZABLE, UNCOMMITTED)
# As many keys are in use at once, and as many transactions are begun before the next one is.
KEYS, TXNS_PER_KEY, ROWS_PER_GROUP = 8, 12, 4
GIVE_UP = (1062, 1205, 1213)
SERVER_GONE = (2003, 2006, 2013, 2055, 1053, 1158, 1159, 1160, 1161)


class Part:
    """One level's part of a run: its tables, and its transactions."""

    def __init__(self, server, level, number, seed):
        self.server, self.level, self.number, self.seed = server, level, number, seed
        self.lists, self.sets = f"h.list{number}", f"h.set{number}"
        self.txns, self.numbers, self.begun = [], itertools.count(1), itertools.count()
        self.stop, self.up, self.failures, self.working = False, threading.Event(), [], set()
        # Transactions that were prepared and not ended, by name; and whether XA PREPARE was
        # answered, and an end asked for.
        self.prepared = {}
        self.kills = 0
        cursor = server.connect(autocommit=True).cursor()
        # Several paths to each row, and rows of several pages.
        cursor.execute(f"CREATE TABLE {self.lists} (id INT PRIMARY KEY, grp INT, list MEDIUMTEXT, "
                       "pad VARCHAR(200), KEY (grp))")
        cursor.execute(f"CREATE TABLE {self.sets} (e BIGINT PRIMARY KEY, k INT, KEY (k))")

    def client(self, number):
        """Transactions until the part ends."""
        rng = random.Random(f"{self.seed}.{self.level}.{number}")
        while not self.stop:
            self.up.wait()
            self.working.add(number)
            if not self.up.is_set():
                self.working.discard(number)
                continue
            try:
                connection = self.server.connect(autocommit=True, read_timeout=60)
                cursor = connection.cursor()
                cursor.execute("SET innodb_lock_wait_timeout = 2")
                cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.level}")
                while not self.stop:
                    Client(self, rng, cursor).transaction()
            except (pymysql.MySQLError, OSError) as error:
                if not isinstance(error, OSError) and error.args[0] not in SERVER_GONE:
                    self.failures.append(error)
                    return
                time.sleep(0.02)
            except Exception as error:  # A thread's end would otherwise be silent.
                self.failures.append(error)
                raise
            finally:
                self.working.discard(number)

    def settle_prepared(self):
        """Ends what a kill left prepared; nothing that was prepared may be missing."""
        cursor = self.server.connect(autocommit=True).cursor()
        cursor.execute("XA RECOVER")
        listed = {row[3] for row in cursor.fetchall()}
        for name, (txn, answered, ending) in list(self.prepared.items()):
            if name in listed:
                commit = ending or random.random() < 0.5
                cursor.execute(f"XA {'COMMIT' if commit else 'ROLLBACK'} '{name}'")
                txn.outcome, txn.ended = "committed" if commit else "failed", time.monotonic()
            elif answered and not ending:
                raise AssertionError(f"prepared, and lost by a kill: {name}")
            # Otherwise the end tells.
        self.prepared.clear()

    def kill(self):
        """Kills the server and starts it again, when all clients have noted that it is gone."""
        self.up.clear()
        self.server.stop(signal.SIGKILL)
        until = time.monotonic() + 90
        while self.working:
            assert time.monotonic() < until, "a client hangs"
            time.sleep(0.01)
        self.server.start()
        self.kills += 1

    def run(self, seconds, clients):
        """Runs the part; returns what is wrong."""
        rng, until = random.Random(f"{self.seed}.{self.level}"), time.monotonic() + seconds
        threads = [threading.Thread(target=self.client, args=(n,), daemon=True)
                   for n in range(clients)]
        self.up.set()
        for thread in threads:
            thread.start()
        while time.monotonic() < until and not self.failures:
            time.sleep(min(rng.uniform(0.3, 3), max(0.1, until - time.monotonic())))
            self.stop = time.monotonic() >= until
            self.kill()
            self.settle_prepared()
            self.up.set()
        self.stop = True
        for thread in threads:
            thread.join(90)
            assert not thread.is_alive(), "a client hangs"
        if self.failures:
            raise self.failures[0]
        self.settle_prepared()
        lists, sets = self.end()
        return History(self.level, self.txns, lists, sets).check()

    def end(self):
        """What all lists and sets are at the end, by each path the same."""
        cursor = self.server.connect(autocommit=True).cursor()
        cursor.execute(f"CHECK TABLE {self.lists}, {self.sets}")
        verdicts = cursor.fetchall()
        assert all(verdict[3] == "OK" for verdict in verdicts), verdicts
        cursor.execute(f"SELECT id, list FROM {self.lists}")
        lists = {key: decode(text) for key, text in cursor.fetchall()}
        cursor.execute(f"SELECT id, list FROM {self.lists} FORCE INDEX (grp) WHERE grp >= 0")
        assert lists == {key: decode(text) for key, text in cursor.fetchall()}, "index and rows"
        cursor.execute(f"SELECT k, e FROM {self.sets} FORCE INDEX (PRIMARY) ORDER BY e")
        rows = cursor.fetchall()
        cursor.execute(f"SELECT k, e FROM {self.sets} FORCE INDEX (k) WHERE k >= 0")
        assert sorted(rows) == sorted(cursor.fetchall()), "index and rows"
        sets = {}
        for key, number in rows:
            sets.setdefault(key, []).append(number)
        return lists, {key: tuple(numbers) for key, numbers in sets.items()}


def decode(text):
    return tuple(int(number) for number in text.split(","))


class Client:
    """One transaction of one client."""

    def __init__(self, part, rng, cursor):
        self.part, self.rng, self.cursor = part, rng, cursor
        self.first = next(part.begun) // TXNS_PER_KEY
        self.txn = Txn(time.monotonic(), [])

    def key(self):
        return self.first + self.rng.randrange(KEYS)

    def transaction(self):
        """Begins, works, ends; its outcome is known, or not, by the last statement."""
        txn, part = self.txn, self.part
        part.txns.append(txn)
        name = f"{part.number}-{next(part.numbers)}" if self.rng.random() < 0.1 else None
        alone = name is None and self.rng.random() < 0.1
        txn.outcome = "failed"
        try:
            if not alone:
                self.cursor.execute(f"XA START '{name}'" if name else "BEGIN")
            for _ in range(1 if alone else self.rng.randint(1, 5)):
                (self.read if alone else self.rng.choice(self.operations))()
            if alone:
                txn.outcome, txn.ended = "committed", time.monotonic()
            elif name:
                self.end_xa(name)
            elif self.rng.random() < 0.05:
                self.cursor.execute("ROLLBACK")
            else:
                txn.outcome = "unknown"
                self.cursor.execute("COMMIT")
                txn.outcome, txn.ended = "committed", time.monotonic()
        except pymysql.MySQLError as error:
            if error.args[0] not in GIVE_UP:
                raise
            self.give_up(name)

    def give_up(self, name):
        assert self.txn.outcome == "failed", "a commit was refused"
        if name:
            # After a deadlock it is rolled back already, and only to be ended.
            for sql in (f"XA END '{name}'", f"XA ROLLBACK '{name}'"):
                try:
                    self.cursor.execute(sql)
                except pymysql.MySQLError as error:
                    if error.args[0] not in (1397, 1399, 1402, 1613, 1614):
                        raise
        else:
            self.cursor.execute("ROLLBACK")

    def end_xa(self, name):
        txn, part = self.txn, self.part
        self.cursor.execute(f"XA END '{name}'")
        part.prepared[name] = (txn, False, False)
        txn.outcome = "unknown"
        self.cursor.execute(f"XA PREPARE '{name}'")
        part.prepared[name] = (txn, True, False)
        time.sleep(self.rng.choice((0, 0.01)))
        if self.rng.random() < 0.2:
            txn.outcome = "failed"
            # Whether it is prepared or gone, it has failed.
            part.prepared[name] = (txn, False, False)
            self.cursor.execute(f"XA ROLLBACK '{name}'")
        else:
            part.prepared[name] = (txn, True, True)
            self.cursor.execute(f"XA COMMIT '{name}'")
            txn.outcome, txn.ended = "committed", time.monotonic()
        del part.prepared[name]

    def read(self):
        """Reads lists or sets: by primary key, in a range, by a secondary index."""
        lock = self.rng.choice(("", "", "", " FOR UPDATE", " FOR SHARE", " LOCK IN SHARE MODE"))
        key, table = self.key(), self.part.lists
        way = self.rng.randrange(4)
        read = Read(time.monotonic(), 0, bool(lock))
        if way == 0:
            sql, keys = f"SELECT id, list FROM {table} WHERE id = {key}", (key,)
        elif way == 1:
            last = key + self.rng.randint(0, 3)
            sql = f"SELECT id, list FROM {table} WHERE id BETWEEN {key} AND {last}"
            keys = range(key, last + 1)
        elif way == 2:
            group = key // ROWS_PER_GROUP
            sql, keys = f"SELECT id, list FROM {table} WHERE grp = {group}", keys_of(group)
        else:
            self.cursor.execute(f"SELECT e FROM {self.part.sets} WHERE k = {key}{lock}")
            read.sets[key] = tuple(row[0] for row in self.cursor.fetchall())
        if way < 3:
            self.cursor.execute(sql + lock)
            read.lists = dict.fromkeys(keys, ())
            read.lists |= {key: decode(text) for key, text in self.cursor.fetchall()}
        read.ended = time.monotonic()
        self.txn.ops.append(read)

    def put(self):
        """Appends to a list, which need not be there yet."""
        key, number = self.key(), next(self.part.numbers)
        self.txn.ops.append(Append(number, (key,)))
        self.cursor.execute(
            f"INSERT INTO {self.part.lists} VALUES ({key}, {key // ROWS_PER_GROUP}, '{number}', "
            f"REPEAT('x', 150)) ON DUPLICATE KEY UPDATE list = CONCAT(list, ',{number}')")

    def update(self):
        """Appends to a list, or to all of a range or of a secondary key, as far as they are
        there."""
        key, number = self.key(), next(self.part.numbers)
        where, keys = self.rng.choice((
            (f"id = {key}", (key,)),
            (f"id BETWEEN {key} AND {key + 2}", tuple(range(key, key + 3))),
            (f"grp = {key // ROWS_PER_GROUP}", keys_of(key // ROWS_PER_GROUP))))
        op = Append(number, keys, 0)
        self.txn.ops.append(op)
        op.count = self.cursor.execute(
            f"UPDATE {self.part.lists} SET list = CONCAT(list, ',{number}') WHERE {where}")

    def compute(self):
        """Reads a list with a lock, and writes what the client computes of it."""
        key, number, table = self.key(), next(self.part.numbers), self.part.lists
        read = Read(time.monotonic(), 0, True)
        self.cursor.execute(f"SELECT list FROM {table} WHERE id = {key} FOR UPDATE")
        row, read.ended = self.cursor.fetchone(), time.monotonic()
        read.lists[key] = decode(row[0]) if row else ()
        self.txn.ops += [read, Append(number, (key,))]
        if row:
            self.cursor.execute(f"UPDATE {table} SET list = '{row[0]},{number}' WHERE id = {key}")
        else:
            self.cursor.execute(f"INSERT INTO {table} VALUES ({key}, {key // ROWS_PER_GROUP}, "
                                f"'{number}', NULL)")

    def add(self):
        key, number = self.key(), next(self.part.numbers)
        self.txn.ops.append(Add(number, key))
        self.cursor.execute(f"INSERT INTO {self.part.sets} VALUES ({number}, {key})")

    @property
    def operations(self):
        return (self.read, self.read, self.read, self.put, self.put, self.update, self.compute,
                self.add)


def keys_of(group):
    return tuple(range(group * ROWS_PER_GROUP, (group + 1) * ROWS_PER_GROUP))


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 40
    clients = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    planted = self_test()
    print(f"histories: {planted} planted violations are found", flush=True)
    failed = txns = kills = 0
    # Small files and a small delta, so that kills also hit rotations and checkpoints.
    flags = ("--max-binlog-size", "1000000", "--cohort-delta-size", "300000")
    with Cohort(*flags) as server:
        server.connect().cursor().execute("CREATE DATABASE h")
        for number, level in enumerate(LEVELS):
            part = Part(server, level, number, seed)
            problems = part.run(seconds / len(LEVELS), clients)
            for problem in problems[:20]:
                print(f"histories: {problem}", flush=True)
            outcomes = [txn.outcome for txn in part.txns]
            counts = ", ".join(f"{outcomes.count(o)} {o}" for o in sorted(set(outcomes)))
            print(f"histories: {level}: {counts}, {part.kills} kills, {len(problems)} violations",
                  flush=True)
            failed += bool(problems)
            txns, kills = txns + len(outcomes), kills + part.kills
        text = server.log.read_text()
        assert "panicked" not in text, text
    print(f"histories: {len(LEVELS) - failed} levels passed, {failed} failed "
          f"({txns} transactions, {kills} kills)")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
