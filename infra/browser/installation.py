"""An installation of the real programs with stand-ins for Online-Go.com and APNs, in which admin.py makes incidents happen."""

import json
import os
import pathlib
import shutil
import subprocess
import time

from steps import expect

PLAYER = 7
TOKEN = "5a" * 32


class Installation:
    """A player with a phone whose games are looked at, and the faults that may befall it."""

    def __init__(self, programs, folder, state, variables):
        """`variables` is what the programs and the page's server are run with: it is changed in place."""
        self.programs, self.state, self.variables = pathlib.Path(programs), state, variables
        # How the page's server starts a program: through a command that gives it another view of the disk.
        self.prefix = []
        self.simulator = subprocess.Popen(
            [self.programs / "simulator", "--folder", folder, "--until-stdin-ends"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.simulator.stdout.readline()
        self.addresses = dict(line.split("=", 1) for line in (folder / "simulator.env").read_text().splitlines() if "=" in line)

    def close(self):
        self.simulator.stdin.close()
        self.simulator.wait(timeout=10)

    def tell(self, **command):
        self.simulator.stdin.write(json.dumps(command) + "\n")
        self.simulator.stdin.flush()
        answer = json.loads(self.simulator.stdout.readline())
        expect(answer["ok"], f"{command}: {answer}")

    def run(self, program, event="", ago=0, code=0):
        """Runs a program as if so many seconds ago, and expects its exit code."""
        environment = {"PATH": "/usr/bin:/bin", "TURNSTONE_STATE": str(self.state), "TURNSTONE_CONFIG": "/dev/null", **self.variables}
        environment.pop("TURNSTONE_NOW")
        if ago:
            environment["TURNSTONE_NOW"] = str(int((time.time() - ago) * 1000))
        ended = subprocess.run([self.programs / program], env=environment, input=event, capture_output=True, text=True, timeout=60)
        expect(ended.returncode == code, f"{program} ended with {ended.returncode}: {ended.stderr}")
        return ended.stdout

    def ask(self, program, method, path, body=None, ago=0, status=None, **headers):
        """Sends a request, and returns the answer's body. Expects success if no status is named."""
        event = {"method": method, "path": path, "headers": {name.replace("_", "-"): value for name, value in headers.items()}}
        if body is not None:
            event["body"] = body
        answer = json.loads(self.run(program, json.dumps(event), ago))
        expect(answer["statusCode"] == status or status is None and answer["statusCode"] < 300, f"{program}: {answer}")
        return json.loads(answer["body"])

    def begin(self, ago=0):
        """Begins anew: the player registers a phone, and `check-turns` looks at the games, so many seconds ago."""
        self.prefix.clear()
        for path in [self.state, *self.state.rglob("*")] if self.state.exists() else []:
            if path.is_dir():
                path.chmod(0o700)
        shutil.rmtree(self.state, ignore_errors=True)
        self.variables.clear()
        self.variables.update(self.addresses, TURNSTONE_NOW=None, MASTER_API_KEY="master", TURNSTONE_DELIVER="external",
                              TURNSTONE_SERVER_KEY="server-key-1-of-thirty-two-bytes", DELIVER_LINGER_SECONDS="0")
        self.tell(do="reset")
        self.tell(do="player", player=PLAYER, name="Ann")
        made = self.ask("generate-api-key", "POST", "/generate-api-key", {"user_id": str(PLAYER), "master_key": "master"}, ago)
        self.key = made["api_key"]
        self.register(TOKEN, ago)
        self.run("check-turns", ago=ago)

    def register(self, token, ago=0):
        self.ask("register", "POST", "/register", {"user_id": str(PLAYER), "device_token": token}, ago, X_API_Key=self.key)

    def notify(self, ago=0):
        self.ask("notify", "POST", "/api/notify", {"users": [str(PLAYER)], "title": "News"}, ago,
                 Authorization=f"Key {self.variables['TURNSTONE_SERVER_KEY']}")

    def documents(self, pattern):
        found = [path for path in self.state.glob(pattern) if path.is_file()]
        expect(found, f"there is no {pattern}")
        return found

    # What may happen.

    def wrong_environment(self):
        self.begin()
        self.variables["APNS_ENVIRONMENT"] = "produktion"
        self.run("deliver", code=100)

    def missing_key(self):
        self.begin()
        self.variables["APNS_KEY_PATH"] = "/nowhere/AuthKey.p8"
        self.run("deliver", code=100)

    def damaged_key(self):
        self.begin()
        key = self.state.parent / "damaged.p8"
        key.write_text(pathlib.Path(self.addresses["APNS_KEY_PATH"]).read_text().replace("M", "!"))
        self.variables["APNS_KEY_PATH"] = str(key)
        self.run("deliver", code=100)

    def stopped_timer(self):
        self.begin(ago=7200)

    def nobody_delivers(self):
        self.begin()
        self.notify(ago=3600)

    def damaged_notification(self):
        self.begin()
        self.notify()
        for path in self.documents("spool/apns/ready/*/*.jsonl"):
            path.write_text("{")
        self.run("deliver")
        self.documents("spool/apns/failed/*")

    def damaged_document(self):
        self.begin()
        for path in self.documents(f"users/*/{PLAYER}.json"):
            path.write_text("{")
        self.ask("register", "POST", "/register", {"user_id": str(PLAYER), "device_token": "5b" * 32}, status=500, X_API_Key=self.key)
        self.documents("users/*/*.json.corrupt-*")

    def read_only(self):
        self.begin()
        if os.geteuid() == 0:
            # Modes do not stop root, a mount does.
            self.prefix[:] = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"', str(self.state)]
        else:
            for path in [self.state, *self.state.rglob("*")]:
                path.chmod(0o555 if path.is_dir() else 0o444)

    def pause(self):
        self.begin(ago=60)
        self.tell(do="ogs-fault", status=429, retry_after=120)
        self.run("check-turns")

    def refused_key(self):
        self.begin()
        self.tell(do="apns-fault", status=403, reason="InvalidProviderToken")
        self.notify()
        self.run("deliver", code=111)
