"""Makes a history that fails shorter: steps go, and what is left becomes simpler, as long as it fails in the same way."""

import copy
import time


def shrunk(steps, fails, seconds):
    """The shortest history found in so many seconds. `fails(steps)` tells whether one still fails."""
    until = time.monotonic() + seconds
    size = max(len(steps) // 2, 1)
    while time.monotonic() < until:
        shorter, index = False, len(steps)
        while index > 0 and time.monotonic() < until:
            start = max(index - size, 0)
            candidate = steps[:start] + steps[index:]
            if candidate and fails(copy.deepcopy(candidate)):
                steps, shorter = candidate, True
            index = start
        if size == 1 and not shorter:
            break
        size = max(size // 2, 1)
    for index in range(len(steps)):
        for simpler in simplified(steps[index]):
            if time.monotonic() >= until:
                return steps
            candidate = steps[:index] + simpler + steps[index + 1:]
            if fails(copy.deepcopy(candidate)):
                steps = candidate
                break
    return steps


def simplified(step):
    """What may stand in the place of a step."""
    match step["do"]:
        case "together":
            yield from ([one] for one in step["steps"])
            if len(step["steps"]) > 2:
                yield from ([{**step, "steps": step["steps"][:i] + step["steps"][i + 1:]}] for i in range(len(step["steps"])))
        case "kill":
            yield [step["step"]]
        case "gateway" if len(step["answers"]) > 1:
            yield from ([{**step, "answers": [answer]}] for answer in step["answers"])
        case "notify":
            yield [{name: value for name, value in step.items() if name in ("do", "name", "users")}]
            if len(step["users"]) > 1:
                yield from ([{**step, "users": [user]}] for user in step["users"])
        case "activity" if step["event"] != "start":
            yield [{name: value for name, value in step.items() if name in ("do", "event", "number", "activity", "session", "user")}]
            yield [{name: value for name, value in step.items() if name not in ("stale", "alert")}]
        case "check-turns" | "deliver" if len(step) > 1:
            yield [{"do": step["do"]}]


def resolved(steps):
    """The same history without the chance in it: what was ended was done, or left out."""
    for step in steps:
        match step:
            case {"do": "kill", "ended": "done"}:
                yield step["step"]
            case {"do": "kill", "ended": "not done"}:
                pass
            case {"do": "check-turns"}:
                yield {"do": "check-turns"}
            case _:
                yield step
