#!/usr/bin/env python3
"""kill -9 beside what histories.py does not do: definitions, counters, accounts, log files.

  1. AUTO_INCREMENT gives no number again that was acknowledged, whatever is deleted or altered.
  2. DROP DATABASE, DROP TABLE and RENAME of many tables happen as a whole.
  3. What is prepared (XA) keeps its keys and its table: DDL waits for it after the restart, too.
  4. Accounts are as they were acknowledged.
  5. FLUSH and PURGE BINARY LOGS all the while: the files are those that SHOW BINARY LOGS names.

  kills_beside.py [SEED] [KILLS]
"""

import random
import signal
import sys
import threading
import time

import pymysql

from cohort import Cohort

TABLES, WAITS = 12, 1205


def connect(server, **options):
    """Without a TLS context, which takes PyMySQL a tenth of a second to make."""
    return server.connect(autocommit=True, read_timeout=60, ssl_disabled=True, **options)


def ask(connection, statement):
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def is_gone(error):
    """Whether the server went away."""
    return not isinstance(error, pymysql.MySQLError) or error.args[0] in (0, 2003, 2006, 2013)


class Client:
    """Steps until the server is killed; what was under way is in `pending`."""

    def __init__(self, server, seed):
        self.server, self.rng = server, random.Random(f"{seed}.{type(self).__name__}")
        self.pending, self.failure, self.steps = None, None, 0
        self.begin(connect(server))

    def run(self):
        try:
            connection = connect(self.server)
            while True:
                self.step(connection)
                self.steps += 1
        except (pymysql.MySQLError, OSError) as error:
            if not is_gone(error):
                self.failure = (self.pending, error)
        except AssertionError as error:
            self.failure = (self.pending, error)

    def begin(self, connection):
        pass

    def check(self, connection):
        pass


