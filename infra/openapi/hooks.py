"""Schemathesis' requests, where they have to be other ones than it would make by itself."""

import json
import os
import urllib.request

import schemathesis

BASE = os.environ["TURNSTONE_CHECK_URL"]
KEY = os.environ["TURNSTONE_CHECK_API_KEY"]
ENDING = ["/rotate-api-key", "/api-keys/{id}"]


@schemathesis.hook
def before_call(context, case, kwargs):
    """What may end an API key does so with one of its own: all others go on with theirs."""
    headers = kwargs.get("headers") or case.headers
    if case.path in ENDING and headers.get("X-API-Key") == KEY:
        headers["X-API-Key"] = fresh_key()


def fresh_key():
    body = {"user_id": "42", "master_key": "the master of this house"}
    request = urllib.request.Request(
        f"{BASE}/generate-api-key", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["api_key"]
