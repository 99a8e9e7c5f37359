#!/usr/bin/env python3
"""Two coordinators without state on a three-node MariaDB Galera cluster, with kill -9.

    .ci/clients/galera.py            20 s of load
    .ci/clients/galera.py 100        more of it: whoever stands still is taken for dead, too

Starts the cluster from Debian's packages (mariadb-server, galera-4, rsync) on ports of its own, two
`cohort serve --coordinator-store mysql://…` on it, over TLS, and a bank in the same cluster that keeps DTM's
barriers. Clients move money with sagas, TCC and two-phase messages through whichever coordinator
answers, some of which are refused on the way. Meanwhile one node of the cluster is killed, and
started again, and so is a coordinator; the other one is stopped for a while (SIGSTOP). At the end every acknowledged global transaction must have
ended whole, the sum of all accounts must be what it was, and nobody may have both paid and not
paid. Everything it started ends with it.
"""

import collections
import http.client
import http.server
import json
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
import urllib.parse

import pymysql

from cohort import BINARY, free_port
from coordinator_tls import certificate

ACCOUNTS, BALANCE, CLIENTS = 40, 1000, 8
TABLES = (
    "CREATE DATABASE bank",
    "CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL) ENGINE = InnoDB",
    """CREATE TABLE bank.barrier (gid VARCHAR(128), branch_id VARCHAR(32), op VARCHAR(32),
       reason VARCHAR(32), PRIMARY KEY (gid, branch_id, op)) ENGINE = InnoDB""",
    # What was really moved, and for whom.
    """CREATE TABLE bank.movement (gid VARCHAR(128), branch_id VARCHAR(32), op VARCHAR(32),
       amount INT NOT NULL, PRIMARY KEY (gid, branch_id, op)) ENGINE = InnoDB""",
)


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

    def connect(self, first):
        """To the first node that answers, beginning with this one."""
        for turn in range(3):
            try:
                connection = pymysql.connect(
                    host="127.0.0.1", port=self.port((first + turn) % 3), user="co",
                    password="secret", database="bank", connect_timeout=2, read_timeout=10,
                    ssl_ca=str(self.tls[0]), ssl_verify_cert=True)
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


