#!/usr/bin/env python3
"""LOCK TABLES and its kind: what ends the locks beside UNLOCK TABLES, what those who wait for them
cost, and a backup's steps while others write."""

import threading
import time

import pymysql

from cohort import Cohort

# PyMySQL does not know it.
COM_RESET_CONNECTION = 0x1f
WAITERS = 40


def state_of(watcher, session, wanted):
    """Waits until the process list shows a session in a state that begins so."""
    cursor, until = watcher.cursor(), time.monotonic() + 30
    while time.monotonic() < until:
        cursor.execute("SELECT state FROM performance_schema.processlist WHERE id = %s",
                       (session.thread_id(),))
        row = cursor.fetchone()
        if row is not None and row[0].startswith(wanted):
            return row[0]
        time.sleep(0.01)
    raise AssertionError(f"{session.thread_id()} is not seen {wanted!r}, but {row}")


class Statement(threading.Thread):
    """A statement that may have to wait."""

    def __init__(self, session, sql):
        super().__init__(daemon=True)
        self.session, self.sql, self.error = session, sql, None
        self.start()

    def run(self):
        try:
            self.session.cursor().execute(self.sql)
        except pymysql.MySQLError as error:
            self.error = error.args[0]

    def end(self):
        self.join(30)
        assert not self.is_alive(), f"{self.sql} still waits"
        return self.error


def check_ends(server):
    """Whatever ends a session, or begins it anew, ends its locks."""
    watcher, other = server.connect(autocommit=True), server.connect(autocommit=True)

    def reset(holder):
        holder._execute_command(COM_RESET_CONNECTION, b"")
        holder._read_ok_packet()

    ends = {
        "UNLOCK TABLES": lambda holder: holder.cursor().execute("UNLOCK TABLES"),
        "BEGIN": lambda holder: holder.begin(),
        "the client goes": lambda holder: holder._force_close(),
        "KILL": lambda holder: watcher.cursor().execute(f"KILL {holder.thread_id()}"),
        "COM_RESET_CONNECTION": reset,
    }
    for name, end in ends.items():
        holder = server.connect()
        holder.cursor().execute("LOCK TABLES app.t WRITE, app.t AS x READ")
        waiter = Statement(other, "INSERT INTO app.t VALUES (NULL)")
        state = state_of(watcher, other, "Waiting for table metadata lock")
        assert state.endswith(f"held by {holder.thread_id()}"), state
        end(holder)
        assert waiter.end() is None, name
    for sql in ("FLUSH TABLES WITH READ LOCK", "LOCK INSTANCE FOR BACKUP"):
        holder = server.connect()
        holder.cursor().execute(sql)
        waiter = Statement(other, "CREATE TABLE app.of_later (id INT)")
        state_of(watcher, other, "Waiting for ")
        holder._force_close()
        assert waiter.end() is None, sql
        other.cursor().execute("DROP TABLE app.of_later")


def check_waiters(server):
    """Those who wait leave the slots to others, and can be killed."""
    watcher, holder = server.connect(autocommit=True), server.connect()
    holder.cursor().execute("LOCK TABLES app.t WRITE")
    sessions = [server.connect(autocommit=True) for _ in range(WAITERS)]
    waiters = [Statement(session, "SELECT COUNT(*) FROM app.t") for session in sessions]
    for session in sessions:
        state_of(watcher, session, "Waiting for table metadata lock")
    watcher.cursor().execute("INSERT INTO app.other VALUES (1)")
    watcher.cursor().execute(f"KILL QUERY {sessions[0].thread_id()}")
    assert waiters[0].end() == 1317
    holder.cursor().execute("UNLOCK TABLES")
    assert [waiter.end() for waiter in waiters[1:]] == [None] * (WAITERS - 1)


def check_backup(server):
    """A snapshot and its place in the log, taken under the read lock, go together."""
    done = threading.Event()

    def write():
        session = server.connect(autocommit=True)
        while not done.is_set():
            session.cursor().execute("INSERT INTO app.t VALUES (NULL)")

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    backup, other = server.connect(), server.connect(autocommit=True)
    one, two = backup.cursor(), other.cursor()
    for _ in range(20):
        one.execute("FLUSH TABLES WITH READ LOCK")
        one.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        one.execute("SHOW BINARY LOG STATUS")
        place = one.fetchone()[:2]
        two.execute("SELECT COUNT(*) FROM app.t")
        rows = two.fetchone()
        two.execute("SHOW BINARY LOG STATUS")
        assert two.fetchone()[:2] == place, "nothing is committed meanwhile"
        one.execute("UNLOCK TABLES")
        one.execute("SELECT COUNT(*) FROM app.t")
        assert one.fetchone() == rows, "the snapshot is of that place"
    done.set()
    for writer in writers:
        writer.join()


def main():
    """Runs the checks against one server."""
    with Cohort() as server:
        cursor = server.connect(autocommit=True).cursor()
        cursor.execute("CREATE DATABASE app")
        cursor.execute("CREATE TABLE app.t (id INT PRIMARY KEY AUTO_INCREMENT)")
        cursor.execute("CREATE TABLE app.other (id INT)")
        check_ends(server)
        check_waiters(server)
        check_backup(server)
        assert server.stop() == 0, "the server ends in good order"
    print("table_locks.py: locks of tables end as they should, and waiting for them costs nobody")


if __name__ == "__main__":
    main()
