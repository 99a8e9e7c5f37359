#!/usr/bin/env python3
"""Rows come in from files and go out into them: LOAD DATA and SELECT … INTO OUTFILE.

Random files are loaded with random options into random tables, in and out of strict mode, on Cohort
and on MySQL 9.7: rows, messages, warnings and errors must be the same, and so must files that both
write, byte by byte. mysqldump --tab, mysqlimport, mariadb-import and the command-line clients do their
work unmodified. Clients that refuse to send their file, break off, stall, or are killed meanwhile do
nobody any harm.

  .ci/clients/load.py [ROUNDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pymysql

from cohort import Cohort, free_port
from replicas import PEERS
from sources import MySQL, Source

BOTH = 60  # statements between two looks at the clock


class Server:
    """One of the two, by a connection of root's."""

    def __init__(self, name, port):
        self.name, self.port = name, port
        self.connection = self.connect(autocommit=True)
        self.run("CREATE DATABASE IF NOT EXISTS d")
        self.run("USE d")

    def connect(self, **options):
        """Another connection, which gives its files to the server."""
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", local_infile=True,
                               charset="utf8mb4", **options)

    def run(self, sql):
        """Runs a statement: what a client can see of it."""
        with self.connection.cursor() as cursor:
            try:
                affected = cursor.execute(sql)
            except pymysql.MySQLError as error:
                code, text = error.args
                return ("error", code, str(text).replace("😀", "?"))
            result = self.connection._result  # noqa: SLF001: the message is nowhere else
            if result.description:
                return ("rows", sorted(cursor.fetchall(), key=repr))
            message = (result.message or b"").decode()[1:]
            cursor.execute("SHOW WARNINGS")
            # MySQL writes errors in utf8mb3.
            warnings = [(level, code, text.replace("😀", "?")) for level, code, text in cursor.fetchall()]
            return ("done", affected, message, cursor.lastrowid or 0, warnings)


# --- What is compared ---------------------------------------------------------------------------

TABLES = [
    "(a INT, b VARCHAR(10), c VARCHAR(30))",
    "(a INT PRIMARY KEY, b VARCHAR(8) NOT NULL DEFAULT 'def', c INT)",
    "(a INT NOT NULL, b INT UNIQUE, c VARCHAR(20) CHARACTER SET latin1)",
    "(id INT AUTO_INCREMENT PRIMARY KEY, a TINYINT, b DECIMAL(6,2), c CHAR(5))",
    "(a INT, b DATE, c DATETIME(3), d TIME, e YEAR)",
    "(a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, b DOUBLE, c ENUM('x','y','1'), d SET('p','q'))",
    "(a VARBINARY(20), b BLOB, c TEXT, d BIT(8))",
    "(a INT, b INT GENERATED ALWAYS AS (a + 1) VIRTUAL, c VARCHAR(10), CHECK (a < 50))",
    "(a INT NOT NULL, b VARCHAR(10) NOT NULL, c TEXT NOT NULL, d INT DEFAULT 7)",
    "(a INT, b INT UNSIGNED, c BIGINT, KEY (b), UNIQUE (c))",
    "(a INT REFERENCES parent (id), b VARCHAR(20), FOREIGN KEY (a) REFERENCES parent (id))",
    "(a VARCHAR(10) CHARACTER SET utf8mb3, b VARCHAR(10) CHARACTER SET ascii, c FLOAT)",
    "(a INT, b VARCHAR(10) INVISIBLE DEFAULT 'inv', c VARCHAR(10))",
]
NUMBERS = ["0", "1", "2", "3", "7", "49", "50", "99", "-1", "127", "128", "300", "1.5", "2.555", "-0", "+4",
           "1e2", "99999999999", "abc", "12abc", "", " 5", "5 ", "0x10", "18446744073709551616"]
TEXTS = ["a", "b", "x", "y", "p,q", "word", "NULL", "null", "N", "two words", "a'b", 'say "hi"', '"', '""',
         "ä", "日本", "😀", "ß", "trailing ", " lead", "tab\there", "new\nline", "cr\rlf\r\n", "back\\slash",
         "comma,comma", "semi;colon", "pipe|pipe", "a\0b", "long " * 5, "", "\\", "x\\", "'q'", "1"]
MOMENTS = ["2024-02-29", "2023-02-29", "2024-12-31 23:59:59", "2024-12-31 23:59:59.9996", "0000-00-00", "12:30:00",
           "-01:02:03", "20240101", "nonsense", "2024-00-10", "1970-01-01 00:00:01", "99", "2155"]
