#!/usr/bin/env python3
"""Damage at rest: a file of a data directory is changed while no server runs.

Each case copies a directory whose rows are known, damages one file of it, and asks `cohort check`
and a server. Either the start is refused by a message that names a file and says what to do, or
every table, read whole in each of its ways, has exactly the rows that were committed, or fails
with an error that names it, as CHECK TABLE then does, too. Nothing panics, nothing hangs.

One thing cannot be told from a crash, after a kill: damage to the last group of commits in the log,
of which nothing later says that it was durable. It is cut, and the server says how much, unless
there is nothing but zeros. If what is damaged reaches from earlier groups to the beginning of the
last one, nothing is left to vouch for those, either; and an older copy of the log in use is the log
as it was then. After an orderly stop nothing of this may happen.

  damage.py [SEED] [CASES] [WORKERS]
  damage.py SEED =CASE                only this case again
"""

import collections
import contextlib
import multiprocessing
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

import pymysql

from cohort import BINARY, free_port
from damage_data import TABLES, ordered, read, sparse_copy
from damage_kinds import DAMAGES, FILES, Fixture, allowed, content_end, damage

START, END, CASES_PER_LIFE = 30, 5, 75
CORRUPT = 1877
ADVICE = re.compile(r"\b(restore|put|remove|move|write it anew|add the line)\b")
A_FILE = re.compile(r"cohort\.base|binlog\.\d{6}|binlog\.index|auto\.cnf")


class Failed(Exception):
    """What must not be."""


class Server:
    """A server on a directory that may be damaged."""

    def __init__(self, directory, log):
        self.directory, self.log, self.port = directory, log, free_port()

    def start(self):
        """Starts it; the message if it refuses."""
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [BINARY, "serve", "--port", str(self.port), "--datadir", self.directory,
                 "--coordinator", "off"], stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + START
        while time.monotonic() < until:
            if self.process.poll() is not None:
                if self.process.returncode != 1:
                    raise Failed(f"the start ends with {self.process.returncode}")
                return self.text()
            if "ready on" in self.text():
                return None
            time.sleep(0.004)
        raise Failed("the start hangs")

    def text(self):
        return self.log.read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        """Ends it, and looks at what it said."""
        self.process.send_signal(how)
        try:
            code = self.process.wait(END)
        except subprocess.TimeoutExpired:
            raise Failed(f"the server does not end within {END} s of {how.name}") from None
        if how == signal.SIGTERM and code not in (0, 1):
            raise Failed(f"the server ends with {code}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def sane(text, what):
    """No line says that something panicked."""
    if "panicked" in text or "overflow" in text:
        raise Failed(f"{what} panicked: {text}")


def advised(message):
    """Whether a refusal names a file and says what to do."""
    if not A_FILE.search(message) or not ADVICE.search(message):
        raise Failed("the refusal does not name a file and say what to do")


def whole(cursor, table, errors):
    """The rows that every way of reading a table agrees on; None if one fails."""
    found = []
    for way in TABLES[table][2]:
        try:
            found.append(ordered(read(cursor, table, way)))
        except pymysql.MySQLError as error:
            code, text = (*error.args, "")[:2]
            if code != CORRUPT or table.split(".")[1] not in text or "cohort.base" not in text:
                raise Failed(f"reading {table} by {way}: {error}") from None
            errors.append(f"{table} by {way}")
    return found


def matches(cursor, states, errors):
    """Which of the states all that can be read of the tables is like."""
    possible = states
    for table in TABLES:
        found = whole(cursor, table, errors)
        bad = any(error.startswith(f"{table} ") for error in errors)
        cursor.execute(f"CHECK TABLE {table}")
        verdict = cursor.fetchall()
        sound = verdict[-1][2:] == ("status", "OK")
        if sound and bad:
            raise Failed(f"CHECK TABLE {table} says {verdict}, reading: {errors}")
        if not sound and not bad:
            # What reading got from pages that are still in memory.
            errors.append(f"{table} by CHECK TABLE: {verdict}")
        for rows in found:
            possible = [state for state in possible if state[table] == rows]
            if not possible:
                expected = set(states[0][table])
                raise Failed(f"SILENT: {table}: {len(rows)} rows for {len(expected)}, "
                             f"missing {sorted(expected - set(rows), key=repr)[:3]!s:.150}, "
                             f"new {sorted(set(rows) - expected, key=repr)[:3]!s:.150}")
    cursor.execute("XA RECOVER")
    prepared = tuple(sorted((row[3] for row in cursor.fetchall()), key=repr))
    possible = [state for state in possible if state[""] == prepared]
    if not possible:
        raise Failed(f"SILENT: prepared are {prepared}")
    return possible


def go_on(rng, server, cursor, state):
    """Writes to all tables, ends and starts the server, and reads again."""
    state = dict(state)
    for table, row in (("app.item", (900_001, 5, "new", None)), ("app.pair", ("z", 1, None)),
                       ("app.loose", (7, "new")), ("app.later", (900_001, 7, "new")),
                       ("other.empty", (900_001, 5))):
        marks = ", ".join(["%s"] * len(row))
        try:
            cursor.execute(f"INSERT INTO {table} VALUES ({marks})", row)
            state[table] = ordered((*state[table], row))
        except pymysql.MySQLError as error:
            if error.args[0] != CORRUPT:
                raise Failed(f"inserting into {table}: {error}") from None
    server.stop(rng.choice((signal.SIGTERM, signal.SIGKILL)))
    server.log.rename(server.log.with_suffix(".first"))
    refused = server.start()
    if refused is not None:
        advised(refused)
        return
    connection = connect(server)
    matches(connection.cursor(), [state], [])
    connection.close()


def connect(server):
    return pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True,
                           read_timeout=START)


