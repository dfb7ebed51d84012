"""Runs random histories against the programs, or one that was kept. See README.md."""

import argparse
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import hypothesis
from hypothesis.stateful import run_state_machine_as_test

import activity_rules
import rules
from faults import FAULTS, sabotaged
from gateway import Gateway
from history import History, Stage
from machine import TOPICS, Interleavings
from ogs import Site
from shrink import resolved, shrunk


BY_NAME = {kind.name: kind for kind in rules.ALL + activity_rules.ALL}


def arguments():
    parser = argparse.ArgumentParser(prog="infra/model/run", description=__doc__)
    parser.add_argument("--histories", type=int, default=24, help="how many (24: about half a minute)")
    parser.add_argument("--seed", type=int, help="the seed that an earlier run printed")
    parser.add_argument("--steps", type=int, default=30, help="the most steps that a history may have")
    parser.add_argument("--about", metavar="TOPIC", choices=sorted(set().union(*TOPICS)), help="only histories about it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="raise only these violations, comma-separated: " + ", ".join(BY_NAME))
    parser.add_argument("--except", dest="without", help="raise all violations but these")
    parser.add_argument("--shrink", type=int, default=60, help="seconds that may be spent on a shorter history")
    parser.add_argument("--keep", default=".", metavar="FOLDER", help="where a history that fails is written")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="do these histories, and print them")
    parser.add_argument("--faults", action="store_true", help="show that each check finds programs that break their promise")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def binaries():
    return os.path.abspath(os.environ.get("TURNSTONE_BIN", ".build/release"))


def kinds(options):
    if options.only:
        return set(options.only.split(","))
    if options.without:
        return set(BY_NAME) - set(options.without.split(","))
    return None


class Failure:
    """The first history that failed."""

    def __init__(self):
        self.kind = None

    def take(self, history, error):
        self.kind = getattr(error, "name", type(error).__name__)
        self.error = str(error)
        self.spawn, self.steps, self.lines = history.spawn, copy.deepcopy(history.steps), list(history.lines)
        self.begun = {"start": history.start, "zone": history.world.zone}


def again(stage, options, spawn, steps, begun):
    """Does a history from its steps. Answers with it, and with what it found."""
    history, found = History(stage, kinds(options), spawn, **begun), None
    try:
        for step in steps:
            history.do(step)
        history.settle()
    except Exception as error:
        found = error
    finally:
        history.end()
    return history, found


def shorten(stage, options, failure):
    def fails(steps):
        history, found = again(stage, options, failure.spawn, steps, failure.begun)
        if found is None or getattr(found, "name", type(found).__name__) != failure.kind:
            return False
        failure.take(history, found)
        return True

    first = failure.steps
    found = any(fails(copy.deepcopy(steps)) for steps in (first, list(resolved(first)), first))
    if found:
        shrunk(failure.steps, fails, options.shrink)
    return found


def printed(failure, path):
    lines = [f"FAILED {failure.kind}: {failure.error}", *("  " + line for line in failure.lines)]
    return "\n".join([*lines, f"Replay: infra/model/run --replay {path}"])


def work(options):
    """One process of several: its share of the histories."""
    folder = tempfile.mkdtemp(prefix="turnstone-model-stage.")
    seed = options.seed * 1000 + options.worker
    site = Site(os.path.join(binaries(), "simulator"), folder)
    gateway = Gateway(folder)
    stage, failure, done = Stage(binaries(), gateway, site), Failure(), [0, 0, 0]

    class Machine(Interleavings):
        topic = options.about

        @staticmethod
        def begin(spawn, start, zone):
            done[0] += 1
            if done[0] % 25 == 0:
                print(f"process {options.worker}: {done[0]} of {options.histories} histories", file=sys.stderr, flush=True)
            return History(stage, kinds(options), spawn, start, zone)

        @staticmethod
        def failed(history, error):
            failure.take(history, error)

        def teardown(self):
            if failure.kind is not None:
                if self.history is not None:
                    self.history.end()
            elif self.history is not None:
                done[1] += len(self.history.steps)
                super().teardown()
                done[2] += len(self.history.gateway.pushes)

    # A failing history is shortened by its steps, which is faster than by Hypothesis' choices.
    settings = hypothesis.settings(
        max_examples=options.histories, stateful_step_count=options.steps, deadline=None, database=None,
        phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck), print_blob=False,
        report_multiple_bugs=False, verbosity=hypothesis.Verbosity.quiet)
    code = 0
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(Machine), settings=settings)
    except Exception:
        code = 1
        if failure.kind is None:
            raise
    if failure.kind is not None:
        code = 1
        repeatable = shorten(stage, options, failure)
        path = os.path.join(options.keep, f"history-{seed}.json")
        keep(path, failure)
        print(printed(failure, path), flush=True)
        if not repeatable:
            print("(It did not fail the second time.)")
    site.end()
    shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps({"worker": options.worker, "histories": done[0], "steps": done[1], "pushes": done[2]}), flush=True)
    return code


