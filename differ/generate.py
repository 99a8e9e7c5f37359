"""Random statements. Their constants stand apart, so that each can be sent in every form."""

import datetime
import decimal
import re

from protocol import Unsigned

D = decimal.Decimal
DAY, MOMENT, SPAN = datetime.date, datetime.datetime, datetime.timedelta

# A column of each type, and what may stand in it.
COLUMNS = {
    "i": ("INT", [0, 1, -1, 5, 2147483647, -2147483648]),
    "b": ("BIGINT", [0, 7, -3, 9007199254740992, 9007199254740993, 9223372036854775807]),
    # None of which is a negative number of the other columns when taken for a signed one: MySQL says
    # that these are equal in a longer IN and in CASE.
    "u": ("BIGINT UNSIGNED", [0, 2, 18446744073709551614, 9223372036854775809]),
    "s": ("SMALLINT", [0, 3, -300]),
    "n": ("DECIMAL(10,2)", [D("0.00"), D("1.50"), D("-12.34"), D("99999999.99")]),
    "m": ("DECIMAL(30,10)", [D("0.0000000001"), D("9007199254740993.5"), D("-3")]),
    "f": ("DOUBLE", [0.0, 1.5, -2.25, 1e20, 0.1]),
    "c": ("VARCHAR(40)", ["", "a", "A", "abc", "1", "1.5", "x1", "2020-01-02", "10:11:12", "é",
                          "9007199254740993", " a", "b "]),
    "g": ("VARCHAR(40) COLLATE utf8mb4_bin", ["", "a", "B", "12", "1e2"]),
    "y": ("VARBINARY(20)", [b"", b"a", b"\x00\xff", b"12"]),
    "d": ("DATE", [DAY(2020, 1, 2), DAY(1999, 12, 31), DAY(2024, 2, 29)]),
    "t": ("TIME", [SPAN(hours=10, minutes=11, seconds=12), SPAN(0), -SPAN(hours=30)]),
    "e": ("DATETIME(3)", [MOMENT(2020, 1, 2), MOMENT(2020, 1, 2, 10, 11, 12, 345000)]),
    "a": ("YEAR", [2020, 1999]),
}
CONSTANTS = {
    "int": [0, 1, -1, 2, 5, 10, 2147483648, 9007199254740993, -9223372036854775807,
            Unsigned(18446744073709551614), Unsigned(3)],
    "decimal": [D("0.0"), D("1.5"), D("-0.25"), D("12345678901234567890.123"), D("0.30")],
    "double": [0.0, 1.5, -1e3, 1e20],
    "string": ["", "a", "A", "abc", "1", "1.5", "-2abc", "9007199254740993", "2020-01-02",
               "2020-01-02 10:11:12", "10:11:12", "é", "%", "a%", "NULL", "0"],
    "date": [DAY(2020, 1, 2), DAY(2024, 2, 29)],
    "time": [SPAN(hours=10, minutes=11, seconds=12), -SPAN(minutes=1)],
    "datetime": [MOMENT(2020, 1, 2, 10, 11, 12), MOMENT(2020, 1, 2, 10, 11, 12, 345000)],
    "null": [None],
}
# What compares one thing with several, as MySQL's texts have it, and in terms of `=` and the like.
COMPARING = {
    "in": (lambda a, *list_: f"{a} IN ({','.join(list_)})",
           lambda a, *list_: "(" + " OR ".join(f"{a} = {b}" for b in list_) + ")"),
    "not in": (lambda a, *list_: f"{a} NOT IN ({','.join(list_)})",
               lambda a, *list_: "(NOT (" + " OR ".join(f"{a} = {b}" for b in list_) + "))"),
    "between": (lambda a, low, high: f"{a} BETWEEN {low} AND {high}",
                lambda a, low, high: f"({a} >= {low} AND {a} <= {high})"),
    "not between": (lambda a, low, high: f"{a} NOT BETWEEN {low} AND {high}",
                    lambda a, low, high: f"(NOT ({a} >= {low} AND {a} <= {high}))"),
    "case": (lambda a, *then: f"CASE {a} {whens('WHEN {}', then)} END",
             lambda a, *then: f"CASE {whens(f'WHEN {a} = {{}}', then)} END"),
}


