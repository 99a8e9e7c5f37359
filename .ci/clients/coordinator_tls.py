#!/usr/bin/env python3
"""The coordinator with a certificate and a token: both ports want both, branches may have https, and
what may be called can be restricted.
"""

import datetime
import http.server
import ipaddress
import os
import pathlib
import ssl
import subprocess
import tempfile
import threading

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cohort import BINARY, Cohort, free_port

TOKEN = "a token"


def certificate(directory):
    """A certificate for this machine that trusts itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(key, hashes.SHA256()))
    paths = directory / "certificate.pem", directory / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    return paths


class Branch(http.server.BaseHTTPRequestHandler):
    """Everything succeeds."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


def serve_https(paths):
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Branch)
    service.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    service.socket = context.wrap_socket(service.socket, server_side=True)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    return service.server_port


def grpc(port, paths, *flags):
    """Calls NewGid with curl; returns what came back, with the status if it is in the headers:
    that of a success comes after the message, where curl does not show it."""
    command = ["curl", "-sS", "--max-time", "10", "--cacert", paths[0], "--http2",
               "-H", "content-type: application/grpc", "-H", "te: trailers", *flags,
               "--data-binary", "@-", "-D", "-", f"https://127.0.0.1:{port}/dtmgimp.Dtm/NewGid"]
    done = subprocess.run(command, input=bytes(5), capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_ports(port, grpc_port, paths):
    dtm, trust = f"https://127.0.0.1:{port}/api/dtmsvr", {"verify": str(paths[0])}
    for headers in ({}, {"authorization": "Bearer a toke"}, {"authorization": TOKEN}):
        assert requests.get(dtm + "/newGid", headers=headers, **trust).status_code == 401
    headers = {"authorization": "Bearer " + TOKEN}
    assert len(requests.get(dtm + "/newGid", headers=headers, **trust).json()["gid"]) == 22
    try:
        requests.get(dtm.replace("https", "http") + "/newGid", timeout=5)
        raise AssertionError("it speaks without TLS")
    except requests.ConnectionError:
        pass
    bearer = ("-H", "authorization: Bearer " + TOKEN)
    assert b"grpc-status: 16" in grpc(grpc_port, paths), "no token: UNAUTHENTICATED"
    # A frame of 24 bytes: field 1, 22 characters.
    head, frame, gid = grpc(grpc_port, paths, *bearer).partition(b"\0\0\0\0\x18\n\x16")
    assert frame and len(gid) == 22, (head, gid)

    def saga(gid, url):
        body = {"gid": gid, "trans_type": "saga", "wait_result": True, "payloads": ["{}"],
                "steps": [{"action": url, "compensate": ""}]}
        return requests.post(dtm + "/submit", json=body, headers=headers, **trust)
    branch = serve_https(paths)
    answer = saga("tls", f"https://localhost:{branch}/x")
    assert answer.status_code == 200, answer.text
    answer = saga("elsewhere", f"https://127.0.0.1:{branch}/x")
    assert answer.status_code == 400 and "coordinator-branch-hosts" in answer.text, answer.text


def refused(*flags):
    """Why a server with these flags does not start."""
    with tempfile.TemporaryDirectory() as data:
        command = [BINARY, "serve", "--port", str(free_port()), "--datadir", data, "--coordinator",
                   "on", "--coordinator-port", "0", "--coordinator-grpc-port", "0", *flags]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode != 0
        return ended.stderr


def main():
    with tempfile.TemporaryDirectory() as directory:
        paths = certificate(pathlib.Path(directory))
        os.environ["SSL_CERT_FILE"] = str(paths[0])
        port, grpc_port = free_port(), free_port()
        with Cohort("--coordinator", "on", "--coordinator-port", str(port),
                    "--coordinator-grpc-port", str(grpc_port), "--coordinator-token", TOKEN,
                    "--coordinator-ssl-cert", str(paths[0]), "--coordinator-ssl-key",
                    str(paths[1]), "--coordinator-branch-hosts", "localhost") as server:
            check_ports(port, grpc_port, paths)
            assert server.stop() == 0
        assert "--coordinator-token" in refused("--coordinator-address", "0.0.0.0")
        assert "give both" in refused("--coordinator-ssl-cert", str(paths[0]))
        assert "key.pem" in refused("--coordinator-ssl-cert", str(paths[0]),
                                    "--coordinator-ssl-key", "/nowhere/key.pem")
        assert "10.0.0.0/99" in refused("--coordinator-branch-hosts", "10.0.0.0/99")
    print("coordinator_tls: certificates, tokens and restricted branches")


if __name__ == "__main__":
    main()
