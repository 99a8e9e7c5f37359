"""The table of ratios."""

from workloads import MEASURES, WORKLOADS

COLUMNS = ("cohort", "mysql", "mariadb", "null", "null_log")
# Of these, less is better.
LESS = ("memory", "fsyncs")
UNITS = {"bulk_insert": "rows/s", "create_index": "rows/s", "memory": "MiB",
         "fsyncs": "per commit", "recovery": "row changes/s"}


def number(value):
    """Short, with three digits or so."""
    if value is None:
        return "–"
    if value >= 10_000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def row(name, values):
    """One line: the servers' figures, Cohort against the better peer, and against null: where
    commits count, against the null server with a log."""
    cohort = values.get("cohort")
    peers = [values[p] for p in ("mysql", "mariadb") if values.get(p)]
    null = values.get("null_log", values.get("null"))
    best = (min if name in LESS else max)(peers) if peers else None
    ratio = f"{cohort / best:.2f}×" if cohort and best else "–"
    least = f"{WORKLOADS[name].least:g}×" if name in WORKLOADS else ""
    share = f"{cohort / null:.0%}" if cohort and null else "–"
    label = f"{name} ({UNITS[name]})" if name in UNITS else name
    cells = [label, *(number(values.get(c)) for c in COLUMNS), ratio, least, share]
    return "| " + " | ".join(cells) + " |"


def table(results):
    """The whole table, in Markdown."""
    head = ["| workload (per second) | Cohort | MySQL | MariaDB | null | null with a log "
            "| to the better peer | at least | of null |", "|---|---|---|---|---|---|---|---|---|"]
    names = [name for name in (*WORKLOADS, *MEASURES) if name in results]
    return "\n".join(head + [row(name, results[name]) for name in names])
