#!/usr/bin/env python3
"""A supervisor such as systemd is told when the server is ready and when it stops, over a socket with a
path and over one in Linux's abstract namespace; one that is not there keeps nobody from serving.

  notify.py
"""

import os
import socket
import tempfile

from cohort import Cohort


def supervised(name, bound):
    """A server whose supervisor listens at `bound` and calls it `name`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(bound)
        supervisor.settimeout(60)
        os.environ["NOTIFY_SOCKET"] = name
        # The thread that starts it waits until clients are let in: what is heard by then is kept.
        with Cohort() as server:
            first = supervisor.recv(4096).decode().splitlines()
            assert first[0] == "READY=1", first
            assert f":{server.port} " in first[1], first
            server.connect().close()
            assert server.stop() == 0
            last = supervisor.recv(4096).decode().splitlines()
            assert last[0] == "STOPPING=1", last
            supervisor.settimeout(0.1)
            try:
                raise AssertionError(f"no third word: {supervisor.recv(4096)}")
            except TimeoutError:
                pass


def nobody():
    os.environ["NOTIFY_SOCKET"] = "/nobody/hears"
    with Cohort() as server:
        server.connect().close()
        assert server.stop() == 0
        assert "NOTIFY_SOCKET /nobody/hears: No such file" in server.log.read_text()


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "notify")
        supervised(path, path)
    abstract = f"cohort-notify-{os.getpid()}"
    supervised(f"@{abstract}", f"\0{abstract}")
    nobody()
    print("ready and stopping are told, by path and by abstract name")


if __name__ == "__main__":
    main()
