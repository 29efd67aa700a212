"""A backend that sends pictures to phones: blobd stores them, APNs and FCM carry the pushes.

    python3 -m pip install -r requirements.txt
    python3 backend.py 8081

    curl -X PUT  localhost:8081/devices -d '{"owner":"ann","platform":"apns","token":"a1b2…"}'
    curl -X POST 'localhost:8081/send?owner=ann&message=Look&style=alert' -T photo.jpg -H 'Content-Type: image/jpeg'

It is configured by environment variables:

    BLOBD_SOCKET    the daemon's socket; default /run/blobd/blobd.sock
    DEVICES         the SQLite file of device tokens; default devices.db
    APNS_KEY        the .p8 file from developer.apple.com, with APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC (the bundle id)
    APNS_URL        default https://api.push.apple.com; apps started by Xcode need https://api.sandbox.push.apple.com
    FCM_ACCOUNT     the service account's JSON file from the Firebase console; FCM_URL is only for tests

Pushes to a service without credentials are printed instead of sent. The calls have no authentication: in your backend
the owner is the user who is signed in.
"""
import contextlib, json, os, random, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, urlsplit

import httpx, jwt

PICTURE_BYTES_MAX = 10_000_000  # iOS shows no larger one.
ATTEMPTS_MAX = 5
PAUSE = float(os.environ.get("PUSH_PAUSE", 1))  # Seconds after the first failed attempt; it doubles.
PAUSE_MAX = 60  # A service that asks for more (Retry-After) gets no further attempt.
CA = os.environ.get("PUSH_CA", True)  # Tests have an authority of their own.


class Unregistered(Exception):
    """The push service does not know the device any more."""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Service:
    """What APNs and FCM have in common: a token that is renewed in time, and attempts that are repeated."""

    def __init__(self, base_url):
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
                if response.status_code == 200:
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
            time.sleep(pause * random.uniform(1, 1.25))
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


class Devices:
    """The device tokens of each owner."""

    def __init__(self, path):
        self.lock, self.db = Lock(), sqlite3.connect(path, check_same_thread=False)
        self.run("CREATE TABLE IF NOT EXISTS devices (platform TEXT, token TEXT, owner TEXT, PRIMARY KEY (platform, token))")

    def run(self, statement, *values):
        with self.lock, self.db:
            return self.db.execute(statement, values).fetchall()

    def add(self, owner, platform, token):
        # A device that another user has signed in on is not the former one's any more.
        self.run("INSERT OR REPLACE INTO devices VALUES (?, ?, ?)", platform, token, owner)

    def remove(self, platform, token):
        self.run("DELETE FROM devices WHERE platform = ? AND token = ?", platform, token)

    def of(self, owner):
        return self.run("SELECT platform, token FROM devices WHERE owner = ?", owner)


blobd = httpx.Client(
    transport=httpx.HTTPTransport(uds=os.environ.get("BLOBD_SOCKET", "/run/blobd/blobd.sock")),
    base_url="http://blobd", timeout=30)
devices = Devices(os.environ.get("DEVICES", "devices.db"))
services = {
    "apns": APNs() if "APNS_KEY" in os.environ else None,
    "fcm": FCM() if "FCM_ACCOUNT" in os.environ else None,
}


def send(owner, message, style, picture, media_type):
    """Stores a notification with its picture, and pushes it to the owner's devices."""
    document = {"owner": owner, "message": message, "rich_type": "img", "ttl": 24 * 3600}
    files = {
        "notification": (None, json.dumps(document), "application/json"),
        "payload": ("picture", picture, media_type),
    }
    notification = blobd.post("/v1/notifications", files=files).raise_for_status().json()
    outcome = {"id": notification["id"], "sent": 0, "dropped": 0, "failed": []}
    for platform, token in devices.of(owner):
        query = {"platform": platform, "style": style, "format": "json"}
        if platform == "fcm":
            # Android itself shows an alert while the app is in the background, without the picture.
            query |= {"style": "silent", "token": token}
        envelope = blobd.get(f"/v1/notifications/{notification['id']}/envelope", params=query).raise_for_status().json()
        try:
            if services[platform]:
                services[platform].send(token, envelope)
            else:
                print(f"{platform} has no credentials; not sent to {token}: {envelope['body']}", flush=True)
            outcome["sent"] += 1
        except Unregistered:
            devices.remove(platform, token)
            outcome["dropped"] += 1
        except Exception as error:
            outcome["failed"].append(f"{platform}: {error}")
    return outcome


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        count = int(self.headers.get("Content-Length", 0))
        if count > PICTURE_BYTES_MAX:
            raise ValueError(f"the body has {count} bytes; the limit is {PICTURE_BYTES_MAX}")
        return self.rfile.read(count)

    def answer(self, status, document=None):
        text = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            # Without it the client may send its next request on this connection.
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def handle_call(self):
        url = urlsplit(self.path)
        try:
            if (self.command, url.path) in (("PUT", "/devices"), ("DELETE", "/devices")):
                device = json.loads(self.body())
                if device["platform"] not in services:
                    raise ValueError(f"platform is apns or fcm, not {device['platform']}")
                if self.command == "PUT":
                    devices.add(device["owner"], device["platform"], device["token"])
                else:
                    devices.remove(device["platform"], device["token"])
                self.answer(204)
            elif (self.command, url.path) == ("POST", "/send"):
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                media_type = self.headers.get("Content-Type", "image/jpeg")
                self.answer(200, send(query["owner"], query["message"], query.get("style", "alert"), self.body(), media_type))
            else:
                self.answer(404, {"error": "PUT or DELETE /devices, POST /send"})
        except (KeyError, ValueError) as error:
            self.close_connection = True
            self.answer(400, {"error": f"{type(error).__name__}: {error}"})
        except httpx.HTTPStatusError as error:
            self.answer(error.response.status_code, {"error": error.response.json()["detail"]})
        except httpx.HTTPError as error:
            self.answer(503, {"error": f"blobd does not answer: {error}"})

    do_PUT = do_DELETE = do_POST = do_GET = handle_call


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        for name, service in services.items():
            print(f"{name}: {'ready' if service else 'no credentials; pushes are printed'}", flush=True)
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
