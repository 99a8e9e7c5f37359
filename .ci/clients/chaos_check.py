"""What must hold after all faults, of what clients wanted and were told, services saw, banks moved,
and the coordinator's tables say.

Each check is given a history that breaks its rule before it is believed (`self_test`).
"""

import collections
import copy
import dataclasses
import re

from chaos_bank import Call
from chaos_clients import Spec, Told
from chaos_wire import FAILURE, SUCCESS

FINAL = ("succeed", "failed")
UNDO = {"saga": "compensate", "tcc": "cancel", "xa": "rollback"}
DO = {"saga": "action", "tcc": "confirm", "xa": "commit", "msg": "action"}
# What is moved when all goes well, and what may stay when it is undone.
WHOLE = {"saga": {"action"}, "tcc": {"try", "confirm"}, "xa": {"action"}, "msg": {"action"},
         "workflow": {"action"}}
UNDONE = {"saga": {"action", "compensate"}, "tcc": {"try", "cancel"},
          "workflow": {"action", "compensate"}}


@dataclasses.dataclass
class History:
    """All that is known. Times are seconds since 1970."""
    specs: dict
    told: list
    calls: list
    overlaps: list
    # By gid: (time, coordinator, status), in time.
    seen: dict
    # By gid: its status, and when it ended.
    ended: dict
    # By gid: names of branches in the coordinator's tables.
    known: dict
    # (gid, branch, op, time), in their order.
    moved: list
    # What there was, and what there is; what stayed frozen; XA branches that stayed prepared.
    money: tuple = (0, 0)
    frozen: int = 0
    prepared: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.calls_of, self.told_of = _by_gid(self.calls), _by_gid(self.told)
        self.moved_of = collections.defaultdict(lambda: collections.defaultdict(list))
        for gid, branch, op, time in self.moved:
            self.moved_of[gid][branch].append((op, time))


def _by_gid(things):
    by = collections.defaultdict(list)
    for thing in things:
        by[thing.gid].append(thing)
    return by


def money(h):
    """Nothing came, went, or stayed between."""
    if h.money[0] != h.money[1]:
        yield None, f"{h.money[0]} became {h.money[1]}"
    if h.frozen:
        yield None, f"{h.frozen} stayed frozen"
    for xid in h.prepared:
        yield xid.rsplit("-", 1)[0], f"{xid} stayed prepared"


def lost(h):
    """What was acknowledged is known, and all that is known has ended."""
    for told in h.told:
        if told.answer == SUCCESS and told.gid not in h.ended:
            yield told.gid, f"{told.request} was acknowledged, and is not there"
    for gid, (status, _) in h.ended.items():
        if status not in FINAL:
            yield gid, f"it never ends: {status}"
        for branch in h.specs[gid].registered:
            if branch not in h.known.get(gid, ()):
                yield gid, f"branch {branch} was registered, and is not there"


def whole(h):
    """All of it, or none of it."""
    for gid, (status, _) in h.ended.items():
        spec = h.specs[gid]
        names = [f"{number:02}" for number in range(1, len(spec.legs) + 1)]
        if spec.kind == "msg":
            names = ["00", *names[:-1]]
        for branch in names:
            ops = {op for op, _ in h.moved_of[gid][branch]}
            if status == "succeed":
                wanted = [{"msg"} if branch == "00" else WHOLE[spec.kind]]
            else:
                wanted = [set(), UNDONE.get(spec.kind, set())]
            if ops not in wanted:
                yield gid, f"{status}, and of branch {branch} was done: {sorted(ops)}"


def called(h):
    """The coordinator has called what its end says: all steps, or the undoing of what may have
    run; each until it was answered for."""
    for gid, (status, _) in h.ended.items():
        spec, answered = h.specs[gid], {(c.branch, c.op) for c in h.calls_of[gid] if c.answer == "ok"}
        called = {(c.branch, c.op) for c in h.calls_of[gid]}
        do, undo = DO.get(spec.kind), UNDO.get(spec.kind)
        branches = {"tcc": spec.registered, "xa": spec.registered, "workflow": []}.get(
            spec.kind, [f"{n:02}" for n in range(1, len(spec.legs) + (spec.kind != "msg"))])
        for branch in branches:
            if status == "succeed" and (branch, do) not in answered:
                yield gid, f"succeed, and {branch} {do} was never answered"
            if status == "succeed" and (branch, undo) in called:
                yield gid, f"succeed, and {branch} {undo} was called"
            may_have_run = spec.kind != "saga" or (branch, do) in called
            if status == "failed" and undo and may_have_run and (branch, undo) not in answered:
                yield gid, f"failed, and {branch} {undo} was never answered"
            if status == "failed" and spec.kind != "saga" and (branch, do) in called:
                yield gid, f"failed, and {branch} {do} was called"


