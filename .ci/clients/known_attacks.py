#!/usr/bin/env python3
"""What has once let somebody in past MySQL's or MariaDB's authentication, or taken its client's
secrets, tried here. Each function names the published number of what it tries.

  .ci/clients/known_attacks.py
"""

import contextlib
import hashlib
import os
import random
import socket
import struct
import subprocess
import tempfile
import threading
import time

import pymysql

from cohort import BINARY, Cohort, free_port
from guard import Wire, ask

SECRET = "Right-horse-7"
NATIVE, SHA2 = b"mysql_native_password", b"caching_sha2_password"
# LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
PLAIN, OLD = 0x1 | 0x200 | 0x8000 | 0x80000, 0x1 | 0x200
ATTEMPTS = 1500


def account(root, name, more="", plugin="caching_sha2_password"):
    ask(root, f"CREATE USER {name}@localhost IDENTIFIED WITH {plugin} BY '{SECRET}' {more}")


def answer(server, response, capabilities=PLAIN):
    """What the server says in the end to a response to its greeting; one that depends on its salt is a function."""
    wire = Wire(server.port)
    greeting = wire.receive()
    if callable(response):
        end = greeting.index(b"\0", 5) + 5
        response = response(greeting[end:end + 8] + greeting[end + 27:end + 39])
    wire.send(1, struct.pack("<IIB23x", capabilities, 1 << 24, 45) + response)
    said = wire.receive()
    number = 3
    while said[4:5] in (b"\x01", b"\xfe"):
        # It wants more; what follows is as little a proof as what came before.
        with contextlib.suppress(OSError):
            wire.send(number, b"")
        number += 2
        said = wire.receive()
    wire.socket.close()
    return said


def is_in(said):
    return said[4:5] == b"\0"


def random_proofs(server, root):
    """CVE-2012-2122: one wrong proof in 256 was taken for the right one."""
    # The right one is let in by the same means.
    def right(salt):
        first = hashlib.sha1(SECRET.encode()).digest()
        second = hashlib.sha1(salt + hashlib.sha1(first).digest()).digest()
        return b"native\0\x14" + bytes(a ^ b for a, b in zip(first, second)) + NATIVE + b"\0"
    said = answer(server, right)
    assert is_in(said), said
    rng = random.Random(2122)
    for name, plugin, length in (("native", NATIVE, 20), ("sha2", SHA2, 32)):
        for _ in range(ATTEMPTS):
            said = answer(server, name.encode() + b"\0" + bytes([length]) + rng.randbytes(length) + plugin + b"\0")
            assert not is_in(said), said
    print(f"known_attacks: {2 * ATTEMPTS} random proofs prove nothing", flush=True)


def proofs_of_any_length(server, root):
    """CVE-2004-0627, CVE-2004-0628: a proof of no bytes was compared with none, a long one overflowed."""
    for name, plugin in (("native", NATIVE), ("sha2", SHA2), ("nobody", NATIVE), ("nobody", SHA2)):
        for length in (*range(34), 64, 250):
            for byte in (b"\0", b"x"):
                said = answer(server, name.encode() + b"\0" + bytes([length]) + byte * length + plugin + b"\0")
                assert not is_in(said), (name, length, said)
        # A length that promises more than there is, and lengths of several bytes.
        for lie in (b"\xff", b"\xfc\xff\xff", b"\xfd\xff\xff\xff", b"\xfe" + b"\xff" * 8, b"\xfb"):
            said = answer(server, name.encode() + b"\0" + lie + b"x" * 8)
            assert not is_in(said), (name, lie, said)
        # As clients before 4.1 answered: the proof ends with a zero, or is not there.
        for proof in (b"", b"\0", b"x" * 8 + b"\0", b"x" * 20 + b"\0"):
            assert not is_in(answer(server, name.encode() + b"\0" + proof, OLD)), (name, proof)
    print("known_attacks: proofs of any length prove nothing", flush=True)


def names_without_end(server, root):
    """CVE-2006-1516: a name without its zero told what lay behind it in memory."""
    for length in (0, 1, 31, 32, 79, 80, 81, 255, 4096, 100_000):
        said = answer(server, b"A" * length)
        assert not is_in(said) and len(said) < 600 + length, (length, len(said))
        text = said[13:].replace(b"A", b"")
        assert all(32 <= byte < 127 for byte in text), text
    print("known_attacks: a name without an end tells nothing", flush=True)


