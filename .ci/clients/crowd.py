#!/usr/bin/env python3
"""Many clients, idle, hasty and hostile, on a server that works all the while.

  1. A storm of logins: so many connections at once, all of which must get in within a bounded time.
  2. Slow-loris clients: some never answer the greeting, some send a byte at a time, some ask for
     much and read nothing. None of them may cost the busy ones anything.
  3. A row lock whose holder has to come back through a queue of very many waiters, with a thread
     for each as far as the machine has them, and with far fewer threads than waiters.

  crowd.py [CONNECTIONS]     default 4000; 16384 for the whole crowd

More than 7,000 connections need more than one process on this side: each has at most 20,000
descriptors, and a loopback address has about 28,000 ports.
"""

import resource
import selectors
import socket
import struct
import sys
import threading
import time

from cohort import Cohort, free_port

CONNECTIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
PROTOCOL_41, SECURE, PLUGIN_AUTH = 0x200, 0x8000, 0x80000


def packet(sequence, payload):
    """A packet's bytes."""
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


RESPONSE = packet(1, struct.pack("<IIB23x", PROTOCOL_41 | SECURE | PLUGIN_AUTH, 1 << 24, 255)
                  + b"root\0\0caching_sha2_password\0")


def query(text):
    """COM_QUERY's bytes."""
    return packet(0, b"\x03" + text.encode())


class Client:
    """A client that never blocks: sends when told, collects whole packets."""

    def __init__(self, port):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", port))
        self.buffer = b""
        self.packets = []

    def fileno(self):
        """For selectors."""
        return self.socket.fileno()

    def read(self):
        """Collects what has arrived; false if the server hung up."""
        try:
            more = self.socket.recv(65536)
        except BlockingIOError:
            return True
        if not more:
            return False
        self.buffer += more
        while len(self.buffer) >= 4:
            length = int.from_bytes(self.buffer[:3], "little")
            if len(self.buffer) < 4 + length:
                break
            self.packets.append(self.buffer[4:4 + length])
            self.buffer = self.buffer[4 + length:]
        return True


def exchange(clients, wanted, seconds, on_packet=None):
    """Reads until every client has so many packets; how long that took."""
    selector, begun = selectors.EpollSelector(), time.monotonic()
    waiting = set()
    for client in clients:
        if len(client.packets) < wanted:
            selector.register(client, selectors.EVENT_READ, client)
            waiting.add(client)
    while waiting:
        assert time.monotonic() - begun < seconds, f"{len(waiting)} still wait"
        for key, _ in selector.select(1):
            client = key.data
            before = len(client.packets)
            assert client.read(), "the server hung up"
            if on_packet and len(client.packets) > before:
                on_packet(client)
            if len(client.packets) >= wanted:
                selector.unregister(client)
                waiting.discard(client)
    return time.monotonic() - begun


def storm(port, count):
    """Logs so many clients in at once."""
    begun = time.monotonic()
    clients = [Client(port) for _ in range(count)]

    def answer(client):
        if len(client.packets) == 1:
            client.socket.send(RESPONSE)

    exchange(clients, 2, 60, answer)
    for client in clients:
        assert client.packets[1][0] == 0, client.packets[1]
        client.packets.clear()
    took = time.monotonic() - begun
    print(f"{count} logins in {took:.1f} s", flush=True)
    return clients


