#!/usr/bin/env python3
"""Who stands at the server's door: wrong passwords wait, and hold neither thread nor place; hosts
that interrupt handshakes are counted; the log says who was not let in, in one line each; init_connect
and the rules for passwords are obeyed; check-security finds what an auditor would.

  .ci/clients/guard.py

Where the Debian unstable root that PEERS_ROOT names (/opt/peers-sid) has MySQL, it has to answer the
same.
"""

import contextlib
import json
import os
import pathlib
import resource
import socket
import struct
import subprocess
import tempfile
import time

import pymysql

from cohort import BINARY, Cohort, free_port
from replicas import PEERS
from sources import MySQL, Source, until

CAPABILITIES = 0x1 | 0x200 | 0x8000 | 0x80000
RIGHT = "Right-horse-7"


def ask(connection, sql):
    """The rows of a statement, or its error."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
            return tuple(cursor.fetchall())
        except pymysql.MySQLError as error:
            return error.args


def told(connection, sql):
    """The only value of a statement."""
    return ask(connection, sql)[0][-1]


def counter(connection, name):
    """A status counter."""
    return int(told(connection, f"SHOW GLOBAL STATUS LIKE '{name}'"))


class Wire:
    """A client that speaks for itself."""

    def __init__(self, port, source="127.0.0.1"):
        self.socket = socket.socket()
        self.socket.settimeout(20)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))

    def receive(self):
        """A packet with its header; nothing once the server has closed."""
        data = b""
        wanted = 4
        while len(data) < wanted:
            try:
                more = self.socket.recv(wanted - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                return data
            data += more
            if len(data) == 4:
                wanted = 4 + int.from_bytes(data[:3], "little")
        return data

    def send(self, number, payload):
        """A packet."""
        self.socket.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)

    def respond(self, user, proof=b"x" * 32):
        """The response to the greeting."""
        self.send(1, struct.pack("<IIB23x", CAPABILITIES, 1 << 24, 45) + user.encode() + b"\0"
                  + bytes([len(proof)]) + proof + b"caching_sha2_password\0")

    def packets(self, user):
        """All that the server says to a wrong proof and then a wrong password; and how long it took."""
        begun = time.monotonic()
        self.receive()
        self.respond(user)
        said = [self.receive()]
        if said[0][4:] == b"\x01\x04":
            self.send(3, b"\x02")
            said.append(self.receive())
            self.send(5, b"y" * 256)
            said.append(self.receive())
        said.append(self.receive())
        self.socket.close()
        return said, time.monotonic() - begun


def login(server, user, password, **options):
    """Logs in; the error, if there is one, and how long it took."""
    begun = time.monotonic()
    try:
        pymysql.connect(host="127.0.0.1", port=server.port, user=user, password=password, **options).close()
        error = None
    except pymysql.MySQLError as refused:
        error = refused.args
    return error, time.monotonic() - begun


def delays(servers):
    """Wrong passwords in a row make the next answers late, by MySQL's rule."""
    results = []
    for server, root in servers:
        ask(root, f"CREATE USER late@localhost IDENTIFIED BY '{RIGHT}'")
        ask(root, f"CREATE USER late@'127.0.0.1' IDENTIFIED BY '{RIGHT}'")
        said = []
        least, most = "connection_control_min_connection_delay", "connection_control_max_connection_delay"
        first = "connection_control_failed_connections_threshold"
        for name, value in ((least, 500), (most, 999), (least, 2000), (most, 1500), (least, 1000), (first, -1),
                            (first, 2)):
            said.append(ask(root, f"SET GLOBAL {name} = {value}"))
        before = counter(root, "Connection_control_delay_generated")
        for user, password in (("late", "wrong"), ("late", "wrong"), ("late", "wrong"), ("nobody", "x"),
                               ("late", "wrong"), ("late", RIGHT), ("late", RIGHT), ("late", "wrong"),
                               ("nobody", "x"), ("nobody", "x")):
            error, took = login(server, user, password)
            # Deadlines are looked at four times a second.
            said.append((error and error[0], int(took + 0.1)))
        said.append(counter(root, "Connection_control_delay_generated") - before)
        tables = ("information_schema.CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS",
                  "performance_schema.connection_control_failed_login_attempts")
        shown = ask(root, f"SELECT * FROM {tables[0]} ORDER BY 1")
        said.append([(who.replace("127.0.0.1", "localhost"), count) for who, count in shown])
        ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 3")
        said.append(ask(root, f"SELECT * FROM {tables[0]}"))
        said.append(counter(root, "Connection_control_delay_generated"))
        results.append(said)
        ask(root, "DROP USER late@localhost, late@'127.0.0.1'")
    assert results[0] == results[-1], results
    assert results[0][7:17] == [(1045, 0), (1045, 0), (1045, 1), (1045, 0), (1045, 2), (None, 3), (None, 0),
                                (1045, 0), (1045, 0), (1045, 1)], results[0]
    print(f"guard: wrong passwords wait, as told by {len(servers)} servers", flush=True)