def commands(server, root):
    """CVE-2006-1517 and CVE-2006-1518 (COM_TABLE_DUMP), CVE-2010-1848 and 1850 (COM_FIELD_LIST)."""
    path = b"../mysql/user"
    with contextlib.closing(server.connect()) as connection:
        for command in range(256):
            if command in (0x01, 0x08, 0x11, 0x12, 0x1e, 0x15, 0x20):
                continue  # those that end it, log in, or follow the log
            for payload in (b"\0", path + b"\0%\0", b"\xff" * 300, b"\x05mysql\x64user"):
                try:
                    connection._execute_command(command, payload)
                    connection._sock.settimeout(0.005)
                    with contextlib.suppress(OSError):
                        while said := connection._sock.recv(65536):
                            assert b"$A$" not in said and b"authentication_string" not in said, (command, said)
                except pymysql.MySQLError:
                    pass
                connection = again(server, connection)
    assert ask(root, "SELECT 1") == ((1,),)
    print("known_attacks: no command tells what it should not", flush=True)


def again(server, connection):
    """A new connection, for one that may not be in step any more."""
    with contextlib.suppress(Exception):
        connection._sock.close()
    return server.connect()


def long_names(server, root):
    """CVE-2012-5611, CVE-2012-5612: names longer than any buffer, in GRANT and in definitions."""
    for length in (65, 256, 4096, 70_000, 1_000_000):
        name = "A" * length
        for sql in (f"GRANT SELECT ON `{name}`.* TO native@localhost", f"USE `{name}`", f"GRANT `{name}` TO native@localhost",
                    f"GRANT SELECT (`{name}`) ON mysql.user TO native@localhost", f"SHOW FIELDS FROM mysql.`{name}`",
                    f"CREATE USER `{name}`@localhost", f"CREATE USER a@`{name * 4}`", f"SET PASSWORD FOR `{name}` = 'x'",
                    f"CREATE TABLE mysql.`{name}` (a INT)", f"SHOW GRANTS FOR `{name}`"):
            said = ask(root, sql)
            assert said and isinstance(said[0], int), (sql[:40], said)
    print("known_attacks: long names are errors", flush=True)


def who_exists(server, root):
    """CVE-2012-5615: the answer told whether there is such an account. (One with mysql_native_password, which is
    off by default, is known by its method.)"""
    rng = random.Random(5615)
    for plugin, length in ((NATIVE, 20), (SHA2, 32)):
        told = set()
        for name in ("sha2", "nobody", "locked"):
            said = answer(server, name.encode() + b"\0" + bytes([length]) + rng.randbytes(length) + plugin + b"\0")
            told.add(said.replace(name.encode(), b"NAME")[4:])
        assert len(told) == 1, told
    print("known_attacks: all wrong logins are answered alike", flush=True)


def salts(server, root):
    """CVE-2012-5627: COM_CHANGE_USER asked again and again for a proof with one and the same salt."""
    seen = set()
    with contextlib.closing(server.connect()) as connection:
        for _ in range(50):
            seen.add(bytes(connection.salt))
            with contextlib.suppress(pymysql.MySQLError):
                connection._execute_command(0x11, b"native\0\x14" + b"z" * 20 + b"\0\x2d\0" + NATIVE + b"\0")
                said = connection._read_packet().get_all_data()
                if said[:1] == b"\xfe":
                    seen.add(said.split(b"\0", 1)[1])
            connection = again(server, connection)
    assert len(seen) >= 50, len(seen)
    print("known_attacks: each proof has a salt of its own", flush=True)


def change_user(server, root):
    """What keeps an account out at a login keeps it out of COM_CHANGE_USER; what the user before had is gone."""
    for name in ("tls_only", "locked", "expired"):
        with contextlib.closing(server.connect(autocommit=True)) as connection:
            said = changed(connection, name)
            assert isinstance(said, tuple) and said[0] in (1045, 1862, 3118), (name, said)
    ask(root, "CREATE DATABASE kept")
    ask(root, "CREATE TABLE kept.t (a INT PRIMARY KEY)")
    with contextlib.closing(server.connect(autocommit=True)) as connection:
        for sql in ("SET @x = 1", "PREPARE s FROM 'SELECT * FROM kept.t'", "CREATE TEMPORARY TABLE kept.m (a INT)",
                    "SELECT GET_LOCK('l', 0)", "USE kept", "BEGIN", "INSERT INTO kept.t VALUES (1)"):
            ask(connection, sql)
        assert changed(connection, "sha2") is None
        assert ask(connection, "SELECT CURRENT_USER(), @x, DATABASE(), IS_FREE_LOCK('l')") == (
            ("sha2@localhost", None, None, 1),)
        assert ask(connection, "EXECUTE s")[0] == 1243
        assert ask(connection, "SELECT * FROM kept.m")[0] == 1142
        assert ask(connection, "SELECT * FROM kept.t")[0] == 1142
    assert ask(root, "SELECT * FROM kept.t") == ()
    ask(root, "DROP DATABASE kept")
    print("known_attacks: COM_CHANGE_USER leaves nothing behind", flush=True)