def after_the_end(h):
    """Nobody is called, and nothing moves."""
    for gid, (status, end) in h.ended.items():
        if status not in FINAL:
            continue
        for call in h.calls_of[gid]:
            # The time of the end is taken before it is written. Branch 00 is the client, which may
            # have ended it while it is asked.
            if call.begun > end and call.branch != "00" and not call.is_orphan:
                yield gid, f"{call.branch} {call.op} was called {call.begun - end:.3f} s after the end"
        for branch, ops in h.moved_of[gid].items():
            for op, time in ops:
                if time > end:
                    yield gid, f"{branch} {op} has moved money {time - end:.3f} s after the end"


def order(h):
    """No action after its own undoing, neither in a bank nor called; steps in their order."""
    for gid, branches in h.moved_of.items():
        for branch, ops in branches.items():
            names = [op for op, _ in ops]
            for first, second in (("action", "compensate"), ("try", "cancel"), ("try", "confirm")):
                if second in names and first not in names[:names.index(second)]:
                    yield gid, f"{branch} {second} had an effect before {first}"
    for gid, calls in h.calls_of.items():
        if h.specs[gid].kind == "saga":
            yield from _order_of_saga(gid, h.specs[gid].before, calls)


def _order_of_saga(gid, before, calls):
    first, answered = {}, {}
    for call in calls:
        key = int(call.branch) - 1, call.op
        first.setdefault(key, call.begun)
        if call.answer == "ok":
            answered[key] = min(answered.get(key, call.ended), call.ended)
    for call in calls:
        if call.is_orphan:
            continue
        step = int(call.branch) - 1
        undone = first.get((step, "compensate"))
        if call.op == "action" and undone is not None and call.begun > undone:
            yield gid, f"{call.branch} action was called after its compensation"
        needed = [(other, "action") for other in before[step]] if call.op == "action" else \
            [(other, "compensate") for other, its in enumerate(before) if step in its
             and (other, "action") in first]
        for other in needed:
            if not answered.get(other, call.begun + 1) <= call.begun:
                yield gid, f"{call.branch} {call.op} was called before {other[0] + 1:02} {other[1]}" \
                           " was done"


def overlap(h):
    """No branch is called twice at the same time."""
    for gid, one, other in h.overlaps:
        yield gid, (f"{one.branch} {one.op}, called from port {one.peer}, is being waited for, and "
                    f"{other.op} is called from port {other.peer}")


def told(h):
    """What clients heard is so, for ever."""
    for gid, answers in h.told_of.items():
        if gid in h.ended:
            for answer in answers:
                yield from _told_one(gid, h.specs[gid].kind, answer, h.ended[gid][0])
    for gid, looks in h.seen.items():
        final = [status for *_, status in looks if status in (*FINAL, "aborting")]
        said = ["failed" if status == "aborting" else status for status in final]
        if said and (set(said) != {h.ended.get(gid, ("nothing",))[0]}):
            yield gid, f"it was seen as {', '.join(final)}"
        statuses = [status for *_, status in looks]
        places = [n for n, status in enumerate(statuses) if status in FINAL]
        if places and any(status not in FINAL for status in statuses[places[0]:]):
            yield gid, f"it was seen as {statuses}"


def _told_one(gid, kind, answer, end):
    what = f"{answer.request} was told {answer.answer} ({answer.text}), and it ended: {end}"
    status = re.search(r"current status '(\w+)'", answer.text)
    if status:
        said = {"aborting": "failed", "submitted": end, "prepared": end}
        if said.get(status[1], status[1]) != end:
            yield gid, what
    elif answer.request == "submit" and kind != "workflow":
        wanted = {SUCCESS: "succeed", FAILURE: "failed"}.get(answer.answer, end)
        # A saga that was only submitted may fail.
        is_open = kind == "saga" and answer.answer == SUCCESS and not answer.waits
        if wanted != end and not is_open:
            yield gid, what
    elif answer.request == "abort" and answer.answer in (SUCCESS, FAILURE):
        if (answer.answer == SUCCESS) != (end == "failed"):
            yield gid, what


CHECKS = (money, lost, whole, called, after_the_end, order, overlap, told)


def check(history):
    """All that is wrong: (check, gid or None, what)."""
    return [(one.__name__, gid, what) for one in CHECKS for gid, what in one(history)]


def timeline(history, gid, log):
    """What happened to one transaction, as everybody saw it; `log` is (time, what) of the rest."""
    spec = history.specs.get(gid)
    lines = [(told.time, f"client      {told.request} at {told.coordinator}"
              f"{' (waits)' if told.waits else ''}: {told.answer} {told.text}")
             for told in history.told_of[gid]]
    for call in history.calls_of[gid]:
        lines.append((call.begun, f"service     {call.branch} {call.op} over {call.protocol} from "
                                  f"{call.peer}: {call.behaviour}"))
        lines.append((call.ended or call.begun, f"service     {call.branch} {call.op} answered: "
                                                f"{call.answer}, effect: {call.effect}"))
    for branch, ops in history.moved_of[gid].items():
        lines += [(time, f"bank        {branch} {op}") for op, time in ops]
    lines += [(time, f"watcher     {status} at {door}") for time, door, status in history.seen[gid]]
    lines.sort()
    if lines:
        begun, ended = lines[0][0] - 1, max(lines[-1][0], history.ended.get(gid, (0, 0))[1] or 0) + 5
        lines += [(time, what) for time, what in log if begun < time < ended]
        lines.sort()
    zero = lines[0][0] if lines else 0
    return "\n".join([f"  {spec}", *(f"  {time - zero:9.3f}  {what}" for time, what in lines)])


