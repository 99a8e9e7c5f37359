#!/usr/bin/env python3
"""Asks a MySQL server for the results of a golden script, and writes the .out file beside it.

    generate.py HOST PORT USER FILE.sql...

Needs PyMySQL. Every script begins in an empty database `golden` of its own; who runs this at the
same time on the same machine waits. Statements end with a semicolon at the end of a line; lines
that begin with `--` are comments.
"""
import fcntl
import os
import sys
import tempfile

import pymysql


def statements(path):
    lines = []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if not lines and (not line.strip() or line.startswith("--")):
            continue
        lines.append(line)
        if line.endswith(";"):
            yield "\n".join(lines)[:-1]
            lines = []


def show(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return "0x" + value.hex().upper() if any(b >= 0x80 or b < 0x20 for b in value) else value.decode()
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\0", "\\0")


def message(result):
    text = result.message or b""
    if text and text[0] == len(text) - 1:
        text = text[1:]
    return text.decode()


def run(connection, sql):
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
    except pymysql.err.Error as error:
        code, text = error.args
        return [f"ERROR {code}: {text}"]
    result = cursor._result
    out = []
    if cursor.description is not None:
        out.append("\t".join(column[0] for column in cursor.description))
        out += ["\t".join(show(v) for v in row) for row in cursor.fetchall()]
    else:
        out.append(f"ok affected={result.affected_rows} id={result.insert_id}")
        if message(result):
            out[0] += f" {message(result)}"
    if result.warning_count:
        cursor.execute("SHOW WARNINGS")
        out += [f"{level} {code}: {text}" for level, code, text in cursor.fetchall()]
    return out


def main():
    host, port, user, *files = sys.argv[1:]
    lock = open(os.path.join(tempfile.gettempdir(), f"cohort-golden-{port}.lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    for path in files:
        connection = pymysql.connect(host=host, port=int(port), user=user, autocommit=True, conv={}, charset="utf8mb4", collation="utf8mb4_0900_ai_ci")
        version = run(connection, "SELECT VERSION()")[1]
        for sql in ("DROP DATABASE IF EXISTS golden", "CREATE DATABASE golden", "USE golden"):
            connection.cursor().execute(sql)
        with open(path.removesuffix(".sql") + ".out", "w", encoding="utf-8") as out:
            out.write(f"-- MySQL {version}\n")
            for sql in statements(path):
                out.write("".join(f"> {line}\n" for line in sql.split("\n")))
                out.write("".join(f"{line}\n" for line in run(connection, sql)))
        connection.cursor().execute("DROP DATABASE golden")
        connection.close()


if __name__ == "__main__":
    main()
