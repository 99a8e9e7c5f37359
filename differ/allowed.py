"""What may differ from MySQL, and why."""


def allowed(statement, form, what, ours, theirs):
    """The reason for a difference; None if there is none."""
    return None
