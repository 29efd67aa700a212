"""A backend that sends pictures to phones and browsers: blobd stores them, APNs, FCM and Web Push carry the pushes.

    python3 -m pip install -r requirements.txt
    USERS=ann:secret python3 backend.py 8081

Devices call it through nginx (docs/FIRST-PUSH.md). Authorization is `Bearer SESSION`:

    POST   /sign-in    {"user","password"}: returns a session, which ends when the device signs out
    GET    /devices    for anyone: {"webpush"}, the public key with which browsers subscribe
    PUT    /devices    {"platform","token"}, or {} without a push token: where the device can be reached. Returns the
                       token with which it calls blobd. Apps call this at each start, so that the token is renewed. A
                       browser's push token is its subscription, in JSON
    DELETE /devices    signs out
    POST   /d/me/notifications/{id}/responses   blobd's call. The user's other devices withdraw the notification

Your own code calls this, or `send`; nginx does not forward it:

    POST   /send?owner=ann&message=Look         the body is the picture

It is configured by environment variables:

    USERS           name:password,…; stands for the sign-in that your site has already
    BLOBD_SOCKET    the daemon's socket; default /run/blobd/blobd.sock
    SIGNING_KEYS    the daemon's file of keys; default /etc/blobd/signing-keys
    DEVICES         the SQLite file of devices; default devices.db
    APNS_KEY        the .p8 file from developer.apple.com, with APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC (the bundle id)
    APNS_URL        default https://api.push.apple.com; apps started by Xcode need https://api.sandbox.push.apple.com
    FCM_ACCOUNT     the service account's JSON file from the Firebase console; FCM_URL is only for tests
    VAPID_KEY       a PEM file of your own: openssl ecparam -name prime256v1 -genkey -noout -out vapid.pem; with
                    VAPID_SUBJECT, a mailto: or https: address where push services reach you
    WEB_PAGE        the URL that a click on a browser's notification opens
    WEB_PUSH_HOSTS  the push services that may be called; the default has those of Chrome, Edge, Firefox and Safari

Pushes to a service without credentials are printed instead of sent.
"""
import base64, contextlib, hashlib, hmac, json, os, random, re, secrets, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qsl, urlsplit

import httpx, jwt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02
from pywebpush import WebPusher, WebPushException

PICTURE_BYTES_MAX = 10_000_000  # iOS shows no larger one.
DOCUMENT_BYTES_MAX = 8_192
LIFETIME = 24 * 3600  # Seconds, of a notification.
TOKEN_LIFETIME = 7 * 24 * 3600  # Of a device's token. Signing out does not end it, so it is short.
ATTEMPTS_MAX = 5
PAUSE = float(os.environ.get("PUSH_PAUSE", 1))  # Seconds after the first failed attempt; it doubles.
PAUSE_MAX = 60  # A service that asks for more (Retry-After) gets no further attempt.
CA = os.environ.get("PUSH_CA", True)  # Tests have an authority of their own.
WEB_PUSH_HOSTS = os.environ.get(
    "WEB_PUSH_HOSTS", "fcm.googleapis.com,notify.windows.com,push.services.mozilla.com,push.apple.com").split(",")


class Unregistered(Exception):
    """The push service does not know the device any more."""


class Refused(Exception):
    """What is wrong with a call, in a sentence."""

    def __init__(self, status, words):
        super().__init__(words)
        self.status = status


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Service:
    """What push services have in common: a token that is renewed in time, and attempts that are repeated."""

    def __init__(self, base_url=""):
        self.http = httpx.Client(http2=True, base_url=base_url, verify=CA, timeout=10)
        self.lock, self.token, self.renew_at, self.has_accepted = Lock(), None, 0, False

    def bearer(self):
        with self.lock:
            if time.time() >= self.renew_at:
                self.token, seconds = self.new_token()
                self.renew_at = time.time() + seconds
            return self.token

    def send(self, device, push):
        for attempt in range(ATTEMPTS_MAX):
            try:
                response = self.request(device, push)
            except httpx.TransportError as error:
                problem, pause = str(error) or type(error).__name__, PAUSE * 2**attempt
            else:
                if response.is_success:
                    self.has_accepted = True
                    return
                problem, pause = f"{response.status_code} {response.text}", PAUSE * 2**attempt
                if self.is_unregistered(response):
                    raise Unregistered(problem)
                if self.is_token_refused(response):
                    self.renew_at, pause = 0, 0
                elif response.status_code not in (429, 500, 502, 503, 504):
                    break  # The same push would be refused again.
                if response.headers.get("retry-after", "").isdigit():
                    pause = int(response.headers["retry-after"])
            if attempt + 1 == ATTEMPTS_MAX or pause > PAUSE_MAX:
                break
            pause *= random.uniform(1, 1.25)
            print(f"{type(self).__name__}: {problem}; trying again in {pause:.1f} s", flush=True)
            time.sleep(pause)
        raise RuntimeError(problem)


