"""DTM's barrier: calls of a saga's steps may come twice, late, or in the wrong order."""

TABLE = """CREATE TABLE IF NOT EXISTS barrier (
    gid VARCHAR(128), branch VARCHAR(128), op VARCHAR(45), PRIMARY KEY (gid, branch, op))"""


def is_due(cursor, gid, branch, op):
    """Whether a call is to be obeyed; ask in the transaction that obeys it."""
    def first(op):
        return cursor.execute("INSERT IGNORE INTO barrier VALUES (%s, %s, %s)", (gid, branch, op))
    # What was never done is not undone; and with its row taken it can't be done later, either.
    nothing_to_undo = op == "compensate" and first("action")
    return first(op) and not nothing_to_undo