SEPARATORS = ["\t", ",", ";", "|", "||", ", ", "ab", "\t\t"]
ENDS = ["\n", "\n", "\n", "\r\n", ";\n", "#", "\n\n"]
ENCLOSERS = ['"', '"', "'", "|"]
ESCAPES = ["\\", "\\", "\\", "", "!", '"']


def literal(text):
    """A text as SQL has it, whatever sql_mode is."""
    return "x'" + text.encode().hex() + "'" if text else "''"


class Options:
    """FIELDS and LINES."""

    def __init__(self, rng):
        self.between = rng.choice(SEPARATORS) if rng.random() < 0.6 else "\t"
        self.enclosed = rng.choice(ENCLOSERS) if rng.random() < 0.5 else ""
        self.optionally = rng.random() < 0.5
        self.escaped = rng.choice(ESCAPES) if rng.random() < 0.5 else "\\"
        self.says_escaped = self.escaped != "\\" or rng.random() < 0.3
        self.end = rng.choice(ENDS) if rng.random() < 0.5 else "\n"
        self.start = rng.choice([">", "xx", "a"]) if rng.random() < 0.12 else ""
        if rng.random() < 0.04:
            self.end = ""

    def sql(self):
        """The clauses."""
        fields, lines = [], []
        if self.between != "\t":
            fields.append(f"TERMINATED BY {literal(self.between)}")
        if self.enclosed:
            fields.append(f"{'OPTIONALLY ' if self.optionally else ''}ENCLOSED BY {literal(self.enclosed)}")
        if self.says_escaped:
            fields.append(f"ESCAPED BY {literal(self.escaped)}")
        if self.start:
            lines.append(f"STARTING BY {literal(self.start)}")
        if self.end != "\n":
            lines.append(f"TERMINATED BY {literal(self.end)}")
        return (" FIELDS " + " ".join(fields) if fields else "") + (" LINES " + " ".join(lines) if lines else "")

    def field(self, rng, text):
        """A field as somebody may write it, right or wrong."""
        if rng.random() < 0.08:
            return rng.choice(["\\N", "NULL", "!N", '"\\N"', "\\", '"', "\\0", "\\Z\\b\\n\\x"])
        if rng.random() < 0.15:
            return text
        escape, enclosed = self.escaped, self.enclosed
        quoted = enclosed and (not self.optionally or rng.random() < 0.5)
        if escape and rng.random() < 0.9:
            specials = {escape, self.between[:1], self.end[:1], enclosed}
            text = "".join(escape + c if c in specials else c for c in text)
        elif quoted:
            text = text.replace(enclosed, enclosed * 2)
        return enclosed + text + enclosed if quoted else text


def some_field(rng, definition):
    """The text of a field."""
    if "TIME" in definition:
        # What MySQL says of other numbers and of spaces in moments, Cohort does not: in an INSERT, too.
        return rng.choice([moment for moment in MOMENTS if moment != "99"] + ["x", "y", "p,q", "1.5", "word", "NULL", "comma,comma", ""])
    return rng.choice(rng.choice([NUMBERS, NUMBERS, TEXTS, MOMENTS]))


