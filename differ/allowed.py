"""What may differ from MySQL, and why."""

import math


def allowed(statement, form, what, ours, theirs):
    """The reason for a difference; None if there is none."""
    if what == "error" and ours.error and theirs.error and \
            (ours.error[0], theirs.error[0]) == (1292, 1366) and "DECIMAL" in theirs.error[1]:
        return "1366 for a function's text that is no decimal"
    if what == "warnings" and not theirs.warnings and "FROM (SELECT" in statement.text:
        return "a derived table's text that is no number"
    if what == "rows" and nearly_equal(ours.rows, theirs.rows):
        return "the order in which floating point numbers are added"
    return None


def nearly_equal(ours, theirs):
    """Whether rows differ in the last digits of floating point numbers only."""
    if len(ours) != len(theirs):
        return False
    pairs = [pair for one, other in zip(ours, theirs) for pair in zip(one, other)]
    return all(one == other or is_near(one, other) for one, other in pairs)


def is_near(one, other):
    try:
        point = "." if isinstance(one, str) else b"."
        return math.isclose(float(one), float(other), rel_tol=1e-12) and point in one + other
    except (TypeError, ValueError):
        return False