def same_for_all(server, root):
    """Who guesses does not learn which names there are: the same packets, as late."""
    ask(root, f"CREATE USER known@localhost IDENTIFIED BY '{RIGHT}', remembered@localhost IDENTIFIED BY "
        f"'{RIGHT}'")
    assert login(server, "remembered", RIGHT)[0] is None, "its password is known in full now"
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 1")
    said = {}
    for user in ("known", "remembered", "unknown"):
        for _ in range(3):
            packets, took = Wire(server.port).packets(user)
            packets = [packet[4:].replace(user.encode(), b"...") for packet in packets]
            said.setdefault(user, []).append((packets, int(took + 0.1)))
    assert said["known"] == said["unknown"] == said["remembered"], said
    assert [late for _, late in said["known"]] == [0, 1, 2], said
    # Who goes when it is asked for the password has learnt that its proof was wrong: that counts.
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 2")
    for user in ("remembered", "unknown"):
        for _ in range(2):
            wire = Wire(server.port)
            wire.receive()
            wire.respond(user)
            assert wire.receive()[4:] == b"\x01\x04"
            wire.socket.close()
        table = "performance_schema.connection_control_failed_login_attempts"
        count = f"SELECT FAILED_ATTEMPTS FROM {table} WHERE USERHOST = '''{user}''@''localhost'''"
        until(lambda count=count: ask(root, count) == ((2,),), lambda count=count: ask(root, count))
        # Now the right proof gets its answer as late as a wrong one.
        if user == "remembered":
            error, took = login(server, user, RIGHT)
            assert error is None and 0.9 < took < 5, (error, took)
    ask(root, "DROP USER known@localhost, remembered@localhost")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 3")
    print("guard: known and unknown users are answered the same, and as late", flush=True)


def threads(server):
    """How many threads the server has."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("Threads:")[1].split()[0])


def held_back(server, root, count=2000):
    """Logins that are held back hold no thread and nobody's place."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], count + 500), files[1]))
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 1")
    ask(root, "SET GLOBAL connection_control_min_connection_delay = 600000")
    login(server, "flood", "x")
    before, generated = threads(server), counter(root, "Connection_control_delay_generated")
    assert count > int(told(root, "SELECT @@max_connections"))
    wires = []
    for _ in range(count):
        wire = Wire(server.port)
        wire.receive()
        wire.respond("flood")
        # What it sends beside the point wakes nobody.
        wire.send(3, b"and more")
        wires.append(wire)
        # At most max_connections may be on their way in at once.
        if len(wires) % 50 == 0:
            wanted = generated + len(wires)
            until(lambda wanted=wanted: counter(root, "Connection_control_delay_generated") >= wanted,
                  lambda: counter(root, "Connection_control_delay_generated"))
    for _ in range(500):
        assert told(root, "SELECT 1") == 1
    assert threads(server) <= before + 20, (before, threads(server))
    assert login(server, "root", "")[0] is None, "others come in"
    until(lambda: counter(root, "Threads_connected") == 1, lambda: counter(root, "Threads_connected"))
    running = told(root, "SELECT SUM(ACTIVE_THREADS) FROM information_schema.THREAD_POOL_GROUPS")
    assert int(running) <= 1, running
    for wire in wires[:100]:
        wire.socket.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            raise AssertionError(wire.socket.recv(1))
    for wire in wires:
        wire.socket.close()
    open_files = pathlib.Path(f"/proc/{server.process.pid}/fd")
    until(lambda: len(list(open_files.iterdir())) < count, lambda: len(list(open_files.iterdir())))
    ask(root, "SET GLOBAL connection_control_min_connection_delay = 1000")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 3")
    print(f"guard: {count} answers are held back by {threads(server)} threads", flush=True)


