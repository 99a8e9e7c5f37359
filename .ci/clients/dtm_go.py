#!/usr/bin/env python3
"""Runs DTM's own Go client (dtm_go) against the coordinator, and kills the server when asked to."""

import os
import signal
import subprocess
import sys

from cohort import Cohort, free_port


def main(program):
    http, grpc = str(free_port()), str(free_port())
    flags = "--coordinator", "on", "--coordinator-port", http, "--coordinator-grpc-port", grpc
    with Cohort(*flags) as server:
        command = [program, str(server.port), http, grpc]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "NO_PROXY": "127.0.0.1"}) as client:
            for line in client.stdout:
                if line == "kill\n":
                    server.stop(signal.SIGKILL)
                    server.start()
                    client.stdin.write("up\n")
                    client.stdin.flush()
                else:
                    print(line, end="", flush=True)
        assert client.returncode == 0, "the Go client failed"
        assert server.stop() == 0, "the server ends in good order"


if __name__ == "__main__":
    main(sys.argv[1])
