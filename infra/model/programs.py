"""The programs under test, run as a host runs them: an event on standard input, the answer on standard output."""

import base64
import ctypes
import fcntl
import hashlib
import hmac
import json
import os
import select
import subprocess
from dataclasses import dataclass

from gateway import BUNDLE

SERVER_KEY = "the key of the backend in 32 bytes"
MASTER_KEY = "the master key"
JWT_SECRET = "the secret of whoever signs tokens"


@dataclass
class Result:
    """How a program ended. `status` and `body` are None without a whole answer."""

    program: str
    exit: int
    status: int | None
    body: dict | None
    output: str
    log: str


class Programs:
    def __init__(self, folder, binaries, gateway, site, spawn=False):
        self.folder = folder
        self.binaries = binaries
        self.state = os.path.join(folder, "state")
        self.now = 0
        self.shards = 1
        self.keys = {}
        # Those of the stage, which last.
        self.others = children()
        place = site.addresses
        settings = {
            "TURNSTONE_STATE": self.state,
            "MASTER_API_KEY": MASTER_KEY,
            "TURNSTONE_SERVER_KEY": SERVER_KEY,
            "JWT_SECRET": JWT_SECRET,
            "TURNSTONE_DELIVER": "spawn" if spawn else "external",
            "DELIVER_LINGER_SECONDS": "0",
            "OGS_BASE_URL": place["ogs"],
            "OGS_CA_FILE": place["ca"],
            "OGS_REQUESTS_PER_SECOND": "1000",
            "APNS_BASE_URL": f"https://127.0.0.1:{gateway.port}",
            "APNS_CA_FILE": gateway.ca,
            "APNS_KEY_PATH": place["apns_key"],
            "APNS_KEY_ID": place["key_id"],
            "APNS_TEAM_ID": place["team_id"],
            "APNS_BUNDLE_ID": BUNDLE,
        }
        self.configuration = os.path.join(folder, "turnstone.env")
        with open(self.configuration, "w") as file:
            file.writelines(f"{name}={value}\n" for name, value in settings.items())

    def start(self, program, event):
        environment = {"PATH": "/usr/bin:/bin", "TURNSTONE_CONFIG": self.configuration, "TURNSTONE_NOW": str(self.now)}
        if self.shards > 1:
            environment["TURNSTONE_SHARDS"] = str(self.shards)
        # Files and not pipes: a drainer that a program leaves behind must not hold the test up.
        output = open(os.path.join(self.folder, "output"), "w+b", buffering=0)
        os.unlink(output.name)
        log = open(os.path.join(self.folder, "log"), "w+b", buffering=0)
        os.unlink(log.name)
        process = subprocess.Popen([os.path.join(self.binaries, program)], stdin=subprocess.PIPE, stdout=output,
                                   stderr=log, env=environment)
        process.program, process.output, process.log = program, output, log
        try:
            process.stdin.write(json.dumps(event).encode())
            process.stdin.close()
        except BrokenPipeError:
            pass
        return process

    def finish(self, process, timeout=60):
        if process.poll() is None:
            # Popen.wait with a timeout polls, which takes longer than the program.
            descriptor = os.pidfd_open(process.pid)
            ended, _, _ = select.select([descriptor], [], [], timeout)
            os.close(descriptor)
            if not ended:
                raise subprocess.TimeoutExpired(process.program, timeout)
        exit = process.wait()
        texts = []
        for file in (process.output, process.log):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        status = body = None
        try:
            answer = json.loads(texts[0].strip().splitlines()[-1])
            if isinstance(answer, dict) and "statusCode" in answer:
                status, body = answer["statusCode"], json.loads(answer["body"] or "null")
        except (ValueError, IndexError):
            pass
        return Result(process.program, exit, status, body, *texts)

    def run(self, program, event):
        return self.finish(self.start(program, event))

    ### Callers

    def token_of(self, user):
        """A JSON Web Token that is good for an hour."""
        parts = [json.dumps({"alg": "HS256", "typ": "JWT"}),
                 json.dumps({"sub": user, "iat": self.now // 1000, "exp": self.now // 1000 + 3600})]
        text = ".".join(encoded(part.encode()) for part in parts)
        return f"{text}.{encoded(hmac.digest(JWT_SECRET.encode(), text.encode(), 'sha256'))}"

    def by_token(self, user, method, path, body=None):
        return request(method, path, {"Authorization": f"Bearer {self.token_of(user)}"}, body)

    def by_server(self, method, path, body=None, **headers):
        return request(method, path, {"Authorization": f"Key {SERVER_KEY}", **headers}, body)

    def by_key(self, user, method, path, body=None):
        if user not in self.keys:
            made = self.run("generate-api-key", request(
                "POST", "/generate-api-key", {}, {"user_id": user, "master_key": MASTER_KEY}))
            self.keys[user] = made.body["api_key"]
        return request(method, path, {"X-API-Key": self.keys[user]}, body)

    ### What the documents say about files

    def next_due(self):
        """When the next notification in the spool may be tried, or None."""
        moments = []
        for folder in self.queues("waiting"):
            # Notifications that were put off are in <until>-<since>. They are due at once if the clock is before `since`.
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                until, _, since = name.partition("-")
                if until.isdigit() and os.listdir(os.path.join(folder, name)):
                    moments.append(self.now if since.isdigit() and int(since) > self.now else int(until))
        return min(moments, default=None)

    def queues(self, *parts):
        """The folders of each queue, those of another number of queues among them."""
        spool = os.path.join(self.state, "spool")
        names = [name for name in (os.listdir(spool) if os.path.isdir(spool) else []) if name.split("-")[0] in ("apns", "fcm", "web")]
        return [os.path.join(spool, name, part) for name in names if "." not in name for part in parts or ("",)]

    def is_ready(self):
        return any(name.endswith(".jsonl") for folder in self.queues("ready") for _, _, names in os.walk(folder) for name in names)

    def is_empty(self):
        """Whether the spool has nothing for a drainer."""
        return not any(not name.endswith(".new") for folder in self.queues("ready", "waiting", "held", "cancelled")
                       for _, _, names in os.walk(folder) for name in names)

    def spooled(self, id):
        """The files of a message, or with None those of turn notices, that a drainer has not read for the last time."""
        return sorted(os.path.join(folder, name) for queue in self.queues("ready", "waiting", "held")
                      for folder, _, names in os.walk(queue) for name in names
                      if name == f"{id}.jsonl" or id is None and name.endswith(".jsonl") and "notice" in first_line(os.path.join(folder, name)))

    def set_aside(self):
        """The files that drainers could not read: of each the name that it had, and its bytes."""
        files = {}
        for folder in self.queues("failed"):
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                with open(os.path.join(folder, name), "rb") as file:
                    files[file.name] = f"{name[:36]}.jsonl", file.read()
        return files

    def carries_activities(self):
        """Whether a notification in the spool is to bring a Live Activity's state."""
        for queue in self.queues("ready", "waiting"):
            for folder, _, names in os.walk(queue):
                for name in names:
                    if name.endswith(".new"):
                        continue
                    first = first_line(os.path.join(folder, name))
                    if first.get("cargo") == "activity" or first.get("push", {}).get("push_type") == "liveactivity":
                        return True
        return False

    def is_draining(self):
        return self.has_drainer() or self.is_locked()

    def has_drainer(self):
        """Whether a drainer that another program has started is there: once that one has ended, it is ours."""
        while True:
            orphans = children() - self.others
            ended = {process for process in orphans if os.waitpid(process, os.WNOHANG)[0]}
            if orphans - ended:
                return True
            # What one that has ended has left behind is ours only now.
            if not ended:
                return False

    def is_locked(self):
        for path in self.queues("drainer.lock"):
            try:
                with open(path) as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:
                pass
            except BlockingIOError:
                return True
        return False


# Drainers that a program leaves behind become children of this process. C: PR_SET_CHILD_SUBREAPER, prctl(2).
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def children():
    """The processes of which this one is the parent."""
    found = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children") as file:
                found.update(int(process) for process in file.read().split())
        except OSError:
            pass  # the thread has ended
    return found


def first_line(path):
    """The first line of a spool file; nothing of one that is damaged there."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.readline())
    except ValueError:
        return {}


def request(method, path, headers, body=None):
    event = {"method": method, "path": path, "headers": headers}
    if body is not None:
        event["headers"] = {**headers, "Content-Type": "application/json"}
        event["body"] = body
    return event


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def device_id(token):
    """A device as reports and listings name it."""
    return hashlib.sha256(token.encode()).hexdigest()[:24]
