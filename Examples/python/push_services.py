"""Stand-ins for APNs, FCM and a browser's push service, which check what the real ones check: HTTP/2 over TLS, paths, fields, signatures, sizes.

    python3 push_services.py FOLDER     makes keys and certificates in FOLDER, prints its ports, and serves

A device's token says how it is answered, after the checks: one that begins with `gone` is unregistered, `bad` is no
token, `busy` is answered 429 with Retry-After once, `later` always and with two minutes, `broken` 500 twice, `away`
503 always, `slow` after a second, `expired` that the provider's token has expired, once. A browser's subscriptions are
WEB_PUSH's with such a token after the endpoint. Every push is a line of FOLDER/pushes.jsonl.
"""
import base64, collections, datetime, ipaddress, json, os, re, socket, ssl, sys, threading, time, uuid
from urllib.parse import parse_qs

import http_ece, jwt
from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, WindowUpdated

TEAM, KEY_ID, TOPIC, PROJECT = "TEAM123456", "KEY1234567", "com.example.push", "example-project"
EMAIL = f"push@{PROJECT}.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
PUSH_BYTES_MAX = 4096


class Refused(Exception):
    counts = collections.Counter()

    def __init__(self, status, reason, fields=()):
        self.status, self.reason, self.fields = status, reason, dict(fields)
        Refused.counts[f"{status} {reason}"] += 1


def require(condition, status, reason):
    if not condition:
        raise Refused(status, reason)


def delay(token, attempt, busy, broken, away):
    """What both services do with a push that may be sent again, or takes its time. Each has other reasons."""
    if token.startswith("busy") and attempt == 1:
        raise Refused(429, busy, {"retry-after": "1"})
    if token.startswith("later"):
        raise Refused(429, busy, {"retry-after": "120"})
    require(not (token.startswith("broken") and attempt <= 2), 500, broken)
    require(not token.startswith("away"), 503, away)
    if token.startswith("slow"):
        time.sleep(1)


class Keys:
    """The certificate of the servers, and the keys that a backend has from Apple and Google."""

    def __init__(self, folder):
        self.folder = folder
        self.apns, self.account = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)
        self.certificate()
        self.write("AuthKey.p8", self.pem(self.apns))
        self.vapid = ec.generate_private_key(ec.SECP256R1())
        self.write("vapid.pem", self.pem(self.vapid))

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    @staticmethod
    def pem(key):
        return key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    def certificate(self):
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "push stand-in")])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
        certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=2)).add_extension(names, False)
            .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256()))
        self.write("ca.pem", certificate.public_bytes(serialization.Encoding.PEM))
        self.write("server.pem", self.pem(key) + certificate.public_bytes(serialization.Encoding.PEM))

    def write_account(self, url):
        self.write("account.json", json.dumps({
            "type": "service_account", "project_id": PROJECT, "private_key_id": KEY_ID, "client_email": EMAIL,
            "private_key": self.pem(self.account).decode(), "token_uri": url + "/token"}).encode())


class Server:
    """HTTP/2 over TLS on a port of its own. `answer(method, path, fields, body)` returns status, fields and body."""

    def __init__(self, folder, answer):
        self.answer, self.context = answer, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(os.path.join(folder, "server.pem"))
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as stream:
                if stream.selected_alpn_protocol() == "h2":
                    self.converse(stream)
        except OSError:
            pass

    def converse(self, stream):
        http, requests = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8")), {}
        http.initiate_connection()
        stream.sendall(http.data_to_send())
        while data := stream.recv(65_536):
            for event in http.receive_data(data):
                if isinstance(event, RequestReceived):
                    requests[event.stream_id] = (dict(event.headers), bytearray())
                elif isinstance(event, DataReceived):
                    requests[event.stream_id][1].extend(event.data)
                    http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    fields, body = requests.pop(event.stream_id)
                    status, extra, text = self.answer(fields[":method"], fields[":path"], fields, bytes(body))
                    http.send_headers(event.stream_id, [(":status", str(status)), *extra.items()])
                    http.send_data(event.stream_id, text.encode(), end_stream=True)
            stream.sendall(http.data_to_send())


class Devices:
    """How devices are answered, and what was pushed to them."""

    def __init__(self, folder):
        self.path, self.lock, self.attempts = os.path.join(folder, "pushes.jsonl"), threading.Lock(), {}

    def attempt(self, token):
        with self.lock:
            self.attempts[token] = self.attempts.get(token, 0) + 1
            return self.attempts[token]

    def note(self, service, token, fields, push):
        line = json.dumps({"service": service, "token": token, "at": time.time(), "fields": fields, "push": push})
        with self.lock, open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


