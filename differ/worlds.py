"""What joins and subqueries have in common: random worlds of tables, statements in parts, two servers that are
asked, and what is shown of a difference."""

import argparse
import collections
import datetime
import decimal
import pathlib
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / ".ci" / "clients")]
from allowed import nearly_equal  # noqa: E402
from cohort import Cohort  # noqa: E402
from protocol import Unsigned  # noqa: E402
from quick import Quick, as_text  # noqa: E402

STATEMENTS_OF_A_WORLD = 40
LONGEST_MS = 4000
SHRINK_SECONDS = 40
LITTLE_MEMORY = "SET_VAR(sort_buffer_size = 32768) SET_VAR(tmp_table_size = 1024)"
TIMEOUT = 3024
# Who has not answered until then is thought to hang.
PATIENCE_SECONDS = 40
HANGS = "no answer"
# The names of columns say their kind.
NUMBERS, TEXTS, TIMES = ("i", "ub", "n", "f", "yr"), ("v", "vb", "vg", "c", "en", "bi"), ("d", "dt", "ts")
TYPES = {"i": "INT", "ub": "BIGINT UNSIGNED", "n": "DECIMAL(12,2)", "f": "DOUBLE", "yr": "YEAR",
         "v": "VARCHAR(20)", "vb": "VARCHAR(20) COLLATE utf8mb4_bin",
         "vg": "VARCHAR(20) COLLATE utf8mb4_general_ci", "c": "CHAR(12)", "bi": "VARBINARY(20)",
         "d": "DATE", "dt": "DATETIME", "ts": "TIMESTAMP NULL",
         "ti": "TIME", "bt": "BIT(8)", "se": "SET('k1', 'k2', '1', 'x')", "js": "JSON", "tx": "TEXT"}
# Those that joins are made by.
GROUPS = {name: group for group in (NUMBERS, TEXTS, TIMES) for name in group}
COLLATED = {"v", "vg", "c", "vb"}
MEMBERS = ["k1", "k2", "k3", "1", "2", "x y", "B", "ö", "k10"]
DAY = datetime.date(2020, 1, 1)


def literal(value):
    """A constant as a statement's text has it."""
    match value:
        case None:
            return "NULL"
        case float():
            return f"{value:e}"
        case bytes():
            return f"_binary X'{value.hex()}'"
        case int():
            return str(int(value))
        case str():
            return f"'{value}'"
        case datetime.datetime():
            return f"TIMESTAMP'{value}'"
        case datetime.date():
            return f"DATE'{value}'"
    return str(value)


def text_of(number, rng):
    """One of the texts that some collation takes for equal, or nearly."""
    word = rng.choice(["k{}"] * 6 + ["K{}", "{}", "0{}", "{}.0", "ḱ{}"])
    return word.format(number)


def value_of(kind, size, rng, nulls=0.05):
    """A value of a column of this kind, from about `size` different ones."""
    if rng.random() < nulls:
        return None
    number = 1 if rng.random() < 0.03 else rng.randrange(max(size, 1))
    match kind:
        case "i":
            return number - size // 10
        case "ub":
            return number if rng.random() < 0.97 else rng.choice([Unsigned(2**63), Unsigned(2**64 - 1), 2**53 + 1])
        case "n":
            return decimal.Decimal(number) + rng.choice([0, 0, 0, decimal.Decimal("0.5")])
        case "f":
            return float(number) + rng.choice([0, 0, 0, 0.5])
        case "yr":
            return 1990 + number % 120
        case "v" | "vb" | "c":
            return text_of(number, rng)
        case "vg":
            return text_of(number, rng) + rng.choice(["", "", "", " "])
        case "bi":
            return text_of(number, rng).encode()
        case "en":
            return rng.choice(MEMBERS)
        case "d":
            return DAY + datetime.timedelta(number)
        case "ti":
            return rng.choice(["10:30:00", "00:00:00", f"00:00:{number % 60:02}", "-01:00:00"])
        case "bt":
            return rng.choice([number % 256, 49, 107])
        case "se":
            return rng.choice(["k1", "k2", "1", "x", "k1,k2", ""])
        case "js":
            return rng.choice([str(number), f'"k{number}"', f"{number}.5", "true", "null", f"[{number}]",
                               f'"{DAY}"'])
        case "tx":
            return rng.choice([text_of(number, rng), str(DAY + datetime.timedelta(number)), "10:30:00"])
    moment = datetime.datetime(2020, 1, 1) + datetime.timedelta(number % 6000)
    return moment.replace(hour=rng.choice([0, 0, 0, 12]))


