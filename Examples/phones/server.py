"""The backend of Scripts/phones: server.py PORT SOCKET SITE TOKENS

It publishes to blobd over SOCKET and plays the push services: a push goes to a device that is connected, as a server-sent
event, and is lost for one that is not. TOKENS is a JSON file of the devices with the tokens that blobd made for them.
Only the standard library is used.
"""
import http.client, json, mimetypes, os, queue, secrets, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

PORT, SOCKET, SITE, TOKENS = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
HERE = os.path.dirname(os.path.abspath(__file__))
PICTURES = os.path.join(HERE, "..", "payloads")
BODY_BYTES_MAX = 16_000_000
USERS_MAX = 10_000
BATCH_LINES = 500

with open(TOKENS, encoding="utf-8") as file:
    DEVICES = json.load(file)


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


class Refused(Exception):
    def __init__(self, status, detail):
        super().__init__(detail)
        self.status = status


def blobd(method, target, body=None, **fields):
    connection = UnixConnection("blobd", timeout=30)
    try:
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in fields.items()})
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    if response.status >= 400:
        raise Refused(response.status, json.loads(content)["detail"])
    return content


def publish(document, picture, media_type):
    """A notification with its picture, in one request."""
    edge = secrets.token_hex(16)
    head = f'--{edge}\r\nContent-Disposition: form-data; name="notification"\r\n\r\n{json.dumps(document)}\r\n'
    file = f'--{edge}\r\nContent-Disposition: form-data; name="payload"; filename="picture"\r\nContent-Type: {media_type}\r\n\r\n'
    body = head.encode() + (file.encode() + picture + b"\r\n" if picture else b"") + f"--{edge}--\r\n".encode()
    return json.loads(blobd("POST", "/v1/notifications", body, Content_Type=f"multipart/form-data; boundary={edge}"))


class PushService:
    """APNs and FCM in one: connected devices get pushes, and nobody keeps any for the others."""

    def __init__(self):
        self.lock, self.connected = threading.Lock(), {}

    def connect(self, device):
        pushes = queue.Queue()
        with self.lock:
            self.connected[device] = pushes
        return pushes

    def disconnect(self, device, pushes):
        with self.lock:
            if self.connected.get(device) is pushes:
                del self.connected[device]

    def send(self, device, push):
        with self.lock:
            pushes = self.connected.get(device)
        if pushes:
            pushes.put(push)
        return pushes is not None


service = PushService()


def push_to_owner(owner, notification, style):
    """One push for each device of the owner: the id and the link, never the picture."""
    outcome = {"sent": 0, "missed": 0, "bytes": 0}
    for device in DEVICES:
        if device["owner"] != owner:
            continue
        # Android itself shows an alert while the app is in the background, without the picture.
        rest = f"silent&token={device['id']}" if device["platform"] == "fcm" else style
        target = f"/v1/notifications/{quote(notification, safe='')}/envelope?platform={device['platform']}&style={rest}"
        envelope = blobd("GET", target)
        outcome["bytes"] = max(outcome["bytes"], len(envelope))
        outcome["sent" if service.send(device["id"], envelope.decode()) else "missed"] += 1
    return outcome


def send(query, picture, media_type):
    document = {"owner": query["owner"], "app": "demo", "rich_type": "img", "ttl": int(query.get("ttl", 3600))}
    for name in ("title", "message"):
        if query.get(name):
            document[name] = query[name]
    if query.get("category"):
        set_category(query["category"], query.get("buttons", ""))
        document["category"] = query["category"]
    elif query.get("buttons"):
        document["actions"] = actions(query["buttons"])
    notification = publish(document, picture, media_type)
    return {"id": notification["id"]} | push_to_owner(query["owner"], notification["id"], query.get("style", "alert"))


def actions(text):
    return [{"identifier": f"b{index}", "title": title.strip()} for index, title in enumerate(text.split(",")) if title.strip()]


def set_category(name, buttons):
    """The buttons of all notifications that name the category."""
    blobd("PUT", f"/v1/categories/{quote(name, safe='')}", json.dumps({"actions": actions(buttons)}).encode(), Content_Type="application/json")