def whens(when, then):
    return " ".join(f"{when.format(one)} THEN {other}" for one, other in zip(then[::2], then[1::2]))


# Patterns of expressions. N stands for a number, S for a string, T for a date or time, B for
# anything that is said to be compared (numbers with digits in strings, dates with theirs), E for
# anything at all, C for a condition, I for a small integer literal. in{B;B;B} and the like are of
# COMPARING.
NUMBERS = """
(N + N)|(N - N)|(N * N)|(N / N)|(N DIV N)|(N % N)|(- N)|ABS(N)|ROUND(N)|ROUND(N,I)|TRUNCATE(N,I)
CEILING(N)|FLOOR(N)|SIGN(N)|MOD(N,N)|SQRT(N)|COALESCE(N,N)|IFNULL(N,N)|NULLIF(N,N)|IF(C,N,N)
GREATEST(N,N)|LEAST(N,N,N)|CASE WHEN C THEN N ELSE N END|case{N;N;N;N;N}
LENGTH(S)|CHAR_LENGTH(S)|INSTR(S,S)|LOCATE(S,S)|ASCII(S)|FIELD(S,S,S)|STRCMP(S,S)|YEAR(T)
MONTH(T)|EXTRACT(YEAR FROM T)|CAST(N AS SIGNED)|CAST(N AS DECIMAL(12,3))|CAST(S AS SIGNED)
CAST(N AS UNSIGNED)|CAST(N AS DOUBLE)|CAST(S AS DECIMAL(12,3))|(S + N)|(C)|(N & N)|(N "|" N)|(N ^ N)
(N << 2)|CRC32(S)|BIT_COUNT(N)|COALESCE(N,S)|INTERVAL(N,N,N)|ISNULL(E)|(N)
""".strip().replace("\n", "|")
STRINGS = """
CONCAT(S,S)|CONCAT(S,N)|CONCAT_WS(S,S,S)|CONCAT(T,S)|UPPER(S)|LOWER(S)|LEFT(S,2)|RIGHT(S,2)
SUBSTRING(S,I)|SUBSTRING(S,1,2)|REPLACE(S,S,S)|TRIM(S)|LTRIM(S)|REVERSE(S)|REPEAT(S,2)|LPAD(S,5,S)
HEX(S)|HEX(N)|ELT(I,S,S)|COALESCE(S,S)|IFNULL(S,S)|NULLIF(S,S)|IF(C,S,S)|GREATEST(S,S)|LEAST(S,S)
CASE WHEN C THEN S ELSE S END|case{S;S;S;S;S}|CAST(N AS CHAR)|CAST(S AS CHAR)
CAST(S AS CHAR(3))|CAST(T AS CHAR)|FORMAT(N,2)|DATE_FORMAT(T,'%Y-%m-%d %H:%i:%s')|COALESCE(S,N)
IF(C,N,S)|IFNULL(N,S)|IFNULL(T,S)|CAST(S AS BINARY)|CONV(N,10,16)|(S)
""".strip().replace("\n", "|")
TIMES = """
DATE_ADD(T, INTERVAL I DAY)|DATE_SUB(T, INTERVAL I HOUR)|LAST_DAY(T)|DATE(T)|CAST(T AS DATE)
CAST(T AS DATETIME)|CAST(T AS DATETIME(6))|TIMESTAMP(T)|COALESCE(T,T)|IFNULL(T,T)|NULLIF(T,T)
IF(C,T,T)|GREATEST(T,T)|LEAST(T,T)|CASE WHEN C THEN T ELSE T END|CAST(S AS DATE)|(T)
""".strip().replace("\n", "|")
CONDITIONS = """
B = B|B <> B|B < B|B <= B|B > B|B >= B|B <=> B|in{B;B;B}|not in{B;B;B;B}|between{B;B;B}
S LIKE S|E IS NULL|E IS NOT NULL|(C AND C)|(C OR C)|NOT (C)|(C) IS TRUE|(B,B) = (B,B)|N
in{(B,B);(B,B);(B,B)}|not between{B;B;B}|in{B;B;B;B;B;B;B}
""".strip().replace("\n", "|")
PAIRS = ["NN", "NN", "NN", "SS", "SS", "TT", "Nn", "Nn", "Tt", "Tt"]
AGGREGATES = ["SUM", "MIN", "MAX", "AVG", "COUNT", "BIT_OR", "BIT_AND", "GROUP_CONCAT", "STD",
              "COUNT(DISTINCT", "SUM(DISTINCT", "BIT_XOR"]


