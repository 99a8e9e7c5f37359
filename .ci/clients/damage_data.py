"""Data directories for `damage.py`, and exactly what is in them.

A `Life` runs a server through commits of every kind, and notes after each of them what all tables
hold. It leaves copies of the data directory as it was on the way, and as it is at the end.
"""

import random
import shutil
import signal

import pymysql

from cohort import Cohort

TABLES = {
    # Name: definition, how many columns the key has (0: none), and how it is read whole.
    "app.item": ("id INT PRIMARY KEY, k INT, u VARCHAR(20) UNIQUE, note VARCHAR(200), KEY (k)", 1,
                 ("PRIMARY", "k", "u")),
    "app.pair": ("a VARCHAR(10), b INT, c DECIMAL(10,2), PRIMARY KEY (a, b), KEY back (b, a)", 2,
                 ("PRIMARY", "back")),
    "app.loose": ("v INT, s VARCHAR(60), KEY (v)", 0, (None, "v")),
    "app.big": ("id INT PRIMARY KEY, body LONGBLOB, size INT, KEY (size)", 1, ("PRIMARY", "size")),
    "app.later": ("id INT PRIMARY KEY, v INT, w VARCHAR(60)", 1, ("PRIMARY", "late")),
    "app.altered": ("id INT PRIMARY KEY, v INT, w VARCHAR(60), KEY (v)", 1, ("PRIMARY", "v")),
    "other.empty": ("id INT PRIMARY KEY, v INT UNIQUE", 1, ("PRIMARY", "v")),
    "other.wide": ("id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, c INT, d DATETIME(6), "
                   "KEY (a), KEY (b, c), UNIQUE (c, id)", 1, ("PRIMARY", "a", "b", "c")),
}
ROWS = 120


def name_of(way):
    return f" FORCE INDEX ({way})" if way else ""


def read(cursor, table, way):
    """All rows of a table by one of its ways, in no certain order."""
    column = {"back": "b", "late": "v", "PRIMARY": "id"}.get(way, way)
    if table == "app.pair" and way == "PRIMARY":
        column = "a"
    order = f" ORDER BY {column}" if way else ""
    cursor.execute(f"SELECT * FROM {table}{name_of(way)}{order}")
    return cursor.fetchall()


