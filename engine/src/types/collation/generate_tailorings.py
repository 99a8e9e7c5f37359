#!/usr/bin/env python3
"""Makes the files tailorings/*.tailoring beside this file from a running MySQL server.

    generate_tailorings.py HOST PORT USER [LANGUAGE...]

Needs PyMySQL; the server must be MySQL 8.0 or later. A tailoring is what a language changes of
the order of all languages (utf8mb4_unicode_ci or utf8mb4_0900_as_cs). All of it is found by asking
for WEIGHT_STRINGs: of each character, of pairs of those characters that languages make letters of
("ch"), and of longer sequences of the characters that such pairs consist of.

A file is a list of LEB128 numbers (z: zigzag). For each level of weights, one, three or four:

    count, then for each:  gap, length, z step     weights that are moved: `length` weights from
                                                   the end of the last range and `gap` further on
                                                   become greater by `step`; if that is 0, a
                                                   number follows, the weight that comes before each
    bytes, then as many    the weights of single characters that come out otherwise, as in the
                           weight tables (generate_weights.py)
Then the sequences (contractions):
    count, then for each:  codes, the codes; for each level: count, the weights
"""
import collections
import os
import re
import sys

import pymysql

from generate_weights import encode, varint, zigzag

SINGLES = """WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 0x10FFFF)
SELECT i, WEIGHT_STRING(CONVERT(CHAR(i USING utf32) USING utf8mb4) COLLATE {collation})
FROM n WHERE i NOT BETWEEN 0xD800 AND 0xDFFF"""

# Capitals and small letters, with accents and without, and accents of their own.
LETTERS = [*range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC0, 0x180), *range(0x1A0, 0x1B1),
           *range(0x300, 0x346)]
LONGEST = 4
HAN_BEGINS = 0x3400
WIDTHS = range(0xFF00, 0xFFF0)
# Japanese has a fourth level, of kana only, in a collation of this name.
FOUR_LEVELS = {"ja": "utf8mb4_ja_0900_as_cs_ks"}


def split(weights, levels):
    """A weight string's weights by level; zeros are between the levels.

    In Lithuanian MySQL gives a dot and an accent above the primary weight 0. Such a weight is left
    out here; None where one is in the middle, for a longer sequence that has such a part.
    """
    weights = [high << 8 | low for high, low in zip(weights[::2], weights[1::2])]
    while weights.count(0) > levels - 1 and weights[0] == 0:
        del weights[0]
    out = [[]]
    for weight in weights:
        if weight:
            out[-1].append(weight)
        else:
            out.append([])
    if len(out) == 3 < levels:
        out.append([])
    return out if len(out) == levels else None


def singles(cursor, collation, levels):
    cursor.execute(SINGLES.format(collation=collation))
    return {code: split(weights, levels) for code, weights in cursor.fetchall()}


def moves(base, own, level):
    """What becomes of each weight of the base, where most characters agree: [from, to, what].

    What is (step, 0), or (0, the weight that comes before it).
    """
    votes = collections.defaultdict(collections.Counter)
    for code, weights in own.items():
        before, after = base[code][level], weights[level]
        if len(before) == len(after):
            for weight, moved in zip(before, after):
                votes[weight][moved - weight, 0] += 1
        elif before == after[1::2]:
            for weight, first in zip(before, after[::2]):
                votes[weight][0, first] += 1
    ranges = []
    for weight in sorted(votes):
        what = votes[weight].most_common(1)[0][0]
        if ranges and ranges[-1][2] == what:
            ranges[-1][1] = weight
        else:
            ranges.append([weight, weight, what])
    # A weight of a few characters that all became something else has not moved.
    return [found for found in ranges if found[2] != (0, 0) and sum(
        votes[weight].total() for weight in range(found[0], found[1] + 1) if weight in votes) > 1]


def moved(weights, ranges):
    out = []
    for weight in weights:
        found = (what for low, high, what in ranges if low <= weight <= high)
        step, before = next(found, (0, 0))
        out += [before, weight] if before else [weight + step]
    return out


