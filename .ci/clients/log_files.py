#!/usr/bin/env python3
"""`cohort log`: what is read from files of the log, and what undoes a transaction.

Random transactions change tables with columns of all types, with and without a primary key. Each is
undone by the SQL of `cohort log undo`, the last one first: CHECKSUM TABLE must then be what it was
before, on this server and, with what MySQL's log says of the same transactions, on MySQL, if one
runs at $MYSQL_UNDER_TEST (host:port, user sb) with its logs, with binlog_row_metadata=FULL, in
$MYSQL_LOGS. What was changed since stays as it is.

  log_files.py [TRANSACTIONS]      12
"""

import os
import pathlib
import random
import subprocess
import sys

import pymysql

from cohort import BINARY, Cohort

TRANSACTIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 12

COLUMNS = {
    "ti": "TINYINT", "sm": "SMALLINT UNSIGNED", "me": "MEDIUMINT", "bi": "BIGINT UNSIGNED",
    "fl": "FLOAT", "do": "DOUBLE", "de": "DECIMAL(20,5)", "ch": "CHAR(10)", "bn": "BINARY(5)",
    "vb": "VARBINARY(300)", "la": "VARCHAR(20) CHARACTER SET latin1", "tx": "TEXT", "bl": "BLOB",
    "da": "DATE", "tm": "TIME(3)", "dt": "DATETIME(6)", "ts": "TIMESTAMP(6) NULL", "ye": "YEAR",
    "en": "ENUM('a', 'b''c', 'ü')", "se": "SET('x', 'y', 'z')", "bt": "BIT(10)", "js": "JSON",
}

VALUES = {
    "ti": [-128, 127, 0], "sm": [0, 65535], "me": [-8388608, 1], "bi": [18446744073709551615, 0],
    "fl": [0.1, -1.5, 3.4e38, 16777216.5, 1e-40], "do": [0.1, 1e-300, -1.7976931348623157e308],
    "de": ["-12345.67890", "999999999999999.99999"], "ch": ["tr  ", "ÄÖ", ""],
    "bn": [b"\x01\x02", b"\0\0\0\0\0"], "vb": [b"", b"\0\xff'", b"x" * 299],
    "la": ["é\\'x", ""], "tx": ["line1\nline2 'q' \\ \"", "a\0b\x1a", "😀", ""],
    "bl": [b"\xde\xad\xbe\xef", b""], "da": ["2024-02-29", "9999-12-31"],
    "tm": ["-838:59:58.999", "00:00:00.001"], "dt": ["2024-02-29 23:59:59.123456",
                                                    "1000-01-01 00:00:00"],
    "ts": ["2024-02-29 23:59:59.654321", "1970-01-02 00:00:01"], "ye": [1901, 2155, 0],
    "en": ["b'c", "ü"], "se": ["x,z", "", "y"], "bt": [0, 1023, 85], "js": [None],
}

# Documents whose text would make others.
DOCUMENTS = [
    "'{\"a\": [1, 2.5, \"x\\\\\"y\", null, true], \"ü\": {}}'", "JSON_ARRAY(1.50, 2e0, 1e100)",
    "JSON_OBJECT('d', CAST('2020-01-01' AS DATE), 't', CAST('10:11:12.5' AS TIME(3)), "
    "'m', CAST('2020-01-01 10:11:12.000001' AS DATETIME(6)))",
    "CAST(1.250 AS JSON)", "CAST(CAST(7 AS UNSIGNED) AS JSON)", "'\"plain\"'", "'null'", "'[]'",
]


class Server:
    """A server whose log can be read."""

    def __init__(self, connect, directory, seed):
        self.connect, self.directory = connect, pathlib.Path(directory)
        self.seed, self.database = seed, f"undone{seed}"

    def files(self):
        return sorted(path for path in self.directory.glob("binlog.0*"))


def cohort_log(*arguments, check=True):
    done = subprocess.run([BINARY, "log", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120)
    assert not check or done.returncode == 0, f"{arguments}: {done.stderr.decode()}"
    return done.stdout.decode() if check else (done.returncode, done.stderr.decode())


def literal(chance, column, connection):
    if chance.random() < 0.15:
        return "NULL"
    if column == "js":
        return chance.choice(DOCUMENTS)
    value = chance.choice(VALUES[column])
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return connection.literal(value)


def create(cursor, database):
    columns = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())
    cursor.execute(f"DROP DATABASE IF EXISTS {database}")
    cursor.execute(f"CREATE DATABASE {database}")
    cursor.execute(f"USE {database}")
    cursor.execute(f"CREATE TABLE keyed (id INT PRIMARY KEY AUTO_INCREMENT, {columns}, "
                   "twice INT AS (ti * 2) VIRTUAL, KEY (ch))")
    cursor.execute(f"CREATE TABLE keyless ({columns})")
    cursor.execute("CREATE TABLE parent (id INT PRIMARY KEY)")
    cursor.execute("CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) "
                   "REFERENCES parent (id))")


