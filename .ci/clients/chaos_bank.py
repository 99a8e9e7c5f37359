"""Two banks that are called over HTTP and over gRPC, in transactions with DTM's barrier, and that
answer late, twice, nonsense, or never, as the plan of a transaction says.

What is called for and what became of it is kept in a journal; what was really moved is in the
tables `movement`, which share their transactions with the accounts.
"""

import dataclasses
import functools
import http.server
import json
import select
import socket
import threading
import time
import urllib.parse
from concurrent import futures

import grpc
import pymysql

from chaos_wire import message

ACCOUNTS, BALANCE = 20, 10_000
SCHEMAS = ("bank0", "bank1")
TABLES = (
    "CREATE DATABASE {bank}",
    "CREATE TABLE {bank}.account (id INT PRIMARY KEY, balance BIGINT NOT NULL, "
    "frozen BIGINT NOT NULL) ENGINE = InnoDB",
    "CREATE TABLE {bank}.barrier (gid VARCHAR(128), branch_id VARCHAR(32), op VARCHAR(32), "
    "reason VARCHAR(32), PRIMARY KEY (gid, branch_id, op)) ENGINE = InnoDB",
    "CREATE TABLE {bank}.movement (gid VARCHAR(128), branch_id VARCHAR(32), op VARCHAR(32), "
    "amount BIGINT NOT NULL, time DATETIME(6) NOT NULL, "
    "PRIMARY KEY (gid, branch_id, op)) ENGINE = InnoDB",
)
ORIGIN = {"compensate": "action", "cancel": "try"}
LOCK_WAIT, DEADLOCK, DUPLICATE, NOTA = 1205, 1213, 1062, 1397
# Nobody waits longer for a service that says nothing.
NEVER = 25


class Refused(Exception):
    """The business says no, for good."""