def change_user(server, root):
    """COM_CHANGE_USER is no way around."""
    ask(root, f"CREATE USER changed@localhost IDENTIFIED BY '{RIGHT}'")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 1")
    login(server, "changed", "wrong")
    for user, wanted in (("changed", 1045), ("nobody", 1045)):
        login(server, user, "wrong")
        with contextlib.closing(server.connect()) as connection:
            name = user.encode()
            begun = time.monotonic()
            connection._execute_command(0x11, name + b"\0\0\0\x2d\0caching_sha2_password\0")
            said = []
            try:
                # It asks for the proof, as MySQL does.
                assert connection._read_packet().is_auth_switch_request()
                connection.write_packet(b"z" * 32)
                packet = connection._read_packet()
                if packet.get_all_data() == b"\x01\x04":
                    connection.write_packet(b"\x02")
                    connection._read_packet()
                    connection.write_packet(b"y" * 256)
                connection._read_packet()
            except pymysql.MySQLError as error:
                said = error.args
            took = time.monotonic() - begun
            assert said[0] == wanted and took > 0.9, (user, said, took)
    ask(root, "DROP USER changed@localhost")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 3")
    print("guard: COM_CHANGE_USER waits as well", flush=True)


def hosts(servers):
    """Who interrupts handshakes is counted, and not blocked; nor does MySQL with skip_name_resolve, which does not
    count, either."""
    results = []
    for server, root in servers:
        said = []
        counts = server.name == "cohort"
        for name in ("knocks", "elsewhere"):
            ask(root, f"CREATE USER {name}@'127.0.0.%' IDENTIFIED BY '{RIGHT}'")
        ask(root, "SET GLOBAL max_connect_errors = 3")
        said.append(ask(root, "SELECT @@skip_name_resolve"))
        ask(root, "TRUNCATE TABLE performance_schema.host_cache")
        aborted = counter(root, "Aborted_connects")

        def interrupt(how):
            wire = Wire(server.port, "127.0.0.2")
            first = wire.receive()
            if how == "nonsense":
                wire.send(1, b"abc")
                first = wire.receive()
            elif how == "order":
                wire.send(7, b"abc")
                first = wire.receive()
            elif how == "middle":
                wire.respond("knocks")
                first = wire.receive()
            wire.socket.close()
            return first[4:] if how != "silent" else first[4:5]

        def seen(*expected):
            names = ("SUM_CONNECT_ERRORS, COUNT_HOST_BLOCKED_ERRORS, COUNT_HANDSHAKE_ERRORS, "
                     "COUNT_AUTHENTICATION_ERRORS, COUNT_DEFAULT_DATABASE_ERRORS, COUNT_ACCOUNT_LOCKED_ERRORS, "
                     "FIRST_SEEN <= LAST_SEEN, FIRST_ERROR_SEEN <= LAST_ERROR_SEEN")
            found = ask(root, f"SELECT {names} FROM performance_schema.host_cache WHERE IP = '127.0.0.2'")
            assert found == (((*expected, 1, 1),) if counts else ()), found

        def come(**more):
            error = login(server, "knocks", more.pop("password", RIGHT),
                          **({"bind_address": "127.0.0.2"} | more))[0]
            # All of 127.0.0.0/8 is this machine to Cohort, whose name its accounts may have.
            return error and (error[0], error[1].replace("'localhost'", "'127.0.0.2'"))

        for number, how in enumerate(("silent", "nonsense", "order", "middle", "silent", "silent")):
            said.append(interrupt(how))
            until(lambda: counter(root, "Aborted_connects") - aborted >= number + 1,
                  lambda: (server.name, number, counter(root, "Aborted_connects") - aborted))
        seen(6, 0, 6, 0, 0, 0)
        said.append(come(password="wrong"))
        seen(6, 0, 6, 1, 0, 0)
        said.append(come())
        seen(0, 0, 6, 1, 0, 0)
        said.append(come(database="nonesuch")[0])
        ask(root, "ALTER USER knocks@'127.0.0.%' ACCOUNT LOCK")
        said.append(come()[0])
        ask(root, "ALTER USER knocks@'127.0.0.%' ACCOUNT UNLOCK")
        seen(0, 0, 6, 1, 1, 1)
        with contextlib.closing(pymysql.connect(host="127.0.0.1", port=server.port, user="elsewhere",
                                                password=RIGHT, bind_address="127.0.0.3")) as weak:
            said.append(ask(weak, "TRUNCATE TABLE performance_schema.host_cache")[0])
        ask(root, "SET GLOBAL read_only = ON")
        said.append(ask(root, "TRUNCATE TABLE performance_schema.host_cache"))
        ask(root, "SET GLOBAL read_only = OFF")
        size = "SELECT COUNT(*) FROM performance_schema.host_cache"
        said.append(ask(root, size))
        ask(root, "SET GLOBAL host_cache_size = 2")
        for last in range(4, 9):
            login(server, "elsewhere", RIGHT, bind_address=f"127.0.0.{last}")
        assert ask(root, size) == ((2 if counts else 0,),), ask(root, size)
        if counts:
            # MySQL 9 does not know the statement any more, MariaDB's clients do.
            assert ask(root, "FLUSH HOSTS") == ()
            assert ask(root, size) == ((0,),)
        ask(root, "SET GLOBAL host_cache_size = 0")
        said.append(come())
        said.append(ask(root, size))
        ask(root, "SET GLOBAL host_cache_size = 1553")
        ask(root, "SET GLOBAL max_connect_errors = 100")
        ask(root, "DROP USER knocks@'127.0.0.%', elsewhere@'127.0.0.%'")
        results.append(said)
    for number, (one, other) in enumerate(zip(results[0], results[-1])):
        assert one == other, (number, one, other)
    print("guard: hosts that interrupt handshakes are counted", flush=True)