def edit(query):
    """Other buttons for a notification that is on screens already, or for all of its category."""
    target = f"/v1/notifications/{quote(query['id'], safe='')}"
    category = json.loads(blobd("GET", target)).get("category")
    if category:
        set_category(category, query["buttons"])
    else:
        body = json.dumps({"actions": actions(query["buttons"])}).encode()
        blobd("PATCH", target, body, Content_Type="application/merge-patch+json")
    return {"id": query["id"]}


def send_to_many(query, picture, media_type):
    """The same picture for many users: it is stored once."""
    count = min(int(query["count"]), USERS_MAX)
    digest = json.loads(blobd("POST", "/v1/blobs", picture, Content_Type=media_type))["digest"]
    begin, stored = time.monotonic(), 0
    for first in range(0, count, BATCH_LINES):
        lines = [
            json.dumps({
                "id": f"many-{number}", "owner": f"user-{number}", "message": query.get("message", "Hello"), "ttl": 600,
                "parts": [{"name": "payload", "digest": digest, "media_type": media_type}]})
            for number in range(first, min(first + BATCH_LINES, count))]
        answer = blobd("POST", "/v1/notifications:batch", "\n".join(lines).encode(), Content_Type="application/x-ndjson")
        stored += sum(json.loads(line)["status"] < 300 for line in answer.splitlines())
    return {"stored": stored, "seconds": round(time.monotonic() - begin, 2)}


def figures():
    """What the console shows. It reads percentiles from the buckets of blobd's histogram, over all fetches."""
    statistics = json.loads(blobd("GET", "/v1/stats"))
    names = ("notifications", "blobs", "bytes_stored", "bytes_referenced", "requests", "connections", "watchers", "publishes")
    result = {name: statistics.get(name, 0) for name in names}
    fetch = statistics.get("operations", {}).get("fetch", {})
    result["fetch_buckets"] = fetch.get("buckets", [])
    result["bucket_nanoseconds"] = statistics.get("bucket_nanoseconds", [])
    return result


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, content=b"", media_type="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def answer_document(self, document):
        self.answer(200, json.dumps(document).encode())

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/api/devices":
            self.answer_document(DEVICES)
        elif path == "/api/figures":
            self.call(lambda: figures())
        elif path.startswith("/api/push/"):
            self.push(path.removeprefix("/api/push/"))
        elif path.startswith("/pictures/"):
            self.answer_file(PICTURES, path.removeprefix("/pictures/"))
        else:
            self.answer_file(HERE, path.strip("/") or "index.html")

    def do_POST(self):
        url = urlsplit(self.path)
        count = int(self.headers.get("Content-Length", 0))
        if count > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(413)
        body, media_type = self.rfile.read(count), self.headers.get("Content-Type", "image/jpeg")
        query = dict(parse_qsl(url.query))
        calls = {
            "/api/send": lambda: send(query, body, media_type),
            "/api/many": lambda: send_to_many(query, body, media_type),
            "/api/edit": lambda: edit(query),
        }
        if url.path not in calls:
            return self.answer(404)
        self.call(calls[url.path])

    def call(self, call):
        try:
            self.answer_document(call())
        except Refused as refused:
            self.answer(refused.status, json.dumps({"detail": str(refused)}).encode())
        except (KeyError, ValueError) as error:
            self.answer(400, json.dumps({"detail": f"{type(error).__name__}: {error}"}).encode())
        except OSError as error:
            self.answer(503, json.dumps({"detail": f"blobd does not answer: {error}"}).encode())

    def answer_file(self, folder, name):
        known = set(os.listdir(folder))
        if name not in known or name.endswith(".py"):
            return self.answer(404)
        with open(os.path.join(folder, name), "rb") as file:
            self.answer(200, file.read(), mimetypes.guess_type(name)[0] or "application/octet-stream")

    def push(self, device):
        """The pushes of a device, as long as it is connected."""
        if device not in {known["id"] for known in DEVICES}:
            return self.answer(404)
        pushes = service.connect(device)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(b": connected\n\n")
            while True:
                try:
                    self.wfile.write(f"data: {pushes.get(timeout=5)}\n\n".encode())
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                self.wfile.flush()
        except OSError:
            pass
        finally:
            service.disconnect(device, pushes)


mimetypes.add_type("text/javascript", ".js")
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