class Banks:
    """The accounts of both, in one server."""

    def __init__(self, connect):
        self.connect = functools.partial(connect, read_timeout=15, write_timeout=15)
        for bank in SCHEMAS:
            for statement in TABLES:
                self.query(statement.format(bank=bank))
            rows = ", ".join(f"({account}, {BALANCE}, 0)" for account in range(ACCOUNTS))
            self.query(f"INSERT INTO {bank}.account VALUES {rows}")

    def query(self, sql):
        with self.connect(autocommit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(sql)
            return cursor.fetchall()

    def work(self, bank, what):
        """In a transaction of its own; again, if another one was in the way."""
        for _ in range(5):
            connection = self.connect(database=SCHEMAS[bank])
            try:
                cursor = connection.cursor()
                cursor.execute("SET SESSION innodb_lock_wait_timeout = 2")
                connection.begin()
                effect = what(cursor)
                connection.commit()
                return effect
            except pymysql.MySQLError as error:
                if error.args[0] not in (LOCK_WAIT, DEADLOCK):
                    raise
            finally:
                connection.close()
        raise OSError("always in the way of others")

    @staticmethod
    def enter(cursor, gid, branch, op, reason):
        """The barrier: whether it was not there."""
        return cursor.execute("INSERT IGNORE INTO barrier VALUES (%s, %s, %s, %s)",
                              (gid, branch, op, reason)) > 0

    def move(self, leg, gid, branch, op):
        """Carries an operation of a branch out, once; whether it had an effect."""
        return self.work(leg["bank"], lambda cursor: self.move_in(cursor, leg, gid, branch, op))

    def move_in(self, cursor, leg, gid, branch, op):
        origin = ORIGIN.get(op)
        is_hollow = bool(origin) and self.enter(cursor, gid, branch, origin, op)
        if not self.enter(cursor, gid, branch, op, op) or is_hollow:
            return False
        amount = leg["amount"]
        out, into = min(amount, 0), max(amount, 0)
        # What is tried leaves the account, and arrives with the confirmation.
        balance, frozen = {"try": (out, -out), "confirm": (into, out), "cancel": (-out, out),
                           "compensate": (-amount, 0)}.get(op, (amount, 0))
        cursor.execute("UPDATE account SET balance = balance + %s, frozen = frozen + %s"
                       " WHERE id = %s", (balance, frozen, leg["account"]))
        cursor.execute("INSERT INTO movement (gid, branch_id, op, amount, time)"
                       " VALUES (%s, %s, %s, %s, UTC_TIMESTAMP(6))",
                       (gid, branch, op, balance + frozen))
        return True

    def prepare_xa(self, leg, gid, branch):
        """An XA branch's first phase."""
        connection = self.connect(database=SCHEMAS[leg["bank"]])
        try:
            cursor, xid = connection.cursor(), f"{gid}-{branch}"
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 2")
            cursor.execute("XA START %s", (xid,))
            if not self.move_in(cursor, leg, gid, branch, "action"):
                cursor.execute("XA END %s", (xid,))
                cursor.execute("XA ROLLBACK %s", (xid,))
                raise Refused("it was rolled back before")
            cursor.execute("XA END %s", (xid,))
            cursor.execute("XA PREPARE %s", (xid,))
        finally:
            connection.close()

    def end_xa(self, leg, gid, branch, op):
        connection = self.connect(database=SCHEMAS[leg["bank"]])
        try:
            cursor = connection.cursor()
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 2")
            try:
                cursor.execute(f"XA {op.upper()} %s", (f"{gid}-{branch}",))
                return True
            except pymysql.MySQLError as error:
                if error.args[0] != NOTA:
                    raise
            # Done before, or never prepared: then it never will be.
            if op == "rollback":
                self.enter(cursor, gid, branch, "action", "rollback")
                connection.commit()
            return False
        finally:
            connection.close()

    def answer_query(self, bank, gid):
        """query_prepared: whether the client's own transaction is there; if not, it never will be."""
        def look(cursor):
            self.enter(cursor, gid, "00", "msg", "rollback")
            cursor.execute("SELECT reason FROM barrier WHERE gid = %s AND branch_id = '00'"
                           " AND op = 'msg'", (gid,))
            return cursor.fetchone()[0]
        if self.work(bank, look) == "rollback":
            raise Refused("the client rolled back")


@dataclasses.dataclass
class Call:
    """One call of a branch, as a service sees it."""
    gid: str
    branch: str
    op: str
    protocol: str
    begun: float = dataclasses.field(default_factory=time.time)
    ended: float = None
    behaviour: str = "ok"
    # "done", "none" if the barrier was in the way, or None.
    effect: str = None
    answer: str = None
    # Whether who calls still waits; and who it is: the port it calls from.
    is_open: object = None
    peer: int = 0
    # Whoever called was killed, or had given up, before it was heard.
    is_orphan: bool = False


class Service:
    """Both banks' doors, what they are to do wrong, and what they have seen."""

    def __init__(self, banks, request_timeout, flow):
        """`flow(gid, data)` runs a workflow's code."""
        self.banks, self.limit, self.flow = banks, request_timeout, flow
        self.lock, self.plans = threading.Lock(), {}
        self.calls, self.open, self.overlaps = [], {}, []
        self.http = _HttpServer(("127.0.0.1", 0), _Handler)
        self.http.service = self
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.rpc = grpc.server(futures.ThreadPoolExecutor(256), (_Rpc(self),))
        self.rpc_port = self.rpc.add_insecure_port("127.0.0.1:0")
        self.rpc.start()

    def url(self, protocol, what):
        """Of `Move`, `Xa` or `Query`."""
        if protocol == "grpc":
            return f"127.0.0.1:{self.rpc_port}/bank.Bank/{what}"
        return f"http://127.0.0.1:{self.http.server_port}/{what}"

    def flow_url(self, protocol):
        if protocol == "grpc":
            return f"127.0.0.1:{self.rpc_port}/workflow.Workflow/Execute"
        return self.url(protocol, "Flow")

    def begin(self, call):
        """Notes a call; whoever calls the same branch must not be waiting any more."""
        with self.lock:
            plan = self.plans.get(call.gid, {}).get((call.branch, call.op))
            call.behaviour = plan.pop(0) if plan else "ok"
            self.calls.append(call)
            call.is_orphan = not call.is_open()
            others = self.open.setdefault((call.gid, call.branch), [])
            for other in [other for other in others if self.is_waited_for(other, call.begun)]:
                # A reset needs a moment to be seen.
                time.sleep(0 if other.protocol == "http" else 0.1)
                if self.is_waited_for(other, call.begun):
                    self.overlaps.append((call.gid, other, call))
            others.append(call)

    def is_waited_for(self, call, now):
        return call.ended is None and now < call.begun + self.limit and call.is_open()

    def end(self, call, answer):
        with self.lock:
            call.answer, call.ended = answer, time.time()
            self.open[call.gid, call.branch].remove(call)

    def serve(self, call, what, data):
        """Behaves as planned; what is to be answered: ok, refused, ongoing, broken, garbage, or
        None for nothing."""
        self.begin(call)
        answer = "broken"
        try:
            answer = self.behave(call, what, data)
        except Refused:
            answer = "refused"
        except (pymysql.MySQLError, OSError, ValueError, KeyError):
            pass
        finally:
            self.end(call, answer)
        return answer

    def behave(self, call, what, data):
        behaviour = call.behaviour
        if behaviour in ("refused", "ongoing", "broken", "garbage"):
            return behaviour
        if behaviour == "hang":
            until = time.time() + NEVER
            while time.time() < until and call.is_open():
                time.sleep(0.05)
            return None
        if behaviour == "late":
            time.sleep(self.limit + 0.4)
        if behaviour == "twice":
            beside = threading.Thread(target=self.once_more, args=(call, what, data))
            beside.start()
            self.act(call, what, data)
            beside.join()
        else:
            self.act(call, what, data)
        return {"lost": None, "half": "broken"}.get(behaviour, "ok")

    def once_more(self, call, what, data):
        try:
            self.act(dataclasses.replace(call), what, data)
        except (Refused, pymysql.MySQLError, OSError):
            pass

    def act(self, call, what, data):
        if what == "Query":
            return self.banks.answer_query(json.loads(self.plans[call.gid]["own"])["bank"],
                                           call.gid)
        if what == "Flow":
            return self.flow(call.gid, data)
        act = self.banks.end_xa if what == "Xa" else self.banks.move
        call.effect = "done" if act(json.loads(data), call.gid, call.branch, call.op) else "none"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    STATUS = {"ok": 200, "refused": 409, "ongoing": 425, "broken": 500}

    def log_message(self, *_):
        pass

    def do_POST(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        call = Call(query["gid"], query["branch_id"], query["op"], "http", is_open=self.is_open,
                    peer=self.client_address[1])
        answer = self.server.service.serve(call, url.path[1:], body)
        if answer in self.STATUS:
            self.send_response(self.STATUS[answer])
            self.send_header("content-length", "0")
            self.end_headers()
            return
        if answer == "garbage":
            self.wfile.write(b"\0\xff\r\n\r\nwhat?")
        self.close_connection = True

    do_GET = do_POST

    def is_open(self):
        try:
            if not select.select([self.connection], [], [], 0)[0]:
                return True
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except (OSError, ValueError):
            return False


class _HttpServer(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *_):
        pass  # A coordinator that was killed.


class _Rpc(grpc.GenericRpcHandler):
    CODES = {"refused": grpc.StatusCode.ABORTED, "ongoing": grpc.StatusCode.FAILED_PRECONDITION,
             "broken": grpc.StatusCode.INTERNAL, "garbage": grpc.StatusCode.DATA_LOSS,
             None: grpc.StatusCode.UNAVAILABLE}

    def __init__(self, service):
        self.service_of = service

    def service(self, details):
        what = details.method.rsplit("/", 1)[1]
        return grpc.unary_unary_rpc_method_handler(
            lambda data, context: self.answer(what, data, context))

    def answer(self, what, data, context):
        known = dict(context.invocation_metadata())
        call = Call(known["dtm-gid"], known["dtm-branch_id"], known["dtm-op"], "grpc",
                    is_open=context.is_active, peer=int(context.peer().rsplit(":", 1)[1]))
        if what == "Execute":
            what, data = "Flow", message(data).get(1, [b""])[0]
        answer = self.service_of.serve(call, what, data)
        if answer != "ok":
            context.abort(self.CODES[answer], "as planned")
        return b""
