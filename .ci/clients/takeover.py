#!/usr/bin/env python3
"""Global transactions at a replica: the source's coordinator drives them, and no other one, until the
source is lost and the replica takes them over. Then each goes on from where it was.
"""

import http.server
import signal
import threading
import time

import pymysql
import requests

from cohort import Cohort, free_port
from sources import ask, follow, status, until

SAGA = "takes-over"


class Service(http.server.BaseHTTPRequestHandler):
    """Two steps: the first succeeds, the second goes on until it is told to succeed."""

    protocol_version = "HTTP/1.1"
    calls, is_ready = [], False

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        step = self.path.partition("?")[0].strip("/")
        Service.calls.append(step)
        self.send_response(200 if step == "one" or Service.is_ready else 425)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST  # what a step without a payload is called by


def coordinating(flags):
    """A Cohort whose coordinator is on, and its address."""
    port = free_port()
    server = Cohort("--coordinator-port", str(port), "--coordinator-retry-interval", "1", *flags)
    return server, f"http://127.0.0.1:{port}/api/dtmsvr"


def state(server):
    """What becomes of the saga, as the tables say."""
    found = ask(server, f"SELECT status FROM cohort.global_transactions WHERE gid = '{SAGA}'")
    return found and found[0]["status"]


def check(service):
    """One saga, two servers."""
    source, _ = coordinating(("--server-id", "1"))
    replica, address = coordinating(("--server-id", "2"))
    with source, replica:
        follow(replica, source.port, "SOURCE_USER='root'", "SOURCE_AUTO_POSITION=1")
        source_address = f"http://127.0.0.1:{source.flags[1]}/api/dtmsvr"
        steps = [{"action": f"{service}/{step}", "compensate": f"{service}/{step}-undone"}
                 for step in ("one", "two")]
        answer = requests.post(f"{source_address}/submit", json={
            "gid": SAGA, "trans_type": "saga", "steps": steps, "payloads": ["", ""],
            "retry_interval": 1})
        assert answer.status_code == 200, answer.text

        # A server that coordinates takes no rows of another coordinator, however often it is asked.
        for _ in range(2):
            until(lambda: status(replica)["Last_SQL_Errno"] == 1105, lambda: status(replica))
            assert "--coordinator off" in status(replica)["Last_SQL_Error"], status(replica)
            assert not state(replica)
            ask(replica, "START REPLICA")

        # Without a coordinator it does, and has none while it follows, unless asked for: then it
        # does not start.
        replica.stop()
        flags, replica.flags = replica.flags, ("--server-id", "2", "--coordinator", "off")
        replica.start()
        until(lambda: state(replica) == "submitted", lambda: status(replica))
        replica.stop()
        replica.flags = (*flags, "--coordinator", "on")
        try:
            replica.start()
            raise AssertionError("two servers coordinate")
        except RuntimeError as error:
            assert "--coordinator off" in str(error), error
        replica.flags = flags
        replica.start()
        assert "no coordinator of global transactions" in replica.log.read_text()
        until(lambda: status(replica)["Replica_SQL_Running"] == "Yes", lambda: status(replica))
        until(lambda: Service.calls.count("two") >= 2,
              lambda: (Service.calls, ask(source, "SELECT * FROM cohort.branches")))

        # The source is lost. Only now does the replica call, and not what was done.
        source.stop(signal.SIGKILL)
        calls = len(Service.calls)
        time.sleep(2.5)
        assert len(Service.calls) == calls, Service.calls
        ask(replica, "STOP REPLICA")
        replica.stop()
        replica.start()
        Service.is_ready = True
        until(lambda: state(replica) == "succeed", lambda: (state(replica), Service.calls))
        assert Service.calls.count("one") == 1 and "one-undone" not in Service.calls, Service.calls
        answer = requests.get(f"{address}/query", params={"gid": SAGA})
        assert answer.json()["transaction"]["status"] == "succeed", answer.text

        # From now on it is no replica of that source.
        try:
            ask(replica, "START REPLICA")
            raise AssertionError("it follows, and coordinates")
        except pymysql.MySQLError as error:
            assert "--coordinator off" in str(error), error


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    check(f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    print("takeover: the source's coordinator drives its global transactions, then the replica's")


if __name__ == "__main__":
    main()
