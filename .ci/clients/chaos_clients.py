"""Clients of the coordinator that move money between two banks with every pattern, ask again, wait,
abort, or vanish halfway; and what they were told.
"""

import base64
import collections
import dataclasses
import itertools
import json
import random
import threading
import time

import pymysql

from chaos_bank import ACCOUNTS, Refused
from chaos_wire import ERROR, FAILURE, NOTHING, ONGOING, SUCCESS, message

KINDS = ("saga", "tcc", "xa", "msg", "workflow")
# What a service may do wrong before it obeys.
MISTAKES = ("late", "twice", "garbage", "broken", "hang", "ongoing", "lost", "half")


@dataclasses.dataclass
class Spec:
    """What a client wants."""
    gid: str
    kind: str
    protocol: str
    legs: list
    options: dict = dataclasses.field(default_factory=dict)
    # For each step of a saga, those that must be before it.
    before: list = None
    # Branches that were registered, and answered for.
    registered: list = dataclasses.field(default_factory=list)
    refuses: bool = False


@dataclasses.dataclass
class Told:
    """An answer."""
    time: float
    gid: str
    request: str
    waits: bool
    coordinator: str
    answer: str
    text: str


class Load:
    """Clients, until they are told to end."""

    def __init__(self, seed, banks, service, doors, clients, kinds):
        self.seed, self.banks, self.service, self.doors = seed, banks, service, doors
        self.kinds = kinds
        service.flow = self.run_again
        self.specs, self.told, self.over = {}, [], threading.Event()
        self.mistakes, self.count = [], itertools.count(1)
        self.threads = [threading.Thread(target=self.work, args=(n,), daemon=True)
                        for n in range(clients)]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(120)
            assert not thread.is_alive(), "a client hangs"
        if self.mistakes:
            raise self.mistakes[0]

    def work(self, number):
        while not self.over.is_set():
            count = next(self.count)
            chance = random.Random(f"{self.seed}.{count}")
            try:
                Client(self, chance, f"c{self.seed}-{count}").transfer()
            except (Refused, pymysql.MySQLError, OSError):
                pass  # The banks are away; whoever wanted to ends here, decided or not.
            except Exception as error:  # A thread's end would otherwise be silent.
                self.mistakes.append(error)
                raise
            time.sleep(0.02)

    def run_again(self, gid, data):
        """A workflow that its client left, called by the coordinator."""
        client = Client(self, random.Random(gid + "again"), gid)
        client.spec = self.specs[gid]
        if not client.flow(json.loads(data)):
            raise OSError("not this time")