def counts(servers):
    """Aborted_clients, Aborted_connects and Connection_errors_max_connections."""
    results = []
    for server, root in servers:
        ask(root, f"CREATE USER counted@localhost IDENTIFIED BY '{RIGHT}'")
        ask(root, f"CREATE USER counted@'127.0.0.1' IDENTIFIED BY '{RIGHT}'")
        names = ("Aborted_clients", "Aborted_connects", "Connection_errors_max_connections")
        said = []

        def step(what, work):
            before = [counter(root, name) for name in names]
            work()
            time.sleep(0.4)
            after = [counter(root, name) - old for name, old in zip(names, before)]
            said.append((what, after))

        def connect(**more):
            return pymysql.connect(host="127.0.0.1", port=server.port, user="counted", password=RIGHT, **more)

        def killed():
            connection = connect()
            ask(root, f"KILL {connection.thread_id()}")

        def left():
            connect()._sock.close()

        def timed_out():
            ask(root, "SET GLOBAL wait_timeout = 1")
            connection = connect()
            time.sleep(1.6)
            connection._force_close()
            ask(root, "SET GLOBAL wait_timeout = 28800")

        def full():
            ask(root, "SET GLOBAL max_connections = 1")
            with contextlib.suppress(pymysql.MySQLError):
                connect()
            with contextlib.suppress(pymysql.MySQLError):
                connect()
            ask(root, "SET GLOBAL max_connections = 151")

        step("goes", lambda: connect().close())
        step("leaves", left)
        step("killed", killed)
        step("timeout", timed_out)
        step("wrong", lambda: login(server, "counted", "x"))
        step("database", lambda: login(server, "counted", RIGHT, database="nonesuch"))
        # With one connection MySQL has one more for whoever may repair it.
        if server.name == "cohort":
            ask(root, "SET GLOBAL cohort_admission_timeout = 0")
            before = counter(root, names[2])
            full()
            assert counter(root, names[2]) - before == 2
        results.append(said)
        ask(root, "DROP USER counted@localhost, counted@'127.0.0.1'")
    assert results[0] == results[-1], results
    print("guard: what is aborted is counted", flush=True)


def log(servers, name):
    """Who was not let in stands in the log, in one line, and a flood in few."""
    server, root = servers[0]

    def lines():
        return [line for line in server.log.read_text().splitlines() if name in line]
    ask(root, f"CREATE USER {name}@localhost IDENTIFIED BY '{RIGHT}' ACCOUNT LOCK")
    login(server, name, "wrong")
    assert not lines(), "log_error_verbosity is 2"
    ask(root, "SET GLOBAL log_error_verbosity = 3")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 0")
    login(server, name, "wrong")
    login(server, name, RIGHT)
    forged = f"{name}'@'6.6.6.6'\n2026-01-01T00:00:00.000000Z 0 [System] [MY-010931] [Server] {name} is here"
    wire = Wire(server.port)
    wire.receive()
    wire.respond(forged)
    wire.receive()
    wire.send(3, b"\x02")
    wire.receive()
    wire.send(5, b"y" * 256)
    assert wire.receive()[7:9] != b"", "it gets its answer"
    wire.socket.close()
    said = lines()
    quoted = f"{name}\\'@\\'6.6.6.6\\'\\n2026-01-01T00:00:00.000000Z 0 [System] [MY-010931] [Server] {name} is here"
    wanted = (f"Access denied for user '{name}'@'localhost' (using password: YES): the password is wrong",
              f"Access denied for user '{name}'@'localhost'. Account is locked.",
              f"Access denied for user '{quoted}'@'localhost' (using password: YES): there is no such account")
    assert [line.split(" 0 [Note] [MY-010926] [Server] ", 1)[1] for line in said] == list(wanted), said
    for number in range(300):
        wire = Wire(server.port)
        wire.receive()
        wire.respond(f"{name}{number}", b"")
        wire.receive()
        wire.socket.close()
    written = len(lines())
    assert written <= 110, written
    ask(root, "SET GLOBAL log_error_verbosity = 2")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 3")
    ask(root, f"DROP USER {name}@localhost")
    print(f"guard: the log says who was not let in, a flood in {written} lines", flush=True)


