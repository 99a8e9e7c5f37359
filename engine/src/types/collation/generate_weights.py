#!/usr/bin/env python3
"""Makes the weight tables beside this file from a running MySQL server.

    generate_weights.py mysql -h127.0.0.1 -P3306 -uroot

The arguments are the command that starts a MySQL client; the server must be MySQL 8.0 or later.
For every code point it asks WEIGHT_STRING and keeps those that no formula gives (see
`implicit`); of utf8mb4_0900_as_ci the secondary ones, of utf8mb4_0900_as_cs the tertiary ones. The file is a list of runs, ascending, in LEB128 numbers:

    gap          code points between the end of the last run and the start of this one
    kind         (weights per code point) * 2 + (1 if the run is longer than one code point)
    [length, step]   of a longer run: its code points, and how much the first weight grows
                 from one to the next (zigzag)
    weights      of the first code point, each as zigzag difference to the weight before

Of character sets of several bytes it writes a file `.charset`, too (these are in `multibyte/`):

    runs         ascending, of numbers that follow one another: gap, length, and the code point
                 of each as zigzag difference to the one before; ended by a gap and a length of 0.
                 A number is the bytes of a character, the first one the highest.
    others       how many bytes are not what their character is written as; the gaps between them

and their collations know only of what is not by these bytes. Of character sets in which a character is a byte it writes a file `.charset`, too (these are in
`bytes/`): for each byte
its code point (little-endian; FFFF for none), and the bytes of its capital and its small letter.
"""
import os
import subprocess
import sys

QUERY = """SET cte_max_recursion_depth = 2000000;
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last})
SELECT i, HEX(WEIGHT_STRING(CONVERT(CHAR(i USING utf32) USING {charset}) COLLATE {collation}))
FROM n WHERE i NOT BETWEEN 0xD800 AND 0xDFFF"""

BYTES = """WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last}),
c (i, c) AS (SELECT i, CONVERT(UNHEX(LPAD(HEX(i), 2, '0')) USING {charset}) FROM n)
SELECT i, CONV(HEX(CONVERT(c USING utf32)), 16, 10), HEX(WEIGHT_STRING(c COLLATE {collation})) FROM c
ORDER BY i DESC"""

CASES = """WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255),
c (i, c) AS (SELECT i, CONVERT(UNHEX(LPAD(HEX(i), 2, '0')) USING {charset}) FROM n)
SELECT i, CONV(HEX(CONVERT(c USING utf32)), 16, 10), CONV(HEX(UPPER(c)), 16, 10),
CONV(HEX(LOWER(c)), 16, 10) FROM c ORDER BY i"""

# Collations of the character sets in which a character is a byte, and the first 128, but in swe7, are
# ASCII's. (tis620_thai_ci has no weights of characters: see thai.rs.)
BYTE_COLLATIONS = {
    "ascii": ["general_ci"],
    "armscii8": ["general_ci", "bin"],
    "cp1250": ["general_ci", "bin", "croatian_ci", "polish_ci"],
    "cp1251": ["general_ci", "bin", "bulgarian_ci", "ukrainian_ci", "general_cs"],
    "cp1256": ["general_ci", "bin"],
    "cp1257": ["general_ci", "bin", "lithuanian_ci"],
    "cp850": ["general_ci", "bin"],
    "cp852": ["general_ci", "bin"],
    "cp866": ["general_ci", "bin"],
    "dec8": ["swedish_ci", "bin"],
    "geostd8": ["general_ci", "bin"],
    "greek": ["general_ci", "bin"],
    "hebrew": ["general_ci", "bin"],
    "hp8": ["english_ci", "bin"],
    "keybcs2": ["general_ci", "bin"],
    "koi8r": ["general_ci", "bin"],
    "koi8u": ["general_ci", "bin"],
    "latin1": ["swedish_ci", "bin", "danish_ci", "general_ci", "general_cs", "german1_ci", "spanish_ci"],
    "latin2": ["general_ci", "bin", "croatian_ci", "hungarian_ci"],
    "latin5": ["turkish_ci", "bin"],
    "latin7": ["general_ci", "bin", "estonian_cs", "general_cs"],
    "macce": ["general_ci", "bin"],
    "macroman": ["general_ci", "bin"],
    "swe7": ["swedish_ci", "bin"],
    "tis620": ["bin"],
}

