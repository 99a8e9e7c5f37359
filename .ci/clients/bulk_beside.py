#!/usr/bin/env python3
"""Statements that add very many rows, whose index entries come when they end, beside others who read and lock the same
indexes.

Sessions insert thousands of rows at once (INSERT … SELECT, LOAD DATA; some are rolled back, some meet a duplicate at their
end) while others lock ranges of an index and look again for phantoms, change rows by it under READ COMMITTED, and skip or
refuse what is locked. A transaction finds its own rows by each index, also under READ UNCOMMITTED; every round ends with
kill -9, and then all indexes tell of the same rows, which are those of the transactions that were acknowledged, and of
those whose answer was lost with the server.

Nobody waits for a statement that stands still, because it waits for a row or for its client, but who wants its rows.

  .ci/clients/bulk_beside.py [ROUNDS [SECONDS [SEED]]]
"""

import os
import random
import signal
import sys
import threading
import time

import pymysql

from cohort import Cohort, seed_of

TABLE = """CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, u INT UNIQUE, s VARCHAR(20), j JSON, KEY k (k), KEY s (s, k),
                           KEY j ((CAST(j->'$' AS UNSIGNED ARRAY))))"""
SOURCE = """INSERT INTO source WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 12000)
            SELECT x, x * 7919 % 1000, x, CONCAT('s', x * 31 % 97), JSON_ARRAY(x % 89, x % 7) FROM n"""
# Each statement has so many keys to itself.
SPACE = 20_000
# What may happen to who locks beside others: duplicate, no waiting, timeout, deadlock.
EXPECTED = {1062, 1205, 1213, 3572}
INDEXES = ("PRIMARY", "k", "u", "s")


class Round:
    def __init__(self, server, seconds, seed):
        self.server, self.seed, self.until = server, seed, time.monotonic() + seconds
        self.spaces, self.lock = iter(range(1, 100_000)), threading.Lock()
        # By space: how many rows an acknowledged transaction has left there, or None if that is not known.
        self.rows, self.done, self.failed = {}, {}, []

    def run(self, act, number):
        roll = random.Random(f"{self.seed} {number}")
        session = self.server.connect(database="d", autocommit=True, local_infile=True)
        cursor = session.cursor()
        cursor.execute("SET innodb_lock_wait_timeout = 20")
        while time.monotonic() < self.until:
            try:
                act(self, roll, session, cursor)
            except pymysql.MySQLError as error:
                if error.args[0] in (2006, 2013):
                    return
                if error.args[0] not in EXPECTED:
                    raise
                # What ended it rolled all of it back; or the server is killed just now.
                try:
                    session.rollback()
                except pymysql.MySQLError:
                    return
            with self.lock:
                self.done[act.__name__] = self.done.get(act.__name__, 0) + 1

    def guarded(self, act, number):
        try:
            self.run(act, number)
        except Exception as error:  # noqa: BLE001: told below
            self.failed.append(f"{act.__name__}: {error!r}")

    def space(self):
        with self.lock:
            return next(self.spaces)

    def commit(self, session, space, rows):
        """Until the answer is there it may be either."""
        self.rows[space] = (0, rows)
        session.commit()
        self.rows[space] = (rows,)


def inside(space):
    return f"id >= {space * SPACE} AND id < {(space + 1) * SPACE}"