def left_out(server):
    """When a minute is over, the log says how many lines about such clients it does not have."""
    def told():
        return [line for line in server.log.read_text().splitlines() if "were left out" in line]
    until(told, lambda: "nothing was left out")
    assert len(told()) == 1, told()
    assert int(told()[0].split(" [Server] ")[1].split()[0]) >= 200, told()


def first_statements(servers):
    """init_connect runs for those who are no operators, and lets nobody in if it fails."""
    results = []
    for server, root in servers:
        said = []
        ask(root, "CREATE DATABASE begins")
        ask(root, "CREATE TABLE begins.t (a INT PRIMARY KEY)")
        for host in ("localhost", "127.0.0.1"):
            ask(root, f"CREATE USER begin@'{host}' IDENTIFIED BY '{RIGHT}'")
            ask(root, f"GRANT SELECT, INSERT ON begins.* TO begin@'{host}'")

        def begin(*statements, database=None):
            try:
                with contextlib.closing(pymysql.connect(
                        host="127.0.0.1", port=server.port, user="begin", password=RIGHT,
                        database=database, autocommit=None)) as connection:
                    return [ask(connection, sql) for sql in statements]
            except pymysql.MySQLError as error:
                words = str(error.args[1]).split(" ")
                return error.args[0], [word for word in words if not word.isdigit()]

        for statements in ("SET @a = 1; SET @b = 2", "SELECT 1", "SET @a = 1; SELECT 1; SET @b = nonesuch",
                           "DELETE FROM begins.t", "nonsense", "SET autocommit = 0",
                           "INSERT INTO begins.t SELECT COUNT(*) FROM begins.t; SET @a = DATABASE()"):
            said.append(ask(root, f"SET GLOBAL init_connect = '{statements}'"))
            before = counter(root, "Aborted_clients"), counter(root, "Aborted_connects")
            said.append(begin("SELECT @a, @b, @@autocommit", "SHOW WARNINGS"))
            said.append(begin("SELECT @a", database="begins"))
            with contextlib.closing(server.connect()) as operator:
                said.append(ask(operator, "SELECT @a"))
            time.sleep(0.2)
            said.append((counter(root, "Aborted_clients") - before[0],
                         counter(root, "Aborted_connects") - before[1]))
        ask(root, "SET GLOBAL init_connect = 'SET @a = 1'")
        ask(root, "ALTER USER begin@localhost PASSWORD EXPIRE, begin@'127.0.0.1' PASSWORD EXPIRE")
        said.append(begin("SELECT @a"))
        said.append(ask(root, "SET GLOBAL init_connect = DEFAULT"))
        said.append(ask(root, "SHOW GLOBAL VARIABLES LIKE 'init_connect'"))
        ask(root, "DROP USER begin@localhost, begin@'127.0.0.1'")
        ask(root, "DROP DATABASE begins")
        results.append(said)
        assert "init_connect command failed" in pathlib.Path(server.log).read_text(errors="replace")
    for number, (one, other) in enumerate(zip(results[0], results[-1])):
        assert one == other, (number, one, other)
    assert (1184 in [said[0] for said in results[0] if isinstance(said, tuple) and said]), results[0]
    print("guard: init_connect is obeyed", flush=True)


