#!/usr/bin/env python3
"""Every pattern at once, over HTTP and gRPC, while services misbehave and processes are killed or
stand still; then nothing may be lost, half done, done twice, or otherwise than clients were told.

    coordinator_chaos.py SEED SECONDS embedded    a coordinator with tables of its own
    coordinator_chaos.py SEED SECONDS shared      two coordinators on the tables of a third server

The banks are in yet another server, which is killed, too. See `chaos_check.py` for what is checked,
`chaos_bank.py` for what services do wrong, `chaos_clients.py` for what clients do.
"""

import os

# Processes are started beside it.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import collections
import datetime
import random
import signal
import sys
import threading
import time

import pymysql

import chaos_check
from chaos_bank import SCHEMAS, Banks, Service
from chaos_clients import KINDS, Load, Watcher
from chaos_wire import Door
from cohort import Cohort, free_port

CLIENTS, REQUEST_TIMEOUT, LEASE = 32, 2, 17
RULES = ("--coordinator-retry-interval", "1", "--coordinator-retry-interval-max", "2",
         "--coordinator-timeout-to-fail", "4", "--coordinator-request-timeout",
         str(REQUEST_TIMEOUT))


class Process(Cohort):
    """A server that is killed and stopped, and notes when."""

    log_of_faults = []

    def __init__(self, name, *flags):
        super().__init__(*flags)
        self.name, self.lock = name, threading.RLock()

    def note(self, what):
        self.log_of_faults.append((time.time(), f"fault       {self.name}: {what}"))

    def fault(self, chance, stops, seconds=None):
        """Kills it, ends it in good order, or lets it stand still; and brings it back. With
        `seconds` it stands still for so long."""
        with self.lock:
            way = chance.choice(("kill", "kill", "stop", "stop", "end"))
            if seconds or way == "stop":
                seconds = seconds or chance.choice(stops) * chance.uniform(0.5, 1.2)
                self.note(f"SIGSTOP for {seconds:.1f} s")
                self.process.send_signal(signal.SIGSTOP)
                time.sleep(seconds)
                self.process.send_signal(signal.SIGCONT)
                return self.note("SIGCONT")
            how = signal.SIGKILL if way == "kill" else signal.SIGTERM
            self.note(how.name)
            self.stop(how)
            time.sleep(chance.choice((0, 0.3, 2)))
            self.start()
            self.note("is there again")


class Coordinator(Process):
    def __init__(self, name, *flags):
        port, rpc = free_port(), free_port()
        super().__init__(name, "--coordinator", "on", "--coordinator-port", str(port),
                         "--coordinator-grpc-port", str(rpc), *RULES, *flags)
        self.door = Door(name, port, rpc)

    def start(self):
        """Again and again, as whoever supervises it would: one that does not find its store ends."""
        until = time.monotonic() + 120
        self.process = None
        while self.door.http("GET", "/api/ping", patience=2)[0] != 200:
            assert time.monotonic() < until, "the coordinator does not answer"
            if self.process is None or self.process.poll() is not None:
                try:
                    super().start()
                except RuntimeError:
                    continue
            time.sleep(0.02)


class Scene:
    """The processes of a run, and what happens to them."""

    def __init__(self, kind):
        self.processes, self.faults = [], []
        # Small files and a small delta, so that kills also hit rotations and checkpoints.
        small = ("--max-binlog-size", "1000000", "--cohort-delta-size", "1000000")
        bank = self.add(Process("banks", *small), (1, 3), 9)
        self.banks = Banks(bank.connect)
        if kind == "embedded":
            self.schema = "cohort"
            self.store = self.add(Coordinator("c0", *small), (1, 3, 6), 2.5)
            self.coordinators = [self.store]
        else:
            self.schema = "shared"
            self.store = self.add(Process("store", *small), (1, 4, 13), 12)
            url = f"mysql://root@127.0.0.1:{self.store.port}/{self.schema}"
            self.coordinators = [
                self.add(Coordinator(name, "--coordinator-store", url), (2, 8, LEASE), 5, first)
                # One is taken for dead, and comes back.
                for name, first in (("c0", None), ("c1", LEASE + 5))]
        self.doors = [coordinator.door for coordinator in self.coordinators]

    def add(self, process, stops, pause, first=None):
        """One that is hurt: how long it is stopped, about how long it is left in peace, and how
        long it is stopped at first."""
        self.processes.append(process)
        process.start()
        self.faults.append((process, stops, pause, first))
        return process

    def disturb(self, seed, seconds):
        """A thread for each: they may be hurt at the same time."""
        until, failures = time.monotonic() + seconds, []

        def work(*one):
            try:
                hurt(*one)
            except Exception as error:  # A thread's end would otherwise be silent.
                failures.append(error)

        def hurt(process, stops, pause, first):
            chance = random.Random(f"{seed}.{process.name}")
            if first:
                time.sleep(pause)
                process.fault(chance, stops, first)
            while time.monotonic() < until - 1:
                time.sleep(min(chance.uniform(0.3, 2) * pause, until - time.monotonic()))
                process.fault(chance, stops)
        threads = [threading.Thread(target=work, args=one) for one in self.faults]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def query(self, sql):
        """Of the coordinators' tables."""
        with self.store.connect(database=self.schema, autocommit=True) as connection:
            cursor = connection.cursor(pymysql.cursors.DictCursor)
            cursor.execute(sql)
            return cursor.fetchall()

    def wait_for_end(self, seconds):
        """Until nothing is unfinished, or for so long."""
        until = time.monotonic() + seconds
        unfinished = ("SELECT COUNT(*) AS n FROM global_transactions"
                      " WHERE status NOT IN ('succeed', 'failed')")
        while self.query(unfinished)[0]["n"] and time.monotonic() < until:
            time.sleep(0.3)
        # Whatever should come after the end would come now.
        time.sleep(3)

    def end(self):
        for process in self.processes:
            if process.process:
                process.process.send_signal(signal.SIGCONT)
            process.__exit__(None)


