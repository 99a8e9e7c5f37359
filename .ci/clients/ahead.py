#!/usr/bin/env python3
"""Clients that send their commands ahead: replies come whole, in order, and see what came before.

Commits are answered late, by another thread than the commands that follow them. Each client sends
updates of its own row, reads of it, and reads longer than the server's send buffer, and takes the
replies meanwhile; every other one only after a while, so that the server's writes must wait.
"""

import random
import threading
import time

from cohort import Cohort
from pymysql.connections import MySQLResult

CLIENTS = 24
COMMANDS = 300
LONG = 300_000


def commands(client):
    """What one client sends, each with what it must be answered."""
    chance, value = random.Random(client), 0
    for _ in range(COMMANDS):
        kind = chance.choice(["update", "update", "read", "long", "begin"])
        if kind == "update":
            value += 1
            yield f"UPDATE t SET n = n + 1 WHERE id = {client}", 1
        elif kind == "read":
            yield f"SELECT n FROM t WHERE id = {client}", ((value,),)
        elif kind == "long":
            yield f"SELECT n, REPEAT('x', {LONG}) FROM t WHERE id = {client}", ((value, "x" * LONG),)
        else:
            value += 1
            yield "BEGIN", 0
            yield f"UPDATE t SET n = n + 1 WHERE id = {client}", 1
            yield "COMMIT", 0


def run(server, client, failures):
    """Takes the replies, while another thread sends all commands."""
    connection = server.connect(database="test", autocommit=True)
    sent = list(commands(client))
    packets = [len(text).to_bytes(3, "little") + b"\0" + text
               for text in (b"\x03" + statement.encode() for statement, _ in sent)]
    sender = threading.Thread(target=lambda: connection._sock.sendall(b"".join(packets)))
    sender.start()
    if client % 2:
        time.sleep(1)
    for number, (statement, expected) in enumerate(sent):
        connection._next_seq_id = 1
        result = MySQLResult(connection)
        result.read()
        answer = result.rows if statement.startswith("SELECT") else result.affected_rows
        if answer != expected:
            failures.append(f"client {client}, command {number}, {statement}: {str(answer)[:80]}")
            break
    sender.join()
    connection.close()


def main():
    with Cohort() as server:
        with server.connect() as setup, setup.cursor() as cursor:
            cursor.execute("CREATE DATABASE test")
            cursor.execute("CREATE TABLE test.t (id INT PRIMARY KEY, n INT NOT NULL)")
            rows = ", ".join(f"({client}, 0)" for client in range(CLIENTS))
            cursor.execute(f"INSERT INTO test.t VALUES {rows}")
            setup.commit()
        failures = []
        clients = [threading.Thread(target=run, args=(server, client, failures))
                   for client in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join(120)
            assert not client.is_alive(), "a client waits for ever"
        assert not failures, "\n".join(failures)
    print("commands sent ahead: answered whole and in order")


if __name__ == "__main__":
    main()
