"""The backend of Scripts/phones: server.py PORT SOCKET BLOBD KEYS

It publishes to blobd over SOCKET and plays the push services. Each page that is opened gets its own users and devices, with
tokens that BLOBD signs using KEYS, and one stream of events: its devices' pushes, and its users' feeds.
Only the standard library is used.
"""
import contextlib, http.client, json, mimetypes, os, queue, secrets, signal, socket, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

# Whoever starts this may block SIGTERM, as test runners do, and children inherit that.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
PORT, SOCKET, BLOBD, KEYS = int(sys.argv[1]), *sys.argv[2:5]
HERE = os.path.dirname(os.path.abspath(__file__))
# The service worker that shows notifications on this computer, and what pages call it with.
WEB = os.path.join(HERE, "..", "web")
PICTURES = os.path.join(HERE, "..", "payloads")
# What iOS shows of an image.
PICTURE_BYTES_MAX = 10_000_000
USERS_MAX = 10_000
BATCH_LINES = 500
PAGES_MAX = 1_000
DELIVERY_SECONDS = 10
USERS = {"ann": "Ann", "bob": "Bob"}
COMPUTER = "computer"
DEVICES = [
    {"id": "ann-iphone", "user": "ann", "name": "Ann’s phone", "system": "iOS", "kind": "phone", "platform": "apns"},
    {"id": "ann-pixel", "user": "ann", "name": "Ann’s tablet", "system": "Android", "kind": "phone", "platform": "fcm"},
    {"id": "ann-watch", "user": "ann", "name": "Ann’s watch", "system": "watchOS", "kind": "watch", "platform": "apns"},
    {"id": "bob-pixel", "user": "bob", "name": "Bob’s phone", "system": "Android", "kind": "phone", "platform": "fcm"},
    {"id": COMPUTER, "user": "ann", "name": "This computer", "platform": "webpush"},
]
TOKEN_DAYS = 7


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


class Page:
    """The devices of a page, and a push service for them: it keeps no push for a device that is off."""

    def __init__(self):
        self.id = secrets.token_hex(6)
        self.changed, self.streams, self.off = threading.Condition(), [], {COMPUTER}
        # What each device has said that it shows.
        self.has = {device["id"]: [] for device in DEVICES}
        self.devices = [
            device | {"owner": self.owner(device["user"]), "ownerName": USERS[device["user"]], "token": self.token(device)}
            for device in DEVICES]

    def owner(self, user):
        return f"{user}-{self.id}"

    def token(self, device):
        command = [BLOBD, "token", self.owner(device["user"]), "--ttl", f"{TOKEN_DAYS}d", "--scope", "write", "--device", device["id"]]
        return subprocess.run([*command, "--signing-keys", KEYS], check=True, capture_output=True, text=True).stdout.strip()

    def description(self):
        devices = [device | {"isOn": device["id"] not in self.off, "has": self.has[device["id"]]} for device in self.devices]
        return {"id": self.id, "devices": devices, "pictureBytesMax": PICTURE_BYTES_MAX}

    def tell(self, event, **members):
        """An event for all tabs that show the page."""
        for stream in list(self.streams):
            stream.put((event, json.dumps(members)))

    def switch(self, device, is_on):
        with self.changed:
            (self.off.discard if is_on else self.off.add)(device)
        self.tell("switched", device=device, isOn=is_on)

    def acknowledge(self, device, notification):
        with self.changed:
            self.has[device].append(notification)
            self.changed.notify_all()

    def deliver(self, notification, pushes):
        """Sends the pushes, and waits until the devices say that they show the notification."""
        off = self.off & set(pushes)
        for device in set(pushes) - off:
            self.tell("push", device=device, push=pushes[device])

        def has_it(device):
            return notification in self.has[device]

        with self.changed:
            self.changed.wait_for(lambda: all(has_it(device) for device in set(pushes) - off), DELIVERY_SECONDS)
            reached = [device for device in pushes if has_it(device)]
        return {"reached": reached, "off": sorted(off), "lost": sorted(set(pushes) - off - set(reached))}


pages = {}


def open_page(query):
    """The page of that id, as it was left, or a new one."""
    page = pages.get(query.get("page"))
    if not page:
        page = Page()
        pages[page.id] = page
        if len(pages) > PAGES_MAX:
            pages.pop(next(iter(pages)))
    return page.description()


def known(page):
    if page not in pages:
        raise Refused(404, "The server was started again: reload the page.")
    return pages[page]


def computer():
    return next(device for device in DEVICES if device["id"] == COMPUTER)


def send(page, query, picture, media_type):
    document = {"owner": page.owner(query["to"]), "app": "demo", "rich_type": "img", "ttl": int(query.get("ttl", 3600))}
    for name in ("title", "message"):
        if query.get(name):
            document[name] = query[name]
    if query.get("shared"):
        document["category"] = category = f"shared-{page.id}"
        set_category(category, query.get("buttons", ""))
    elif query.get("buttons"):
        document["actions"] = actions(query["buttons"])
    notification = publish(document, picture, media_type)["id"]
    pushes = {}
    try:
        for device in page.devices:
            if device["id"] == COMPUTER and COMPUTER in page.off:
                # Nobody expects it there before it was allowed.
                continue
            if device["user"] == query["to"]:
                # Android itself shows an alert while the app is in the background, without the picture.
                style = {"fcm": f"silent&token={device['id']}", "webpush": "alert"}.get(device["platform"], query.get("style", "alert"))
                target = f"/v1/notifications/{quote(notification, safe='')}/envelope?platform={device['platform']}&style={style}"
                pushes[device["id"]] = blobd("GET", target).decode()
    except Refused:
        # Nobody is told of it: it must not be there.
        blobd("DELETE", f"/v1/notifications/{quote(notification, safe='')}")
        raise
    largest = max(len(push.encode()) for push in pushes.values())
    return {"id": notification, "bytes": largest} | page.deliver(notification, pushes)


