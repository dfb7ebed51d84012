"""Sends messages to the simulator with Google's library. infra/checks/fcm starts it.

Its argument is the line that the simulator printed when it began to listen.
"""

import json
import sys

import httpx
import requests
import firebase_admin
from firebase_admin import credentials, exceptions, messaging

place = json.loads(sys.argv[1])
http2 = httpx.Client(http2=True, verify=place["ca"])


def send(adapter, request, **options):
    """Takes the place of requests' own HTTP/1.1, which the simulator does not speak."""
    dropped = {"connection", "accept-encoding", "content-length"}
    fields = {k: v for k, v in request.headers.items() if k.lower() not in dropped}
    answer = http2.request(request.method, request.url, headers=fields, content=request.body)
    made = requests.Response()
    made.status_code = answer.status_code
    made.headers.update(answer.headers)
    made._content = answer.content
    made.url = request.url
    made.request = request
    return made


requests.adapters.HTTPAdapter.send = send
messaging._MessagingService.FCM_URL = place["fcm"] + "/v1/projects/{0}/messages:send"


def command(**members):
    return http2.post(place["ogs"] + "/simulator/command", json=members).json()


def check(claim, holds, why=""):
    print(f"ok {claim}" if holds else f"not ok {claim}: {why}")


# Google's library asks for other scopes, and names Google's token server as the audience.
command(do="oauth", foreign=True)
firebase_admin.initialize_app(credentials.Certificate(place["service_account"]))

name = messaging.send(
    messaging.Message(
        token="device:1",
        data={"game_id": "7"},
        notification=messaging.Notification("Title", "Body", "https://example.org/a.png"),
        fcm_options=messaging.FCMOptions("label"),
        android=messaging.AndroidConfig(
            collapse_key="c", priority="high", ttl=3600.5,
            notification=messaging.AndroidNotification(
                tag="t", color="#102030", sound="default", channel_id="turns",
                title_loc_key="key", title_loc_args=["a"], notification_count=3,
                visibility="public", priority="high", click_action="TURN"))))
check("a whole message is accepted", name.startswith("projects/turnstone-simulator/messages/"), name)

pushes = command(do="report")["fcm"]["pushes"]
check("it is in the journal", pushes[-1]["token"] == "device:1" and pushes[-1]["accepted"], pushes)

for state, expected in [
    ("gone", messaging.UnregisteredError),
    ("other-project", messaging.SenderIdMismatchError),
    ("bad", exceptions.InvalidArgumentError),
]:
    command(**{"do": "fcm-token", "token": state, "is": state})
    try:
        messaging.send(messaging.Message(token=state))
        check(f"a {state} token is refused", False, "it was accepted")
    except exceptions.FirebaseError as error:
        check(f"a {state} token is refused", isinstance(error, expected), repr(error))

command(do="fcm-fault", status=429, reason="QUOTA_EXCEEDED", count=1)
try:
    messaging.send(messaging.Message(token="device:1"))
    check("a quota is known as one", False, "it was accepted")
except exceptions.FirebaseError as error:
    check("a quota is known as one", isinstance(error, messaging.QuotaExceededError), repr(error))

report = command(do="report")["fcm"]
check("one access token is enough", report["access_tokens"] == 1, report["access_tokens"])
print("ok everything was tried")