class APNs:
    def __init__(self, keys, devices):
        self.keys, self.devices, self.tokens = keys, devices, {}

    def __call__(self, method, path, fields, body):
        identity = {"apns-id": str(uuid.uuid4()).upper()}
        try:
            self.check(method, path, fields, body)
            return 200, identity, ""
        except Refused as refused:
            return refused.status, identity | refused.fields, json.dumps({"reason": refused.reason})

    def check(self, method, path, fields, body):
        require(method == "POST", 405, "MethodNotAllowed")
        require(path.startswith("/3/device/"), 404, "BadPath")
        token = path.removeprefix("/3/device/")
        self.check_provider(fields.get("authorization", ""))
        require(fields.get("apns-topic") == TOPIC, 400, "BadTopic")
        require(len(body) <= PUSH_BYTES_MAX, 413, "PayloadTooLarge")
        push = json.loads(body)
        kind, priority = fields.get("apns-push-type"), fields.get("apns-priority", "10")
        require(kind in ("alert", "background"), 400, "InvalidPushType")
        is_silent = "alert" not in push["aps"]
        require(is_silent == (kind == "background"), 400, "InvalidPushType")
        require(not is_silent or push["aps"].get("content-available") == 1, 400, "InvalidPushType")
        require(priority in ("5", "10") and not (is_silent and priority == "10"), 400, "BadPriority")
        require(int(fields.get("apns-expiration", "0")) > time.time(), 400, "BadExpirationDate")
        require(len(fields.get("apns-collapse-id", "").encode()) <= 64, 400, "BadCollapseId")
        attempt = self.devices.attempt(token)
        require(not token.startswith("bad"), 400, "BadDeviceToken")
        require(not token.startswith("gone"), 410, "Unregistered")
        require(not (token.startswith("expired") and attempt == 1), 403, "ExpiredProviderToken")
        delay(token, attempt, "TooManyRequests", "InternalServerError", "ServiceUnavailable")
        chosen = {name: value for name, value in fields.items() if name.startswith("apns-")}
        self.devices.note("apns", token, chosen, push)

    def check_provider(self, authorization):
        require(authorization.startswith("bearer "), 403, "MissingProviderToken")
        text = authorization.removeprefix("bearer ")
        try:
            claims = jwt.decode(text, self.keys.apns.public_key(), ["ES256"])
            require(jwt.get_unverified_header(text)["kid"] == KEY_ID and claims["iss"] == TEAM, 403, "InvalidProviderToken")
        except jwt.PyJWTError:
            raise Refused(403, "InvalidProviderToken") from None
        require(time.time() - 3600 < claims["iat"] <= time.time() + 60, 403, "ExpiredProviderToken")
        self.tokens[text] = True
        require(len(self.tokens) <= 3, 429, "TooManyProviderTokenUpdates")


