#!/usr/bin/env python3
"""TLS with the clients that people use: mysql, mariadb and PyMySQL.

  1. A new server makes its certificates; clients verify them as far as they want to.
  2. Certificates that are not to be trusted: of another authority, and one whose time is over.
  3. root with a password over TCP; require_secure_transport; REQUIRE SSL and X509.
  4. A new certificate without a restart, and a bad one.
  5. Settings that are refused, and no TLS at all.
  6. A coordinator whose state is in a server that wants TLS.
"""

import contextlib
import datetime
import ipaddress
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile

import pymysql
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from cohort import BINARY, Cohort, free_port

PEERS = pathlib.Path(os.environ.get("PEERS_ROOT", "/opt/peers-sid"))
FILES = {"ca.pem": 0o644, "ca-key.pem": 0o600, "server-cert.pem": 0o644, "server-key.pem": 0o600,
         "client-cert.pem": 0o644, "client-key.pem": 0o600}
CIPHER = "SHOW STATUS LIKE 'Ssl_cipher'"


class Authority:
    """Signs certificates with RSA keys, as those of others are."""

    def __init__(self, directory, name):
        self.directory, self.key = directory, rsa.generate_private_key(65537, 2048)
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.path = directory / f"{name}.pem"
        made = self.sign(self.name, self.key, 10, [
            x509.BasicConstraints(ca=True, path_length=None)])
        self.path.write_bytes(made)

    def sign(self, name, key, days, extensions):
        """A certificate in PEM that is valid until so many days from now."""
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (x509.CertificateBuilder().subject_name(name).issuer_name(self.name)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=20))
                   .not_valid_after(now + datetime.timedelta(days=days)))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=True)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue(self, name, days=10, names=None):
        """The files of a certificate for this machine, or for other names, and of its key."""
        key = rsa.generate_private_key(65537, 2048)
        mine = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        names = x509.SubjectAlternativeName([x509.DNSName(other) for other in names] if names else mine)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        paths = self.directory / f"{name}-cert.pem", self.directory / f"{name}-key.pem"
        paths[0].write_bytes(self.sign(subject, key, days, [names]))
        paths[1].write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
        return paths


class Clients:
    """The command-line clients. MySQL's has a root of its own, to which files are copied."""

    def __init__(self):
        self.mysql = (PEERS / "usr/bin/mysql").exists()
        if not self.mysql:
            print("tls: MySQL's own client is not installed, and left out")
        self.shared = None

    def __enter__(self):
        if self.mysql:
            self.shared = pathlib.Path(tempfile.mkdtemp(prefix="cohort-tls-", dir=PEERS / "tmp"))
            self.shared.chmod(0o755)
        return self

    def __exit__(self, *_):
        if self.shared:
            shutil.rmtree(self.shared)

    def run_mysql(self, port, *flags, sql=CIPHER):
        """What mysql says: whether all went well, and the text."""
        given = []
        for flag in flags:
            if isinstance(flag, tuple):
                name, path = flag
                shutil.copy(path, self.shared / pathlib.Path(path).name)
                flag = f"--{name}=/tmp/{self.shared.name}/{pathlib.Path(path).name}"
            given.append(flag)
        return run(["chroot", PEERS, "mysql"], port, given, sql)

    @staticmethod
    def run_mariadb(port, *flags, sql=CIPHER):
        given = [f"--{f[0]}={f[1]}" if isinstance(f, tuple) else f for f in flags]
        return run(["mariadb"], port, given, sql)


def run(command, port, flags, sql):
    command = [*command, "--no-defaults", "-h127.0.0.1", f"-P{port}", "-uroot", "--batch",
               "--skip-column-names", *flags, "-e", sql]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


def works(result, part=""):
    assert result[0] and part in result[1], result


def fails(result, part):
    assert not result[0] and part in result[1], result


def verify(path, host=True):
    """How PyMySQL verifies a server; with a host, by its name, too."""
    context = ssl.create_default_context(cafile=path)
    context.check_hostname = host
    return context


def blindly():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


@contextlib.contextmanager
def refused(code, part=""):
    """The block must fail with this error."""
    try:
        yield
    except pymysql.MySQLError as error:
        assert error.args[0] == code and part in str(error), error
        return
    raise AssertionError(f"error {code} was expected")


