#!/usr/bin/env python3
"""Readers of the log at its edges: one that asks before its last commit is answered, ones that do not
wait, at the moment a file ends and behind its end, and one with TLS whose socket is full when the log
rests.

  .ci/clients/dump_edges.py
"""

import contextlib
import socket
import struct
import subprocess
import time

from cohort import Cohort
from followers import BINLOG_DUMP, Secured, split
from sources import ask
from wire import Wire

NON_BLOCK = 1
XID, ROTATE = 16, 4


def request(file, at, flags, server_id):
    """COM_BINLOG_DUMP."""
    return struct.pack("<BIHI", BINLOG_DUMP, at, flags, server_id) + file.encode()


def dump(wire, file, at, flags=0, server_id=9):
    """Asks for the log from a place on."""
    wire.query("SET @source_binlog_checksum = 'CRC32'")
    wire.send(request(file, at, flags, server_id))


def commits(server, file, at, flags, server_id=9):
    """How many commits one gets that does not wait; it must end by itself."""
    wire, count = Wire(server, 0), 0
    wire.socket.settimeout(10)
    with contextlib.closing(wire.socket):
        dump(wire, file, at, flags, server_id)
        while True:
            payload = wire.packet()[1]
            assert payload[:1] != b"\xff", payload
            if payload[:1] == b"\xfe" and len(payload) < 9:
                return count
            count += payload[5] == XID


def status(server):
    """Where the log ends."""
    row = ask(server, "SHOW BINARY LOG STATUS")[0]
    return row["File"], row["Position"]


def insert(server):
    """One commit."""
    ask(server, "INSERT INTO app.t (b) VALUES ('x')")


def pipelined(server):
    """The OK of a commit comes before the events, also to one who asks for them at once."""
    for number in range(60):
        delay = 0 if number < 40 else 20_000
        ask(server, f"SET GLOBAL binlog_group_commit_sync_delay = {delay}")
        wire = Wire(server, 0)
        wire.query("SET @source_binlog_checksum = 'CRC32'")
        statement = b"\x03INSERT INTO app.t (b) VALUES ('p')"
        asked = request("binlog.000001", 4, NON_BLOCK, 9)
        with contextlib.closing(wire.socket):
            wire.socket.sendall(b"".join(struct.pack("<I", len(p)) + p for p in (statement, asked)))
            have, ok = wire.packet()
            assert (have, ok[:1]) == (1, b"\0") and len(ok) < 20, (have, ok)
            have, event = wire.packet()
            assert have == 1 and event[5] == ROTATE, (have, event)
    ask(server, "SET GLOBAL binlog_group_commit_sync_delay = 0")


def without_waiting(server):
    """Who does not wait gets every commit that was told before it asked."""
    for _ in range(40):
        file, at = status(server)
        ask(server, "FLUSH BINARY LOGS")
        insert(server)
        assert commits(server, file, at, NON_BLOCK) == 1
    # Behind the end of a file that is over.
    file, _ = status(server)
    ask(server, "FLUSH BINARY LOGS")
    insert(server)
    time.sleep(0.5)
    size = next(row["File_size"] for row in ask(server, "SHOW BINARY LOGS") if row["Log_name"] == file)
    assert commits(server, file, size, NON_BLOCK) == 1
    # As in MySQL, who is server 0 does not wait, either.
    assert commits(server, file, size, 0, server_id=0) == 1


class Small(Secured):
    """One with TLS that has little room for what it is sent."""

    def __init__(self, server):
        connect = socket.create_connection

        def narrow(address, timeout=None):
            made = socket.socket()
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            made.settimeout(timeout)
            made.connect(address)
            return made

        socket.create_connection = narrow
        try:
            super().__init__(server)
        finally:
            socket.create_connection = connect


def queued(server, port):
    """How many bytes the server's socket to a client holds."""
    told = subprocess.run(["ss", "-tn", "sport", "=", f":{server.port}", "and", "dport", "=", f":{port}"],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    return int(told[1].split()[2])


def full_with_tls(server):
    """Who reads on when the log rests gets what did not fit into its socket before."""
    wire = Small(server)
    file, at = status(server)
    port = wire.socket.getsockname()[1]
    dump(wire, file, at)
    time.sleep(0.5)
    before = queued(server, port)
    for size in [30_000] * 2000:
        ask(server, f"INSERT INTO app.t (b) VALUES (REPEAT('x', {size}))")
        time.sleep(0.01)
        now = queued(server, port)
        if now - before < size and now > 200_000:
            break
        before = now
    else:
        raise AssertionError("its socket was never full")
    time.sleep(0.5)
    wanted, buffer = status(server), bytearray()
    wire.socket.settimeout(15)
    while at < wanted[1]:
        piece = wire.socket.recv(1 << 16)
        assert piece, "the end of the connection"
        buffer += piece
        packets, taken = split(buffer)
        del buffer[:taken]
        for _, payload in packets:
            at = max(at, struct.unpack_from("<I", payload, 14)[0])
    wire.socket.close()


def main():
    """All of it."""
    with Cohort() as server:
        ask(server, "CREATE DATABASE app")
        ask(server, "CREATE TABLE app.t (id INT PRIMARY KEY AUTO_INCREMENT, b MEDIUMBLOB)")
        for check in (pipelined, without_waiting, full_with_tls):
            check(server)
            print(f"dump_edges: {check.__doc__}", flush=True)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