def insert(own, roll, session, cursor):
    space = own.space()
    level = roll.choice(["REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED", "SERIALIZABLE"])
    cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    session.begin()
    rows = cursor.execute(f"INSERT INTO t SELECT id + {space * SPACE}, k, u + {space * SPACE}, s, j FROM source "
                          f"WHERE id <= {roll.randrange(5_000, 12_000)}")
    for index in INDEXES:
        cursor.execute(f"SELECT COUNT(*) FROM t FORCE INDEX (`{index}`) WHERE {inside(space)} AND k >= 0 AND s > ''")
        assert cursor.fetchone()[0] == rows, f"{index}: not its own {rows} rows"
    cursor.execute(f"SELECT COUNT(*) FROM t WHERE 5 MEMBER OF (j->'$') AND {inside(space)}")
    found = cursor.fetchone()[0]
    cursor.execute(f"SELECT COUNT(*) FROM t IGNORE INDEX (j) WHERE 5 MEMBER OF (j->'$') AND {inside(space)}")
    assert cursor.fetchone()[0] == found > 0, "not its own rows by a member of an array"
    if roll.random() < 0.3:
        rows -= cursor.execute(f"DELETE FROM t WHERE {inside(space)} AND k < 300")
    if roll.random() < 0.3:
        session.rollback()
        own.rows[space] = (0,)
    else:
        own.commit(session, space, rows)


def duplicate(own, roll, session, cursor):
    """A statement that fails at its end leaves nothing, and its transaction goes on."""
    space = own.space()
    session.begin()
    try:
        cursor.execute(f"INSERT INTO t SELECT id + {space * SPACE}, k, IF(id = 11000, {space * SPACE} + 5, u + {space * SPACE}), "
                       "s, j FROM source")
        raise AssertionError("a duplicate got in")
    except pymysql.err.IntegrityError:
        pass
    cursor.execute(f"INSERT INTO t VALUES ({space * SPACE}, {roll.randrange(1000)}, NULL, 'alone', '[]')")
    own.commit(session, space, 1)


def load(own, roll, session, cursor):
    space = own.space()
    path = own.server.directory / f"rows-{space}.txt"
    with open(path, "w") as file:
        for place in range(8_000):
            number = space * SPACE + place
            file.write(f"{number}\t{roll.randrange(1000)}\t{number}\ts{roll.randrange(97)}\t[{place % 89}]\n")
    own.rows[space] = (0, 8_000)
    try:
        cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE t")
    except pymysql.MySQLError as error:
        if error.args[0] in EXPECTED:
            own.rows[space] = (0,)
        raise
    finally:
        path.unlink()
    own.rows[space] = (8_000,)


def lock_range(own, roll, session, cursor):
    """Nothing comes into a range that is locked."""
    first = roll.randrange(1000)
    query = f"SELECT COUNT(*) FROM t FORCE INDEX (k) WHERE k BETWEEN {first} AND {first + roll.randrange(20)} FOR UPDATE"
    session.begin()
    cursor.execute(query)
    rows = cursor.fetchone()
    time.sleep(roll.random() / 50)
    cursor.execute(query)
    assert cursor.fetchone() == rows, "a phantom"
    session.commit()


def update(own, roll, session, cursor):
    cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    session.begin()
    cursor.execute(f"UPDATE t FORCE INDEX (k) SET s = 's{roll.randrange(97)}' WHERE k = {roll.randrange(1000)} LIMIT 50")
    session.commit()


def pass_over(own, roll, session, cursor):
    session.begin()
    cursor.execute(f"SELECT id FROM t FORCE INDEX (k) WHERE k = {roll.randrange(1000)} "
                   f"FOR UPDATE {roll.choice(['SKIP LOCKED', 'NOWAIT'])}")
    session.commit()