def file_of(rng, options, columns, definition, charset):
    """A file's bytes."""
    lines = []
    for _ in range(rng.randrange(0, 8)):
        count = columns + (rng.choice([-1, 1, 2]) if rng.random() < 0.15 else 0)
        fields = [options.field(rng, some_field(rng, definition)) for _ in range(max(count, 0))]
        start = options.start if rng.random() < 0.9 else rng.choice(["", "junk", "x"])
        lines.append(start + options.between.join(fields))
    text = options.end.join(lines)
    if rng.random() < 0.7:
        text += options.end
    # What sjis has of it; all else is read as it is written.
    data = text.encode("shift_jis", "ignore") if charset == "sjis" else text.encode()
    if rng.random() < 0.05 and charset != "sjis":
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice([b"\xff", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xf0\x9f"]) + data[at:]
    return data


def columns_of(definition):
    """The names of a table's columns."""
    inner, depth, names, item = definition[1:-1], 0, [], ""
    for c in inner + ",":
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            name = item.split()[0]
            if name not in ("CHECK", "KEY", "UNIQUE", "FOREIGN"):
                names.append(name)
            item = ""
        else:
            item += c
    return names


def load_statement(rng, path, options, names, local):
    """A LOAD DATA, and how many fields a line has for it."""
    targets, fields = "", len(names)
    if rng.random() < 0.45:
        chosen = rng.sample(names, rng.randrange(1, len(names) + 1))
        chosen = [f"@{'xyz'[i % 3]}" if rng.random() < 0.25 else name for i, name in enumerate(chosen)]
        targets, fields = f" ({', '.join(chosen)})", len(chosen)
    setting = ""
    if rng.random() < 0.3:
        values = ["7", "NULL", "DEFAULT", "@x", "CONCAT(@x, '-', @y)", names[0], f"COALESCE({names[-1]}, 5)",
                  "'text'", "@z + 1", "1/0"]
        column = rng.choice(names)
        setting = f" SET {column} = {rng.choice(values)}"
        if rng.random() < 0.3 and len(names) > 1:
            other = rng.choice([name for name in names if name != column])
            setting += f", {other} = {rng.choice(values)}"
    charset = rng.choice(["utf8mb4", "latin1", "utf8mb3", "sjis"]) if rng.random() < 0.25 else ""
    return (f"LOAD DATA {rng.choice(['', '', 'LOW_PRIORITY ', 'CONCURRENT '])}{'LOCAL ' if local else ''}"
            f"INFILE '{path}' {rng.choice(['', '', '', 'IGNORE ', 'REPLACE '])}INTO TABLE t"
            f"{' CHARACTER SET ' + charset if charset else ''}{options.sql()}"
            f"{f' IGNORE {rng.randrange(4)} LINES' if rng.random() < 0.15 else ''}{targets}{setting}"), fields, charset


MODES = ["", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES,NO_ZERO_DATE", "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES",
         "NO_AUTO_VALUE_ON_ZERO", None, None]


def differences(ours, theirs):
    """What of two answers differs."""
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)) and len(ours) == len(theirs):
        return [line for pair in zip(ours, theirs) for line in differences(*pair)]
    if isinstance(ours, list) and isinstance(theirs, list):
        ours, theirs = ([item for item in one if item not in other] for one, other in ((ours, theirs), (theirs, ours)))
    return [] if ours == theirs else [f"cohort: {ours!r}", f"mysql:  {theirs!r}"]


def compare_loads(servers, room, rounds, rng):
    """Random files into random tables."""
    counts = {"done": 0, "error": 0}
    path = room / "load.txt"
    for number in range(rounds):
        definition = rng.choice(TABLES)
        names = columns_of(definition)
        options = Options(rng)
        statement, fields, charset = load_statement(rng, path, options, names, rng.random() < 0.3)
        data = file_of(rng, options, fields, definition, charset)
        path.write_bytes(data)
        path.chmod(0o644)
        mode = rng.choice(MODES)
        before = [f"SET sql_mode = {'DEFAULT' if mode is None else repr(mode)}", "SET @x = '1', @y = 'why', @z = NULL",
                  "SET timestamp = 1700000000", "DO LAST_INSERT_ID(0)", "DROP TABLE IF EXISTS t", f"CREATE TABLE t {definition}"]
        if rng.random() < 0.3 and "INT" in definition.split(",")[0]:
            first = names[0] if names[0] != "id" else "a"
            before.append(f"INSERT IGNORE INTO t ({first}) VALUES (1), (2), (3)")
        after = [f"SELECT {', '.join(names)} FROM t", "SELECT HEX(@x), HEX(@y), HEX(@z)"]
        answers = []
        for server in servers:
            after = after[:2]
            for sql in before:
                server.run(sql)
            answer = server.run(statement)
            if answer[0] == "done":
                after.append("SELECT LAST_INSERT_ID()")
            answers.append([answer, *map(server.run, after)])
        counts[answers[0][0][0]] += 1
        if answers[0] != answers[1]:
            shown = "\n".join(differences(*answers))
            yield number, f"{definition}\nmode {mode}\n{statement}\n{data!r}\n{shown}"
    print(f"load: {rounds} LOAD DATA on both: {counts['done']} done, {counts['error']} refused", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    print(f"load: seed {seed}", flush=True)
    rng = random.Random(seed)
    with contextlib.ExitStack() as stack:
        room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="load-")))
        room.chmod(0o777)
        files = room / "files"
        files.mkdir()
        files.chmod(0o777)
        cohort = stack.enter_context(Cohort("--secure-file-priv", str(files)))
        source = Source(MySQL(room, PEERS), room, free_port(), f"--secure-file-priv={files}")
        stack.callback(source.end)
        servers = [Server("cohort", cohort.port), Server("mysql", source.port)]
        for server in servers:
            server.run("SET GLOBAL local_infile = ON")
            server.run("CREATE TABLE parent (id INT PRIMARY KEY)")
            server.run("INSERT INTO parent VALUES (1), (2), (3), (7)")
        wrong = 0
        for number, what in compare_loads(servers, files, rounds, rng):
            wrong += 1
            print(f"--- {number}\n{what}", flush=True)
        assert not wrong, f"{wrong} of {rounds} differ"


if __name__ == "__main__":
    main()