def seconds_of(moment):
    return moment and moment.replace(tzinfo=datetime.timezone.utc).timestamp()


def history(scene, load, service, watcher, total):
    """All that is known at the end."""
    ended, known = {}, collections.defaultdict(set)
    for row in scene.query("SELECT gid, status, finish_time, rollback_time FROM"
                           " global_transactions"):
        ended[row["gid"]] = row["status"], seconds_of(row["finish_time"] or row["rollback_time"])
    for row in scene.query("SELECT gid, branch_id FROM branches"):
        known[row["gid"]].add(row["branch_id"])
    moved, now, frozen = [], 0, 0
    for bank in SCHEMAS:
        for *what, moment in scene.banks.query(
                f"SELECT gid, branch_id, op, time FROM {bank}.movement ORDER BY time"):
            moved.append((*what, seconds_of(moment)))
        row = scene.banks.query(f"SELECT SUM(balance + frozen), SUM(ABS(frozen)) FROM {bank}.account")
        now, frozen = now + row[0][0], frozen + row[0][1]
    prepared = [row[3] for row in scene.banks.query("XA RECOVER")]
    return chaos_check.History(
        dict(load.specs), list(load.told), list(service.calls), list(service.overlaps),
        watcher.seen, ended, known, moved, (total, now), frozen, prepared)


def money(banks):
    return sum(banks.query(f"SELECT SUM(balance + frozen) FROM {bank}.account")[0][0]
               for bank in SCHEMAS)


def tell(scene, found, problems, how):
    """What went wrong with which transactions, from everybody's view."""
    for name, gid, what in problems[:40]:
        print(f"{how}: {name}: {gid}: {what}")
    for gid in list(dict.fromkeys(gid for _, gid, _ in problems if gid))[:4]:
        print(f"--- {gid} ---\n{chaos_check.timeline(found, gid, Process.log_of_faults)}")
        for table in ("global_transactions", "branches", "attempts"):
            for row in scene.query(f"SELECT * FROM {table} WHERE gid = '{gid}'"):
                shown = {name: value for name, value in row.items() if value not in (None, "", 0)}
                print(f"  {table}: {shown}")
    for process in scene.processes:
        print(f"--- {process.name} ---\n{process.log.read_text()[-3000:]}")


def run(how, seed, seconds, scene, kinds=KINDS):
    """The clients' work, the faults, and the checks; whether all is well."""
    planted, total = chaos_check.self_test(), money(scene.banks)
    service = Service(scene.banks, REQUEST_TIMEOUT, None)
    load = Load(seed, scene.banks, service, scene.doors, CLIENTS, kinds)
    watcher = Watcher(load)
    scene.disturb(seed, seconds)
    load.end()
    scene.wait_for_end(90)
    watcher.end()
    for gid in load.specs:
        watcher.look(random.choice(scene.doors), gid)
    found = history(scene, load, service, watcher, total)
    problems = chaos_check.check(found)
    problems += [("panic", None, process.name) for process in scene.processes
                 if "panicked" in process.log.read_text()]
    statuses = collections.Counter(f"{found.specs[gid].kind} {status}"
                                   for gid, (status, _) in found.ended.items())
    behaved = collections.Counter(call.behaviour for call in found.calls)
    answers = collections.Counter(told.answer for told in found.told)
    deaths = sum(process.log.read_text().count("has declared dead") for process in scene.processes)
    print(f"{how}: {len(found.ended)} transactions {dict(sorted(statuses.items()))}, "
          f"{len(found.calls)} calls {dict(behaved)}, answers {dict(answers)}, "
          f"{len(Process.log_of_faults)} faults and recoveries, {deaths} declared dead, {planted} planted violations "
          f"found, {len(problems)} violations", flush=True)
    if problems:
        tell(scene, found, problems, how)
    # A run that does nothing shows nothing.
    assert len(statuses) == 2 * len(kinds), f"not all kinds had all ends: {statuses}"
    has_long_stop = any(first for *_, first in scene.faults)
    assert deaths or not has_long_stop, "nobody was taken for dead"
    return not problems


def main():
    seed, seconds, kind = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    scene = Scene(kind)
    try:
        is_well = run(f"coordinator_chaos {seed} {seconds:g} {kind}", seed, seconds, scene)
    finally:
        scene.end()
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
