"""Drives the programs by OneSignal's own clients. infra/checks/onesignal starts it.

Arguments: the server's address, the folder with turnstone.env and simulator/, and the folder of the programs.
"""

import datetime
import json
import subprocess
import sys
import traceback

import httpx
import onesignal
from onesignal.api import default_api
from onesignal.helpers import create_notification_with_retry
from onesignal.model.filter import Filter
from onesignal.model.button import Button
from onesignal.model.include_aliases import IncludeAliases
from onesignal.model.language_string_map import LanguageStringMap
from onesignal.model.operator import Operator
from onesignal.model.notification import Notification
from onesignal.model.properties_object import PropertiesObject
from onesignal.model.segment import Segment
from onesignal.model.subscription import Subscription
from onesignal.model.subscription_body import SubscriptionBody
from onesignal.model.transfer_subscription_request_body import TransferSubscriptionRequestBody
from onesignal.model.update_segment_request import UpdateSegmentRequest
from onesignal.model.update_user_request import UpdateUserRequest
from onesignal.model.user import User
from onesignal.model.user_identity_body import UserIdentityBody
from onesignal_sdk.client import Client
from onesignal_sdk.error import OneSignalHTTPError

address, folder, programs = sys.argv[1:]
KEY = "the key of the backend of the app"
APP = "0fc0a8e0-9727-49b6-9e37-5d6d919d741f"
variables = dict(line.split("=", 1) for line in open(f"{folder}/turnstone.env").read().splitlines() if "=" in line)


