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
    try:
        run()
    except Exception as error:  # pylint: disable=broad-except
        _failed(run.__name__, error)
    else:
        print(f"step {run.__name__} ok", flush=True)
    return run


async def step_awaited(run):
    """The same for a coroutine's function."""
    try:
        await run()
    except Exception as error:  # pylint: disable=broad-except
        _failed(run.__name__, error)
    else:
        print(f"step {run.__name__} ok", flush=True)


def _failed(name, error):
    """Says that a step did not work."""
    if os.environ.get("STEPS_TRACE"):
        traceback.print_exception(error, file=sys.stderr)
    words = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"step {name} FAILED {words[:900]}", flush=True)
    FAILED.append(name)


def check(truth, *why):
    """Fails the step if something is not so."""
    if not truth:
        raise AssertionError(" ".join(map(str, why)) or "not so")
