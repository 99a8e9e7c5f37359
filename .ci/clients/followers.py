#!/usr/bin/env python3
"""Many follow the log at once and share what is read and sent: each gets what is in the files, byte
for byte, in packets that are numbered without a gap. They begin anywhere, read slowly or not at all
for a while, go, come back and are killed; files end meanwhile. Some are compressed, some have TLS.

  .ci/clients/followers.py [SECONDS [FOLLOWERS [SEED]]]
"""

import contextlib
import random
import re
import socket
import ssl
import struct
import sys
import threading
import time

import pymysql

from cohort import Cohort, seed_of
from sources import ask
from wire import CAPABILITIES, COMPRESS, SSL, Wire

BINLOG_DUMP = 0x12
ROTATE, DESCRIPTION, GTID, HEARTBEATS = 4, 15, 33, (27, 41)
ARTIFICIAL, UNLISTED = 0x20, 0x20
WRITERS = 6


class Secured(Wire):
    """The same with TLS."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 20)
        self.compressed, self.inside, self.number = False, b"", 0
        self.packet()
        flags = CAPABILITIES | SSL
        self.socket.sendall(struct.pack("<I", 32)[:3] + b"\1"
                            + struct.pack("<IIB23x", flags, 1 << 30, 255))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)
        login = struct.pack("<IIB23x", flags, 1 << 30, 255) + b"root\0\0caching_sha2_password\0"
        self.socket.sendall(struct.pack("<I", len(login))[:3] + b"\2" + login)
        self.answer = self.packet()[1]


class Gone(Exception):
    """It has been sent away, or has gone."""


class Follower:
    """One that follows, and what it has got: events by file and position."""

    def __init__(self, server, number, seed):
        self.server, self.random = server, random.Random(seed)
        self.number, self.kind = number, ("plain", "plain", "plain", "tls", "compressed")[number % 5]
        self.got, self.passed, self.failure = {}, [], None
        self.file, self.at, self.follows, self.connection = "binlog.000001", 4, False, 0
        self.times, self.calm, self.over = 0, False, False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        """Follows until the end, in several connections."""
        try:
            while not self.over:
                with contextlib.suppress(Gone, EOFError, ConnectionError):
                    self.follow()
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error

    def connect(self):
        """A connection that follows from where this was, or from the end."""
        wire = {"plain": lambda: Wire(self.server, 0), "tls": lambda: Secured(self.server),
                "compressed": lambda: Wire(self.server, COMPRESS)}[self.kind]()
        assert wire.answer[:1] == b"\0", wire.answer
        self.connection = int(wire.value("SELECT CONNECTION_ID()"))
        if self.times == 0 and self.number % 3:
            row = wire.query("SHOW BINARY LOG STATUS")[-2]
            name, rest = row[1:1 + row[0]].decode(), row[1 + row[0]:]
            self.file, self.at = name, int(rest[1:1 + rest[0]])
        self.times += 1
        wire.query("SET @source_binlog_checksum = 'CRC32', @source_heartbeat_period = 300000000")
        wire.send(struct.pack("<BIHI", BINLOG_DUMP, self.at, 0, 1000 + self.number) + self.file.encode())
        return wire

    def follow(self):
        """Follows until it has had enough, or all."""
        wire = self.connect()
        number, buffer, taken = 1, bytearray(), 0
        left = self.random.randrange(100, 20_000)
        with contextlib.closing(wire.socket):
            while not self.over and (left > 0 or self.calm):
                if wire.compressed:
                    packets = [wire.packet()]
                else:
                    piece = wire.socket.recv(1 << self.random.randrange(8, 18))
                    if not piece:
                        raise Gone
                    buffer += piece
                    packets, taken = split(buffer)
                    del buffer[:taken]
                for have, payload in packets:
                    assert wire.compressed or have == number % 256, (have, number)
                    number += 1
                    left -= 1
                    if payload[:1] == b"\xff":
                        raise AssertionError(payload)
                    self.take(payload[1:])
                if not self.calm and self.random.randrange(300) == 0:
                    time.sleep(self.random.choice((0.01, 0.2, 1.5)))

    def take(self, event):
        """Notes an event, and where it goes on."""
        kind, size, end, flags = event[4], *struct.unpack_from("<IIH", event, 9)
        assert size == len(event), (kind, size, len(event))
        if kind == ROTATE and flags & ARTIFICIAL:
            file, at = event[27:-4].decode(), int.from_bytes(event[19:27], "little")
            if file != self.file:
                assert self.follows and at == 4, (file, at)
            self.file, self.at, self.follows = file, at, False
        elif kind == DESCRIPTION:
            if end:
                self.at = end
        elif kind in HEARTBEATS:
            # Behind what it does not see.
            assert end >= self.at, (end, self.at)
            if end > self.at:
                self.passed.append((self.file, self.at, end))
            self.at = end
        else:
            assert end - size == self.at, (self.file, kind, end, size, self.at)
            self.got[self.file, self.at] = event
            self.at = end
            self.follows = kind == ROTATE


def split(buffer):
    """The packets that are whole, and how long they are together."""
    packets, at = [], 0
    while len(buffer) >= at + 4:
        size = int.from_bytes(buffer[at:at + 3], "little")
        if len(buffer) < at + 4 + size:
            break
        packets.append((buffer[at + 3], bytes(buffer[at + 4:at + 4 + size])))
        at += 4 + size
    return packets, at


def write(server, seed, until):
    """Commits of all sizes, some of which followers do not see."""
    own = random.Random(seed)
    with contextlib.closing(server.connect(database="app", autocommit=True)) as connection, \
            connection.cursor() as cursor:
        while time.monotonic() < until:
            size = own.choice((1, 10, 100, 100, 1000, 30_000))
            hidden = own.randrange(30) == 0
            if hidden:
                cursor.execute("SET sql_log_bin = 0")
            cursor.execute("INSERT INTO t (b) VALUES (REPEAT('x', %s))", (size,))
            if hidden:
                cursor.execute("SET sql_log_bin = 1")
            if own.randrange(10) == 0:
                time.sleep(own.random() / 20)


def trouble(server, followers, own, until):
    """Ends files, and connections of followers."""
    while time.monotonic() < until:
        time.sleep(own.random() / 2)
        if own.randrange(3) == 0:
            ask(server, "FLUSH BINARY LOGS")
        with contextlib.suppress(pymysql.MySQLError):
            ask(server, f"KILL {own.choice(followers).connection}")


def check(server, follower):
    """Compares what it got with the files."""
    files = {}
    for (name, at), event in follower.got.items():
        if name not in files:
            files[name] = next(server.data.rglob(name)).read_bytes()
        assert files[name][at:at + len(event)] == event, (name, at)
    for name, at, end in follower.passed:
        file = files.setdefault(name, next(server.data.rglob(name)).read_bytes())
        while at < end:
            assert file[at + 4] == GTID and file[at + 19] & UNLISTED, (name, at)
            # From this GTID event to the next, or to the end.
            at += struct.unpack_from("<I", file, at + 9)[0]
            while at < end and file[at + 4] != GTID:
                at += struct.unpack_from("<I", file, at + 9)[0]
        assert at == end


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = seed_of(3)
    print(f"followers.py, seed {seed}", flush=True)
    own = random.Random(seed)
    with Cohort() as server:
        ask(server, "CREATE DATABASE app")
        ask(server, "CREATE TABLE app.t (id INT PRIMARY KEY AUTO_INCREMENT, b MEDIUMBLOB)")
        until = time.monotonic() + seconds
        followers = [Follower(server, number, own.random()) for number in range(count)]
        threads = [threading.Thread(target=write, args=(server, own.random(), until))
                   for _ in range(WRITERS)]
        threads.append(threading.Thread(target=trouble, args=(server, followers, own, until)))
        for thread in (*threads, *(follower.thread for follower in followers)):
            thread.start()
        for thread in threads:
            thread.join()
        # The last one is one that all see, of a size that is in no single packet.
        ask(server, "SET GLOBAL max_allowed_packet = 64 * 1024 * 1024")
        ask(server, "INSERT INTO app.t (b) VALUES (REPEAT('y', 4000000))")
        ask(server, "INSERT INTO app.t (b) VALUES ('the last')")
        end = ask(server, "SHOW BINARY LOG STATUS")[0]
        for follower in followers:
            follower.calm = True
        deadline = time.monotonic() + 120
        wanted = (end["File"], end["Position"])
        while any((follower.file, follower.at) != wanted and not follower.failure
                  for follower in followers):
            if time.monotonic() > deadline:
                raise AssertionError([(f.number, f.file, f.at) for f in followers], wanted)
            time.sleep(0.1)
        listed = ask(server, "SHOW PROCESSLIST")
        assert sum(re.match("Binlog Dump", row["Command"]) is not None for row in listed) >= count
        for follower in followers:
            follower.over = True
        # They hear of it by one more commit.
        ask(server, "INSERT INTO app.t (b) VALUES ('one more')")
        for follower in followers:
            follower.thread.join(30)
            assert not follower.failure, follower.failure
            check(server, follower)
        events = sum(len(follower.got) for follower in followers)
        times = sum(follower.times for follower in followers)
        hidden = sum(len(follower.passed) for follower in followers)
        assert times > count and hidden > 0
        print(f"{events} events to {count} followers in {times} connections, "
              f"{hidden} times hidden ones: as in the files")
        # None is left, and nobody rides any more.
        deadline = time.monotonic() + 10
        while any(row["Command"].startswith("Binlog") for row in ask(server, "SHOW PROCESSLIST")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
