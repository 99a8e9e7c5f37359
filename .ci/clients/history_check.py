"""Whether a history of transactions is one that its isolation level allows.

Clients append numbers, each used once, to lists, and add them to sets; nothing is ever removed. So
the lists at the end tell in which order their writers committed, and what a read returned tells
after which of them, and before which, it was made. These are the edges of a graph, in which time
must not run in a circle. (The idea is Elle's.)

A transaction is several nodes, for MySQL does not read and write at the same moment:
  - plain reads are of a snapshot: one node for all of them at REPEATABLE READ, one for each at
    READ COMMITTED;
  - writes and locking reads are of the newest rows, which stay locked until the commit: one node.
    At SERIALIZABLE all reads in a transaction are locking reads.
Edges:
  ww  a list has the number of one right before that of the other
  wr  one read what the other wrote
  rw  one read what the other then wrote over, or did not see what it added
  rt  one had been answered when the other began; a snapshot is older than its own commit
At READ COMMITTED a locking read does not keep others from inserting what was not there, so that
gives no edge. At READ UNCOMMITTED only ww edges are looked at, and what was read may go.
"""

import bisect
import collections
import dataclasses
import math

UNCOMMITTED, COMMITTED, REPEATABLE, SERIALIZABLE = \
    "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"


@dataclasses.dataclass
class Append:
    """A number appended to lists: to those of `keys` that were there, `count` of them; to all of
    `keys` if it is None."""
    number: int
    keys: tuple
    count: int | None = None


@dataclasses.dataclass
class Add:
    """A number added to a set."""
    number: int
    key: int


@dataclasses.dataclass
class Read:
    """What was read: lists and sets by key, each a tuple of numbers."""
    begun: float
    ended: float
    locking: bool
    lists: dict = dataclasses.field(default_factory=dict)
    sets: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Txn:
    """A transaction as its client saw it. `outcome`: "committed", "failed", or "unknown"."""
    begun: float
    ops: list
    outcome: str = "unknown"
    ended: float = math.inf

    def writes(self):
        return [op for op in self.ops if not isinstance(op, Read)]