def contractions(cursor, collation, own, levels, letters):
    """Sequences whose weights are not those of their characters: {codes: weights by level}."""
    def ask(codes, length):
        """The weights of all sequences of these characters."""
        rows = ",".join(f"ROW({code}, _utf8mb4 x'{chr(code).encode().hex()}')" for code in codes)
        names = [f"c{i}" for i in range(length)]
        cursor.execute(
            f"WITH c (code, c) AS (VALUES {rows}) SELECT {', '.join(f'{n}.code' for n in names)}, "
            f"WEIGHT_STRING(CONCAT({', '.join(f'{n}.c' for n in names)}) COLLATE {collation}) "
            f"FROM {', '.join(f'c {n}' for n in names)}")
        for *sequence, weights in cursor.fetchall():
            by_level = split(weights, levels)
            if by_level:
                yield tuple(sequence), by_level

    found = {}

    def by_parts(sequence):
        """The weights, were there no longer contraction than those found before."""
        out, at = [[] for _ in range(levels)], 0
        while at < len(sequence):
            length = next(n for n in range(LONGEST, 0, -1)
                          if n == 1 or sequence[at : at + n] in found and at + n <= len(sequence))
            part = sequence[at : at + length]
            weights = found[part] if length > 1 else own[part[0]]
            for level in range(levels):
                out[level] += weights[level]
            at += length
        return out

    def differs(weights, parts):
        # In Japanese a mark changes with the character before it. MySQL takes the last one of a text
        # for that before the first, but not at the level of letters: such pairs are left out.
        return weights[0] != parts[0] if levels == 4 else weights != parts

    def look(codes, length):
        found.update({sequence: weights for sequence, weights in ask(codes, length)
                      if differs(weights, by_parts(sequence))})

    look(letters, 2)
    for length in range(3, LONGEST + 1):
        parts = sorted({code for sequence in found for code in sequence})
        if len(parts) > 40:  # No language of such has longer ones; see the check of random strings.
            parts = [code for code in parts if code < 0x80]
        if parts:
            look(parts, length)
    return found


def tailoring(cursor, collation, base, levels):
    own = singles(cursor, collation, levels)
    out, changed = bytearray(), set()
    for level in range(levels):
        ranges = moves(base, own, level)
        out += varint(len(ranges))
        end = 0
        for low, high, (step, before) in ranges:
            out += varint(low - end) + varint(high + 1 - low) + zigzag(step)
            out += varint(before) if before else b""
            end = high + 1
        expected = {code: moved(weights[level], ranges) for code, weights in base.items()}
        actual = {code: weights[level] for code, weights in own.items()}
        table = encode(actual, expected.get)
        out += varint(len(table)) + table
        changed |= {code for code in own if actual[code] != expected[code]}
    changed = {code for code in changed if code < HAN_BEGINS or code in WIDTHS}
    letters = sorted(changed | set(LETTERS))
    sequences = contractions(cursor, collation, own, levels, letters)
    out += varint(len(sequences))
    for codes, weights in sorted(sequences.items()):
        out += varint(len(codes)) + b"".join(map(varint, codes))
        for level in weights:
            out += varint(len(level)) + b"".join(map(varint, level))
    print(f"{collation}: {len(letters)} letters, {len(sequences)} sequences, {len(out)} bytes",
          flush=True)
    return bytes(out)


def main():
    host, port, user, *languages = sys.argv[1:]
    connection = pymysql.connect(host=host, port=int(port), user=user, charset="utf8mb4")
    cursor = connection.cursor()
    cursor.execute("SET cte_max_recursion_depth = 2000000")
    cursor.execute("SELECT collation_name FROM information_schema.collations "
                   "WHERE character_set_name = 'utf8mb4' ORDER BY 1")
    collations = [name for (name,) in cursor.fetchall()]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tailorings")
    os.makedirs(here, exist_ok=True)
    bases = {1: singles(cursor, "utf8mb4_unicode_ci", 1),
             3: singles(cursor, "utf8mb4_0900_as_cs", 3)}
    bases[4] = {code: [*weights, []] for code, weights in bases[3].items()}
    for collation in collations:
        named = re.fullmatch("utf8mb4_([a-z_]+)_0900_as_cs|utf8mb4_([a-z0-9]+)_ci", collation)
        if not named or named[2] in ("general", "unicode"):
            continue
        language, levels = named[1] or named[2], 3 if named[1] else 1
        if languages and language not in languages:
            continue
        if language in FOUR_LEVELS:
            collation, levels = FOUR_LEVELS[language], 4
        made = tailoring(cursor, collation, bases[levels], levels)
        with open(os.path.join(here, language + ".tailoring"), "wb") as file:
            file.write(made)


if __name__ == "__main__":
    main()