# Statements, after which the answers are compared; both servers have the component before the first.
RULES = """
CREATE USER v IDENTIFIED BY ''
CREATE USER v
CREATE USER v IDENTIFIED BY 'a'
CREATE USER v IDENTIFIED WITH caching_sha2_password
CREATE USER v IDENTIFIED WITH caching_sha2_password BY 'aaaaaaaa'
CREATE USER v IDENTIFIED WITH caching_sha2_password AS '$A$005$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
DROP USER v
CREATE ROLE v
DROP ROLE v
CREATE USER v IDENTIFIED BY 'Abcd1234!'
ALTER USER v IDENTIFIED BY 'x'
ALTER USER v IDENTIFIED BY ''
ALTER USER v ACCOUNT LOCK
SET PASSWORD FOR v = 'x'
SET PASSWORD FOR v = ''
SET PASSWORD FOR v = 'Abcd1234!x'
SELECT VALIDATE_PASSWORD_STRENGTH(NULL), VALIDATE_PASSWORD_STRENGTH(12345678)
SELECT VALIDATE_PASSWORD_STRENGTH('abc'), VALIDATE_PASSWORD_STRENGTH('abcd'), VALIDATE_PASSWORD_STRENGTH('abcd1234')
SELECT VALIDATE_PASSWORD_STRENGTH('Abcd1234!'), VALIDATE_PASSWORD_STRENGTH('Aé1!aaaa'), VALIDATE_PASSWORD_STRENGTH('')
SELECT VALIDATE_PASSWORD_STRENGTH()
SET GLOBAL validate_password.policy = LOW
CREATE USER w IDENTIFIED BY 'aaaaaaaa'
SET GLOBAL validate_password.policy = 2
SELECT @@GLOBAL.validate_password.policy, @@validate_password.length
SET GLOBAL validate_password.policy = 7
SET GLOBAL validate_password.dictionary_file = '/tmp/guard-words'
CREATE USER x IDENTIFIED BY '1!myHORSE'
CREATE USER x IDENTIFIED BY '1!myHOUSE'
SELECT VALIDATE_PASSWORD_STRENGTH('1!myHORSE'), VALIDATE_PASSWORD_STRENGTH('1!myHOUSE')
SET GLOBAL validate_password.dictionary_file = ''
SET GLOBAL validate_password.policy = 'medium'
SET GLOBAL validate_password.length = 2
SHOW VARIABLES LIKE 'validate_password.length'
SET GLOBAL validate_password.number_count = 5
SET GLOBAL validate_password.mixed_case_count = 2
SET GLOBAL validate_password.special_char_count = 3
SHOW GLOBAL VARIABLES LIKE 'validate_password%'
SET GLOBAL validate_password.check_user_name = 2
SET SESSION validate_password.length = 3
SET validate_password.length = 3
SET @@global.validate_password.number_count = 1, @@global.validate_password.special_char_count = 1
SET GLOBAL validate_password.mixed_case_count = DEFAULT
SET PERSIST validate_password.length = 9
SELECT VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME = 'validate_password.length'
RESET PERSIST validate_password.length
SET GLOBAL validate_password.length = 4
SET GLOBAL validate_password.policy = LOW
CREATE USER y IDENTIFIED BY 'root'
CREATE USER y IDENTIFIED BY 'toor'
SET GLOBAL validate_password.check_user_name = OFF
CREATE USER y IDENTIFIED BY 'root'
DROP USER v, w, x, y
SELECT component_urn FROM mysql.component WHERE component_urn LIKE '%validate%'
INSTALL COMPONENT 'component_validate_password'
INSTALL COMPONENT 'file://component_validate_password'
UNINSTALL COMPONENT 'file://component_nonesuch'
"""


def passwords(servers):
    """What passwords must be like."""
    words = pathlib.Path("/tmp/guard-words")
    words.write_text("horse\n")
    component = "'file://component_validate_password'"
    for server, root in servers:
        assert login(server, "root", "")[0] is None or server.name != "cohort"
        assert ask(root, f"INSTALL COMPONENT {component}") == ()
    for sql in RULES.strip().split("\n"):
        said = [ask(root, sql) for _, root in servers]
        assert said[0] == said[-1], (sql, said)
    with contextlib.suppress(FileNotFoundError):
        words.unlink()
    server, root = servers[0]
    for sql in ("SET GLOBAL validate_password.dictionary_file = '/nonesuch'",
                "SET GLOBAL validate_password.changed_characters_percentage = 5"):
        assert ask(root, sql)[0] in (1231, 1235), sql
    ask(root, "SET PERSIST validate_password.policy = STRONG")
    ask(root, f"CREATE USER plain@localhost IDENTIFIED BY '{RIGHT}'")
    with contextlib.closing(pymysql.connect(host="127.0.0.1", port=server.port, user="plain",
                                            password=RIGHT)) as plain:
        for sql in (f"INSTALL COMPONENT {component}", f"UNINSTALL COMPONENT {component}"):
            assert ask(plain, sql)[0] == 1142, sql
    ask(root, "DROP USER plain@localhost")
    server.stop()
    server.start()
    with contextlib.closing(server.connect(autocommit=True)) as again:
        assert told(again, "SELECT @@validate_password.policy") == "STRONG"
        assert ask(again, f"UNINSTALL COMPONENT {component}") == ()
        assert ask(again, "SELECT COUNT(*) FROM mysql.component") == ((0,),)
        assert ask(again, f"UNINSTALL COMPONENT {component}")[0] == 3537
        assert ask(again, "SELECT VALIDATE_PASSWORD_STRENGTH('Abcd1234!')") == ((0,),)
    for _, root in servers[1:]:
        ask(root, f"UNINSTALL COMPONENT {component}")
    print("guard: passwords are as they must be", flush=True)


