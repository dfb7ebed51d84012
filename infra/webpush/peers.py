"""Lets pywebpush push to the simulator, and http-ece read our messages. infra/checks/webpush runs it."""

import base64
import json
import os
import shlex
import subprocess
import sys

import http_ece
import pywebpush
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid

simulator, folder = sys.argv[1:]


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def said(isTrue, claim, reason=""):
    print(f"ok {claim}" if isTrue else f"not ok {claim}: {reason}", flush=True)


def read_ours():
    for number, line in enumerate(sys.stdin, 1):
        given = json.loads(line)
        key = ec.derive_private_key(int.from_bytes(decoded(given["private_key"]), "big"), ec.SECP256R1())
        try:
            read = http_ece.decrypt(decoded(given["body"]), private_key=key, auth_secret=decoded(given["auth"]), version="aes128gcm")
        except http_ece.ECEException as error:
            read = str(error).encode()
        said(read == decoded(given["message"]), f"http-ece reads our message {number}", read[:80])


class Stage:
    def __init__(self):
        self.process = subprocess.Popen(
            [simulator, "--folder", folder, "--services", "apns,web", "--until-stdin-ends"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ca = json.loads(self.process.stdout.readline())["ca"]

    def perform(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def push(self, subscription, message, key, ttl=60, **claims):
        """pywebpush sends by HTTP/1.1, which the simulator does not speak: curl sends what it has made."""
        command = shlex.split(pywebpush.webpush(
            subscription, json.dumps(message), vapid_private_key=key, ttl=ttl, curl=True,
            vapid_claims={"sub": "mailto:push@example.org", **claims}))
        answer = subprocess.run(
            ["/usr/bin/curl", "-sS", "--http2", "--cacert", self.ca, "-o", "/dev/null", "-w", "%{http_code}"]
            + [part.strip() for part in command[3:] if part.strip()],  # without `curl -vX POST`; the lines end with blanks
            capture_output=True, text=True)
        return answer.stdout or answer.stderr


def push_theirs():
    stage = Stage()
    key = Vapid()
    key.generate_keys()
    point = key.public_key.public_numbers()
    public = base64.urlsafe_b64encode(b"\4" + point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")).decode().rstrip("=")
    message = {"web_push": 8030, "notification": {"title": "Hello", "navigate": "https://example.org/"}}
    browser = stage.perform(do="web-subscription", key=public)["subscription"]
    answer = stage.push(browser, message, key)
    said(answer == "201", "the simulator takes what pywebpush makes", answer)
    pushes = stage.perform(do="report")["web"]["pushes"]
    said([push.get("payload") for push in pushes] == [message], "its browser reads it", pushes)

    answer = stage.push(browser, {"web_push": 8030}, key)
    said(answer == "400", "a message that Safari would not show is refused", answer)
    answer = stage.push(browser, message, key, aud="https://other.example.org")
    said(answer == "403", "a token for another origin is refused", answer)
    other = stage.perform(do="web-subscription", key=public)["subscription"]
    answer = stage.push({**other, "keys": browser["keys"]}, message, key)
    said(answer == "400", "a message that another browser could read is refused", answer)
    stranger = Vapid()
    stranger.generate_keys()
    answer = stage.push(browser, message, stranger)
    said(answer == "403", "a message by another server's key is refused", answer)
    stage.end()


os.chdir(folder)  # pywebpush leaves a file where it is
read_ours()
push_theirs()
print("ok everything was tried")