class APNs(Service):
    """https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns"""

    def __init__(self):
        super().__init__(os.environ.get("APNS_URL", "https://api.push.apple.com"))
        self.key, self.key_id = read(os.environ["APNS_KEY"]), os.environ["APNS_KEY_ID"]
        self.team, self.topic = os.environ["APNS_TEAM_ID"], os.environ["APNS_TOPIC"]

    def new_token(self):
        claims = {"iss": self.team, "iat": int(time.time())}
        # Apple refuses one that is older than an hour, and new ones within 20 minutes.
        return jwt.encode(claims, self.key, "ES256", {"kid": self.key_id}), 40 * 60

    def request(self, device, push):
        # The envelope has apns-push-type, apns-priority, apns-expiration and apns-collapse-id.
        headers = push["headers"] | {"authorization": "bearer " + self.bearer(), "apns-topic": self.topic}
        return self.http.post(f"/3/device/{device}", content=push["body"].encode(), headers=headers)

    def is_unregistered(self, response):
        # Every token is bad at the other one of Apple's two servers: a wrong APNS_URL must not drop every device.
        is_bad = response.status_code == 400 and "BadDeviceToken" in response.text
        return response.status_code == 410 or is_bad and self.has_accepted

    def is_token_refused(self, response):
        return response.status_code == 403 and "ExpiredProviderToken" in response.text


class FCM(Service):
    """https://firebase.google.com/docs/cloud-messaging/send/v1-api"""

    def __init__(self):
        super().__init__(os.environ.get("FCM_URL", "https://fcm.googleapis.com"))
        self.account = json.loads(read(os.environ["FCM_ACCOUNT"]))

    def new_token(self):
        now, url = int(time.time()), self.account["token_uri"]
        claims = {"iss": self.account["client_email"], "aud": url, "iat": now, "exp": now + 3600}
        claims["scope"] = "https://www.googleapis.com/auth/firebase.messaging"
        key, key_id = self.account["private_key"], self.account["private_key_id"]
        assertion = jwt.encode(claims, key, "RS256", {"kid": key_id})
        grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        response = self.http.post(url, data={"grant_type": grant, "assertion": assertion})
        if response.is_error:
            raise RuntimeError(f"no access token: {response.status_code} {response.text}")
        answer = response.json()
        return answer["access_token"], answer["expires_in"] - 60

    def request(self, device, push):
        # The envelope has the device's token already.
        headers = push["headers"] | {"authorization": "Bearer " + self.bearer()}
        url = f"/v1/projects/{self.account['project_id']}/messages:send"
        return self.http.post(url, content=push["body"].encode(), headers=headers)

    def is_unregistered(self, response):
        return response.status_code == 404 and "UNREGISTERED" in response.text

    def is_token_refused(self, response):
        return response.status_code == 401


