"""The steps of a check: each is run at once, and its line says whether it holds."""

import sys


def expect(holds, why):
    if not holds:
        raise AssertionError(why)


def step(what, *, is_needed=False):
    """Runs a step, and prints whether it holds. If what follows needs it, a failure ends the program."""
    def run(body):
        try:
            body()
            print(f"ok {what}", flush=True)
        except Exception as error:
            print(f"not ok {what}: {' '.join(str(error).split())[:400]}", flush=True)
            if is_needed:
                sys.exit(0)
    return run
