#!/usr/bin/env python3
"""What lies between a client's packets and the socket: compression, and the PROXY protocol.

  1. mysql, mariadb and mysqlbinlog with each algorithm, with TLS and without, over TCP and the Unix
     socket: long results, long values, long statements, kills, commits.
  2. Which compression is agreed on, and what is refused.
  3. Prepared statements and commits by a client of our own, whose packets are cut anyhow.
  4. Malformed packets and bombs: the connection ends, and the server is as well as before.
  5. PROXY headers, from who may send them and from others.
"""

import hashlib
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import zlib

import pymysql

from cohort import Cohort

PEERS = pathlib.Path(os.environ.get("PEERS_ROOT", "/opt/peers-sid"))
COMPRESS, SSL, ZSTD = 1 << 5, 1 << 11, 1 << 26
# LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS,
# MULTI_RESULTS, PLUGIN_AUTH, PLUGIN_AUTH_LENENC_CLIENT_DATA, DEPRECATE_EOF
CAPABILITIES = 1 | 4 | 0x200 | 0x2000 | 0x8000 | 1 << 16 | 1 << 17 | 1 << 19 | 1 << 21 | 1 << 24
QUIT, QUERY, PREPARE, EXECUTE, PING = 1, 3, 0x16, 0x17, 0x0E
STATUS = "SHOW STATUS LIKE 'Compression%'"


def ask(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def length(number):
    return struct.pack("<I", number)[:3]


class Wire:
    """A client whose packets are made by hand; `algorithm` is what it asks for."""

    def __init__(self, server, algorithm=COMPRESS, level=None, before=b"", user="root"):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 20)
        self.socket.sendall(before)
        self.compressed, self.inside, self.number = False, b"", 0
        greeting = self.packet()[1]
        end = greeting.index(b"\0", 1) + 1 + 4 + 8 + 1
        low, = struct.unpack_from("<H", greeting, end)
        high, = struct.unpack_from("<H", greeting, end + 5)
        self.offered = low | high << 16
        response = (struct.pack("<IIB23x", CAPABILITIES | algorithm, 1 << 30, 255)
                    + user.encode() + b"\0\0caching_sha2_password\0")
        response += bytes([level]) if level is not None else b""
        self.socket.sendall(length(len(response)) + b"\1" + response)
        self.answer = self.packet()[1]
        self.compressed = bool(self.answer[:1] == b"\0" and algorithm)

    def bytes(self, count):
        got = bytearray()
        while len(got) < count:
            piece = self.socket.recv(min(count - len(got), 1 << 20))
            if not piece:
                raise EOFError
            got += piece
        return bytes(got)

    def content(self, count):
        """So many bytes of what is inside."""
        if not self.compressed:
            return self.bytes(count)
        parts, have = [self.inside], len(self.inside)
        while have < count:
            head = self.bytes(7)
            sent, before = (int.from_bytes(part, "little") for part in (head[:3], head[4:]))
            assert head[3] == self.number % 256, (head, self.number)
            self.number += 1
            part = self.bytes(sent)
            if before:
                part = zlib.decompress(part)
                assert len(part) == before
            parts.append(part)
            have += len(part)
        whole = b"".join(parts)
        self.inside = whole[count:]
        return whole[:count]

    def packet(self):
        """The number and the payload of the next packet."""
        payload, head = b"", b"\xff\xff\xff"
        while head[:3] == b"\xff\xff\xff":
            head = self.content(4)
            payload += self.content(int.from_bytes(head[:3], "little"))
        return head[3], payload

    def send(self, payload, cut=None):
        """A command, in compressed packets of so many bytes; some of them are not compressed."""
        inside = b""
        for number, start in enumerate(range(0, len(payload) + 1, 0xFFFFFF)):
            piece = payload[start:start + 0xFFFFFF]
            inside += length(len(piece)) + bytes([number % 256]) + piece
        if not self.compressed:
            return self.socket.sendall(inside)
        self.number, out = 0, bytearray()
        cut = cut or 0xFFFFFF
        for start in range(0, len(inside), cut):
            piece = inside[start:start + cut]
            packed = zlib.compress(piece) if self.number % 3 < 2 and len(piece) >= 50 else piece
            before = 0 if packed is piece else len(piece)
            if len(packed) > 0xFFFFFF:
                packed, before = piece, 0
            out += length(len(packed)) + bytes([self.number % 256]) + length(before) + packed
            self.number += 1
        return self.socket.sendall(out)

    def query(self, statement, cut=None):
        """The payloads that a statement is answered with, the last one included."""
        self.send(bytes([QUERY]) + statement.encode(), cut)
        packets = [self.packet()[1]]
        if packets[0][:1] in b"\0\xff":
            return packets
        while packets[-1][0] != 0xFF and not (packets[-1][0] == 0xFE and len(packets[-1]) < 20):
            packets.append(self.packet()[1])
        return packets

    def value(self, statement):
        """The first value of a statement's first row, which is no longer than 250 bytes."""
        row = self.query(statement)[2]
        return row[1:1 + row[0]].decode()

    def drained(self):
        """All that the server still says before it hangs up."""
        got = b""
        try:
            while piece := self.socket.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got

    def close(self):
        self.socket.close()


