#!/usr/bin/env python3
"""FULLTEXT indexes beside MySQL 9.7: random texts, random searches, the same rows and ranks.

  1. Texts of common and rare words, stop words, short ones, accents and signs go into both servers;
     searches in natural language, boolean mode (operators, lists, phrases, distances, beginnings) and
     with query expansion find the same rows there, with the same ranks to five digits.
  2. Rows change, go and move meanwhile; what is found is the same (InnoDB counts rows that are gone
     until it is told to optimize, so ranks are not compared then). Each search is made three times:
     by itself, with a condition that has another way read the table, and counted.
  3. Settings: new indexes obey them, and keep what they began with.
  4. The server is killed again and again while clients change texts: whatever it has told as done is
     found, and CHECK TABLE finds each index sound.

  .ci/clients/fulltext.py [ROUNDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import math
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

import pymysql

from cohort import Cohort, free_port, seed_of
from replicas import PEERS
from sources import MySQL, Source

COMMON = "apple banana cherry date elder grape lemon melon".split()
RARE = [f"word{number}" for number in range(60)] + "café Zürich naïve straße über_it x1y2".split()
LEFT_OUT = "the a of to is it at xy é 12".split()
SIGNS = [" ", " ", " ", ", ", ". ", "-", "'", " (", ") ", "! ", "\n", "…"]


def a_word(chance):
    """One of the words, common ones more often."""
    words = chance.choices([COMMON, RARE, LEFT_OUT], [5, 3, 2])[0]
    word = chance.choice(words)
    return chance.choice([word, word, word.upper(), word.capitalize()])


def a_text(chance):
    """Some words with signs between them."""
    return "".join(a_word(chance) + chance.choice(SIGNS) for _ in range(chance.randrange(12)))


def a_search(chance, words, ranked):
    """A boolean search that MySQL takes, of these words. No word comes twice: InnoDB takes it for more
    frequent then. Without ranks nothing is worth less, which can be nothing at all."""
    operators = ["", "", "", "+", "+", "-", ">"] + (["<", "~"] if ranked else [])
    parts = []
    while words:
        word, operator = words.pop(), chance.choice(operators)
        kind = chance.randrange(10)
        if kind == 0:
            word = word[:chance.randrange(3, 5)] + "*"
        elif kind == 1:
            word = f'"{word} {words.pop() if words else "of"}"'
        elif kind == 2:
            before = chance.choice(LEFT_OUT)
            word = f'"{before} {word} {words.pop() if words else "it"}" @{chance.randrange(2, 9)}'
        elif kind == 3 and len(words) > 2 and operator in ("", "+", "-"):
            some = [words.pop() for _ in range(chance.randrange(2, 4)) if words]
            word = "(" + a_search(chance, some, ranked) + ")"
        parts.append(operator + word)
    text = " ".join(parts)
    # Behind a phrase InnoDB finds no word by its beginning.
    return text.replace("*", "") if '"' in text else text


class Both:
    """The two servers: what is done, is done to both."""

    def __init__(self, own, peer):
        self.own, self.peer = own, peer

    def run(self, statement, *arguments):
        """A statement's rows, or its error; the same on both."""
        answers = []
        for connection in (self.own, self.peer):
            with connection.cursor() as cursor:
                try:
                    cursor.execute(statement, arguments)
                    answers.append(list(cursor.fetchall()))
                except pymysql.MySQLError as error:
                    answers.append(error.args)
        return answers

    def same(self, statement, *arguments):
        """The same, and it must be."""
        own, peer = self.run(statement, *arguments)
        assert own == peer, (statement, arguments, own, peer)
        return own


def alike(own, peer):
    """The same rows, or the same error; the same ranks, but for the last digits of what is left when
    numbers that are nearly the same are taken from one another."""
    if isinstance(own, tuple) or isinstance(peer, tuple) or len(own) != len(peer):
        return own == peer
    pairs = zip(own, peer)
    return all(one[0] == other[0]
               and all(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
                       for a, b in zip(one[1:], other[1:]))
               for one, other in pairs)


