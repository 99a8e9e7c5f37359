#!/usr/bin/env python3
"""DTM's own Python client (PyPI dtmcli) against the coordinator: sagas, TCC and two-phase messages
between accounts, with DTM's barrier in the same Cohort, and kill -9 on the way. At the end every
global transaction has ended, none is half done, and the sum of all accounts is what it was.
"""

import http.server
import json
import signal
import subprocess
import threading
import time
import urllib.parse

import pymysql
import requests
from dtmcli import barrier, msg, saga, tcc, utils

from cohort import BINARY, Cohort, free_port

ACCOUNTS, TRANSFERS, CLIENTS = 20, 60, 6
BARRIER = """CREATE TABLE dtm_barrier.barrier (
    id BIGINT(22) PRIMARY KEY AUTO_INCREMENT, trans_type VARCHAR(45) DEFAULT '',
    gid VARCHAR(128) DEFAULT '', branch_id VARCHAR(128) DEFAULT '', op VARCHAR(45) DEFAULT '',
    barrier_id VARCHAR(45) DEFAULT '', reason VARCHAR(45) DEFAULT '' COMMENT 'the branch type',
    create_time DATETIME DEFAULT now(), update_time DATETIME DEFAULT now(),
    KEY (create_time), KEY (update_time), UNIQUE KEY (gid, branch_id, op, barrier_id))"""


# DTM's client prints each of its statements and the trace of each refusal.
utils.print = barrier.print = lambda *_: None
tcc.traceback.print_exception = lambda *_, **__: None