def made(servers):
    """Passwords that the server makes: they are told, once, and they hold."""
    results = []
    for server, root in servers:
        said = []
        for sql in ("CREATE USER m1@localhost IDENTIFIED BY RANDOM PASSWORD, m2@localhost IDENTIFIED BY 'x', "
                    "m3@localhost IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD",
                    "CREATE USER IF NOT EXISTS m1@localhost IDENTIFIED BY RANDOM PASSWORD",
                    "CREATE USER IF NOT EXISTS m1@localhost IDENTIFIED BY RANDOM PASSWORD, "
                    "m4@localhost IDENTIFIED BY RANDOM PASSWORD",
                    "CREATE USER m1@localhost IDENTIFIED BY RANDOM PASSWORD",
                    "ALTER USER m1@localhost IDENTIFIED BY RANDOM PASSWORD",
                    "SET SESSION generated_random_password_length = 300",
                    "ALTER USER m1@localhost, m2@localhost IDENTIFIED BY RANDOM PASSWORD ACCOUNT UNLOCK",
                    "SET SESSION generated_random_password_length = 4",
                    "SET PASSWORD FOR m1@localhost TO RANDOM",
                    "SET SESSION generated_random_password_length = DEFAULT",
                    "ALTER USER m1@localhost IDENTIFIED WITH nonesuch BY RANDOM PASSWORD",
                    "SET PASSWORD TO RANDOM FOR m1@localhost",
                    "SET PASSWORD FOR m9@localhost TO RANDOM",
                    "ALTER USER m1@localhost IDENTIFIED BY RANDOM",
                    "DROP USER m2@localhost, m3@localhost, m4@localhost"):
            with root.cursor() as cursor:
                try:
                    cursor.execute(sql)
                except pymysql.MySQLError as error:
                    said.append((sql, error.args))
                    continue
                names = [column[0] for column in cursor.description or ()]
                rows = cursor.fetchall()
            said.append((sql, names, [(user, host, len(password), factor)
                                      for user, host, password, factor in rows]))
        row = ask(root, "ALTER USER m1@localhost IDENTIFIED BY RANDOM PASSWORD")[0]
        if server.name == "cohort":
            # One of as many characters as a nonce has bytes.
            assert len(row[2]) == 20 and login(server, "m1", row[2])[0] is None, row
            assert row[2] not in str(ask(root, "SHOW BINLOG EVENTS")), "it is told once"
        ask(root, "DROP USER m1@localhost")
        results.append(said)
    for one, other in zip(results[0], results[-1]):
        assert one == other, (one, other)
    print("guard: passwords that the server makes are told", flush=True)