def command(client, server, flags, *, unix=False):
    """How to call a command-line client."""
    base = [client] if client == "mariadb" else ["chroot", PEERS, client]
    place = ([f"--socket={server.data / 'mysql.sock'}"] if unix
             else ["-h127.0.0.1", f"-P{server.port}"])
    return [*base, "--no-defaults", *place, "-uroot", *flags]


def run(words, text, expect=0):
    done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=180)
    assert done.returncode == expect or expect is None, (words, done.stderr[-1000:])
    return done.stdout if expect == 0 else done.stderr.decode()


def clients(server):
    """The command-line clients with what they are told, and the algorithm that they get."""
    found = [("mariadb", ["--compress", "--skip-ssl"], "zlib"), ("mariadb", ["--compress"], "zlib"),
             ("mariadb", [], "")]
    if not (PEERS / "usr/bin/mysql").exists():
        print("wire: MySQL's own client is not installed, and left out")
        return found
    for tls in ("DISABLED", "REQUIRED"):
        mode = f"--ssl-mode={tls}"
        found += [("mysql", [mode, "--compression-algorithms=zlib"], "zlib"),
                  ("mysql", [mode, "--compression-algorithms=zstd"], "zstd"),
                  ("mysql", [mode, "--compression-algorithms=uncompressed"], "")]
    found.append(("mysql", ["--compression-algorithms=zstd", "--zstd-compression-level=9"], "zstd"))
    return found


