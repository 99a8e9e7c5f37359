#!/usr/bin/env python3
"""Backups of a server under load, and what is restored of them.

Writers move money between accounts while backups are made, the log is copied every moment, tables
are altered, and the log is rotated and purged. Now and then the writers stand still: then it is
noted what all tables hold, with the last GTID and the time. A restore to that GTID, to before the
next one, and to that time must hold the same. What was killed half-way is no backup; one byte that
is another one is found by verify, and refused by restore. At last the server is killed, and what it
has acknowledged is restored with its own logs.

  backup.py [SECONDS]      how long there is load; 8
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pymysql

from cohort import BINARY, Cohort

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 8
ACCOUNTS, WRITERS, SEED = 40, 4, 1
# Shared machines are not quiet. docs/backup.md has what was measured on one that was.
SLOWEST = 0.4


def run(*arguments, check=True, **options):
    """Runs cohort; its exit code, and what it said."""
    done = subprocess.run([BINARY, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, **options)
    said = done.stdout.decode(errors="replace")
    assert not check or done.returncode == 0, f"{arguments}: {said}"
    return done.returncode, said


class Load:
    """Writers, which can be told to stand still."""

    def __init__(self, server):
        self.server, self.gate, self.stop = server, threading.Lock(), threading.Event()
        self.commits, self.locks = 0, [threading.Lock() for _ in range(WRITERS)]
        self.threads = [threading.Thread(target=self.write, args=(n,)) for n in range(WRITERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def write(self, number):
        chance = random.Random(SEED + number)
        connection = self.server.connect(database="bank")
        while not self.stop.is_set():
            with self.gate:
                pass
            try:
                with self.locks[number], connection.cursor() as cursor:
                    payer, payee = chance.sample(range(ACCOUNTS), 2)
                    amount = chance.randrange(100)
                    cursor.execute("UPDATE account SET balance = balance - %s WHERE id = %s",
                                   (amount, payer))
                    cursor.execute("UPDATE account SET balance = balance + %s WHERE id = %s",
                                   (amount, payee))
                    cursor.execute("INSERT INTO ledger (payer, payee, amount, note) VALUES "
                                   "(%s, %s, %s, %s)", (payer, payee, amount, "x" * 200))
                    connection.commit()
                    self.commits += 1
            except pymysql.err.OperationalError as error:
                if error.args[0] in (1205, 1213):
                    connection.rollback()
                    continue
                return  # The server was killed.

    def still(self):
        """A block in which nobody writes."""
        load = self

        class Still:
            def __enter__(self):
                load.gate.acquire()
                for lock in load.locks:
                    lock.acquire()

            def __exit__(self, *_):
                for lock in load.locks:
                    lock.release()
                load.gate.release()
        return Still()


def contents(connection):
    """All that the databases hold, and how they are defined."""
    held = {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'bank'")
        for (table,) in sorted(cursor.fetchall()):
            cursor.execute(f"SHOW CREATE TABLE bank.`{table}`")
            definition = cursor.fetchone()[1]
            cursor.execute(f"CHECKSUM TABLE bank.`{table}`")
            held[table] = definition, cursor.fetchone()[1]
        cursor.execute("SELECT user, host FROM mysql.user")
        held["accounts"] = sorted(cursor.fetchall())
        cursor.execute("XA RECOVER")
        held["prepared"] = sorted(cursor.fetchall())
    return held


class Note:
    """What there was at a moment at which nobody wrote."""

    def __init__(self, server, load):
        with load.still():
            time.sleep(0.01)
            connection = server.connect()
            self.contents = contents(connection)
            with connection.cursor() as cursor:
                cursor.execute("SELECT @@gtid_executed, NOW(6)")
                gtids, self.time = cursor.fetchone()
            connection.close()
            self.source, last = gtids.rsplit(":", 1)
            self.last = int(last.split("-")[-1])
            time.sleep(0.01)

    def targets(self):
        yield ["--to-gtid", f"{self.source}:{self.last}"]
        yield ["--before-gtid", f"{self.source}:{self.last + 1}"]
        yield ["--to-time", f"{self.time}Z"]


class Restored(Cohort):
    """A server on a data directory that was restored."""

    def __init__(self, *arguments):
        super().__init__()
        run("restore", *arguments, "--datadir", self.data)


ALTERATIONS = [
    "CREATE INDEX of_payer ON ledger (payer, amount)",
    "ALTER TABLE ledger ADD COLUMN kind ENUM('paid', 'owed') NOT NULL DEFAULT 'paid' AFTER id",
    "ALTER TABLE ledger MODIFY amount DECIMAL(12,2), ADD COLUMN twice DECIMAL(13,2) AS (amount * 2)",
    "CREATE TABLE copied AS SELECT * FROM account",
    "ALTER TABLE account ADD UNIQUE KEY (name), ADD COLUMN since DATE DEFAULT '2026-11-26'",
    "RENAME TABLE copied TO kept; TRUNCATE kept",
    # What a statement means depends on its session, its time, and what the table was.
    "SET time_zone = '+05:00', sql_mode = ''; ALTER TABLE ledger ADD COLUMN made TIMESTAMP(6) NOT NULL "
    "DEFAULT CURRENT_TIMESTAMP(6), ADD COLUMN noted TIMESTAMP DEFAULT '2026-11-26 01:00:00'; "
    "ALTER TABLE loose ADD COLUMN day DATE NOT NULL FIRST",
    "SET NAMES latin1; ALTER TABLE account CONVERT TO CHARACTER SET latin1, ADD KEY ((UPPER(name)))",
    "USE mysql; ALTER TABLE bank.ledger DROP PRIMARY KEY, MODIFY id BIGINT, ADD COLUMN row_id BIGINT "
    "AUTO_INCREMENT PRIMARY KEY FIRST",
    "ALTER TABLE loose ADD COLUMN c JSON DEFAULT (JSON_OBJECT('a', 1.50)), ADD CHECK (a < 1000); "
    "ALTER TABLE loose ADD INDEX (a)",
    "SET div_precision_increment = 9, default_week_format = 3, block_encryption_mode = 'aes-256-cbc'; "
    "ALTER TABLE account ADD COLUMN part DECIMAL(30, 15) DEFAULT (balance / 7), ADD COLUMN seen DATE DEFAULT "
    "'2026-01-01', ADD COLUMN week INT DEFAULT (WEEK(seen)), ADD COLUMN secret VARBINARY(99) DEFAULT "
    "(AES_ENCRYPT(name, 'key', '0123456789abcdef')), ADD KEY ((balance / 7))",
]


def prepare(server):
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE bank")
        cursor.execute("CREATE TABLE bank.account (id INT PRIMARY KEY, name VARCHAR(20), "
                       "balance BIGINT NOT NULL)")
        cursor.execute("CREATE TABLE bank.ledger (id BIGINT PRIMARY KEY AUTO_INCREMENT, payer INT, "
                       "payee INT, amount INT, note VARCHAR(300))")
        cursor.execute("CREATE TABLE bank.keyless (a INT, b JSON)")
        rows = ", ".join(f"({n}, 'a{n}', 1000)" for n in range(ACCOUNTS))
        cursor.execute(f"INSERT INTO bank.account VALUES {rows}")
        cursor.execute("CREATE TABLE bank.loose (a INT, b JSON)")
        cursor.execute("INSERT INTO bank.loose VALUES (1, '[]'), (2, NULL), (1, '[]')")
        cursor.execute("CREATE USER clerk@'%' IDENTIFIED BY 'secret'")
        cursor.execute("GRANT ALL ON *.* TO clerk@'%'")
        cursor.execute("CREATE USER guest@'%'")
        cursor.execute("SET PERSIST max_connections = 77")
        rows = ", ".join("(REPEAT('y', 250))" for _ in range(500))
        for _ in range(20):
            cursor.execute(f"INSERT INTO bank.ledger (note) VALUES {rows}")
        connection.commit()
        cursor.execute("XA START 'open'")
        cursor.execute("INSERT INTO bank.keyless VALUES (1, '{}')")
        cursor.execute("XA END 'open'")
        cursor.execute("XA PREPARE 'open'")


def check_restored(note, *arguments):
    with Restored(*arguments) as restored:
        connection = restored.connect()
        found = contents(connection)
        assert found == note.contents, f"{arguments}: {found} for {note.contents}"
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@server_uuid, @@max_connections")
            uuid, connections = cursor.fetchone()
            assert uuid != note.source, "it has a UUID of its own"
            assert connections == 77, "SET PERSIST"
            cursor.execute("SELECT SUM(balance) FROM bank.account")
            assert cursor.fetchone()[0] == ACCOUNTS * 1000
            cursor.execute("INSERT INTO bank.ledger (note) VALUES ('goes on')")
            connection.commit()
        restored.connect(user="clerk", password="secret").close()


def under_load(server, room):
    """Backups, logs and notes while there is load; the notes."""
    logs, notes, rates = room / "logs", [], {}
    with Load(server) as load:
        def rate(name, work):
            before, begun = load.commits, time.monotonic()
            work()
            took = time.monotonic() - begun
            rates[name] = (load.commits - before) / took

        rate("alone", lambda: time.sleep(1.5))
        rate("with backups", lambda: backups(server, room, 1.5))
        notes.append(Note(server, load))
        run("backup", "--port", server.port, room / "whole")
        until = time.monotonic() + SECONDS - 3
        alterations = iter(ALTERATIONS)
        connection = server.connect(database="bank", read_timeout=60)
        while (statement := next(alterations, None)) or time.monotonic() < until:
            with connection.cursor() as cursor:
                for one in (statement or "").split("; "):
                    if one:
                        cursor.execute(one)
                connection.select_db("bank")
                cursor.execute("FLUSH BINARY LOGS")
                run("backup", "--port", server.port, "--logs-only", logs)
                cursor.execute("SHOW BINARY LOGS")
                last = cursor.fetchall()[-1][0]
                cursor.execute(f"PURGE BINARY LOGS TO '{last}'")
            notes.append(Note(server, load))
            killed = subprocess.Popen([BINARY, "backup", "--port", str(server.port), "--logs-only",
                                       str(logs)], stderr=subprocess.DEVNULL)
            time.sleep(random.random() / 20)
            killed.kill()
            killed.wait()
        with open(room / "stream.tar", "wb") as out:
            subprocess.run([BINARY, "backup", "--port", str(server.port), "-"], stdout=out,
                           stderr=subprocess.DEVNULL, check=True, timeout=60)
        run("backup", "--port", server.port, "--logs-only", logs)
    share = rates["with backups"] / rates["alone"]
    print(f"commits/s alone {rates['alone']:.0f}, beside backups {rates['with backups']:.0f}: "
          f"{share:.2f}", flush=True)
    assert share > SLOWEST, "commits were held up"
    return notes


def backups(server, room, seconds):
    """Backups one after another."""
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        run("backup", "--port", server.port, room / f"more{number}")
        number += 1


def check_notes(notes, room):
    """Restores to what was noted; each kind of target at each place in turn."""
    later = notes[1:len(ALTERATIONS) + 1] + notes[-4:]
    for number, note in enumerate(later):
        target = list(note.targets())[number % 3]
        check_restored(note, room / "whole", "--logs", room / "logs", *target)
    print(f"{len(later)} moments restored", flush=True)
    early = ["--to-gtid", f"{notes[0].source}:1"]
    refused(room, "restore an earlier backup", room / "whole", *early)
    late = ["--to-gtid", f"{notes[0].source}:99999999"]
    refused(room, "later logs", room / "whole", "--logs", room / "logs", *late)
    holed = room / "holed"
    shutil.copytree(room / "logs", holed)
    (holed / "backup.json").unlink()
    second = sorted(holed.glob("binlog.*"))[3]
    second.unlink()
    target = next(notes[-1].targets())
    refused(room, second.name, room / "whole", "--logs", holed, *target)


def refused(room, words, *arguments):
    data = room / "refused"
    code, said = run("restore", *arguments, "--datadir", data, check=False)
    assert code == 1 and words in said, f"{arguments}: {said}"
    assert not data.exists() or not list(data.iterdir()), "nothing is left"


def check_damage(room, chance):
    """No byte of a backup is another one without being found."""
    sound = room / "small"
    stream = room / "stream.tar"
    run("verify", sound)
    run("verify", stream)
    for name in [path.name for path in sorted(sound.iterdir())] + [None] * 6:
        for _ in range(5):
            if name is None:
                hurt = room / "hurt.tar"
                content = bytearray(stream.read_bytes())
                path = hurt
            else:
                hurt = room / "hurt"
                shutil.rmtree(hurt, ignore_errors=True)
                shutil.copytree(sound, hurt)
                path = hurt / name
                content = bytearray(path.read_bytes())
            place = chance.randrange(len(content))
            content[place] ^= 1 << chance.randrange(8)
            path.write_bytes(content)
            code, said = run("verify", hurt, check=False)
            assert code == 1, f"bit of byte {place} of {path.name}: {said}"
            refused(room, "", hurt)
        if name is not None:
            path.write_bytes(content[:-1])
            assert run("verify", hurt, check=False)[0] == 1, f"{name} is shorter"
            path.unlink()
            assert run("verify", hurt, check=False)[0] == 1, f"{name} is missing"
    cut = room / "cut.tar"
    content = stream.read_bytes()
    for _ in range(5):
        cut.write_bytes(content[:chance.randrange(len(content))])
        assert run("verify", cut, check=False)[0] == 1
        refused(room, "", cut)
    print("damage is found", flush=True)


def check_growing(server, room):
    """The log is added to a backup itself, which is then restored without another directory."""
    grown = room / "grown"
    shutil.copytree(room / "small", grown)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO bank.keyless VALUES (7, '[7]')")
        connection.commit()
        cursor.execute("FLUSH BINARY LOGS")
        run("backup", "--port", server.port, "--logs-only", grown)
        cursor.execute("INSERT INTO bank.keyless VALUES (8, '[8]')")
        connection.commit()
        run("backup", "--port", server.port, "--logs-only", grown)
        cursor.execute("CHECKSUM TABLE bank.keyless")
        wanted = cursor.fetchone()
        cursor.execute("SELECT @@server_uuid, @@gtid_executed")
        own = cursor.fetchone()
    run("verify", grown)
    for keeping in ([], ["--keep-server-uuid"]):
        with Restored(grown, *keeping) as restored, restored.connect() as connection:
            with connection.cursor() as cursor:
                cursor.execute("CHECKSUM TABLE bank.keyless")
                assert cursor.fetchone() == wanted
                cursor.execute("SELECT @@server_uuid, @@gtid_executed")
                assert (cursor.fetchone() == own) == bool(keeping)


def check_kills(server, room):
    """A backup that was killed is none, whoever was killed."""
    for victim in ("client", "client", "server"):
        half = room / "half"
        shutil.rmtree(half, ignore_errors=True)
        backup = subprocess.Popen([BINARY, "backup", "--port", str(server.port), str(half)],
                                  stderr=subprocess.DEVNULL)
        while backup.poll() is None and not list(half.glob("b*")):
            pass
        if victim == "client":
            backup.kill()
        else:
            server.stop(signal.SIGKILL)
        if backup.wait() == 0:
            continue  # It was quicker.
        assert run("verify", half, check=False)[0] == 1
        refused(room, "", half)
    print("what was killed is no backup", flush=True)


def check_ways(server, room):
    """By the socket, with TLS and with a password; and KILL ends one that nobody takes."""
    environment = os.environ | {"MYSQL_PWD": "secret"}
    clerk = ["--user", "clerk", "--port", server.port, "--ssl-mode", "VERIFY_CA", "--ssl-ca",
             server.data / "ca.pem"]
    run("backup", *clerk, room / "by-tls", env=environment)
    run("verify", room / "by-tls")
    run("backup", "--socket", server.data / "mysql.sock", room / "by-socket")
    run("verify", room / "by-socket")
    code, said = run("backup", *clerk[:4], "--password", "wrong", room / "none", check=False)
    assert code == 1 and "1045" in said, said
    stalled = subprocess.Popen([BINARY, "backup", "--port", str(server.port), "-"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with server.connect() as connection, connection.cursor() as cursor:
        until, found = time.monotonic() + 10, ()
        while not found and time.monotonic() < until:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE command = 'Backup'")
            found = cursor.fetchall()
        assert found, "it is in the process list"
        cursor.execute(f"KILL {found[0][0]}")
        until = time.monotonic() + 10
        while found and time.monotonic() < until:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE command = 'Backup'")
            found = cursor.fetchall()
        assert not found, "KILL ends it"
        cursor.execute("CREATE TABLE bank.again (a INT)")  # Definitions change again.
    said = stalled.communicate()[1].decode()
    assert stalled.returncode == 1 and "of no use" in said, said


def check_privilege(server, room):
    code, said = run("backup", "--port", server.port, "--user", "guest", room / "guest",
                     check=False)
    assert code == 1 and "BACKUP_ADMIN" in said, said
    code, said = run("backup", "--port", server.port, room / "whole", check=False)
    assert code == 1 and "not empty" in said, said


def check_dead_server(server, room, ledger):
    """The server is killed: its own logs lead to all that it has acknowledged."""
    with Restored(room / "small", "--logs", server.data) as restored:
        with restored.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM bank.ledger")
            found = cursor.fetchone()[0]
    assert found >= ledger, f"{found} rows, {ledger} were acknowledged"
    print("a dead server's logs are restored", flush=True)


def main():
    chance = random.Random(SEED)
    with Cohort("--cohort-delta-size", "2M") as server:
        room = pathlib.Path(server.directory)
        prepare(server)
        notes = under_load(server, room)
        check_privilege(server, room)
        check_ways(server, room)
        run("backup", "--port", server.port, room / "small")
        manifest = json.loads((room / "small" / "backup.json").read_text())["backup"]
        assert manifest["server_uuid"] == notes[0].source
        check_damage(room, chance)
        check_growing(server, room)
        with Load(server) as load:
            time.sleep(0.5)
            before = load.commits
            check_kills(server, room)
        server.stop(signal.SIGKILL)
        ledger = manifest_rows(room, before)
        check_dead_server(server, room, ledger)
        check_notes(notes, room)
    print("backups are sound", flush=True)


def manifest_rows(room, more):
    """Rows that the ledger must have: those of the small backup and those committed since."""
    with Restored(room / "small") as restored:
        with restored.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM bank.ledger")
            return cursor.fetchone()[0] + more


if __name__ == "__main__":
    main()