class History:
    """Transactions of one level, and the lists and sets at the end."""

    def __init__(self, level, txns, lists, sets):
        self.level, self.txns, self.lists, self.sets = level, txns, lists, sets
        self.problems = []
        # A number's transaction.
        self.writer = {op.number: i for i, txn in enumerate(txns) for op in txn.writes()}
        # (list or set, key) by number: where it is at the end.
        self.places = collections.defaultdict(list)
        self.edges = collections.defaultdict(dict)
        self.times = {}

    def check(self):
        """What is wrong, a text each."""
        self.look_at_end()
        self.settle()
        for key, numbers in self.lists.items():
            for before, after in zip(numbers, numbers[1:]):
                self.edge(self.write_node(before), self.write_node(after), "ww")
        for i, txn in enumerate(self.txns):
            self.times["w", i] = (txn.begun, txn.ended if txn.outcome == "committed" else math.inf)
            self.reads(i, txn)
        if self.level == UNCOMMITTED:
            self.cycles("ww")
        else:
            self.real_time()
            self.cycles("ww") or self.cycles("ww", "wr") or self.cycles("ww", "wr", "rw", "rt")
        return self.problems

    def problem(self, text):
        self.problems.append(f"{self.level}: {text}")

    def look_at_end(self):
        for kind, all_of_kind in (("list", self.lists), ("set", self.sets)):
            for key, numbers in all_of_kind.items():
                twice = [n for n, count in collections.Counter(numbers).items() if count > 1]
                if twice:
                    self.problem(f"{kind} {key} has {twice} twice")
                for number in numbers:
                    self.places[number].append((kind, key))
                    if number not in self.writer:
                        self.problem(f"{kind} {key} has {number}, which nobody wrote")

    def settle(self):
        """Whether what was committed is there, whole, and what failed is not."""
        for i, txn in enumerate(self.txns):
            there, lacking = [], []
            for op in txn.writes():
                places = self.places[op.number]
                if isinstance(op, Append):
                    wanted = len(op.keys) if op.count is None else op.count
                    stray = [place for place in places if place[1] not in op.keys]
                else:
                    wanted, stray = 1, [place for place in places if place != ("set", op.key)]
                if stray:
                    self.problem(f"{op} is in {stray}")
                if places:
                    there.append(op)
                if len(places) != wanted:
                    lacking.append(op)
            if txn.outcome == "committed" and lacking:
                self.problem(f"acknowledged and lost: transaction {i}, {lacking}")
            elif txn.outcome == "failed" and there:
                self.problem(f"rolled back, but there: transaction {i}, {there}")
            elif txn.outcome == "unknown" and there and lacking:
                self.problem(f"half of it is there: transaction {i}, {there}, without {lacking}")

    def write_node(self, number):
        return "w", self.writer.get(number, -1)

    def edge(self, source, target, kind):
        if source != target:
            self.edges[source].setdefault(target, kind)

    def reads(self, i, txn):
        """The edges of a transaction's reads."""
        own, snapshot = set(), None
        for place, op in enumerate(txn.ops):
            if not isinstance(op, Read):
                own.add(op.number)
                continue
            if op.locking or self.level == SERIALIZABLE:
                node = "w", i
            else:
                node = "r", i, 0 if self.level == REPEATABLE else place
                if node != snapshot:
                    self.times[node], snapshot = (op.begun, op.ended), node
                self.edge(node, ("w", i), "rt")
            mine = [write for write in txn.ops[:place] if not isinstance(write, Read)]
            for key, numbers in op.lists.items():
                self.read_list(i, node, key, numbers, mine)
            for key, numbers in op.sets.items():
                self.read_set(i, node, key, numbers, mine)

    def read_list(self, i, node, key, numbers, mine):
        must = [op.number for op in mine if isinstance(op, Append) and key in op.keys
                and op.count is None]
        may = [op.number for op in mine if isinstance(op, Append) and key in op.keys]
        others = list(numbers)
        while others and others[-1] in may:
            others.pop()
        found = list(numbers[len(others):])
        if [n for n in may if n in found] != found or set(must) - set(found):
            self.problem(f"internal: transaction {i} appended {may} to list {key}, and read "
                         f"{numbers[-9:]}")
        final = self.lists.get(key, ())
        if list(final[:len(others)]) != others:
            self.lost(i, "list", key, others, final)
            return
        if found:
            # Its own row is the newest one.
            node = "w", i
        if self.txns[i].outcome == "failed" and node[0] == "w":
            return
        if others:
            self.edge(self.write_node(others[-1]), node, "wr")
        if len(final) > len(others) and (others or self.keeps_out(node)):
            self.edge(node, self.write_node(final[len(others)]), "rw")

    def keeps_out(self, node):
        """Whether what is not there stays so for the node."""
        return node[0] == "r" or self.level != COMMITTED

    def lost(self, i, kind, key, numbers, final):
        """Names what a read has that the end does not have."""
        gone = [n for n in numbers if n not in final]
        outcomes = [self.txns[self.writer[n]].outcome for n in gone if n in self.writer]
        if self.level == UNCOMMITTED and set(outcomes) & {"failed", "unknown"}:
            # It may read what is not committed, and that may go, by a crash as well.
            return
        failed = [n for n, outcome in zip(gone, outcomes) if outcome == "failed"]
        if failed:
            self.problem(f"G1a: transaction {i} read {failed} in {kind} {key}, rolled back")
        else:
            what = f"seen and lost: {gone}" if gone else "in another order"
            self.problem(f"{what}: transaction {i} read {kind} {key} as {tuple(numbers)[-9:]}, at "
                         f"the end it is {tuple(final)[-9:]}")

    def read_set(self, i, node, key, numbers, mine):
        own = {op.number for op in mine if isinstance(op, Add) and op.key == key}
        if own - set(numbers):
            self.problem(f"internal: transaction {i} added {own} to set {key}, and read {numbers}")
        final = self.sets.get(key, ())
        if gone := set(numbers) - set(final) - own:
            self.lost(i, "set", key, gone, final)
        if self.txns[i].outcome == "failed" and node[0] == "w":
            return
        seen = set(numbers) - own
        for number in final:
            if number in seen:
                self.edge(self.write_node(number), node, "wr")
            elif number not in own and self.keeps_out(node):
                self.edge(node, self.write_node(number), "rw")

    def real_time(self):
        """A chain of the moments of all answers: whoever was answered before leads into it, and
        it leads to whoever began after."""
        ends = sorted({end for _, end in self.times.values() if end < math.inf})
        for i in range(len(ends) - 1):
            self.edge(("t", i), ("t", i + 1), "rt")
        for node, (begun, ended) in self.times.items():
            if ended < math.inf:
                self.edge(node, ("t", bisect.bisect_left(ends, ended)), "rt")
            before = bisect.bisect_left(ends, begun) - 1
            if before >= 0:
                self.edge(("t", before), node, "rt")

    def cycles(self, *kinds):
        """Finds circles of such edges; names the shortest of each component."""
        graph = {node: [t for t, kind in targets.items() if kind in kinds]
                 for node, targets in self.edges.items()}
        found = False
        for component in components(graph):
            cycle = shortest_cycle(graph, component)
            labels = [self.edges[a][b] for a, b in zip(cycle, cycle[1:])]
            anti = labels.count("rw")
            name = "G2" if anti > 1 else "G-single" if anti else "G1c" if "wr" in labels else "G0"
            name += " in real time" if "rt" in labels and anti + labels.count("wr") < 2 else ""
            path = [f"{a} -{label}-> " for a, label in zip(cycle, labels) if a[0] != "t"]
            self.problem(f"{name}: {''.join(path)}{cycle[0]}\n" + "\n".join(
                f"  {node}: {self.txns[node[1]]}" for node in cycle[:-1] if node[0] != "t"))
            found = True
        return found