def fingerprint(directory):
    return {path.name: (path.stat().st_mode, zlib.crc32(path.read_bytes()))
            for path in directory.iterdir() if path.name != "cohort.lock"}


def checked(directory):
    """Whether `cohort check` finds all sound; it must change nothing."""
    before = fingerprint(directory)
    try:
        done = subprocess.run([BINARY, "check", directory], capture_output=True, text=True,
                              timeout=START)
    except subprocess.TimeoutExpired:
        raise Failed("cohort check hangs") from None
    said = done.stdout + done.stderr
    sane(said, "cohort check")
    if fingerprint(directory) != before:
        raise Failed("cohort check changes the directory")
    sound = "everything is sound" in said
    if (done.returncode, sound) not in ((0, True), (1, False)):
        raise Failed(f"cohort check ends with {done.returncode}: {said}")
    return sound, said


def examine(rng, fixture, directory, log, able, silent):
    """What becomes of a damaged directory, in a word."""
    sound, said = checked(directory)
    server = Server(directory, log)
    try:
        refused = server.start()
        if refused is not None:
            sane(refused, "the server")
            advised(refused)
            if sound:
                raise Failed("cohort check finds all sound")
            return "refused"
        connection = connect(server)
        errors = []
        states = matches(connection.cursor(), able, errors)
        outcome = "error" if errors else "unaffected"
        if fixture.life.states[-1] not in states:
            tail = re.search(r"binlog\.\d+: \d+ bytes after position \d+ are cut", server.text())
            outcome = "tail cut" if tail else "tail gone"
            if not tail and not silent:
                raise Failed("the log's last group is gone without a word")
        if sound == bool(errors):
            raise Failed(f"cohort check says {said}; the server: {errors or 'all is sound'}")
        if rng.random() < 0.2:
            go_on(rng, server, connection.cursor(), states[0])
        with contextlib.suppress(pymysql.MySQLError):
            connection.close()
        if server.process.poll() is None:
            server.stop()
        sane(server.text(), "the server")
        return outcome
    except pymysql.MySQLError as error:
        raise Failed(f"a client hears {error}") from error
    finally:
        server.kill()


def case(rng, fixture, directory):
    """One case: its cell in the table, what came of it, and why it is wrong, if it is."""
    kinds = list(FILES)
    while True:
        file = rng.choices(kinds, FILES.values())[0]
        if fixture.files[file]:
            name, kind = rng.choice(fixture.files[file]), rng.choice(DAMAGES)
            shutil.rmtree(directory, ignore_errors=True)
            (directory / "data").mkdir(parents=True)
            for path in fixture.path.iterdir():
                sparse_copy(path, directory / "data" / path.name)
            how, where = damage(rng, fixture, directory / "data" / name, kind)
            if how:
                break
    log = directory / "log"
    outcome, why = "failed", None
    try:
        able = allowed(fixture, name, kind, where)
        # Of nothing but zeros there is nothing to say.
        damaged = directory / "data" / name
        wiped = content_end(damaged) <= where[0][0] if where else kind == "older"
        outcome = examine(rng, fixture, directory / "data", log, able, wiped)
    except Failed as failed:
        text = log.read_text(errors="replace") if log.exists() else ""
        why = f"{name}, {how} ({fixture.end}): {failed}\n{text}"
    return (fixture.end, file, kind), outcome, why


def worker(job):
    """The cases of two lives. Each case has a seed of its own."""
    seed, cases = job
    first = cases[0] - cases[0] % CASES_PER_LIFE
    results = []
    with tempfile.TemporaryDirectory(prefix="cohort-damage-") as directory:
        directory = pathlib.Path(directory)
        fixtures = [Fixture(seed * 1000 + first, directory / "clean", "clean"),
                    Fixture(seed * 1000 + first + 1, directory / "crash", "crash")]
        for number in cases:
            rng = random.Random(f"{seed}.{number}")
            cell, outcome, why = case(rng, fixtures[number % 2], directory / "case")
            if why:
                print(f"damage: case {number} of seed {seed}: {why}", flush=True)
            results.append((cell, outcome))
    return results


def show(counts):
    """The table of outcomes."""
    outcomes = ("refused", "error", "unaffected", "tail cut", "tail gone", "failed")
    print(f"| ended | file | damage | {' | '.join(outcomes)} |\n|{'---|' * (3 + len(outcomes))}")
    for cell in sorted({cell for cell, _ in counts}):
        print(f"| {' | '.join(cell)} | "
              f"{' | '.join(str(counts[cell, outcome] or '') for outcome in outcomes)} |")


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    cases = sys.argv[2] if len(sys.argv) > 2 else "200"
    numbers = range(int(cases)) if cases.isdigit() else [int(cases[1:])]
    workers = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    jobs = [(seed, numbers[i:i + CASES_PER_LIFE]) for i in range(0, len(numbers), CASES_PER_LIFE)]
    begun, counts, done = time.monotonic(), collections.Counter(), 0
    with multiprocessing.Pool(workers) as pool:
        for results in pool.imap_unordered(worker, jobs):
            counts.update(results)
            done += len(results)
            failed = sum(n for (_, outcome), n in counts.items() if outcome == "failed")
            print(f"damage: {done} of {len(numbers)}, {failed} failed, "
                  f"{time.monotonic() - begun:.0f} s", flush=True)
    show(counts)
    total = collections.Counter()
    for (_, outcome), count in counts.items():
        total[outcome] += count
    failed = total.pop("failed", 0)
    figures = ", ".join(f"{count} {outcome}" for outcome, count in total.most_common())
    print(f"damage: {done - failed} passed, {failed} failed ({figures})")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