def split(patterns):
    """The patterns of a table; a bar in quotes is one."""
    bar = patterns.replace('"|"', "\0")
    return [pattern.replace("\0", "|") for pattern in bar.split("|")]


MODES = ["STRICT_TRANS_TABLES", "ONLY_FULL_GROUP_BY", "NO_ZERO_DATE", "NO_ZERO_IN_DATE",
         "ERROR_FOR_DIVISION_BY_ZERO", "NO_UNSIGNED_SUBTRACTION", "HIGH_NOT_PRECEDENCE",
         "ALLOW_INVALID_DATES", "REAL_AS_FLOAT", "PIPES_AS_CONCAT"]

PATTERNS = {"N": split(NUMBERS), "S": split(STRINGS), "T": split(TIMES), "C": split(CONDITIONS)}
LEAVES = {"N": "ibusnmf", "S": "cgcg", "T": "dde"}


class Statement:
    """A text with a mark for each constant, and the constants."""

    def __init__(self, text, values):
        self.text, self.values = text, list(values)

    def fill(self, render, pairwise=False):
        """The text with its constants as `render` writes them; with IN, BETWEEN and CASE in terms
        of `=` and the like, if `pairwise`."""
        parts = self.text.split("\1")
        out = parts[0]
        for number, part in enumerate(parts[1:]):
            out += render(number, self.values[number]) + part
        return spell(out, pairwise)

    def compares(self):
        """Whether there is any IN, BETWEEN or CASE in it."""
        return "\2" in self.text


def spell(text, pairwise):
    """A text without marks of what compares one thing with several."""
    open_ = [[""]]
    for part in re.split("([\2\3\4])", text):
        if part == "\2":
            open_.append([""])
        elif part == "\3":
            open_[-1].append("")
        elif part == "\4":
            name, *operands = open_.pop()
            open_[-1][-1] += COMPARING[name][pairwise](*operands)
        else:
            open_[-1][-1] += part
    return open_[0][0]


