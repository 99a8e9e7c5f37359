#!/usr/bin/env python3
"""What keeps one client from harming the others: limits and timeouts, each met on purpose.

  1. max_user_connections (1203), max_connections (1040 after a wait, or in when one leaves).
  2. wait_timeout (4031), net_read_timeout for a packet that never ends, and
     idle_transaction_timeout, whose end frees the row that others wait for.
  3. thread_pool_max_transactions_limit: the transaction beyond it waits, and goes on.
  4. The administrators' port: gets in when all connections are taken, and is answered while more
     long statements run than may.
  5. The limit of open files: clients beyond it are refused (1040), and what the server needs for
     itself is left, for a new log file and for temporary ones.
"""

import contextlib
import socket
import struct
import threading
import time

import pymysql
from cohort import Cohort, free_port

CONNECTIONS = 24


@contextlib.contextmanager
def refused(code):
    """The block must fail with this error."""
    try:
        yield
    except pymysql.MySQLError as error:
        assert error.args[0] == code, error
        return
    raise AssertionError(f"error {code} was expected")


def ask(connection, statement, *arguments):
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall()


class Task(threading.Thread):
    """Something done beside; `result` or `error` once it ends."""

    def __init__(self, work, *arguments):
        super().__init__(daemon=True)
        self.work, self.arguments = work, arguments
        self.result = self.error = None
        self.start()

    def run(self):
        try:
            self.result = self.work(*self.arguments)
        except pymysql.MySQLError as error:
            self.error = error

    def end(self):
        """Waits for it; returns its result."""
        self.join(30)
        assert not self.is_alive(), "it never ended"
        if self.error is not None:
            raise self.error
        return self.result


def too_many_connections(server, root):
    """max_user_connections, and the waiting room before max_connections."""
    ask(root, "CREATE USER few@localhost")
    ask(root, "SET GLOBAL max_user_connections = 2")
    few = dict(host="127.0.0.1", port=server.port, user="few")
    held = [pymysql.connect(**few) for _ in range(2)]
    with refused(1203):
        pymysql.connect(**few)
    ask(root, "SET GLOBAL max_user_connections = 0")
    for connection in held:
        connection.close()
    # A closed connection is gone a moment later.
    until = time.monotonic() + 10
    while ask(root, "SELECT COUNT(*) FROM information_schema.processlist") != ((1,),):
        assert time.monotonic() < until, "connections that were closed stay"
    held = [server.connect() for _ in range(CONNECTIONS - 1)]
    ask(root, "SET GLOBAL cohort_admission_timeout = 100")
    with refused(1040):
        server.connect()
    ask(root, "SET GLOBAL cohort_admission_timeout = 60000")
    newcomer = Task(server.connect)
    time.sleep(0.3)
    assert newcomer.is_alive(), "it did not wait"
    held.pop().close()
    held.append(newcomer.end())
    return held


def administrators_get_in(server, admin_port, held):
    """The administrators' port, with all connections taken and all slots busy."""
    admin = pymysql.connect(host="127.0.0.1", port=admin_port, user="root")
    assert ask(admin, "SELECT 1") == ((1,),)
    size = int(ask(admin, "SELECT @@thread_pool_size")[0][0])
    busy = held[:size * 2]
    assert len(busy) == size * 2, "fewer connections than it takes"
    numbers = "SELECT COUNT(*) FROM sbtest a, sbtest b, sbtest c WHERE a.id + b.id + c.id = -1"
    tasks = [Task(ask, connection, numbers) for connection in busy]
    until = time.monotonic() + 20
    while ask(admin, "SELECT COUNT(*) FROM information_schema.processlist "
                     "WHERE command = 'Query' AND info LIKE 'SELECT COUNT(*) FROM sbtest%%'"
              ) != ((len(busy),),):
        assert time.monotonic() < until, "the long statements do not show"
    again = pymysql.connect(host="127.0.0.1", port=admin_port, user="root")
    for (number,) in ask(again, "SELECT id FROM information_schema.processlist "
                                "WHERE info LIKE 'SELECT COUNT(*) FROM sbtest%%'"):
        if number != again.thread_id():
            ask(again, f"KILL QUERY {number}")
    for task in tasks:
        with refused(1317):
            task.end()
    again.close()
    return admin


def until_end(connection):
    """What the server sends until it ends the connection."""
    connection._sock.settimeout(30)
    return b"".join(iter(lambda: connection._sock.recv(4096), b""))


def silent_clients_are_sent_away(server, root):
    """wait_timeout, and net_read_timeout for half a packet."""
    silent = server.connect()
    ask(silent, "SET SESSION wait_timeout = 1")
    half = server.connect()
    ask(half, "SET SESSION net_read_timeout = 1")
    half._sock.sendall(struct.pack("<I", 20)[:3] + b"\0\x03SELECT")
    assert until_end(half) == b"", "half a packet is answered"
    # PyMySQL looks for the last word only after its next command, and then calls it a lost
    # connection.
    (code,) = struct.unpack_from("<H", until_end(silent), 5)
    assert code == 4031, code
    assert ask(root, "SELECT 1") == ((1,),)