class WebPush(Service):
    """https://www.rfc-editor.org/rfc/rfc8030. The device is a browser's subscription, which names its push service."""

    def __init__(self):
        super().__init__()
        self.vapid, self.subject = Vapid02.from_pem(read(os.environ["VAPID_KEY"]).encode()), os.environ["VAPID_SUBJECT"]

    def public_key(self):
        point = self.vapid.public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return base64.urlsafe_b64encode(point).decode().rstrip("=")

    def request(self, device, push):
        subscription = json.loads(device)
        url = urlsplit(subscription["endpoint"])
        signature = self.vapid.sign({
            "aud": f"{url.scheme}://{url.netloc}", "sub": self.subject, "exp": int(time.time()) + 12 * 3600})
        # The envelope has TTL, Urgency and Topic.
        headers = push["headers"] | signature | {"Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream"}
        content = WebPusher(subscription).encode(push["body"].encode())["body"]
        return self.http.post(subscription["endpoint"], content=content, headers=headers)

    def is_unregistered(self, response):
        return response.status_code in (404, 410)

    def is_token_refused(self, response):
        return False

    @staticmethod
    def subscription(text):
        """A subscription in one form, so that the same one is the same text. Its endpoint will be called: it must be a
        push service's, and not one of your own network's."""
        try:
            parsed = json.loads(text)
            keys = {name: parsed["keys"][name] for name in ("auth", "p256dh")}
            subscription = {"endpoint": parsed["endpoint"], "keys": keys}
            url = urlsplit(subscription["endpoint"])
            WebPusher(subscription).encode(b"a push")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, WebPushException):
            raise Refused(400, "the token is not a browser's subscription, in JSON") from None
        is_host = re.fullmatch(r"[\w.-]+(:\d+)?", url.netloc, re.ASCII)
        if url.scheme != "https" or not is_host or not any(f".{url.hostname}".endswith(f".{host}") for host in WEB_PUSH_HOSTS):
            raise Refused(400, f"{url.netloc} is not one of the push services in WEB_PUSH_HOSTS, over https")
        return json.dumps(subscription)


class Devices:
    """The devices that are signed in, and the push tokens of those that can be reached."""

    def __init__(self, path):
        self.lock, self.db = Lock(), sqlite3.connect(path, check_same_thread=False)
        self.run("""CREATE TABLE IF NOT EXISTS signed_in (
            id TEXT PRIMARY KEY, session TEXT UNIQUE, owner TEXT, platform TEXT, token TEXT, UNIQUE (platform, token))""")

    def run(self, statement, *values):
        with self.lock, self.db:
            return self.db.execute(statement, values).fetchall()

    @staticmethod
    def hashed(session):
        # Whoever reads the file cannot sign in with it.
        return hashlib.sha256(session.encode()).hexdigest()

    def sign_in(self, owner):
        session = secrets.token_urlsafe(32)
        self.run("INSERT INTO signed_in VALUES (?, ?, ?, NULL, NULL)", secrets.token_hex(8), self.hashed(session), owner)
        return session

    def of_session(self, session):
        found = self.run("SELECT id, owner FROM signed_in WHERE session = ?", self.hashed(session))
        if not found:
            raise Refused(401, "nobody is signed in with this session")
        return found[0]

    def set_token(self, id, platform, token):
        # A phone on which another user signs in is not the former one's any more.
        self.run("DELETE FROM signed_in WHERE platform = ? AND token = ? AND id <> ?", platform, token, id)
        self.run("UPDATE signed_in SET platform = ?, token = ? WHERE id = ?", platform, token, id)

    def forget_token(self, platform, token):
        self.run("UPDATE signed_in SET token = NULL WHERE platform = ? AND token = ?", platform, token)

    def sign_out(self, id):
        self.run("DELETE FROM signed_in WHERE id = ?", id)

    def of(self, owner):
        return self.run("SELECT id, platform, token FROM signed_in WHERE owner = ? AND token IS NOT NULL", owner)


blobd = httpx.Client(
    transport=httpx.HTTPTransport(uds=os.environ.get("BLOBD_SOCKET", "/run/blobd/blobd.sock")),
    base_url="http://blobd", timeout=30)
devices = Devices(os.environ.get("DEVICES", "devices.db"))
users = dict(user.split(":", 1) for user in os.environ.get("USERS", "").split(",") if user)
services = {
    "apns": APNs() if "APNS_KEY" in os.environ else None,
    "fcm": FCM() if "FCM_ACCOUNT" in os.environ else None,
    "webpush": WebPush() if "VAPID_KEY" in os.environ else None,
}


def sign_in(user, password):
    # A name that does not exist takes as long as a wrong password. Your own sign-in also limits the attempts.
    if not hmac.compare_digest(users.get(user, "").encode(), password.encode()) or user not in users:
        raise Refused(401, "the user or the password is wrong")
    return devices.sign_in(user)


