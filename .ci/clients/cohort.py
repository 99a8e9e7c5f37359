"""Starting, stopping and killing a server for the checks in this directory."""

import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = os.environ.get("BINARY_UNDER_TEST", TARGET / "release" / "cohort")


def seed_of(position):
    """The seed that an argument of the program is; else that of `.ci/run`, whose runs are all alike, so
    that what fails there fails because of what was changed; else one that nobody had before."""
    if len(sys.argv) > position:
        return int(sys.argv[position])
    return int(os.environ.get("CHECK_SEED") or random.SystemRandom().randrange(10**6))


def free_port():
    """A port nobody listens on, and which no client gets for its own end: a server that is killed
    finds it free when it comes back."""
    while True:
        port = random.SystemRandom().randrange(23_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Cohort:
    """A server with a data directory of its own; both go when the `with` block ends."""

    name = "cohort"

    def __init__(self, *flags, files=None):
        self.files = files
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="cohort-ci-"))
        self.data, self.port, self.flags = self.directory / "data", free_port(), flags
        self.log = self.directory / "log"
        if not any(flag.startswith("--coordinator") for flag in flags):
            self.flags = (*flags, "--coordinator", "off")
        elif "--coordinator-grpc-port" not in flags:
            self.flags = (*flags, "--coordinator-grpc-port", str(free_port()))
        if not any(flag.startswith("--console") for flag in flags):
            self.flags = (*self.flags, "--console", "off")
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.stop(signal.SIGKILL)
        if kind is not None:
            print(f"--- the server's log ---\n{self.log.read_text()}", flush=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        """Starts the server and waits until it lets clients in."""
        # Every COHORT_ is a setting to the server; these are for tests.
        environment = {k: v for k, v in os.environ.items() if k != "COHORT_MYSQLBINLOG"}
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [BINARY, "serve", "--port", str(self.port), "--datadir", self.data, *self.flags],
                stdout=log, stderr=log, start_new_session=True, env=environment,
                preexec_fn=self._limit if self.files else None)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended:\n{self.log.read_text()}")
            try:
                # It listens for a moment at the very beginning, too, but answers nobody then.
                with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                    if probe.recv(1):
                        return
            except OSError:
                pass
            time.sleep(0.02)
        raise TimeoutError("the server does not answer")

    def _limit(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))

    def stop(self, how=signal.SIGTERM):
        """Ends the server; returns its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.process = None
        return code

    def connect(self, **options):
        """A PyMySQL connection as root."""
        import pymysql
        return pymysql.connect(**{"host": "127.0.0.1", "port": self.port, "user": "root"} | options)