def security(server):
    """check-security finds what is there, and nothing else."""
    def look(*flags, code=None):
        run = subprocess.run([BINARY, "check-security", "--port", str(server.port), *flags],
                             capture_output=True, text=True, timeout=60)
        assert code is None or run.returncode == code, (run.returncode, run.stdout, run.stderr)
        return run
    assert look("--user", "nonesuch", code=2).stderr
    assert look("--datadir", "/nonesuch", code=2).stderr
    ask_here = contextlib.closing(server.connect(autocommit=True))
    with ask_here as root:
        def found():
            run = look("--json")
            kinds = {(one["finding"], one["subject"]) for one in json.loads(run.stdout)}
            assert run.returncode == (1 if kinds else 0), run
            return kinds
        assert found() == {("no-password", "'root'@'localhost'"),
                           ("passwords-not-checked", "validate_password.policy")}
        ask(root, "INSTALL COMPONENT 'file://component_validate_password'")
        ask(root, f"ALTER USER root@localhost IDENTIFIED BY '{RIGHT}'")
        os.environ["MYSQL_PWD"] = RIGHT
        assert found() == set()
        assert "nothing was found" in look(code=0).stdout
        steps = (
            (f"CREATE USER root@'%' IDENTIFIED BY '{RIGHT}'", "DROP USER root@'%'",
             {"root-from-elsewhere", "tls-not-required"}, "'root'@'%'"),
            (f"CREATE USER ''@localhost IDENTIFIED BY '{RIGHT}'", "DROP USER ''@localhost",
             {"anonymous-account"}, "''@'localhost'"),
            (f"CREATE USER a@'10.%' IDENTIFIED WITH mysql_native_password BY '{RIGHT}' REQUIRE SSL",
             "DROP USER a@'10.%'", {"old-plugin"}, "'a'@'10.%'"),
            ("SET GLOBAL validate_password.policy = LOW", "SET GLOBAL validate_password.policy = MEDIUM",
             {"weak-password-policy"}, "validate_password.policy"),
            ("SET GLOBAL connection_control_failed_connections_threshold = 0",
             "SET GLOBAL connection_control_failed_connections_threshold = 3",
             {"guesses-not-slowed-down"}, "connection_control_failed_connections_threshold"))
        for make, undo, kinds, subject in steps:
            assert ask(root, make) == (), make
            assert found() == {(kind, subject) for kind in kinds}, (make, found())
            assert ask(root, undo) == (), undo
        for sql in (f"CREATE USER strong@'%' IDENTIFIED BY '{RIGHT}' REQUIRE SSL",
                    "GRANT ALL ON *.* TO strong@'%'"):
            assert ask(root, sql) == (), sql
        assert found() == {("powerful-from-anywhere", "'strong'@'%'"), ("client-not-verified", "'strong'@'%'")}
        ask(root, "ALTER USER strong@'%' ACCOUNT LOCK")
        assert ("locked-with-power", "'strong'@'%'") in found()
        ask(root, "DROP USER strong@'%'")
        ask(root, "CREATE ROLE boss")
        ask(root, "GRANT ALL ON *.* TO boss")
        assert found() == set(), found()
        ask(root, "DROP ROLE boss")
        offline = ("--offline", "--datadir", str(server.data))
        look(*offline, code=0)
        (server.data / "server-key.pem").chmod(0o644)
        server.data.chmod(0o755)
        said = look(*offline, code=1).stdout
        for kind in ("key-readable", "directory-open-to-others", "socket-open-to-others"):
            assert kind in said, said
        ask(root, "UNINSTALL COMPONENT 'file://component_validate_password'")
        ask(root, "ALTER USER root@localhost IDENTIFIED BY ''")
        del os.environ["MYSQL_PWD"]
    print("guard: check-security finds what is to be found", flush=True)


def nameless(stack, servers):
    """The servers, and in MySQL's place one with skip_name_resolve."""
    if len(servers) == 1:
        return servers
    room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="guard-")))
    peer = Source(MySQL(room, PEERS), room, free_port(), "--skip-name-resolve")
    stack.callback(peer.end)
    return [servers[0], (peer, stack.enter_context(contextlib.closing(peer.connect(autocommit=True))))]


def main():
    with contextlib.ExitStack() as stack:
        room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="guard-")))
        cohort = stack.enter_context(Cohort("--max-connections", "151"))
        servers = [(cohort, stack.enter_context(contextlib.closing(cohort.connect(autocommit=True))))]
        if (PEERS / "usr/sbin/mysqld").exists():
            peer = Source(MySQL(room, PEERS), room, free_port(), "--log-error-verbosity=3")
            stack.callback(peer.end)
            root = stack.enter_context(contextlib.closing(peer.connect(autocommit=True)))
            for sql in ("INSTALL PLUGIN connection_control SONAME 'connection_control.so'",
                        "INSTALL PLUGIN connection_control_failed_login_attempts SONAME 'connection_control.so'"):
                ask(root, sql)
            servers.append((peer, root))
        log(servers, "written")
        delays(servers)
        same_for_all(*servers[0])
        held_back(*servers[0])
        change_user(*servers[0])
        hosts(nameless(stack, servers))
        counts(servers)
        first_statements(servers)
        made(servers)
        passwords(servers)
        left_out(cohort)
        security(cohort)


if __name__ == "__main__":
    main()