def odd_value(kind, rng):
    """A constant of another type than the column's."""
    number = rng.randrange(12)
    if kind in NUMBERS:
        return rng.choice([str(number), number + 0.5, decimal.Decimal(f"{number}.50"), -1,
                           f"{number}.0", 2.0**53, number])
    if kind in TEXTS:
        return rng.choice([number, decimal.Decimal(number), f"k{number}", number + 0.0])
    day = DAY + datetime.timedelta(number)
    return rng.choice([str(day), int(day.strftime("%Y%m%d")), f"{day} 12:00:00", f"{day} 00:00:00",
                       datetime.datetime(day.year, day.month, day.day, 12)])


def comparable(kind):
    """The kinds that one is joined with. Spaces at the end of a text, which one collation heeds and
    another does not, MySQL heeds or not by its plan."""
    return [kind] if kind == "vg" else [other for other in GROUPS[kind] if other != "vg"]


class Table:
    """A random table."""

    def __init__(self, name, rng, rows, kinds=tuple(sorted(GROUPS))):
        self.name, self.size = name, rows
        self.kinds = rng.sample(kinds, rng.randint(4, 8))
        if not set(self.kinds) & set(NUMBERS):
            self.kinds.append("i")
        self.domain = {kind: max(1, int(rows * rng.choice([0.3, 0.5, 1, 1, 2]))) if rows > 200
                       else rng.choice([3, 10, 30, 100]) for kind in self.kinds}
        self.members = rng.sample(MEMBERS, len(MEMBERS))
        self.keys = self._keys(rng)
        self.rows = [self._row(number, rng) for number in range(1, rows + 1)]

    def _row(self, number, rng):
        unique = None if rng.random() < 0.1 else number * 7 % 10007
        return (number, unique, *(value_of(kind, self.domain[kind], rng) for kind in self.kinds))

    def _part(self, kind, rng):
        is_cut = kind == "tx" or kind in TEXTS and kind != "en" and rng.random() < 0.25
        prefix = f"({rng.randint(1, 4)})" if is_cut else ""
        return kind + prefix + rng.choice(["", "", "", " DESC"])

    def _keys(self, rng):
        keys, chance = ["UNIQUE KEY uid (id)"], rng.random()
        if chance < 0.5:
            keys = ["PRIMARY KEY (id)"]
        elif chance < 0.75:
            keys.append("PRIMARY KEY (u0, id)" if rng.random() < 0.3 else "PRIMARY KEY (id DESC)")
        if rng.random() < 0.4:
            keys.append("UNIQUE KEY uq (q)")
        indexed = [kind for kind in self.kinds if kind != "js"]
        for number in range(rng.randint(0, 4)):
            parts = [self._part(kind, rng)
                     for kind in rng.sample(indexed, rng.choice([1, 1, 1, 2, 2, 3]))]
            unique = rng.random() < 0.1
            parts += ["id"] if unique else []
            keys.append(f"{'UNIQUE ' if unique else ''}KEY k{number} ({', '.join(parts)})")
        return keys

    def create(self, bare=False):
        """With its keys, or only one that nothing is looked up by."""
        enum = "ENUM(" + ", ".join(map(literal, self.members)) + ")"
        columns = ["id INT NOT NULL", "q INT", "u0 INT NOT NULL DEFAULT 3"]
        columns += [f"{kind} {TYPES.get(kind, enum)}" for kind in self.kinds]
        keys = ["PRIMARY KEY (id)"] if bare else self.keys
        return f"CREATE TABLE {self.name} ({', '.join(columns + keys)})"

    def inserts(self, rows=None):
        rows, names = self.rows if rows is None else rows, ", ".join(["id", "q", *self.kinds])
        for start in range(0, len(rows), 500):
            values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows[start:start + 500])
            yield f"INSERT INTO {self.name} ({names}) VALUES {values}"

    def index_names(self):
        found = [re.search(r"KEY (\w+) \(", key) for key in self.keys]
        return [match[1] for match in found if match] + ["PRIMARY"] * any("PRIMARY" in k for k in self.keys)


