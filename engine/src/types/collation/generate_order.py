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

from generate_weights import BYTE_COLLATIONS, MULTIBYTE

# fmt: off
BASE = ["","a","A","á","b","B","z","Z","ä","Ä","ae","æ","ss","ß","s","t","0","1","9","10"," ","a ","a b","ab","_","-","~","!",".",",","'","é","e","E","f","o","ö","ø","oe","œ","n","ñ","ll","ch","ž","z z","Ω","ω","α","ж","Ж","я","א","ب","日","本","日本","かな","カナ","가","각","한글","😀","😁","€","$","½","²","2","\t","a\t","Å","å","i","ı","İ","I","ﬁ","fi","𝒜","㍿","ﷺ","\u0301","e\u0301","\u00ad","a\u00adb","\u200b","ǆ","dž","ĳ","ij","þ","th","ð","d","đ"]
# Spaces, cases and accents in every place.
MORE = ["ab ", "aB", "Ab", "AB", "áb", "aá", "Áa", "\u00a0", "a\u00a0", "a\u00a0b", "a  b", "a \t", "a\t ", "a \u0301", "\u0301a", "E\u0301", "e\u0301\u0300", "\ue000", "\U00020000", "\U0002A700", "\u9fd0", "\ufa0e", "\u3400", "\U00017000", "か", "カ", "ｶ", "が", "ガ", "\u0e40\u0e01", "ﾊﾞ", "№", "ſ", "ẞ"]

# Letters that languages move, and pairs that are a letter in some.
OF_LANGUAGES = ["c","C","ch","Ch","cH","CH","cs","Cs","ć","č","Č","ç","ĉ","ď","đ","Đ","dz","dzs","Dzs","dž","ě","ë","ę","ė","g","gy","Gy","ĝ","ğ","ģ","h","ĥ","ĵ","j","k","ķ","l","lj","Lj","LJ","nj","Nj","ly","ll","Ll","LL","l·l","ł","Ł","ľ","ļ","ny","ň","ņ","ñ","ó","õ","ő","Ő","ơ","r","ř","ŕ","š","ş","ș","ŝ","sz","ty","ť","ț","u","ü","Ü","ű","ů","ŭ","ư","v","V","w","W","y","Y","ý","zs","ž","Ž","ż","ź","þ","Þ","ð","å","Å","aa","Aa","aA","AA","â","ă","ạ","ê","ấ","æ","Æ","ø","Ø","ĳ","q","x","и","й","і","ї","ё","ь","ъ","ө","ү","پ","ک","ی","گ","ء","آ","ک","ක","ශ","අං","ං","u\u0308","c\u030c","a\u030a","o\u030b","zzs","ssz","aab","cha","chz","ci","lla","lz"]

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
    "utf8mb3_general_mysql500_ci",
    "utf8mb3_tolower_ci",
]
LANGUAGES = """SELECT collation_name FROM information_schema.collations
WHERE character_set_name = 'utf8mb4' ORDER BY 1"""
CHARACTERS = """WITH RECURSIVE n (i) AS (SELECT 128 UNION ALL SELECT i + 1 FROM n WHERE i < {last})
SELECT HEX(CONVERT(CONVERT(UNHEX(HEX(i)) USING {charset}) USING utf8mb4)) FROM n WHERE i <= {last}"""
# Those of Japanese and Chinese, and what they move: kana, the mark that makes them long, ideographs.
OF_EAST_ASIA = ["utf8mb4_ja_0900_as_cs", "utf8mb4_ja_0900_as_cs_ks", "utf8mb4_zh_0900_as_cs"]
EAST_ASIAN = [*"aAbzéßΩяאกあアぁァｱかカｶがガー々ゝヽ゛゜一丁七阿座啊乙中文漢字㐀、。ㄅ가힣９❶",
              "\U00020000", "\U0002a6d6", "\U0001f600", "\u0300", "\u3099", "m\u0300", "n\u0304"]
# Letters of Thai, of which some change places when texts are compared.
THAI = ["ก", "ข", "ฮ", "เ", "แ", "ะ", "า", "ิ", "็", "่", "้", "์", "ๆ", "๑", "a", "A", " ", "-"]

ASCII = [*map(chr, range(0x20, 0x7F))]
PADDED = ["", *"a ab Ab aB AB b b\ta ba".split(" "), " a", "a b", "a-b", "a\tb", "a ", "a\t"]