def check_made(server, clients):
    """What a new server has made is what clients can verify."""
    for name, mode in FILES.items():
        assert (server.data / name).stat().st_mode & 0o777 == mode, name
    ca, port = server.data / "ca.pem", server.port
    for version in ("TLSv1.2", "TLSv1.3"):
        if clients.mysql:
            sql = CIPHER + "; SHOW STATUS LIKE 'Ssl_version'"
            for mode in ("PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"):
                works(clients.run_mysql(port, f"--ssl-mode={mode}", ("ssl-ca", ca),
                                        f"--tls-version={version}", sql=sql), version)
        works(clients.run_mariadb(port, ("ssl-ca", ca), "--ssl-verify-server-cert",
                                  f"--tls-version={version}"), "GCM")
        context = verify(ca)
        context.minimum_version = context.maximum_version = \
            ssl.TLSVersion.TLSv1_3 if version == "TLSv1.3" else ssl.TLSVersion.TLSv1_2
        connection = server.connect(host="localhost", ssl=context)
        assert ask(connection, "SHOW STATUS LIKE 'Ssl_version'") == (("Ssl_version", version),)
        connection.close()
    if clients.mysql:
        works(clients.run_mysql(port, "--commands", sql="\\s"), "Cipher in use is TLS_")
        works(clients.run_mysql(port, "--ssl-mode=DISABLED", "--commands", sql="\\s"),
              "Not in use")
        fails(clients.run_mysql(port, "--tls-version=TLSv1.1"), "ERROR")
    works(clients.run_mariadb(port, "--skip-ssl"), "Ssl_cipher\t\n")
    plain = server.connect(ssl_disabled=True)
    assert ask(plain, CIPHER) == (("Ssl_cipher", ""),)
    variables = dict(ask(plain, "SHOW GLOBAL VARIABLES LIKE 'ssl\\_%'"))
    assert [variables[f"ssl_{name}"] for name in ("ca", "cert", "key", "capath")] == [
        "ca.pem", "server-cert.pem", "server-key.pem", ""]
    status = dict(ask(plain, "SHOW GLOBAL STATUS"))
    assert status["Current_tls_cert"] == "server-cert.pem"
    assert status["Current_tls_version"] == "TLSv1.2,TLSv1.3"
    assert status["Ssl_server_not_after"].endswith(" GMT")
    assert int(status["Ssl_accepts"]) >= int(status["Ssl_finished_accepts"]) > 3
    connection = server.connect(host="localhost", ssl=verify(ca))
    status = dict(ask(connection, "SHOW STATUS"))
    assert status["Ssl_cipher"] in status["Ssl_cipher_list"].split(":")
    assert status["Tls_sni_server_name"] == "localhost"
    connection.close()
    plain.close()


def check_distrust(server, clients, others):
    """Clients that verify refuse, and only those."""
    port, ca = server.port, server.data / "ca.pem"
    stranger = others.path
    if clients.mysql:
        for mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
            fails(clients.run_mysql(port, f"--ssl-mode={mode}", ("ssl-ca", stranger)), "2026")
    fails(clients.run_mariadb(port, ("ssl-ca", stranger), "--ssl-verify-server-cert"), "2026")
    with refused(2003, "CERTIFICATE_VERIFY_FAILED"):
        server.connect(ssl=verify(stranger))
    # The server is none the worse for it.
    server.connect(ssl=verify(ca, host=False)).close()
    certificate, key = others.issue("expired", days=-1)
    with Cohort("--ssl-cert", str(certificate), "--ssl-key", str(key)) as old:
        if clients.mysql:
            works(clients.run_mysql(old.port, "--ssl-mode=REQUIRED"), "TLS_")
            fails(clients.run_mysql(old.port, "--ssl-mode=VERIFY_CA", ("ssl-ca", stranger)), "2026")
        fails(clients.run_mariadb(old.port, ("ssl-ca", stranger), "--ssl-verify-server-cert"),
              "2026")
        with refused(2003, "expired"):
            old.connect(ssl=verify(stranger))
        old.connect(ssl=blindly()).close()


