"""Random statements with what comes between WHERE and ORDER BY: window functions, WITH ROLLUP, and
combinations of queries."""

from generate import Statement

NUMERIC, ANY = "ibusnmf", "ibusnmfcgydtea"
INTERVALS = ["1 DAY", "1 MONTH", "'1 12' DAY_HOUR", "3 YEAR"]
ROWS_READ = ["LAG({x}) OVER {w}", "LEAD({x}, 2) OVER {w}", "LAG({x}, 1, {y}) OVER {w}",
             "FIRST_VALUE({x}) OVER {f}", "LAST_VALUE({x}) OVER {f}", "NTH_VALUE({x}, 2) OVER {f}"]
RANKS = ["RANK() OVER {o}", "DENSE_RANK() OVER {o}", "PERCENT_RANK() OVER {o}",
         "CUME_DIST() OVER {o}", "ROW_NUMBER() OVER {w}", "NTILE({n}) OVER {w}"]
AGGREGATED = ["SUM({i}) OVER {f}", "AVG({i}) OVER {f}", "COUNT({x}) OVER {f}", "COUNT(*) OVER {f}",
              "MIN({x}) OVER {f}", "MAX({x}) OVER {f}", "BIT_XOR({i}) OVER {f}",
              "SUM({i}) OVER {r}", "COUNT(*) OVER {r}", "MIN({x}) OVER {r}", "COUNT({x}) OVER {d}",
              "COUNT({i}) OVER {r}"]


class Stages:
    """Makes such statements by means of a generator's expressions."""

    def __init__(self, generator):
        self.generator, self.rng = generator, generator.rng

    def statement(self):
        self.generator.values, self.generator.tables = [], ["t"]
        make = self.rng.choice([self.windows, self.windows, self.rollup, self.combination])
        return Statement(make(), self.generator.values)

    def column(self, letters=ANY):
        return f"t.{self.rng.choice(letters)}"

    def value(self):
        """A column, or an expression now and then."""
        return self.column() if self.rng.random() < 0.7 else self.generator.expression(1)

    def bound(self, amount, start):
        """A bound of a frame."""
        kinds = ["UNBOUNDED PRECEDING" if start else "UNBOUNDED FOLLOWING", "CURRENT ROW"]
        kinds += [f"{amount} PRECEDING", f"{amount} FOLLOWING"]
        return self.rng.choice(kinds)

    def frame(self, unit, amounts):
        if self.rng.random() < 0.3:
            start = self.rng.choice(["UNBOUNDED PRECEDING", "CURRENT ROW",
                                     f"{self.rng.choice(amounts)} PRECEDING"])
            return f" {unit} {start}"
        start = self.bound(self.rng.choice(amounts), True)
        end = self.bound(self.rng.choice(amounts), False)
        return f" {unit} BETWEEN {start} AND {end}"

    def call(self):
        # Constants are made in the order in which the text has them.
        rng = self.rng
        pattern = rng.choice(rng.choice([ROWS_READ, RANKS, AGGREGATED, AGGREGATED]))
        arguments = {name: self.value() for name in "xy" if f"{{{name}}}" in pattern}
        direction = rng.choice(["", " DESC"])
        partition = f"PARTITION BY {self.value()} " if rng.random() < 0.5 else ""
        order = f"{partition}ORDER BY {self.column()}{direction}"
        rows = self.frame("ROWS", ["0", "1", "2", "3"]) if rng.random() < 0.7 else ""
        by, amounts = rng.choice([("t.s", ["1", "3", "300"]), ("t.n", ["1.5", "0", "20"]),
                                  ("t.f", ["1", "2.25"]), ("t.id", ["2", "5"])])
        moments = [f"INTERVAL {amount}" for amount in INTERVALS]
        ranged = f"ORDER BY {by}{direction}{self.frame('RANGE', amounts)}"
        dated = f"ORDER BY {self.column('de')}{direction}{self.frame('RANGE', moments)}"
        return pattern.format(**arguments, n=rng.randint(1, 7), i=self.column("ibusnm"),
                              w=f"({order}, t.id)", o=f"({order})", f=f"({order}, t.id{rows})",
                              r=f"({partition}{ranged})", d=f"({partition}{dated})")

    def windows(self):
        rng = self.rng
        calls = [f"{self.call()} AS x{n}" for n in range(rng.randint(1, 3))]
        where = f" WHERE {self.generator.condition(1)}" if rng.random() < 0.4 else ""
        text = f"SELECT t.id, {', '.join(calls)} FROM t{where} ORDER BY t.id"
        if rng.random() < 0.2:
            return f"SELECT COUNT(*), MIN(x0), MAX(x0) FROM ({text}) q"
        return text + (f" LIMIT {rng.randint(1, 9)}" if rng.random() < 0.2 else "")

    def rollup(self):
        rng = self.rng
        keys = rng.sample([f"t.{letter}" for letter in "isudta"], rng.randint(1, 2))
        what = [f"SUM({self.column('ibusnm')})", f"MAX({self.column('ibusnmfydtea')})", "COUNT(*)", f"GROUPING({', '.join(keys)})",
                f"IFNULL({keys[-1]}, 'all')", "SUM(COUNT(*)) OVER (ORDER BY COUNT(*))"]
        items = ", ".join(keys + rng.sample(what, rng.randint(1, 3)))
        having = f" HAVING GROUPING({keys[0]}) = {rng.randint(0, 1)}" if rng.random() < 0.2 else ""
        order = ", ".join(f"GROUPING({key}), {key}" for key in keys)
        return (f"SELECT {items} FROM t GROUP BY {', '.join(keys)} WITH ROLLUP{having} "
                f"ORDER BY {order}")

    def operand(self, letter):
        """A query of one column."""
        rng, generator = self.rng, self.generator
        if rng.random() < 0.2:
            generator.tables = []
            text = f"SELECT {generator.leaf(letter)} AS x"
            generator.tables = ["t"]
            return text
        column = f"t.{rng.choice({'N': 'ibusn', 'S': 'cg', 'T': 'de'}[letter])}"
        where = f" WHERE {generator.condition(0)}" if rng.random() < 0.6 else ""
        return f"SELECT {column} AS x FROM t{where}"

    def combination(self):
        rng, letter = self.rng, self.rng.choice("NNSST")
        operators = ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
        text = self.operand(letter)
        for _ in range(rng.randint(1, 3)):
            other = self.operand(letter)
            if rng.random() < 0.3:
                other = f"({other} {rng.choice(operators)} {self.operand(letter)})"
            text = f"{text} {rng.choice(operators)} {other}"
        if letter == "S":
            # Which of equal texts is shown is not said.
            return f"SELECT COUNT(*) FROM ({text}) q"
        return f"{text} ORDER BY x"