def keep(path, failure):
    """Writes a history, a step a line."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        head = {"violation": failure.kind, "error": failure.error, "spawn": failure.spawn, **failure.begun}
        file.write(json.dumps(head)[:-1] + ', "steps": [\n' + ",\n".join(json.dumps(step) for step in failure.steps) + "\n]}\n")


def replay(options):
    folder = tempfile.mkdtemp(prefix="turnstone-model-stage.")
    site = Site(os.path.join(binaries(), "simulator"), folder)
    stage, code = Stage(binaries(), Gateway(folder), site), 0
    for path in options.replay:
        with open(path) as file:
            kept = json.load(file)
        history, found = again(
            stage, options, kept.get("spawn", False), kept["steps"],
            {name: kept[name] for name in ("start", "zone") if name in kept})
        print(f"{path}: {kept.get('claim', '')}")
        print("\n".join("  " + line for line in history.lines))
        print(f"not ok {path}: {getattr(found, 'name', type(found).__name__)}: {found}" if found else f"ok {path}", flush=True)
        code |= found is not None
    site.end()
    shutil.rmtree(folder, ignore_errors=True)
    return code


def show_faults(options):
    """Each check finds programs that break their promise."""
    folder = tempfile.mkdtemp(prefix="turnstone-model-stage.")
    site, gateway, missed = Site(os.path.join(binaries(), "simulator"), folder), Gateway(folder), 0
    for number, (name, program, instead, steps) in enumerate(FAULTS):
        options.only = name
        stage = Stage(sabotaged(os.path.join(folder, str(number)), binaries(), program, instead), gateway, site)
        history, found = again(stage, options, False, [copy.deepcopy(step) for step in steps], {})
        seen = getattr(found, "name", None) == name
        missed += not seen
        if not seen:
            print("\n".join("  " + line for line in history.lines))
        print(f"{'ok' if seen else 'not ok'} {name}, a broken {program}: {str(found)[:200]}", flush=True)
    site.end()
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if missed else 0


def main():
    options = arguments()
    if options.faults:
        return show_faults(options)
    if options.replay:
        return replay(options)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    if options.worker is not None:
        return work(options)
    print(f"seed {options.seed}: {options.histories} histories, again with --seed {options.seed} --histories {options.histories}", flush=True)
    begun = time.monotonic()
    share = -(-options.histories // options.workers)
    workers = [subprocess.Popen(
        [sys.executable, *sys.argv, "--seed", str(options.seed), "--histories", str(share), "--worker", str(index)],
        stdout=subprocess.PIPE, text=True) for index in range(options.workers)]
    failed, totals = 0, {"histories": 0, "steps": 0, "pushes": 0}
    for worker in workers:
        output, _ = worker.communicate()
        lines = output.splitlines()
        try:
            counts = json.loads(lines[-1])
            totals = {name: totals[name] + counts[name] for name in totals}
            lines.pop()
        except (ValueError, IndexError):
            pass
        if lines:
            print("\n".join(lines))
        failed += worker.returncode != 0
    print(f"{totals['histories']} histories, {totals['steps']} steps, {totals['pushes']} pushes in {time.monotonic() - begun:.0f} s")
    print("not ok: the programs and the model differ" if failed else "ok: the model explains everything")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
