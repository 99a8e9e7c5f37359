#!/usr/bin/env python3
"""TLS with clients that do not do as they should, and with much to carry.

  1. Nonsense after the request, records that are too long, halves of handshakes, a closed side:
     the connection ends, and its descriptor and its thread are given back.
  2. Thousands of handshakes that stop midway hold no threads, and end by connect_timeout.
  3. 50 MB in one packet, there and back.
  4. 500 silent connections: no threads; all are woken.
  5. Commits, also of statements that are sent ahead.
  6. KILL, clients that leave in the middle of a statement, and one that stops reading.

tls_wire.py [SEED]
"""

import contextlib
import os
import pathlib
import random
import socket
import ssl
import struct
import sys
import threading
import time

import pymysql
from pymysql.constants import COMMAND

from cohort import Cohort, seed_of

REQUEST = struct.pack("<IIB23x", 0x0081_AA85 | 0x800, 1 << 24, 45)
STALLED = 2000
PARKED = 500


def context(version=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if version:
        made.minimum_version = made.maximum_version = version
    return made


def ask(connection, statement, *arguments):
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall()


class Process:
    """What the server's process holds."""

    def __init__(self, server):
        self.path = pathlib.Path(f"/proc/{server.process.pid}")

    def files(self):
        return len(os.listdir(self.path / "fd"))

    def threads(self):
        return len(os.listdir(self.path / "task"))


def wait_for(condition, what, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def begin(server):
    """A connection that has asked for TLS."""
    plain = socket.create_connection(("127.0.0.1", server.port), 10)
    head = plain.recv(4, socket.MSG_WAITALL)
    plain.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)
    plain.sendall(struct.pack("<I", len(REQUEST) | 1 << 24) + REQUEST)
    return plain


class Handshake:
    """The client's half, whose bytes are sent by hand."""

    def __init__(self, version=None):
        self.received, self.sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context(version).wrap_bio(self.received, self.sent)

    def step(self):
        """Goes as far as it can; what is to be sent."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.sent.read()


def drained(plain):
    """Everything until the server hangs up."""
    got = b""
    with contextlib.suppress(OSError):
        while piece := plain.recv(65536):
            got += piece
    return got


def check_nonsense(server, seed):
    chance = random.Random(seed)
    hello = Handshake().step()
    bodies = [b"", b"\0", hello[:3], b"\x16\x03\x01\xff\xff" + bytes(70_000),
              b"\x16\x03\x01\x48\x01" + bytes(0x4801), b"\x17\x03\x03\x40\x00" + bytes(0x4000),
              b"\x16\x03\x01\x00\x00" * 1000, b"\x15\x03\x03\x00\x02\x01\x00",
              b"\x14\x03\x03\x00\x01\x01" * 1000, hello + hello, hello + bytes(20_000),
              b"GET / HTTP/1.1\r\n\r\n", b"\x03\0\0\x02\x03ab"]
    bodies += [chance.randbytes(chance.randrange(1, 3000)) for _ in range(100)]
    for _ in range(200):
        mutated = bytearray(hello)
        for _ in range(chance.randrange(1, 5)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        bodies.append(bytes(mutated))
    for body in bodies:
        with begin(server) as plain:
            with contextlib.suppress(OSError):
                plain.sendall(body)
                # The other half stays open, as a client's does that waits.
                plain.shutdown(socket.SHUT_WR)
            drained(plain)
    # After the handshake: records that nobody has the key for, and a second wish for TLS.
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for after in (chance.randbytes(500), b"\x17\x03\x03\x00\x20" + bytes(32),
                      b"\x17\x03\x03\x48\x01" + bytes(0x4801), b"\x16\x03\x03\x00\x04\0\0\0\0"):
            handshake = Handshake(version)
            with begin(server) as plain:
                while to_send := handshake.step():
                    plain.sendall(to_send)
                    if handshake.tls.cipher() and version == ssl.TLSVersion.TLSv1_3:
                        break
                    plain.settimeout(5)
                    handshake.received.write(plain.recv(65536))
                with contextlib.suppress(OSError):
                    plain.sendall(after)
                    plain.shutdown(socket.SHUT_WR)
                drained(plain)
    assert ask(server.connect(ssl=context()), "SELECT 1") == ((1,),)


def steady(count):
    """A number that has been the same for a while."""
    known, since = count(), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.05)
        if (now := count()) != known:
            known, since = now, time.monotonic()
    return known


def check_stalled(server, admin, process):
    """A handshake that stops midway, at each of its steps."""
    ask(admin, "SET GLOBAL connect_timeout = 10")
    # Those of before may still be going.
    files, threads = steady(process.files), process.threads()
    held, begun = [], []
    for number in range(STALLED):
        begun.append(time.monotonic())
        handshake, plain = Handshake(), begin(server)
        hello = handshake.step()
        if number % 4 == 1:
            plain.sendall(hello[:number % len(hello)])
        if number % 4 >= 2:
            plain.sendall(hello)
        if number % 4 == 3:
            # It is done, and no login follows.
            handshake.received.write(plain.recv(65536))
            plain.sendall(handshake.step())
        held.append(plain)
    # On a busy machine the first of them are over already.
    held_now = process.files() - files
    assert held_now >= sum(time.monotonic() - moment < 9 for moment in begun)
    assert process.threads() <= threads + 8, (threads, process.threads())
    begun = time.monotonic()
    server.connect(ssl=context()).close()
    assert time.monotonic() - begun < 8, "others get in"
    wait_for(lambda: process.files() <= files + 2, "stalled handshakes end")
    for plain in held:
        plain.close()
    # Those who hang up midway are let go at once.
    for number in range(STALLED):
        with begin(server) as plain:
            plain.sendall(Handshake().step()[:number % 300])
    wait_for(lambda: process.files() <= files + 2, "who hangs up midway is let go", 5)
    assert process.threads() <= threads + 8


def check_much(server):
    connection = server.connect(ssl=context(), autocommit=True)
    big = os.urandom(25_000_000).hex()
    assert ask(connection, "SELECT LENGTH(%s)", big) == ((50_000_000,),)
    ask(connection, "CREATE DATABASE much")
    ask(connection, "CREATE TABLE much.t (id INT PRIMARY KEY, t LONGTEXT)")
    ask(connection, "INSERT INTO much.t VALUES (1, %s)", big)
    assert ask(connection, "SELECT t FROM much.t") == ((big,),)
    ask(connection, "INSERT INTO much.t SELECT n, REPEAT('x', 1000) FROM (WITH RECURSIVE r AS "
        "(SELECT 2 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 1000) SELECT n FROM r) AS many")
    rows = ask(connection, "SELECT a.id, b.t FROM much.t AS a, much.t AS b "
               "WHERE a.id <= 50 AND b.id > 1")
    assert len(rows) == 50 * 999 and all(len(text) == 1000 for _, text in rows)
    connection.close()


def check_parked(server, process):
    connections = [server.connect(ssl=context()) for _ in range(PARKED)]
    time.sleep(1)
    assert process.threads() < 60, process.threads()
    for _ in range(3):
        for number, connection in enumerate(connections):
            assert ask(connection, f"SELECT {number}") == ((number,),)
    # Threads wait for their clients' next statements for a moment, and are kept for a while.
    assert process.threads() < 200, process.threads()

    def work(mine):
        for connection in mine:
            assert ask(connection, "SELECT 'a longer answer', REPEAT('x', 50000)")[0][0][0] == "a"
    # Several at once, and what was sent ahead in one record.
    workers = [threading.Thread(target=work, args=(connections[n::8],)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for connection in connections[:50]:
        packets = b"".join(struct.pack("<IB", 1 + len(sql), COMMAND.COM_QUERY) + sql
                           for sql in [b"SELECT 7"] * 200)
        connection._sock.sendall(packets)
        for _ in range(200):
            connection._next_seq_id = 1
            connection._read_query_result()
            assert connection._result.rows == ((7,),)
    for connection in connections:
        connection.close()


def check_commits(server):
    """Replies to commits are sent by another thread than the one that reads the next command."""
    with server.connect(ssl=context(), autocommit=True) as connection:
        ask(connection, "CREATE TABLE much.c (client INT, n INT, PRIMARY KEY (client, n))")

    def work(client):
        with server.connect(ssl=context(), autocommit=True) as connection:
            inserts = [f"INSERT INTO much.c VALUES ({client}, {n})".encode() for n in range(300)]
            for insert in inserts[:100]:
                connection.query(insert)
            connection._sock.sendall(b"".join(
                struct.pack("<IB", 1 + len(sql), COMMAND.COM_QUERY) + sql for sql in inserts[100:]))
            for _ in inserts[100:]:
                connection._next_seq_id = 1
                connection._read_query_result()
                assert connection._result.affected_rows == 1
            done.append(ask(connection, f"SELECT COUNT(*) FROM much.c WHERE client = {client}"))
    done = []
    workers = [threading.Thread(target=work, args=(client,)) for client in range(24)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert done == [((300,),)] * 24, done


def running(admin, mark):
    rows = ask(admin, "SELECT id FROM information_schema.processlist "
               "WHERE info LIKE %s AND id <> CONNECTION_ID()", f"%{mark}%")
    return [row[0] for row in rows]


def check_ends(server, admin):
    # KILL of one that waits in a statement, and of a silent one.
    busy, silent = server.connect(ssl=context()), server.connect(ssl=context())
    outcome = []

    def sleep():
        try:
            outcome.append(ask(busy, "SELECT SLEEP(60) AS killed"))
        except pymysql.MySQLError as error:
            outcome.append(error)
    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    wait_for(lambda: running(admin, "killed"), "it runs")
    ask(admin, f"KILL {busy.thread_id()}")
    sleeper.join(10)
    assert isinstance(outcome[0], pymysql.MySQLError), outcome
    ask(admin, f"KILL {silent.thread_id()}")
    silent._sock.settimeout(5)
    assert silent._sock.recv(1) == b"", "the end comes in good order"
    # Clients that leave while their statement runs, with a goodbye and without.
    for goodbye in (True, False):
        leaver = server.connect(ssl=context())
        leaver._execute_command(COMMAND.COM_QUERY, "SELECT SLEEP(60) AS left_alone")
        wait_for(lambda: running(admin, "left_alone"), "it runs")
        if goodbye:
            leaver._sock.sendall(struct.pack("<IB", 1, COMMAND.COM_QUIT))
            with contextlib.suppress(OSError, ssl.SSLError):
                leaver._sock.setblocking(False)
                leaver._sock.unwrap()
        leaver._force_close()
        wait_for(lambda: not running(admin, "left_alone"), "who has left is noticed", 5)
    # One that closes its side after it has sent more waits for its answers.
    hasty = server.connect(ssl=context())
    for sql in (b"SELECT SLEEP(2) AS hasty", b"SELECT 2"):
        hasty._sock.sendall(struct.pack("<IB", 1 + len(sql), COMMAND.COM_QUERY) + sql)
    raw = socket.socket(fileno=os.dup(hasty._sock.fileno()))
    time.sleep(0.5)
    raw.shutdown(socket.SHUT_WR)
    for expected in (((0,),), ((2,),)):
        hasty._next_seq_id = 1
        hasty._read_query_result()
        assert hasty._result.rows == expected
    raw.close()


def check_lazy(server, admin, process):
    """A client that stops reading costs no slot, and its connection when its time is over."""
    threads = process.threads()
    ask(admin, "SET GLOBAL net_write_timeout = 2")
    lazy = [server.connect(ssl=context()) for _ in range(6)]
    ask(admin, "SET GLOBAL net_write_timeout = 60")
    for connection in lazy:
        connection._execute_command(
            COMMAND.COM_QUERY, "SELECT REPEAT('lazy', 250000) FROM much.t")
    time.sleep(0.5)
    begun = time.monotonic()
    with server.connect(ssl=context()) as other:
        assert ask(other, "SELECT COUNT(*) FROM much.t WHERE id < 0") == ((0,),)
    assert time.monotonic() - begun < 8
    wait_for(lambda: not running(admin, "lazy"), "who does not read is let go", 15)
    wait_for(lambda: process.threads() <= threads + 4, "its thread, too", 70)
    # One that reads slowly gets everything.
    slow = server.connect(ssl=context())
    slow._execute_command(COMMAND.COM_QUERY, "SELECT REPEAT('slow', 250000) FROM much.t "
                          "WHERE id <= 20")
    time.sleep(3)
    slow._read_query_result()
    assert [len(row[0]) for row in slow._result.rows] == [1_000_000] * 20
    for connection in [*lazy, slow]:
        connection._force_close()


def main():
    seed = seed_of(1)
    print(f"tls_wire: seed {seed}", flush=True)
    with Cohort("--max-connections", str(STALLED + PARKED)) as server:
        process = Process(server)
        admin = server.connect(unix_socket=str(server.data / "mysql.sock"), autocommit=True)
        files = process.files()
        check_nonsense(server, seed)
        wait_for(lambda: process.files() <= files + 1, "descriptors are given back")
        check_stalled(server, admin, process)
        check_much(server)
        check_parked(server, process)
        check_commits(server)
        check_ends(server, admin)
        check_lazy(server, admin, process)
        wait_for(lambda: process.files() <= files + 4, "descriptors are given back")
        assert "panicked" not in server.log.read_text()
        assert server.stop() == 0
    print("tls_wire: nonsense, halves of handshakes, much to carry, and ends of all kinds")


if __name__ == "__main__":
    main()
