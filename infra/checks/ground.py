"""A state folder as one or two machines see it, for machines.py and standby.py."""

import json
import os
import subprocess
import tempfile
import time

# The moment 2026-11-21T12:00:00Z.
NOON = 1795262400000


def check(claim, holds, why=""):
    print(f"ok {claim}" if holds else f"not ok {claim}: {why}", flush=True)


class Simulator:
    """Online-Go.com and APNs."""

    def __init__(self, programs, folder):
        self.process = subprocess.Popen(
            [f"{programs}/simulator", "--folder", folder, "--until-stdin-ends"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.place = json.loads(self.process.stdout.readline())
        self.variables = dict(
            line.strip().split("=", 1) for line in open(self.place["env"]) if "=" in line)

    def do(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["ok"], answer
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Ground:
    """A state folder as two machines see it."""

    server = {"Authorization": f"Key {'s' * 32}"}

    def __init__(self, programs, name, folders, folder):
        self.programs, self.name, self.folders = programs, name, folders
        self.simulator = Simulator(programs, tempfile.mkdtemp(dir=folder))
        self.now = NOON
        self.set_clock()
        self.keys = {}
        self.configuration = f"{folder}/{name}.env"
        open(self.configuration, "w").close()

    def set_clock(self):
        self.simulator.do(do="clock", now=self.now)

    def advance(self, seconds):
        self.now += seconds * 1000
        self.set_clock()

    def environment(self, host, **more):
        return {
            "PATH": os.environ["PATH"], "TURNSTONE_CONFIG": self.configuration, "TURNSTONE_STATE": self.folders[host],
            "TURNSTONE_NOW": str(self.now), "TURNSTONE_DELIVER": "external", "MASTER_API_KEY": "master",
            "TURNSTONE_SERVER_KEY": "s" * 32, "OGS_REQUESTS_PER_SECOND": "100000", "DELIVER_LINGER_SECONDS": "0",
            "CALLER_REQUESTS_PER_MINUTE": "0", "NEW_TOKENS_PER_HOUR": "0", **self.simulator.variables, **more}

    def start(self, host, program, event=None, **more):
        process = subprocess.Popen(
            [f"{self.programs}/{program}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment(host, **more))
        process.stdin.write(json.dumps(event).encode() if event else b"{}")
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, host, program, event=None, **more):
        """The exit code, the last line as JSON, and standard error."""
        process = self.start(host, program, event, **more)
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        lines = out.decode(errors="replace").strip().splitlines()
        try:
            answer = json.loads(lines[-1]) if lines else {}
        except ValueError:
            answer = {}
        return process.returncode, answer, err.decode(errors="replace")

    def request(self, host, program, method, path, body=None, headers=None, patience=40):
        """The status and the body; 503 is tried again, as apps do."""
        event = {"method": method, "path": path, "headers": headers or {}}
        if body is not None:
            event["body"] = body
        for _ in range(patience):
            code, answer, err = self.run(host, program, event)
            status = answer.get("statusCode", 0)
            if status != 503:
                break
            time.sleep(0.2)
        text = answer.get("body", "")
        try:
            return status, json.loads(text), err
        except ValueError:
            return status, text, err

    def key(self, player):
        if player not in self.keys:
            status, body, err = self.request(
                0, "generate-api-key", "POST", "/generate-api-key", {"user_id": str(player), "master_key": "master"})
            assert status == 200, (status, body, err)
            self.keys[player] = body["api_key"]
        return self.keys[player]

    def register(self, host, player, token):
        return self.request(
            host, "register", "POST", "/register", {"user_id": str(player), "device_token": token},
            {"X-API-Key": self.keys[player]})

    def looks(self):
        return self.simulator.do(do="report")["ogs"]["players"]

    def pushes(self):
        return [push for push in self.simulator.do(do="report")["apns"]["pushes"] if push["accepted"]]

    def watched(self):
        """The players with a mark."""
        return {int(name) for _, _, names in os.walk(f"{self.folders[0]}/watch") for name in names}

    def look_and_deliver(self, deliver=True):
        for program in ["check-turns"] + (["deliver"] if deliver else []):
            code, _, err = self.run(1, program)
            assert code == 0, (program, code, err)

    def end(self):
        self.simulator.end()


def token(number, version=0):
    return f"{number * 100 + version:064x}"