class Statement:
    """A statement in parts, of which some may be left out, and tables may be put in another order.

    A constant is `\x01number\x02`; `values` has several for each.
    """

    def __init__(self):
        self.kind, self.head, self.tail = "select", "*", ""
        # Inner tables in any order: (alias, reference); then outer and lateral joins as text.
        self.inner, self.joins, self.where = [], [], []
        # How the inner ones are joined: the conditions that stand in ON, by table; or None: a comma.
        self.on, self.tables, self.values = {}, {}, []
        self.ordered = self.warns = False
        self.lock, self.change = "", ""

    def text(self, order=None, hints=None, straight=False):
        """Its text, with constants as marks."""
        hints = hints or {}
        hint = lambda alias: f" {hints[alias]}" if alias in hints else ""  # noqa: E731
        where = list(self.where)
        inner = [self.inner[at] for at in order] if order else self.inner
        if order or not self.on:
            where = [c for conditions in self.on.values() for c in conditions] + where
            source = ", ".join(f"{reference}{hint(alias)}" for alias, reference in inner)
            source = f"({source})" if len(inner) > 1 and self.joins else source
        else:
            alias, reference = inner[0]
            source = f"{reference}{hint(alias)}"
            for alias, reference in inner[1:]:
                conditions = self.on.get(alias)
                source += f" JOIN {reference}{hint(alias)}"
                source += f" ON {' AND '.join(conditions)}" if conditions else ""
        for alias, join in self.joins:
            source += " " + join.replace("{hint}", hint(alias))
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        word = " STRAIGHT_JOIN" if straight else ""
        if self.kind == "select":
            return f"SELECT{word} {self.head} FROM {source}{condition}{self.tail}{self.lock}"
        if self.kind == "update":
            return f"UPDATE {source} SET {self.change}{condition}"
        return f"DELETE {self.change} FROM {source}{condition}"

    def filled(self, text, choice):
        """With constants as literals."""
        return re.sub("\x01(\\d+)\x02", lambda m: literal(self.values[int(m[1])][choice]), text)

    def prepared(self, text, choice):
        """With question marks, and the constants in their order."""
        values = [self.values[int(number)][choice] for number in re.findall("\x01(\\d+)\x02", text)]
        return re.sub("\x01\\d+\x02", "?", text), values

    def conditions(self):
        """All lists of conditions, to leave some out."""
        return [self.where, *self.on.values()]


class Conditions:
    """Makes conditions on the columns of some tables."""

    def __init__(self, rng, tables):
        self.rng, self.tables, self.made = rng, tables, None

    def constant(self, kind, size=30, odd=True):
        """Three values for a constant, one for each time it is executed."""
        rng = self.rng
        if odd and kind != "yr" and rng.random() < 0.12:
            # Of one type: MySQL goes on to compare with parameters as at the first execution.
            values = [odd_value(kind, rng)] * 3
            self.made.warns = True
        else:
            nulls = rng.random() < 0.02
            values = [value_of(kind, size, rng, nulls) for _ in range(3)]
        if odd and kind == "en" and rng.random() < 0.2:
            values, self.made.warns = [rng.randint(0, 9) for _ in range(3)], True
        self.made.values.append(values)
        return f"\x01{len(self.made.values) - 1}\x02"

    def column(self, scope, kinds=None):
        """(alias.column, kind) of a table in sight."""
        rng = self.rng
        aliases = [alias for alias, table in scope.items()
                   if not kinds or set(table.kinds) & set(kinds)]
        if not aliases:
            return None
        alias = rng.choice(aliases)
        kind = rng.choice([k for k in scope[alias].kinds if not kinds or k in kinds])
        return f"{alias}.{kind}", kind

    def equality(self, scope, alias, table):
        """A condition that joins a table to those in sight."""
        rng = self.rng
        chance = rng.random()
        if chance < 0.1:
            return f"{rng.choice(sorted(scope))}.id = {alias}.{rng.choice(['id', 'q'])}"
        kind = rng.choice(table.kinds)
        group = [kind] if chance < 0.6 else comparable(kind)
        found = self.column(scope, group)
        if not found and chance > 0.95:
            found = self.column(scope, set(GROUPS) - {"vg"})
        if not found:
            return f"{rng.choice(sorted(scope))}.id = {alias}.id"
        name, other = found
        # MySQL warns if it looks up a value in an index of another type that cannot hold it.
        self.made.warns |= kind != other
        left, right = rng.sample([name, f"{alias}.{kind}"], 2)
        word = rng.choice(["="] * 9 + ["<=>"])
        if word == "<=>":
            return f"{left} <=> {right} AND {alias}.id < 300"
        return f"{left} {word} {right}"

    def simple(self, scope):
        """A condition on one table."""
        rng = self.rng
        alias = rng.choice(sorted(scope))
        table = scope[alias]
        name, kind = self.column({alias: table})
        size, chance = table.domain[kind], rng.random()
        # MySQL compares with a list or a range as its types are together.
        constant = lambda: self.constant(kind, size, chance < 0.35)  # noqa: E731
        if chance < 0.35:
            return f"{name} {rng.choice(['=', '=', '=', '<', '<=', '>', '>=', '<>', '<=>'])} {constant()}"
        if chance < 0.5:
            items = ", ".join(constant() for _ in range(rng.randint(1, 4)))
            return f"{name} {rng.choice(['IN'] * 4 + ['NOT IN'])} ({items})"
        if chance < 0.62:
            return f"{name} {rng.choice(['', '', 'NOT '])}BETWEEN {constant()} AND {constant()}"
        if chance < 0.7:
            return f"{name} IS {rng.choice(['', 'NOT '])}NULL"
        if chance < 0.78:
            texts = self.column({alias: table}, TEXTS)
            if texts:
                pattern = rng.choice(["k1%", "K1%", "%0", "k_", "1%", "%", "k10"])
                return f"{texts[0]} {rng.choice(['', 'NOT '])}LIKE '{pattern}'"
        if chance < 0.9:
            return f"{alias}.id {rng.choice(['=', '<', '>', '<='])} {rng.randint(0, max(table.size, 1))}"
        return f"{alias}.q {rng.choice(['<', '>', '='])} {rng.randint(0, 10007)}"