def search(both, columns, text, mode, ranked, words):
    """One search in several ways."""
    what = f"MATCH ({columns}) AGAINST (%s {mode})"
    statement = f"SELECT id, {what} FROM t WHERE {what} ORDER BY id"
    own, peer = both.run(statement, text, text)
    if not ranked and not isinstance(own, tuple) and not isinstance(peer, tuple):
        own, peer = [row[:1] for row in own], [row[:1] for row in peer]
    assert alike(own, peer), (words, columns, text, mode, own, peer)
    if isinstance(own, tuple):
        return 0
    found = [row[0] for row in own]
    for other in (f"SELECT id FROM t FORCE INDEX (n) WHERE n >= 0 AND {what} ORDER BY n, id",
                  f"SELECT id FROM t WHERE {what} > 0 OR {what} < 0 ORDER BY id"):
        with both.own.cursor() as cursor:
            cursor.execute(other, (text,) * other.count("%s"))
            assert sorted(row[0] for row in cursor.fetchall()) == found, (words, other, text)
    with both.own.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM t WHERE {what}", (text,))
        assert cursor.fetchone()[0] == len(found), (words, columns, text, mode)
    return len(found)


def differ(both, rounds, seed):
    """Random texts and searches."""
    chance = random.Random(seed)
    found = 0
    for number in range(rounds):
        collation = chance.choice(["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_bin",
                                   "utf8mb4_0900_as_cs", "utf8mb4_unicode_ci", "latin1_swedish_ci",
                                   "utf8mb4_hu_0900_ai_ci", "utf8mb4_cs_0900_ai_ci"])
        charset = collation.partition("_")[0]
        parser = " WITH PARSER ngram" if number % 7 == 6 and collation != "utf8mb4_bin" else ""
        both.same("DROP TABLE IF EXISTS t")
        before = chance.random() < 0.5
        keys = [f"FULLTEXT ab (a, b){parser}", f"FULLTEXT b (b){parser}"]
        own = "".join(f", {key}" for key in keys) if before else ""
        # Keys of one length and of several.
        kind, prefix = chance.choice([("INT", ""), ("VARCHAR(9)", "k")])
        both.same(f"CREATE TABLE t (id {kind} PRIMARY KEY, n INT NOT NULL, a VARCHAR(200), b TEXT,"
                  f" KEY n (n){own}) DEFAULT CHARSET {charset} COLLATE {collation}")
        alive = []
        for row in range(chance.randrange(5, 60)):
            text = lambda: None if chance.random() < 0.1 else a_text(chance).replace("…", ";")
            both.same("INSERT INTO t VALUES (%s, %s, %s, %s)", f"{prefix}{row}", chance.randrange(5),
                      text(), text())
            alive.append(f"{prefix}{row}")
        if not before:
            # (A second index that is built in place has the stop words in it, in MySQL.)
            added = ", ".join(f"ADD {key}" for key in keys)
            both.same(f"ALTER TABLE t {added}, ALGORITHM = COPY")
        words = f"round {number} of seed {seed}, {collation}{parser}"
        for phase in range(2):
            if number % 3 == 0:
                # Meanwhile a checkpoint puts the words into their places.
                time.sleep(1.3)
            if phase == 1:
                for _ in range(chance.randrange(1, 20)):
                    row = chance.choice(alive)
                    if chance.random() < 0.3:
                        both.same("DELETE FROM t WHERE id = %s", row)
                    elif chance.random() < 0.2:
                        both.same("UPDATE t SET n = n + 1 WHERE id = %s", row)
                    else:
                        both.same("UPDATE t SET b = %s WHERE id = %s",
                                  a_text(chance).replace("…", ";"), row)
            for _ in range(12):
                columns = chance.choice(["a, b", "b"])
                kind = chance.randrange(4)
                if kind == 0:
                    text = " ".join(chance.sample(COMMON + RARE, chance.randrange(1, 4)))
                    mode = chance.choice(["", "IN NATURAL LANGUAGE MODE"])
                elif kind == 1 and phase == 0 and not parser:
                    text, mode = chance.choice(COMMON + RARE), "WITH QUERY EXPANSION"
                elif parser:
                    text, mode = chance.choice(COMMON + RARE), "IN BOOLEAN MODE"
                else:
                    some = chance.sample(COMMON + RARE, chance.randrange(1, 9))
                    text, mode = a_search(chance, some, phase == 0), "IN BOOLEAN MODE"
                    if '"' in text and collation == "utf8mb4_bin":
                        # MySQL compares the words of a phrase in another way than others then.
                        text = " +".join(chance.sample(COMMON, 2))
                # Which of several words that begin so counts is a matter of luck there.
                ranked = phase == 0 and not parser and "*" not in text
                found += search(both, columns, text, mode, ranked, words)
            with both.own.cursor() as cursor:
                cursor.execute("CHECK TABLE t")
                assert cursor.fetchall()[-1][-1] == "OK", words
    return found


