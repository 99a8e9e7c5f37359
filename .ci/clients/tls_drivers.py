#!/usr/bin/env python3
"""TLS with the drivers that programs use: Connector/J and, of Node.js, mysql2, in each of their modes.

  .ci/clients/tls_drivers.py CLASSPATH-FILE NODE_MODULES

One server has the certificate that it makes, another one a certificate for another host, a third one no TLS. Each
driver verifies as much as it is told: nothing, that it is encrypted, who has signed, and the name; it shows a
certificate of its own where an account wants one; and it compresses below all that.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from cohort import Cohort
from tls import Authority

HERE = pathlib.Path(__file__).parent / "tls_drivers"
USER, PASSWORD, WORD = "driver", "Right-horse-7", "keys-of-a-store"
LONG, LONGER = len("a tall tale ") * 200_000, 3_000_000


class Stores:
    """Certificates in the forms that the drivers read."""

    def __init__(self, room, server):
        self.room, self.ca = room, server.data / "ca.pem"
        self.client = server.data / "client-cert.pem", server.data / "client-key.pem"
        self.other = Authority(room, "other")

    def trust(self, ca):
        """A trust store for Java."""
        certificate = x509.load_pem_x509_certificate(ca.read_bytes())
        return self.put(f"{ca.parent.name}-{ca.stem}-trust.p12", pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(certificate, b"ca")], serialization.BestAvailableEncryption(WORD.encode())))

    def keys(self, certificate, key):
        """A key store for Java."""
        certificate = x509.load_pem_x509_certificate(certificate.read_bytes())
        key = serialization.load_pem_private_key(key.read_bytes(), None)
        return self.put("keys.p12", pkcs12.serialize_key_and_certificates(
            b"client", key, certificate, None, serialization.BestAvailableEncryption(WORD.encode())))

    def put(self, name, data):
        (self.room / name).write_bytes(data)
        return self.room / name


class Case:
    """A connection that works, encrypted or not, or fails for a reason, which the driver words."""

    def __init__(self, mode, expected, **more):
        self.mode, self.expected = mode, expected
        self.port, self.host = more.pop("port"), more.pop("host", "localhost")
        self.ca, self.client = more.pop("ca", None), more.pop("client", None)
        self.user, self.compressed = more.pop("user", USER), more.pop("compressed", False)
        assert not more, more

    def url(self, stores):
        """As Connector/J takes it."""
        given = {"user": self.user, "password": PASSWORD, "sslMode": self.mode, "allowPublicKeyRetrieval": "true",
                 "useCompression": str(self.compressed).lower(), "connectTimeout": 20_000, "socketTimeout": 20_000}
        if self.ca:
            given |= {"trustCertificateKeyStoreUrl": f"file:{stores.trust(self.ca)}",
                      "trustCertificateKeyStoreType": "PKCS12", "trustCertificateKeyStorePassword": WORD}
        if self.client:
            given |= {"clientCertificateKeyStoreUrl": f"file:{stores.keys(*self.client)}",
                      "clientCertificateKeyStoreType": "PKCS12", "clientCertificateKeyStorePassword": WORD}
        return f"jdbc:mysql://{self.host}:{self.port}/?{urllib.parse.urlencode(given)}"

    def options(self, _):
        """As mysql2 takes them. It has no mode that may do without TLS."""
        given = {"host": self.host, "port": self.port, "user": self.user, "password": PASSWORD,
                 "compress": self.compressed, "connectTimeout": 20_000}
        if self.mode != "DISABLED":
            ssl = {"rejectUnauthorized": self.mode.startswith("VERIFY"), "verifyIdentity": self.mode == "VERIFY_IDENTITY"}
            if self.ca:
                ssl["ca"] = str(self.ca)
            if self.client:
                ssl["cert"], ssl["key"] = map(str, self.client)
            given["ssl"] = ssl
        return json.dumps(given)

    def check(self, driver, line):
        told = line.split("\t")
        if self.expected in ("TLS", "plain"):
            assert told[0] == "ok", (driver, vars(self), line)
            _, version, compression, length, user, sent = told
            assert version == {"TLS": "TLSv1.3", "plain": ""}[self.expected], (driver, vars(self), line)
            assert compression == ("ON" if self.compressed else "OFF"), (driver, vars(self), line)
            assert (int(length), user, int(sent)) == (LONG, f"{self.user}@%", LONGER), (driver, vars(self), line[:99])
        else:
            words = REASONS[self.expected][driver]
            assert told[0] == "failed" and words in line, (driver, vars(self), line)


# How drivers say why they do not connect.
REASONS = {
    "stranger": {"Connector/J": "Path does not chain with any of the trust anchors", "mysql2": "unable to verify the first certificate"},
    "name": {"Connector/J": "Server identity verification failed", "mysql2": "does not match certificate's altnames"},
    "denied": {"Connector/J": "Access denied for user 'certified'", "mysql2": "ER_ACCESS_DENIED_ERROR 1045"},
    "refused": {"Connector/J": "Access denied for user 'encrypted'", "mysql2": "ER_ACCESS_DENIED_ERROR 1045"},
    "no TLS": {"Connector/J": "SSL Connection required, but not provided by server",
               "mysql2": "Server does not support secure connection"},
}


def cases(stores, own, named, plain):
    """`own` has the certificate that it has made, `named` one for another host, `plain` none."""
    ca, other = stores.ca, stores.other.path
    modes = ("PREFERRED", "REQUIRED")
    yield Case("DISABLED", "plain", port=own)
    for mode in modes:
        yield Case(mode, "TLS", port=own)
        # They do not look who has signed.
        yield Case(mode, "TLS", port=named)
    yield Case("PREFERRED", "plain", port=plain)
    for mode in ("REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"):
        yield Case(mode, "no TLS", port=plain, ca=ca)
    for mode in ("VERIFY_CA", "VERIFY_IDENTITY"):
        yield Case(mode, "TLS", port=own, ca=ca)
        yield Case(mode, "stranger", port=own, ca=other)
        yield Case(mode, "stranger", port=own)
        yield Case(mode, "stranger", port=named, ca=ca)
    yield Case("VERIFY_IDENTITY", "TLS", port=own, ca=ca, host="127.0.0.1")
    yield Case("VERIFY_CA", "TLS", port=named, ca=other)
    yield Case("VERIFY_IDENTITY", "name", port=named, ca=other)
    # An account that wants a certificate, and one that wants TLS.
    yield Case("VERIFY_CA", "TLS", port=own, ca=ca, client=stores.client, user="certified")
    yield Case("REQUIRED", "TLS", port=own, client=stores.client, user="certified")
    yield Case("VERIFY_CA", "denied", port=own, ca=ca, user="certified")
    yield Case("DISABLED", "denied", port=own, user="certified")
    yield Case("REQUIRED", "TLS", port=own, user="encrypted")
    yield Case("DISABLED", "refused", port=own, user="encrypted")
    for mode, expected in (("DISABLED", "plain"), ("REQUIRED", "TLS"), ("VERIFY_IDENTITY", "TLS")):
        yield Case(mode, expected, port=own, ca=ca, compressed=True)
    yield Case("VERIFY_CA", "TLS", port=own, ca=ca, client=stores.client, user="certified", compressed=True)


def run(driver, command, wanted, form, stores):
    lines = [form(case, stores) for case in wanted]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120)
    told = done.stdout.splitlines()
    assert len(told) == len(wanted), (driver, done.stdout[-2000:], done.stderr[-2000:])
    for case, line in zip(wanted, told):
        case.check(driver, line)
    works = sum(case.expected in ("TLS", "plain") for case in wanted)
    print(f"tls_drivers: {driver} connects in {works} ways, and refuses or is refused in {len(wanted) - works}", flush=True)


def accounts(server):
    with server.connect() as root, root.cursor() as cursor:
        for user, required in ((USER, "NONE"), ("certified", "X509"), ("encrypted", "SSL")):
            cursor.execute(f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}' REQUIRE {required}")


def main(classpath, modules):
    with tempfile.TemporaryDirectory(prefix="tls-drivers-") as room, Cohort() as own, \
            Cohort("--tls-version", "") as plain:
        stores = Stores(pathlib.Path(room), own)
        certificate, key = stores.other.issue("named", names=("db.example",))
        with Cohort("--ssl-cert", str(certificate), "--ssl-key", str(key)) as named:
            for server in (own, named, plain):
                accounts(server)
            wanted = list(cases(stores, own.port, named.port, plain.port))
            classes = pathlib.Path(classpath).read_text().strip()
            run("Connector/J", ["java", "-cp", classes, HERE / "TlsCheck.java"], wanted, Case.url, stores)
            # mysql2 has no PREFERRED.
            wanted = [case for case in wanted if case.mode != "PREFERRED"]
            run("mysql2", ["node", HERE / "check.js", modules], wanted, Case.options, stores)
            for server in (own, named, plain):
                assert server.stop() == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