class Server:
    """A connection to one of them."""

    def __init__(self, port, user, spoil=0):
        self.port, self.user, self.spoil, self.asked = port, user, spoil, 0
        self.bare = False
        self.client = self.database = None
        self.connect()

    def connect(self, database=None):
        self.client = Quick(self.port, self.user, database)
        self.client.socket.settimeout(PATIENCE_SECONDS)
        for sql in (f"SET SESSION max_execution_time = {LONGEST_MS}", "SET time_zone = '+00:00'",
                    "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_ENGINE_SUBSTITUTION')"):
            self.must(sql)

    def must(self, sql):
        answer = self.client.query(sql)
        if answer.error:
            raise RuntimeError(f"{sql[:300]}: {answer.error}")
        return answer

    def world(self, name, tables):
        name += "_bare" if self.bare else ""
        for sql in (f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}", f"USE {name}"):
            self.must(sql)
        self.database = name
        for table in tables:
            self.must(table.create(self.bare))
            for sql in table.inserts():
                self.must(sql)

    def refill(self, table, rows):
        self.must(f"DELETE FROM {table.name}")
        for sql in table.inserts(rows):
            self.must(sql)

    def outcome(self, made, text, choice, prepared=None):
        """What is compared of an answer: its error, warnings and rows; and the error as it was told."""
        try:
            return self._outcome(made, text, choice, prepared)
        except TimeoutError:
            stuck, database = self.client.connection.thread_id(), self.database
            self.connect(database)
            self.must(f"KILL {stuck}")
            return (HANGS, 0, []), HANGS

    def _outcome(self, made, text, choice, prepared):
        if made.kind != "select":
            self.must("BEGIN")
        if prepared is None:
            answer = self.client.query(made.filled(text, choice))
        else:
            answer = self.client.run(prepared, made.prepared(text, choice)[1])
        rows = self._rows(answer, prepared is not None)
        if made.kind != "select":
            rows = [(answer.affected,)]
            for table in {table.name for table in made.tables.values()}:
                rows += sorted(self._rows(self.client.query(f"SELECT * FROM {table}"), False), key=repr)
            self.must("ROLLBACK")
        elif not made.ordered:
            rows.sort(key=repr)
        self.asked += 1
        if self.spoil and self.asked % self.spoil == 0 and rows:
            rows = rows[:-1] + [rows[-1][:-1] + (b"spoilt",)]
        warnings = 0 if made.warns else answer.warnings
        return (answer.error and answer.error[0], warnings, rows), answer.error

    @staticmethod
    def _rows(answer, binary):
        if not binary:
            return answer.rows
        return [tuple(value if value is None or isinstance(value, bytes) else as_text(value, column).encode()
                      for value, column in zip(row, answer.columns)) for row in answer.rows]