class Life:
    """A server's life in a directory of its own. `states` is what each commit left: a dictionary
    from table to its rows, and under "" the XA transactions that are prepared."""

    def __init__(self, seed, directory, end, flags=()):
        self.random, self.directory, self.end = random.Random(seed), directory, end
        self.flags, self.changed = flags, set()
        self.now = {table: {} for table in TABLES} | {"": {}}
        self.states, self.last = [{table: () for table in self.now}], 0
        # Where older copies were taken: by name, how many states there were.
        self.older = {}
        self.hidden = 0

    def run(self):
        """Lives; leaves the directories `end` and those in `older`."""
        with Cohort(*self.flags) as server:
            self.open(server)
            self.begin()
            self.work(40)
            assert server.stop() == 0
            self.copy(server, "first")
            server.start()
            self.open(server)
            self.work(12)
            self.execute("CREATE INDEX late ON app.later (v)", table="app.later")
            self.work(8)
            self.execute("ALTER TABLE app.altered MODIFY v BIGINT", table="app.altered")
            self.execute("ALTER TABLE app.altered ADD COLUMN extra INT NOT NULL DEFAULT 7",
                         table="app.altered",
                         change=lambda rows: {key: (*row, 7) for key, row in rows.items()})
            self.execute("DROP TABLE app.dropped")
            self.prepare("kept")
            self.work(12)
            self.cursor.execute("FLUSH BINARY LOGS")
            self.work(6)
            self.copy(server, "second")
            self.prepare("ended")
            self.work(6)
            if self.random.random() < 0.5:
                self.cursor.execute("FLUSH BINARY LOGS")
            self.work(4)
            self.execute("XA COMMIT 'ended'", prepared="ended")
            self.work(self.random.choice((1, 5, 20)))
            self.connection.close()
            server.stop(signal.SIGTERM if self.end == "clean" else signal.SIGKILL)
            self.copy(server, "end")
        return self

    def open(self, server):
        self.connection = server.connect(autocommit=True)
        self.cursor = self.connection.cursor()

    def copy(self, server, name):
        """Keeps the directory as it is; its log in use is a log cut short by a crash."""
        target = self.directory / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in server.data.iterdir():
            if path.is_file():
                sparse_copy(path, target / path.name)
        self.older[name] = len(self.states)

    def begin(self):
        for database in ("app", "other"):
            self.execute(f"CREATE DATABASE {database}")
        for table, (definition, _, _) in TABLES.items():
            self.execute(f"CREATE TABLE {table} ({definition})")
        self.execute("CREATE TABLE app.dropped (id INT PRIMARY KEY, v INT, KEY (v))")
        self.cursor.execute("INSERT INTO app.dropped VALUES (1, 2), (3, 4)")
        self.committed()
        for table in TABLES:
            if table != "other.empty":
                self.cursor.execute("BEGIN")
                for _ in range(30 if table == "app.big" else ROWS):
                    self.insert(table)
                self.cursor.execute("COMMIT")
                self.committed()

    def execute(self, sql, table=None, change=None, prepared=None):
        """A statement that is a commit of its own."""
        self.cursor.execute(sql)
        if change:
            self.now[table] = change(self.now[table])
            self.changed.add(table)
        if prepared:
            for table, rows in self.now[""].pop(prepared).items():
                self.now[table] |= rows
                self.changed.add(table)
            self.changed.add("")
        self.committed()

    def committed(self):
        state = dict(self.states[-1])
        for table in self.changed:
            rows = self.now[table]
            state[table] = ordered(rows if table == "" else rows.values())
        self.changed.clear()
        self.states.append(state)

    def work(self, commits):
        """So many transactions, each a commit."""
        for _ in range(commits):
            table = self.random.choice([table for table in TABLES if table != "other.empty"])
            several = self.random.random() < 0.3
            if several:
                self.cursor.execute("BEGIN")
            for _ in range(self.random.randint(2, 12) if several else 1):
                change = self.random.choice((self.insert, self.update, self.update, self.delete))
                change(table)
            if several:
                self.cursor.execute("COMMIT")
            self.committed()
            if self.random.random() < 0.04:
                self.cursor.execute("FLUSH BINARY LOGS")

    def prepare(self, name):
        """A transaction of two inserts that is prepared."""
        self.cursor.execute(f"XA START '{name}'")
        rows = {}
        for table in ("app.item", "app.pair"):
            key, row = self.row(table)
            self.put(table, row)
            rows[table] = {key: row}
        self.cursor.execute(f"XA END '{name}'")
        self.cursor.execute(f"XA PREPARE '{name}'")
        self.now[""][name] = rows
        self.changed.add("")
        self.committed()

    def row(self, table):
        """A new row, and the key that the model knows it by."""
        number = self.hidden = self.hidden + 1
        small = self.random.choice((None, *range(40)))
        text = "x" * self.random.randint(0, 40) + str(number)
        row = {
            "app.item": (number, small, f"u{number}", text * self.random.randint(1, 4)),
            "app.pair": (f"p{number % 7}", number, None),
            "app.loose": (small, text),
            "app.big": (number, bytes(self.random.randbytes(1)) *
                        self.random.choice((10, 5000, 9000, 20000)), small),
            "app.later": (number, small, text),
            "app.altered": (number, small, text),
            "other.wide": (number, small, number % 5, number % 3, None),
            "other.empty": (number, number),
        }[table]
        if table == "app.altered" and any(len(row) == 4 for row in self.now[table].values()):
            row = (*row, number)
        return row[:TABLES[table][1]] or number, row

    def put(self, table, row):
        marks = ", ".join(["%s"] * len(row))
        self.cursor.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def insert(self, table):
        key, row = self.row(table)
        self.put(table, row)
        self.now[table][key] = row
        self.changed.add(table)

    def update(self, table):
        """Changes the second column, or the third of a pair, of a row, of all alike without a
        key."""
        rows = self.now[table]
        if not rows:
            return
        old = rows[self.random.choice(list(rows))]
        column, place = {"app.pair": ("c", 2), "app.item": ("k", 1), "app.big": ("size", 2),
                         "other.wide": ("a", 1)}.get(table, ("v", 1))
        if table == "app.loose":
            column, place = "v", 0
        value = self.random.randint(0, 40)
        value = pymysql.converters.Decimal(value).quantize(pymysql.converters.Decimal("1.00")) \
            if table == "app.pair" else value
        where, alike = self.where(table, old)
        self.cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {where}", (value, *alike))
        for key in self.keys(table, old):
            rows[key] = (*rows[key][:place], value, *rows[key][place + 1:])
        self.changed.add(table)

    def delete(self, table):
        rows = self.now[table]
        if not rows:
            return
        old = rows[self.random.choice(list(rows))]
        where, alike = self.where(table, old)
        self.cursor.execute(f"DELETE FROM {table} WHERE {where}", alike)
        for key in self.keys(table, old):
            del rows[key]
        self.changed.add(table)

    def where(self, table, row):
        if table == "app.pair":
            return "a = %s AND b = %s", row[:2]
        if table == "app.loose":
            return "v <=> %s", row[:1]
        return "id = %s", row[:1]

    def keys(self, table, row):
        if table == "app.loose":
            return [key for key, other in self.now[table].items() if other[0] == row[0]]
        return [row[:TABLES[table][1]]]


def ordered(rows):
    """Rows in an order that any set of them has."""
    return tuple(sorted(rows, key=repr))


def sparse_copy(source, target):
    """A copy in which zeros need no space."""
    zeros = bytes(65536)
    with open(source, "rb") as old, open(target, "wb") as new:
        while piece := old.read(len(zeros)):
            if piece == zeros[:len(piece)]:
                new.seek(len(piece), 1)
            else:
                new.write(piece)
        new.truncate(new.tell())
