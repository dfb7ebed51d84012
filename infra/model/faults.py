"""Shows that each check can fail: programs that break one promise each, and a history in which that is seen."""

import json
import os
import stat
import sys

# A program that does its work on a copy of the state: it answers, and nothing is kept.
ON_A_COPY = """
import shutil, tempfile
settings = dict(line.rstrip("\\n").split("=", 1) for line in open(os.environ["TURNSTONE_CONFIG"]))
copy = tempfile.mkdtemp(prefix="turnstone-model-copy.")
shutil.rmtree(copy)
shutil.copytree(settings["TURNSTONE_STATE"], copy)
os.environ["TURNSTONE_STATE"] = copy
code = run()
shutil.rmtree(copy)
sys.exit(code)
"""

# Before the program: the state as a broken one would have left it.
STATE = """
import glob
state = dict(line.rstrip("\\n").split("=", 1) for line in open(os.environ["TURNSTONE_CONFIG"]))["TURNSTONE_STATE"]
"""

REGISTER = {"do": "register", "user": "101", "phone": "a"}
CLAIM = {"do": "claim", "user": "ann", "phone": "a", "by": "push"}
NOTIFY = {"do": "notify", "users": ["ann"], "name": "m1"}
MOVE = {"do": "move", "game": 1011}
LISTEN = {"do": "listen", "user": "ann", "token": "A1.0"}
UPDATE = {"do": "activity", "event": "update", "activity": "A1"}
END, MOMENT = {**UPDATE, "event": "end", "content": True}, {"do": "wait", "seconds": 15}
DAMAGE = {"do": "damage", "of": "m1", "which": 0, "how": "cut", "at": 0.9}
LOOK, DELIVER = {"do": "check-turns"}, {"do": "deliver"}