def transaction(chance, connection, number):
    """The statements of a transaction that changes something."""
    yield f"INSERT INTO parent VALUES ({number})"
    yield f"INSERT INTO child VALUES ({number}, {number})"
    for _ in range(chance.randrange(1, 5)):
        table = chance.choice(["keyed", "keyless"])
        change = chance.choice(["insert", "insert", "update", "delete"])
        if change == "insert":
            names = ", ".join(f"`{name}`" for name in COLUMNS)
            values = ", ".join(literal(chance, name, connection) for name in COLUMNS)
            yield f"INSERT INTO {table} ({names}) VALUES ({values}), ({values})"
        elif change == "update":
            names = chance.sample(list(COLUMNS), 4)
            changes = ", ".join(f"`{n}` = {literal(chance, n, connection)}" for n in names)
            yield f"UPDATE {table} SET {changes} WHERE ti >= 0 OR ti IS NULL LIMIT 3"
        else:
            yield f"DELETE FROM {table} ORDER BY bi, da, tx LIMIT 2"


def checksums(cursor):
    cursor.execute("CHECKSUM TABLE keyed, keyless, parent, child")
    return cursor.fetchall()


def gtids(server):
    """The transactions that changed `parent`, in their order: where each stands."""
    found = []
    for path in server.files():
        shown = cohort_log("show", "--table", f"{server.database}.parent", path)
        found += [(line.split()[2], path) for line in shown.splitlines() if " bytes at " in line]
    return found


def undo(connection, sql):
    """Executes what mysql would; the error that ends it, if any."""
    with connection.cursor() as cursor:
        try:
            for statement in sql.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            connection.rollback()
            return error.args[0]
    return None


def check(server):
    chance, database = random.Random(server.seed), server.database
    connection = server.connect()
    with connection.cursor() as cursor:
        create(cursor, database)
        # '%' in texts is no placeholder without arguments.
        states = []
        for number in range(TRANSACTIONS):
            states.append(checksums(cursor))
            for statement in transaction(chance, connection, number):
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError as error:
                    assert error.args[0] in (1264, 1292), f"{statement}: {error}"
            connection.commit()
        cursor.execute("FLUSH BINARY LOGS")
        made = gtids(server)
        assert len(made) == TRANSACTIONS, made
        for (gtid, path), state in zip(reversed(made), reversed(states)):
            sql = cohort_log("undo", "--gtid", gtid, "--generated",
                             f"{database}.keyed.twice", path)
            if gtid == made[-1][0]:
                cursor.execute("UPDATE child SET parent = NULL WHERE id = %s", (TRANSACTIONS - 1,))
                connection.commit()
                changed = checksums(cursor)
                assert undo(connection, sql) == 1242, "a row was changed since"
                cursor.execute(f"USE {database}")
                assert checksums(cursor) == changed, "nothing is undone"
                cursor.execute("UPDATE child SET parent = id")
                connection.commit()
            error = undo(connection, sql)
            assert error is None, f"{error}: {sql}"
            cursor.execute(f"USE {database}")
            assert checksums(cursor) == state, f"{gtid}: {sql}"
        # What is no change of rows is refused by name.
        cursor.execute("DROP TABLE keyless")
        cursor.execute("FLUSH BINARY LOGS")
    shown = cohort_log("show", *server.files())
    lines = shown.splitlines()
    at = max(number for number, line in enumerate(lines) if "DROP TABLE" in line)
    gtid = lines[at - 1].split()[2]
    code, said = cohort_log("undo", "--gtid", gtid, *server.files(), check=False)
    assert code == 1 and "DROP TABLE" in said, said
    counted = cohort_log("stat", "--table", f"{database}.parent", *server.files())
    row = next(line for line in counted.splitlines() if line.startswith(f"{database}.parent "))
    inserted, deleted = row.split()[2], row.split()[4]
    assert int(inserted) == int(deleted) == TRANSACTIONS, counted
    key = cohort_log("grep", "--table", f"{database}.child", "--key", 1, *server.files())
    assert key.count(f"\n      + {database}.child  id=1 ") == 1, key
    assert key.count(f"\n      - {database}.child  id=1 ") == 1, key
    never = cohort_log("grep", "--table", f"{database}.child", "--from", "2999-01-01 00:00:00Z",
                       *server.files())
    assert never == "", never


def main():
    with Cohort() as server:
        def connect():
            return server.connect(charset="utf8mb4")
        for seed in range(3):
            check(Server(connect, server.data, seed))
        print(f"{3 * TRANSACTIONS} transactions undone", flush=True)
        # One byte that is another one is damage, and told as such.
        path = sorted(server.data.glob("binlog.0*"))[0]
        content = bytearray(path.read_bytes())
        for _ in range(20):
            place = random.randrange(300, len(content) - 1)
            hurt = server.directory / "binlog.000001"
            other = bytearray(content)
            other[place] ^= 4
            hurt.write_bytes(other)
            code, said = cohort_log("stat", hurt, check=False)
            assert code == 1 and "position" in said, f"{place}: {said}"
        hurt = server.directory / "text"
        hurt.write_text("no log at all")
        assert cohort_log("show", hurt, check=False)[0] == 1
    print("the log is read", flush=True)


def of_mysql():
    """The same with the log of a MySQL that keeps the names of columns."""
    host, port = os.environ["MYSQL_UNDER_TEST"].split(":")
    directory = os.environ["MYSQL_LOGS"]

    def connect():
        return pymysql.connect(host=host, port=int(port), user="sb", charset="utf8mb4")
    check(Server(connect, directory, 1))
    print(f"{TRANSACTIONS} transactions of MySQL undone", flush=True)


if __name__ == "__main__":
    main()
    if "MYSQL_UNDER_TEST" in os.environ:
        of_mysql()
