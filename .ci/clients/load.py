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
import subprocess
import sys
import tempfile
import threading
import time

import pymysql

from cohort import Cohort, free_port, seed_of
from replicas import PEERS
from sources import MySQL, Source


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
                # Of 1300 MySQL's words hold whatever was in its buffer.
                return ("error", code, str(text).replace("😀", "?") if code != 1300 else "")
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
        return rng.choice([moment for moment in MOMENTS if moment not in ("99", "2023-02-29")] + ["x", "y", "p,q", "1.5", "word", "NULL", "comma,comma", ""])
    if "AUTO_INCREMENT" in definition:
        # What comes behind the largest number is another matter.
        return rng.choice(rng.choice([[n for n in NUMBERS if len(n) < 10], TEXTS]))
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
        data = data[:at] + rng.choice([b"\xff", b"\xc3(", b"\xe2\x82("]) + data[at:]
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
        values = ["7", "NULL", "DEFAULT", "@x", "CONCAT(@x, '-', @y)", names[0] if names[0] != "id" else "a", f"COALESCE({names[-1]}, 5)",
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


# --- Files that are written ---------------------------------------------------------------------

EXPORTED = [
    ("CREATE TABLE e (a INT, b VARCHAR(20), c DECIMAL(8,3), d DATE, f DOUBLE, g CHAR(4) CHARACTER SET latin1)",
     "INSERT INTO e VALUES (1, 'plain', 1.5, '2024-01-02', 1e10, 'ab'), (-2, NULL, NULL, NULL, NULL, NULL),"
     " (3, 'q\"q', -7, '0001-01-01', 0.1, 'é'), (4, 'tab\there', 0, '9999-12-31', -2.5, ''), (5, 'nl\nnl', 1, NULL, 3, 'n'),"
     " (6, 'back\\\\slash', 1, NULL, 3, 'N'), (7, 'zero\0byte', 1, NULL, 3, '0'), (8, '日本ä', 1, NULL, 3, 'x,y')"),
    ("CREATE TABLE e (a INT UNSIGNED ZEROFILL, b VARBINARY(8), c TIME(2), d DATETIME(6), f ENUM('n','e,e'), g BIT(9), h YEAR,"
     " i TIMESTAMP NULL)",
     "INSERT INTO e VALUES (1, x'00ff5c0a', '12:13:14.155', '2024-01-02 03:04:05.000006', 'n', b'101', 2024, '2024-01-01'),"
     " (2, 'n,n', '-1:00', NULL, 'e,e', NULL, NULL, NULL), (3, x'e38182', NULL, NULL, NULL, b'100001010', 0, NULL)"),
    ("CREATE TABLE e (a TEXT, b BLOB, c JSON, d SET('x','y'), f FLOAT, g BIGINT)",
     "INSERT INTO e VALUES ('long text', x'5c6e0922', '{\"k\": [1, \"v\\\\n\"]}', 'x,y', 1.5, 7),"
     " ('a;b', '', '[]', '', -0.25, -9223372036854775808), (NULL, NULL, NULL, NULL, NULL, NULL)"),
]
WIDE = ["utf8mb4", "latin1", "utf8mb3", "latin2", "ascii", "binary", "ucs2"]


def compare_exports(servers, room, rounds, rng):
    """The same rows with random clauses: the same bytes."""
    written = 0
    for number in range(rounds):
        made, filled = EXPORTED[number * len(EXPORTED) // rounds]
        options = Options(rng)
        if rng.random() < 0.15:
            options.between = rng.choice(["", "n", "1", ".", "0", "ä"])
        if rng.random() < 0.1:
            options.enclosed = rng.choice(["n", "1", "ab"])
        charset = f" CHARACTER SET {rng.choice(WIDE)}" if rng.random() < 0.3 else ""
        dump = rng.random() < 0.06
        clauses = "" if dump else charset + options.sql()
        # Of a second row MySQL leaves the file behind, and Cohort does not.
        limit = " LIMIT 1" if dump else rng.choice(["", "", " LIMIT 1", " LIMIT 0"])
        mode = rng.choice(["DEFAULT", "DEFAULT", "'NO_BACKSLASH_ESCAPES'"])
        answers = []
        for server in servers:
            path = room / f"{server.name}.{number}"
            into = f"INTO {'DUMPFILE' if dump else 'OUTFILE'} '{path}'{clauses}"
            for sql in ["SET sql_mode = ''", "DROP TABLE IF EXISTS e", made, filled, f"SET sql_mode = {mode}"]:
                server.run(sql)
            answer = server.run(f"SELECT * FROM e{limit} {into}")
            again = server.run(f"SELECT * FROM e{limit} {into}")
            answer, again = ([str(part).replace(server.name, "*") for part in one] for one in (answer, again))
            answers.append([answer, again, path.read_bytes() if path.exists() else None])
            written += path.exists()
            path.unlink(missing_ok=True)
        if answers[0] != answers[1]:
            shown = "\n".join(differences(*answers))
            yield number, f"{made}\n{filled}\nmode {mode}\n{limit} {into}\n{shown}"
    print(f"load: {rounds} SELECT … INTO OUTFILE on both, {written} files", flush=True)


# --- Programs of others -------------------------------------------------------------------------

def run(*command, ok=True, **options):
    """Runs a program."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, **options)
    assert (done.returncode == 0) == ok, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def tools(server, files, room):
    """mysqldump --tab writes tables, and mysqlimport, mariadb-import and the clients load them again."""
    for sql in ["CREATE DATABASE tab", "CREATE TABLE tab.one (a INT PRIMARY KEY, b VARCHAR(30), c DATETIME)",
                "INSERT INTO tab.one VALUES (1, 'x\ty', '2024-01-01'), (2, NULL, NULL), (3, '\\\\', '2024-02-02')",
                "CREATE TABLE tab.two (a INT AUTO_INCREMENT PRIMARY KEY, b TEXT)",
                "INSERT INTO tab.two (b) VALUES ('ä'), ('\"quoted\"'), ('line\nbreak')"]:
        assert server.run(sql)[0] == "done", sql
    before = [server.run(f"SELECT * FROM tab.{table}") for table in ("one", "two")]
    address = ("-h127.0.0.1", f"-P{server.port}", "-uroot")
    mysql = {name: (PEERS, name) for name in ("mysqldump", "mysqlimport", "mysql")}

    def of_mysql(name, *arguments, **options):
        root, program = mysql[name]
        return run(*MySQL(room, root).program(root / "usr/bin" / program), "--no-defaults", *address, *arguments, **options)

    def check(what):
        assert [server.run(f"SELECT * FROM tab.{table}") for table in ("one", "two")] == before, what

    for dump, load, name in ((lambda *a: of_mysql("mysqldump", *a), lambda *a: of_mysql("mysqlimport", *a), "MySQL"),
                             (lambda *a: run("mariadb-dump", "--no-defaults", *address, *a),
                              lambda *a: run("mariadb-import", "--no-defaults", *address, *a), "MariaDB")):
        for clauses in ([], ["--fields-terminated-by=,", "--fields-enclosed-by=\"", "--lines-terminated-by=\\r\\n"]):
            place = pathlib.Path(tempfile.mkdtemp(prefix="tab-", dir=files))
            place.chmod(0o777)
            dump(f"--tab={place}", *clauses, "tab")
            assert {path.name for path in place.iterdir()} == {"one.sql", "one.txt", "two.sql", "two.txt"}
            for local in ([], ["--local"]):
                server.run("DELETE FROM tab.one")
                server.run("TRUNCATE tab.two")
                told = load(*local, *clauses, "tab", place / "one.txt", place / "two.txt")
                assert told.count("Records: 3  Deleted: 0  Skipped: 0  Warnings: 0") == 2, told
                check(f"{name} {clauses} {local}")
                told = load(*local, *clauses, "--ignore", "tab", place / "one.txt")
                assert "Records: 3  Deleted: 0  Skipped: 3  Warnings: 3" in told, told
                told = load(*local, *clauses, "--replace", "tab", place / "one.txt")
                assert "Skipped: 0" in told, told
    own = room / "own.txt"
    own.write_text("7\tsome\n8\tmore\n")
    statement = f"LOAD DATA LOCAL INFILE '{own}' INTO TABLE tab.two"
    of_mysql("mysql", "--local-infile=1", "-e", statement)
    run("mariadb", "--no-defaults", *address, "--local-infile=1", "-e", f"{statement} SET b = 'again', a = NULL")
    assert len(server.run("SELECT * FROM tab.two")[1]) == 7
    # The packets of a file go on with the numbers of the compressed protocol, too.
    for algorithm in ("zlib", "zstd"):
        own.write_text("".join(f"{n}\tnumber {n}\n" for n in range(100, 60_000)))
        of_mysql("mysql", f"--compression-algorithms={algorithm}", "--local-infile=1", "-e",
                 f"{statement}; SELECT 1; DELETE FROM tab.two WHERE a >= 60000")
        assert server.run("SELECT COUNT(*), MAX(b) FROM tab.two WHERE a >= 100") == ("rows", [(59_900, "number 9999")])
        server.run("DELETE FROM tab.two WHERE a >= 100")
    own.write_text("7\tsome\n8\tmore\n")
    loaded = dict(server.run("SHOW GLOBAL STATUS LIKE 'Com_load'")[1])
    assert int(loaded["Com_load"]) > 20, loaded
    # The client refuses by itself, and says so in its own words.
    told = of_mysql("mysql", "--local-infile=0", "-e", statement, ok=False)
    assert "2068" in told or "3948" in told, told
    assert "not found" in of_mysql("mysql", "--local-infile=1", "-e", statement.replace("own", "none"), ok=False)
    server.run("SET GLOBAL local_infile = OFF")
    assert "3948" in of_mysql("mysql", "--local-infile=1", "-e", statement, ok=False)
    server.run("SET GLOBAL local_infile = ON")
    server.run("DROP DATABASE tab")
    print("load: mysqldump --tab, mysqlimport, mariadb-import, mysql and mariadb", flush=True)


# --- Where files may lie, and who may use them --------------------------------------------------

def places(server, files, room):
    """secure_file_priv is no fence with holes, and FILE is needed."""
    (room / "outside.txt").write_text("1\tsecret\n")
    (files / "link.txt").symlink_to(room / "outside.txt")
    (files / "out").symlink_to(room)
    (files / "inside.txt").write_text("1\tfine\n")
    (files / "to.txt").symlink_to(files / "inside.txt")
    os.mkfifo(files / "pipe")
    server.run("CREATE TABLE d.p (a INT, b VARCHAR(10))")

    def code(sql):
        answer = server.run(sql)
        return answer[1] if answer[0] == "error" else 0

    for name, expected in (("inside.txt", 0), ("to.txt", 0), ("link.txt", 1290), ("out/outside.txt", 1290),
                           ("../outside.txt", 1290), ("none.txt", 13), ("none/none.txt", 1290), ("pipe", 1085), ("", 1290)):
        assert code(f"LOAD DATA INFILE '{files}/{name}' INTO TABLE d.p") == expected, name
    assert code(f"LOAD DATA INFILE '{room}/outside.txt' INTO TABLE d.p") == 1290
    for name, expected in (("new.txt", 0), ("new.txt", 1086), ("link.txt", 1086), ("out/x.txt", 1290), ("../x.txt", 1290),
                           ("none/x.txt", 1290)):
        assert code(f"SELECT 1 INTO OUTFILE '{files}/{name}'") == expected, name
    for name, expected in (("inside.txt", True), ("to.txt", True), ("link.txt", False), ("out/outside.txt", False),
                           ("../outside.txt", False), ("none.txt", False), ("pipe", False), ("", False)):
        found = server.run(f"SELECT LOAD_FILE('{files}/{name}') = '1\\tfine\\n'")
        assert found == ("rows", [(1 if expected else None,)]), (name, found)
    # Nothing is left of a file whose statement fails.
    assert code(f"SELECT (SELECT 1 UNION SELECT 2) INTO OUTFILE '{files}/half'") == 1242
    assert code(f"SELECT 1 UNION SELECT 2 INTO DUMPFILE '{files}/half'") == 1172
    assert not (files / "half").exists()
    assert code(f"PREPARE s FROM 'LOAD DATA INFILE \"x\" INTO TABLE d.p'") == 1295
    server.run("CREATE USER weak@'127.0.0.1'")
    server.run("GRANT SELECT, INSERT ON d.* TO weak@'127.0.0.1'")
    with pymysql.connect(host="127.0.0.1", port=server.port, user="weak", local_infile=True) as weak, weak.cursor() as cursor:
        for sql, expected in ((f"LOAD DATA INFILE '{files}/inside.txt' INTO TABLE d.p", 1045),
                              (f"SELECT 1 INTO OUTFILE '{files}/weak'", 1227),
                              (f"LOAD DATA LOCAL INFILE '{files}/inside.txt' REPLACE INTO TABLE d.p", 1142),
                              (f"LOAD DATA LOCAL INFILE '{files}/inside.txt' INTO TABLE d.p", None)):
            try:
                cursor.execute(sql)
                assert expected is None, sql
            except pymysql.MySQLError as error:
                assert error.args[0] == expected, (sql, error)
        cursor.execute(f"SELECT LOAD_FILE('{files}/inside.txt')")
        assert cursor.fetchall() == ((None,),)
    print("load: places and privileges", flush=True)


# --- Clients that misbehave ---------------------------------------------------------------------

def ask(connection, sql):
    """Has the server ask for a file, which is then the caller's to send."""
    connection._execute_command(3, sql)  # noqa: SLF001: the steps of a query, one by one
    packet = connection._read_packet()  # noqa: SLF001
    assert packet.get_all_data()[0] == 0xFB, packet.get_all_data()


def clients(server):
    """Clients that break off, stall and are killed; while one is waited for nobody lacks a slot."""
    server.run("CREATE TABLE d.m (a INT PRIMARY KEY)")
    sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE d.m"
    held = []
    for number in range(40):
        connection = server.connect()
        connection.begin()
        ask(connection, sql)
        connection.write_packet(f"{number}\n".encode())
        held.append(connection)
    begun = time.monotonic()
    assert server.run("SELECT COUNT(*) FROM d.m") == ("rows", [(0,)])
    assert time.monotonic() - begun < 2, "those who are waited for hold no slot"
    shown = server.run("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'")
    assert shown == ("rows", [(40,)]), shown
    # One vanishes, one is killed, one's connection is, one goes on.
    held[0]._force_close()  # noqa: SLF001
    server.run(f"KILL QUERY {held[1].thread_id()}")
    server.run(f"KILL {held[2].thread_id()}")
    held[1].write_packet(b"1000\n")
    held[1].write_packet(b"")
    try:
        held[1]._read_packet()  # noqa: SLF001
        raise AssertionError("it was killed")
    except pymysql.MySQLError as error:
        assert error.args[0] == 1317, error
    held[1].ping(reconnect=False)
    held[3].write_packet(b"41\n4")
    held[3].write_packet(b"2\n")
    held[3].write_packet(b"")
    assert held[3]._read_packet().is_ok_packet()  # noqa: SLF001
    held[3].commit()
    for connection in held[4:]:
        connection._force_close()  # noqa: SLF001
    until = time.monotonic() + 10
    while server.run("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'")[1] != [(0,)]:
        assert time.monotonic() < until, "those who have gone are gone"
        time.sleep(0.05)
    assert server.run("SELECT * FROM d.m") == ("rows", [(3,), (41,), (42,)])
    # Who sends nothing for net_read_timeout is given up, and its locks with it.
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET net_read_timeout = 1")
    ask(connection, sql)
    connection.write_packet(b"50\n")
    begun = time.monotonic()
    assert connection._sock.recv(1) == b"", "the connection ends"  # noqa: SLF001
    assert 0.5 < time.monotonic() - begun < 5
    # What is wrong is told behind the file, and the connection goes on.
    connection = server.connect()
    ask(connection, sql.replace("INTO", "REPLACE INTO"))
    connection.write_packet(b"wrong\n" * 1000)
    connection.write_packet(b"more\n")
    connection.write_packet(b"")
    try:
        connection._read_packet()  # noqa: SLF001
        raise AssertionError("strict mode takes no wrong numbers")
    except pymysql.MySQLError as error:
        assert error.args[0] == 1366, error
    with connection.cursor() as cursor:
        assert cursor.execute("SELECT 1") == 1
    for connection in (connection, *held[1:4]):
        connection._force_close()  # noqa: SLF001
    print("load: clients that break off, stall and are killed", flush=True)


def killed(server, files):
    """KILL stops a long load in the middle, and nothing of it is left."""
    path = files / "long.txt"
    with open(path, "w") as file:
        for start in range(0, 400_000, 1000):
            file.write("".join(f"{n}\tx{n}\n" for n in range(start, start + 1000)))
    server.run("CREATE TABLE d.l (a INT PRIMARY KEY, b VARCHAR(20))")
    connection = server.connect(autocommit=True)
    failed = []

    def load():
        try:
            connection.query(f"LOAD DATA INFILE '{path}' INTO TABLE d.l")
        except pymysql.MySQLError as error:
            failed.append(error.args[0])

    thread = threading.Thread(target=load)
    thread.start()
    time.sleep(0.3)
    server.run(f"KILL QUERY {connection.thread_id()}")
    thread.join(20)
    assert failed == [1317], failed
    assert server.run("SELECT COUNT(*) FROM d.l") == ("rows", [(0,)])
    path.unlink()
    server.run("DROP TABLE d.l")
    print("load: KILL in the middle of a file", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    seed = seed_of(2)
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
        places(servers[0], files, room)
        clients(servers[0])
        killed(servers[0], files)
        tools(servers[0], files, room)
        for compare, share in ((compare_loads, 1), (compare_exports, 2)):
            for number, what in compare(servers, files, rounds // share, rng):
                wrong += 1
                print(f"--- {number}\n{what}", flush=True)
        assert not wrong, f"{wrong} differ"
        assert cohort.stop() == 0


if __name__ == "__main__":
    main()