def changed(connection, name):
    """COM_CHANGE_USER with the right password; the error, if there is one."""
    def proof(salt):
        first = hashlib.sha256(SECRET.encode()).digest()
        second = hashlib.sha256(hashlib.sha256(first).digest() + salt).digest()
        return bytes(a ^ b for a, b in zip(first, second))
    try:
        salt = connection.salt[:20]
        connection._execute_command(0x11, name.encode() + b"\0\x20" + proof(salt) + b"\0\x2d\0" + SHA2 + b"\0")
        packet = connection._read_packet()
        if packet.get_all_data()[:1] == b"\xfe":
            salt = packet.get_all_data().split(b"\0", 1)[1][:20]
            connection.write_packet(proof(salt))
            packet = connection._read_packet()
        if packet.get_all_data() == b"\x01\x04":
            connection.write_packet(b"\x02")
            key = connection._read_packet().get_all_data()[1:]
            connection.write_packet(pymysql._auth.sha2_rsa_encrypt(SECRET.encode(), salt, key))
            packet = connection._read_packet()
        elif packet.get_all_data() == b"\x01\x03":
            packet = connection._read_packet()
        return None
    except pymysql.MySQLError as error:
        return error.args


def names(server, root):
    """Names that look like another's are nobody's."""
    account(root, "Exact")
    for name in ("exact", "EXACT", "Exact ", " Exact", "Exact\t", "Exac", "Exactly", "Éxact", "Exact'@'localhost", ""):
        with contextlib.suppress(pymysql.MySQLError):
            server.connect(user=name, password=SECRET).close()
            raise AssertionError(f"{name!r} is let in")
    server.connect(user="Exact", password=SECRET).close()
    print("known_attacks: only the exact name is somebody's", flush=True)


def files(server, root):
    """CVE-2016-6662: a log that was made to write into the settings that the next start reads. CVE-2021-27928,
    CVE-2005-2572 and their like: libraries that statements load."""
    settings = server.directory / "cohort.toml"
    settings.write_text("")
    for variable in ("general_log_file", "slow_query_log_file", "cohort_audit_log_file"):
        for path in (settings, server.data / "replica.json", server.data / "mysqld-auto.cnf", server.data / "ca.pem",
                     "/etc/ld.so.preload", "/root/.ssh/authorized_keys", f"{settings}\0.log"):
            said = ask(root, f"SET GLOBAL {variable} = '{path}'")
            assert said and said[0] == 1231, (variable, path, said)
    link = server.data / "link.log"
    link.symlink_to(settings)
    assert ask(root, f"SET GLOBAL general_log_file = '{link}'")[0] == 1231
    for sql in ("SET GLOBAL wsrep_provider = '/tmp/evil.so'", "SET GLOBAL plugin_dir = '/tmp'", "INSTALL PLUGIN p SONAME 'evil.so'",
                "CREATE FUNCTION f RETURNS INTEGER SONAME 'evil.so'", "INSTALL COMPONENT 'file://evil'",
                "SET GLOBAL log_error = '/tmp/x'", "SELECT LOAD_FILE('/etc/passwd')", "SELECT 'x' INTO OUTFILE '/tmp/cohort-evil'",
                "LOAD DATA INFILE '/etc/passwd' INTO TABLE mysql.user"):
        said = ask(root, sql)
        assert said == ((None,),) or isinstance(said[0], int), (sql, said)
    assert settings.read_text() == "" and not os.path.exists("/tmp/cohort-evil")
    print("known_attacks: statements write and load no files but logs", flush=True)