# Character sets of several bytes, of which ASCII is a part; and whether their first collation has
# an order of its own for more than that part. (big5_chinese_ci compares bytes, and so are its
# indexes. Only where it sorts without one MySQL counts strokes.)
MULTIBYTE = {
    "big5": ("big5_chinese_ci", False),
    "cp932": ("cp932_japanese_ci", False),
    "eucjpms": ("eucjpms_japanese_ci", False),
    "euckr": ("euckr_korean_ci", False),
    "gb2312": ("gb2312_chinese_ci", False),
    "gbk": ("gbk_chinese_ci", True),
    "sjis": ("sjis_japanese_ci", False),
    "ujis": ("ujis_japanese_ci", False),
}

CHARACTERS = """SET cte_max_recursion_depth = 2000000, sql_mode = '';
WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}),
c (i, c) AS (SELECT i, CONVERT(UNHEX(IF(i < 256, LPAD(HEX(i), 2, '0'), HEX(i))) USING {charset}) FROM n)
SELECT i, HEX(CONVERT(c USING utf32)), HEX(WEIGHT_STRING(c COLLATE {collation})),
HEX(CONVERT(CONVERT(c USING utf32) USING {charset})) FROM c
WHERE CHAR_LENGTH(c) = 1 AND HEX(c) = IF(i < 256, LPAD(HEX(i), 2, '0'), HEX(i))"""


def run(client, query):
    return subprocess.run(
        [*client, "-N", "-e", query], check=True, capture_output=True, text=True
    ).stdout


def ask_bytes(client, charset, collation):
    last = 127 if charset == "ascii" else 255
    query = BYTES.format(last=last, charset=charset, collation=collation)
    weights = {}
    # Of bytes with the same character the first one counts; those with none come out as `?`.
    for line in run(client, query).splitlines():
        byte, code, weight = line.split("\t")
        if code not in (str(ord("?")), str(0xFFFD)) or byte == code:
            weights[int(code)] = [int(weight, 16)]
    return weights


def ask_charset(client, charset):
    """For each byte: its code point (0xFFFF for none), its capital and its small letter."""
    out = bytearray()
    for line in run(client, CASES.format(charset=charset)).splitlines():
        byte, code, upper, lower = map(int, line.split("\t"))
        if code == ord("?") != byte or code == 0xFFFD:
            code, upper, lower = 0xFFFF, byte, byte
        assert code == byte or byte >= 128 or charset == "swe7", charset
        out += code.to_bytes(2, "little") + bytes([upper, lower])
    return bytes(out)


def ask_multibyte(client, charset, collation):
    """Of each character's bytes, as a number: code point, weight, and what it is written as."""
    found = {}
    for first, last in [(0, 0xFF), (0x8000, 0xFFFF), (0x8FA1A1, 0x8FFEFE)]:
        query = CHARACTERS.format(first=first, last=last, charset=charset, collation=collation)
        for line in run(client, query).splitlines():
            number, code, weight, written = line.split("\t")
            if len(code) != 8 or (int(code, 16) == ord("?") and number != "63"):
                continue  # no character, or several
            if code == "0000FFFD":
                continue  # big5 has some that Unicode does not
            code, number, written = int(code, 16), int(number), int(written, 16)
            if code < 128 <= number:
                # MySQL takes some wide characters of sjis and ujis for those of ASCII, from which
                # their bytes would not come back.
                code, written = code + 0xFEE0, number
            if number < 128:
                written = number
            found[number] = (code, bytes.fromhex(weight), written)
    return found


GB18030 = """SET cte_max_recursion_depth = 2000000;
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 0x10FFFF),
c (i, c) AS (SELECT i, CONVERT(CHAR(i USING utf32) USING gb18030) FROM n)
SELECT i, HEX(c), HEX(WEIGHT_STRING(c COLLATE gb18030_chinese_ci)), HEX(CONVERT(c USING utf32))
FROM c WHERE i NOT BETWEEN 0xD800 AND 0xDFFF"""


def place(number):
    """Which one it is of the characters of four bytes."""
    a, b, c, d = number.to_bytes(4, "big")
    return (((a - 0x81) * 10 + b - 0x30) * 126 + c - 0x81) * 10 + d - 0x30