def check_accounts(server, clients, others):
    """Who must come over TLS, and with a certificate."""
    port, ca = server.port, server.data / "ca.pem"
    root = server.connect(unix_socket=str(server.data / "mysql.sock"))
    ask(root, "ALTER USER root@localhost IDENTIFIED BY 'secret'")
    # The server has never seen the password: it travels whole, and nobody else can read it.
    if clients.mysql:
        works(clients.run_mysql(port, "-psecret"), "TLS_")
        fails(clients.run_mysql(port, "-pwrong"), "1045")
    else:
        works(clients.run_mariadb(port, "-psecret"), "TLS_")
    ask(root, "ALTER USER root@localhost IDENTIFIED BY 'other secret'")
    works(clients.run_mariadb(port, "-pother secret"), "TLS_")
    ask(root, "ALTER USER root@localhost IDENTIFIED BY 'third'")
    server.connect(password="third", ssl=verify(ca)).close()
    ask(root, "ALTER USER root@localhost IDENTIFIED BY ''")

    ask(root, "SET GLOBAL require_secure_transport = ON")
    with refused(3159, "--require_secure_transport=ON"):
        server.connect(ssl_disabled=True)
    with refused(1045):
        server.connect(ssl_disabled=True, password="wrong")
    if clients.mysql:
        fails(clients.run_mysql(port, "--ssl-mode=DISABLED"), "ERROR 3159 (HY000): Connections "
              "using insecure transport are prohibited while --require_secure_transport=ON.")
    fails(clients.run_mariadb(port, "--skip-ssl"), "3159")
    works(clients.run_mariadb(port), "TLS_")
    server.connect(unix_socket=str(server.data / "mysql.sock")).close()
    ask(root, "SET GLOBAL require_secure_transport = OFF")

    ask(root, "CREATE USER s REQUIRE SSL")
    ask(root, "CREATE USER x IDENTIFIED BY 'pass' REQUIRE X509")
    for user, shown in (("s", "REQUIRE SSL"), ("x", "REQUIRE X509"),
                        ("root@localhost", "REQUIRE NONE")):
        assert shown in ask(root, f"SHOW CREATE USER {user}")[0][0]
    for wrong, code in (("SSL AND X509", 1064), ("SUBJECT 'a' AND", 1064), ("SUBJECT", 1064),
                        ("ISSUER 'a' ISSUER 'b'", 1225)):
        with refused(code):
            ask(root, f"ALTER USER s REQUIRE {wrong}")
    with refused(1045):
        server.connect(user="s", ssl_disabled=True)
    server.connect(user="s", ssl=verify(ca)).close()
    mine, theirs = verify(ca), verify(ca)
    mine.load_cert_chain(server.data / "client-cert.pem", server.data / "client-key.pem")
    theirs.load_cert_chain(*others.issue("stranger"))
    for context in (verify(ca), None):
        with refused(1045):
            server.connect(user="x", password="pass", ssl=context, ssl_disabled=context is None)
    with refused(1045):
        server.connect(user="x", password="wrong", ssl=mine)
    connection = server.connect(user="x", password="pass", ssl=mine)
    assert ask(connection, "SELECT CURRENT_USER()") == (("x@%",),)
    with refused(1227):
        ask(connection, "ALTER USER x REQUIRE NONE")
    connection.close()
    # A certificate of another authority is not as good as none.
    try:
        server.connect(user="s", ssl=theirs).close()
        raise AssertionError("a stranger's certificate was taken")
    except (pymysql.MySQLError, OSError):
        pass
    if clients.mysql:
        works(clients.run_mysql(port, "-ux", "-ppass", ("ssl-ca", ca),
                                ("ssl-cert", server.data / "client-cert.pem"),
                                ("ssl-key", server.data / "client-key.pem")), "TLS_")
    check_names(server, root, mine)
    ask(root, "ALTER USER s REQUIRE NONE")
    server.connect(user="s", ssl_disabled=True).close()
    ask(root, "DROP USER s, x")
    root.close()


def check_names(server, root, mine):
    """REQUIRE names what the certificate has in it, as OpenSSL writes it."""
    subject = "/CN=Cohort_Client_Auto_Generated_Certificate"
    issuer = "/CN=Cohort_CA_Auto_Generated_Certificate"
    server.connect(user="s", ssl=mine).close()
    # Nobody waits after being refused: that is often here.
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = 0")
    cipher = "TLS_AES_256_GCM_SHA384"
    for required, works_so in ((f"SUBJECT '{subject}'", True), (f"ISSUER '{issuer}'", True),
                               (f"CIPHER '{cipher}'", True), ("SUBJECT '/CN=else'", False),
                               (f"ISSUER '{subject}'", False), ("CIPHER 'AES'", False),
                               (f"SUBJECT '{subject}' ISSUER '{issuer}' CIPHER '{cipher}'", True),
                               (f"SUBJECT '{subject}' AND ISSUER '/CN=else'", False)):
        ask(root, f"ALTER USER s REQUIRE {required}")
        shown = "REQUIRE " + required.replace(" AND", "")
        assert shown in ask(root, "SHOW CREATE USER s")[0][0]
        with contextlib.nullcontext() if works_so else refused(1045):
            server.connect(user="s", ssl=mine).close()
        for context in (verify(server.data / "ca.pem"), None):
            with refused(1045):
                server.connect(user="s", ssl=context, ssl_disabled=context is None)
    assert ask(root, "SELECT ssl_type, ssl_cipher, x509_issuer, x509_subject FROM mysql.user "
               "WHERE user = 's'") == (("SPECIFIED", "", "/CN=else", subject),)
    ask(root, "SET GLOBAL connection_control_failed_connections_threshold = DEFAULT")


