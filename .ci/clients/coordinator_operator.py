#!/usr/bin/env python3
"""What an operator does with `cohort tx`: sees who is down, looks at one, changes many."""

import http.server
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import threading
import time

import requests

from cohort import BINARY, Cohort, free_port
from coordinator_tls import TOKEN, certificate


class Service(http.server.ThreadingHTTPServer):
    """Answers with `status` whatever it is asked, and remembers what that was."""

    daemon_threads = True

    def __init__(self, status):
        self.status, self.asked = status, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.host = f"127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.asked.append((self.path, body))
        self.send_response(self.server.status)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"gone" if self.server.status != 200 else b"done")

    do_GET = do_POST


class Operator:
    """Runs `cohort tx`."""

    def __init__(self, url, **environment):
        self.url = url
        self.environment = {**os.environ, "USER": "ann", **environment}

    def run(self, *words, code=0):
        """What a command prints; it ends with this code."""
        done = subprocess.run([BINARY, "tx", "--url", self.url, *words], env=self.environment,
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def answer(self, what, *words):
        """Runs a command on a terminal, where a question is answered so."""
        own, its = pty.openpty()
        process = subprocess.Popen([BINARY, "tx", "--url", self.url, *words], text=True, stdin=its,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment)
        os.write(own, what.encode() + b"\n")
        out, error = process.communicate(timeout=60)
        os.close(own)
        os.close(its)
        return process.returncode, out, error

    def until(self, wanted, *words):
        """Runs a command until what it prints has all of this."""
        until = time.monotonic() + 60
        while True:
            printed = self.run(*words)
            if all(part in printed for part in wanted):
                return printed
            assert time.monotonic() < until, (wanted, printed)
            time.sleep(0.05)


def submit(port, gid, *services, **fields):
    """A saga with a step at each of these."""
    steps = [{"action": f"{s.url}/a", "compensate": f"{s.url}/c"} for s in services]
    body = {"gid": gid, "trans_type": "saga", "retry_interval": 600, "steps": steps,
            "payloads": ["{}"] * len(steps), **fields}
    answer = requests.post(f"http://127.0.0.1:{port}/api/dtmsvr/submit", json=body, timeout=30)
    assert answer.status_code == 200, answer.text


def check_list(operator, port):
    """Who is waited for, by whom, and since when."""
    up, bank, shop = Service(200), Service(500), Service(503)
    for number in range(3):
        submit(port, f"bank-{number}", up, bank)
    submit(port, "shop-0", shop)
    # A call under way may be further than the list says: until nobody waits for the first service.
    printed = up.host
    while up.host in printed:
        printed = operator.until(["status 500: gone", "status 503: gone"],
                                 "list", "--group-by", "host")
    rows = [line.split() for line in printed.splitlines()]
    assert rows[0][:3] == ["COUNT", "DEAD", "OLDEST"], printed
    assert [rows[1][0], rows[1][3]] == ["3", bank.host], printed
    assert [rows[2][0], rows[2][3], rows[2][4]] == ["1", shop.host, "shop-0"], printed
    printed = operator.run("list", "--host", bank.host, "--limit", "2")
    assert "2 of 3 shown" in printed and f"02 action {bank.host}" in printed, printed
    assert "shop-0" in operator.run("list", "--prefix", "shop-", "--since", "1h")
    assert "shop-0" not in operator.run("list", "--unfinished", "--until", "1h")
    listed = json.loads(operator.run("list", "--url-part", shop.url, "--json"))
    assert [one["gid"] for one in listed["transactions"]] == ["shop-0"], listed
    said = operator.run("list", "--since", "yesterday", code=1)
    assert "since: yesterday: a time such as" in said, said
    return bank


def check_change(operator, bank):
    """Nothing changes many that was not confirmed."""
    bank.status = 200
    before = len(bank.asked)
    printed = operator.run("retry", "--host", bank.host, "--dry-run")
    assert printed.count("would    ") == 3 and "3 transactions (3 saga submitted)" in printed, printed
    said = operator.run("retry", "--host", bank.host, "--why", "it is back", code=1)
    assert "retry would change 3 transactions (3 saga submitted)" in said, said
    assert "--yes" in said and "--dry-run" in said, said
    code, _, said = operator.answer("n", "retry", "--host", bank.host, "--why", "it is back")
    assert code == 1 and "3 transactions (3 saga submitted)? [y/N]" in said, said
    assert "nothing was changed" in said, said
    assert len(bank.asked) == before
    assert "would    bank-0  saga submitted" in operator.run("retry", "bank-0", "--dry-run")
    code, printed, _ = operator.answer("y", "retry", "--prefix", "bank-", "--limit", "2", "--why", "back")
    assert code == 0 and printed.count("done ") == 2, printed
    printed = operator.run("retry", "--prefix", "bank-", "--why", "back", "--yes")
    assert "bank-0" in printed, printed
    for number in range(3):
        operator.until(["succeed"], "list", "--prefix", f"bank-{number}")
    said = operator.run("retry", "bank-0", "--why", "back", code=1)
    assert "it has ended: succeed" in said, said
    printed = operator.run("compensate", "--prefix", "bank-", "--why", "a mistake", "--yes")
    assert printed.count("done ") == 3, printed
    assert "--why" in operator.run("compensate", "bank-0", code=2)


def check_pause(operator, port):
    """What is paused is not called, and its timeline tells who paused it."""
    away = Service(500)
    submit(port, "paused", away, payloads=['{"amount": 30}'])
    operator.until(["status 500: gone"], "list", "--prefix", "paused")
    operator.run("pause", "--host", away.host, "--why", "the bank moves", "--yes")
    assert "submitted, paused" in operator.run("list", "--paused")
    away.status = 200
    before = len(away.asked)
    assert "it is paused: resume it" in operator.run("retry", "paused", "--why", "why not", code=1)
    assert len(away.asked) == before
    printed = operator.run("show", "paused", "--payloads")
    for part in ("known as submitted", "by submit", "pause", "by ann", "the bank moves",
                 "call action", "error", '{"amount": 30}'):
        assert part in printed, (part, printed)
    assert '"amount"' not in operator.run("show", "paused")
    operator.run("resume", "--paused", "--why", "it has moved", "--yes")
    # Its next call is far away still.
    operator.run("retry", "paused", "--why", "it has moved")
    operator.until(["succeed"], "list", "--prefix", "paused")
    assert "submitted -> succeed" in operator.run("show", "paused")


def check_authority():
    """The certificate of a coordinator, and its token."""
    with tempfile.TemporaryDirectory() as directory:
        mine, key = certificate(pathlib.Path(directory))
        port = free_port()
        with Cohort("--coordinator-port", str(port), "--coordinator-token", TOKEN,
                    "--coordinator-ssl-cert", str(mine), "--coordinator-ssl-key", str(key)):
            operator = Operator(f"https://localhost:{port}", COHORT_TX_TOKEN=TOKEN)
            assert "certificate" in operator.run("list", code=1)
            assert "GID" in operator.run("list", "--ca", str(mine))
            said = operator.run("list", "--ca", str(key), code=1)
            assert str(key) in said and "no certificate is in it" in said, said
            said = operator.run("list", "--ca", directory + "/none", code=1)
            assert "/none" in said, said
            operator.url = f"http://localhost:{port}"
            assert "--ca is for https" in operator.run("list", "--ca", str(mine), code=1)
            operator = Operator(f"https://localhost:{port}", COHORT_TX_TOKEN="another")
            said = operator.run("list", "--ca", str(mine), code=1)
            assert "token" in said, said


def main():
    port = free_port()
    with Cohort("--coordinator-port", str(port)):
        operator = Operator(f"http://127.0.0.1:{port}")
        bank = check_list(operator, port)
        check_change(operator, bank)
        check_pause(operator, port)
    check_authority()
    print("coordinator_operator: passed", flush=True)


if __name__ == "__main__":
    main()
