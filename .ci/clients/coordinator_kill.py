#!/usr/bin/env python3
"""All patterns at once, with kill -9 at random moments for the server that has both the coordinator
and the bank.

    .ci/clients/coordinator_kill.py [ROUNDS]

Clients move money with sagas, TCC, XA, two-phase messages and workflows, every fifth of which is
refused on the way. After the last of the kills every acknowledged global transaction must have ended
whole, the sum of all accounts must be what it was, and nothing may have stayed prepared.
"""

import base64
import json
import random
import signal
import sys
import threading
import time
import urllib.parse

import pymysql

import galera
from cohort import Cohort, free_port
from galera import ACCOUNTS, BALANCE, Coordinator, Load, Service, check, wait_for_end

NOTA = 1397


class Server:
    """The database and the coordinator, as the others want to see them."""

    SCHEMA = "cohort"
    ask = Coordinator.ask

    def __init__(self, server, port):
        self.server, self.port = server, port

    def connect(self, _=0):
        return self.server.connect(database="bank", read_timeout=10)

    def query(self, sql):
        with self.server.connect(autocommit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(sql)
            return cursor.fetchall()


class Bank(galera.Bank):
    """With XA branches, and a client of workflows that can be called again."""

    load = None

    def act(self, path, query, body):
        if path == "/xa":
            return self.second_phase(query)
        if path == "/flow":
            return 200 if Bank.load.flow(query["gid"], json.loads(body)) else 500
        return super().act(path, query, body)

    @classmethod
    def first_phase(cls, query):
        """Money moves, and the branch is prepared: unless it was rolled back before."""
        xid = f"{query['gid']}-{query['branch_id']}"
        connection = cls.cluster.connect()
        try:
            cursor = connection.cursor()
            cursor.execute("SET innodb_lock_wait_timeout = 2")
            cursor.execute("XA START %s", (xid,))
            status = cls.move(cursor, query)
            cursor.execute("XA END %s", (xid,))
            cursor.execute("XA PREPARE %s", (xid,))
            return status
        finally:
            connection.close()

    @classmethod
    def second_phase(cls, query):
        xid, is_commit = f"{query['gid']}-{query['branch_id']}", query["op"] == "commit"
        connection = cls.cluster.connect()
        try:
            cursor = connection.cursor()
            cursor.execute("SET innodb_lock_wait_timeout = 2")
            try:
                cursor.execute(f"XA {'COMMIT' if is_commit else 'ROLLBACK'} %s", (xid,))
            except pymysql.MySQLError as error:
                if error.args[0] != NOTA:
                    raise
                # Done before, or never prepared: then it never will be.
                if not is_commit:
                    cls.enter(cursor, query, "action", "rollback")
                    connection.commit()
            return 200
        finally:
            connection.close()


class AllKinds(Load):
    """XA and workflows, too."""

    def kinds(self):
        return *super().kinds(), self.xa, self.workflow

    def xa(self, gid, legs, _out, _amount, is_refused):
        transaction = {"gid": gid, "trans_type": "xa"}
        if not self.post("prepare", transaction):
            return False
        for branch, leg in zip(("01", "02"), legs):
            fields = {**transaction, "branch_id": branch, "url": f"{self.bank}/xa"}
            if not self.post("registerBranch", fields):
                return False
            try:
                Bank.first_phase(query_of(leg, gid, branch, "action"))
            except (pymysql.MySQLError, OSError):
                is_refused = True
                break
        return self.post("abort" if is_refused else "submit", transaction)

    def workflow(self, gid, legs, _out, _amount, is_refused):
        order = {"legs": legs, "is_refused": is_refused}
        data = base64.b64encode(json.dumps(order).encode()).decode()
        fields = {"gid": gid, "trans_type": "workflow", "query_prepared": f"{self.bank}/flow",
                  "custom_data": json.dumps({"name": "transfer", "data": data})}
        return self.post("prepareWorkflow", fields) and self.flow(gid, order)

    def flow(self, gid, order):
        """The workflow's code, which may begin again at any time, and beside itself."""
        transaction = {"gid": gid, "trans_type": "workflow"}
        steps = [("01", "action", order["legs"][0])]
        steps.append(("01", "compensate", order["legs"][0]) if order["is_refused"]
                     else ("02", "action", order["legs"][1]))
        for branch, op, leg in steps:
            try:
                if Bank.work("/move", query_of(leg, gid, branch, op)) != 200:
                    return False
            except (pymysql.MySQLError, OSError):
                return False
            self.post("registerBranch", {**transaction, "branch_id": branch, "op": op,
                                         "status": "succeed"})
        status = "failed" if order["is_refused"] else "succeed"
        return self.post("submit", {**transaction, "req_extra": {"status": status}})


def query_of(leg, gid, branch, op):
    """What the coordinator would call a leg with."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(leg).query))
    return {**query, "gid": gid, "branch_id": branch, "op": op}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    port, chance = free_port(), random.Random()
    with Cohort("--coordinator", "on", "--coordinator-port", str(port),
                "--coordinator-retry-interval", "1", "--coordinator-retry-interval-max", "2",
                "--coordinator-timeout-to-fail", "3") as server:
        cluster = galera.Bank.cluster = Server(server, port)
        for statement in galera.TABLES:
            cluster.query(statement)
        rows = ", ".join(f"({account}, {BALANCE})" for account in range(ACCOUNTS))
        cluster.query(f"INSERT INTO bank.account VALUES {rows}")
        service = Service(("127.0.0.1", 0), Bank)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        load = Bank.load = AllKinds(cluster, [cluster], f"http://127.0.0.1:{service.server_port}")
        try:
            for _ in range(rounds):
                time.sleep(chance.uniform(0.1, 2))
                server.stop(signal.SIGKILL)
                server.start()
            until = time.monotonic() + 60
            while len(load.acknowledged) < 120 and time.monotonic() < until:
                time.sleep(0.1)
        finally:
            load.end()
        wait_for_end(cluster)
        check("coordinator_kill", cluster, load)
        assert not cluster.query("XA RECOVER"), "a branch stayed prepared"
        kinds = cluster.query("SELECT trans_type, status, COUNT(*) FROM cohort.global_transactions"
                              " GROUP BY trans_type, status ORDER BY trans_type, status")
        assert len(kinds) == 10, f"not all kinds of transactions had all ends: {kinds}"
        print(f"coordinator_kill: {kinds}")
        assert server.stop() == 0, "the server ends in good order"


if __name__ == "__main__":
    main()