def ask_gb18030(client):
    """The characters of one byte and two, as of other character sets, and the weights that do not
    follow from the bytes: of ideographs the place in the order of Pinyin, of letters in two numbers.

    gb18030.rs has a formula for the characters of four bytes, which is checked here.
    """
    found, weights, fours = {}, {}, {}
    for line in run(client, GB18030).splitlines():
        code, number, weight, back = line.split("\t")
        code, number, length, weight = int(code), int(number, 16), len(number) // 2, int(weight, 16)
        assert int(back, 16) == code
        if length < 4:
            found[number] = (code, b"", number)
        else:
            fours[place(number)] = code
        if weight >= 0xFFA00000:
            weights[code] = [weight - 0xFFA00000]
        elif weight != (number if length < 4 else 0xFF000000 + place(number)):
            if weight < 0x80 and length > 1:
                # MySQL sorts ı and ſ as I and S, but compares them as greater than all of ASCII.
                weight += 0x80
            weight = weight if weight < 0x10000 else weight - 0xFF000000 + 0x10000
            weights[code] = [weight & 0xFFFF, weight >> 16]
    left = {*range(0x80, 0xD800), *range(0xE000, 0x10000)} - {code for code, _, _ in found.values()}
    left = sorted(0x1E3F if code == 0xE7C7 else code for code in left)
    left = [0xE7C7 if code == 0x1E3F else code for code in left]
    assert fours == {**dict(enumerate(left)), **{189000 + i: 0x10000 + i for i in range(0x100000)}}
    return found, weights


def encode_charset(found):
    """The file of a character set of several bytes."""
    numbers, out, end, last_code, i = sorted(found), bytearray(), 0, 0, 0
    while i < len(numbers):
        length = 1
        while numbers[i + length:][:1] == [numbers[i] + length]:
            length += 1
        out += varint(numbers[i] - end) + varint(length)
        for number in numbers[i : i + length]:
            out += zigzag(found[number][0] - last_code)
            last_code = found[number][0]
        end = numbers[i] + length
        i += length
    others = [number for number in numbers if found[number][2] != number]
    out += varint(0) + varint(0) + varint(len(others))
    for last, number in zip([0, *others], others):
        out += varint(number - last)
    return bytes(out)


def weights_beside_bytes(charset, found, has_own_order):
    """The weights of what is not ordered by its bytes: those of ASCII as they are, others by rank."""
    ranks = sorted({weight for _, weight, _ in found.values() if weight[0] >= 128})
    ranks = {weight: 128 + rank for rank, weight in enumerate(ranks)}
    weights = {}
    for number, (code, weight, written) in found.items():
        if number < 128:
            weights[code] = [weight[0]]
        elif has_own_order and written == number:
            weights[code] = [ranks[weight]]
        else:
            assert has_own_order or charset == "big5" or int.from_bytes(weight, "big") == number, number
    return weights


def ask(client, collation, last):
    query = QUERY.format(collation=collation, charset=collation.split("_")[0], last=last)
    weights = {}
    for line in run(client, query).splitlines():
        code, _, digits = line.partition("\t")
        weights[int(code)] = [int(digits[i : i + 4], 16) for i in range(0, len(digits), 4)]
    return weights


def levels(weights):
    """Of weights level by level, with zeros between the levels: primary, secondary, tertiary."""
    by_level = [{}, {}, {}]
    for code, all_levels in weights.items():
        for level in by_level:
            level[code] = []
        level = 0
        for weight in all_levels:
            if weight:
                by_level[level][code].append(weight)
            else:
                level += 1
    return by_level


def implicit(code):
    """The weights that MySQL computes for code points outside the DUCET table."""
    if 0x17000 <= code <= 0x18AFF:
        return [0xFB00, (code - 0x17000) | 0x8000]
    if 0x4E00 <= code <= 0x9FD5 or 0xFA0E <= code <= 0xFA29:
        base = 0xFB40
    elif (
        0x3400 <= code <= 0x4DB5
        or 0x20000 <= code <= 0x2A6D6
        or 0x2A700 <= code <= 0x2B734
        or 0x2B740 <= code <= 0x2B81D
        or 0x2B820 <= code <= 0x2CEA1
    ):
        base = 0xFB80
    else:
        base = 0xFBC0
    return [base + (code >> 15), (code & 0x7FFF) | 0x8000]


