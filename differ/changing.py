"""Random tables, and random statements that change them, in parts of which some may be left out."""

import datetime
import decimal
import random
import re

from protocol import Unsigned
from worlds import Statement, literal

D, DAY, MOMENT = decimal.Decimal, datetime.date, datetime.datetime
# Types of columns by name, and values that fit.
KINDS = {
    "i": ("INT", [0, 1, 2, 5, -3, 2**31 - 1]),
    "ti": ("TINYINT", [0, 1, -5, 127]),
    "su": ("SMALLINT UNSIGNED", [0, 1, 3, 65535]),
    "me": ("MEDIUMINT", [0, 2, -8388608]),
    "ub": ("BIGINT UNSIGNED", [0, 1, 7, Unsigned(2**64 - 1), 2**53 + 1]),
    "n": ("DECIMAL(6,2)", [D("0.00"), D("1.50"), D("-20.25"), D("9999.99")]),
    "nu": ("DECIMAL(4,1) UNSIGNED", [D("0.0"), D("1.5"), D("999.9")]),
    "f": ("FLOAT", [0.0, 1.5, -2.25, 1e10]),
    "db": ("DOUBLE", [0.0, 1.5, -2.25, 1e100]),
    "yr": ("YEAR", [1999, 2020, 0]),
    "v": ("VARCHAR(5)", ["", "a", "A", "b", "abc", "ä", "12"]),
    "vb": ("VARCHAR(6) COLLATE utf8mb4_bin", ["", "a", "A", "b ", "2020", "12"]),
    "vg": ("VARCHAR(6) COLLATE utf8mb4_general_ci", ["", "a", "A ", "b", "ß", "7.5"]),
    "la": ("VARCHAR(6) CHARACTER SET latin1", ["", "a", "A", "ä", "1"]),
    "c": ("CHAR(4)", ["", "a", "A", "b", "abcd"]),
    "bi": ("BINARY(3)", [b"", b"a", b"\0\1\2"]),
    "vy": ("VARBINARY(5)", [b"", b"a", b"A", b"\xff\0"]),
    "tx": ("TEXT", ["", "a", "long text", "2020-01-02", "17"]),
    "tt": ("TINYTEXT", ["", "b", "3"]),
    "bl": ("BLOB", [b"", b"a", b"\xff\0\1", b"12"]),
    "en": ("ENUM('x', 'y', 'Z', '1')", ["x", "y", "Z", "1"]),
    "se": ("SET('k1', 'k2', '1')", ["", "k1", "k2", "k1,k2", "1"]),
    "bt": ("BIT(8)", [0, 1, 65, 255]),
    "b1": ("BIT(1)", [0, 1]),
    "d": ("DATE", [DAY(2020, 1, 2), DAY(2024, 2, 29), DAY(1999, 12, 31)]),
    "dt": ("DATETIME", [MOMENT(2020, 1, 2, 10, 11, 12), MOMENT(2024, 2, 29)]),
    "d3": ("DATETIME(3)", [MOMENT(2020, 1, 2, 10, 11, 12, 345000), MOMENT(2024, 2, 29)]),
    "ts": ("TIMESTAMP", [MOMENT(2020, 1, 2, 10, 11, 12), MOMENT(2000, 1, 1)]),
    "t2": ("TIMESTAMP(2)", [MOMENT(2020, 1, 2, 10, 11, 12, 340000), MOMENT(2000, 1, 1)]),
    "tm": ("TIME", ["10:11:12", "-01:00:00", "838:59:59", "00:00:00"]),
    "t3": ("TIME(3)", ["10:11:12.345", "00:00:00.500"]),
    "js": ("JSON", ['{"a": 1}', "[1, 2]", "1", '"a"', "null", "true"]),
}
NO_DEFAULT = {"tx", "tt", "bl", "js"}
NUMBERS = {"i", "ti", "su", "me", "ub", "n", "nu", "f", "db", "yr"}
TEXTS = {"v", "vb", "vg", "la", "c", "tx", "tt", "en", "se"}
TIMES = {"d", "dt", "d3", "ts", "t2", "tm", "t3"}
# What is assigned to columns that it may not fit.
ODD = [0, 1, -1, 3, 128, 256, 70000, 2**31, -2**40, 20200102, 101112, Unsigned(2**64 - 1), D("1.5"), D("-0.4"),
       D("99.995"), D("12345.678"), D("0.000001"), 1.5, -2.5, 1e30, 0.1, "", "a", "A", "b ", "abc", "too long a text",
       "12", "12abc", " 7", "1.5", "1.995", "-1", "ä", "ß", "€", "2020-01-02", "2020-02-30", "0000-00-00",
       "2020-00-10", "2020-01-02 10:11:12", "2020-01-02 10:11:12.987654", "1960-01-01", "2020-01-02x", "10:11:12",
       "10:11:12.987654", "900:00:00", "-900:00:00", '{"a": 1}', "[1, 2]", "a,b", "k1,zz", "x", b"\0", b"\xffA",
       "ä".encode(), DAY(2020, 1, 2), MOMENT(2020, 1, 2, 10, 11, 12, 987654), MOMENT(1960, 1, 1)]
