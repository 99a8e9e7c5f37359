"""The files that `damage.py` damages, how, and what may come of it."""

import collections
import os

from damage_data import Life, sparse_copy

PAGE, GTID = 4096, 33
FILES = {"base": 40, "log, earlier run": 6, "log, this run": 18, "log, last": 24, "index": 7,
         "auto.cnf": 5}
DAMAGES = ("flip", "zero range", "zero page", "cut", "cut 4096", "empty", "swap pages",
           "exchange", "older", "delete")


def role(name, last, first):
    """The row of the table that a file counts in."""
    if not name.startswith("binlog.0"):
        return {"cohort.base": "base", "binlog.index": "index", "auto.cnf": "auto.cnf"}[name]
    if name == last:
        return "log, last"
    return "log, this run" if name >= first else "log, earlier run"


class Fixture:
    """A life that ended, and a second one, whose files are another server's."""

    def __init__(self, seed, directory, end):
        flags = ("--cohort-delta-size", "150000") if seed % 3 == 0 else ()
        self.life = Life(seed, directory / "one", end, flags).run()
        self.twin = Life(seed + 500_000, directory / "two", end, flags).run()
        self.end = end
        self.path, self.other = self.life.directory / "end", self.twin.directory / "end"
        names = sorted(path.name for path in self.path.iterdir())
        logs = [name for name in names if name.startswith("binlog.0")]
        before = len(list((self.life.directory / "first").glob("binlog.0*")))
        self.files = collections.defaultdict(list)
        for name in names:
            # Certificates are no data: a server that has damaged ones does not start.
            if name != "cohort.lock" and not name.endswith(".pem"):
                self.files[role(name, logs[-1], logs[min(before, len(logs) - 1)])].append(name)


def content_end(path):
    """The end of what is not zeros."""
    return len(path.read_bytes().rstrip(b"\0"))


def write_over(rng, path, kind):
    """Changes bytes of a file; says which, from and to."""
    size, before = path.stat().st_size, path.read_bytes()
    content = min(size, 1 + content_end(path) + rng.choice((0, 0, 0, 300, 5000)))
    if kind == "swap pages":
        pages = max(1, content // PAGE)
        a, b = sorted((rng.randrange(pages), rng.randrange(pages)))
        first, second = slice(a * PAGE, (a + 1) * PAGE), slice(b * PAGE, (b + 1) * PAGE)
        data = bytearray(before)
        data[first], data[second] = before[second], before[first]
        path.write_bytes(data)
        return [(first.start, first.stop), (second.start, second.stop)]
    place = rng.randrange(content)
    if rng.random() < 0.2:
        place = max(0, content - rng.randint(1, 600))
    place -= place % PAGE if kind == "zero page" else 0
    length = {"flip": 1, "zero range": rng.choice((1, 8, 100, 512, 3000, 20000)),
              "zero page": PAGE}[kind]
    old = before[place:place + length]
    new = bytes((old[0] ^ 1 << rng.randrange(8),)) if old and kind == "flip" else bytes(len(old))
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(new)
    return [(place, place + length)]


def damage(rng, fixture, path, kind):
    """Damages a file; says how, or nothing if it is as before, and which bytes of it were written
    over."""
    before, where, how = path.read_bytes(), None, kind
    if kind == "delete":
        path.unlink()
        return how, where
    if kind in ("cut", "cut 4096", "empty"):
        size, content = len(before), min(len(before), content_end(path) + 1)
        to = {"cut": rng.randrange(content), "cut 4096": max(0, size - PAGE), "empty": 0}[kind]
        os.truncate(path, to)
        how += f" from {size} to {to}"
    elif kind in ("exchange", "older"):
        copies = [fixture.other] if kind == "exchange" else \
            [fixture.life.directory / name for name in ("first", "second")]
        copies = [copy / path.name for copy in copies if (copy / path.name).exists()]
        if not copies:
            return None, None
        source = rng.choice(copies)
        how += f" from {source.parent.name}"
        sparse_copy(source, path)
    else:
        where = write_over(rng, path, kind)
        how += f" at {where}"
    return (how if path.read_bytes() != before else None), where


def transactions(path):
    """Where the transactions of a log begin, and where the last one ends."""
    data, at, places = path.read_bytes(), 4, []
    while size := int.from_bytes(data[at + 9:at + 13], "little"):
        if data[at + 4] == GTID:
            places.append(at)
        at += size
    return [*places, at]


def allowed(fixture, name, kind, where):
    """The states that a server may be in: the last one, and what the log's end excuses."""
    states = fixture.life.states
    if fixture.end == "clean" or name != fixture.files["log, last"][0]:
        return [states[-1]]
    if kind == "older":
        return [states[count - 1] for count in fixture.life.older.values()]
    places = transactions(fixture.path / name)
    if not where or len(places) < 2 or where[-1][1] <= places[-2]:
        return [states[-1]]
    # Each transaction is a group of its own. What is damaged first may be what the base has.
    lost = [sum(end > start for end in places[1:]) for start, _ in where]
    return [states[-1], *(states[-1 - count] for count in lost)]
