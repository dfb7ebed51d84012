"""A small push service for a real Firefox on this machine, as autopush is Mozilla's: a WebSocket for the browser, and
an https address for each subscription (RFC 8030) to which an application server pushes.

    service = PushService(certificate, key)    PEM files, of the name localhost
    service.socket_address, service.origin     for `dom.push.serverURL`, and of its subscriptions

It holds no message back: a browser that is not connected gets nothing, and the application server 503.
"""

import base64
import hashlib
import http.server
import json
import re
import socket
import ssl
import struct
import threading
import uuid

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


class PushService:
    def __init__(self, certificate, key):
        self.channels = {}  # by subscription: the application server's key
        self.gone = set()
        self.pushes = []  # what was pushed: the fields and the length of each
        self.acknowledged = {}  # by message: the browser's code, 100 when its page has got it
        self.browser = None
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.socket_address = f"ws://127.0.0.1:{self.listener.getsockname()[1]}/"
        threading.Thread(target=self.accept, daemon=True).start()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"localhost:{self.server.server_address[1]}"
        self.origin = f"https://{self.host}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    ### The application server's side

    def push(self, channel, fields, body):
        """Returns the status."""
        if channel in self.gone:
            return 410
        if channel not in self.channels:
            return 404
        token = re.fullmatch(r"vapid t=([^,]+), *k=([\w-]+)", fields["Authorization"] or "")
        if not token or token[2] != self.channels[channel]:
            return 403
        claims = json.loads(base64.urlsafe_b64decode(token[1].split(".")[1] + "=="))
        if claims["aud"] != self.origin or fields["Content-Encoding"] != "aes128gcm" or not (fields["TTL"] or "").isdigit():
            return 400
        version = uuid.uuid4().hex
        self.pushes.append({"version": version, "topic": fields["Topic"], "urgency": fields["Urgency"], "length": len(body)})
        message = {"messageType": "notification", "channelID": channel, "version": version, "ttl": int(fields["TTL"]),
                   "data": base64.urlsafe_b64encode(body).decode().rstrip("="), "headers": {"encoding": "aes128gcm"}}
        return 201 if self.tell(message) else 503

    ### The browser's side

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        stream = connection.makefile("rb")
        fields = {}
        while (line := stream.readline().strip()):
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip()
        if b"sec-websocket-key" not in fields:
            return connection.close()
        accepted = base64.b64encode(hashlib.sha1(fields[b"sec-websocket-key"] + MAGIC).digest()).decode()
        protocol = fields.get(b"sec-websocket-protocol", b"").decode()
        connection.sendall((f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Accept: {accepted}\r\n"
                            + (f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else "") + "\r\n").encode())
        with self.lock:
            self.browser = connection
        try:
            while (text := frame(stream, connection)) is not None:
                self.answer(json.loads(text))
        except (OSError, ValueError, struct.error):
            pass  # the browser has gone
        with self.lock:
            if self.browser is connection:
                self.browser = None

    def answer(self, message):
        match message.get("messageType"):
            case None | "ping":
                self.tell({})
            case "hello":
                self.tell({"messageType": "hello", "uaid": message.get("uaid") or uuid.uuid4().hex, "status": 200,
                           "use_webpush": True, "broadcasts": {}})
            case "register":
                channel = message["channelID"]
                self.channels[channel] = message.get("key", "").rstrip("=")
                self.tell({"messageType": "register", "channelID": channel, "status": 200,
                           "pushEndpoint": f"{self.origin}/push/{channel}"})
            case "unregister":
                self.gone.add(message["channelID"])
                self.tell({"messageType": "unregister", "channelID": message["channelID"], "status": 200})
            case "ack":
                for update in message["updates"]:
                    self.acknowledged[update["version"]] = update.get("code")

    def tell(self, message):
        """Returns whether a browser is there."""
        data = json.dumps(message).encode()
        length = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack("!H", len(data))
        with self.lock:
            if self.browser is None:
                return False
            self.browser.sendall(b"\x81" + length + data)
        return True


def frame(stream, connection):
    """The text of the browser's next message, each of which is one frame; None at its end."""
    while True:
        first, second = stream.read(2)
        length = second & 127
        if length > 125:
            length, = struct.unpack("!H" if length == 126 else "!Q", stream.read(2 if length == 126 else 8))
        mask = stream.read(4) if second & 128 else b"\0\0\0\0"
        data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(stream.read(length)))
        match first & 15:
            case 8:
                return None
            case 9:
                connection.sendall(b"\x8a" + bytes([len(data)]) + data)
            case 1:
                return data.decode()


def handler(service):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            status = service.push(self.path.removeprefix("/push/"), self.headers, body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            if status == 201:
                self.send_header("Location", f"{service.origin}/message/{service.pushes[-1]['version']}")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler
