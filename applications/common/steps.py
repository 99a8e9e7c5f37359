"""Steps of a program, and what they print. STEPS_TRACE=1 shows where a step failed."""

import json
import os
import sys
import traceback

FAILED = []


def show(*values):
    """Prints results: what both servers must answer alike."""
    print(json.dumps(values[0] if len(values) == 1 else values, default=str, ensure_ascii=False),
          flush=True)


def step(run):
    """Runs a function as a step of its name, says whether it worked, and goes on in either case."""
    name = run.__name__
    try:
        run()
    except Exception as error:  # pylint: disable=broad-except
        if os.environ.get("STEPS_TRACE"):
            traceback.print_exc(file=sys.stderr)
        words = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"step {name} FAILED {words[:500]}", flush=True)
        FAILED.append(name)
    else:
        print(f"step {name} ok", flush=True)
    return run


def check(truth, *why):
    """Fails the step if something is not so."""
    if not truth:
        raise AssertionError(" ".join(map(str, why)) or "not so")
