"""A stand-in for APNs on loopback: TLS, HTTP/2, and an answer of the test's choice for each push.

It runs in a thread of the test, so that a test can end a program at the very push it names. It shares no code
with the programs.
"""

import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass

import h2.config
import h2.connection
import h2.events
import h2.exceptions

BUNDLE = "com.example.turnstone"

# Answers, by name. `taken` says whether the phone gets the push.
#   200, 410, bad, 429, 503      as APNs answers them; "503 after 60" has Retry-After
#   lost, cut                    the push is taken, then the stream or the connection ends without an answer
#   refused, drop, goaway        it is not taken: RST_STREAM, the connection ends, GOAWAY
TAKEN = {"200", "lost", "cut"}
TEMPORARY = ["503", "503 after 60", "429", "429 after 30"]
UNANSWERED = ["lost", "cut", "refused", "drop", "goaway"]
FINAL = ["410", "bad"]


@dataclass
class Push:
    """A push as it came, and what was answered."""

    number: int
    token: str
    id: str
    headers: dict
    payload: dict
    answer: str
    taken: bool
    # Whether the program surely has the answer: it does not where it was killed.
    answered: bool

    @property
    def collapse_id(self):
        return self.headers.get("apns-collapse-id")


class Gateway:
    def __init__(self, folder):
        self.pushes = []
        self.faults = []
        self._scripts = {}
        self._kill = None
        self._now = 0
        self._lock = threading.Lock()
        self.ca = os.path.join(folder, "gateway.pem")
        key = os.path.join(folder, "gateway-key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", key, "-out", self.ca, "-days", "3650", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, key)
        context.set_alpn_protocols(["h2"])
        self._loop = asyncio.new_event_loop()
        self.connections = 0
        listening = self._loop.create_server(lambda: Connection(self), "127.0.0.1", 0, ssl=context)
        self._server = self._loop.run_until_complete(listening)
        self.port = self._server.sockets[0].getsockname()[1]
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def begin(self, now):
        """Forgets everything, for the next history."""
        with self._lock:
            self.pushes, self.faults, self._scripts, self._kill, self._now = [], [], {}, None, now

    def set_clock(self, now):
        self._now = now

    def script(self, token, answers):
        """The next pushes to the token get these answers; with None, the next ones to any."""
        with self._lock:
            self._scripts.setdefault(token, []).extend(answers)

    def clear(self):
        with self._lock:
            self._scripts, self._kill = {}, None

    def kill_at(self, process, count, taken):
        """Ends the process at its count-th push, before it has the answer."""
        with self._lock:
            self._kill = [process, count, taken]

    def fault(self, text):
        self.faults.append(text)

    def take(self, token, headers, payload):
        """Decides about one push, and records it. Answers with the name of the answer, or None for a killed caller."""
        with self._lock:
            answer = "200"
            for key in (token, None):
                if self._scripts.get(key):
                    answer = self._scripts[key].pop(0)
                    break
            killed = False
            if self._kill:
                self._kill[1] -= 1
                if self._kill[1] == 0:
                    process, _, taken = self._kill
                    self._kill, killed = None, True
                    answer = "lost" if taken else "refused"
                    process.send_signal(signal.SIGKILL)
            kind = answer.split()[0]
            self.pushes.append(Push(
                number=len(self.pushes), token=token, id=headers.get("apns-id", ""), headers=headers, payload=payload,
                answer=answer, taken=kind in TAKEN, answered=kind not in UNANSWERED))
            return None if killed else answer

    def await_end_of_connections(self):
        """Returns when everything has been read that ended programs have sent."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            for _ in range(3):
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result()
            if self.connections == 0:
                return
            time.sleep(0.001)

    def moment(self):
        return self._now


class Connection(asyncio.Protocol):
    def __init__(self, gateway):
        self.gateway = gateway
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests = {}
        self.closed = False

    def connection_made(self, transport):
        self.transport = transport
        self.gateway.connections += 1
        self.http.initiate_connection()
        self.flush()

    def connection_lost(self, _):
        self.gateway.connections -= 1
        self.closed = True

    def flush(self):
        data = self.http.data_to_send()
        if data and not self.closed:
            self.transport.write(data)

    def data_received(self, data):
        try:
            events = self.http.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            self.gateway.fault(f"HTTP/2: {error!r}")
            self.transport.close()
            return
        for event in events:
            if self.closed:
                return
            if isinstance(event, h2.events.RequestReceived):
                self.requests[event.stream_id] = (event.headers, bytearray())
            elif isinstance(event, h2.events.DataReceived):
                self.requests[event.stream_id][1].extend(event.data)
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self.answer(event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self.requests.pop(event.stream_id, None)
        self.flush()

    def answer(self, stream):
        pairs, body = self.requests.pop(stream)
        headers = dict(pairs)
        if len(headers) != len(pairs):
            self.gateway.fault("a header came twice")
        fault = fault_of(headers, bytes(body))
        if fault:
            self.gateway.fault(fault)
            return self.respond(stream, 400, {"reason": "BadRequest"})
        token = headers[":path"].removeprefix("/3/device/")
        answer = self.gateway.take(token, headers, json.loads(bytes(body)))
        if answer is None:
            self.closed = True
            return self.transport.abort()
        kind, _, after = answer.partition(" after ")
        extra = [("retry-after", after)] if after else []
        match kind:
            case "200":
                self.respond(stream, 200, None, [("apns-id", headers["apns-id"])])
            case "410":
                self.respond(stream, 410, {"reason": "Unregistered", "timestamp": self.gateway.moment()})
            case "bad":
                self.respond(stream, 400, {"reason": "BadDeviceToken"})
            case "429":
                self.respond(stream, 429, {"reason": "TooManyRequests"}, extra)
            case "503":
                self.respond(stream, 503, {"reason": "ServiceUnavailable"}, extra)
            case "lost":
                self.http.reset_stream(stream, 2)
            case "refused":
                self.http.reset_stream(stream, 7)
            case "cut" | "drop":
                self.flush()
                self.closed = True
                self.transport.abort()
            case "goaway":
                self.http.close_connection(0, b'{"reason":"Shutdown"}', last_stream_id=max(stream - 2, 0))
                self.flush()
                self.closed = True
                self.transport.close()

    def respond(self, stream, status, body, extra=()):
        self.http.send_headers(stream, [(":status", str(status)), *extra], end_stream=body is None)
        if body is not None:
            self.http.send_data(stream, json.dumps(body).encode(), end_stream=True)


def fault_of(headers, body):
    """What is wrong with a request, in so far as a phone would not show it, or None."""
    if headers.get(":method") != "POST" or not re.fullmatch(r"/3/device/([0-9a-f]{2})+", headers.get(":path", "")):
        return f"method or path: {headers.get(':method')} {headers.get(':path')}"
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", headers.get("apns-id", "")):
        return f"apns-id: {headers.get('apns-id')}"
    kind = headers.get("apns-push-type")
    if kind not in ("alert", "background", "liveactivity"):
        return f"apns-push-type: {kind}"
    if headers.get("apns-topic") != BUNDLE + (".push-type.liveactivity" if kind == "liveactivity" else ""):
        return f"apns-topic: {headers.get('apns-topic')}"
    if headers.get("apns-priority", "10") not in {"alert": ("10", "5", "1"), "background": ("5",), "liveactivity": ("10", "5")}[kind]:
        return f"apns-priority: {headers.get('apns-priority')} of {kind}"
    if len(headers.get("apns-collapse-id", "").encode()) > 64:
        return "apns-collapse-id: too long"
    if not re.fullmatch(r"bearer [\w-]+\.[\w-]+\.[\w-]+", headers.get("authorization", "")):
        return "authorization"
    if len(body) > 4096:
        return "the payload is too large"
    try:
        aps = json.loads(body)["aps"]
        if not isinstance(aps, dict):
            return "aps"
        if kind == "liveactivity" and not (aps["event"] in ("start", "update", "end") and isinstance(aps["timestamp"], int)
                                           and isinstance(aps["content-state"], dict)):
            return f"aps: {aps}"
    except (ValueError, KeyError, TypeError):
        return f"the payload: {body[:200]!r}"
    return None
