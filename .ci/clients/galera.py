#!/usr/bin/env python3
"""Two coordinators without state on a three-node MariaDB Galera cluster, with kill -9.

    .ci/clients/galera.py            20 s of load
    .ci/clients/galera.py 100        more of it: whoever stands still is taken for dead, too

Starts the cluster from Debian's packages (mariadb-server, galera-4, rsync) on ports of its own, and
two `cohort serve --coordinator-store mysql://…` on it, over TLS. The banks are in the same cluster.
Meanwhile one of its nodes is killed, and started again, and so is a coordinator; the other one is
stopped for a while (SIGSTOP). Clients, services and checks are those of `coordinator_chaos.py`.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from coordinator_chaos import KINDS, Coordinator, Process, Scene, run

import pymysql

from chaos_bank import Banks
from coordinator_tls import certificate


def free_range(count):
    """The first of so many ports in a row that nobody listens on."""
    import socket
    for first in range(21000, 31000, count):
        probes = []
        try:
            for port in range(first, first + count):
                probe = socket.socket()
                probes.append(probe)
                probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for probe in probes:
                probe.close()
    raise RuntimeError("no free ports")


class Galera:
    """A cluster of three nodes, each of which can be killed and started again."""

    SCHEMA = "coordination"
    PORTS = 10  # for each node: SQL, group communication, state transfers

    def __init__(self, directory):
        self.directory, self.first = directory, free_range(3 * Galera.PORTS)
        self.tls = certificate(directory)
        for path in self.tls:
            path.chmod(0o644)
        self.nodes = [None] * 3
        for number in range(3):
            data = self.data(number)
            data.mkdir()
            user = ["--user=mysql"] if os.geteuid() == 0 else []
            if user:
                shutil.chown(data, "mysql")
            subprocess.run(["mariadb-install-db", "--no-defaults", *user, f"--datadir={data}",
                            "--auth-root-authentication-method=normal"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_all(self):
        for number in range(3):
            self.start(number, bootstrap=number == 0)
        self.query("CREATE USER co@'127.0.0.1' IDENTIFIED BY 'secret' REQUIRE SSL")
        self.query("GRANT ALL ON *.* TO co@'127.0.0.1'")

    def data(self, number):
        return self.directory / f"node-{number}"

    def port(self, number, use=0):
        return self.first + number * Galera.PORTS + use

    def start(self, number, bootstrap=False):
        """Starts a node, and waits until it is a member that may be asked."""
        others = ",".join(f"127.0.0.1:{self.port(other, 1)}" for other in range(3))
        user = ["--user=mysql"] if os.geteuid() == 0 else []
        with open(self.directory / f"node-{number}.log", "a") as log:
            self.nodes[number] = subprocess.Popen([
                "mariadbd", "--no-defaults", *user, f"--datadir={self.data(number)}",
                f"--port={self.port(number)}", "--bind-address=127.0.0.1",
                f"--socket={self.socket(number)}", "--binlog-format=row",
                f"--ssl-cert={self.tls[0]}", f"--ssl-key={self.tls[1]}",
                "--innodb-autoinc-lock-mode=2", "--innodb-flush-log-at-trx-commit=1",
                "--innodb-buffer-pool-size=128M", "--wsrep-on=ON",
                "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
                "--wsrep-cluster-name=cohort", f"--wsrep-node-name=node-{number}",
                f"--wsrep-node-address=127.0.0.1:{self.port(number, 1)}",
                "--wsrep-sst-method=rsync",
                f"--wsrep-sst-receive-address=127.0.0.1:{self.port(number, 3)}",
                f"--wsrep-provider-options=base_port={self.port(number, 1)};"
                f"ist.recv_addr=127.0.0.1:{self.port(number, 2)};gcache.size=64M",
                f"--wsrep-cluster-address=gcomm://{'' if bootstrap else others}",
            ], stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + 90
        while True:
            try:
                with pymysql.connect(unix_socket=self.socket(number), user="root") as connection:
                    cursor = connection.cursor()
                    cursor.execute("SHOW STATUS LIKE 'wsrep_local_state_comment'")
                    if cursor.fetchone()[1] == "Synced":
                        return
            except (pymysql.MySQLError, TypeError):
                pass
            if self.nodes[number].poll() is not None or time.monotonic() > until:
                log = (self.directory / f"node-{number}.log").read_text()[-3000:]
                raise RuntimeError(f"node {number} does not join:\n{log}")
            time.sleep(0.1)

    def socket(self, number):
        return str(self.directory / f"node-{number}.sock")

    def kill(self, number):
        self.nodes[number].send_signal(signal.SIGKILL)
        self.nodes[number].wait()

    def query(self, sql, number=0):
        with pymysql.connect(unix_socket=self.socket(number), user="root") as connection:
            cursor = connection.cursor()
            cursor.execute("SET SESSION wsrep_sync_wait = 15")
            cursor.execute(sql)
            connection.commit()
            return cursor.fetchall()

    def connect(self, **options):
        """To a node that answers."""
        first = random.randrange(3)
        for turn in range(3):
            try:
                connection = pymysql.connect(
                    host="127.0.0.1", port=self.port((first + turn) % 3), user="co",
                    password="secret", connect_timeout=2, ssl_ca=str(self.tls[0]),
                    ssl_verify_cert=True, **options)
                connection.cursor().execute("SET SESSION wsrep_sync_wait = 7")
                return connection
            except pymysql.MySQLError as error:
                last = error
        raise last

    def url(self, first):
        hosts = ",".join(f"127.0.0.1:{self.port((first + n) % 3)}" for n in range(3))
        return f"mysql://co:secret@{hosts}/{self.SCHEMA}?ssl-mode=VERIFY_IDENTITY&ssl-ca={self.tls[0]}"

    def stop(self):
        for node in self.nodes:
            if node and node.poll() is None:
                node.kill()
                node.wait()


class Cluster(Scene):
    """Two coordinators on the cluster, each of which prefers a node of its own; banks in it, too."""

    def __init__(self, directory):
        self.schema, self.store, self.faults = Galera.SCHEMA, Galera(directory), []
        self.processes = [Coordinator(f"c{number}", "--coordinator-store", self.store.url(number))
                          for number in range(2)]
        self.doors = [one.door for one in self.processes]

    def start(self):
        self.store.start_all()
        self.banks = Banks(self.store.connect)
        # Both make the tables at the same time, each at a node of its own.
        made = [threading.Thread(target=one.start) for one in self.processes]
        for thread in made:
            thread.start()
        for thread in made:
            thread.join()

    def disturb(self, _seed, seconds):
        first, second = self.processes

        def after(part, process, what, act):
            time.sleep(seconds * part)
            say(f"{process}: {what}")
            Process.log_of_faults.append((time.time(), f"fault       {process}: {what}"))
            act()

        after(0.2, "node 1", "kill -9", lambda: self.store.kill(1))
        after(0.2, "c0", "kill -9", lambda: first.stop(signal.SIGKILL))
        after(0.2, "node 1", "is started again", lambda: self.store.start(1))
        after(0, "c0", "is started again", first.start)
        after(0.2, "c1", "stands still", lambda: second.process.send_signal(signal.SIGSTOP))
        after(0.2, "c1", "goes on", lambda: second.process.send_signal(signal.SIGCONT))

    def end(self):
        super().end()
        self.store.stop()


def say(what):
    print(f"galera: {what}", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cohort-galera-"))
    directory.chmod(0o755)
    shutil.chown(directory, "mysql") if os.geteuid() == 0 else None
    try:
        cluster = Cluster(directory)
        try:
            cluster.start()
            ports = [cluster.store.port(number) for number in range(3)]
            say(f"a cluster of three nodes, ports {ports}")
            # A cluster knows no XA.
            kinds = [kind for kind in KINDS if kind != "xa"]
            is_well = run(f"galera {seconds:g}", 1, seconds, cluster, kinds)
        finally:
            cluster.end()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