class Counter(Client):
    def begin(self, connection):
        ask(connection, "CREATE TABLE k.counter (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
        self.top = 0

    def step(self, connection):
        kind = self.rng.randrange(8)
        if kind == 0:
            ask(connection, f"DELETE FROM k.counter WHERE id > {self.top - 5}")
        elif kind == 1:
            ask(connection, f"ALTER TABLE k.counter AUTO_INCREMENT = {self.top + 50}")
            self.top += 49
        else:
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO k.counter (v) VALUES (1)")
                assert cursor.lastrowid > self.top, f"{cursor.lastrowid} after {self.top}"
                self.top = cursor.lastrowid


class Definitions(Client):
    def look(self, connection):
        names = ask(connection, "SELECT table_schema, table_name FROM information_schema.tables "
                                "WHERE table_schema LIKE 'd_'")
        return {f"{schema}.{table}" for schema, table in names}

    def begin(self, connection):
        ask(connection, "CREATE DATABASE d1")
        self.there = set()

    def step(self, connection):
        mine = sorted(name for name in self.there if name.startswith("d0."))
        if not mine:
            ask(connection, "CREATE DATABASE IF NOT EXISTS d0")
            ask(connection, "DROP DATABASE IF EXISTS d1")
            ask(connection, "CREATE DATABASE d1")
            for number in range(TABLES):
                ask(connection, f"CREATE TABLE d0.t{number} (id INT PRIMARY KEY, v INT, KEY (v))")
        else:
            renames = ", ".join(f"{name} TO d1.{name[3:]}" for name in mine)
            self.pending = self.rng.choice((f"DROP TABLE {', '.join(mine)}",
                                            f"RENAME TABLE {renames}", "DROP DATABASE d0"))
            ask(connection, self.pending)
        self.there, self.pending = self.look(connection), None

    def check(self, connection):
        there = self.look(connection)
        if self.pending:
            left = sum(name.startswith("d0.") for name in there)
            before = sum(name.startswith("d0.") for name in self.there)
            assert left in (0, before), f"{left} of {before} tables are left: {self.pending}"
        self.there, self.pending = there, None


class Prepared(Client):
    def begin(self, connection):
        ask(connection, "CREATE TABLE k.x (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)")
        self.open, self.number = set(), 0

    def step(self, _):
        self.number += 1
        self.pending = self.number
        own = connect(self.server)
        for statement in (f"XA START 'x{self.number}'",
                          f"INSERT INTO k.x (v) VALUES ({self.number})",
                          f"XA END 'x{self.number}'", f"XA PREPARE 'x{self.number}'"):
            ask(own, statement)
        own.close()
        self.open.add(self.number)
        self.pending = None
        time.sleep(0.01)

    def check(self, connection):
        there = {int(row[3][1:]) for row in ask(connection, "XA RECOVER")}
        assert self.open <= there <= self.open | {self.pending}, (self.open, there, self.pending)
        ask(connection, "SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1")
        ddl = self.rng.choice(("DROP TABLE k.x", "TRUNCATE TABLE k.x", "RENAME TABLE k.x TO k.y",
                               "ALTER TABLE k.x ADD COLUMN n INT", "CREATE INDEX n ON k.x (v, id)"))
        some = min(there, default=0)
        for statement in (ddl, f"INSERT INTO k.x (v) VALUES ({some})") if there else ():
            try:
                ask(connection, statement)
            except pymysql.MySQLError as error:
                assert error.args[0] == WAITS, (statement, error)
            else:
                raise AssertionError(f"{statement} did not wait for what is prepared")
        for number in there:
            ask(connection, f"XA {'COMMIT' if number % 2 else 'ROLLBACK'} 'x{number}'")
        rows = {row[0] for row in ask(connection, "SELECT v FROM k.x")}
        for number in there:
            assert (number in rows) == bool(number % 2), number
        self.open, self.pending = set(), None


class Accounts(Client):
    def begin(self, _):
        self.password = None

    def step(self, connection):
        word = f"'{self.rng.randrange(1000)}'"
        self.pending = True
        if self.password is None:
            ask(connection, f"CREATE USER somebody@localhost IDENTIFIED BY {word}")
            self.password = word
        elif self.rng.random() < 0.6:
            ask(connection, f"ALTER USER somebody@localhost IDENTIFIED BY {word}")
            self.password = word
        else:
            ask(connection, "DROP USER somebody@localhost")
            self.password = None
        self.pending = None

    def check(self, connection):
        if not self.pending:
            there = ask(connection, "SELECT 1 FROM mysql.user WHERE user = 'somebody'")
            assert bool(there) == (self.password is not None), (there, self.password)
            if self.password is not None:
                connect(self.server, user="somebody", password=self.password.strip("'")).close()
        ask(connection, "DROP USER IF EXISTS somebody@localhost")
        self.password = self.pending = None


class Logs(Client):
    def step(self, connection):
        ask(connection, "FLUSH BINARY LOGS")
        names = [row[0] for row in ask(connection, "SHOW BINARY LOGS")]
        ask(connection, f"PURGE BINARY LOGS TO '{self.rng.choice(names)}'")
        time.sleep(0.005)

    def check(self, connection):
        named = {row[0] for row in ask(connection, "SHOW BINARY LOGS")}
        there = {path.name for path in self.server.data.glob("binlog.0*")}
        # The next one may be there already.
        assert named <= there and len(there) <= len(named) + 1, (named, there)


def main():
    seed, kills = (int(word) for word in (*sys.argv[1:], *("1", "8")[len(sys.argv) - 1:]))
    rng = random.Random(seed)
    with Cohort("--max-binlog-size", "300000", "--cohort-delta-size", "500000") as server:
        ask(connect(server), "CREATE DATABASE k")
        clients = [kind(server, seed)
                   for kind in (Counter, Definitions, Prepared, Accounts, Logs)]
        for _ in range(kills):
            threads = [threading.Thread(target=client.run) for client in clients]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.2, 1))
            server.stop(signal.SIGKILL)
            for thread in threads:
                thread.join(70)
            for client in clients:
                assert client.failure is None, (type(client).__name__, client.failure)
            server.start()
            for client in clients:
                client.check(connect(server))
        steps = ", ".join(f"{type(client).__name__} {client.steps}" for client in clients)
        print(f"kills_beside: {kills} kills, seed {seed}; steps: {steps}")


if __name__ == "__main__":
    main()