class Bank(http.server.BaseHTTPRequestHandler):
    """The participant: each path moves money, under DTM's barrier."""

    protocol_version = "HTTP/1.1"
    server_under_test = None

    def log_message(self, *_):
        pass

    def do_POST(self):
        url = urllib.parse.urlparse(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")
        try:
            status = self.act(url.path, query, body)
        except utils.DTMFailureError:
            status = 409
        except (pymysql.MySQLError, OSError):
            status = 500
        text = b'{"dtm_result":"FAILURE"}' if status == 409 else b'{"dtm_result":"SUCCESS"}'
        text = b"later" if status == 500 else text
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST

    def act(self, path, query, body):
        connection = Bank.server_under_test.connect(database="bank")
        try:
            cursor = connection.cursor()
            guard = barrier.BranchBarrier(
                query["trans_type"], query["gid"], query["branch_id"], query["op"])
            if path == "/query":
                guard.query_prepared(cursor)
                return 200
            if path in ("/refuse", "/try-refuse"):
                return 409
            if path == "/nothing":
                return 200
            sign = {"/out": -1, "/in": 1, "/out-undo": 1, "/in-undo": -1}[path]

            def move(cursor):
                cursor.execute("UPDATE account SET balance = balance + %s WHERE id = %s",
                               (sign * body["amount"], body["out" if "out" in path else "in"]))
            guard.call(cursor, move)
            return 200
        finally:
            connection.close()


def transfer(dtm, bank, number):
    """One global transaction; every fourth is refused on the way."""
    body = {"amount": 1 + number % 5, "out": number % ACCOUNTS, "in": (number + 7) % ACCOUNTS}
    gid, refused = f"g{number}", number % 4 == 0
    kind = number % 3
    if kind == 0:
        steps = saga.Saga(dtm, gid)
        steps.trans_base.retry_interval = 1
        steps.add(body, bank + "/out", bank + "/out-undo")
        steps.add(body, bank + ("/refuse" if refused else "/in"), bank + "/in-undo")
        steps.submit()
    elif kind == 1:
        def work(t):
            t.call_branch(body, bank + "/nothing", bank + "/out", bank + "/nothing")
            try_url = "/try-refuse" if refused else "/nothing"
            t.call_branch(body, bank + try_url, bank + "/in", bank + "/nothing")
        tcc.tcc_global_transaction(dtm, gid, work)
    else:
        message = msg.Msg(dtm, gid)
        message.trans_base.retry_interval = message.trans_base.timeout_to_fail = 1
        message.add(body, bank + "/in")

        def pay(cursor):
            if refused:
                raise utils.DTMFailureError("refused")
            cursor.execute("UPDATE account SET balance = balance - %s WHERE id = %s",
                           (body["amount"], body["out"]))
        connection = Bank.server_under_test.connect(database="bank")
        try:
            message.do_and_submit_db(bank + "/query", connection.cursor(), pay)
        except utils.DTMFailureError:
            pass
        finally:
            connection.close()


def clients(dtm, bank, first, done):
    for number in range(first, TRANSFERS, CLIENTS):
        try:
            transfer(dtm, bank, number)
        except (pymysql.MySQLError, OSError, requests.RequestException, Exception):
            # Nobody knows what became of it; the coordinator will bring it to an end.
            time.sleep(0.2)
        done.append(number)


def operate(port):
    """The command line for operators: what happened to a saga, and its undoing by hand."""
    def tx(*arguments):
        command = [BINARY, "tx", "--url", f"http://127.0.0.1:{port}", "--operator", "ci", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    listed = tx("list", "--status", "succeed", "--trans-type", "saga")
    # Below the names of the columns.
    gid = listed.splitlines()[1].split()[0]
    assert "success" in tx("show", gid), "a timeline has calls"
    assert tx("compensate", gid, "--why", "a test") == f"done     {gid}\n"
    until = time.monotonic() + 30
    while gid not in tx("list", "--status", "failed", "--trans-type", "saga"):
        assert time.monotonic() < until, f"{gid} is never undone"
        time.sleep(0.1)
    timeline = [line.split()[1:] for line in tx("show", gid).splitlines()]
    assert ["compensate", "by", "ci", "succeed", "->", "aborting", "a", "test"] in timeline
    metrics = requests.get(f"http://127.0.0.1:{port}/api/metrics", timeout=5).text
    assert 'dtm_transaction_process_total{model="saga",status="fail"}' in metrics


def main():
    port = free_port()
    with Cohort("--coordinator", "on", "--coordinator-port", str(port)) as server:
        Bank.server_under_test = server
        cursor = server.connect(autocommit=True).cursor()
        for statement in ("CREATE DATABASE bank", "CREATE DATABASE dtm_barrier", BARRIER,
                          "CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL)"):
            cursor.execute(statement)
        for account in range(ACCOUNTS):
            cursor.execute("INSERT INTO bank.account VALUES (%s, 1000)", (account,))
        service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bank)
        service.daemon_threads = True
        threading.Thread(target=service.serve_forever, daemon=True).start()
        bank, dtm = f"http://127.0.0.1:{service.server_port}", f"http://127.0.0.1:{port}/api/dtmsvr"
        assert len(utils.gen_gid(dtm)) == 22
        done = []
        threads = [threading.Thread(target=clients, args=(dtm, bank, i, done)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for share in (3, 2):
            while len(done) < TRANSFERS // share:
                time.sleep(0.02)
            server.stop(signal.SIGKILL)
            server.start()
        for thread in threads:
            thread.join(120)
        cursor = server.connect(autocommit=True).cursor()
        until = time.monotonic() + 90
        while True:
            cursor.execute("SELECT gid, status FROM cohort.global_transactions"
                           " WHERE status NOT IN ('succeed', 'failed')")
            unfinished = cursor.fetchall()
            if not unfinished:
                break
            assert time.monotonic() < until, f"never ended: {unfinished}"
            time.sleep(0.5)
        cursor.execute("SELECT SUM(balance) FROM bank.account")
        assert cursor.fetchone()[0] == 1000 * ACCOUNTS, "money came or went"
        cursor.execute("SELECT trans_type, status, COUNT(*) FROM cohort.global_transactions"
                       " GROUP BY trans_type, status ORDER BY trans_type, status")
        ended = cursor.fetchall()
        kinds = {(kind, status) for kind, status, _ in ended}
        assert {("saga", "succeed"), ("saga", "failed"), ("tcc", "succeed"), ("msg", "succeed")} <= kinds
        operate(port)
        print(f"dtm_python: {ended}, the sum of all accounts is what it was")


if __name__ == "__main__":
    main()