def letters_of(charset):
    """The characters of a character set in which each is a byte, and some words."""
    if charset == "swe7":
        own = "ÉÄÖÅÜéäöåü"
        return [word for word in [*PADDED, *ASCII, *own] if not set(word) & set("@[\\]^`{|}~")]
    last = 127 if charset == "ascii" else 255
    codes = (code for (code,) in ask(CHARACTERS.format(last=last, charset=charset)))
    letters = [bytes.fromhex(code).decode() for code in codes]
    if charset == "latin7":
        # Its spaces are not the lowest; sorted, they count otherwise than compared.
        return list(dict.fromkeys([*ASCII, *letters]))
    return list(dict.fromkeys([*PADDED, *ASCII, *letters]))


def some_of(charset):
    """Some characters of a character set of several bytes, and some words of them."""
    codes = [*range(0xA1, 0x500, 17), *range(0x2010, 0x3100, 61), *range(0x3041, 0x3100, 19),
             *range(0x4E00, 0x9FA6, 523), *range(0xAC00, 0xD7A4, 701), *range(0xFF01, 0xFFE7, 29)]
    code = f"CONVERT(CONVERT(UNHEX(LPAD(HEX(column_0), 4, '0')) USING ucs2) USING {charset})"
    rows = ",".join(f"ROW({code})" for code in codes)
    found = ask(f"SELECT column_0 FROM (VALUES {rows}) v WHERE HEX({code}) <> '3F'")
    letters = [chr(int(code)) for (code,) in found]
    words = ["".join(random.choice([*letters, "a", "A", " "]) for _ in range(3)) for _ in range(30)]
    return list(dict.fromkeys([*PADDED, *ASCII, *letters, *words]))


def words_of(letters, count):
    """The letters, and random words of them."""
    words = ("".join(random.choice(letters) for _ in range(random.randint(2, 4))) for _ in range(count))
    return list(dict.fromkeys(["", *letters, *words]))


def ask(query):
    command = [*sys.argv[1:], "--default-character-set=utf8mb4", "-N", "-B", "-e", query]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def main():
    random.seed(7)
    letters = [word for word in BASE if len(word) == 1]
    mixed = ("".join(random.choice(letters) for _ in range(random.randint(2, 4))) for _ in range(140))
    everything = list(dict.fromkeys([*BASE, *MORE, *mixed]))
    pairs = ("".join(random.choice(OF_LANGUAGES) for _ in range(2)) for _ in range(40))
    of_languages = list(dict.fromkeys([*OF_LANGUAGES, *pairs]))
    languages = [name for (name,) in ask(LANGUAGES) if name not in COLLATIONS + OF_EAST_ASIA]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "order.out"), "w", encoding="ascii") as file:
        of_bytes = [f"{charset}_{name}" for charset in BYTE_COLLATIONS for name in BYTE_COLLATIONS[charset]]
        of_several = [name for charset in MULTIBYTE for name in (f"{charset}_bin", MULTIBYTE[charset][0])]
        of_several += ["gb18030_bin", "gb18030_chinese_ci", "tis620_thai_ci"]
        for collation in [*COLLATIONS, *languages, "ascii_bin", *of_bytes, *of_several, *OF_EAST_ASIA]:
            charset = collation.split("_")[0]
            words = of_languages if collation in languages else everything
            if charset == "utf8mb3":
                words = [word for word in everything if max(word, default="") <= "\uffff"]
            elif collation == "tis620_thai_ci":
                words = words_of(THAI, 250)
            elif collation in OF_EAST_ASIA:
                # See generate_tailorings.py for marks at the beginning.
                words = [word for word in words_of(EAST_ASIAN, 250) if word[:1] not in ("ー", "ゝ", "ヽ")]
            elif charset in BYTE_COLLATIONS:
                words = letters_of(charset)
            elif charset in MULTIBYTE:
                words = some_of(charset)
            elif charset == "gb18030":
                words = list(dict.fromkeys([*some_of(charset), *words_of([*EAST_ASIAN, "\u1e3f", "\ue7c7"], 80)]))
            if charset == "sjis":
                # MySQL writes a backslash as the wide one.
                words = [word for word in words if "\\" not in word]
            if collation == "big5_chinese_ci":
                # What it sorts by is not what it compares by: see generate_weights.py.
                words = [word for word in words if word.isascii()]
            rows = ",".join(f"ROW({i}, x'{word.encode().hex()}')" for i, word in enumerate(words))
            text = f"CONVERT(CONVERT(column_1 USING utf8mb4) USING {charset}) COLLATE {collation}"
            query = (
                f"SELECT column_0, DENSE_RANK() OVER (ORDER BY {text}) "
                f"FROM (VALUES {rows}) v ORDER BY 2, 1"
            )
            ranks = {}
            for word, rank in ask(query):
                ranks.setdefault(int(rank), []).append(words[int(word)].encode().hex() or "-")
            for rank in sorted(ranks):
                file.write(f"{collation} {' '.join(ranks[rank])}\n")


main()