class Generator:
    """Makes statements of a random number generator."""

    def __init__(self, rng):
        self.rng, self.values, self.tables = rng, [], []

    def mode(self):
        """Another sql_mode: the default one half of the time."""
        if self.rng.random() < 0.5:
            return Statement("SET sql_mode = DEFAULT", [])
        chosen = [mode for mode in MODES if self.rng.random() < 0.4]
        return Statement(f"SET sql_mode = '{','.join(chosen)}'", [])

    def constant(self, kinds):
        value = self.rng.choice(CONSTANTS[self.rng.choice(kinds)])
        self.values.append(value)
        return "\1"

    def leaf(self, letter):
        """A column or constant: lower case letters are strings that look like the upper case."""
        rng = self.rng
        if letter == "n":
            self.values.append(rng.choice(["1", "0", "5", "1.5", "-300", "9007199254740993", "12"]))
            return "\1"
        if letter == "t":
            self.values.append(rng.choice(["2020-01-02", "2020-01-02 10:11:12.345", "1999-12-31",
                                           "2024-02-29 00:00:00", "20200102"]))
            return "\1"
        if self.tables and rng.random() < 0.6:
            return f"{rng.choice(self.tables)}.{rng.choice(LEAVES[letter])}"
        return self.constant({"N": ["int", "int", "int", "decimal", "double", "null"],
                              "S": ["string", "string", "string", "string", "null"],
                              "T": ["date", "datetime", "date", "datetime", "null"]}[letter])

    def expression(self, depth, letter=None):
        letter = letter or self.rng.choice("NNNSST")
        if letter.islower() or depth <= 0 or self.rng.random() < 0.2:
            return self.leaf(letter)
        return self.fill(self.rng.choice(PATTERNS[letter]), depth)

    def condition(self, depth):
        return self.fill(self.rng.choice(PATTERNS["C"][:11] if depth <= 0 else PATTERNS["C"]), depth)

    def fill(self, pattern, depth):
        """A pattern with its letters exchanged for expressions."""
        out, pair = "", self.rng.choice(PAIRS)
        comparing = re.fullmatch(r"([a-z ]+)\{(.*)\}", pattern)
        if comparing:
            pattern = "\2" + comparing[1] + "\3" + comparing[2].replace(";", "\3") + "\4"
        for place, letter in enumerate(pattern):
            before, after = pattern[place - 1:place] if place else "", pattern[place + 1:place + 2]
            alone = not before.isalpha() and not after.isalpha() and before not in ("%", "_")
            if not alone or letter not in "NSTBECI":
                out += letter
            elif letter == "B":
                out += self.expression(depth - 1, self.rng.choice(pair))
            elif letter == "E":
                out += self.expression(depth - 1)
            elif letter == "C":
                out += self.condition(depth - 1)
            elif letter == "I":
                out += str(self.rng.choice([-1, 0, 1, 2, 3]))
            else:
                out += self.expression(depth - 1, letter)
        return out

    def aggregate(self, depth):
        name = self.rng.choice(AGGREGATES)
        inner = self.expression(depth, "N" if name[:3] in ("SUM", "AVG", "BIT", "STD") else None)
        order = f" ORDER BY {self.tables[0]}.id" if name == "GROUP_CONCAT" else ""
        opened = name if "(" in name else name + "("
        return f"{opened} {inner}{order})"

    def select(self):
        rng, kind = self.rng, self.rng.random()
        self.values, self.tables = [], ["t"]
        if kind < 0.25:
            self.tables = []
            items = ", ".join(f"{self.expression(2)} AS x{n}" for n in range(rng.randint(1, 3)))
            text = f"SELECT {items}"
        elif kind < 0.55:
            items = ", ".join(f"{self.expression(2)} AS x{n}" for n in range(rng.randint(1, 3)))
            text = f"SELECT t.id, {items} FROM t WHERE {self.condition(2)} ORDER BY t.id"
        elif kind < 0.58:
            text = self.subquery()
        elif kind < 0.61:
            items = ", ".join(self.expression(1) for _ in range(rng.randint(1, 2)))
            text = f"SELECT DISTINCT {items} FROM t WHERE {self.condition(1)} ORDER BY 1"
            text += ", 2" if items.count(", ") else ""
            text = f"SELECT COUNT(*) FROM ({text}) q" if rng.random() < 0.5 else text
        elif kind < 0.75:
            items = ", ".join(f"{self.aggregate(1)} AS x{n}" for n in range(rng.randint(1, 3)))
            text = f"SELECT {items} FROM t WHERE {self.condition(1)}{self.grouping()}"
        elif kind < 0.85:
            self.tables = []
            letter = rng.choice("NNSST")
            other = letter if rng.random() < 0.7 else rng.choice("NST")
            one, two = self.expression(1, letter), self.expression(1, other)
            union = rng.choice(["UNION ALL", "UNION"])
            text = rng.choice([
                f"SELECT x FROM (SELECT {one} AS x {union} SELECT {two}) q ORDER BY x",
                f"SELECT {one} AS x {union} SELECT {two} ORDER BY x",
                f"(SELECT {one} AS x) {union} (SELECT {two}) ORDER BY 1 LIMIT 3"])
        elif kind < 0.93:
            inner = self.expression(1)
            agg = rng.choice(["MAX", "MIN", "SUM", "COUNT"])
            text = (f"SELECT {agg}(q.x) AS a FROM (SELECT t.id, {inner} AS x FROM t) q "
                    f"WHERE q.id < 30")
        else:
            self.tables = ["t", "t2"]
            text = (f"SELECT t.id, t2.id FROM t LEFT JOIN t2 ON {self.condition(1)} "
                    f"WHERE t.id < 8 ORDER BY t.id, t2.id")
        return Statement(text, self.values)

    def grouping(self):
        """The end of a statement with aggregates."""
        rng = self.rng
        if rng.random() < 0.4:
            return ""
        by = f"t.{rng.choice('isdc')}" if rng.random() < 0.6 else self.expression(1)
        having = ""
        if rng.random() < 0.4:
            having = f" HAVING {self.aggregate(0)} {rng.choice(['>', '<=', '<>'])} {self.leaf('N')}"
        return f" GROUP BY {by}{having} ORDER BY MIN(t.id)"

    def subquery(self):
        """A statement with a subquery of some kind."""
        rng, letter = self.rng, self.rng.choice("NNSST")
        self.tables = ["t"]
        left = self.expression(1, letter)
        self.tables = ["t2"] if rng.random() < 0.6 else ["t2", "t"]
        inner, where = self.expression(1, letter), self.condition(1)
        operator = rng.choice(["=", "<", ">=", "<>"])
        test = rng.choice([
            f"{left} IN (SELECT {inner} FROM t2 WHERE {where})",
            f"{left} NOT IN (SELECT {inner} FROM t2 WHERE {where})",
            f"{left} {operator} (SELECT MAX({inner}) FROM t2 WHERE {where})",
            f"{left} {operator} ANY (SELECT {inner} FROM t2 WHERE {where})",
            f"{left} {operator} ALL (SELECT {inner} FROM t2 WHERE {where})",
            f"EXISTS (SELECT 1 FROM t2 WHERE {left} {operator} {inner} AND {where})",
            f"NOT EXISTS (SELECT 1 FROM t2 WHERE {left} {operator} {inner} AND {where})"])
        if rng.random() < 0.3:
            return f"SELECT t.id, ({test}) AS x FROM t ORDER BY t.id"
        return f"SELECT t.id FROM t WHERE {test} ORDER BY t.id"

    def change(self):
        rng = self.rng
        self.values, self.tables = [], ["w"]
        letter = rng.choice("NNSST")
        column = rng.choice(LEAVES[letter])
        if rng.random() < 0.5:
            text = f"UPDATE w SET {column} = {self.expression(1, letter)} WHERE {self.condition(1)}"
        elif rng.random() < 0.4:
            self.tables = []
            rows = ", ".join(f"({rng.randint(1, 40)}, {self.expression(1, letter)})"
                             for _ in range(rng.randint(1, 3)))
            self.tables = ["w"]
            text = (f"INSERT INTO w (id, {column}) VALUES {rows} ON DUPLICATE KEY UPDATE "
                    f"{column} = {self.expression(1, letter)}")
        elif rng.random() < 0.5:
            self.tables = []
            rows = ", ".join(f"({rng.randint(1, 60)}, {self.expression(1, letter)})"
                             for _ in range(rng.randint(1, 3)))
            text = f"{rng.choice(['REPLACE', 'INSERT IGNORE'])} INTO w (id, {column}) VALUES {rows}"
        else:
            text = f"DELETE FROM w WHERE {self.condition(1)} AND w.id > 20"
        return Statement(text, self.values)


def literal(value):
    """A constant as a statement's text has it."""
    match value:
        case None:
            return "NULL"
        case float():
            return f"{value:e}"
        case Unsigned():
            return str(int(value)) if value >= 1 << 63 else f"CAST({int(value)} AS UNSIGNED)"
        case int():
            return f"({value})" if value < 0 else str(int(value))
        case decimal.Decimal():
            return f"({value})" if value < 0 else str(value)
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
        case datetime.datetime():
            return f"TIMESTAMP'{value}'"
        case datetime.date():
            return f"DATE'{value}'"
        case datetime.timedelta():
            sign = "-" if value < SPAN(0) else ""
            total = abs(value)
            hours = total.days * 24 + total.seconds // 3600
            return f"TIME'{sign}{hours:02}:{total.seconds // 60 % 60:02}:{total.seconds % 60:02}'"
    raise TypeError(type(value))
