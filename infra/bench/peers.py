# Sends pushes through one connection as other libraries do, and prints version and pushes a second.
#
#   peers.py aioapns|httpx COUNT ADDRESS AUTHORITY TOPIC DEVICE BODY <FIELDS
#
# FIELDS are the header fields that deliver sends, a line each. A hundred are under way at once: aioapns takes no
# notice of what the server has room for in bytes, and httpx was no faster with more.

import asyncio
import json
import ssl
import sys
import time
import uuid
from importlib.metadata import version

peer, count, address, authority, topic, device, body = sys.argv[1:]
count = int(count)
fields = dict(line.rstrip("\n").split(": ", 1) for line in sys.stdin)
host, port = address.removeprefix("https://").rsplit(":", 1)
payload = json.loads(body)
trusted = ssl.create_default_context(cafile=authority)
trusted.set_alpn_protocols(["h2"])


async def aioapns():
    import aioapns
    from aioapns import connection

    # It knows Apple's addresses only, and makes its own provider token, of which a key has one in 20 minutes.
    class Here(connection.APNsTLSClientProtocol):
        APNS_SERVER, APNS_PORT = host, int(port)

    connection.JWTAuthorizationHeaderProvider.get_header = lambda _: fields["authorization"]
    client = aioapns.APNs(
        key="-", key_id="-", team_id="-", topic=topic, max_connections=1, ssl_context=trusted)
    client.pool.protocol_class = Here

    async def push():
        answer = await client.send_notification(
            aioapns.NotificationRequest(
                device_token=device, message=payload, push_type=aioapns.PushType.ALERT, priority=10))
        return answer.is_successful

    return push, client.pool.close


async def httpx():
    import httpx

    client = httpx.AsyncClient(
        http1=False, http2=True, verify=trusted, timeout=60,
        limits=httpx.Limits(max_connections=1))

    async def push():
        answer = await client.post(
            f"{address}/3/device/{device}", content=json.dumps(payload),
            headers=fields | {"apns-id": str(uuid.uuid4())})
        return answer.status_code == 200

    return push, client.aclose


async def main():
    push, close = await globals()[peer]()
    assert await push()  # alone: the server has room for one until it has taken one
    left = count

    async def worker():
        nonlocal left
        while left > 0:
            left -= 1
            assert await push()

    start = time.monotonic()
    await asyncio.gather(*(worker() for _ in range(100)))
    print(version(peer), round(count / (time.monotonic() - start)))
    closing = close()
    if closing:
        await closing


asyncio.run(main())
