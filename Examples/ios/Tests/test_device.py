"""Tests of the package RichPush through the program rich-push, and of the app: test_device.py RICH_PUSH BLOBD [APP].

A server that misbehaves over TLS, and blobd behind nginx as docs/NGINX.md has it.
"""
import concurrent.futures, hashlib, http.server, json, os, plistlib, re, shutil, signal, socket, ssl, subprocess, sys, tempfile, threading, time, unittest

RICH_PUSH, BLOBD = sys.argv.pop(1), sys.argv.pop(1)
APP = sys.argv.pop(1) if os.path.isfile("".join(sys.argv[1:2])) else None
PICTURE = b"\xff\xd8\xff\xe0" + os.urandom(300_000)
OTHER = b"\xff\xd8\xff\xe0" + os.urandom(200_000)
LONG_BYTES = 30_000_000


def tag(content):
    return f'"sha256:{hashlib.sha256(content).hexdigest()}"'


class Faulty(http.server.BaseHTTPRequestHandler):
    """Each path misbehaves in its own way, /d/me/ stands for blobd's calls, and others for a backend's. Requests are noted."""

    protocol_version = "HTTP/1.1"
    requests, calls = [], []

    def log_message(self, *_):
        pass

    def head(self, status, fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, str(value))
        self.end_headers()

    def cut(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def send(self, content, etag, upto=None):
        """The content from where the request's range begins, cut before `upto`."""
        media_type = {"webp": "image/webp", "text": "text/plain"}.get(self.path.strip("/"), "image/jpeg")
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if found and self.headers.get("If-Range", etag) == etag:
            first, last = int(found[1]), min(int(found[2] or len(content)), len(content) - 1)
            fields = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
            self.head(206, fields | {"Content-Length": last + 1 - first, "Content-Type": media_type, "ETag": etag})
        else:
            first = 0
            self.head(200, {"Content-Length": len(content), "Content-Type": media_type, "ETag": etag})
        self.wfile.write(content[first:upto])
        if upto is not None:
            self.cut()

    def call(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        Faulty.calls.append((self.command, self.path, self.headers["Authorization"], body and json.loads(body)))
        if sum(path == self.path for _, path, _, _ in Faulty.calls) == 1 and self.path.startswith("/once-401/d/me"):
            return self.head(401, {"Content-Length": 0})
        status = re.search("/status-([0-9]+)", self.path)
        if "moved" in self.path:
            self.head(307, {"Location": "/d/me/changes", "Content-Length": 0})
        elif status:
            self.head(int(status[1]), {"Content-Length": 0})
        elif "silent" in self.path:
            time.sleep(40)
        else:
            state = b"dismissed" if "answered" in self.path else b"none"
            answer = b'{"id":"1","message":"Hello","read":false,"action_state":"%s","session":"S","token":"T"}' % state
            self.head(200, {"Content-Length": len(answer), "Content-Type": "application/json"})
            self.wfile.write(answer)

    do_PATCH = do_POST = do_PUT = do_DELETE = call

    def do_GET(self):
        name = self.path.strip("/")
        if name.startswith("d/me/"):
            return self.call()
        Faulty.requests.append((name, self.headers.get("Range")))
        number = sum(1 for request in Faulty.requests if request[0] == name)
        if name in ("ok", "webp", "text"):
            self.send(PICTURE, tag(PICTURE))
        elif name == "cut":  # Twice, each time a little further.
            self.send(PICTURE, tag(PICTURE), 100_000 * number if number < 3 else None)
        elif name == "cut-always":
            self.send(PICTURE, tag(PICTURE), 1_000)
        elif name == "changed":  # After a cut the link has another picture.
            self.send(PICTURE if number == 1 else OTHER, tag(PICTURE if number == 1 else OTHER), 1_000 if number == 1 else None)
        elif name == "wrong":
            self.send(PICTURE, tag(OTHER))
        elif name == "no-tag":
            self.send(PICTURE, '"1"')
        elif name == "slow":
            self.head(200, {"Content-Length": len(PICTURE), "Content-Type": "image/jpeg", "ETag": tag(PICTURE)})
            for index in range(100):
                self.wfile.write(PICTURE[index : index + 1])
                time.sleep(0.1)
        elif name == "silent":
            time.sleep(10)
        elif name == "stalled":  # In the middle of the body, with the connection open.
            self.head(200, {"Content-Length": len(PICTURE), "Content-Type": "image/jpeg", "ETag": tag(PICTURE)})
            self.wfile.write(PICTURE[:1_000])
            time.sleep(12)
            self.close_connection = True
        elif name == "long":
            self.head(200, {"Content-Length": LONG_BYTES, "Content-Type": "image/jpeg", "ETag": '"x"'})
        elif name == "endless":  # Its length is not said.
            self.head(200, {"Content-Type": "image/jpeg", "ETag": '"x"', "Connection": "close"})
            for _ in range(400):
                self.wfile.write(bytes(100_000))
        elif name == "to-http":
            self.head(302, {"Location": "http://127.0.0.1:1/ok", "Content-Length": 0})
        elif name == "to-ok":
            self.head(302, {"Location": "/ok", "Content-Length": 0})
        elif name == "busy":
            if number == 1:
                self.head(503, {"Content-Length": 0})
            else:
                self.send(PICTURE, tag(PICTURE))
        elif name.isdigit():
            self.head(int(name), {"Content-Length": 0})


class DeviceTests(unittest.TestCase):
    PLATFORM, TIMED_OUT = "apns", "no answer within 10.0 s"

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="device-")
        path = lambda name: os.path.join(cls.work, name)
        os.chmod(cls.work, 0o755)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", path("key.pem"), "-out", path("cert.pem")],
            check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path("cert.pem"), path("key.pem"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Faulty)
        server.handle_error = lambda *_: None
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.server, cls.faulty = server, f"https://localhost:{server.server_port}"
        cls.variables = dict(os.environ)
        # Foundation trusts this file on Linux; the tool sees the servers' certificate in its place.
        trusted = "/etc/ssl/certs/ca-certificates.crt"
        cls.tool = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
                    f'mount --bind "{path("cert.pem")}" {trusted} && exec "$@"', "sh", RICH_PUSH]
        cls.processes = []
        cls.start_blobd()

    @classmethod
    def start_blobd(cls):
        path = lambda name: os.path.join(cls.work, name)
        subprocess.run([BLOBD, "sign", "--new-key", path("keys"), "--key-id", "a"], check=True, capture_output=True)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        cls.site = f"https://localhost:{port}"
        cls.processes.append(subprocess.Popen(
            [BLOBD, "serve", "--data", path("data"), "--socket", path("s"), "--device-socket", path("d"),
             "--device-socket-mode", "0666", "--signing-keys", path("keys"), "--link-base", cls.site, "--log-level", "error"],
            stdout=subprocess.DEVNULL))
        location = "proxy_pass http://blobd_devices; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header Host blobd; gzip off;"
        with open(path("nginx.conf"), "w") as file:
            file.write(f"""
                {"user root;" if os.geteuid() == 0 else ""} pid {path("nginx.pid")}; error_log {path("error.log")}; daemon off; events {{ }}
                http {{
                    access_log off; client_body_temp_path {path("t")}; proxy_temp_path {path("t")}; fastcgi_temp_path {path("t")};
                    uwsgi_temp_path {path("t")}; scgi_temp_path {path("t")};
                    upstream blobd_devices {{ server unix:{path("d")}; keepalive 8; }}
                    server {{
                        listen 127.0.0.1:{port} ssl http2; ssl_certificate {path("cert.pem")}; ssl_certificate_key {path("key.pem")};
                        location /d/me/ {{ limit_except GET PATCH POST {{ deny all; }} {location} }}
                        location /d/ {{ limit_except GET {{ deny all; }} {location} }}
                    }}
                }}""")
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        cls.processes.append(subprocess.Popen([nginx, "-c", path("nginx.conf")], stderr=subprocess.DEVNULL))
        deadline = time.monotonic() + 60
        ask = ["curl", "-sk", "-o", path("live"), "-w", "%{http_code}", cls.site + "/d/me/changes"]
        while subprocess.run(ask, capture_output=True, text=True).stdout in ("000", "502"):
            assert time.monotonic() < deadline, "blobd or nginx does not answer"
            time.sleep(0.02)

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        for process in reversed(cls.processes):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        shutil.rmtree(cls.work)

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.work)

    def run_tool(self, *arguments, status=0):
        done = subprocess.run([*self.tool, *arguments], env=self.variables, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def blobd(self, *arguments, **options):
        done = subprocess.run([BLOBD, *arguments], capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def download(self, url, content, *limits):
        name, media_type, count = self.run_tool("download", url, self.folder, *limits).split()
        self.assertEqual(os.listdir(self.folder), [name])
        with open(os.path.join(self.folder, name), "rb") as file:
            self.assertTrue(file.read() == content)
        self.assertEqual((media_type, int(count)), ("image/jpeg", len(content)))
        self.assertTrue(name.endswith(".jpg"))

    def fails(self, url, words, *limits):
        self.assertIn(words, self.run_tool("download", url, self.folder, *limits, status=1))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_picture_is_downloaded_and_a_redirect_to_https_followed(self):
        self.download(self.faulty + "/ok", PICTURE)
        self.setUp()
        self.download(self.faulty + "/to-ok", PICTURE)

    def test_a_download_continues_where_it_was_cut(self):
        self.download(self.faulty + "/cut", PICTURE)
        ranges = [text for name, text in Faulty.requests if name == "cut"]
        self.assertEqual(len(ranges), 3)
        self.assertTrue(all(text and not text.startswith("bytes=0-") for text in ranges[1:]), ranges)

    def test_a_picture_that_was_replaced_after_a_cut_is_downloaded_from_its_start(self):
        self.download(self.faulty + "/changed", OTHER)

    def test_a_busy_server_is_asked_again(self):
        self.download(self.faulty + "/busy", PICTURE)

    def test_attempts_end(self):
        self.fails(self.faulty + "/cut-always", "broken")
        self.assertEqual(len([name for name, _ in Faulty.requests if name == "cut-always"]), 4)

    def test_bytes_without_the_right_digest_are_not_kept(self):
        self.fails(self.faulty + "/wrong", "wrongDigest")
        self.fails(self.faulty + "/no-tag", "wrongDigest")

    def test_the_time_is_kept(self):
        for name in ("slow", "silent"):
            begin = time.monotonic()
            self.fails(f"{self.faulty}/{name}", "timedOut", "1000000", "1")
            self.assertLess(time.monotonic() - begin, 20)

    def test_a_download_can_be_cancelled(self):
        for name in ("slow", "silent", "stalled"):
            begin = time.monotonic()
            self.assertIn("cancelled", self.run_tool("cancel", "500", f"{self.faulty}/{name}", self.folder, status=1))
            self.assertLess(time.monotonic() - begin, 13)
            self.assertEqual(os.listdir(self.folder), [])

    def test_the_size_is_kept_whether_it_is_said_or_not(self):
        self.fails(self.faulty + "/long", "tooLarge")
        self.fails(self.faulty + "/endless", "tooLarge")

    def test_only_https_is_used(self):
        self.fails(self.faulty.replace("https", "http") + "/ok", "insecure")
        self.fails(self.faulty + "/to-http", "insecure")

    def test_refusals_are_told_and_not_repeated(self):
        for status in ("403", "404", "410"):
            self.fails(f"{self.faulty}/{status}", f"refused(status: {status})")
            self.assertEqual(len([name for name, _ in Faulty.requests if name == status]), 1)

    def test_leftovers_of_ended_downloads_are_removed(self):
        for name, age in ("old.part", 7_200), ("other.part", 60):
            path = os.path.join(self.folder, name)
            with open(path, "w"):
                os.utime(path, (time.time() - age,) * 2)
        self.run_tool("download", self.faulty + "/ok", self.folder)
        left = os.listdir(self.folder)
        self.assertEqual(("old.part" in left, "other.part" in left, len(left)), (False, True, 2))

    def test_calls_carry_the_token_and_encode_ids(self):
        self.assertEqual(self.run_tool("show", self.faulty, "T", "a/b c+\u00e4"), "Hello false none \n")
        self.run_tool("read", self.faulty, "T", "1")
        self.run_tool("respond", self.faulty, "T", "1", "yes")
        calls = Faulty.calls[-3:]
        self.assertTrue(calls[2][3].pop("key"))
        self.assertEqual(calls, [
            ("GET", "/d/me/notifications/a%2Fb%20c%2B%C3%A4", "Bearer T", ""),
            ("PATCH", "/d/me/notifications/1", "Bearer T", {"read": True}),
            ("POST", "/d/me/notifications/1/responses", "Bearer T", {"action": "yes"})])

    def test_the_token_goes_nowhere_else(self):
        count = len(Faulty.calls)
        self.assertIn("307", self.run_tool("show", self.faulty, "T", "moved", status=1))
        self.assertIn("307", self.run_tool("respond", self.faulty, "T", "moved", "yes", status=1))
        self.assertIn("is not https", self.run_tool("show", self.faulty.replace("https", "http"), "T", "1", status=1))
        self.assertEqual(len(Faulty.calls), count + 2)

    def test_a_call_that_is_not_answered_ends(self):
        self.assertIn(self.TIMED_OUT, self.run_tool("show", self.faulty, "T", "silent", status=1))

    def test_a_device_signs_in_and_registers(self):
        self.assertEqual(self.run_tool("sign-in", self.faulty, "ann", "secret"), "S\n")
        self.assertEqual(self.run_tool("register", self.faulty, "S", "a1"), "T\n")
        self.assertEqual(self.run_tool("register", self.faulty, "S"), "T\n")
        self.assertEqual(Faulty.calls[-3:], [
            ("POST", "/sign-in", None, {"user": "ann", "password": "secret"}),
            ("PUT", "/devices", "Bearer S", {"platform": self.PLATFORM, "token": "a1"}), ("PUT", "/devices", "Bearer S", {})])
        # A backend that answers otherwise has not registered the device.
        for status in ("401", "503"):
            self.assertIn(status, self.run_tool("register", f"{self.faulty}/status-{status}", "S", "a1", status=1))

    def test_a_push_withdraws_what_was_answered_elsewhere(self):
        for push, said in (
            ('{"aps":{"content-available":1},"richId":"1","richState":"dismissed"}', "1 dismissed"),
            ('{"aps":{"alert":{"body":"Hi"}},"richId":"1"}', "1 none"), ('{"aps":{"alert":{"body":"Hi"}}}', "none none"),
        ):
            self.assertEqual(self.run_tool("state", push), said + "\n")

    def test_responses_are_kept_until_they_are_sent(self):
        self.put("kept", PICTURE)
        token = self.blobd("token", "ann", "--scope", "write", "--device", "phone", "--signing-keys", os.path.join(self.work, "keys"))
        kept, sent = os.path.join(self.folder, "kept"), os.path.join(self.folder, "sent")
        self.run_tool("send", self.site, token, kept)  # Nothing.
        for id, action in ("gone", "dismiss"), ("kept", "default"), ("kept", "dismiss"):
            self.run_tool("keep", kept, id, action)
        # There is no network, the server is busy, the token has expired: all are kept, and the first that fails ends it.
        nowhere = "https://localhost:1"
        for site in (nowhere, *(f"{self.faulty}/status-{status}" for status in ("503", "429", "401"))):
            count = len(Faulty.calls)
            self.run_tool("send", site, token, kept, status=1)
            self.assertEqual((len(os.listdir(kept)), len(Faulty.calls) - count), (3, 0 if site == nowhere else 1))
        shutil.copytree(kept, sent)
        # One that is refused for good does not hold up the others.
        self.run_tool("send", self.site, token, kept)
        self.assertEqual(os.listdir(kept), [])
        # The app was ended before it heard that they had arrived.
        self.run_tool("send", self.site, token, sent)
        record = self.record(token, "kept")
        self.assertEqual([(response["action"], response["device"]) for response in record["responses"]],
                         [("default", "phone"), ("dismiss", "phone")])

    def test_the_app_and_its_extension_have_what_their_code_needs(self):
        app = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../App")

        def read(name):
            with open(os.path.join(app, name), "rb") as file:
                return file.read()

        properties = {name: plistlib.loads(read(name)) for name in os.listdir(app) if name.endswith((".plist", ".entitlements"))}
        self.assertEqual(properties["App-Info.plist"]["UIBackgroundModes"], ["remote-notification"])
        self.assertIn("aps-environment", properties["App.entitlements"])
        extension = properties["NotificationService-Info.plist"]["NSExtension"]
        self.assertEqual(extension["NSExtensionPointIdentifier"], "com.apple.usernotifications.service")
        name = extension["NSExtensionPrincipalClass"].removeprefix("$(PRODUCT_MODULE_NAME).")
        self.assertIn(f"final class {name}: UNNotificationServiceExtension".encode(), read(f"{name}.swift"))
        for name in ("App.entitlements", "NotificationService.entitlements"):
            (group,) = properties[name]["com.apple.security.application-groups"]
            self.assertIn(f'"{group}"'.encode(), read("Session.swift"))

    def run_app(self, *arguments, folder=None):
        folders = dict.fromkeys(("HOME", "TMPDIR"), folder or self.folder)
        command = [*self.tool[:-1], APP, *arguments]
        done = subprocess.run(command, env=self.variables | folders, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipUnless(APP, "there is no app")
    def test_an_alert_is_shown_in_time_with_what_has_come(self):
        cases = (
            ("1", "ok", "jpg|rich ", [".jpg"]), ("1", "webp", "png|rich ", [".png"]), ("1", "text", "text|rich ", []),
            # Slow buttons do not cost the picture, nor a slow picture the buttons.
            ("silent", "ok", "jpg|", [".jpg"]), ("1", "slow", "text|rich ", []), ("silent", "slow", "text|", []),
        )

        def show(id, picture):
            folder = tempfile.mkdtemp(dir=self.work)
            push = {"aps": {"alert": {"body": "Hi"}}, "richId": id, "richUrl": f"{self.faulty}/{picture}"}
            shown, _, seconds = self.run_app(self.faulty, "alert", json.dumps(push), folder=folder).rpartition("|")
            left = os.listdir(os.path.join(folder, "rich-push"))
            return shown, [os.path.splitext(name)[1] for name in left], int(seconds)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            for (_, _, shown, files), (said, left, seconds) in zip(cases, pool.map(show, *list(zip(*cases))[:2])):
                # iOS takes what is shown; nothing else is left.
                self.assertEqual((said, left), (shown, files))
                self.assertLess(seconds, 30)

    @unittest.skipUnless(APP, "there is no app")
    def test_the_app_withdraws_what_was_answered_elsewhere(self):
        push = '{"aps":{"content-available":1},"richId":"1","richState":"dismissed"}'
        self.assertEqual(self.run_app(self.faulty, "silent", push, "0", "1", "2"), "removed shown-1\nnewData\n")
        push = '{"aps":{"content-available":1},"richId":"1"}'
        self.assertEqual(self.run_app(self.faulty, "silent", push, "0", "1", "2"), "noData\n")
        # What it was not told of, it finds when it becomes active; not without an answer.
        said = self.run_app(self.faulty, "active", "2", "1", "status-503", "answered", "status-404")
        self.assertEqual(said, "removed shown-answered\nremoved shown-status-404\n")

    @unittest.skipUnless(APP, "there is no app")
    def test_the_app_sends_a_response_later_if_there_is_no_network(self):
        self.run_app("https://localhost:1", "respond", "7", "dismiss")
        count = len(Faulty.calls)
        self.run_app(self.faulty, "respond", "8", "default")
        self.assertEqual(
            [(call[1], call[3]["action"]) for call in Faulty.calls[count:]],
            [("/d/me/notifications/7/responses", "dismiss"), ("/d/me/notifications/8/responses", "default")])
        # A token that has expired is renewed.
        count = len(Faulty.calls)
        self.run_app(f"{self.faulty}/once-401", "respond", "9", "dismiss")
        self.assertEqual([call[:2] for call in Faulty.calls[count:]], [
            ("POST", "/once-401/d/me/notifications/9/responses"), ("PUT", "/once-401/devices"),
            ("POST", "/once-401/d/me/notifications/9/responses")])

    def record(self, token, id):
        return json.loads(subprocess.run(
            ["curl", "-sfk", "-H", f"Authorization: Bearer {token}", f"{self.site}/d/me/notifications/{id}"],
            check=True, capture_output=True).stdout)

    def put(self, notification, content):
        path = os.path.join(self.work, "picture")
        with open(path, "wb") as file:
            file.write(content)
        self.blobd("put", notification, path, "--type", "image/jpeg", "--owner", "ann", "--socket", os.path.join(self.work, "s"))

    def put_document(self, path, document):
        subprocess.run(
            ["curl", "-sf", "--unix-socket", os.path.join(self.work, "s"), "-X", "PUT", f"http://blobd/v1/{path}",
             "-H", "Content-Type: application/json", "-d", document], check=True, capture_output=True)

    def sign(self, notification):
        return self.blobd("sign", notification, "--signing-keys", os.path.join(self.work, "keys"), "--base", self.site)

    def test_a_link_from_blobd_behind_nginx(self):
        self.put("1", PICTURE)
        self.download(self.sign("1"), PICTURE)
        self.setUp()
        self.fails(self.sign("none"), "refused(status: 404)")
        self.fails(self.sign("1")[:-1], "refused(status: 403)")

    def test_a_long_picture_takes_no_memory(self):
        most = {}
        for notification, size in (("short", 6_000_000), ("long", LONG_BYTES)):
            self.put(notification, os.urandom(size))
            self.setUp()
            # A small parent: what a process had before it became the tool counts as the tool's.
            small = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); " \
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            command = [*self.tool, "download", self.sign(notification), self.folder, "50000000", "600"]
            done = subprocess.run([sys.executable, "-c", small, *command], env=self.variables, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            most[notification] = int(done.stdout)
        # A part of the difference in length, which is 24 MB: on a busy machine some of it is there at a time.
        self.assertLess(most["long"] - most["short"], 12_000, most)

    def test_a_device_reads_marks_and_responds_with_its_token(self):
        self.put_document("notifications/2", '{"owner":"ann","message":"Dinner?","actions":[{"identifier":"yes","title":"Yes"}]}')
        token = self.blobd("token", "ann", "--scope", "write", "--device", "phone", "--signing-keys", os.path.join(self.work, "keys"))
        self.assertEqual(self.run_tool("show", self.site, token, "2"), "Dinner? false none yes\n")
        cursor = self.run_tool("changes", self.site, token, "latest").split()[-1]
        self.run_tool("read", self.site, token, "2")
        self.run_tool("respond", self.site, token, "2", "yes")
        self.assertEqual(self.run_tool("show", self.site, token, "2"), "Dinner? true activated yes\n")
        changes = self.run_tool("changes", self.site, token, cursor).splitlines()
        self.assertEqual(changes[:-1], ["updated 2"])
        weak = self.blobd("token", "ann", "--signing-keys", os.path.join(self.work, "keys"))
        self.assertIn("403", self.run_tool("respond", self.site, weak, "2", "dismiss", status=1))
        other = self.blobd("token", "bob", "--scope", "write", "--signing-keys", os.path.join(self.work, "keys"))
        self.assertIn("404", self.run_tool("show", self.site, other, "2", status=1))

    def test_a_notification_has_the_buttons_of_its_category(self):
        self.put_document("categories/invitation", '{"actions":[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]}')
        self.put_document("notifications/4", '{"owner":"ann","app":"mail","message":"Dinner?","category":"invitation"}')
        self.put_document("notifications/5", '{"owner":"ann","message":"Dinner?","category":"invitation","actions":[]}')
        token = self.blobd("token", "ann", "--scope", "write", "--signing-keys", os.path.join(self.work, "keys"))
        self.assertEqual(self.run_tool("show", self.site, token, "4"), "Dinner? false none yes,no\n")
        self.assertEqual(self.run_tool("show", self.site, token, "5"), "Dinner? false none \n")
        self.put_document("categories/invitation?app=mail", '{"actions":[{"identifier":"later","title":"Later"}]}')
        self.assertEqual(self.run_tool("show", self.site, token, "4"), "Dinner? false none later\n")
        self.run_tool("respond", self.site, token, "4", "later")
        self.assertEqual(self.run_tool("show", self.site, token, "4"), "Dinner? true activated later\n")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