def check_clients(server):
    """The same conversation with each client has the same end."""
    root = server.connect(autocommit=True)
    ask(root, "CREATE DATABASE IF NOT EXISTS w")
    ask(root, "SET SESSION cte_max_recursion_depth = 1000000")
    ask(root, "CREATE TABLE w.long_rows (id INT PRIMARY KEY, a VARCHAR(200), b VARCHAR(400))")
    ask(root, "INSERT INTO w.long_rows WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 20000) SELECT i, REPEAT(MD5(i), 4), REPEAT('some text ', 28) FROM n")
    rows = ask(root, "SELECT * FROM w.long_rows ORDER BY id")
    lines = "".join(f"{row[0]}\t{row[1]}\t{row[2]}\n" for row in rows).encode()
    assert len(lines) > 8_000_000
    text = "".join(hashlib.md5(str(i).encode()).hexdigest() for i in range(625_000))
    assert len(text) == 20_000_000
    digest = hashlib.md5(text.encode()).hexdigest()
    want = lines + text.encode() + b"\n" + digest.encode() + b"\n"
    for client, flags, algorithm in clients(server):
        flags = [*flags, "--max-allowed-packet=64M", "--batch", "--skip-column-names"]
        script = ("SET @@session.autocommit = 1; DROP TABLE IF EXISTS w.c; CREATE TABLE w.c (i INT);\n"
                  + "".join(f"INSERT INTO w.c VALUES ({i});\n" for i in range(100))
                  + f"{STATUS};\nSELECT SUM(i) FROM w.c;\n")
        words = command(client, server, flags)
        told = run(words, script).decode().split("\n")
        on, level = ("ON" if algorithm else "OFF"), {"zlib": "6", "zstd": "3", "": "0"}[algorithm]
        level = "9" if "--zstd-compression-level=9" in flags else level
        assert told[:4] == [f"Compression\t{on}", f"Compression_algorithm\t{algorithm}",
                            f"Compression_level\t{level}", "4950"], (words, told)
        # A large result, then a large statement whose value comes back, then its digest.
        script = (f"SELECT * FROM w.long_rows ORDER BY id;\nSET @long = '{text}';\nSELECT @long;\n"
                  "SELECT MD5(@long);\n")
        got = run(words, script)
        assert got == want, (words, len(got), len(want))
    if (PEERS / "usr/bin/mysql").exists():
        # Several statements in one packet, and an error in the middle.
        words = command("mysql", server, ["--compression-algorithms=zlib", "--batch", "-N",
                                          "--delimiter=//"])
        assert run(words, "SELECT 1; SELECT REPEAT('x', 5); SELECT 3//") == b"1\nxxxxx\n3\n"
        assert "ERROR 1146" in run(words, "SELECT 1; SELECT * FROM w.none; SELECT 3//", 1)
    words = ["mariadb", "--no-defaults", f"--socket={server.data / 'mysql.sock'}", "-uroot",
             "--compress", "--batch", "--skip-column-names"]
    assert b"Compression\tON" in run(words, STATUS + ";")
    ask(root, "DROP TABLE w.c")
    root.close()


def check_log(server):
    """The log over a compressed connection."""
    if not (PEERS / "usr/bin/mysqlbinlog").exists():
        print("wire: mysqlbinlog is not installed, and left out")
        return
    root = server.connect()
    first = ask(root, "SHOW BINARY LOGS")[0][0]
    root.close()
    told = set()
    for algorithm in ("zlib", "zstd", "uncompressed"):
        words = command("mysqlbinlog", server, ["-R", "--base64-output=DECODE-ROWS", "-v",
                                                f"--compression-algorithms={algorithm}", first])
        out = run(words, "")
        assert len(out) > 6_000_000 and b"long_rows" in out, len(out)
        told.add(hashlib.md5(b"\n".join(line for line in out.split(b"\n")
                                        if b"pseudo_thread_id" not in line)).hexdigest())
    assert len(told) == 1, told


def check_kills(server):
    """A statement that is killed in the middle of its rows, and a connection."""
    root = server.connect(autocommit=True)
    for what, code in (("QUERY", b"\xff\x25\x05"), ("CONNECTION", None)):
        client = Wire(server)
        number = client.value("SELECT CONNECTION_ID()")
        client.send(bytes([QUERY]) + b"SELECT a.* FROM w.long_rows a, w.long_rows b")
        for _ in range(1000):
            client.packet()
        ask(root, f"KILL {what} {number}")
        last = None
        try:
            while last is None or last[:1] != b"\xff":
                last = client.packet()[1]
        except (EOFError, ConnectionResetError):
            last = None
        assert (last or b"")[:3] == (code or b""), last
        if code:
            assert client.value("SELECT 'still here'") == "still here"
        client.close()
    # A client that goes in the middle of its statement ends it.
    client = Wire(server)
    number = client.value("SELECT CONNECTION_ID()")
    client.send(bytes([QUERY]) + b"SELECT SLEEP(100)")
    client.number = 0
    time.sleep(0.3)
    client.send(bytes([QUIT]))
    client.close()
    until = time.monotonic() + 20
    while any(str(row[0]) == number for row in ask(root, "SHOW PROCESSLIST")):
        assert time.monotonic() < until, "its statement goes on"
        time.sleep(0.1)
    root.close()