def stand_in(**command):
    """The simulator speaks HTTP/2 only, which curl does."""
    out = subprocess.run(
        ["/usr/bin/curl", "-sS", "--max-time", "20", "--cacert", f"{folder}/simulator/ca.pem", "--data", json.dumps(command),
         variables["OGS_BASE_URL"] + "/simulator/command"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


seen = {"apns": 0, "fcm": 0, "web": 0}


def delivered():
    """Delivers everything, and returns the pushes since the last time by service and device."""
    environment = {"TURNSTONE_CONFIG": f"{folder}/turnstone.env", "PATH": "/usr/bin:/bin"}
    for program in ("deliver", "deliver-web"):
        subprocess.run([f"{programs}/{program}"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
    report = stand_in(do="report")
    found = {}
    for service in seen:
        pushes = [p for p in report[service]["pushes"] if p["accepted"]]
        for push in pushes[seen[service]:]:
            device = push.get("token") or push.get("subscription")
            found.setdefault(device, []).append(push)
        seen[service] = len(pushes)
    return found


def check(claim, holds, why=""):
    print(f"ok {claim}" if holds else f"not ok {claim}: {why}", flush=True)
    return holds


def attempt(claim, body):
    """Runs a claim's body, which returns what is to hold, or a pair of that and the reason."""
    try:
        result = body()
        holds, why = result if isinstance(result, tuple) else (result, "")
        check(claim, holds, why)
    except Exception as error:  # noqa: BLE001
        place = traceback.extract_tb(error.__traceback__)[1:2]
        check(claim, False, f"{type(error).__name__}: {str(error)[:600]!r} at line {[f.lineno for f in place]}")


def refused(body):
    """The status and the errors of a refusal, which must have OneSignal's shape."""
    try:
        body()
    except onesignal.ApiException as error:
        status, answer = error.status, json.loads(error.body)
    except OneSignalHTTPError as error:
        status, answer = error.status_code, error.http_response.json()
    else:
        return 200, []
    errors = answer["errors"]
    if set(answer) != {"errors"} or not errors:
        raise ValueError(f"not OneSignal's shape: {answer}")
    for error in errors:
        # A sentence, or an object for what programs are to tell apart.
        named = isinstance(error, dict) and {"code", "title"} <= set(error) <= {"code", "title", "meta"}
        if not named and not (isinstance(error, str) and len(error) > 3):
            raise ValueError(f"not OneSignal's shape: {answer}")
    return status, errors


def languages(**texts):
    return LanguageStringMap(**texts)


# What most messages say: ann reads German, and everybody else has no language.
TEXTS = languages(en="A word", de="Ein Wort")
ENGLISH, GERMAN = "A word", "Ein Wort"


def text(push):
    """What the device shows: the title if there is one, and the text."""
    payload = push["payload"]
    payload = payload.get("message", payload)
    shown = payload["aps"].get("alert", {}) if "aps" in payload else payload.get("notification", {})
    return " | ".join(shown[part] for part in ("title", "subtitle", "body") if shown.get(part))


def says(pushes, wanted):
    """Whether these devices and no others got one push each, with these texts."""
    return {device: [text(push) for push in found] for device, found in pushes.items()} == {device: [said] for device, said in wanted.items()}


def raw():
    """The last answer to the new client as it came, with its members' types."""
    answer = json.loads(api.api_client.last_response.data)
    return {name: type(value).__name__ for name, value in answer.items()}


configuration = onesignal.Configuration(host=address, rest_api_key=KEY, organization_api_key=KEY)
api = default_api.DefaultApi(onesignal.ApiClient(configuration))
old = Client(app_id=APP, rest_api_key=KEY, user_auth_key=KEY, options={"API_ROOT": address + "/api/v1"})

PHONE, OTHER_PHONE, ANDROID = "a1" * 32, "b2" * 32, "fcm-token-of-anns-phone:APA91b"
browser = stand_in(do="web-subscription")
ids = {}
# What TEXTS say on each device.
OF_ANN = {PHONE: GERMAN, ANDROID: GERMAN, browser["id"]: GERMAN}
OF_BOB = {OTHER_PHONE: ENGLISH}


def send(**members):
    answer = api.create_notification(Notification(app_id=APP, **members))
    return answer, delivered()


### Users


def create_user():
    keys = browser["subscription"]["keys"]
    user = api.create_user(APP, User(
        identity={"external_id": "ann", "crm/id": "B 1/ö"},
        properties=PropertiesObject(tags={"role": "admin", "level": "12"}, language="de", timezone_id="Europe/Berlin", country="DE"),
        subscriptions=[
            Subscription(type="iOSPush", token=PHONE, enabled=True, device_model="iPhone15,2", device_os="19.1", app_version="3.10"),
            Subscription(type="AndroidPush", token=ANDROID, enabled=True),
            Subscription(type="ChromePush", token=browser["subscription"]["endpoint"], web_p256=keys["p256dh"], web_auth=keys["auth"]),
        ]))
    for subscription in user.subscriptions:
        ids[subscription.type] = subscription.id
    return (user.identity["external_id"] == "ann" and len(user.subscriptions) == 3 and "onesignal_id" in user.identity
            and raw() == {"identity": "dict", "properties": "dict", "subscriptions": "list"}, (user, raw()))


attempt("create_user makes a user with three subscriptions", create_user)
attempt("create_user makes another one", lambda: api.create_user(APP, User(
    identity={"external_id": "bob"}, properties=PropertiesObject(tags={"role": "guest"}),
    subscriptions=[Subscription(type="iOSPush", token=OTHER_PHONE, notification_types=1)])).identity["external_id"] == "bob")
attempt("get_user finds a user by an alias with a slash, a blank and a letter beyond ASCII", lambda: (
    (user := api.get_user(APP, "crm/id", "B 1/ö")).properties.tags["role"] == "admin" and user.properties.language == "de"
    and {s.type for s in user.subscriptions} == {"iOSPush", "AndroidPush", "ChromePush"}
    and raw() == {"identity": "dict", "properties": "dict", "subscriptions": "list"}
    and user.identity["crm/id"] == "B 1/ö" and user.properties.country == "DE" and user.properties.timezone_id == "Europe/Berlin"
    and {(s.id, s.enabled, s.notification_types) for s in user.subscriptions} == {(i, True, 1) for i in ids.values()}
    and not any("token" in s for s in user.subscriptions), user))


def found_by_tag(value):
    return send(filters=[Filter(field="tag", key="vip", relation="=", value=value)], contents=TEXTS)[1]


attempt("update_user changes and deletes tags", lambda: (
    api.update_user(APP, "external_id", "ann", UpdateUserRequest(properties=PropertiesObject(tags={"level": "", "vip": "yes"}))) is not None
    and raw() == {"properties": "dict"} and says(found_by_tag("yes"), OF_ANN) and not found_by_tag("no")
    and api.get_user(APP, "external_id", "ann").properties.tags == {"role": "admin", "vip": "yes"},
    api.get_user(APP, "external_id", "ann").properties.tags))
def reached_by(label, *named):
    return send(include_aliases=IncludeAliases(**{label: list(named)}), contents=TEXTS)[1]


attempt("create_alias adds an alias, by which the user is reached", lambda: (
    api.create_alias(APP, "external_id", "ann", UserIdentityBody(identity={"mail": "m-1"})).identity["mail"] == "m-1"
    and raw() == {"identity": "dict"} and says(pushes := reached_by("mail", "m-1"), OF_ANN), pushes))
attempt("get_aliases shows it", lambda: (
    (identity := api.get_aliases(APP, "mail", "m-1").identity)["external_id"] == "ann" and identity["crm/id"] == "B 1/ö"
    and raw() == {"identity": "dict"}, identity))
attempt("an alias of another user is refused as OneSignal refuses it", lambda: (
    (answer := refused(lambda: api.create_alias(APP, "external_id", "bob", UserIdentityBody(identity={"mail": "m-1"}))))[0] == 409
    and answer[1] == [{"code": "user-2", "title": "One or more Aliases claimed by another User", "meta": {"mail": "m-1"}}]
    and says(reached_by("mail", "m-1"), OF_ANN), answer))
attempt("delete_alias removes it, and nobody is reached by it", lambda: (
    (left := api.delete_alias(APP, "external_id", "ann", "mail").identity).to_dict().keys() == {"external_id", "onesignal_id", "crm/id"}
    and raw() == {"identity": "dict"} and not reached_by("mail", "m-1") and refused(lambda: api.get_aliases(APP, "mail", "m-1"))[0] == 404))
attempt("an unknown user is 404", lambda: (
    (answer := refused(lambda: api.get_user(APP, "external_id", "nobody"))) == (404, ["User not found"]), answer))

### Sending


def three_services():
    answer, pushes = send(
        include_aliases=IncludeAliases(**{"external_id": ["ann"]}), target_channel="push",
        headings=languages(en="Hello", de="Hallo"), contents=languages(de="Welt", en="World"), subtitle=languages(en="Sub"),
        data={"orderId": "7", "from": "shop"}, buttons=[Button(id="yes", text="Yes")], big_picture="https://example.org/big.png",
        ios_badge_type="Increase", ios_badge_count=2, android_channel_id="orders", ttl=3600, priority=10, collapse_id="order-7",
        url="https://example.org/7", ios_sound="bell.caf", android_accent_color="FF336699", name="a label")
    ids["notification"] = answer.id
    apple = pushes[PHONE][0]
    android = pushes[ANDROID][0]["payload"]
    web = pushes[browser["id"]][0]
    android = android.get("message", android)
    shown = web["payload"].get("notification", web["payload"])
    payload = apple["payload"]
    facts = {
        "id": bool(answer.id), "devices": {device: len(found) for device, found in pushes.items()} == dict.fromkeys(OF_ANN, 1),
        "answer": raw() == {"id": "str", "recipients": "int"} and json.loads(api.api_client.last_response.data)["recipients"] == 3,
        "web text in the user's language": shown["lang"] == "de" and text(web) == "Hallo | Sub\nWelt",
        "fcm text in the user's language": text(pushes[ANDROID][0]) == "Hallo | Sub\nWelt",
        "apns text in the user's language": payload["aps"]["alert"] == {"title": "Hallo", "subtitle": "Sub", "body": "Welt"},
        "apns data": payload["orderId"] == "7" and payload["url"] == "https://example.org/7",
        "apns buttons": payload["buttons"] == [{"id": "yes", "text": "Yes"}],
        "apns badge": payload["aps"]["badge"] == 2, "apns sound": payload["aps"]["sound"] == "bell.caf",
        "apns collapse": apple["headers"]["apns-collapse-id"] == "order-7", "apns priority": apple["headers"]["apns-priority"] == "10",
        "apns ttl": abs(int(apple["headers"]["apns-expiration"]) - datetime.datetime.now().timestamp() - 3600) < 60,
        "fcm text": android["notification"]["title"] == "Hallo" and "Welt" in android["notification"]["body"],
        "fcm data": android["data"]["orderId"] == "7" and json.loads(android["data"]["buttons"])[0]["id"] == "yes",
        "fcm channel": android["android"]["notification"]["channel_id"] == "orders",
        "fcm color": android["android"]["notification"]["color"] == "#336699",
        "fcm image": android["android"]["notification"]["image"] == "https://example.org/big.png",
        "fcm ttl": android["android"]["ttl"].startswith("3") and android["android"]["priority"].upper() == "HIGH",
        "fcm collapse": android["android"]["collapse_key"] == "order-7",
        "web text": shown["title"] == "Hallo" and "Welt" in shown["body"],
        "web link": shown["navigate"] == "https://example.org/7" and shown["actions"][0]["action"] == "yes",
        "web ttl": 3500 < int(web["headers"]["ttl"]) <= 3600,
    }
    return all(facts.values()), ([k for k, v in facts.items() if not v], payload, android, web)


attempt("create_notification reaches all three services with everything", three_services)
attempt("ios_badgeType Increase adds to what was there", lambda: (
    (pushes := send(include_subscription_ids=[ids["iOSPush"]], contents=languages(en="x"), ios_badge_type="Increase", ios_badge_count=1)[1])
    and list(pushes) == [PHONE] and pushes[PHONE][0]["payload"]["aps"]["badge"] == 3, pushes))
attempt("get_notification counts three", lambda: (
    (view := api.get_notification(APP, ids["notification"])).successful == 3 and view.failed == 0 and view.remaining == 0
    and view.errored == 0 and view.id == ids["notification"] and view.app_id == APP and not view.canceled
    and raw() == {"id": "str", "app_id": "str", "queued_at": "int", "send_after": "int", "canceled": "bool", "recipients": "int",
                  "successful": "int", "failed": "int", "errored": "int", "remaining": "int"}, (view, raw())))
attempt("get_notifications lists it", lambda: (
    (page := api.get_notifications(APP, limit=1, offset=1)).total_count >= 5 and page.limit == 1 and page.offset == 1
    and [found.id for found in page.notifications] == [ids["notification"]]
    and raw() == {"total_count": "int", "offset": "int", "limit": "int", "notifications": "list"}, page))


def replay():
    notification = Notification(
        app_id=APP, include_aliases=IncludeAliases(**{"external_id": ["bob"]}), contents=TEXTS,
        idempotency_key="6e3a0a5e-0000-4000-8000-000000000001")
    first = create_notification_with_retry(api, notification)
    second = create_notification_with_retry(api, notification)
    pushes = delivered()
    return (first.response.id == second.response.id != "" and not first.was_replayed and second.was_replayed
            and says(pushes, OF_BOB), (first, second, pushes))


attempt("a repeated idempotency key is replayed and sent once", replay)
attempt("unknown aliases are named, and the others reached", lambda: (
    (sent := send(include_aliases=IncludeAliases(**{"external_id": ["bob", "nobody"]}), contents=TEXTS))[0].id != ""
    and sent[0].errors == {"invalid_aliases": {"external_id": ["nobody"]}} and says(sent[1], OF_BOB)
    and raw() == {"id": "str", "recipients": "int", "errors": "dict"}, sent))
attempt("nobody reached is an empty id with OneSignal's sentence", lambda: (
    (sent := send(include_aliases=IncludeAliases(**{"external_id": ["nobody"]}), contents=languages(en="x")))[0].id == ""
    and sent[0].errors == ["All included players are not subscribed"] and not sent[1], sent))
attempt("no target has OneSignal's sentence", lambda: (
    refused(lambda: api.create_notification(Notification(app_id=APP, contents=languages(en="x"))))
    == (400, [onesignal.errors.OneSignalErrors.NO_TARGETING_SPECIFIED])))
attempt("filters choose users", lambda: (
    (pushes := send(filters=[Filter(field="tag", key="role", relation="=", value="guest"), Operator(operator="OR"),
                             Filter(field="session_count", relation=">", value="10")], contents=TEXTS)[1])
    and says(pushes, OF_BOB), pushes))
attempt("everybody is Subscribed Users, each in the language of the profile", lambda: (
    says(pushes := send(included_segments=["Subscribed Users"], contents=TEXTS)[1], OF_ANN | OF_BOB), pushes))
attempt("is_ios leaves the other platforms out", lambda: (
    says(pushes := send(included_segments=["All"], is_ios=True, contents=TEXTS)[1], {PHONE: GERMAN} | OF_BOB), pushes))
attempt("is_android and is_any_web leave iPhones out", lambda: (
    says(pushes := send(included_segments=["All"], is_android=True, is_any_web=True, contents=TEXTS)[1],
         {ANDROID: GERMAN, browser["id"]: GERMAN}), pushes))
attempt("a language without a text gets English", lambda: (
    says(pushes := send(include_aliases=IncludeAliases(**{"external_id": ["ann"]}), contents=languages(en="Only", fr="Que"))[1],
         dict.fromkeys(OF_ANN, "Only")), pushes))
attempt("content_available alone is a background push", lambda: (
    (pushes := send(include_aliases=IncludeAliases(**{"external_id": ["bob"]}), content_available=True, data={"sync": "1"})[1])
    and list(pushes) == [OTHER_PHONE] and len(pushes[OTHER_PHONE]) == 1 and "alert" not in pushes[OTHER_PHONE][0]["payload"]["aps"]
    and pushes[OTHER_PHONE][0]["headers"]["apns-push-type"] == "background" and pushes[OTHER_PHONE][0]["payload"]["sync"] == "1", pushes))


def cancelled():
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    answer, early = send(included_segments=["All"], contents=languages(en="later"), send_after=later)
    before = api.get_notification(APP, answer.id)
    result = api.cancel_notification(APP, answer.id)
    raw_result = raw()
    return (not early and before.remaining == 4 and abs(before.send_after - later.timestamp()) < 2 and raw_result == {"success": "bool"} and result.success
            and api.get_notification(APP, answer.id).canceled and not delivered(), (early, before, result))


attempt("a scheduled notification is cancelled", cancelled)
def throttled():
    answer, pushes = send(
        include_aliases=IncludeAliases(**{"external_id": ["bob"]}), contents=TEXTS, throttle_rate_per_minute="600")
    view = api.get_notification(APP, answer.id)
    listed = api.get_notifications(APP, limit=1, offset=0).notifications[0]
    return says(pushes, OF_BOB) and view.id == listed.id == answer.id and view.successful == 1, (answer, pushes, view, listed)


attempt("a throttled notification is sent, viewed and listed", throttled)


def delayed():
    time = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime("%H:%M")
    answer, early = send(
        include_aliases=IncludeAliases(**{"external_id": ["bob"]}), contents=TEXTS, throttle_rate_per_minute="600",
        delayed_option="timezone", delivery_time_of_day=time)
    view = api.get_notification(APP, answer.id)
    listed = api.get_notifications(APP, limit=1, offset=0).notifications[0]
    api.cancel_notification(APP, answer.id)
    return (not early and not delivered() and view.remaining == 1 and view.id == listed.id == answer.id
            and {(shown.delayed_option, shown.delivery_time_of_day) for shown in (view, listed)} == {("timezone", time)},
            (early, view, listed))


attempt("one for a moment of each user's own is viewed and listed", delayed)
attempt("one that was sent cannot be cancelled", lambda: (
    (answer := refused(lambda: api.cancel_notification(APP, ids["notification"])))[0] == 400 and isinstance(answer[1][0], str), answer))
attempt("an unknown notification has OneSignal's sentence", lambda: (
    refused(lambda: api.get_notification(APP, "6e3a0a5e-0000-4000-8000-000000000009")) == (404, ["Notification not found"])))
attempt("a wrong key has OneSignal's sentence", lambda: (
    (answer := refused(lambda: default_api.DefaultApi(onesignal.ApiClient(onesignal.Configuration(
        host=address, rest_api_key="wrong", organization_api_key="wrong"))).get_notifications(APP)))[0] == 403
    and answer[1] == [onesignal.errors.OneSignalErrors.INVALID_API_KEY], answer))
attempt("another app is refused", lambda: (
    (answer := refused(lambda: api.get_notifications("00000000-0000-4000-8000-000000000000")))[0] == 400
    and "app_id" in answer[1][0], answer))

### Segments and counts


def segments():
    shapes = []

    def noted(answer):
        shapes.append(raw())
        return answer

    made = api.create_segment(APP, segment=Segment(
        name="Admins", filters=[Filter(field="tag", key="role", relation="=", value="admin")]))
    noted(made)
    listed = noted(api.get_segments(APP, offset=0, limit=10))
    seen = noted(api.get_segment(APP, made.id))
    renamed = noted(api.update_segment(APP, made.id, update_segment_request=UpdateSegmentRequest(name="Chiefs")))
    ids["segment"] = made.id
    pushes = send(included_segments=["Chiefs"], contents=TEXTS)[1]
    rest = send(included_segments=["All"], excluded_segments=["Chiefs"], contents=TEXTS)[1]
    wanted = [{"success": "bool", "id": "str"}, {"total_count": "int", "offset": "int", "limit": "int", "segments": "list"},
              {"subscriber_count": "int"}, {"success": "bool", "id": "str"}]
    return (made.success and listed.total_count == 1 and listed.segments[0].name == "Admins" and listed.segments[0].id == made.id
            and seen.subscriber_count == 3 and renamed.success and shapes == wanted
            and says(pushes, OF_ANN) and says(rest, OF_BOB), (made, listed, seen, renamed, shapes, pushes, rest))


attempt("segments are made, listed, counted, renamed and sent to", segments)
attempt("a name that is taken is refused", lambda: refused(lambda: api.create_segment(APP, segment=Segment(
    name="Chiefs", filters=[Filter(field="tag", key="a", relation="exists")])))[0] == 409)
attempt("a location is refused with a sentence", lambda: (
    (answer := refused(lambda: api.create_segment(APP, segment=Segment(
        name="Near", filters=[Filter(field="location", radius=1000.0, lat=1.5, long=2.5)]))))[0] == 400, answer))
attempt("estimate_notification_recipients counts", lambda: (
    api.estimate_notification_recipients(onesignal.model.estimate_notification_recipients_request.EstimateNotificationRecipientsRequest(
        app_id=APP, included_segments=["Chiefs"])).count == 3
    and raw() == {"count": "int"} and not delivered()))
attempt("delete_segment removes one, and no message goes to it", lambda: (
    api.delete_segment(APP, ids["segment"]).success and refused(lambda: api.get_segment(APP, ids["segment"]))[0] == 404
    and (answer := refused(lambda: send(included_segments=["Chiefs"], contents=TEXTS)))[0] == 400 and "Chiefs" in answer[1][0]
    and not delivered()))

### Subscriptions


def subscription():
    made = api.create_subscription(APP, "external_id", "bob", SubscriptionBody(
        subscription=Subscription(type="AndroidPush", token="fcm-token-of-bobs-phone:APA91b", enabled=True)))
    ids["bobs"] = made.subscription.id
    shape = raw()
    api.update_subscription(APP, made.subscription.id, SubscriptionBody(subscription=Subscription(enabled=False, app_version="4")))
    off = reached_by("external_id", "bob")
    api.update_subscription(APP, made.subscription.id, SubscriptionBody(subscription=Subscription(enabled=True, notification_types=1)))
    on = reached_by("external_id", "bob")
    return (made.subscription.type == "AndroidPush" and made.subscription.enabled and "token" not in made.subscription
            and shape == {"subscription": "dict"} and says(off, OF_BOB)
            and says(on, OF_BOB | {"fcm-token-of-bobs-phone:APA91b": ENGLISH}), (made, shape, off, on))


attempt("a subscription is made, switched off and on", subscription)


def new_token():
    api.update_subscription(APP, ids["bobs"], SubscriptionBody(subscription=Subscription(token="fcm-token-of-bobs-phone:NEW")))
    pushes = send(include_subscription_ids=[ids["bobs"]], contents=TEXTS)[1]
    return says(pushes, {"fcm-token-of-bobs-phone:NEW": ENGLISH}), pushes


attempt("a subscription keeps its id with a new token", new_token)
attempt("update_subscription_by_token finds it", lambda: api.update_subscription_by_token(
    APP, "AndroidPush", "fcm-token-of-bobs-phone:NEW", SubscriptionBody(subscription=Subscription(device_model="Pixel"))) is not None
    and [s.device_model for s in api.get_user(APP, "external_id", "bob").subscriptions if s.id == ids["bobs"]] == ["Pixel"])


def transfer():
    answer = api.transfer_subscription(APP, ids["AndroidPush"], TransferSubscriptionRequestBody(identity={"external_id": "bob"}))
    shape = raw()
    identity = api.get_aliases_by_subscription(APP, ids["AndroidPush"])
    ann, bob = reached_by("external_id", "ann"), reached_by("external_id", "bob")
    return (answer.identity["external_id"] == identity.identity["external_id"] == "bob" and shape == {"identity": "dict"}
            and says(ann, {PHONE: GERMAN, browser["id"]: GERMAN})
            and says(bob, OF_BOB | {ANDROID: ENGLISH, "fcm-token-of-bobs-phone:NEW": ENGLISH}), (answer, shape, identity, ann, bob))


attempt("transfer_subscription gives a subscription to another user", transfer)


def transfer_closed():
    made = api.create_subscription(APP, "external_id", "bob", SubscriptionBody(
        subscription=Subscription(type="iOSPush", token="f6" * 32, enabled=False, device_model="iPad")))
    api.transfer_subscription(APP, made.subscription.id, TransferSubscriptionRequestBody(identity={"external_id": "ann"}))
    moved = [s for s in api.get_user(APP, "external_id", "ann").subscriptions if s.id == made.subscription.id]
    pushes = reached_by("external_id", "ann")
    return (len(moved) == 1 and not moved[0].enabled and moved[0].device_model == "iPad"
            and says(pushes, {PHONE: GERMAN, browser["id"]: GERMAN}), (made, moved, pushes))


attempt("a subscription that is switched off stays off when it is transferred", transfer_closed)
attempt("create_alias_by_subscription adds an alias to its user", lambda: (
    api.create_alias_by_subscription(APP, ids["AndroidPush"], UserIdentityBody(identity={"crm": "b-1"})).identity["crm"] == "b-1"
    and api.get_aliases(APP, "crm", "b-1").identity["external_id"] == "bob" and says(
        pushes := reached_by("crm", "b-1"), OF_BOB | {ANDROID: ENGLISH, "fcm-token-of-bobs-phone:NEW": ENGLISH}), pushes))
attempt("delete_subscription removes it", lambda: (
    api.delete_subscription(APP, ids["AndroidPush"]) is None and refused(lambda: api.get_aliases_by_subscription(APP, ids["AndroidPush"]))[0] == 404
    and says(pushes := reached_by("external_id", "bob"), OF_BOB | {"fcm-token-of-bobs-phone:NEW": ENGLISH}), pushes))


def named_later():
    made = api.create_user(APP, User(subscriptions=[Subscription(type="iOSPush", token="c3" * 32)]))
    own = made.identity["onesignal_id"]
    anonymous = "external_id" not in made.identity
    named = api.create_alias(APP, "onesignal_id", own, UserIdentityBody(identity={"external_id": "cid"}))
    pushes = reached_by("external_id", "cid")
    return (anonymous and named.identity.to_dict() == {"external_id": "cid", "onesignal_id": own} and says(pushes, {"c3" * 32: ENGLISH})
            and api.get_user(APP, "onesignal_id", own).identity["external_id"] == "cid", (made, named, pushes))


attempt("a user without an external id gets one later", named_later)
attempt("e-mail subscriptions are refused with a sentence", lambda: (
    (answer := refused(lambda: api.create_subscription(APP, "external_id", "bob", SubscriptionBody(
        subscription=Subscription(type="Email", token="a@example.org")))))[0] == 400 and "Email" in answer[1][0], answer))

### The app, and what is not supported

attempt("get_app counts", lambda: ((app := api.get_app(APP)).id == APP and app.messageable_players >= 4, app))
attempt("get_apps lists it", lambda: len(api.get_apps().value) == 1)
for name, call in {
    "e-mail": lambda: send(include_aliases=IncludeAliases(**{"external_id": ["ann"]}), target_channel="email", contents=languages(en="x")),
    "SMS": lambda: send(include_phone_numbers=["+15550100"], contents=languages(en="x")),
    "outcomes": lambda: api.get_outcomes(APP, "os__click.count"),
    "journeys": lambda: api.view_journeys(APP),
    "templates": lambda: api.view_templates(APP),
    "delivery by time zone without a time": lambda: send(included_segments=["All"], delayed_option="timezone", contents=languages(en="x")),
}.items():
    attempt(f"{name}: 400 with a sentence", lambda call=call: (
        (answer := refused(call))[0] == 400 and isinstance(answer[1][0], str) and " " in answer[1][0], answer))
attempt("nothing of that was sent", lambda: (not (pushes := delivered()), pushes))
attempt("delete_user erases a user", lambda: (
    api.delete_user(APP, "external_id", "cid") is not False and refused(lambda: api.get_user(APP, "external_id", "cid"))[0] == 404
    and not (pushes := reached_by("external_id", "cid")), "it is still there"))

### The older client


def player():
    made = old.add_device({"device_type": 0, "identifier": "d4" * 32, "external_user_id": "dan", "tags": {"role": "guest"}, "language": "de"}).body
    ids["player"] = made["id"]
    seen = old.view_device(made["id"]).body
    old.edit_device(made["id"], {"tags": {"role": "", "team": "x"}})
    old.new_session(made["id"], {"device_type": 0})
    after = old.view_device(made["id"]).body
    return (made["success"] and seen["external_user_id"] == "dan" and seen["tags"] == {"role": "guest"}
            and after["tags"] == {"team": "x"} and after["session_count"] == 1, (made, seen, after))


attempt("old: a device is added, changed and shown", player)
attempt("old: a list of the devices", lambda: ((page := old.view_devices({"limit": 2}).body)["total_count"] >= 4 and len(page["players"]) == 2, page))
attempt("old: edit_tags", lambda: (
    old.edit_tags("dan", {"tags": {"a": "1"}}).body["success"] and old.view_device(ids["player"]).body["tags"] == {"team": "x", "a": "1"}))


def old_sending():
    soon = (datetime.datetime.now() + datetime.timedelta(hours=1)).strftime("%Y-%m-%d %H:%M:%S GMT+0000")
    later = old.send_notification({"contents": {"en": "x"}, "include_external_user_ids": ["dan"], "send_after": soon}).body
    gone = old.cancel_notification(later["id"]).body
    sent = old.send_notification({"contents": {"en": ENGLISH, "de": GERMAN}, "include_player_ids": [ids["player"], "no-such-id"]}).body
    pushes = delivered()
    view = old.view_notification(sent["id"]).body
    tags = old.send_notification({"contents": {"en": ENGLISH, "de": GERMAN}, "tags": [{"key": "team", "relation": "=", "value": "x"}]}).body
    wanted = {"d4" * 32: GERMAN}
    return (gone == {"success": True} and says(pushes, wanted) and set(sent) == {"id", "recipients", "errors"} and sent["recipients"] == 1
            and sent["errors"] == {"invalid_player_ids": ["no-such-id"]}
            and view["successful"] == 1 and set(tags) == {"id", "recipients"} and says(delivered(), wanted), (later, gone, sent, pushes, view, tags))


attempt("old: send, view and cancel", old_sending)
attempt("old: the list of notifications", lambda: old.view_notifications({"limit": 1}).body["total_count"] > 5)
attempt("old: a refusal raises OneSignal's sentence", lambda: (
    (answer := refused(lambda: old.send_notification({"contents": {"en": "x"}}))) == (400, [onesignal.errors.OneSignalErrors.NO_TARGETING_SPECIFIED]), answer))


def unlinked():
    old.edit_device(ids["player"], {"external_user_id": ""})
    seen = old.view_device(ids["player"]).body
    return "external_user_id" not in seen and seen["id"] == ids["player"], seen


attempt("old: an empty external_user_id takes the device's user away", unlinked)
for name, call in {
    "purchases": lambda: old.new_purchase(ids["player"], {"purchases": []}),
    "export": lambda: old.csv_export({}),
    "history": lambda: old.notification_history(ids["notification"], {"events": "sent", "email": "a@example.org"}),
}.items():
    attempt(f"old: {name}: 400 with a sentence", lambda call=call: ((answer := refused(call))[0] == 400 and " " in answer[1][0], answer))

### The helper calls of an app, by their own request bodies


def helper(title, body, data, users):
    sent = httpx.post(address + "/api/v1/notifications", headers={"Authorization": f"Basic {KEY}"}, json={
        "app_id": APP, "headings": {"en": title}, "contents": {"en": body}, "include_external_user_ids": users, "data": data})
    pushes = delivered()
    payload = pushes.get(OTHER_PHONE, [{"payload": {}}])[0]["payload"]
    return (sent.status_code == 200 and payload["aps"]["alert"] == {"title": title, "body": body}
            and all(payload[name] == value for name, value in data.items()), (sent.text, pushes))


attempt("helper: task assignment", lambda: helper(
    "New Task Assignment", "You've been assigned to Roof on House 7",
    {"type": "taskAssignment", "taskId": "t1", "projectId": "p1", "screen": "taskDetails"}, ["bob"]))
attempt("helper: schedule change", lambda: helper(
    "Schedule Update", "Roof on House 7: Schedule has been updated",
    {"type": "scheduleChange", "taskId": "t1", "projectId": "p1", "screen": "taskDetails"}, ["bob", "ann"]))
attempt("helper: project completion", lambda: helper(
    "Project Completed", "House 7 has been marked as completed",
    {"type": "projectCompletion", "projectId": "p1", "screen": "projectDetails"}, ["bob", "ann"]))


def replayed_later():
    """The answer stays the same although its device is gone."""
    made = old.add_device({"device_type": 0, "identifier": "e5" * 32, "external_user_id": "eve"}).body
    request = {"contents": {"en": "x"}, "include_player_ids": [made["id"]], "idempotency_key": "6e3a0a5e-0000-4000-8000-000000000002"}
    first = old.send_notification(request)
    sent = delivered()
    api.delete_user(APP, "external_id", "eve")
    again = old.send_notification(request)
    different = refused(lambda: old.send_notification(request | {"contents": {"en": "y"}}))
    return (first.body["id"] == again.body["id"] != "" and list(sent) == ["e5" * 32] and not delivered()
            and again.http_response.headers["Idempotent-Replayed"] == "true" and different[0] == 400, (first.body, again.body, different))


attempt("a repeated request is replayed after its device is gone, and a different one refused", replayed_later)
attempt("the new client works below /api/v1, too", lambda: default_api.DefaultApi(onesignal.ApiClient(onesignal.Configuration(
    host=address + "/api/v1", rest_api_key=KEY, organization_api_key=KEY))).get_app(APP).id == APP)
attempt("nginx's own refusals have the form", lambda: (
    (answer := httpx.post(f"{address}/players", content=b"x" * 100_000)).status_code == 413
    and answer.json() == {"errors": ["the body is too large"]}, answer.text))
attempt("a body of 900 KB is read", lambda: (
    (answer := httpx.post(f"{address}/api/v1/notifications", headers={"Authorization": f"Key {KEY}"}, json={
        "app_id": APP, "contents": {"en": "x"}, "include_aliases": {"external_id": ["nobody-%05d" % n for n in range(45_000)]}},
        timeout=30)).status_code == 200
    and answer.json()["errors"] == ["All included players are not subscribed"], answer.text[:300]))
attempt("the raw key is accepted", lambda: httpx.get(
    f"{address}/apps/{APP}/segments", headers={"Authorization": KEY}).status_code == 200)
print("ok everything was tried")