def device_token(id, owner):
    """What the device sends to blobd (docs/HTTP.md, device tokens). blobd's feed and records name the device by its id."""
    try:
        lines = read(os.environ.get("SIGNING_KEYS", "/etc/blobd/signing-keys")).splitlines()
    except OSError as error:
        raise Refused(503, f"the key of device tokens cannot be read: {error}") from None
    key_id, key = next(line.split() for line in lines if line.strip() and not line.startswith("#"))
    claims = {"sub": owner, "device": id, "scope": "write", "exp": int(time.time()) + TOKEN_LIFETIME}
    return {"token": jwt.encode(claims, base64.b64decode(key), "HS256", {"kid": key_id}), "expires_at": claims["exp"]}


def media_type(picture):
    """By its first bytes. A name or a field may be wrong, and phones then show no picture, without a word."""
    for name, begin in (("jpeg", rb"\xff\xd8\xff"), ("png", rb"\x89PNG\r\n"), ("gif", b"GIF8"), ("webp", b"RIFF....WEBP")):
        if re.match(begin, picture, re.DOTALL):
            return f"image/{name}"
    raise Refused(415, "the body is not a JPEG, PNG, GIF or WebP picture" if picture else "the body is empty; send the picture")


def send(owner, message, picture):
    """Stores a notification with its picture, and pushes it to the owner's devices."""
    document = {"owner": owner, "message": message, "rich_type": "img", "ttl": LIFETIME}
    files = {
        "notification": (None, json.dumps(document), "application/json"),
        "payload": ("picture", picture, media_type(picture)),
    }
    id = blobd.post("/v1/notifications", files=files).raise_for_status().json()["id"]
    query = {
        "apns": {"platform": "apns", "style": "alert"},
        # Android itself shows an alert while the app is in the background, without the picture.
        "fcm": {"platform": "fcm", "style": "silent"},
        "webpush": {"platform": "webpush"} | ({"navigate": os.environ["WEB_PAGE"]} if "WEB_PAGE" in os.environ else {}),
    }

    def envelope(platform, token):
        token = {"token": token} if platform == "fcm" else {}
        parameters = query[platform] | token | {"format": "json"}
        return blobd.get(f"/v1/notifications/{id}/envelope", params=parameters).raise_for_status().json()

    return {"id": id} | push(f"notification {id} to {owner}", devices.of(owner), envelope)


def withdraw(record, answering):
    """Tells the owner's devices that a notification was answered, except the one that did."""
    id, state = record["id"], record["action_state"]

    def envelope(platform, token):
        data = {"richId": id, "richState": state}
        if platform == "apns":
            # With the notification's own collapse id, it replaces an alert that has not been delivered yet.
            headers = {"apns-push-type": "background", "apns-priority": "5", "apns-collapse-id": id}
            headers["apns-expiration"] = str(int(time.time()) + LIFETIME)
            return {"headers": headers, "body": json.dumps({"aps": {"content-available": 1}} | data)}
        if platform == "webpush":
            # Every push must show something: the service worker replaces the notification, and closes it. With the same
            # topic it replaces a push that has not been delivered yet.
            parameters = {"platform": platform, "format": "json"}
            again = blobd.get(f"/v1/notifications/{id}/envelope", params=parameters).raise_for_status().json()
            return again | {"body": json.dumps({"notification": {"tag": id, "data": data}})}
        # Not "high": Android slows apps down whose urgent messages show nothing.
        message = {"token": token, "data": data, "android": {"priority": "normal", "ttl": f"{LIFETIME}s"}}
        return {"headers": {"Content-Type": "application/json"}, "body": json.dumps({"message": message})}

    others = [device for device in devices.of(record["owner"]) if device[0] != answering]
    push(f"withdrawal of {id} to {record['owner']}", others, envelope)


