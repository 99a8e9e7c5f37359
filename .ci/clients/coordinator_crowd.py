#!/usr/bin/env python3
"""What one client sends, or does not send, keeps nobody else out: silent connections, services that
hang, transactions that wait for them, and JSON of nothing but small values, with few files to open.
"""

import concurrent.futures
import http.client
import http.server
import json
import signal
import socket
import threading
import time

import pymysql

from cohort import Cohort, free_port

FILES = 700
# More than the coordinator drives at once of what it takes up.
WAITING = 6_200


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    most, now, lock, let_go = 0, 0, threading.Lock(), threading.Event()

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.startswith("/hang"):
            with Service.lock:
                Service.now += 1
                Service.most = max(Service.most, Service.now)
            Service.let_go.wait(60)
            with Service.lock:
                Service.now -= 1
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *_):
        """Its client was killed, as it should be."""


def service():
    server = Server(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def ask(port, method, path, body=None):
    """Status and JSON of an answer that comes soon."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    body = body if body is None or isinstance(body, bytes) else json.dumps(body)
    client.request(method, path, body, {"content-type": "application/json"})
    answer = client.getresponse()
    found = answer.status, json.loads(answer.read())
    client.close()
    return found


def submit(port, gid, urls, **options):
    steps = [{"action": url, "compensate": ""} for url in urls]
    return ask(port, "POST", "/api/dtmsvr/submit",
               {"gid": gid, "trans_type": "saga", "steps": steps, **options})


def wait_for(port):
    """The coordinator listens after the database does."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 10).close()
        except ConnectionRefusedError:
            time.sleep(0.02)


def check_alive(cohort, port, gid, url):
    assert submit(port, gid, [url + "/ok"], wait_result=True)[0] == 200
    pymysql.connect(host="127.0.0.1", port=cohort.port, user="root", connect_timeout=10).close()


def check_silence(cohort, port, grpc, url):
    """More connections than there are places for, none of which says anything."""
    hello = {port: b"GET / HTTP/1.1\r\n", grpc: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}
    silent = []
    for number in range(FILES // 2):
        for to, first in hello.items():
            silent.append(socket.create_connection(("127.0.0.1", to), 10))
            silent[-1].sendall(first if number % 2 else b"")
    check_alive(cohort, port, "silence", url)
    for one in silent:
        one.close()


def check_hanging(cohort, port, url, other):
    """One service hangs: others are called, and there are files for all else."""
    hanging = [url + "/hang"] * 400
    assert submit(port, "hanging", hanging, request_timeout=60, concurrent=True)[0] == 200
    time.sleep(1)
    assert Service.most > 1
    check_alive(cohort, port, "beside", other)
    Service.let_go.set()
    until = time.monotonic() + 60
    while status_of(port, "hanging") != "succeed":
        assert time.monotonic() < until, "it does not go on"
        time.sleep(0.1)
    assert Service.most < FILES / 8, Service.most


def status_of(port, gid):
    return ask(port, "GET", f"/api/dtmsvr/query?gid={gid}")[1]["transaction"]["status"]


def check_waiting(cohort, port, url, other):
    """However many wait for a host that hangs, what waits for others, or for a time, goes on."""
    Service.let_go.clear()

    def submit_some(first):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for number in range(first, WAITING, 8):
            body = {"gid": f"waiting{number}", "trans_type": "saga", "request_timeout": 60,
                    "steps": [{"action": url + "/hang", "compensate": ""}]}
            client.request("POST", "/api/dtmsvr/submit", json.dumps(body))
            answer = client.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
        client.close()

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(submit_some, range(8)))
    cohort.stop(signal.SIGKILL)
    cohort.start()
    wait_for(port)
    time.sleep(1)
    tcc = {"gid": "undecided", "trans_type": "tcc", "timeout_to_fail": 1}
    assert ask(port, "POST", "/api/dtmsvr/prepare", tcc)[0] == 200
    branch = {**tcc, "branch_id": "01", "confirm": other + "/ok", "cancel": other + "/ok"}
    assert ask(port, "POST", "/api/dtmsvr/registerBranch", branch)[0] == 200
    until = time.monotonic() + 30
    while status_of(port, "undecided") != "failed":
        assert time.monotonic() < until, "its time is over, and nobody looks"
        time.sleep(0.1)
    Service.let_go.set()


def check_values(cohort, port, url):
    steps = b'{"gid":"v","trans_type":"saga","steps":[' + b"{}," * 14_000_000 + b"{}]}"
    status, answer = ask(port, "POST", "/api/dtmsvr/submit", steps)
    assert status == 400 and "values" in answer["message"], answer
    peak = next(line for line in open(f"/proc/{cohort.process.pid}/status") if "VmHWM" in line)
    assert int(peak.split()[1]) < 700_000, peak
    check_alive(cohort, port, "values", url)


def check_branches(port):
    """Each of many branches is there once, in the order in which they were registered."""
    tcc = {"gid": "many", "trans_type": "tcc"}
    assert ask(port, "POST", "/api/dtmsvr/prepare", {**tcc, "timeout_to_fail": 600})[0] == 200
    for number in range(300):
        branch = {**tcc, "branch_id": f"{number:04}", "confirm": "", "cancel": ""}
        assert ask(port, "POST", "/api/dtmsvr/registerBranch", branch)[0] == 200
    assert ask(port, "POST", "/api/dtmsvr/registerBranch", branch)[0] == 500
    branches = ask(port, "GET", "/api/dtmsvr/query?gid=many")[1]["branches"]
    ids = [branch["branch_id"] for branch in branches]
    assert len(ids) == 600 and ids == sorted(ids)


def main():
    port, grpc = free_port(), free_port()
    url, other = service(), service()
    with Cohort("--coordinator", "on", "--coordinator-port", str(port),
                "--coordinator-grpc-port", str(grpc), files=FILES) as cohort:
        wait_for(grpc)
        check_silence(cohort, port, grpc, url)
        check_hanging(cohort, port, url, other)
        check_values(cohort, port, url)
        check_branches(port)
        check_waiting(cohort, port, url, other)
    print("coordinator_crowd: nobody is kept out")


if __name__ == "__main__":
    main()