def settings(server):
    """What variables say of new indexes, which keep it: sizes of words, and stop words."""
    with server.connect(autocommit=True).cursor() as cursor:
        def found(table, word):
            cursor.execute(f"SELECT id FROM d.{table} WHERE MATCH (a) AGAINST (%s IN BOOLEAN MODE)",
                           (word,))
            return [row[0] for row in cursor.fetchall()]

        def made(table, *variables, parser=""):
            for variable in variables:
                cursor.execute(f"SET {variable}")
            cursor.execute(f"CREATE TABLE d.{table} (id INT PRIMARY KEY, a TEXT, FULLTEXT (a){parser})")
            for variable in variables:
                cursor.execute(f"SET {variable.partition('=')[0]} = DEFAULT")
            cursor.execute(f"INSERT INTO d.{table} VALUES (1, 'the an x ounce of prevention')")

        made("usual")
        assert (found("usual", "the"), found("usual", "an"), found("usual", "ounce")) == ([], [], [1])
        made("short", "GLOBAL innodb_ft_min_token_size = 1", "GLOBAL innodb_ft_max_token_size = 10")
        assert (found("short", "x"), found("short", "an")) == ([1], [])
        cursor.execute("INSERT INTO d.short VALUES (2, 'abcdefghij abcdefghijk')")
        assert (found("short", "abcdefghij"), found("short", "abcdefghijk")) == ([2], [])
        made("all_words", "SESSION innodb_ft_enable_stopword = OFF")
        assert (found("all_words", "the"), found("all_words", "an")) == ([1], [])
        cursor.execute("CREATE TABLE d.words (value VARCHAR(20))")
        cursor.execute("INSERT INTO d.words VALUES ('ounce'), ('Prevention')")
        made("own", "SESSION innodb_ft_user_stopword_table = 'd/words'")
        assert (found("own", "the"), found("own", "ounce"), found("own", "prevention")) == ([1], [], [])
        made("servers", "GLOBAL innodb_ft_server_stopword_table = 'd/words'")
        assert found("servers", "ounce") == []
        made("three", "GLOBAL ngram_token_size = 3", parser=" WITH PARSER ngram")
        assert (found("three", "rev"), found("three", "re")) == ([1], [])
        # What an index began with it goes on with.
        cursor.execute("ALTER TABLE d.own ADD COLUMN n INT, FORCE")
        cursor.execute("INSERT INTO d.own VALUES (2, 'the ounce', 1)")
        assert (found("own", "the"), found("own", "ounce")) == ([1, 2], [])
        for wrong in ("d/nothing", "words"):
            cursor.execute("SET innodb_ft_user_stopword_table = %s", (wrong,))
            try:
                cursor.execute("CREATE TABLE d.wrong (a TEXT, FULLTEXT (a))")
                raise AssertionError(wrong)
            except pymysql.MySQLError as error:
                assert error.args[0] == 1231, error