class Impostor:
    """A server that wants to know what its client knows."""

    def __init__(self, script):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.heard, self.script = self.listener.getsockname()[1], [], script
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                peer.settimeout(5)
                with contextlib.suppress(OSError), peer:
                    self.send(peer, 0, b"\x0a9.7.0\0" + bytes(4) + b"12345678\0" + struct.pack("<H", 0xF7FF) + b"\x2d\x02\0"
                              + struct.pack("<H", 0x81FF & ~0x0800) + b"\x15" + bytes(10) + b"901234567890\0" + SHA2 + b"\0")
                    self.hear(peer)
                    for number, payload in self.script:
                        self.send(peer, number, payload)
                        self.hear(peer)

    @staticmethod
    def send(peer, number, payload):
        peer.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)

    def hear(self, peer):
        data = peer.recv(1 << 16)
        self.heard.append(data)


def impostors(server, root):
    """CVE-2015-3152: a client that was to use TLS and went on without; clients whom a server asked for a file
    (LOAD DATA LOCAL), or for the password in the clear."""
    ok = (2, b"\0\0\0\x02\0\0\0")
    scripts = {
        "no TLS": [ok],
        "clear": [(2, b"\xfemysql_clear_password\0"), ok],
        "dialog": [(2, b"\xfedialog\0Password: "), ok],
        "file": [ok, (1, b"\xfb/etc/passwd"), (3, b"\0\0\0\x02\0\0\0")],
    }
    for name, script in scripts.items():
        impostor = Impostor(script)
        options = "?ssl-mode=REQUIRED" if name == "no TLS" else ""
        done = subprocess.run(
            [BINARY, "import", f"mysql://u:{SECRET}@127.0.0.1:{impostor.port}/{options}", "--to",
             f"mysql://root@127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=60)
        heard = b"".join(impostor.heard)
        assert done.returncode != 0, (name, done)
        assert SECRET.encode() not in heard and b"root:" not in heard, (name, heard)
        if name == "no TLS":
            assert "has no TLS" in done.stderr and b"u\0" not in heard, (done, heard)
        # A replica is a client, too.
        tls = ", SOURCE_SSL = 1" if name == "no TLS" else ""
        impostor.heard.clear()
        ask(root, f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {impostor.port}, "
            f"SOURCE_USER = 'u', SOURCE_PASSWORD = '{SECRET}'{tls}")
        ask(root, "START REPLICA")
        until = time.monotonic() + 10
        while not impostor.heard and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.2)
        ask(root, "STOP REPLICA")
        ask(root, "RESET REPLICA ALL")
        heard = b"".join(impostor.heard)
        assert SECRET.encode() not in heard and b"root:" not in heard, (name, heard)
    print("known_attacks: our clients give impostors neither password nor file", flush=True)


def strangers_key(server, root):
    """A server on another machine that asks for the password under a key of its own does not get it without TLS,
    unless it is trusted."""
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    addresses = [address for address in addresses if "." in address]
    if not addresses:
        print("known_attacks: this machine has no address but loopback; a stranger's key is left out", flush=True)
        return
    ask(root, f"ALTER USER root@localhost IDENTIFIED BY '{SECRET}'")
    server.stop()
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [BINARY, "serve", "--port", str(port), "--datadir", str(server.data), "--coordinator", "off",
             "--bind-address", addresses[0]], stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                if "ready on" in line:
                    break
            told = []
            for more in ([], ["--get-server-public-key"]):
                done = subprocess.run(
                    [BINARY, "backup", "--host", addresses[0], "--port", str(port), "--user", "sha2", "--password", SECRET,
                     *more, f"{directory}/backup"], capture_output=True, text=True, timeout=60)
                told.append(done.stderr)
            assert "not encrypted" in told[0], told
            assert "Access denied" in told[1] and "not encrypted" not in told[1], told
        finally:
            process.terminate()
            process.wait(20)
    print("known_attacks: a stranger's key gets no password", flush=True)


def main():
    with Cohort() as server:
        with contextlib.closing(server.connect(autocommit=True)) as root:
            ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 0")
            account(root, "sha2")
            account(root, "native", plugin="mysql_native_password")
            account(root, "tls_only", "REQUIRE SSL")
            account(root, "locked", "ACCOUNT LOCK")
            account(root, "expired", "PASSWORD EXPIRE")
            for attack in (random_proofs, proofs_of_any_length, names_without_end, commands, long_names, who_exists, salts,
                           change_user, names, files, impostors, strangers_key):
                attack(server, root)


if __name__ == "__main__":
    main()