def seen(server):
    """The certificate that a new connection sees."""
    connection = server.connect(ssl=blindly())
    certificate = connection._sock.getpeercert(binary_form=True)
    connection.close()
    return certificate


def offers(port):
    """Whether the greeting offers TLS."""
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        greeting = plain.recv(4096)
    after_version = greeting.index(b"\0", 5) + 1
    low = struct.unpack_from("<H", greeting, after_version + 4 + 8 + 1)[0]
    return bool(low & 0x800)


def check_reload(server, others):
    """A new certificate is for new connections; a bad one for none."""
    certificate, key = others.issue("renewed")
    admin, before = server.connect(ssl=blindly()), seen(server)
    ask(admin, f"SET GLOBAL ssl_cert = '{certificate}', GLOBAL ssl_key = '{key}', "
        f"GLOBAL ssl_ca = '{others.path}'")
    assert seen(server) == before, "nothing was reloaded yet"
    ask(admin, "ALTER INSTANCE RELOAD TLS")
    assert seen(server) != before
    server.connect(host="localhost", ssl=verify(others.path)).close()
    with refused(2003):
        server.connect(ssl=verify(server.data / "ca.pem"))
    assert ask(admin, "SELECT 1") == ((1,),), "who was there stays"
    status = dict(ask(admin, "SHOW GLOBAL STATUS LIKE 'Current_tls%'"))
    assert status["Current_tls_cert"] == str(certificate)
    after = seen(server)
    for bad, why in (("/nowhere.pem", "Unable to get certificate"),
                     (str(key), "Unable to get certificate"),
                     ("server-cert.pem", "Private key does not match")):
        ask(admin, f"SET GLOBAL ssl_cert = '{bad}'")
        with refused(3888, "SSL library error: " + why):
            ask(admin, "ALTER INSTANCE RELOAD TLS")
        assert seen(server) == after
    with refused(3888, "Unable to get private key"):
        ask(admin, f"SET GLOBAL ssl_cert = '{certificate}', GLOBAL ssl_key = NULL")
        ask(admin, "ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main")
    with refused(1231):
        ask(admin, "SET GLOBAL tls_version = 'TLSv1.1'")
    for refusal in ("ssl_capath = '/tmp'", "ssl_cipher = 'AES'", "ssl_crl = 'x'",
                    "tls_ciphersuites = 'x'", "ssl_session_cache_mode = ON"):
        with refused(1235):
            ask(admin, f"SET GLOBAL {refusal}")
    assert offers(server.port)
    ask(admin, "ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR")
    assert not offers(server.port)
    server.connect(ssl_disabled=True).close()
    ask(admin, "SET GLOBAL ssl_cert = 'server-cert.pem', GLOBAL ssl_key = 'server-key.pem', "
        "GLOBAL ssl_ca = 'ca.pem', GLOBAL tls_version = 'TLSv1.3'")
    ask(admin, "ALTER INSTANCE RELOAD TLS")
    assert seen(server) == before
    with contextlib.suppress(pymysql.MySQLError, OSError):
        context = blindly()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        server.connect(ssl=context)
        raise AssertionError("TLSv1.2 was taken")
    ask(admin, "SET GLOBAL tls_version = 'TLSv1.2,TLSv1.3'")
    ask(admin, "ALTER INSTANCE RELOAD TLS")
    admin.close()


def why_not(*flags):
    """Why a server with these flags does not start."""
    with tempfile.TemporaryDirectory() as data:
        command = [BINARY, "serve", "--port", str(free_port()), "--datadir", data,
                   "--coordinator", "off", *flags]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode != 0
        return ended.stderr


