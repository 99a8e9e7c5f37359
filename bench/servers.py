"""The servers that are compared: starting, stopping, asking and loading them."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LUA = ROOT / "bench" / "lua"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# As much as the peers are given: bytes.
BUFFER_POOL = 2 << 30


class Server:
    """One server with sysbench's user and database."""

    user = "sb"

    def __init__(self, name, port):
        self.name, self.port = name, port

    def start(self):
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def pid(self):
        """The process that listens on the port."""
        listing = subprocess.run(["ss", "-Hltnp", f"sport = :{self.port}"],
                                 capture_output=True, text=True, check=True).stdout
        return int(listing.split("pid=")[1].split(",")[0])

    def sql(self, statement, database="sbtest"):
        """Runs statements with the command line client; returns what it prints."""
        client = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", f"-u{self.user}",
                  "-N", "-B", "-e", statement] + ([database] if database else [])
        return subprocess.run(client, capture_output=True, text=True, check=True).stdout

    def wait(self, seconds=600):
        """Waits until the port accepts connections."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise TimeoutError(f"{self.name} does not answer on port {self.port}")

    def sysbench(self, script, command, threads, seconds, rows, options=()):
        """Runs sysbench; returns its output."""
        path = LUA / script if script.endswith(".lua") else script
        arguments = ["sysbench", str(path), "--db-driver=mysql", "--mysql-host=127.0.0.1",
                     f"--mysql-port={self.port}", f"--mysql-user={self.user}",
                     "--mysql-db=sbtest", f"--threads={threads}", f"--time={seconds}",
                     "--events=0", "--rand-type=uniform", "--tables=1",
                     f"--table-size={rows}", *options, command]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"sysbench on {self.name}:\n{done.stdout[-2000:]}{done.stderr}")
        return done.stdout

    def rate(self, workload, seconds, rows):
        """Events per second of a workload."""
        out = self.sysbench(workload.script, "run", workload.threads, seconds, rows,
                            workload.options)
        line = next(line for line in out.splitlines() if "transactions:" in line)
        return float(line.split("(")[1].split()[0])

    def load(self, rows):
        """Fills sbtest1 afresh; returns the seconds it took."""
        self.sql("DROP TABLE IF EXISTS sbtest1")
        begun = time.monotonic()
        self.sysbench("oltp_common", "prepare", 1, 0, rows, ("--create-secondary=off",))
        return time.monotonic() - begun


class Cohort(Server):
    """This repository's server, with its own data directory."""

    user = "root"

    def __init__(self, port, data):
        super().__init__("cohort", port)
        self.data, self.binary, self.process = pathlib.Path(data), TARGET / "release/cohort", None

    def start(self, *flags):
        self.data.mkdir(parents=True, exist_ok=True)
        self.log = open(self.data.parent / "cohort.log", "a")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--port", str(self.port), "--datadir", self.data,
             "--max-connections", "2000", "--innodb-buffer-pool-size", str(BUFFER_POOL),
             *flags],
            stdout=self.log, stderr=self.log, start_new_session=True)
        self.wait()
        self.sql("CREATE DATABASE IF NOT EXISTS sbtest", None)

    def pid(self):
        return self.process.pid

    def stop(self, sig=signal.SIGTERM):
        if self.process:
            self.process.send_signal(sig)
            self.process.wait()
            self.process = None

    def clear(self):
        shutil.rmtree(self.data, ignore_errors=True)


class Peer(Server):
    """MySQL or MariaDB, by the scripts beside the repository."""

    def __init__(self, name, port, scripts, keep):
        super().__init__(name, port)
        self.scripts, self.keep = pathlib.Path(scripts), keep

    def start(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return
        except OSError:
            subprocess.run([self.scripts / "up", self.name], check=True,
                           stdout=subprocess.DEVNULL)

    def stop(self):
        if not self.keep:
            subprocess.run([self.scripts / "down", self.name], check=True,
                           stdout=subprocess.DEVNULL)


class Null(Server):
    """Canned answers, perhaps with a durable log: what is left for a database to lose."""

    process = None

    def __init__(self, name, port, log=None):
        super().__init__(name, port)
        self.log = log

    def start(self):
        command = [TARGET / "release/cohort", "lab", "null-server", f"--port={self.port}"]
        if self.log:
            shutil.rmtree(self.log, ignore_errors=True)
            command.append(f"--datadir={self.log}")
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.wait()

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def load(self, rows):
        return None
