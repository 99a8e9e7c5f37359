#!/usr/bin/env python3
"""Semi-synchronous replication with MySQL 9.7's own plugins, in both directions, and between two
Cohorts: what a client was told is committed is on the replica, too, whatever is killed. If nobody
answers, commits go on after the timeout, until the replica is back.

  .ci/clients/semi_sync.py [ROUNDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

import pymysql

from cohort import TARGET, Cohort, free_port, seed_of
from replicas import PEERS
from sources import MySQL, Source, ask, follow, until

CLIENTS = 8
PLUGINS = (f"--plugin-dir={PEERS}/usr/lib/mysql/plugin",)


class Acknowledged:
    """Clients that insert, and what they were told."""

    def __init__(self, source, first):
        self.source, self.next, self.over = source, first, False
        self.lock, self.told, self.failures = threading.Lock(), set(), []
        self.threads = [threading.Thread(target=self.client) for _ in range(CLIENTS)]
        self.threads.append(threading.Thread(target=self.hides))
        for thread in self.threads:
            thread.start()

    def client(self):
        """Inserts until it is over, or the server is gone."""
        def insert(cursor):
            with self.lock:
                self.next += 1
                number = self.next
            cursor.execute("INSERT INTO t VALUES (%s)", (number,))
            with self.lock:
                self.told.add(number)
        self.repeat(insert)

    def hides(self):
        """Commits what no replica is shown, so that it is the last of the log now and then."""
        def insert(cursor):
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute("INSERT INTO hidden VALUES (1)")
            time.sleep(0.005)
        self.repeat(insert)

    def repeat(self, what):
        """Does something until it is over, or the server is gone."""
        try:
            with contextlib.closing(self.source.connect(database="app", autocommit=True)) as connection:
                cursor = connection.cursor()
                while not self.over:
                    what(cursor)
        except (pymysql.OperationalError, pymysql.InterfaceError, OSError):
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.failures.append(error)

    def end(self):
        """Waits for the clients; what they were told."""
        self.over = True
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures
        return self.told


def counter(server, name):
    """A status value."""
    return ask(server, f"SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{name}'")[0]["Value"]


def numbers(server):
    """What is in the table."""
    return {row["id"] for row in ask(server, "SELECT id FROM app.t")}


def semi_sync(source, replica, user):
    """Has one follow the other, so that it answers."""
    ask(replica, "SET GLOBAL rpl_semi_sync_replica_enabled = ON")
    follow(replica, source.port, *user, "SOURCE_AUTO_POSITION=1")
    ask(source, "SET GLOBAL rpl_semi_sync_source_timeout = 60000")
    ask(source, "SET GLOBAL rpl_semi_sync_source_enabled = ON")
    attached(source, replica)


def attached(source, replica):
    """Waits until the replica answers."""
    until(lambda: counter(source, "source_clients") == "1" and
          counter(source, "source_status") == "ON" and counter(replica, "replica_status") == "ON",
          lambda: (ask(source, "SHOW GLOBAL STATUS LIKE 'Rpl_semi%'"),
                   ask(replica, "SHOW REPLICA STATUS")))


def prepare(source):
    """The tables."""
    ask(source, "CREATE DATABASE app")
    ask(source, "CREATE TABLE app.t (id INT PRIMARY KEY)")
    with contextlib.closing(source.connect(autocommit=True)) as connection:
        cursor = connection.cursor()
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute("CREATE TABLE app.hidden (id INT)")


def rounds(name, source, replica, kill, count, rng):
    """Kills under load; what was told must be on the replica."""
    seen, first = set(), 0
    for _ in range(count):
        load = Acknowledged(source, first)
        time.sleep(rng.uniform(0.3, 1.2))
        again = kill(rng)
        seen |= load.end()
        first = load.next
        # Nothing comes from the source any more that it had not sent before.
        until(lambda: not seen - numbers(replica), lambda: (
            name, "not on the replica", sorted(seen - numbers(replica))[:5], len(seen),
            ask(replica, "SHOW REPLICA STATUS")))
        again()
        attached(source, replica)
    assert counter(source, "source_no_tx") == "0" and counter(source, "source_no_times") == "0"
    print(f"semi_sync: {name}: {len(seen)} inserts that were told are on the replica, "
          f"after {count} kills", flush=True)


def check_timeout(name, source, replica, first):
    """Without a replica a commit waits, and then no more."""
    ask(replica, "STOP REPLICA")
    ask(source, "SET GLOBAL rpl_semi_sync_source_timeout = 1000")
    begun = time.monotonic()
    ask(source, f"INSERT INTO app.t VALUES ({first + 1})")
    waited = time.monotonic() - begun
    # Not before its time: that is no question of speed.
    assert waited >= 0.9, (name, waited)
    assert counter(source, "source_status") == "OFF" and counter(source, "source_no_times") == "1"
    ask(source, f"INSERT INTO app.t VALUES ({first + 2})")
    assert counter(source, "source_no_tx") == "2", name
    ask(replica, "START REPLICA")
    ask(source, "SET GLOBAL rpl_semi_sync_source_timeout = 60000")
    # The next commit finds it there.
    until(lambda: counter(source, "source_clients") == "1", lambda: name)
    ask(source, f"INSERT INTO app.t VALUES ({first + 3})")
    attached(source, replica)
    until(lambda: numbers(source) == numbers(replica), lambda: name)
    print(f"semi_sync: {name}: goes on after the timeout, and waits again", flush=True)


def check_circle():
    """Two servers that follow each other, and both write: none waits for the other's answer in vain."""
    with Cohort("--server-id", "35") as one, Cohort("--server-id", "36") as other:
        for server in (one, other):
            ask(server, "SET GLOBAL rpl_semi_sync_replica_enabled = ON")
        follow(other, one.port, "SOURCE_USER='root'", "SOURCE_AUTO_POSITION=1")
        prepare(one)
        until(lambda: ask(other, "SHOW TABLES IN app") if ask(other, "SHOW DATABASES LIKE 'app'") else 0,
              lambda: ask(other, "SHOW REPLICA STATUS"))
        with contextlib.closing(other.connect(autocommit=True)) as connection:
            cursor = connection.cursor()
            cursor.execute("SET sql_log_bin = 0")
            cursor.execute("CREATE TABLE app.hidden (id INT)")
        follow(one, other.port, "SOURCE_USER='root'", "SOURCE_AUTO_POSITION=1")
        for server in (one, other):
            ask(server, "SET GLOBAL rpl_semi_sync_source_timeout = 60000")
            ask(server, "SET GLOBAL rpl_semi_sync_source_enabled = ON")
        attached(one, other)
        attached(other, one)
        loads = [Acknowledged(one, 0), Acknowledged(other, 10**6)]
        time.sleep(2)
        told = loads[0].end() | loads[1].end()
        until(lambda: numbers(one) == numbers(other) == told,
              lambda: (len(numbers(one)), len(numbers(other)), len(told)))
        for server in (one, other):
            assert counter(server, "source_no_times") == "0", "somebody waited in vain"
        print(f"semi_sync: a circle: {len(told)} inserts of both are on both", flush=True)