class Client:
    """One transfer."""

    def __init__(self, load, chance, gid):
        self.load, self.chance, self.gid = load, chance, gid

    def transfer(self):
        chance = self.chance
        # Sagas have the most ways to go.
        kind = chance.choice((*self.load.kinds, "saga"))
        count = 2 if kind != "saga" else chance.choice((2, 2, 3, 4, 6))
        amounts = [chance.randrange(-9, 10) for _ in range(count - 1)]
        legs = [{"bank": chance.randrange(2), "account": chance.randrange(ACCOUNTS),
                 "amount": amount, "protocol": chance.choice(("http", "grpc"))}
                for amount in (*amounts, -sum(amounts))]
        self.spec = Spec(self.gid, kind, chance.choice(("http", "grpc")), legs,
                         {"retry_interval": 1}, refuses=chance.random() < 0.25)
        self.load.specs[self.gid] = self.spec
        plan = self.load.service.plans[self.gid] = {}
        ops = {"saga": ("action", "compensate"), "tcc": ("confirm", "cancel"),
               "xa": ("commit", "rollback"), "msg": ("action",), "workflow": ()}[kind]
        # Every third transaction meets services that make no mistakes.
        often = chance.choice((0, 0.15, 0.5))
        for branch, _ in self.branches():
            for op in ops:
                if chance.random() < often:
                    plan[branch, op] = chance.choices(MISTAKES, k=chance.choice((1, 1, 2)))
        if chance.random() < often:
            plan["00", {"msg": "msg"}.get(kind, "transfer")] = [chance.choice(MISTAKES)]
        getattr(self, kind)()

    def branches(self):
        return [(f"{number:02}", leg) for number, leg in enumerate(self.spec.legs, 1)]

    def url(self, leg, what="Move"):
        return self.load.service.url(leg["protocol"], what)

    # What is asked.

    def note(self, door, request, waits, answer, text):
        told = Told(time.time(), self.gid, request, waits, door.name, answer, str(text)[:300])
        self.load.told.append(told)

    def fields(self, more):
        return {"gid": self.gid, "trans_type": self.spec.kind, **more}

    def ask(self, request, more, patience=20):
        """Of whichever coordinator: as it answered."""
        door = self.chance.choice(self.load.doors)
        answer, text = door.ask(self.spec.protocol, request, self.fields(more), patience)
        self.note(door, request, bool(more.get("wait_result")), answer, text)
        return answer, text

    def insist(self, request, more):
        """Until there is an answer that decides; the last one."""
        left = 3
        for turn in range(14):
            answer, text = self.ask(request, more)
            # When all faults are over, whoever is not answered soon never is.
            left -= self.load.over.is_set()
            if not left:
                break
            if answer == ERROR and "UniqueKeyConflict" in str(text):
                # It was registered by a request whose answer was lost.
                return SUCCESS, text
            is_late = turn > 3 or self.load.over.is_set()
            if answer in (SUCCESS, FAILURE) or answer == ONGOING and is_late:
                return answer, text
            time.sleep(0.15 * (turn + 1))
        return answer, text

    def must(self, request, more):
        answer, text = self.insist(request, more)
        if answer != SUCCESS:
            raise Refused(text)
        return text

    def finish(self, request, more):
        """Submits or aborts: once, several times at once, impatiently, or waiting for the end."""
        chance = self.chance
        more = {**self.spec.options, **more, "wait_result": chance.random() < 0.4}
        way = chance.random()
        if way < 0.15:
            crowd = [threading.Thread(target=self.beside, args=(request, more, n))
                     for n in range(chance.choice((1, 2, 5)))]
            for one in crowd:
                one.start()
            self.insist(request, more)
            for one in crowd:
                one.join()
        elif way < 0.3:
            # Who does not wait for an answer asks again, perhaps.
            for _ in range(chance.choice((1, 2, 3))):
                self.ask(request, more, patience=chance.choice((0.05, 0.5)))
        else:
            self.insist(request, more)

    def beside(self, request, more, number):
        client = Client(self.load, random.Random(f"{self.gid}.{number}"), self.gid)
        client.spec = self.spec
        client.ask(request, more)

    # The patterns.

    def saga(self):
        spec, chance = self.spec, self.chance
        count = len(spec.legs)
        spec.before = [list(range(step))[-1:] for step in range(count)]
        options = {"steps": [{"action": self.url(leg), "compensate": self.url(leg)}
                             for leg in spec.legs],
                   "payloads": [json.dumps(leg) for leg in spec.legs]}
        order = chance.choice(("sequence", "concurrent", "orders"))
        if order != "sequence":
            spec.before = [[] for _ in range(count)]
            if order == "orders":
                spec.before = [chance.sample(range(step), chance.randrange(min(step, 2) + 1))
                               for step in range(count)]
            orders = {step: before for step, before in enumerate(spec.before) if before}
            options["custom_data"] = json.dumps({"concurrent": True, "orders": orders})
        if chance.random() < 0.25:
            options["retry_limit"] = chance.choice((1, 3))
        if chance.random() < 0.25:
            options["timeout_to_fail"] = chance.choice((1, 3, 6))
        if spec.refuses:
            plan = self.load.service.plans[self.gid]
            branch = f"{chance.randrange(count) + 1:02}"
            # For ever: also if it was late with another answer.
            plan[branch, "action"] = plan.get((branch, "action"), [])[:1] + ["refused"] * 99
        self.finish("submit", options)

    def first_phase(self, fields, try_it):
        """Registers and tries all branches; aborts, vanishes or submits."""
        chance, vanishes = self.chance, self.chance.random() < 0.15
        self.must("prepare", self.spec.options)
        refused_at = chance.randrange(len(self.spec.legs)) if self.spec.refuses else None
        is_refused = False
        for number, (branch, leg) in enumerate(self.branches()):
            self.must("registerBranch", {"branch_id": branch, "data": json.dumps(leg),
                                         **fields(leg)})
            self.spec.registered.append(branch)
            try:
                if number == refused_at:
                    raise Refused
                try_it(branch, leg)
            except (Refused, pymysql.MySQLError, OSError):
                is_refused = True
                break
        if not vanishes:
            self.finish("abort" if is_refused else "submit", {})

    def tcc(self):
        if self.chance.random() < 0.2:
            self.spec.options["timeout_to_fail"] = self.chance.choice((1, 2))

        def try_it(branch, leg):
            if not self.load.banks.move(leg, self.gid, branch, "try"):
                raise Refused("it was cancelled before")
        self.first_phase(lambda leg: {"confirm": self.url(leg), "cancel": self.url(leg)}, try_it)

    def xa(self):
        self.first_phase(lambda leg: {"url": self.url(leg, "Xa")},
                         lambda branch, leg: self.load.banks.prepare_xa(leg, self.gid, branch))

    def msg(self):
        spec, chance = self.spec, self.chance
        own = spec.legs[0]
        self.load.service.plans[self.gid]["own"] = json.dumps(own)
        options = {"steps": [{"action": self.url(leg)} for leg in spec.legs[1:]],
                   "payloads": [json.dumps(leg) for leg in spec.legs[1:]],
                   "query_prepared": self.url(own, "Query"), **spec.options}
        self.must("prepare", options)
        way = chance.random()
        if spec.refuses:
            return self.finish("abort", options) if way < 0.6 else None
        done = self.load.banks.work(own["bank"], lambda cursor: self.load.banks.move_in(
            cursor, own, self.gid, "00", "msg"))
        # Who was asked before is rolled back; who vanishes is asked.
        if done and way < 0.7:
            self.finish("submit", options)

    def workflow(self):
        order = {"refuses": self.spec.refuses}
        data = base64.b64encode(json.dumps(order).encode()).decode()
        fields = {"custom_data": json.dumps({"name": "transfer", "data": data}),
                  "query_prepared": self.load.service.flow_url(self.chance.choice(("http", "grpc"))),
                  **self.spec.options}
        self.must("prepareWorkflow", fields)
        if self.chance.random() < 0.8:
            self.flow(order)

    def flow(self, order):
        """The workflow's code, which may begin again at any time, and beside itself."""
        steps = [(branch, "action", leg) for branch, leg in self.branches()]
        if order["refuses"]:
            steps[1:] = [("01", "compensate", self.spec.legs[0])]
        for branch, op, leg in steps:
            self.load.banks.move(leg, self.gid, branch, op)
            answer, _ = self.insist("registerBranch", {"branch_id": branch, "op": op,
                                                       "status": "succeed"})
            if answer == SUCCESS:
                self.spec.registered.append(branch)
        status = "failed" if order["refuses"] else "succeed"
        answer, text = self.insist("submit", {"req_extra": {"status": status}})
        # Somebody was faster: another run of this.
        return answer == SUCCESS or "current status" in str(text)


class Watcher:
    """Looks at transactions while all this goes on: at what statuses, and in which order."""

    def __init__(self, load):
        self.load, self.seen = load, collections.defaultdict(list)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        chance = random.Random(f"{self.load.seed}.watcher")
        while not self.over.is_set():
            gids = list(self.load.specs)
            if gids:
                # Now and then at one that ended long ago.
                recent = gids[-40:] if chance.random() < 0.8 else gids
                self.look(chance.choice(self.load.doors), chance.choice(recent))
            time.sleep(0.02)

    def look(self, door, gid):
        status, text = door.http("GET", f"/api/dtmsvr/query?gid={gid}", patience=5)
        if status == 200:
            transaction = json.loads(text)["transaction"]
            self.seen[gid].append((time.time(), door.name,
                                   transaction and transaction["status"]))

    def end(self):
        self.over.set()
        self.thread.join(30)