def components(graph):
    """Strongly connected components of more than one node (Tarjan's, without recursion)."""
    index, low, stack, on_stack, result = {}, {}, [], set(), []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(graph.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set()
                    while node not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    if len(component) > 1:
                        result.append(component)
    return result


def shortest_cycle(graph, component):
    """A short circle in a component, its first node once more at its end."""
    best = None
    for start in sorted(component, key=repr)[:50]:
        came, queue = {start: None}, collections.deque([start])
        while queue:
            node = queue.popleft()
            if start in graph.get(node, ()):
                path = [start]
                while node is not None:
                    path.append(node)
                    node = came[node]
                path.reverse()
                best = path if best is None or len(path) < len(best) else best
                break
            for target in graph.get(node, ()):
                if target in component and target not in came:
                    came[target] = node
                    queue.append(target)
    return best


def self_test():
    """Each violation, planted by hand, is found under its name; good histories are not."""
    def txn(begun, ended, *ops, outcome="committed"):
        return Txn(begun, list(ops), outcome, ended)

    def read(at, key, *numbers, locking=False):
        return Read(at, at + 0.1, locking, {key: numbers})

    def add_read(at, key, *numbers):
        return Read(at, at + 0.1, False, {}, {key: numbers})

    a, b, c = Append(1, (1,)), Append(2, (1,)), Append(3, (2,))
    write_skew = [txn(0, 3, read(1, 1), c), txn(0, 3, read(1, 2), a)]
    planted = [
        ("G0", UNCOMMITTED, [txn(0, 9, a, c), txn(0, 9, b, Append(4, (2,)))],
         {1: (1, 2), 2: (4, 3)}, {}),
        ("G1a", COMMITTED, [txn(0, 2, a, outcome="failed"), txn(0, 2, read(1, 1, 1))], {}, {}),
        ("G-single", COMMITTED, [txn(0, 3, a, b), txn(0, 9, read(4, 1, 1))], {1: (1, 2)}, {}),
        ("G1c", COMMITTED, [txn(0, 9, a, read(1, 2, 3, locking=True)),
                            txn(0, 9, c, read(1, 1, 1, locking=True))], {1: (1,), 2: (3,)}, {}),
        ("G-single", REPEATABLE, [txn(0, 3, a, c), txn(0, 9, read(1, 1), read(2, 2, 3))],
         {1: (1,), 2: (3,)}, {}),
        ("G2", SERIALIZABLE, write_skew, {1: (1,), 2: (3,)}, {}),
        ("G2", SERIALIZABLE, [txn(0, 9, add_read(1, 1), Add(6, 2)),
                              txn(0, 9, add_read(1, 2), Add(5, 1))], {}, {1: (5,), 2: (6,)}),
        ("in real time", SERIALIZABLE, [txn(0, 1, a), txn(2, 3, read(2.5, 1))], {1: (1,)}, {}),
        ("lost", REPEATABLE, [txn(0, 1, a), txn(0, 1, b)], {1: (2,)}, {}),
        ("seen and lost", REPEATABLE, [txn(0, math.inf, a, outcome="unknown"),
                                       txn(0, 2, read(1, 1, 1))], {}, {}),
        ("half", REPEATABLE, [txn(0, 9, a, c, outcome="unknown")], {1: (1,)}, {}),
        ("rolled back", COMMITTED, [txn(0, 9, a, outcome="failed")], {1: (1,)}, {}),
        ("twice", COMMITTED, [txn(0, 9, a)], {1: (1, 1)}, {}),
        ("internal", COMMITTED, [txn(0, 9, a, read(1, 1))], {1: (1,)}, {}),
        ("another order", COMMITTED, [txn(0, 1, a), txn(0, 1, b), txn(2, 3, read(2, 1, 2, 1))],
         {1: (1, 2)}, {}),
    ]
    for name, level, txns, lists, sets in planted:
        problems = History(level, txns, lists, sets).check()
        assert any(name in problem for problem in problems), (name, problems)
    good = [(REPEATABLE, write_skew, {1: (1,), 2: (3,)}),
            (REPEATABLE, [txn(0, 9, read(1, 1), b, read(3, 1, 1, 2)), txn(1.5, 2, a)], {1: (1, 2)}),
            (COMMITTED, [txn(0, 3, a, c), txn(0, 9, read(1, 1), read(4, 2, 3))],
             {1: (1,), 2: (3,)}),
            (UNCOMMITTED, [txn(0, 9, a, outcome="unknown"), txn(0, 2, read(1, 1, 1))], {}),
            (SERIALIZABLE, [txn(0, 1, a, outcome="unknown"), txn(2, 3, read(2.5, 1))], {})]
    for level, txns, lists in good:
        problems = History(level, txns, lists, {}).check()
        assert not problems, problems
    return len(planted)


if __name__ == "__main__":
    print(f"history_check: {self_test()} planted violations found")