def idle_transactions_end(server, root):
    """idle_transaction_timeout frees what the sleeper holds."""
    sleeper = server.connect(autocommit=False, database="test")
    ask(sleeper, "SET SESSION idle_transaction_timeout = 1")
    ask(sleeper, "UPDATE sbtest SET v = 100 WHERE id = 1")
    ask(root, "UPDATE sbtest SET v = v + 1 WHERE id = 1")
    assert ask(root, "SELECT v FROM sbtest WHERE id = 1") == ((2,),), "the sleeper's change stays"
    # Outside of a transaction the same client may be silent.
    calm = server.connect(database="test")
    ask(calm, "SET SESSION idle_transaction_timeout = 1")
    time.sleep(2)
    assert ask(calm, "SELECT 1") == ((1,),)


def transactions_are_bounded(server, root):
    """thread_pool_max_transactions_limit."""
    ask(root, "SET GLOBAL thread_pool_max_transactions_limit = 2")
    open_ones = [server.connect(database="test") for _ in range(3)]
    for number, connection in enumerate(open_ones[:2]):
        ask(connection, "BEGIN")
        ask(connection, f"UPDATE sbtest SET v = 0 WHERE id = {number + 2}")

    def third():
        ask(open_ones[2], "BEGIN")
        return ask(open_ones[2], "UPDATE sbtest SET v = 0 WHERE id = 9")

    task = Task(third)
    time.sleep(0.3)
    assert task.is_alive(), "a transaction beyond the limit began"
    ask(open_ones[0], "COMMIT")
    task.end()
    for connection in open_ones:
        ask(connection, "COMMIT")
    ask(root, "SET GLOBAL thread_pool_max_transactions_limit = 0")


def waits_are_limited(server, root):
    """max_execution_time limits the wait for a row's lock, too: 3024, and the transaction goes on."""
    holder, waiter = (server.connect(autocommit=False, database="test") for _ in range(2))
    ask(holder, "UPDATE sbtest SET v = 100 WHERE id = 5")
    ask(waiter, "UPDATE sbtest SET v = 7 WHERE id = 6")
    ask(waiter, "SET SESSION max_execution_time = 300")
    for locks in ("FOR UPDATE", "FOR SHARE"):
        with refused(3024):
            ask(waiter, f"SELECT * FROM sbtest WHERE id = 5 {locks}")
    with refused(3024):
        ask(waiter, "EXPLAIN ANALYZE SELECT * FROM sbtest WHERE id = 5 FOR UPDATE")
    # Else it is the limit of the lock.
    ask(waiter, "SET SESSION max_execution_time = 0, innodb_lock_wait_timeout = 1")
    with refused(1205):
        ask(waiter, "SELECT * FROM sbtest WHERE id = 5 FOR UPDATE")
    waiter.commit()
    holder.rollback()
    assert ask(root, "SELECT v FROM sbtest WHERE id IN (5, 6) ORDER BY id") == ((1,), (7,))
    ask(root, "UPDATE sbtest SET v = 1 WHERE id = 6")
    for connection in (holder, waiter):
        connection.close()


def files_are_left():
    """More clients than the process may have files."""
    with Cohort("--max-connections", "500", files=80) as server:
        held = [server.connect(autocommit=True)]
        ask(held[0], "SET GLOBAL cohort_admission_timeout = 100")
        with refused(1040):
            while len(held) < 80:
                held.append(server.connect())
        assert len(held) >= 30, len(held)
        ask(held[0], "FLUSH BINARY LOGS")
        ask(held[0], "SET SESSION sort_buffer_size = 500000, tmp_table_size = 500000")
        ask(held[0], "SET SESSION cte_max_recursion_depth = 100000")
        groups = ask(held[0], "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                              "WHERE i < 20000) SELECT i, COUNT(*) FROM n GROUP BY i")
        assert len(groups) == 20000, len(groups)


def main():
    """All of it, on one server, and one more."""
    admin_port = free_port()
    flags = ("--max-connections", str(CONNECTIONS), "--thread-pool-size", "4",
             "--admin-address", "127.0.0.1", "--admin-port", str(admin_port))
    with Cohort(*flags) as server:
        root = server.connect(autocommit=True)
        ask(root, "CREATE DATABASE test")
        ask(root, "USE test")
        ask(root, "CREATE TABLE sbtest (id INT PRIMARY KEY, v INT NOT NULL)")
        ask(root, "INSERT INTO sbtest WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                  "SELECT i + 1 FROM n WHERE i < 900) SELECT i, 1 FROM n")
        silent_clients_are_sent_away(server, root)
        idle_transactions_end(server, root)
        transactions_are_bounded(server, root)
        waits_are_limited(server, root)
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", admin_port), 1).close()
        held = too_many_connections(server, root)
        for connection in held:
            connection.select_db("test")
        administrators_get_in(server, admin_port, held)
    files_are_left()
    print("limits and timeouts: as they should be")


if __name__ == "__main__":
    main()
