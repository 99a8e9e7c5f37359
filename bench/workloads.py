"""What is measured: the workloads of docs/benchmarks.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """One sysbench run, measured in its events (transactions) per second."""

    name: str
    script: str
    threads: int
    options: tuple = ()
    # What Cohort is to reach: times the better peer.
    least: float = 1.0
    # Whether the null server can answer it, as an upper bound.
    null: bool = True
    writes: bool = False
    mariadb: bool = True

    def runs_on(self, server):
        """Whether it can be run on the server of this name, and says something."""
        runs = {"null": self.null, "null_log": self.null and self.writes, "mariadb": self.mariadb}
        return runs.get(server, True)


def _workloads():
    point, transaction, hot = "oltp_point_select", "transaction.lua", "hot_row.lua"
    text = ("--db-ps-mode=disable",)
    yield Workload("point_select_prepared_64", point, 64, least=1.5)
    yield Workload("point_select_text_64", point, 64, text, least=2.0)
    yield Workload("point_select_types_64", "types.lua", 64, least=1.4, null=False)
    yield Workload("point_select_prepared_3", point, 3, least=1.4)
    yield Workload("point_select_text_3", point, 3, text, least=1.4)
    for around in ("begin", "autocommit0", "read_only"):
        yield Workload(f"select_{around}_64", transaction, 64, (f"--around={around}",), least=1.2)
    yield Workload("read_only_64", "oltp_read_only", 64, least=1.5, null=False)
    yield Workload("read_write_64", "oltp_read_write", 64, least=2.5, null=False, writes=True)
    for threads in (16, 64, 256):
        yield Workload(f"insert_{threads}", "oltp_insert", threads, least=4, writes=True)
    yield Workload("write_only_64", "oltp_write_only", 64, least=3, writes=True)
    yield Workload("update_non_index_64", "oltp_update_non_index", 64, least=3.5, writes=True)
    yield Workload("update_index_64", "oltp_update_index", 64, least=3.5, writes=True)
    yield Workload("hot_row_autocommit_64", hot, 64, least=8, writes=True)
    yield Workload("hot_row_begin_64", hot, 64, ("--around=begin",), least=5, writes=True)
    yield Workload("insert_1", "oltp_insert", 1, least=1.7, writes=True)
    yield Workload("insert_related_16", "related.lua", 16, least=2, null=False, writes=True)
    yield Workload("json_scan_2", "documents.lua", 2, least=2, null=False)
    for threads in (2, 16):
        # MariaDB has no such indexes.
        yield Workload(f"json_member_{threads}", "members.lua", threads, least=2, null=False,
                       mariadb=False)
    # Last, for they leave fewer and fewer rows.
    yield Workload("delete_64", "oltp_delete", 64, least=3.5, writes=True)


WORKLOADS = {w.name: w for w in _workloads()}
# Measured once per server, not in rounds: see measures.py.
MEASURES = ("bulk_insert", "memory", "create_index", "fsyncs", "recovery")