class FCM:
    def __init__(self, keys, devices):
        self.keys, self.devices, self.tokens, self.url = keys, devices, set(), ""

    def __call__(self, method, path, fields, body):
        try:
            if path == "/token":
                return 200, {"content-type": "application/json"}, self.access(body)
            name = self.check(method, path, fields, body)
            return 200, {"content-type": "application/json"}, json.dumps({"name": name})
        except Refused as refused:
            details = [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": refused.reason}]
            error = {"error": {"code": refused.status, "status": refused.reason, "details": details}}
            return refused.status, refused.fields, json.dumps(error)

    def access(self, body):
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        require(form.get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer", 400, "unsupported_grant_type")
        try:
            claims = jwt.decode(form["assertion"], self.keys.account.public_key(), ["RS256"], audience=self.url + "/token")
        except jwt.PyJWTError:
            raise Refused(400, "invalid_grant") from None
        require(claims["iss"] == EMAIL and claims["scope"] == SCOPE, 400, "invalid_scope")
        require(claims["exp"] - claims["iat"] <= 3600, 400, "invalid_grant")
        token = base64.b64encode(os.urandom(24)).decode()
        self.tokens.add(token)
        return json.dumps({"access_token": token, "expires_in": 3599, "token_type": "Bearer"})

    def check(self, method, path, fields, body):
        require((method, path) == ("POST", f"/v1/projects/{PROJECT}/messages:send"), 404, "NOT_FOUND")
        access = fields.get("authorization", "").removeprefix("Bearer ")
        require(access in self.tokens, 401, "UNAUTHENTICATED")
        require(fields.get("content-type", "").startswith("application/json"), 400, "INVALID_ARGUMENT")
        message = json.loads(body)["message"]
        require(len(json.dumps(message.get("data", {}))) <= PUSH_BYTES_MAX, 400, "INVALID_ARGUMENT")
        require(all(isinstance(value, str) for value in message.get("data", {}).values()), 400, "INVALID_ARGUMENT")
        android = message.get("android", {})
        require(android.get("priority") in ("high", "normal"), 400, "INVALID_ARGUMENT")
        ttl = re.fullmatch(r"([0-9]+)s", android.get("ttl", "2419200s"))
        require(ttl and int(ttl[1]) <= 2_419_200, 400, "INVALID_ARGUMENT")
        token = message.get("token", "")
        require(token, 400, "INVALID_ARGUMENT")
        attempt = self.devices.attempt(token)
        require(not token.startswith("bad"), 400, "INVALID_ARGUMENT")
        require(not token.startswith("gone"), 404, "UNREGISTERED")
        if token.startswith("expired") and attempt == 1:
            self.tokens.discard(access)
            raise Refused(401, "UNAUTHENTICATED")
        delay(token, attempt, "QUOTA_EXCEEDED", "INTERNAL", "UNAVAILABLE")
        self.devices.note("fcm", token, {}, message)
        return f"projects/{PROJECT}/messages/{attempt}"


class WebPush:
    """RFC 8030, 8291 and 8292. It is the browser, too, and decrypts: all of its subscriptions have the same keys."""

    def __init__(self, keys, devices):
        self.keys, self.devices, self.url = keys, devices, ""
        self.receiver, self.auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)

    @staticmethod
    def encoded(raw):
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def point(self, key):
        return key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)

    def subscription(self):
        keys = {"p256dh": self.encoded(self.point(self.receiver)), "auth": self.encoded(self.auth)}
        return {"endpoint": self.url + "/push/", "keys": keys}

    def __call__(self, method, path, fields, body):
        try:
            self.check(method, path, fields, body)
            return 201, {"location": f"{self.url}/message/{uuid.uuid4()}"}, ""
        except Refused as refused:
            return refused.status, refused.fields, json.dumps({"reason": refused.reason})

    def check(self, method, path, fields, body):
        require(method == "POST" and path.startswith("/push/"), 404, "NoSuchSubscription")
        self.check_sender(fields.get("authorization", ""))
        require(re.fullmatch("[0-9]{1,10}", fields.get("ttl", "")), 400, "BadTTL")
        require(fields.get("urgency") in ("very-low", "low", "normal", "high"), 400, "BadUrgency")
        require(re.fullmatch("[A-Za-z0-9_-]{1,32}", fields.get("topic", "")), 400, "BadTopic")
        require(fields.get("content-encoding") == "aes128gcm", 400, "BadContentEncoding")
        require(len(body) <= PUSH_BYTES_MAX, 413, "PayloadTooLarge")
        token = path.removeprefix("/push/")
        attempt = self.devices.attempt(token)
        require(not token.startswith("bad"), 400, "BadRequest")
        require(not token.startswith("gone"), 410, "Gone")
        delay(token, attempt, "TooManyRequests", "InternalServerError", "ServiceUnavailable")
        try:
            text = http_ece.decrypt(body, private_key=self.receiver, auth_secret=self.auth, version="aes128gcm")
        except (InvalidTag, http_ece.ECEException):
            raise Refused(400, "Undecipherable") from None
        chosen = {name: fields[name] for name in ("ttl", "urgency", "topic")}
        self.devices.note("webpush", token, chosen, json.loads(text))

    def check_sender(self, authorization):
        found = re.fullmatch("vapid t=([^,]+), ?k=([^,]+)", authorization)
        require(found and found[2] == self.encoded(self.point(self.keys.vapid)), 401, "UnknownSender")
        try:
            claims = jwt.decode(found[1], self.keys.vapid.public_key(), ["ES256"], audience=self.url)
        except jwt.PyJWTError:
            raise Refused(403, "BadSignature") from None
        require(time.time() < claims["exp"] <= time.time() + 86_400, 403, "BadExpiry")
        require(claims["sub"].startswith(("mailto:", "https:")), 403, "BadSubject")


def start(folder):
    """All services. Returns the environment variables with which backend.py uses them, and what devices were sent."""
    keys, devices = Keys(folder), Devices(folder)
    apns, fcm = APNs(keys, devices), FCM(keys, devices)
    web = WebPush(keys, devices)
    apple, google, browsers = Server(folder, apns), Server(folder, fcm), Server(folder, web)
    fcm.url, web.url = google.url, browsers.url
    keys.write_account(google.url)
    file = lambda name: os.path.join(folder, name)
    return {
        "APNS_KEY": file("AuthKey.p8"), "APNS_KEY_ID": KEY_ID, "APNS_TEAM_ID": TEAM, "APNS_TOPIC": TOPIC,
        "APNS_URL": apple.url, "FCM_ACCOUNT": file("account.json"), "FCM_URL": google.url, "PUSH_CA": file("ca.pem"),
        "VAPID_KEY": file("vapid.pem"), "VAPID_SUBJECT": "mailto:push@example.com", "WEB_PUSH_HOSTS": "127.0.0.1",
        "WEB_PUSH": json.dumps(web.subscription())}, devices


if __name__ == "__main__":
    for name, value in start(sys.argv[1])[0].items():
        print(f"{name}={value}", flush=True)
    threading.Event().wait()