def check_agreement(server):
    """What is offered, agreed on and refused, as MySQL 9.7 does it."""
    root = server.connect(autocommit=True)
    variable = "protocol_compression_algorithms"
    none = b"#HY000Invalid compression algorithm 'uncompressed'."
    level = b"#HY000Invalid zstd compression level for algorithm 'zstd'."
    held = [root]
    for names in ("zlib,zstd,uncompressed", "zlib", "zstd", "uncompressed", "ZLIB,zstd"):
        ask(root, f"SET GLOBAL {variable} = '{names}'")
        assert ask(root, f"SELECT @@GLOBAL.{variable}") == ((names,),)
        has = names.lower().split(",")
        for asked, given in ((0, None), (COMPRESS, None), (ZSTD, 3), (COMPRESS | ZSTD, 3), (ZSTD, 0),
                             (ZSTD, 23), (ZSTD, None), (COMPRESS | ZSTD, 77), (ZSTD, 22)):
            client = Wire(server, asked, given)
            assert bool(client.offered & COMPRESS) == ("zlib" in has)
            assert bool(client.offered & ZSTD) == ("zstd" in has)
            if asked & COMPRESS and "zlib" in has:
                want = "ON,zlib,6"
            elif asked & ZSTD and "zstd" in has:
                want = f"ON,zstd,{given}" if given in (3, 22) else level
            else:
                want = "OFF,," + "0" if "uncompressed" in has else none
            if isinstance(want, bytes):
                assert client.answer[:1] == b"\xff" and client.answer.endswith(want), client.answer
                assert client.drained() == b""
            else:
                assert client.answer[:1] == b"\0", (names, asked, client.answer)
                client.compressed = want.startswith("ON")
                if "zstd" in want:
                    # The level is what the clients above have seen; short answers are plain.
                    client.send(bytes([PING]))
                    assert client.packet()[1][:1] == b"\0"
                    client.close()
                    continue
                got = client.query(STATUS)
                values = [row[1 + row[0]:][1:].decode() for row in got[3:6]]
                assert ",".join(values) == want, (names, asked, given, values)
            client.close()
    for bad in ("'foo'", "''", "'zlib, zstd'", "' zlib'", "'zlib,zstd,uncompressed,zlib'", "NULL"):
        try:
            ask(root, f"SET GLOBAL {variable} = {bad}")
            raise AssertionError(f"{bad} was taken")
        except pymysql.MySQLError as error:
            assert error.args[0] == 1231 and "can't be set to the value of" in str(error), error
    for bad, code in ((f"SET GLOBAL {variable} = 1", 1232), (f"SET SESSION {variable} = 'zlib'", 1229),
                      (f"SELECT @@SESSION.{variable}", 1238)):
        try:
            ask(root, bad)
            raise AssertionError(f"{bad} was taken")
        except pymysql.MySQLError as error:
            assert error.args[0] == code, error
    ask(root, f"SET GLOBAL {variable} = DEFAULT")
    for connection in held:
        connection.close()


def change_user(client, user, password):
    """COM_CHANGE_USER, whose login has packets of its own; the last answer."""
    client.send(b"\x11" + user.encode() + b"\0\0\0\xff\0caching_sha2_password\0")
    asked = client.packet()[1]
    assert asked.startswith(b"\xfemysql_native_password\0"), asked
    nonce = asked.split(b"\0", 1)[1][:20]
    stage = hashlib.sha1(password).digest()
    mixed = hashlib.sha1(nonce + hashlib.sha1(stage).digest()).digest()
    proof = bytes(a ^ b for a, b in zip(stage, mixed))
    inside = length(len(proof)) + bytes([client.number]) + proof
    client.socket.sendall(head(len(inside), client.number, 0) + inside)
    client.number += 1
    return client.packet()[1]