def actions(text):
    return [{"identifier": f"b{index}", "title": title.strip()} for index, title in enumerate(text.split(",")) if title.strip()]


def set_category(name, buttons):
    """The buttons of all notifications that name the category."""
    blobd("PUT", f"/v1/categories/{quote(name, safe='')}", json.dumps({"actions": actions(buttons)}).encode(), Content_Type="application/json")


def edit(page, query, *_):
    """Other buttons for a notification that is on screens already, or for all of its category."""
    target = f"/v1/notifications/{quote(query['id'], safe='')}"
    category = json.loads(blobd("GET", target)).get("category")
    if category:
        set_category(category, query["buttons"])
    else:
        body = json.dumps({"actions": actions(query["buttons"])}).encode()
        blobd("PATCH", target, body, Content_Type="application/merge-patch+json")
    return {"id": query["id"]}


def send_to_many(page, query, picture, media_type):
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
        url = urlsplit(self.path)
        if url.path == "/api/figures":
            self.call(lambda: self.answer_document(figures()))
        elif url.path == "/api/stream":
            self.call(lambda: self.stream(known(dict(parse_qsl(url.query)).get("page"))))
        elif url.path in ("/sw.js", "/subscribe.js"):
            self.answer_file(WEB, url.path.strip("/"))
        elif url.path.startswith("/pictures/"):
            self.answer_file(PICTURES, url.path.removeprefix("/pictures/"))
        else:
            self.answer_file(HERE, url.path.strip("/") or "index.html")

    def do_POST(self):
        url = urlsplit(self.path)
        count = int(self.headers.get("Content-Length", 0))
        if count > PICTURE_BYTES_MAX:
            self.close_connection = True
            return self.refuse(413, f"The picture has {count:,} bytes; phones show at most {PICTURE_BYTES_MAX:,}.")
        body, media_type = self.rfile.read(count), self.headers.get("Content-Type", "image/jpeg")
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        calls = {
            "/api/send": send, "/api/many": send_to_many, "/api/edit": edit,
            "/api/switch": lambda page, query, *_: page.switch(query["device"], query["on"] == "true"),
            "/api/shown": lambda page, query, *_: page.acknowledge(query["device"], query["id"]),
        }
        if url.path == "/api/page":
            self.call(lambda: self.answer_document(open_page(query)))
        elif url.path in calls:
            self.call(lambda: self.answer_document(calls[url.path](known(query.get("page")), query, body, media_type)))
        else:
            self.answer(404)

    def do_PUT(self):
        """A new token for the service worker, whose session is the page's id."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.call(lambda: self.answer_document(
            {"token": self.page_of_session().token(computer()), "expires_at": int(time.time()) + TOKEN_DAYS * 86_400}))

    def do_DELETE(self):
        self.call(lambda: (self.page_of_session().switch(COMPUTER, False), self.answer_document({})))

    def page_of_session(self):
        if self.path != "/devices":
            raise Refused(404, "only /devices")
        return known(self.headers.get("Authorization", "").removeprefix("Bearer "))

    def refuse(self, status, detail):
        self.answer(status, json.dumps({"detail": detail}).encode())

    def call(self, call):
        try:
            call()
        except Refused as refused:
            self.refuse(refused.status, str(refused))
        except (KeyError, ValueError) as error:
            self.refuse(400, f"{type(error).__name__}: {error}")
        except (OSError, http.client.HTTPException):
            self.refuse(503, "blobd does not answer.")

    def answer_file(self, folder, name):
        known = set(os.listdir(folder))
        if name not in known or name.endswith(".py"):
            return self.answer(404)
        with open(os.path.join(folder, name), "rb") as file:
            self.answer(200, file.read(), mimetypes.guess_type(name)[0] or "application/octet-stream")

    def stream(self, page):
        """The pushes of the page's devices and the feeds of its users, until the browser or blobd closes."""
        events = queue.Queue()
        with contextlib.ExitStack() as cleanup:
            for user in USERS:
                cleanup.callback(follow(user, page.owner(user), events))
            page.streams.append(events)
            cleanup.callback(page.streams.remove, events)
            self.close_connection = True
            self.send_response(200)
            for name, value in (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("Connection", "close")):
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(b"event: ready\ndata: {}\n\n")
                while True:
                    try:
                        event, data = events.get(timeout=5)
                        if event == "closed":
                            return
                        self.wfile.write(f"event: {event}\ndata: {data}\n\n".encode())
                    except queue.Empty:
                        self.wfile.write(b": still here\n\n")


def follow(user, owner, events):
    """Puts the user's changes from now on into the queue. Returns what ends that."""
    connection = UnixConnection("blobd", timeout=60)
    connection.connect()
    stream = connection.sock
    connection.request("GET", f"/v1/users/{owner}/changes?since=latest", headers={"Accept": "text/event-stream"})
    response = connection.getresponse()

    def read():
        with contextlib.suppress(OSError, http.client.HTTPException):
            for line in response:
                if line.startswith(b"data:"):
                    events.put(("change", f'{{"user":"{user}","change":{line[5:].decode().strip()}}}'))
        events.put(("closed", ""))

    def end():
        with contextlib.suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=read, daemon=True).start()
    return end


mimetypes.add_type("text/javascript", ".js")
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
