#!/usr/bin/env python3
"""Writes order.out beside this file: how a running MySQL sorts a few hundred strings.

    generate_order.py mysql -h127.0.0.1 -P3306 -uroot

The arguments are the command that starts a MySQL client. A line has a collation and, in
hexadecimal (`-` is the empty string), strings that are equal; the lines of a collation ascend.
"""
import os
import random
import subprocess
import sys

# fmt: off
BASE = ["","a","A","á","b","B","z","Z","ä","Ä","ae","æ","ss","ß","s","t","0","1","9","10"," ","a ","a b","ab","_","-","~","!",".",",","'","é","e","E","f","o","ö","ø","oe","œ","n","ñ","ll","ch","ž","z z","Ω","ω","α","ж","Ж","я","א","ب","日","本","日本","かな","カナ","가","각","한글","😀","😁","€","$","½","²","2","\t","a\t","Å","å","i","ı","İ","I","ﬁ","fi","𝒜","㍿","ﷺ","\u0301","e\u0301","\u00ad","a\u00adb","\u200b","ǆ","dž","ĳ","ij","þ","th","ð","d","đ"]
# Spaces, cases and accents in every place.
MORE = ["ab ", "aB", "Ab", "AB", "áb", "aá", "Áa", "\u00a0", "a\u00a0", "a\u00a0b", "a  b", "a \t", "a\t ", "a \u0301", "\u0301a", "E\u0301", "e\u0301\u0300", "\ue000", "\U00020000", "\U0002A700", "\u9fd0", "\ufa0e", "\u3400", "\U00017000", "か", "カ", "ｶ", "が", "ガ", "\u0e40\u0e01", "ﾊﾞ", "№", "ſ", "ẞ"]

# fmt: on
COLLATIONS = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb3_bin",
    "utf8mb3_general_ci",
    "utf8mb3_unicode_ci",
    "utf8mb3_unicode_520_ci",
    "latin1_bin",
    "latin1_danish_ci",
    "latin1_general_ci",
    "latin1_general_cs",
    "latin1_german1_ci",
    "latin1_spanish_ci",
    "latin1_swedish_ci",
    "ascii_bin",
    "ascii_general_ci",
]

CODECS = {"latin1": "cp1252", "ascii": "ascii"}

LETTERS = [*map(chr, range(0x20, 0x7f)), *(chr(c) + "a" for c in range(0xa0, 0x100))]


def is_in(word, codec):
    return word.encode(codec, "ignore").decode(codec) == word


def main():
    random.seed(7)
    letters = [word for word in BASE if len(word) == 1]
    mixed = ("".join(random.choice(letters) for _ in range(random.randint(2, 4))) for _ in range(140))
    everything = list(dict.fromkeys([*BASE, *MORE, *mixed]))
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "order.out"), "w", encoding="ascii") as file:
        for collation in COLLATIONS:
            charset, words = collation.split("_")[0], everything
            if charset == "utf8mb3":
                words = [word for word in everything if max(word, default="") <= "\uffff"]
            elif charset in CODECS:
                words = [word for word in dict.fromkeys([*everything, *LETTERS]) if is_in(word, CODECS[charset])]
            rows = ",".join(f"ROW({i}, x'{word.encode().hex()}')" for i, word in enumerate(words))
            text = f"CONVERT(CONVERT(column_1 USING utf8mb4) USING {charset}) COLLATE {collation}"
            query = (
                f"SELECT column_0, DENSE_RANK() OVER (ORDER BY {text}) "
                f"FROM (VALUES {rows}) v ORDER BY 2, 1"
            )
            command = [*sys.argv[1:], "--default-character-set=utf8mb4", "-N", "-B", "-e", query]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            ranks = {}
            for line in done.stdout.splitlines():
                word, rank = map(int, line.split())
                ranks.setdefault(rank, []).append(words[word].encode().hex() or "-")
            for rank in sorted(ranks):
                file.write(f"{collation} {' '.join(ranks[rank])}\n")


main()