RAW = ["X'41'", "0x3132", "b'101'", "TIME'10:11:12'", "TRUE", "CAST('[1]' AS JSON)", "CAST('\"b\"' AS JSON)",
       "CAST('3' AS JSON)", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CAST(-1 AS SIGNED)", "_latin1'b'", "1 / 3"]
MODES = ["DEFAULT", "DEFAULT", "''", "''", "''", "'STRICT_TRANS_TABLES'", "'STRICT_ALL_TABLES'", "'NO_ZERO_DATE'",
         "'NO_ZERO_IN_DATE'", "'ERROR_FOR_DIVISION_BY_ZERO'", "'NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES'",
         "'NO_AUTO_VALUE_ON_ZERO'", "'ALLOW_INVALID_DATES,STRICT_TRANS_TABLES'", "'TIME_TRUNCATE_FRACTIONAL'",
         "'NO_UNSIGNED_SUBTRACTION'", "'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'"]


class Column:
    """A column of a random table."""

    def __init__(self, name, kind, definition, generated=False):
        self.name, self.kind, self.definition, self.generated = name, kind, definition, generated
        self.nullable = "NOT NULL" not in definition and "PRIMARY" not in definition


def default_of(kind, rng):
    """A constant as DEFAULT has it."""
    value = rng.choice(KINDS[kind][1])
    return f"b'{value:b}'" if kind in ("bt", "b1") else re.sub("^(_binary |DATE|TIMESTAMP)", "", literal(value))


def random_column(kind, rng):
    """A column of a kind, with or without NULL and DEFAULT."""
    text = f"{kind} {KINDS[kind][0]}"
    nullable = rng.random() < 0.65
    text += " NULL" if nullable else " NOT NULL"
    chance = rng.random()
    if kind in ("dt", "ts", "t2") and chance < 0.5:
        now = "CURRENT_TIMESTAMP" + ("(2)" if kind == "t2" else "")
        text += rng.choice([f" DEFAULT {now} ON UPDATE {now}", f" ON UPDATE {now}", f" DEFAULT {now}"])
    elif kind not in NO_DEFAULT and chance < 0.5:
        text += f" DEFAULT {default_of(kind, rng)}"
    return Column(kind, kind, text)


class Table:
    """A random table: `id`, `u` and columns of some kinds, and keys."""

    def __init__(self, name, rng, parent=None):
        self.name = name
        kinds = rng.sample(sorted(KINDS), rng.randint(2, 6))
        self.auto = rng.random() < 0.55
        start = ""
        id_type = rng.choice(["INT", "INT", "BIGINT UNSIGNED", "SMALLINT", "TINYINT"])
        self.columns = [Column("id", "i", f"id {id_type} NOT NULL{' AUTO_INCREMENT' if self.auto else ''}"),
                        Column("u", "i", "u INT" + rng.choice(["", "", " DEFAULT 3", " NOT NULL"]))]
        self.columns += [random_column(kind, rng) for kind in kinds]
        rng.shuffle(self.columns)
        self.clauses = [rng.choice(["PRIMARY KEY (id)"] * 4 + ["UNIQUE KEY k_id (id)"])]
        # Without one rows are read in the order of another key by MySQL, in that of their coming by Cohort.
        self.primary = "PRIMARY" in self.clauses[0]
        self._generated(rng)
        self._keys(rng)
        if rng.random() < 0.15:
            self.clauses.append(rng.choice(["CHECK (u < 8)", "CHECK (id <> 4)", "CHECK (u IS NOT NULL)",
                                            "CONSTRAINT few CHECK (u + id < 14)"]))
        if parent and rng.random() < 0.35:
            actions = rng.choice(["", " ON DELETE CASCADE", " ON UPDATE CASCADE ON DELETE SET NULL"])
            id_of_parent = next(c for c in parent.columns if c.name == "id")
            self.columns.append(Column("p", "i", "p " + id_of_parent.definition.split()[1] + (
                " UNSIGNED" if "UNSIGNED" in id_of_parent.definition else "")))
            self.clauses.append(f"FOREIGN KEY (p) REFERENCES {parent.name} (id){actions}")
        if self.auto and rng.random() < 0.2:
            start = f" AUTO_INCREMENT = {rng.choice([5, 100, 126])}"
        self.options = start

    def _generated(self, rng):
        """A generated column."""
        if rng.random() > 0.3:
            return
        numbers = [c.name for c in self.columns if c.kind in ("i", "ti", "su")]
        texts = [c.name for c in self.columns if c.kind in ("v", "vb", "c")]
        choices = [f"INT AS (IFNULL({rng.choice(numbers)}, 0) % 7)", "INT AS (u % 5)"]
        choices += [f"VARCHAR(9) AS (CONCAT({rng.choice(texts)}, '!'))"] if texts else []
        definition = rng.choice(choices)
        kind = "i" if definition[0] == "I" else "v"
        if "id" in definition and self.auto:
            return
        self.columns.append(Column("g", kind, f"g {definition} {rng.choice(['STORED', 'VIRTUAL'])}", generated=True))

    def _keys(self, rng):
        names = {c.name for c in self.columns}
        if rng.random() < 0.6:
            self.clauses.append("UNIQUE KEY k_u (u)")
        plain = sorted(c.name for c in self.columns if c.kind not in ("js", "tx", "tt", "bl") and c.name != "id")
        if rng.random() < 0.3:
            self.clauses.append(f"UNIQUE KEY k_x ({rng.choice(plain)})")
        if rng.random() < 0.15 and len(plain) > 1:
            self.clauses.append(f"UNIQUE KEY k_y ({', '.join(rng.sample(plain, 2))})")
        if rng.random() < 0.3:
            self.clauses.append(f"KEY k_z ({rng.choice(plain)})")
        if rng.random() < 0.1 and names & {"tx", "bl"}:
            self.clauses.append(f"UNIQUE KEY k_t ({sorted(names & {'tx', 'bl'})[0]}(4))")

    def create(self):
        parts = [column.definition for column in self.columns] + self.clauses
        return f"CREATE TABLE {self.name} ({', '.join(parts)}){self.options}"

    def by_name(self, name):
        return next((c for c in self.columns if c.name == name), None)


class Change(Statement):
    """A statement in parts: lists that may be made shorter, and words that may go."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.head, self.source, self.tail, self.alias = kind, kind.upper(), "", "", ""
        # For INSERT: columns, and rows of as many expressions.
        self.columns, self.rows, self.as_set = [], [], False
        # Pairs of a column and what it gets.
        self.changes, self.where = [], []

    def text(self):
        """Its text, with constants as marks."""
        assigned = ", ".join(f"{column} = {value}" for column, value in self.changes)
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        match self.kind:
            case "insert":
                text = f"{self.head} INTO {self.source}"
                if self.as_set:
                    given = zip(self.columns, self.rows[0])
                    text += " SET " + ", ".join(f"{column} = {value}" for column, value in given)
                else:
                    text += f" ({', '.join(self.columns)}) VALUES "
                    text += ", ".join(f"({', '.join(row)})" for row in self.rows)
                return text + self.alias + (f" ON DUPLICATE KEY UPDATE {assigned}" if assigned else "")
            case "select":
                text = f"{self.head} INTO {self.source} ({', '.join(self.columns)}) "
                text += f"SELECT {', '.join(self.rows[0])} FROM {self.alias}{where}{self.tail}"
                return text + (f" ON DUPLICATE KEY UPDATE {assigned}" if assigned else "")
            case "update":
                return f"{self.head} {self.source} SET {assigned}{where}{self.tail}"
            case "delete":
                return f"{self.head} {self.source}{where}{self.tail}"
        return self.head

    def mark(self, value):
        """A constant."""
        self.values.append([value])
        return f"\x01{len(self.values) - 1}\x02"

    def lists(self):
        """What may lose members, and how few there must be left."""
        return [(self.rows, 1), (self.changes, self.kind == "update"), (self.where, 0)]

    def without(self, name):
        """Gives no value to a column any more."""
        if name in self.columns and len(self.columns) > 1:
            at = self.columns.index(name)
            self.columns = self.columns[:at] + self.columns[at + 1:]
            self.rows = [row[:at] + row[at + 1:] for row in self.rows]
        self.changes = [pair for pair in self.changes if pair[0].split(".")[-1] != name] or self.changes


class Generator:
    """Makes statements about some tables."""

    def __init__(self, rng, tables):
        self.rng, self.tables, self.made, self.open = rng, tables, None, False

    def constant(self, column):
        """A value for a column: mostly one that fits."""
        rng, chance = self.rng, self.rng.random()
        if column.name in ("id", "u", "p"):
            small = rng.choice([None, 0, 1, 2, 3, 4, 5, 6, 7, -2] if column.name != "u" else [None, 1, 2, 3, 4, 5, 6])
            if chance < 0.93:
                return self.made.mark(small)
        if chance < 0.68:
            return self.mark(rng.choice(KINDS[column.kind][1]), column)
        if chance < 0.76:
            return self.mark(None, column)
        if chance < 0.95:
            return self.mark(rng.choice(ODD), column)
        return rng.choice(RAW)

    def mark(self, value, column):
        """A constant, which may be a parameter."""
        is_literal = column.kind in ("bt", "b1") or isinstance(value, bytes)
        return literal(value) if is_literal else self.made.mark(value)

    def value(self, column, names, defaults=True):
        """What is assigned to a column; `names`: what it may be computed from, by kind: (text, column)."""
        rng, chance = self.rng, self.rng.random()
        if chance < 0.5 or not names:
            return self.constant(column)
        if chance < 0.56 and defaults:
            return "DEFAULT"
        name, other = rng.choice(names)
        alike = [(n, c) for n, c in names if c.kind == column.kind]
        if rng.random() < 0.4 and alike:
            name, other = rng.choice(alike)
        # MySQL finds none of a row alias.
        if chance < 0.6 and "(" not in name and "new." not in name:
            return f"DEFAULT({name})"
        if chance < 0.8:
            return name
        return self.computed(name, other, names)

    def computed(self, name, other, names):
        """An expression of a column."""
        rng = self.rng
        # Of a document that is not one itself MySQL makes a number without a word.
        again = rng.choice([n for n, c in names if c.kind != "js"] or [name])
        if other.kind == "js":
            return rng.choice([f"JSON_EXTRACT({name}, '$')", f"CONCAT({name})"])
        if other.kind in NUMBERS and rng.random() < 0.6:
            return rng.choice([f"{name} + 1", f"{name} * 2", f"{name} - 3", f"-{name}", f"{name} / 2", f"{name} % 3",
                               f"{name} / 0", f"{name} + 0.25"])
        if other.kind in TEXTS and rng.random() < 0.6:
            return rng.choice([f"CONCAT({name}, 'z')", f"UPPER({name})", f"LEFT({name}, 2)", f"REVERSE({name})"])
        if other.kind in TIMES and rng.random() < 0.6:
            return f"{name} + INTERVAL 1 {rng.choice(['DAY', 'SECOND', 'MONTH'])}"
        return rng.choice([f"IFNULL({name}, {self.made.mark(rng.choice(ODD))})", f"COALESCE({name}, {again})",
                           f"IF({name} IS NULL, 1, {again})", f"CASE WHEN u > 2 THEN {name} END", f"NULLIF({name}, {name})"])

    def condition(self, table, alias=""):
        """A condition that reads rows in the order of `id`."""
        rng = self.rng
        column = rng.choice(table.columns)
        name = alias + column.name
        if rng.random() < 0.6 or column.kind == "js":
            return f"{alias}id {rng.choice(['=', '<', '>', '<>', '>='])} {rng.randint(0, 6)}"
        # Nothing that an index is searched by.
        return rng.choice([f"IFNULL({name}, NULL) IS NULL OR {alias}id < 3", f"IFNULL({name}, NULL) IS NOT NULL",
                           f"({alias}u + 0) < {rng.randint(1, 6)}", f"({alias}u + 0) > {rng.randint(1, 4)}"])

    def names(self, table, prefix=""):
        return [(prefix + column.name, column) for column in table.columns]

    def order(self, table, prefix=""):
        rng = self.rng
        key = f" ORDER BY {prefix}id" + rng.choice(["", "", " DESC"])
        return key + (f" LIMIT {rng.randint(0, 3)}" if rng.random() < 0.5 else "")

    def statement(self):
        rng = self.rng
        table = rng.choice(self.tables)
        choices = {self.insert: 40, self.insert_select: 11, self.update: 19, self.update_several: 8, self.delete: 5,
                   self.delete_several: 2, self.other: 15}
        make = rng.choices(list(choices), list(choices.values()))[0]
        return make(table)

    def insert(self, table):
        rng = self.rng
        self.made = made = Change("insert")
        chance = rng.random()
        made.head = "REPLACE" if chance < 0.15 else "INSERT IGNORE" if chance < 0.35 else "INSERT"
        made.source = table.name
        able = [c for c in table.columns if not c.generated or rng.random() < 0.1]
        given = [c for c in able if rng.random() < 0.8] or able[:1]
        rng.shuffle(given)
        made.columns = [c.name for c in given]
        made.as_set = rng.random() < 0.12
        for _ in range(1 if made.as_set else rng.choice([1, 1, 1, 2, 3, 4])):
            row = []
            for at, column in enumerate(given):
                earlier = [(c.name, c) for c in given[:at]] if rng.random() < 0.15 else []
                if column.generated:
                    row.append(rng.choice(["DEFAULT", "DEFAULT", "1"]))
                elif rng.random() < 0.08:
                    row.append("DEFAULT")
                else:
                    row.append(self.value(column, earlier))
            made.rows.append(row)
        if made.head != "REPLACE" and rng.random() < 0.42:
            self.on_duplicate(made, table)
        return made

    def on_duplicate(self, made, table):
        rng = self.rng
        names = self.names(table, rng.choice(["", table.name + "."]))
        if made.kind == "insert" and rng.random() < 0.3:
            made.alias = " AS new"
            names = self.names(table, table.name + ".") + self.names(table, "new.")
        else:
            names = names + [(f"VALUES({c.name})", c) for c in table.columns]
        able = [c for c in table.columns if not c.generated]
        for column in rng.sample(able, rng.choice([1, 1, 2, 2, 3])):
            value = self.value(column, names)
            if column.name == "id":
                value = rng.choice(["id", "VALUES(id)", "LAST_INSERT_ID(id)", "LAST_INSERT_ID(77)", value, "id + 1"])
                value = value.replace("VALUES(id)", "new.id") if made.alias else value
            if made.alias and value in ("id", "LAST_INSERT_ID(id)", "id + 1"):
                value = value.replace("id", f"{table.name}.id").replace(f"({table.name}.id)", f"({table.name}.id)")
                value = value.replace(f"LAST_INSERT_{table.name}.id", "LAST_INSERT_ID")
            made.changes.append((column.name, value))

    def insert_select(self, table):
        rng = self.rng
        self.made = made = Change("select")
        source = rng.choice(self.tables)
        made.head = rng.choice(["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"])
        made.source, made.alias = table.name, source.name + " s"
        able = [c for c in table.columns if not c.generated]
        given = [c for c in able if rng.random() < 0.7] or able[:1]
        rng.shuffle(given)
        made.columns = [c.name for c in given]
        names = self.names(source, "s.")
        row = []
        for column in given:
            if column.name == "id":
                row.append(rng.choice(["s.id", "NULL", "s.id + 3", "s.id + 1", "s.u"]))
            else:
                same = [n for n, c in names if c.kind == column.kind]
                row.append(rng.choice(same) if same and rng.random() < 0.6 else self.value(column, names, False))
        made.rows = [row]
        if rng.random() < 0.5:
            made.where.append(self.condition(source, "s."))
        made.tail = self.order(source, "s.")
        if made.head != "REPLACE" and rng.random() < 0.4:
            names = [(f"{table.name}.{c.name}", c) for c in table.columns] + names
            names = names + [(f"VALUES({c.name})", c) for c in given]
            for column in rng.sample(able, rng.choice([1, 1, 2])):
                made.changes.append((column.name, self.value(column, names)))
        return made

    def update(self, table):
        rng = self.rng
        self.made = made = Change("update")
        made.head = rng.choice(["UPDATE", "UPDATE", "UPDATE IGNORE"])
        made.source = table.name
        able = [c for c in table.columns if not c.generated]
        for column in rng.sample(able, min(len(able), rng.choice([1, 1, 2, 3, 4]))):
            value = self.value(column, self.names(table))
            if rng.random() < 0.04:
                value = f"(SELECT {rng.choice(['MAX', 'MIN', 'COUNT'])}(id) FROM {rng.choice(self.tables).name})"
            made.changes.append((column.name, value))
        for _ in range(rng.choice([0, 1, 1, 2])):
            made.where.append(f"({self.condition(table)})")
        if rng.random() < 0.3 or not table.primary:
            made.tail = self.order(table)
        return made

    def joined(self):
        """Two tables, or one twice, joined by what is unique in most; and their columns."""
        rng = self.rng
        able = [table for table in self.tables if table.primary] or self.tables
        one, other = rng.choice(able), rng.choice(able)
        on = rng.choice(["a.id = b.id", "a.id = b.id", "a.u = b.u", "a.id = b.u"])
        word = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "STRAIGHT_JOIN"])
        return one, other, f"{one.name} a {word} {other.name} b ON {on}"

    def update_several(self, _):
        rng = self.rng
        self.made = made = Change("update")
        made.head = rng.choice(["UPDATE", "UPDATE", "UPDATE IGNORE"])
        one, other, made.source = self.joined()
        names = self.names(one, "a.") + self.names(other, "b.")
        able = [(n, c) for n, c in names if not c.generated]
        if rng.random() < 0.6:
            able = [(n, c) for n, c in able if n[0] == "a"]
        for name, column in rng.sample(able, min(len(able), rng.choice([1, 2, 2, 3]))):
            made.changes.append((name, self.value(column, names)))
        if rng.random() < 0.6:
            made.where.append(f"({self.condition(one, 'a.')})")
        return made

    def delete(self, table):
        rng = self.rng
        self.made = made = Change("delete")
        made.head = rng.choice(["DELETE FROM", "DELETE FROM", "DELETE IGNORE FROM"])
        made.source = table.name
        made.where = [f"({self.condition(table)})"] + ([f"({self.condition(table)})"] if rng.random() < 0.5 else [])
        if rng.random() < 0.5 or not table.primary:
            made.tail = self.order(table)
        return made

    def delete_several(self, _):
        rng = self.rng
        self.made = made = Change("delete")
        _, _, source = self.joined()
        made.head = rng.choice(["DELETE", "DELETE", "DELETE IGNORE"]) + rng.choice([" a FROM", " a, b FROM", " b FROM"])
        made.source, made.where = source, [f"a.id > {rng.randint(1, 5)}"]
        return made

    def other(self, table):
        """What is not a change itself."""
        rng = self.rng
        self.made = made = Change("other")
        chance = rng.random()
        if chance < 0.4:
            made.head = f"SET sql_mode = {rng.choice(MODES)}"
        elif chance < 0.46:
            made.head = f"SET timestamp = {rng.choice([1600000000.25, 1700000000.75, 1600000001])}"
        elif chance < 0.49 and table.auto:
            made.head = f"ALTER TABLE {table.name} AUTO_INCREMENT = {rng.randint(1, 9)}"
        elif chance < 0.51:
            made.head = f"SET insert_id = {rng.randint(1, 9)}"
        elif not self.open:
            made.head, self.open = rng.choice(["BEGIN", "START TRANSACTION"]), True
        elif chance < 0.7:
            made.head = f"SAVEPOINT s{rng.randint(1, 2)}"
        elif chance < 0.82:
            made.head = f"ROLLBACK TO s{rng.randint(1, 2)}"
        else:
            made.head, self.open = rng.choice(["COMMIT", "ROLLBACK"]), False
        return made


def world_of(seed):
    """The tables of a world, and its generator."""
    rng = random.Random(seed)
    tables = [Table("t0", rng)]
    for number in range(1, rng.choice([1, 2, 2, 3])):
        tables.append(Table(f"t{number}", rng, tables[0]))
    return rng, tables, Generator(rng, tables)