def killer(server):
    """Kills a Cohort and starts it again later."""
    def kill(_):
        server.stop(signal.SIGKILL)
        return server.start
    return kill


def replica_killer(server):
    """Kills a replica while commits wait for it: they wait until it is back."""
    def kill(rng):
        server.stop(signal.SIGKILL)
        time.sleep(rng.uniform(0, 0.5))
        server.start()
        return lambda: None
    return kill


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    seed = seed_of(2)
    print(f"semi_sync: seed {seed}", flush=True)
    rng, room = random.Random(seed), TARGET / "mysqltest"
    root = ("SOURCE_USER='root'",)
    with Cohort("--server-id", "31") as source, Cohort("--server-id", "32") as replica:
        for server in (source, replica):
            ask(server, "SET PERSIST rpl_semi_sync_replica_enabled = ON")
            ask(server, "SET PERSIST rpl_semi_sync_source_enabled = ON")
            ask(server, "SET PERSIST rpl_semi_sync_source_timeout = 60000")
        ask(replica, "SET PERSIST rpl_semi_sync_source_enabled = OFF")
        semi_sync(source, replica, root)
        prepare(source)
        rounds("Cohort to Cohort, source killed", source, replica, killer(source), count, rng)
    with Cohort("--server-id", "33") as source, Cohort("--server-id", "34") as replica:
        ask(replica, "SET PERSIST rpl_semi_sync_replica_enabled = ON")
        semi_sync(source, replica, root)
        prepare(source)
        rounds("Cohort to Cohort, replica killed", source, replica, replica_killer(replica), count,
               rng)
        check_timeout("Cohort to Cohort", source, replica, 10**6)
        # A server that ends does not wait for anybody.
        ask(replica, "STOP REPLICA")
        load = Acknowledged(source, 2 * 10**6)
        time.sleep(0.3)
        begun = time.monotonic()
        assert source.stop() == 0
        assert time.monotonic() - begun < 30, "it waited for a replica"
        load.end()
    check_circle()
    if not (PEERS / "usr/sbin/mysqld").exists():
        print("semi_sync: without MySQL, which is not there", flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="semi-sync-") as directory:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        flags = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog", *PLUGINS)
        peer = Source(MySQL(room, PEERS), directory, free_port(), "--server-id=35", *flags)
        try:
            for side in ("source", "replica"):
                ask(peer, f"INSTALL PLUGIN rpl_semi_sync_{side} SONAME 'semisync_{side}.so'")
            with Cohort("--server-id", "36") as source:
                semi_sync(source, peer, (*root, "SOURCE_COMPRESSION_ALGORITHMS='zlib'"))
                prepare(source)
                ask(source, "SET PERSIST rpl_semi_sync_source_enabled = ON")
                ask(source, "SET PERSIST rpl_semi_sync_source_timeout = 60000")
                rounds("Cohort to MySQL, source killed", source, peer, killer(source), count, rng)
                check_timeout("Cohort to MySQL", source, peer, 10**6)
                ask(peer, "STOP REPLICA")
                ask(peer, "RESET REPLICA ALL")
                ask(peer, "DROP DATABASE app")
                ask(peer, "RESET BINARY LOGS AND GTIDS")
            with Cohort("--server-id", "37") as replica:
                ask(peer, "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'secret'")
                ask(peer, "GRANT ALL ON *.* TO repl@'127.0.0.1'")
                ask(peer, "RESET BINARY LOGS AND GTIDS")
                ask(replica, "SET PERSIST rpl_semi_sync_replica_enabled = ON")
                semi_sync(peer, replica, ("SOURCE_USER='repl'", "SOURCE_PASSWORD='secret'",
                                          "SOURCE_SSL=1"))
                prepare(peer)
                rounds("MySQL to Cohort, replica killed", peer, replica, replica_killer(replica),
                       count, rng)
                check_timeout("MySQL to Cohort", peer, replica, 10**6)
        finally:
            peer.end()


if __name__ == "__main__":
    main()