def hinted(text, hint):
    """A statement with an optimizer hint."""
    word, rest = text.split(maxsplit=1)
    return f"{word} /*+ {hint} */ {rest}"


def alike(ours, theirs):
    """Whether two outcomes are the same; late ones are like any other."""
    if TIMEOUT in (ours[0], theirs[0]):
        return True
    if ours[:2] != theirs[:2]:
        return False
    return ours[2] == theirs[2] or nearly_equal(ours[2], theirs[2])


class Differ:
    """Asks both servers, and counts."""

    # Of a check: its name, who makes its statements, and its tables.
    name, generator = "", None

    def __init__(self, ours, theirs, rng_seed):
        self.ours, self.theirs, self.seed = ours, theirs, rng_seed
        self.counts = collections.Counter()

    def tables(self, rng):
        raise NotImplementedError

    def ways(self, made, rng):
        """Other texts that say the same: (way, text)."""
        raise NotImplementedError

    def agree(self, made, text, choice, got, expected):
        """Whether Cohort's answer to a text is right, given MySQL's."""
        return alike(got, expected)

    def servers(self):
        return [self.ours, self.theirs]

    def run(self, args):
        """Statements about random worlds; how many differ."""
        wrong, number, world = 0, 0, -1
        while number < args.statements:
            world += 1
            rng = random.Random(f"{args.seed} {world}")
            tables = self.tables(rng)
            for server in self.servers():
                server.world(f"{self.name}_{self.seed}", tables)
            generator = self.generator(rng, tables)
            if rng.random() < 0.3:
                self.ours.must("ANALYZE TABLE " + ", ".join(table.name for table in tables))
            for at in range(STATEMENTS_OF_A_WORLD):
                made, seed = generator.statement(), rng.random()
                number += 1
                found = self.first_difference(made, random.Random(seed))
                if found:
                    wrong += 1
                    self.report(made, tables, found, seed, f"seed {args.seed}, world {world}, statement {at}")
                    break
                if number >= args.statements:
                    break
            if wrong and not args.all:
                break
        for server in self.servers():
            server.must(f"DROP DATABASE {server.database}")
        print(f"{self.name}: seed {args.seed}: {number} statements in {world + 1} worlds, {wrong} differ; "
              f"{dict(self.counts)}")
        return wrong

    def first_difference(self, made, rng):
        """(way, text that was asked, ours, theirs), or None."""
        text = made.text()
        expected, their_error = self.theirs.outcome(made, text, 0)
        got, our_error = self.ours.outcome(made, text, 0)
        self.counts["as text"] += 1
        late = TIMEOUT in (expected[0], got[0])
        self.counts["late"] += late
        self.counts["errors"] += expected[0] is not None
        self.counts["rows"] += len(expected[2])
        self.counts["empty"] += not expected[2]
        if not self.agree(made, text, 0, got, expected):
            return "text", made.filled(text, 0), (got, our_error), (expected, their_error)
        if late:
            return None
        for way, other in self.ways(made, rng):
            if len(expected[2]) > 20_000 and rng.random() < 0.7:
                continue
            again, error = self.ours.outcome(made, other, 0)
            self.counts[way] += 1
            if again[0] == HANGS:
                # An order that nobody would choose; a time limit does not hold for what locks rows.
                self.counts["late"] += 1
                continue
            if not self.agree(made, text, 0, again, expected):
                return way, made.filled(other, 0), (again, error), (expected, their_error)
        return self.prepared(made, text) if made.values and len(expected[2]) < 5000 else None

    def prepared(self, made, text):
        """Prepared once, executed with other values each time."""
        mine, failure = self.ours.client.prepare(made.prepared(text, 0)[0])
        other, refusal = self.theirs.client.prepare(made.prepared(text, 0)[0])
        if failure or refusal:
            if bool(failure) != bool(refusal) or failure.error[0] != refusal.error[0]:
                empty = (None, 0, [])
                return ("prepare", made.prepared(text, 0)[0], (empty, failure and failure.error),
                        (empty, refusal and refusal.error))
            return None
        expected = got = None, 0, []
        try:
            for choice in (1, 2, 0, 1):
                expected, their_error = self.theirs.outcome(made, text, choice, other)
                got, error = self.ours.outcome(made, text, choice, mine)
                self.counts["prepared"] += 1
                if TIMEOUT in (expected[0], got[0]):
                    return None
                if not self.agree(made, text, choice, got, expected):
                    return (f"prepared, values {made.prepared(text, choice)[1]}", made.prepared(text, 0)[0],
                            (got, error), (expected, their_error))
        finally:
            if HANGS not in (expected[0], got[0]):
                self.ours.client.close(mine)
                self.theirs.client.close(other)
        return None

    def shrink(self, made, tables, seed):
        """Leaves out conditions and rows while something still differs."""
        until = time.monotonic() + SHRINK_SECONDS

        def still():
            if time.monotonic() > until:
                return None
            try:
                return any(self.first_difference(made, random.Random(seed)) for _ in range(2))
            except (RuntimeError, AssertionError):
                return False

        for conditions in made.conditions():
            for condition in list(conditions):
                at = conditions.index(condition)
                conditions.pop(at)
                if not still():
                    conditions.insert(at, condition)
        for table in tables:
            rows, step = table.rows, max(1, len(table.rows) // 2)
            while step and time.monotonic() < until:
                at = 0
                while at < len(rows) and time.monotonic() < until:
                    fewer = rows[:at] + rows[at + step:]
                    self.refill(table, fewer)
                    if still():
                        rows = fewer
                    else:
                        at += step
                step //= 2
            self.refill(table, rows)
            table.rows = rows

    def refill(self, table, rows):
        for server in self.servers():
            server.refill(table, rows)

    def report(self, made, tables, found, seed, label):
        """Shows a difference, made small."""
        print(f"=== {label}: {found[0]} differs from MySQL's answer to the text", flush=True)
        print(f"    as found: {found[1][:1500]}")
        if HANGS in (found[2][0][0], found[3][0][0]):
            print(f"    no answer from {'Cohort' if found[2][0][0] == HANGS else 'MySQL'}; it ran "
                  f"{PATIENCE_SECONDS} seconds")
            for table in tables:
                print(f"    {table.create()}; -- {len(table.rows)} rows")
            for row in self.ours.client.query("EXPLAIN " + found[1]).rows:
                print("    ", b" | ".join(v or b"NULL" for v in row).decode(errors="replace"))
            return
        for table in tables:
            self.ours.client.query(f"ANALYZE TABLE {table.name}")
        self.shrink(made, tables, seed)
        small = self.first_difference(made, random.Random(seed)) or found
        way, text, (ours, our_error), (theirs, their_error) = small
        used = [table for table in tables if re.search(rf"\b{table.name}\b", text)]
        for table in used:
            print(f"    {table.create()};")
            for sql in table.inserts():
                print(f"    {sql[:1500]};")
        print(f"    {way}: {text};")
        only = lambda a, b: list((collections.Counter(a) - collections.Counter(b)).items())[:3]  # noqa: E731
        for name, (error, warnings, rows), told, others in (
                ("Cohort", ours, our_error, theirs[2]), ("MySQL ", theirs, their_error, ours[2])):
            print(f"    {name} {told or f'{len(rows)} rows'}, {warnings} warnings; alone: {only(rows, others)}")
        plan = self.ours.client.query("EXPLAIN " + text) if "?" not in text else None
        for row in plan.rows if plan else ():
            print("    ", b" | ".join(b"NULL" if v is None else v for v in row).decode(errors="replace"))
        sys.stdout.flush()



def main(check, doc, statements=300, more=lambda parser: None):
    """Runs a check as the command line says; `more`: what it says beside what all checks have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=statements)
    parser.add_argument("--mysql-port", type=int, default=3397)
    parser.add_argument("--user", default="sb")
    parser.add_argument("--cohort", type=int, metavar="PORT", help="a server that runs already")
    parser.add_argument("--all", action="store_true", help="go on after a difference, with other tables")
    parser.add_argument("--spoil", type=int, default=0, metavar="N",
                        help="make each N-th answer of MySQL wrong, to see that it is found")
    more(parser)
    args = parser.parse_args()
    theirs = Server(args.mysql_port, args.user, args.spoil)
    if args.cohort:
        wrong = check(Server(args.cohort, "root"), theirs, args.seed).run(args)
    else:
        with Cohort() as server:
            wrong = check(Server(server.port, "root"), theirs, args.seed).run(args)
    sys.exit(bool(wrong))