def until(holds):
    """Waits until something is so."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.01)


def go_on_beside(cursors):
    """Others lock ranges where nobody has a row."""
    for cursor in cursors:
        cursor.execute("SET innodb_lock_wait_timeout = 5")
        for sql in ("UPDATE t SET s = 'x' WHERE k = 500000", "SELECT id FROM t WHERE k BETWEEN 500000 AND 500010 FOR UPDATE",
                    "SELECT id FROM t WHERE s = 'none' FOR SHARE NOWAIT", "DELETE FROM t WHERE k BETWEEN 600000 AND 600010"):
            cursor.execute(sql)


def waiting(server):
    """A statement that waits for a row is waited for by nobody whose rows are others."""
    holder, other, slow, watch = (server.connect(database="d", autocommit=True) for _ in range(4))
    holder.begin()
    holder.cursor().execute("INSERT INTO t VALUES (11000, 700000, NULL, 'mine', '[]')")
    rows = []
    thread = threading.Thread(target=lambda: rows.append(slow.cursor().execute("INSERT INTO t SELECT * FROM source")))
    thread.start()
    until(lambda: watch.cursor().execute("SELECT 1 FROM performance_schema.data_lock_waits"))
    for level in ("REPEATABLE READ", "READ COMMITTED"):
        other.cursor().execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        go_on_beside([other.cursor(), holder.cursor()])
    assert thread.is_alive()
    holder.rollback()
    thread.join(60)
    assert rows == [12_000], rows


def pausing(server):
    """A LOAD DATA whose client pauses is waited for by nobody whose rows are others."""
    pipe = server.directory / "pipe"
    os.mkfifo(pipe)
    loader, other, watch = (server.connect(database="d", autocommit=True, local_infile=True) for _ in range(3))
    rows = []
    thread = threading.Thread(target=lambda: rows.append(
        loader.cursor().execute(f"LOAD DATA LOCAL INFILE '{pipe}' INTO TABLE t")))
    thread.start()
    with open(pipe, "w") as file:
        for number in range(20_000, 50_000):
            file.write(f"{number}\t{number % 1000}\t{number}\ts{number % 97}\t[{number % 89}]\n")
        file.flush()
        watch.cursor().execute("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
        until(lambda: watch.cursor().execute("SELECT 1 FROM t WHERE id = 40000"))
        go_on_beside([other.cursor()])
        assert thread.is_alive()
        file.write("50000\t500000\t50000\ts\t[]\n")
    thread.join(60)
    pipe.unlink()
    assert rows == [30_001], rows


def check(server, own):
    session = server.connect(database="d", autocommit=True)
    cursor = session.cursor()
    cursor.execute("CHECK TABLE t")
    assert cursor.fetchall()[-1][3] == "OK"
    told = set()
    for index in INDEXES:
        cursor.execute("SELECT COUNT(*), SUM(id), SUM(k), BIT_XOR(CRC32(CONCAT_WS(',', id, k, u, s, j))) "
                       f"FROM t FORCE INDEX (`{index}`)")
        told.add(cursor.fetchone())
    assert len(told) == 1, told
    cursor.execute(f"SELECT id DIV {SPACE}, COUNT(*) FROM t GROUP BY 1")
    found = dict(cursor.fetchall())
    for space, possible in own.rows.items():
        rows = found.pop(space, 0)
        assert rows in possible, f"{rows} rows in space {space}, not {possible}"
    assert not found, f"rows of nobody: {found}"
    return told.pop()[0]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8
    seed = seed_of(3)
    print(f"seed {seed}", flush=True)
    for number in range(rounds):
        with Cohort("--innodb-buffer-pool-size=256M") as server:
            session = server.connect(autocommit=True)
            cursor = session.cursor()
            for sql in ("SET GLOBAL local_infile = ON", "CREATE DATABASE d", "USE d", TABLE,
                        "CREATE TABLE source (id INT PRIMARY KEY, k INT, u INT, s VARCHAR(20), j JSON)",
                        "SET cte_max_recursion_depth = 100000", SOURCE):
                cursor.execute(sql)
            waiting(server)
            pausing(server)
            cursor.execute("DELETE FROM t")
            own = Round(server, seconds, seed + number)
            acts = [insert, insert, load, duplicate, lock_range, lock_range, update, pass_over]
            threads = [threading.Thread(target=own.guarded, args=(act, at)) for at, act in enumerate(acts)]
            for thread in threads:
                thread.start()
            time.sleep(seconds * random.Random(seed + number).uniform(0.6, 0.95))
            server.stop(signal.SIGKILL)
            for thread in threads:
                thread.join(60)
            assert not own.failed, own.failed
            server.start()
            rows = check(server, own)
            print(f"{rows} rows; done: {own.done}", flush=True)
            assert rows > 0 and {"insert", "load", "duplicate"} <= own.done.keys(), own.done


main()