def hangul(weights, code):
    """A syllable has the weights of its two or three letters."""
    syllable = code - 0xAC00
    letters = [0x1100 + syllable // 588, 0x1161 + syllable % 588 // 28, 0x11A7 + syllable % 28]
    return sum((weights[letter] for letter in letters if letter != 0x11A7), [])


def implicit_520(code):
    """The same in UCA 5.2, where MySQL takes ideographs beyond U+FFFF for unassigned ones."""
    if 0x3400 <= code <= 0x4DB5:
        base = 0xFB80
    else:
        base = 0xFB40 if 0x4E00 <= code <= 0x9FA5 else 0xFBC0
    return [base + (code >> 15), (code & 0x7FFF) | 0x8000]


def implicit_400(code):
    """The same in UCA 4.0, in which MySQL knows no code point beyond U+FFFF."""
    return [0xFFFD] if code > 0xFFFF else implicit_520(code)


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def encode(weights, formula):
    codes = [code for code in sorted(weights) if weights[code] != formula(code)]
    out, end, last_weight, i = bytearray(), 0, 0, 0
    while i < len(codes):
        code, first, length, step = codes[i], weights[codes[i]], 1, 0
        while i + length < len(codes) and codes[i + length] == code + length:
            this, before = weights[codes[i + length]], weights[codes[i + length - 1]]
            difference = this[0] - before[0] if first and this else 0
            if len(this) != len(first) or this[1:] != first[1:]:
                break
            if length > 1 and difference != step:
                break
            step = difference
            length += 1
        out += varint(code - end) + varint(len(first) * 2 + (length > 1))
        if length > 1:
            out += varint(length) + zigzag(step)
        for weight in first:
            out += zigzag(weight - last_weight)
            last_weight = weight
        end = code + length
        i += length
    return bytes(out)


def main():
    client, here = sys.argv[1:], os.path.dirname(os.path.abspath(__file__))
    primary, secondary, tertiary = levels(ask(client, "utf8mb4_0900_as_cs", 0x10FFFF))

    def uca_formula(code):
        return hangul(primary, code) if 0xAC00 <= code <= 0xD7A3 else implicit(code)

    tables = [
        ("utf8mb4_0900_ai_ci", primary, uca_formula),
        ("utf8mb4_0900_as_ci", secondary, lambda code: [0x20] * len(primary[code])),
        ("utf8mb4_0900_as_cs", tertiary, lambda code: [0x02] * len(primary[code])),
        ("utf8mb4_unicode_ci", ask(client, "utf8mb4_unicode_ci", 0x10FFFF), implicit_400),
        ("utf8mb4_unicode_520_ci", ask(client, "utf8mb4_unicode_520_ci", 0x10FFFF), implicit_520),
        ("utf8mb4_general_ci", ask(client, "utf8mb4_general_ci", 0xFFFF), lambda code: [code]),
        *((name, ask(client, name, 0xFFFF), lambda code: [code])
          for name in ["utf8mb3_general_mysql500_ci", "utf8mb3_tolower_ci"]),
    ]
    for charset, collations in BYTE_COLLATIONS.items():
        with open(os.path.join(here, "bytes", charset + ".charset"), "wb") as file:
            file.write(ask_charset(client, charset))
        for collation in (f"{charset}_{name}" for name in collations):
            tables.append((collation, ask_bytes(client, charset, collation), lambda code: [code]))
    for charset, (collation, has_own_order) in MULTIBYTE.items():
        found = ask_multibyte(client, charset, collation)
        with open(os.path.join(here, "multibyte", charset + ".charset"), "wb") as file:
            file.write(encode_charset(found))
        weights = weights_beside_bytes(charset, found, has_own_order)
        tables.append((collation, weights, lambda code: [code] if code < 128 else None))
    found, weights = ask_gb18030(client)
    with open(os.path.join(here, "multibyte", "gb18030.charset"), "wb") as file:
        file.write(encode_charset(found))
    tables.append(("gb18030_chinese_ci", weights, lambda code: None))
    for name, weights, formula in tables:
        charset = name.split("_")[0]
        folder = "bytes" if charset in BYTE_COLLATIONS else ""
        folder = "multibyte" if charset in (*MULTIBYTE, "gb18030") else folder
        with open(os.path.join(here, folder, name + ".weights"), "wb") as file:
            file.write(encode(weights, formula))


if __name__ == "__main__":
    main()