def _good():
    """A history in which all is well: a saga that fails, one that succeeds, and a TCC."""
    legs = [{"amount": -1}, {"amount": 1}]
    specs = {"f": Spec("f", "saga", "http", legs, before=[[], [0]]),
             "s": Spec("s", "saga", "http", legs, before=[[], [0]]),
             "t": Spec("t", "tcc", "grpc", legs, registered=["01", "02"])}
    calls, moved = [], []

    def call(time, gid, branch, op, answer="ok", *done):
        calls.append(Call(gid, branch, op, "http", begun=time, ended=time + 0.5, answer=answer))
        moved.extend((gid, branch, op, time) for op in done)

    call(1, "f", "01", "action", "ok", "action")
    call(2, "f", "02", "action", "refused")
    call(3, "f", "02", "compensate")
    call(4, "f", "01", "compensate", "ok", "compensate")
    call(1, "s", "01", "action", "ok", "action")
    call(2, "s", "02", "action", "ok", "action")
    call(1, "t", "02", "confirm", "ok", "try", "confirm")
    call(2, "t", "01", "confirm", "ok", "try", "confirm")
    answers = [Told(1, "f", "submit", True, "c0", FAILURE, "no"),
               Told(1, "s", "submit", True, "c0", SUCCESS, ""),
               Told(1, "t", "submit", False, "c0", SUCCESS, "")]
    return dict(specs=specs, told=answers, calls=calls, overlaps=[], moved=moved,
                seen={"f": [(2, "c0", "submitted"), (3, "c0", "aborting"), (9, "c0", "failed")]},
                ended={"f": ("failed", 5), "s": ("succeed", 5), "t": ("succeed", 5)},
                known={"t": {"01", "02"}}, money=(10, 10))


def self_test():
    """Each check finds what was planted for it, and nothing else; how many plants there are."""
    assert not check(History(**_good())), check(History(**_good()))

    def without(name, unwanted):
        return lambda good: good.update({name: [one for one in good[name] if not unwanted(one)]})

    def is_call(gid, branch, op):
        return lambda call: (call.gid, call.branch, call.op) == (gid, branch, op)

    def end(gid, status):
        return lambda good: good["ended"].update({gid: (status, 5)})

    def later(gid, branch, op, time):
        def change(good):
            for call in filter(is_call(gid, branch, op), good["calls"]):
                call.begun, call.ended = time, time + 0.5
        return change

    plants = [
        ("money", lambda good: good.update(money=(10, 9))),
        ("money", lambda good: good.update(frozen=3)),
        ("money", lambda good: good.update(prepared=["t-01"])),
        ("lost", lambda good: good["ended"].pop("s")),
        ("lost", end("s", "aborting")),
        ("lost", lambda good: good["known"]["t"].discard("02")),
        ("whole", without("moved", lambda moved: moved[:3] == ("f", "01", "compensate"))),
        ("whole", without("moved", lambda moved: moved[:3] == ("s", "02", "action"))),
        ("whole", without("moved", lambda moved: moved[2] == "confirm")),
        ("called", without("calls", is_call("f", "02", "compensate"))),
        ("called", without("calls", is_call("t", "01", "confirm"))),
        ("called", lambda good: good["calls"].append(
            Call("s", "01", "compensate", "http", begun=3, ended=4, answer="ok"))),
        ("after_the_end", later("f", "01", "compensate", 6)),
        ("after_the_end", lambda good: good["moved"].append(("s", "03", "action", 6))),
        ("order", lambda good: good["moved"].reverse()),
        ("order", later("f", "01", "action", 4.2)),
        ("order", later("s", "02", "action", 1.2)),
        ("order", later("f", "01", "compensate", 3.2)),
        ("overlap", lambda good: good["overlaps"].append(("s", *good["calls"][:2]))),
        ("told", lambda good: good["told"].append(
            Told(1, "s", "submit", False, "c1", FAILURE, "the status changed. FAILURE"))),
        ("told", lambda good: good["told"].append(
            Told(1, "s", "submit", False, "c1", FAILURE, "current status 'failed', no"))),
        ("told", lambda good: good["told"].append(Told(1, "t", "abort", False, "c1", SUCCESS, ""))),
        ("told", lambda good: good["seen"]["f"].append((10, "c1", "succeed"))),
        ("told", lambda good: good["seen"]["f"].append((10, "c1", "submitted"))),
    ]
    for name, plant in plants:
        history = copy.deepcopy(_good())
        plant(history)
        found = {one for one, *_ in check(History(**history))}
        assert name in found, f"{name} does not find its plant: {found}"
    return len(plants)