class Busy:
    """Clients that work as fast as they can, in threads; the longest time a statement took."""

    def __init__(self, server, count=4):
        self.server, self.done, self.worst, self.stopped = server, 0, 0.0, False
        self.threads = [threading.Thread(target=self.work) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def work(self):
        """One of them."""
        with self.server.connect(database="test", autocommit=True) as connection:
            cursor = connection.cursor()
            while not self.stopped:
                begun = time.monotonic()
                cursor.execute("SELECT v FROM t WHERE id = %s", (self.done % 100,))
                cursor.fetchall()
                self.worst = max(self.worst, time.monotonic() - begun)
                self.done += 1

    def rate(self, seconds):
        """Statements a second over a while."""
        before = self.done
        time.sleep(seconds)
        return (self.done - before) / seconds

    def stop(self):
        """Ends them."""
        self.stopped = True
        for thread in self.threads:
            thread.join()


def memory(server):
    """The server's resident bytes."""
    with open(f"/proc/{server.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def lorises(server, clients):
    """Hostile clients beside busy ones."""
    busy = Busy(server)
    alone = busy.rate(3)
    with server.connect() as other:
        watch, stuck = other.cursor(), 0
        for client in clients[:100]:
            # A result of 20 megabytes, which nobody reads.
            client.socket.send(
                query("SELECT REPEAT('x', 4000) FROM test.t a, test.t b LIMIT 5000"))
        while stuck < 100:
            time.sleep(0.1)
            watch.execute("SELECT COUNT(*) FROM information_schema.processlist"
                          " WHERE state = 'Sending to client'")
            stuck = watch.fetchall()[0][0]
    silent = [Client(server.port) for _ in range(200)]
    trickling = [Client(server.port) for _ in range(200)]
    for round_ in range(10):
        for client in trickling:
            try:
                client.socket.send(RESPONSE[round_:round_ + 1])
            except BlockingIOError:
                pass
        time.sleep(0.1)
    beside = busy.rate(3)
    newcomer = time.monotonic()
    server.connect().close()
    newcomer = time.monotonic() - newcomer
    busy.stop()
    print(f"busy clients: {alone:.0f}/s alone, {beside:.0f}/s beside slow ones, longest "
          f"{busy.worst * 1000:.0f} ms; a login takes {newcomer * 1000:.0f} ms", flush=True)
    assert beside > alone / 2, "slow clients slow the others down"
    assert newcomer < 1, "slow clients keep others out"
    for client in silent + trickling:
        client.socket.close()


def in_one_go(clients, *statements):
    """Has every client send a statement, and each other one when the one before is answered;
    how long it took until all were obeyed."""
    def send_next(client):
        answered = len(client.packets)
        if answered < len(statements):
            client.socket.send(query(statements[answered]))

    for client in clients:
        if statements[0]:
            client.socket.send(query(statements[0]))
    took = exchange(clients, len(statements), 120, send_next)
    for client in clients:
        assert all(packet[0] == 0 for packet in client.packets), client.packets
        client.packets.clear()
    return took


def stalled_holder(server, admin_port, clients, begin=False):
    """All want one row's lock, in transactions or not; its holder's COMMIT must come through
    their queue."""
    if begin:
        in_one_go(clients, "BEGIN")
    holder = server.connect(database="test", autocommit=True)
    cursor = holder.cursor()
    cursor.execute("BEGIN")
    cursor.execute("UPDATE t SET v = 0 WHERE id = 1")
    cursor.execute("SELECT @@thread_pool_max_threads")
    wanted = min(len(clients), cursor.fetchall()[0][0])
    for client in clients:
        client.socket.send(query("UPDATE test.t SET v = v + 1 WHERE id = 1"))
    until = time.monotonic() + 60
    with server.connect(port=admin_port) as admin:
        watch = admin.cursor()
        while True:
            watch.execute("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")
            waiting = int(watch.fetchall()[0][1])
            if waiting == wanted:
                break
            assert time.monotonic() < until, f"{waiting} of {wanted} wait"
            time.sleep(0.1)
        watch.execute("SELECT COUNT(*) FROM information_schema.processlist"
                      " WHERE state = %s", (f"Waiting for a lock held by {holder.thread_id()}",))
        print(f"{watch.fetchall()[0][0]} of {len(clients)} clients wait for connection {holder.thread_id()}; "
              f"{memory(server) >> 20} MiB resident", flush=True)
    begun = time.monotonic()
    cursor.execute("COMMIT")
    print(f"COMMIT with {len(clients)} waiting: {(time.monotonic() - begun) * 1000:.1f} ms")
    # The first answer is the UPDATE's.
    took = in_one_go(clients, "", "COMMIT") if begin else in_one_go(clients, "")
    cursor.execute("SELECT v FROM t WHERE id = 1")
    assert cursor.fetchall()[0][0] == len(clients), "every update counts once"
    print(f"{len(clients)} updates of one row in {took:.1f} s", flush=True)


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    admin_port = free_port()
    with Cohort("--max-connections", "20000", "--admin-address", "127.0.0.1",
                "--admin-port", str(admin_port)) as server:
        with server.connect(autocommit=True) as connection:
            cursor = connection.cursor()
            cursor.execute("CREATE DATABASE test")
            cursor.execute("CREATE TABLE test.t (id INT PRIMARY KEY, v INT NOT NULL)")
            values = ", ".join(f"({i}, {i})" for i in range(100))
            cursor.execute(f"INSERT INTO test.t VALUES {values}")
            cursor.execute("SET GLOBAL innodb_lock_wait_timeout = 600")
        before = memory(server)
        clients = storm(server.port, CONNECTIONS)
        time.sleep(1)
        each = (memory(server) - before) / len(clients)
        print(f"{each:.0f} bytes for each silent connection", flush=True)
        assert each <= 16 << 10, "a silent connection has 16 KiB at most"
        stalled_holder(server, admin_port, clients)
        with server.connect() as connection:
            connection.cursor().execute("SET GLOBAL thread_pool_max_threads = 500")
        stalled_holder(server, admin_port, clients)
        stalled_holder(server, admin_port, clients, begin=True)
        lorises(server, clients)
        assert server.stop() == 0, "the server ends in good order"


if __name__ == "__main__":
    main()
