#!/usr/bin/env python3
"""Asks a MySQL server what the scenarios of a .sessions file do, and writes the .out file.

    generate.py FILE.sessions mysql://user@host:port/database > FILE.out

Needs PyMySQL and an empty database. A step that has not answered after WAIT seconds is shown as
waiting; it is looked at again after every later step.
"""
import re
import sys
import threading

import pymysql

WAIT = 0.35
LEVELS = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]


def scenarios(path):
    title, steps = None, []
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if line.startswith("=="):
            if title:
                yield title, steps
            title, steps = line[2:].strip(), []
        elif line and not line.startswith("#"):
            session, sql = line.split(":", 1)
            steps.append((session, sql.strip()))
    yield title, steps


class Session:
    def __init__(self, server, level):
        self.connection = pymysql.connect(autocommit=True, **server)
        self.execute(f"set session transaction isolation level {level}")
        self.thread = self.result = None

    def execute(self, sql):
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
                if cursor.description is None:
                    return [f"ok {cursor.rowcount}"]
                return ["\t".join("NULL" if v is None else str(v) for v in row) for row in cursor.fetchall()] or ["empty"]
        except pymysql.err.Error as error:
            return [f"error {error.args[0]}"]

    def start(self, sql):
        def run():
            self.result = self.execute(sql)

        self.result = None
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        return self.finished()

    def finished(self):
        self.thread.join(WAIT)
        if self.thread.is_alive():
            return None
        self.thread = None
        return self.result


def run(server, level, title, steps):
    admin = Session(server, level)
    for sql in ("drop table if exists test, other", "create table test (id int primary key, value int)",
                "insert into test values (1, 10), (2, 20)"):
        admin.execute(sql)
    print(f"== {title} [{level}]")
    sessions = {}

    def show(name, result, prefix=""):
        for line in result:
            print(f"    {prefix}{line}")

    for name, sql in steps:
        session = sessions.setdefault(name, None) or Session(server, level)
        sessions[name] = session
        print(f"{name}: {sql}")
        if session.thread:
            print("    still waiting")
        else:
            result = session.start(sql)
            show(name, result if result is not None else ["waits"])
        for other in sorted(sessions):
            if other != name and sessions[other] and sessions[other].thread:
                result = sessions[other].finished()
                if result is not None:
                    show(other, result, f"{other} goes on: ")
    for name in sorted(sessions):  # a timeout may still be running
        while sessions[name].thread:
            result = sessions[name].finished()
            if result is not None:
                show(name, result, f"{name} goes on: ")
    for session in sessions.values():
        session.connection.close()


def main():
    match = re.fullmatch(r"mysql://(\w+)@([\w.]+):(\d+)/(\w+)", sys.argv[2])
    server = dict(user=match[1], host=match[2], port=int(match[3]), database=match[4])
    for title, steps in scenarios(sys.argv[1]):
        for level in LEVELS:
            run(server, level, title, steps)


main()
