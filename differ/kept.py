"""Answers that are kept, to be compared with without MySQL.

A line for each statement: its text, its constants, whether it changes rows, and a digest of the
answer in each form in which both servers answered alike. Between them, what sets the mode.
"""

import datetime
import decimal
import hashlib

from generate import Statement
from protocol import Unsigned

NAMES = {"datetime": datetime, "Decimal": decimal.Decimal, "Unsigned": Unsigned}


def digest(answer, after):
    """Of all that is compared: rows or error, affected rows, whether there are warnings; and of
    the rows `after` a change."""
    if answer.error:
        seen = answer.error[0]
    else:
        seen = answer.rows, answer.affected, bool(answer.warnings), after and after.rows
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:8]


class Writer:
    """Keeps answers in a file."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf8") if path else None

    def add(self, statement, change, digests):
        if self.file and (digests or statement.text.startswith("SET ")):
            print((statement.text, statement.values, change, digests), file=self.file)

    def close(self):
        if self.file:
            self.file.close()


def read(path):
    """The statements of a file, with what is known of them."""
    with open(path, encoding="utf8") as lines:
        for line in lines:
            text, values, change, digests = eval(line, NAMES)  # written by `Writer`
            yield Statement(text, values), change, digests