def check_settings(others):
    certificate, key = map(str, others.issue("given"))
    _, other_key = map(str, others.issue("another"))
    for flags, told in ((["--ssl-cert", certificate], "ssl_key: no file is given"),
                        (["--ssl-key", key], "ssl_cert: no file is given"),
                        (["--ssl-ca", str(others.path)], "ssl_cert: no file is given"),
                        (["--ssl-cert", certificate, "--ssl-key", other_key], "another certificate"),
                        (["--ssl-cert", "/nowhere.pem", "--ssl-key", key], "/nowhere.pem"),
                        (["--ssl-cert", "in-data.pem", "--ssl-key", key], "in-data.pem"),
                        (["--tls-version", "TLSv1.1"], "TLSv1.1"),
                        (["--tls-version", "TLSv1.2,SSLv3"], "SSLv3")):
        why = why_not(*flags)
        assert told in why and "tls-version" in why.replace("_", "-"), why
    with Cohort("--tls-version", "") as server:
        assert not offers(server.port)
        assert not (server.data / "ca.pem").exists()
        server.connect(ssl_disabled=True).close()
    with Cohort("--require-secure-transport", "--tls-version", "TLSv1.3") as server:
        made = {name: (server.data / name).read_bytes() for name in FILES}
        with refused(3159):
            server.connect(ssl_disabled=True)
        server.connect(ssl=verify(server.data / "ca.pem")).close()
        assert server.stop() == 0
        server.start()
        assert made == {name: (server.data / name).read_bytes() for name in FILES}, "they stay"
        assert server.stop() == 0
        (server.data / "server-key.pem").unlink()
        try:
            server.start()
            raise AssertionError("it starts without its key")
        except RuntimeError as error:
            assert "server-key.pem" in str(error), error
    # The administrators' port has the same TLS.
    port = free_port()
    with Cohort("--admin-address", "127.0.0.1", "--admin-port", str(port)) as server:
        with server.connect(port=port, ssl=verify(server.data / "ca.pem")) as admin:
            assert ask(admin, CIPHER)[0][1].startswith("TLS_")
            ask(admin, "SET GLOBAL require_secure_transport = ON")
        with refused(3159):
            server.connect(port=port, ssl_disabled=True)
    # Names in the file are relative to the data directory.
    with tempfile.TemporaryDirectory() as directory:
        config = pathlib.Path(directory) / "cohort.toml"
        config.write_text(f'ssl-cert = "{certificate}"\nssl_key = "{key}"\n'
                          'require_secure_transport = true\ntls_version = "TLSv1.2"\n')
        with Cohort("--config", str(config)) as server:
            connection = server.connect(ssl=verify(others.path))
            assert ask(connection, "SHOW STATUS LIKE 'Ssl_version'")[0][1] == "TLSv1.2"
            connection.close()
            with refused(3159):
                server.connect(ssl_disabled=True)


def check_coordinator():
    """A coordinator keeps its state in another server, over TLS and no other way."""
    with Cohort("--require-secure-transport") as store:
        place = f"mysql://root@localhost:{store.port}/coordination?ssl-mode="
        for mode, ca in (("REQUIRED", ""), ("VERIFY_CA", store.data / "ca.pem"),
                         ("VERIFY_IDENTITY", store.data / "ca.pem")):
            os.environ["COHORT_COORDINATOR_STORE"] = place + mode + (f"&ssl-ca={ca}" if ca else "")
            port = free_port()
            with Cohort("--coordinator", "on", "--coordinator-port", str(port)) as server:
                dtm = f"http://127.0.0.1:{port}/api/dtmsvr"
                body = {"gid": mode, "trans_type": "msg", "steps": [], "payloads": []}
                made = requests.post(dtm + "/prepare", json=body, timeout=20)
                assert made.status_code == 200, made.text
                kept = requests.get(dtm + "/query", params={"gid": mode}, timeout=20).json()
                assert kept["transaction"]["status"] == "prepared", kept
                assert server.stop() == 0
        del os.environ["COHORT_COORDINATOR_STORE"]
        with store.connect(ssl=blindly()) as root:
            tables = ask(root, "SHOW TABLES FROM coordination")
            assert tables, "the state is there"
            assert int(ask(root, "SHOW STATUS LIKE 'Ssl_finished_accepts'")[0][1]) > 3


def main():
    with Clients() as clients, tempfile.TemporaryDirectory() as directory:
        others = Authority(pathlib.Path(directory), "others")
        with Cohort() as server:
            check_made(server, clients)
            check_distrust(server, clients, others)
            check_accounts(server, clients, others)
            check_reload(server, others)
            assert server.stop() == 0
        check_settings(others)
    check_coordinator()
    print("tls: certificates, modes, accounts, reloads and refusals")


if __name__ == "__main__":
    main()