class Coordinator:
    """A Cohort whose own database is of no use."""

    def __init__(self, directory, number, store):
        self.port = free_port()
        self.log = directory / f"coordinator-{number}.log"
        self.command = [
            BINARY, "serve", "--port", str(free_port()),
            "--datadir", str(directory / f"coordinator-{number}"),
            "--coordinator-port", str(self.port), "--coordinator-grpc-port", str(free_port()),
            "--coordinator-retry-interval", "1", "--coordinator-timeout-to-fail", "8",
            "--coordinator-store", store]
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log,
                                            start_new_session=True)
        until = time.monotonic() + 60
        while self.ask("GET", "/api/ping")[0] != 200:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the coordinator does not start:\n{self.log.read_text()}")
            time.sleep(0.05)

    def stop(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(60)

    def ask(self, method, path, fields=None):
        """Status and answer; status 0 if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
        try:
            connection.request(method, path, json.dumps(fields) if fields else None)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()


class Bank(http.server.BaseHTTPRequestHandler):
    """The participant: `/move?account=…&amount=…` under the barrier; `/refuse`; `/query`."""

    protocol_version = "HTTP/1.1"
    cluster = None
    local = threading.local()

    def log_message(self, *_):
        pass

    def do_POST(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            status = self.act(url.path, query, body)
        except (pymysql.MySQLError, OSError):
            status = 500
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST

    def act(self, path, query, _body):
        if path == "/refuse":
            return 409 if query["op"] in ("action", "try") else 200
        return Bank.work(path, query) if path in ("/move", "/query") else 200

    @classmethod
    def work(cls, path, query):
        """In a transaction; again if another one was in the way."""
        for _ in range(5):
            connection = cls.cluster.connect(random.randrange(3))
            try:
                cursor = connection.cursor()
                status = cls.move(cursor, query) if path == "/move" else cls.ask(cursor, query)
                connection.commit()
                return status
            except pymysql.MySQLError as error:
                if error.args[0] not in (1205, 1213):
                    raise
            finally:
                connection.close()
        return 500

    @staticmethod
    def enter(cursor, query, op, reason):
        """The barrier: whether it was not there."""
        return cursor.execute("INSERT IGNORE INTO barrier VALUES (%s, %s, %s, %s)",
                              (query["gid"], query["branch_id"], op, reason)) > 0

    @classmethod
    def move(cls, cursor, query):
        op = query["op"]
        origin = {"compensate": "action", "cancel": "try"}.get(op)
        amount = int(query["amount"]) * (-1 if origin else 1)
        is_hollow = bool(origin) and cls.enter(cursor, query, origin, op)
        if cls.enter(cursor, query, op, op) and not is_hollow:
            cursor.execute("UPDATE account SET balance = balance + %s WHERE id = %s",
                           (amount, query["account"]))
            cursor.execute("INSERT INTO movement VALUES (%s, %s, %s, %s)",
                           (query["gid"], query["branch_id"], op, amount))
        return 200

    @classmethod
    def ask(cls, cursor, query):
        """query_prepared: whether the client's own transaction was committed; from now on never."""
        asked = {"gid": query["gid"], "branch_id": "00"}
        cls.enter(cursor, asked, "msg", "rollback")
        cursor.execute("SELECT reason FROM barrier WHERE gid = %s AND branch_id = '00'"
                       " AND op = 'msg'", (query["gid"],))
        return 409 if cursor.fetchone()[0] == "rollback" else 200


class Service(http.server.ThreadingHTTPServer):
    """The bank's door."""

    daemon_threads = True

    def handle_error(self, *_):
        pass  # A coordinator that was killed.


class Load:
    """Clients that move money, and what they were told."""

    def __init__(self, cluster, coordinators, bank):
        self.cluster, self.coordinators, self.bank = cluster, coordinators, bank
        self.acknowledged, self.answers = [], collections.Counter()
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.client, args=(n,)) for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def post(self, name, fields):
        """To whichever coordinator answers: a request may be sent again. Whether it was obeyed."""
        for turn in range(12):
            coordinator = random.choice(self.coordinators)
            status, answer = coordinator.ask("POST", f"/api/dtmsvr/{name}", fields)
            self.answers[status] += 1
            if status == 200:
                return True
            if status == 409 or "UniqueKeyConflict" in answer.get("message", ""):
                # Registered, by a request whose answer was lost; or decided otherwise.
                return status != 409
            time.sleep(0.2 * turn)
        return False

    def client(self, number):
        chance, count = random.Random(number), number
        while not self.is_over.is_set():
            count += 1
            gid, amount = f"g-{number}-{count}", chance.randrange(1, 9)
            out, into = chance.sample(range(ACCOUNTS), 2)
            legs = [f"{self.bank}/move?account={out}&amount={-amount}",
                    f"{self.bank}/move?account={into}&amount={amount}"]
            kind, is_refused = self.kinds()[count % len(self.kinds())], chance.random() < 0.2
            if kind(gid, legs, out, amount, is_refused):
                self.acknowledged.append(gid)

    def kinds(self):
        return self.saga, self.tcc, self.message

    def saga(self, gid, legs, _out, _amount, is_refused):
        second = f"{self.bank}/refuse" if is_refused else legs[1]
        steps = [{"action": legs[0], "compensate": legs[0]},
                 {"action": second, "compensate": legs[1]}]
        return self.post("submit", {"gid": gid, "trans_type": "saga", "steps": steps})

    def tcc(self, gid, legs, _out, _amount, is_refused):
        transaction = {"gid": gid, "trans_type": "tcc"}
        if not self.post("prepare", transaction):
            return False
        for branch, leg in zip(("01", "02"), legs):
            fields = {**transaction, "branch_id": branch, "confirm": f"{self.bank}/nothing",
                      "cancel": leg}
            if not self.post("registerBranch", fields):
                return False
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(leg).query))
            query.update(gid=gid, branch_id=branch, op="try")
            try:
                if Bank.work("/move", query) != 200:
                    is_refused = True
            except (pymysql.MySQLError, OSError):
                is_refused = True
        return self.post("abort" if is_refused else "submit", transaction)

    def message(self, gid, legs, out, amount, is_refused):
        fields = {"gid": gid, "trans_type": "msg", "query_prepared": f"{self.bank}/query",
                  "steps": [{"action": legs[1]}]}
        if not self.post("prepare", fields):
            return False
        if is_refused:
            return self.post("abort", fields)
        own = {"gid": gid, "branch_id": "00"}
        try:
            connection = self.cluster.connect(random.randrange(3))
            cursor = connection.cursor()
            if not Bank.enter(cursor, own, "msg", "msg"):
                return False
            cursor.execute("UPDATE account SET balance = balance - %s WHERE id = %s",
                           (amount, out))
            cursor.execute("INSERT INTO movement VALUES (%s, '00', 'msg', %s)", (gid, -amount))
            connection.commit()
        except (pymysql.MySQLError, OSError):
            return False  # Nobody knows; the coordinator will ask.
        return self.post("submit", fields)