# The violation, the program, what it does instead, and the history.
FAULTS = [
    ("right-person", "devices-unregister", ON_A_COPY,
     [CLAIM, NOTIFY, {"do": "unregister", "user": "ann", "phone": "a", "by": "devices"}]),
    ("registered", "push-register", ON_A_COPY, [CLAIM]),
    ("wanted", "preferences", ON_A_COPY, [CLAIM, {"do": "preferences", "user": "ann", "off": ["message"]}, NOTIFY]),
    ("cancelled", "notify", 'if b"DELETE" in given:\n' + "\n".join("    " + line for line in ON_A_COPY.splitlines()) + "\nsys.exit(run())",
     [CLAIM, {**NOTIFY, "after": 60}, {"do": "cancel", "message": "m1"}]),
    ("badge", "badge", """
answer = subprocess.run(program, input=given, stdout=subprocess.PIPE).stdout
sys.stdout.buffer.write(answer.replace(b'badge\\\\":1', b'badge\\\\":2'))""", [CLAIM, {**NOTIFY, "badge": 1}]),
    ("lost", "notify", """
given = given.replace(b'["ann"]', b'["nobody"]')
sys.exit(run())""", [CLAIM, NOTIFY]),
    ("report", "deliver", STATE + """
for path in glob.glob(state + "/spool/apns/ready/*/*.jsonl"): os.unlink(path)
sys.exit(run())""", [CLAIM, NOTIFY]),
    ("twice", "deliver", STATE + """
import shutil
kept = {path: open(path, "rb").read() for path in glob.glob(state + "/spool/apns/ready/*/*.jsonl")}
code = run()
shutil.rmtree(state + "/receipts", ignore_errors=True)
for path in kept:
    with open(path, "wb") as file: file.write(kept[path])
sys.exit(code)""", [CLAIM, NOTIFY, DELIVER]),
    ("report", "notify", """
answer = subprocess.run(program, input=given, stdout=subprocess.PIPE).stdout
sys.stdout.buffer.write(answer.replace(b"accepted\\\\\\"", b"refused\\\\\\"") if b"GET" in given else answer)""", [CLAIM, NOTIFY]),
    ("order", "deliver", STATE + """
paths = sorted(glob.glob(state + "/spool/apns/ready/*/*.jsonl"), key=os.path.getmtime)
for path in paths[:-1]: os.rename(path, path + ".kept")
run()
for path in paths[:-1]: os.rename(path + ".kept", path)
sys.exit(run())""", [CLAIM, {**NOTIFY, "collapse": "c1"}, {**NOTIFY, "collapse": "c1", "name": "m2"}]),
    ("turn-twice", "check-turns", STATE + """
for path in glob.glob(state + "/users/*/*.json"):
    with open(path) as file: document = json.load(file)
    document["ledger"] = []
    with open(path, "w") as file: json.dump(document, file)
    for mark in glob.glob(state + "/watch/*/*"): open(mark, "w").close()
sys.exit(run())""", [REGISTER, MOVE, LOOK, DELIVER, LOOK, DELIVER]),
    ("turn-untold", "check-turns", 'print(json.dumps({"due": 0}))', [REGISTER, MOVE]),
    ("turn-untold", "deliver", STATE + """
for path in glob.glob(state + "/spool/apns/ready/*/*.jsonl"): os.unlink(path)
sys.exit(run())""", [REGISTER, MOVE, LOOK]),
    ("activity-answer", "live-activity", """
answer = subprocess.run(program, input=given, stdout=subprocess.PIPE).stdout
sys.stdout.buffer.write(answer.replace(b"queued", b"outdated"))""", [LISTEN, UPDATE]),
    ("activity-lost", "live-activity", ON_A_COPY, [LISTEN, UPDATE]),
    ("activity-end", "live-activity", 'if b\'"end"\' not in given: sys.exit(run())\n' + ON_A_COPY, [LISTEN, UPDATE, DELIVER, END]),
    ("activity-order", "live-activity", 'given = given.replace(b\'{"n": 3}\', b\'{"n": 1}\')\nsys.exit(run())',
     [LISTEN, UPDATE, DELIVER, MOMENT, UPDATE, DELIVER, MOMENT, UPDATE, DELIVER]),
    ("activity-rate", "deliver", """
code = run()
os.environ["TURNSTONE_NOW"] = str(int(os.environ["TURNSTONE_NOW"]) + 16000)
sys.exit(code or run())""", [LISTEN, UPDATE, DELIVER, UPDATE, DELIVER]),
    ("settled", "deliver", STATE + """
code = run()
for path in glob.glob(state + "/spool/apns/failed/*"): os.unlink(path)
sys.exit(code)""", [CLAIM, NOTIFY, DAMAGE]),
    ("cancelled", "deliver", STATE + """
for path in glob.glob(state + "/spool/apns/cancelled/*"): os.unlink(path)
sys.exit(run())""", [CLAIM, NOTIFY, DAMAGE, {"do": "cancel", "message": "m1"}]),
    ("report", "notify", """
answer = subprocess.run(program, input=given, stdout=subprocess.PIPE).stdout
sys.stdout.buffer.write(answer.replace(b"accepted\\\\\\"", b"damaged\\\\\\"") if b"GET" in given else answer)""", [CLAIM, NOTIFY, DAMAGE]),
    ("settled", "deliver", "run(); sys.exit(3)", [CLAIM, NOTIFY]),
    ("settled", "deliver", "sys.exit(0)", [CLAIM, NOTIFY]),
]


def sabotaged(folder, binaries, program, instead):
    """A folder with all programs, one of which does something else."""
    os.makedirs(folder)
    for name in os.listdir(binaries):
        if name != program:
            os.symlink(os.path.join(binaries, name), os.path.join(folder, name))
    path = os.path.join(folder, program)
    with open(path, "w") as file:
        file.write(f"#!{sys.executable}\nimport json, os, subprocess, sys\n"
                   f"program, given = {os.path.join(binaries, program)!r}, sys.stdin.buffer.read()\n"
                   "def run(): return subprocess.run(program, input=given).returncode\n" + instead)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return folder
