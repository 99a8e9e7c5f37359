#!/usr/bin/env python3
"""Makes the expected outputs (*.out) of the scripts in this directory with a real MySQL server.

    python3 generate.py [host:port] [user]      (needs PyMySQL; the outputs here: MySQL 9.7)

A script has one statement per line; lines that begin with # are comments. It runs in a new
database `ddl`. For each statement the output has the statement, what it returned (the error, or
affected rows and info text, or the text of SHOW CREATE), and its warnings.
"""
import pathlib
import sys
import warnings

import pymysql

host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:3397").partition(":")
user = sys.argv[2] if len(sys.argv) > 2 else "sb"
warnings.simplefilter("ignore")


def run(connection, statement, out):
    out.append(f"> {statement}")
    cursor = connection.cursor()
    try:
        affected = cursor.execute(statement)
    except pymysql.MySQLError as error:
        code, message = error.args
        out.append(f"ERROR {code}: {message}")
        return
    if statement.upper().startswith("SHOW CREATE"):
        out.append(cursor.fetchone()[1])
        return
    result = cursor._result
    # The info text has its length in front.
    info = (result.message or b"")[1:].decode() if result else ""
    out.append(f"OK {affected} {info}".rstrip())
    if result and result.warning_count:
        cursor.execute("SHOW WARNINGS")
        out.extend(f"{level} {code}: {text}" for level, code, text in cursor.fetchall())


for script in sorted(pathlib.Path(__file__).parent.glob("*.sql")):
    connection = pymysql.connect(host=host, port=int(port), user=user, autocommit=True)
    connection.cursor().execute("DROP DATABASE IF EXISTS ddl")
    connection.cursor().execute("CREATE DATABASE ddl")
    connection.select_db("ddl")
    out = []
    for line in script.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            run(connection, line, out)
    script.with_suffix(".out").write_text("\n".join(out) + "\n")
    connection.cursor().execute("DROP DATABASE IF EXISTS ddl")
