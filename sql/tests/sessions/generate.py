#!/usr/bin/env python3
"""Asks a MySQL server what happens in scripts of several sessions, and writes the .out files.

    generate.py HOST PORT USER FILE.txt...

Needs PyMySQL. A step is `session: statement`; a line that begins with `#` is a comment. Every
script begins in an empty database of its own name. A step that does not end within BLOCKED_S is blocked;
what it answers when it is released follows the step that released it, as `session: answer`.
`wait: session` waits for the answer of a blocked session (a timeout).
"""
import os
import sys
import threading

import pymysql

BLOCKED_S = 0.5


class Session:
    """One connection and the thread that waits for its answers."""

    def __init__(self, host, port, user, database):
        self.connection = pymysql.connect(
            host=host, port=port, user=user, database=database, autocommit=None, conv={}, charset="utf8mb4"
        )
        self.answer = None
        self.thread = None

    def run(self, sql):
        if self.thread is not None and self.thread.is_alive():
            raise RuntimeError(f"still blocked before: {sql}")
        self.answer = None
        self.thread = threading.Thread(target=self.execute, args=(sql,), daemon=True)
        self.thread.start()

    def execute(self, sql):
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql)
        except pymysql.err.Error as error:
            self.answer = [f"ERROR {error.args[0]}: {error.args[1]}"]
            return
        if cursor.description is None:
            self.answer = [f"ok affected={cursor._result.affected_rows}"]
            return
        rows = [",".join("NULL" if v is None else v for v in row) for row in cursor.fetchall()]
        self.answer = ["rows " + " | ".join(rows)]

    def finished(self, seconds):
        self.thread.join(seconds)
        return not self.thread.is_alive()


def steps(path):
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if line and not line.startswith("#"):
            name, sql = line.split(":", 1)
            yield name, sql.strip()


def play(path, out, connect):
    sessions, blocked = {}, []
    for name, sql in steps(path):
        if name == "wait":
            out.write(f"> wait: {sql}\n")
            sessions[sql].thread.join()
            blocked.remove(sql)
            out.writelines(f"{sql}: {line}\n" for line in sessions[sql].answer)
            continue
        session = sessions.setdefault(name, None) or connect()
        sessions[name] = session
        out.write(f"> {name}: {sql}\n")
        session.run(sql)
        if session.finished(BLOCKED_S):
            out.writelines(f"{line}\n" for line in session.answer)
        else:
            out.write("blocked\n")
            blocked.append(name)
        for waiting in list(blocked):
            if waiting != name and sessions[waiting].finished(BLOCKED_S / 2):
                blocked.remove(waiting)
                out.writelines(f"{waiting}: {line}\n" for line in sessions[waiting].answer)
    if blocked:
        sys.exit(f"{path}: {blocked} stay blocked")
    for session in sessions.values():
        session.connection.close()


def main():
    host, port, user, *files = sys.argv[1:]
    root = pymysql.connect(host=host, port=int(port), user=user, autocommit=True)
    cursor = root.cursor()
    cursor.execute("SELECT VERSION()")
    version = cursor.fetchone()[0]
    for path in files:
        database = os.path.basename(path).removesuffix(".txt")
        cursor.execute(f"DROP DATABASE IF EXISTS {database}")
        cursor.execute(f"CREATE DATABASE {database}")
        with open(path.removesuffix(".txt") + ".out", "w", encoding="utf-8") as out:
            out.write(f"-- MySQL {version}\n")
            play(path, out, lambda: Session(host, int(port), user, database))
        cursor.execute(f"DROP DATABASE {database}")


main()