def isolation(server):
    """At every level the same rows are found to be changed, however the table is read."""
    with server.connect(autocommit=True).cursor() as cursor:
        cursor.execute("CREATE TABLE d.levels (id INT PRIMARY KEY, n INT, a TEXT, FULLTEXT (a))")
        cursor.execute("INSERT INTO d.levels VALUES (1, 0, 'apple'), (2, 0, 'pear'), (3, 0, 'apple pear'),"
                       " (4, 0, NULL)")
        for level in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            for where, wanted in (("MATCH (a) AGAINST ('apple')", 2),
                                  ("MATCH (a) AGAINST ('apple') OR n < 0", 2),
                                  ("NOT MATCH (a) AGAINST ('apple')", 2),
                                  ("MATCH (a) AGAINST ('pear') AND n >= 0 AND id < 3", 1)):
                changed = cursor.execute(f"UPDATE d.levels SET n = n + 1 WHERE {where}")
                assert changed == wanted, (level, where, changed)


class Writer(threading.Thread):
    """Changes texts in transactions, and knows what was told as done."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server, self.number = server, number
        self.told, self.asked = {}, {}
        self.stop = False
        self.start()

    def run(self):
        chance = random.Random(self.number)
        while not self.stop:
            try:
                connection = self.server.connect(autocommit=False)
                self.work(connection, chance)
            except (pymysql.MySQLError, OSError):
                time.sleep(0.05)

    def work(self, connection, chance):
        """Until the server is killed."""
        with connection.cursor() as cursor:
            while not self.stop:
                rows = {self.number * 1000 + chance.randrange(40): f"mark{chance.randrange(9)} "
                        + a_text(chance) for _ in range(chance.randrange(1, 4))}
                self.asked = rows
                for row, text in rows.items():
                    cursor.execute("REPLACE INTO d.k VALUES (%s, %s)", (row, text))
                connection.commit()
                self.told.update(rows)
                self.asked = {}


def killed(server, kills):
    """What was told is found after each kill."""
    with server.connect(autocommit=True).cursor() as cursor:
        cursor.execute("CREATE TABLE d.k (id INT PRIMARY KEY, a TEXT, FULLTEXT (a))")
    writers = [Writer(server, number) for number in range(4)]
    for _ in range(kills):
        time.sleep(1)
        server.stop(signal.SIGKILL)
        server.start()
    for writer in writers:
        writer.stop = True
    for writer in writers:
        writer.join()
    with server.connect(autocommit=True).cursor() as cursor:
        cursor.execute("CHECK TABLE d.k")
        assert cursor.fetchall()[-1][-1] == "OK"
        for mark in range(9):
            cursor.execute("SELECT id FROM d.k WHERE MATCH (a) AGAINST (%s IN BOOLEAN MODE)",
                           (f"+mark{mark}",))
            found = {row[0] for row in cursor.fetchall()}
            cursor.execute("SELECT id FROM d.k WHERE a LIKE %s", (f"mark{mark} %",))
            assert found == {row[0] for row in cursor.fetchall()}, mark
            for writer in writers:
                for row, text in writer.told.items():
                    if row not in writer.asked and text.startswith(f"mark{mark} "):
                        assert row in found, (row, text)


def main():
    """All of it."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    seed = seed_of(2)
    print(f"seed {seed}", flush=True)
    with Cohort() as server:
        if (PEERS / "usr/sbin/mysqld").exists():
            with tempfile.TemporaryDirectory(prefix="fulltext-", dir="/tmp") as room, \
                    contextlib.ExitStack() as stack:
                room = pathlib.Path(room)
                room.chmod(0o777)
                peer = Source(MySQL(room, PEERS), room, free_port())
                stack.callback(peer.end)
                other = pymysql.connect(host="127.0.0.1", port=peer.port, user="root",
                                        charset="utf8mb4", autocommit=True)
                both = Both(server.connect(autocommit=True), other)
                both.same("CREATE DATABASE d")
                both.same("USE d")
                found = differ(both, rounds, seed)
                assert found > rounds * 20, f"the searches find too little to tell: {found}"
                print(f"{rounds} rounds, {found} rows found alike", flush=True)
        else:
            print("skipped: no MySQL 9.7 to compare with (PEERS_ROOT)")
            with server.connect(autocommit=True).cursor() as cursor:
                cursor.execute("CREATE DATABASE d")
        settings(server)
        isolation(server)
        killed(server, 4)
        assert server.stop() == 0, "the server ends in good order"


if __name__ == "__main__":
    main()