def check_own(server):
    """Statements in packets that are cut anyhow; prepared ones; commits; counting."""
    root = server.connect(autocommit=True)
    ask(root, "CREATE TABLE w.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")
    chance = random.Random(5)
    client = Wire(server)
    for cut in (1, 7, 53, 1000, 70_000):
        value = "".join(chance.choices("abcdefgh ", k=cut * 40))
        assert client.query(f"INSERT INTO w.t (v) VALUES ('{value}')", cut)[0][:1] == b"\0"
        got = client.query("SELECT v FROM w.t ORDER BY id DESC LIMIT 1", cut)[2]
        assert got.endswith(value.encode())
    # Noise does not become shorter, and a long value goes over 16 MiB.
    noise = chance.randbytes(9_000_000).hex()
    got = client.query(f"SELECT '{noise}', MD5('{noise}')", 1_000_000)[3]
    assert got[-32:].decode() == hashlib.md5(noise.encode()).hexdigest() and noise.encode() in got
    # A prepared statement.
    client.send(bytes([PREPARE]) + b"SELECT ? + 1, REPEAT('y', 1000)")
    prepared = client.packet()[1]
    number, columns, parameters = struct.unpack_from("<IHH", prepared, 1)
    for _ in range(columns + parameters):
        client.packet()
    for value in range(300):
        client.send(bytes([EXECUTE]) + struct.pack("<IBIBBBBq", number, 0, 1, 0, 1, 8, 0, value))
        packets = [client.packet()[1] for _ in range(1 + columns + 2)]
        assert struct.unpack_from("<q", packets[-2], 2)[0] == value + 1
    # Commits: their replies wait for the log, and are sent by another thread.
    for i in range(300):
        answer = client.query(f"INSERT INTO w.t (v) VALUES ('{i}')")
        assert answer[0][:1] == b"\0", answer
    client.send(bytes([QUERY]) + b"SELECT 1; INSERT INTO w.t (v) VALUES ('last'); SELECT 2; COMMIT")
    oks, more = 0, True
    while more:
        payload = client.packet()[1]
        if payload[:1] in (b"\0", b"\xfe"):
            rest = payload[1:]
            for _ in range(2):  # affected rows and the last number, both length-encoded
                rest = rest[{0xFC: 3, 0xFD: 4, 0xFE: 9}.get(rest[0], 1):]
            oks, more = oks + 1, rest[0] & 8
    assert oks == 4
    client.send(bytes([PING]))
    assert client.packet()[1][:1] == b"\0"
    # Another user on the same connection, which goes on being compressed.
    ask(root, "CREATE USER native IDENTIFIED WITH mysql_native_password BY 'secret'")
    assert b"Access denied" in change_user(client, "native", b"wrong")
    client = Wire(server)
    assert change_user(client, "native", b"secret")[:1] == b"\0"
    assert client.value("SELECT CURRENT_USER()") == "native@%"
    ask(root, "DROP USER native")
    # Bytes are counted as they go over the wire.
    sent = int(ask(root, "SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1])
    client.query("SELECT REPEAT('z', 10000000)")
    more = int(ask(root, "SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1]) - sent
    assert more < 200_000, more
    client.close()
    # Many at once.
    failures = []

    def work(seed):
        try:
            one, some = Wire(server), random.Random(seed)
            for _ in range(60):
                size = some.choice((1, 60, 5_000, 300_000))
                statement = f"SELECT MD5('{'q' * size}')"
                assert one.value(statement) == hashlib.md5(b"q" * size).hexdigest()
                assert one.query(f"INSERT INTO w.t (v) VALUES ('{size}')", 33)[0][:1] == b"\0"
            one.send(bytes([QUIT]))
            one.close()
        except Exception as error:  # noqa: BLE001 it is told below
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    ask(root, "DROP TABLE w.t")
    root.close()


def memory(server):
    """The most memory that the server has had, in MiB."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) >> 10


def head(sent, number, before):
    return length(sent) + bytes([number]) + length(before)


def check_malformed(server):
    """What is not as it says ends its connection, with an error if one can be told."""
    root = server.connect(autocommit=True)
    ping = b"\1\0\0\0\x0e"
    bomb = zlib.compress(bytes(16 << 20), 9)
    uncompress, order, large = b"#08S01Couldn't uncompress", b"#08S01Got packets out", b"#08S01Got a packet bigger"
    statement = b"\1\0\0\0\x0e" * 20
    cases = [
        (head(5, 1, 0) + ping, order), (head(5, 255, 0) + ping, order),
        (head(0, 0, 0), uncompress), (head(0, 0, 100), uncompress),
        (head(60, 0, 100) + b"U" * 60, uncompress),
        (head(len(zlib.compress(statement)), 0, 99) + zlib.compress(statement), uncompress),
        (head(len(zlib.compress(statement)), 0, 101) + zlib.compress(statement), uncompress),
        (head(len(zlib.compress(statement)) + 1, 0, 100) + zlib.compress(statement) + b"x", uncompress),
        (head(60, 0, 0xFFFFFF) + b"U" * 60, uncompress),
        (head(len(bomb), 0, 1000) + bomb, uncompress),
        (head(len(bomb), 0, 0xFFFFFF) + bomb, uncompress),
        (head(8, 0, 0) + b"\4\0\0\0\x0e\0", None),
        (head(7, 0, 0) + b"\x03\0", None), (b"\1", None), (b"", None)]
    chance = random.Random(11)
    cases += [(chance.randbytes(chance.randrange(1, 400)), None) for _ in range(80)]
    for level in (0, 3):
        for sent, told in cases:
            client = Wire(server, ZSTD if level else COMPRESS, level or None)
            client.compressed = True
            client.socket.sendall(sent)
            client.socket.shutdown(socket.SHUT_WR)
            said = client.drained()
            inside = client_text(said)
            if told and not (level and told is uncompress and sent[7:8] == b"\x78"):
                assert told in inside, (sent[:20], inside)
            client.close()
    # A packet that is longer than it may be, before there is memory for it; nobody else is disturbed.
    ask(root, "SET GLOBAL max_allowed_packet = 1048576")
    for sent in (head(60, 0, 0xFFFFFF) + b"U" * 60, head(0xFFFFFF, 0, 0) + bytes(100),
                 head(5, 0, 0) + length(2 << 20) + b"\0\3"):
        client = Wire(server)
        client.socket.sendall(sent)
        client.socket.shutdown(socket.SHUT_WR)
        assert large in client_text(client.drained()), sent[:10]
        client.close()
    # A megabyte at most of each of these is unpacked, however many come.
    before = memory(server)
    megabyte = zlib.compress(bytes(1 << 20), 9)
    wires = [Wire(server) for _ in range(40)]
    for client in wires:
        client.socket.sendall(head(len(megabyte), 0, 1 << 20) + megabyte)
    for client in wires:
        client.close()
    grown = memory(server) - before
    assert grown < 150, grown
    ask(root, "SET GLOBAL max_allowed_packet = DEFAULT")
    # Long lengths alone cost nothing.
    before = memory(server)
    wires = [Wire(server) for _ in range(60)]
    for client in wires:
        client.socket.sendall(head(0xFFFFFF, 0, 0) + b"x" * 10)
    time.sleep(0.5)
    assert memory(server) - before < 30, memory(server) - before
    for client in wires:
        client.close()
    assert ask(root, "SELECT 1") == ((1,),)
    root.close()


def client_text(said):
    """What is inside of compressed packets."""
    inside = b""
    while len(said) >= 7:
        sent, before = (int.from_bytes(part, "little") for part in (said[:3], said[4:7]))
        part = said[7:7 + sent]
        inside += zlib.decompress(part) if before and part[:1] == b"\x78" else part
        said = said[7 + sent:]
    return inside


def version_2(command, family, addresses=b""):
    """A header of the second version."""
    return (b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x20 | command, family])
            + struct.pack(">H", len(addresses)) + addresses)


def over(server, header, *, unix=False, portions=None, **options):
    """A PyMySQL connection behind a header, which is sent at once or in portions."""
    if unix:
        plain = socket.socket(socket.AF_UNIX)
        plain.connect(str(server.data / "mysql.sock"))
    else:
        plain = socket.create_connection(("127.0.0.1", server.port), 10)
    for start in range(0, len(header), portions or len(header) or 1):
        plain.sendall(header[start:start + (portions or len(header))])
        time.sleep(0.01 if portions else 0)
    connection = pymysql.connect(**{"user": "root", "defer_connect": True, "ssl_disabled": True}
                                 | options)
    connection.connect(plain)
    return connection


def shown(connection):
    """Where the server says that its client is."""
    number = connection.thread_id()
    with connection.cursor() as cursor:
        cursor.execute("SELECT host FROM information_schema.PROCESSLIST WHERE id = %s", (number,))
        (host,), = cursor.fetchall()
        cursor.execute("SELECT USER(), CURRENT_USER()")
        return (host, *cursor.fetchall()[0])


def refused(code, what, *arguments, **options):
    try:
        what(*arguments, **options)
    except pymysql.MySQLError as error:
        assert error.args[0] == code, error
        return
    raise AssertionError(f"error {code} was expected")


def turned_away(server, header, *, unix=False):
    """A header is no packet: the connection ends, with that for a reason."""
    plain = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    plain.settimeout(10)
    plain.connect(str(server.data / "mysql.sock") if unix else ("127.0.0.1", server.port))
    plain.sendall(header)
    said = b""
    while piece := plain.recv(4096):
        said += piece
    assert said.endswith(b"#08S01Got packets out of order"), (header, said)
    plain.close()


def check_proxy(server):
    """Who a proxy says its client is."""
    root = server.connect(autocommit=True)
    variable = "proxy_protocol_networks"
    for bad in ("'10.0.0.0/33'", "'*,::1'", "'proxy.example'", "'::1/129'"):
        refused(1231, ask, root, f"SET GLOBAL {variable} = {bad}")
    refused(1229, ask, root, f"SET SESSION {variable} = '*'")
    # Nobody waits after wrong logins: there are many here.
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 0")
    for account in ("far@'10.1.2.3'", "far@'fd00::7'", "local@localhost", "near@'127.0.0.1'"):
        ask(root, f"CREATE USER {account}")
    v4 = bytes([10, 1, 2, 3, 10, 9, 9, 9]) + struct.pack(">HH", 12345, 3306)
    v6 = socket.inet_pton(socket.AF_INET6, "fd00::7") + bytes(16) + struct.pack(">HH", 12345, 3306)
    loopback = bytes([127, 0, 0, 1, 127, 0, 0, 1]) + struct.pack(">HH", 12345, 3306)
    far = [b"PROXY TCP4 10.1.2.3 10.9.9.9 12345 3306\r\n", version_2(1, 0x11, v4),
           version_2(1, 0x11, v4 + b"\x04\0\x64" + bytes(100))]
    real = [b"PROXY UNKNOWN\r\n", version_2(0, 0x11, v4), version_2(0, 0), version_2(1, 0),
            version_2(1, 0x31, bytes(216)), b""]
    # Off: a header is a malformed packet from everywhere.
    for header in far + real[:-1]:
        turned_away(server, header)
    for networks, unix in (("*", False), ("127.0.0.1", False), ("::1, 127.0.0.0/8", False),
                           ("localhost", True), ("*", True)):
        ask(root, f"SET GLOBAL {variable} = '{networks}'")
        for header in far:
            for portions in (None, 1, 13):
                connection = over(server, header, unix=unix, portions=portions, user="far")
                assert shown(connection) == ("10.1.2.3:12345", "far@10.1.2.3", "far@10.1.2.3")
                connection.close()
            refused(1045, over, server, header, unix=unix, user="root")
            refused(1045, over, server, header, unix=unix, user="local")
            if not unix:
                # TLS behind a header.
                connection = over(server, header, user="far", ssl_disabled=False,
                                  ssl={"verify_mode": False, "check_hostname": False})
                assert shown(connection)[1] == "far@10.1.2.3"
                assert ask(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
                connection.close()
        for header in (b"PROXY TCP6 fd00::7 fd00::1 12345 3306\r\n", version_2(1, 0x21, v6)):
            connection = over(server, header, unix=unix, user="far")
            assert shown(connection) == ("fd00::7:12345", "far@fd00::7", "far@fd00::7")
            connection.close()
        for header in real:
            connection = over(server, header, unix=unix, user="local")
            assert shown(connection)[1:] == ("local@localhost", "local@localhost"), header
            connection.close()
        # Loopback is the proxy's own, not ours.
        refused(1045, over, server, version_2(1, 0x11, loopback), unix=unix, user="local")
        connection = over(server, version_2(1, 0x11, loopback), unix=unix, user="near")
        assert shown(connection)[2] == "near@127.0.0.1"
        connection.close()
        # Only one header, and only a whole and sound one.
        for bad in (far[0] + far[0], b"PROXY TCP4 10.1.2.3 10.9.9.9 123456 3306\r\n",
                    b"PROXY " + bytes(120), version_2(1, 0x11, v4[:5]), version_2(15, 0x11, v4),
                    b"\r\n\r\n" + bytes(20)):
            turned_away(server, bad, unix=unix)
    # Not from these.
    for networks in ("127.0.0.2", "10.0.0.0/8,::1", "localhost", ""):
        ask(root, f"SET GLOBAL {variable} = '{networks}'")
        turned_away(server, far[0])
        over(server, b"", user="local").close()
    # A client behind a header that stops is waited for no longer than connect_timeout.
    ask(root, f"SET GLOBAL {variable} = '*'")
    ask(root, "SET GLOBAL connect_timeout = 2")
    plain = socket.create_connection(("127.0.0.1", server.port), 20)
    plain.sendall(far[1][:20])
    begun = time.monotonic()
    while plain.recv(4096):
        pass
    assert 1 < time.monotonic() - begun < 10
    plain.close()
    # Compression behind a header.
    client = Wire(server, COMPRESS, before=far[0], user="far")
    assert client.value("SELECT CURRENT_USER()") == "far@10.1.2.3"
    client.close()
    ask(root, "SET GLOBAL connect_timeout = DEFAULT")
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = DEFAULT")
    ask(root, f"SET GLOBAL {variable} = DEFAULT")
    ask(root, "DROP USER far@'10.1.2.3', far@'fd00::7', local@localhost, near@'127.0.0.1'")
    root.close()


def check_start():
    """The lists can be given at start, and what is none is refused."""
    os.environ["COHORT_PROXY_PROTOCOL_NETWORKS"] = "127.0.0.0/8"
    os.environ["COHORT_PROTOCOL_COMPRESSION_ALGORITHMS"] = "zstd,uncompressed"
    try:
        with Cohort() as server:
            with server.connect() as root:
                assert ask(root, "SELECT @@proxy_protocol_networks, "
                           "@@protocol_compression_algorithms") == (("127.0.0.0/8",
                                                                     "zstd,uncompressed"),)
                assert not Wire(server, 0).offered & COMPRESS
            connection = over(server, b"PROXY UNKNOWN\r\n")
            assert shown(connection)[2] == "root@localhost"
            connection.close()
        os.environ["COHORT_PROXY_PROTOCOL_NETWORKS"] = "127.0.0.0/40"
        try:
            with Cohort():
                raise AssertionError("it starts")
        except RuntimeError as error:
            assert "proxy_protocol_networks" in str(error), error
    finally:
        del os.environ["COHORT_PROXY_PROTOCOL_NETWORKS"]
        del os.environ["COHORT_PROTOCOL_COMPRESSION_ALGORITHMS"]


def main():
    with Cohort("--max-connections", "300") as server:
        check_clients(server)
        check_log(server)
        check_kills(server)
        check_agreement(server)
        check_own(server)
        check_malformed(server)
        check_proxy(server)
        assert server.stop() == 0
    check_start()
    print("wire: compression with all clients, what is agreed on, malformed packets and bombs; PROXY")


if __name__ == "__main__":
    main()