def push(what, recipients, envelope):
    """Sends to each of the devices what `envelope` makes for it. Returns what became of them."""
    outcome = {"sent": 0, "printed": 0, "dropped": 0, "failed": []}
    for _, platform, token in recipients:
        try:
            message = envelope(platform, token)
            if services[platform]:
                services[platform].send(token, message)
                outcome["sent"] += 1
            else:
                print(f"{platform} has no credentials; not sent to {token}: {message['body']}", flush=True)
                outcome["printed"] += 1
        except Unregistered:
            devices.forget_token(platform, token)
            outcome["dropped"] += 1
        except Exception as error:
            outcome["failed"].append(f"{platform}: {error}")
    print(f"{what}: {json.dumps(outcome)}", flush=True)
    return outcome


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self, limit=DOCUMENT_BYTES_MAX):
        count = self.headers.get("Content-Length", "")
        if not count.isdecimal():
            raise Refused(411, "the request has no Content-Length")
        if int(count) > limit:
            raise Refused(413, f"the body has {count} bytes; the limit is {limit}")
        return self.rfile.read(int(count))

    def members(self, *names):
        """The texts in the body, a JSON object. Without `names`, all of them."""
        try:
            document = json.loads(self.body())
            # Halves of surrogate pairs are not text.
            json.dumps(document, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {error}") from None
        if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
            raise Refused(400, "the body is not a JSON object of strings")
        return [required(document, name) for name in names] if names else document

    def device(self):
        return devices.of_session(self.headers.get("Authorization", "").removeprefix("Bearer "))

    def answer(self, status, document=None):
        text = document if isinstance(document, bytes) else b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        if text:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            # Without it the client may send its next request on this connection.
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def put_device(self):
        id, owner = self.device()
        device = self.members()
        if device:
            platform, token = required(device, "platform"), required(device, "token")
            if platform not in services:
                raise Refused(400, f"platform is apns, fcm or webpush, not {platform}")
            if platform == "webpush":
                token = WebPush.subscription(token)
            # It becomes a part of a path.
            elif not re.fullmatch(r"[\w:-]{1,4096}", token, re.ASCII):
                raise Refused(400, "the token contains other characters than a push service's")
            devices.set_token(id, platform, token)
        self.answer(200, device_token(id, owner))

    def send(self, query):
        owner, message = required(query, "owner"), required(query, "message")
        self.answer(200, send(owner, message, self.body(PICTURE_BYTES_MAX)))

    def respond(self, path):
        """blobd checks the token, records the response, and says whose it is."""
        names = ("Authorization", "Content-Type")
        fields = {name: self.headers[name] for name in names if name in self.headers}
        answer = blobd.post(path, content=self.body(), headers=fields)
        self.answer(answer.status_code, answer.content)
        # Also for a response that was sent again: this process may have ended before it told the other devices.
        if answer.is_success and answer.json()["action_state"] != "none":
            # The record's `device` made the latest change: after a response that was sent again, it may be another. blobd
            # has verified the token.
            token = jwt.decode(fields["Authorization"].split()[-1], options={"verify_signature": False})
            Thread(target=withdraw, args=[answer.json(), token.get("device")]).start()

    def handle_call(self):
        url = urlsplit(self.path)
        call = f"{self.command} {url.path}"
        try:
            if call == "POST /sign-in":
                self.answer(200, {"session": sign_in(*self.members("user", "password"))})
            elif call == "GET /devices":
                self.answer(200, {"webpush": services["webpush"].public_key() if services["webpush"] else None})
            elif call == "PUT /devices":
                self.put_device()
            elif call == "DELETE /devices":
                devices.sign_out(self.device()[0])
                self.answer(204)
            elif re.fullmatch("POST /d/me/notifications/[^/]+/responses", call):
                self.respond(url.path)
            elif call == "POST /send":
                self.send(dict(parse_qsl(url.query)))
            else:
                raise Refused(404, "POST /sign-in, GET, PUT or DELETE /devices, POST /send")
        except Refused as error:
            self.close_connection = True
            self.answer(error.status, {"error": str(error)})
        except httpx.HTTPStatusError as error:
            self.answer(error.response.status_code, {"error": error.response.json()["detail"]})
        except httpx.HTTPError as error:
            self.answer(503, {"error": f"blobd does not answer: {error}"})

    do_PUT = do_DELETE = do_POST = do_GET = handle_call


def required(values, name):
    if not values.get(name):
        raise Refused(400, f"{name} is missing")
    return values[name]


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        for name, service in services.items():
            print(f"{name}: {'ready' if service else 'no credentials; pushes are printed'}", flush=True)
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