def wait_for_end(cluster):
    unfinished = (f"SELECT gid, trans_type, status FROM {cluster.SCHEMA}.global_transactions"
                  " WHERE status NOT IN ('succeed', 'failed')")
    until = time.monotonic() + 90
    while left := cluster.query(unfinished):
        assert time.monotonic() < until, f"{len(left)} never end: {left[:5]}"
        time.sleep(0.5)


def check(name, cluster, load):
    """Nothing is lost, and nothing half done."""
    status = dict(cluster.query(f"SELECT gid, status FROM {cluster.SCHEMA}.global_transactions"))
    lost = [gid for gid in load.acknowledged if gid not in status]
    assert not lost, f"acknowledged and lost: {lost[:5]}"
    total = cluster.query("SELECT SUM(balance) FROM bank.account")[0][0]
    assert total == ACCOUNTS * BALANCE, f"money came or went: {total}"
    moved = cluster.query("SELECT gid, SUM(amount), COUNT(DISTINCT branch_id), SUM(op IN"
                          " ('compensate', 'cancel')) FROM bank.movement GROUP BY gid")
    for gid, amount, legs, undone in moved:
        assert amount == 0, f"{gid} is half done"
        if status[gid] == "succeed":
            assert (legs, undone) == (2, 0), f"{gid} succeeded: {legs} legs, {undone} undone"
        else:
            assert undone == legs, f"{gid} failed: {legs} legs, {undone} undone"
    whole = {gid for gid, *_ in moved}
    hollow = [gid for gid, how in status.items() if how == "succeed" and gid not in whole]
    assert not hollow, f"succeeded, and nothing was moved: {hollow[:5]}"
    ended = collections.Counter(status[gid] for gid in load.acknowledged)
    print(f"{name}: {len(status)} global transactions, {len(load.acknowledged)} acknowledged: "
          f"{dict(ended)}; answers {dict(load.answers)}; nothing lost, nothing half done, "
          f"the sum of all accounts is what it was")


def say(what):
    print(f"galera: {what}", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cohort-galera-"))
    directory.chmod(0o755)
    shutil.chown(directory, "mysql") if os.geteuid() == 0 else None
    cluster, coordinators, load = None, [], None
    try:
        cluster = Bank.cluster = Galera(directory)
        for statement in TABLES:
            cluster.query(statement)
        rows = ", ".join(f"({account}, {BALANCE})" for account in range(ACCOUNTS))
        cluster.query(f"INSERT INTO bank.account VALUES {rows}")
        say(f"a cluster of three nodes, ports {[cluster.port(n) for n in range(3)]}")
        # Both make the tables at the same time, each at a node of its own.
        made = [threading.Thread(target=lambda n=n: coordinators.append(
            Coordinator(directory, n, cluster.url(n)))) for n in range(2)]
        for thread in made:
            thread.start()
        for thread in made:
            thread.join()
        assert len(coordinators) == 2, "a coordinator did not start"
        service = Service(("127.0.0.1", 0), Bank)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        load = Load(cluster, coordinators, f"http://127.0.0.1:{service.server_port}")
        def after(seconds, what):
            time.sleep(seconds)
            say(f"{len(load.acknowledged)} acknowledged; {what}")

        after(seconds / 5, "kill -9 for node 1")
        cluster.kill(1)
        after(seconds / 5, "kill -9 for a coordinator")
        coordinators[0].stop()
        after(seconds / 5, "both are started again")
        cluster.start(1)
        coordinators[0].start()
        after(seconds / 5, "the other coordinator stands still")
        coordinators[1].process.send_signal(signal.SIGSTOP)
        after(seconds / 5, "and goes on")
        coordinators[1].process.send_signal(signal.SIGCONT)
        load.end()
        say(f"{len(load.acknowledged)} acknowledged; waiting for the end of all")
        wait_for_end(cluster)
        check("galera", cluster, load)
    except BaseException:
        for log in sorted(directory.glob("coordinator-*.log")):
            print(f"--- {log.name} ---\n{log.read_text()[-5000:]}", flush=True)
        raise
    finally:
        if load:
            load.end()
        for coordinator in coordinators:
            coordinator.stop()
        if cluster:
            cluster.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
