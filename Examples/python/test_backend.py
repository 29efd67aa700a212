"""Tests of a backend with a daemon and the stand-ins: test_backend.py BLOBD [BACKEND].

BACKEND is backend.py, the default, or its like in another language, or the program RichPushBackend.
"""
import json, os, shutil, signal, subprocess, sys, tempfile, time, unittest

import httpx

import push_services

BLOBD = sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
BACKEND = sys.argv.pop(1) if os.path.isfile("".join(sys.argv[1:2])) else f"{HERE}/backend.py"
SWIFT = "." not in os.path.basename(BACKEND)
PYTHON, PHP = BACKEND.endswith(".py"), BACKEND.endswith(".php")
PICTURE = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 40
OWNERS = ("ann", "bea", "cy-apns", "cy-fcm", "dan", "dot", "eve", "fay", "gil", "hal", "ida", "jim", "kim", "lea", "moe", "nia", "pia", "quin", "rob")


def wait(call):
    deadline = time.monotonic() + 60
    while True:
        try:
            return call()
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def withdrawals(id, state):
    """The pushes of docs/PUSH.md, for APNs, FCM and Web Push."""
    with open(f"{HERE}/../../docs/PUSH.md", encoding="utf-8") as file:
        lines = [line for line in file if '"richState"' in line and line.startswith("{")]
    return [json.loads(line.replace('"42"', f'"{id}"').replace("activated", state)) for line in lines]


class Backend:
    """backend.py and its like, by their own calls."""

    printed = "apns has no credentials; not sent to {}: {{"
    errors = True  # PHP's log.
    COMMANDS = {
        ".py": lambda port: [sys.executable, BACKEND, port],
        ".mjs": lambda port: ["node", BACKEND, port],
        ".php": lambda port: ["php", "-d", "post_max_size=11M", "-S", f"127.0.0.1:{port}", BACKEND],
    }

    def __init__(self, folder, variables):
        with push_services.socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.path, self.sessions = f"{folder}/log-{port}", {}
        with open(self.path, "w") as log:
            self.process = subprocess.Popen(
                self.command(folder, variables, str(port)), env=variables, stdout=log, stderr=self.errors and log)
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
        wait(lambda: self.http.get("/"))

    def command(self, folder, variables, port):
        return self.COMMANDS[os.path.splitext(BACKEND)[1]](port)

    def log(self):
        with open(self.path) as file:
            return file.read()

    def stop(self):
        self.process.kill()
        self.process.wait(30)

    def call(self, method, path, **arguments):
        answer = self.http.request(method, path, **arguments)
        assert answer.is_success, answer.text
        return answer

    def sign_in(self, owner):
        return self.call("POST", "/sign-in", json={"user": owner, "password": owner}).json()["session"]

    def bearer(self, token):
        return {"Authorization": f"Bearer {token}"}

    def register(self, owner, platform, token):
        """Returns the token for blobd."""
        session = self.sessions[owner, token] = self.sessions.get((owner, token)) or self.sign_in(owner)
        device = {"platform": platform, "token": token}
        return self.call("PUT", "/devices", json=device, headers=self.bearer(session)).json()["token"]

    def unregister(self, owner, platform, token):
        self.call("DELETE", "/devices", headers=self.bearer(self.sessions.pop((owner, token))))

    def send(self, owner, style="alert"):
        return self.call("POST", "/send", params={"owner": owner, "message": "Look"}, content=PICTURE).json()

    def respond(self, id, token, **response):
        return self.http.post(f"/d/me/notifications/{id}/responses", json=response, headers=self.bearer(token))


class SwiftBackend(Backend):
    """RichPushBackend, by the tutorial's calls. Its log says what became of pushes."""

    printed = 'push: {{"body":'
    errors = None

    def command(self, folder, variables, port):
        with open(f"{folder}/picture", "wb") as file:
            file.write(PICTURE)
        users = [f"{owner}:{owner}" for owner in OWNERS]
        return [BACKEND, variables["BLOBD_SOCKET"], port, f"{folder}/picture", *users]

    def register(self, owner, platform, token):
        login = (owner, owner)
        registration = self.call("POST", "/api/register", params={"handle": token}, auth=login).json()
        device = {"Platform": {"apns": "apns", "fcm": "gcm"}[platform], "Handle": token}
        self.call("PUT", f"/api/register/{registration}", json=device, auth=login)

    def unregister(self, owner, platform, token):
        registration = self.call("POST", "/api/register", params={"handle": token}, auth=(owner, owner)).json()
        self.call("DELETE", f"/api/register/{registration}", auth=(owner, owner))

    def send(self, owner, style="alert"):
        begin = len(self.log())
        if style == "silent":
            self.call("POST", "/api/notifications", auth=(owner, owner))
        else:
            for service in ("apns", "gcm"):
                query = {"pns": service, "to_tag": owner}
                self.call("POST", "/api/notifications", params=query, json="Look", auth=(owner, owner))
        outcome = {"sent": 0, "dropped": 0, "failed": []}
        for line in self.log()[begin:].splitlines():
            kind, device, reason = (line + ": ").split(": ", 2)
            if kind == "failed":
                outcome["failed"].append(f"{device.split()[0]}: {reason.removesuffix(': ')}")
            else:
                outcome["sent" if kind == "push" else kind] += 1
        return outcome


class BackendTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="push-")
        variables, cls.services = push_services.start(cls.folder.name)
        cls.daemons, cls.backends = [], []
        cls.variables = os.environ | variables | {"PUSH_PAUSE": "0.02", "LOG_LEVEL": "error"}
        keys = f"{cls.folder.name}/keys"
        subprocess.run([BLOBD, "sign", "--new-key", keys, "--key-id", "a"], check=True, capture_output=True)
        cls.variables |= {"SIGNING_KEYS": keys, "USERS": ",".join(f"{owner}:{owner}" for owner in OWNERS)}
        cls.variables["BLOBD_SOCKET"] = cls.start_daemon("1d")
        cls.blobd = httpx.Client(transport=httpx.HTTPTransport(uds=cls.variables["BLOBD_SOCKET"]), base_url="http://blobd")
        cls.backend = cls.start_backend()

    @classmethod
    def start_daemon(cls, ttl):
        path = f"{cls.folder.name}/{len(cls.daemons)}"
        cls.daemons.append(subprocess.Popen([
            BLOBD, "serve", "--data", path, "--socket", f"{path}.sock", "--default-ttl", ttl, "--log-level", "error",
            "--signing-keys", cls.variables["SIGNING_KEYS"], "--device-socket", f"{path}.sock.devices"], stdout=subprocess.DEVNULL))
        with httpx.Client(transport=httpx.HTTPTransport(uds=f"{path}.sock")) as client:
            wait(lambda: client.get("http://blobd/readyz"))
        return f"{path}.sock"

    @classmethod
    def start_backend(cls, **variables):
        name = f"{cls.folder.name}/devices-{len(cls.backends)}"
        environment = cls.variables | {"DEVICES": name} | variables
        environment = {name: value for name, value in environment.items() if value is not None}
        cls.backends.append((SwiftBackend if SWIFT else Backend)(cls.folder.name, environment))
        return cls.backends[-1]

    @classmethod
    def tearDownClass(cls):
        for backend in cls.backends:
            backend.stop()
        for daemon in cls.daemons:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)
        cls.folder.cleanup()
        print("refused:", ", ".join(f"{reason} × {count}" for reason, count in sorted(push_services.Refused.counts.items())))

    def pushes(self, token, count=0):
        """What was pushed to a device, once that is so many pushes."""
        path, deadline = os.path.join(self.folder.name, "pushes.jsonl"), time.monotonic() + 60
        while True:
            with open(path, encoding="utf-8") as file:
                pushes = [push for push in map(json.loads, file) if push["token"] == token]
            if len(pushes) >= count or time.monotonic() > deadline:
                return pushes
            time.sleep(0.02)

    def test_alerts_and_silent_pushes_arrive_and_name_the_picture(self):
        for platform in ("apns", "fcm"):
            self.backend.register("ann", platform, f"ann-{platform}")
        for style in ("alert", "silent") if SWIFT else ("alert", "alert"):
            outcome = self.backend.send("ann", style)
            self.assertEqual((outcome["sent"], outcome["dropped"], outcome["failed"]), (2, 0, []))
        alert, second = self.pushes("ann-apns")
        for push, kind in (alert, ("alert", "10")), (second, ("background", "5") if SWIFT else ("alert", "10")):
            self.assertEqual((push["fields"]["apns-push-type"], push["fields"]["apns-priority"]), kind)
            self.assertEqual(push["fields"]["apns-collapse-id"], push["push"]["richId"])
            self.assertAlmostEqual(int(push["fields"]["apns-expiration"]), push["at"] + 86_400, delta=10)
        for push in self.pushes("ann-fcm"):
            # The app shows what Android would show without a picture.
            self.assertNotIn("notification", push["push"])
            self.assertAlmostEqual(int(push["push"]["android"]["ttl"][:-1]), 86_400, delta=10)
        self.assertEqual(self.pushes("ann-fcm")[1]["push"]["data"]["richId"], second["push"]["richId"])
        answer = self.blobd.get(f"/v1/notifications/{second['push']['richId']}/payload")
        self.assertEqual((answer.content, answer.headers["Content-Type"]), (PICTURE, "image/png" if SWIFT else "image/jpeg"))

    @unittest.skipIf(SWIFT, "its devices respond with another call")
    def test_an_answer_on_one_device_withdraws_the_notification_from_the_others(self):
        for state, response in ("activated", {"action": "default"}), ("dismissed", {"action": "dismiss", "key": "k"}):
            names = [f"{state}-{name}" for name in ("phone", "tablet", "watch")]
            other, _, device = (
                self.backend.register("lea", platform, name) for name, platform in zip(names, ("apns", "fcm", "apns")))
            stranger = self.backend.register("moe", "apns", f"{state}-moe")
            id = self.backend.send("lea")["id"]
            self.assertEqual(self.backend.respond(id, stranger, **response).status_code, 404)
            self.assertEqual(self.backend.respond(id, "forged", **response).status_code, 401)
            # It stays on the screens.
            answer = self.backend.respond(id, device, action="default", dismissed=False)
            self.assertEqual(answer.status_code, 201, answer.text)
            self.assertEqual(self.backend.respond(id, device, **response).status_code, 201)
            phone, tablet, watch = (self.pushes(name, 1 + (name != names[2])) for name in names)
            self.assertEqual((len(phone), len(tablet), len(watch), self.pushes(f"{state}-moe")), (2, 2, 1, []))
            self.assertEqual(phone[1]["push"], withdrawals(id, state)[0])
            self.assertEqual(tablet[1]["push"] | {"token": "fYv1:APA91b"}, withdrawals(id, state)[1]["message"])
            # It takes the place of an alert that has not been delivered yet.
            self.assertEqual(phone[1]["fields"]["apns-collapse-id"], phone[0]["fields"]["apns-collapse-id"])
            self.assertAlmostEqual(int(phone[1]["fields"]["apns-expiration"]), phone[1]["at"] + 86_400, delta=10)
            record = self.blobd.get(f"/v1/notifications/{id}").json()
            self.assertEqual(record["action_state"], state)
            # A device whose answer was lost repeats its response, and the backend its pushes; also after another device's
            # change, which the record then names.
            if "key" in response:
                read = self.blobd.patch(f"/d/me/notifications/{id}", json={"read": True}, headers=self.backend.bearer(other))
                self.assertNotEqual(read.json()["device"], record["device"])
                self.assertEqual(self.backend.respond(id, device, **response).status_code, 200)
                self.assertEqual([len(self.pushes(name, 3)) for name in names[:2]], [3, 3])
                self.assertEqual(len(self.pushes(names[2])), 1)

    @unittest.skipIf(SWIFT, "nginx.conf is for the others")
    def test_a_device_reaches_blobd_and_the_backend_through_nginx_over_https(self):
        with push_services.socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        folder, certificate = f"{self.folder.name}/nginx", f"{self.folder.name}/server.pem"
        os.mkdir(folder)
        with open(f"{HERE}/../../Packaging/nginx.conf", encoding="utf-8") as file:
            site = file.read()
        for theirs, own in (
            ("listen 443", f"listen 127.0.0.1:{port}"), ("127.0.0.1:8081", self.backend.http.base_url.netloc.decode()),
            ("/run/blobd/devices.sock", self.variables["BLOBD_SOCKET"] + ".devices"), ("/var/log/nginx", folder),
            ("/etc/nginx/tls/fullchain.pem", certificate), ("/etc/nginx/tls/privkey.pem", certificate),
        ):
            self.assertIn(theirs, site)
            site = site.replace(theirs, own)
        temporary = " ".join(f"{kind}_temp_path {folder}/t;" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(f"""
                {"user root;" * (os.geteuid() == 0)} pid {folder}/pid; error_log {folder}/log; daemon off; events {{ }}
                http {{ {temporary} {site} }}""")
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.daemons.append(subprocess.Popen([nginx, "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL))
        trusted = push_services.ssl.create_default_context(cafile=self.variables["PUSH_CA"])
        with httpx.Client(base_url=f"https://127.0.0.1:{port}", http2=True, verify=trusted, timeout=60) as http:
            wait(lambda: http.get("/"))

            def call(method, path, status, token, **arguments):
                answer = http.request(method, path, headers=self.backend.bearer(token), **arguments)
                self.assertEqual(answer.status_code, status, f"{method} {path}: {answer.text}")
                return answer

            # It signs in, and gets a token, which it renews.
            session = call("POST", "/sign-in", 200, "", json={"user": "ann", "password": "ann"}).json()["session"]
            phone = {"platform": "apns", "token": "ann-https"}
            for device in (phone, {}):
                token = call("PUT", "/devices", 200, session, json=device).json()["token"]
            self.backend.register("ann", "apns", "ann-tablet")
            id = self.backend.send("ann")["id"]
            # It fetches with the push's link, or with its token.
            link = subprocess.run(
                [BLOBD, "sign", id, "--signing-keys", self.variables["SIGNING_KEYS"]], check=True, capture_output=True,
                text=True).stdout.strip()
            self.assertEqual(call("GET", link, 200, "").content, PICTURE)
            self.assertEqual(call("GET", link[:-1], 403, "").http_version, "HTTP/2")
            call("GET", f"/d/me/notifications/{id}/payload", 200, token)
            # Its response passes through the backend, which tells the tablet.
            call("POST", f"/d/me/notifications/{id}/responses", 201, token, json={"action": "dismiss"})
            self.assertEqual(self.pushes("ann-tablet", 2)[1]["push"]["richState"], "dismissed")
            for method, path, status in (
                ("POST", f"/d/me/notifications/{id}/x/responses", 404), ("POST", "/send?owner=ann&message=m", 404),
                ("GET", "/v1/stats", 404), ("GET", "/sign-in/x", 404), ("PATCH", "/devices", 403), ("DELETE", "/devices", 204),
            ):
                call(method, path, status, session)
        self.backend.unregister("ann", "apns", "ann-tablet")
        with open(f"{folder}/access.log") as file:
            log = file.read()
        self.assertIn(f"GET /d/{id} 200", log)
        self.assertNotIn("sig=", log)

    @unittest.skipIf(SWIFT, "its users sign in with each call")
    def test_a_device_signs_in_renews_its_token_and_signs_out(self):
        for user, password in ("nia", "wrong"), ("nobody", "nia"), ("nobody", ""):
            answer = self.backend.http.post("/sign-in", json={"user": user, "password": password})
            self.assertIn(answer.status_code, (400, 401))
        session = self.backend.bearer(self.backend.sign_in("nia"))
        tokens = [self.backend.call("PUT", "/devices", json=device, headers=session).json() for device in (
            {"platform": "fcm", "token": "nia-1"}, {"platform": "fcm", "token": "nia-2"}, {})]
        for token in tokens:
            self.assertGreater(token["expires_at"], time.time() + 86_400)
            page = self.blobd.get("/d/me/changes", headers=self.backend.bearer(token["token"]))
            self.assertEqual((page.status_code, page.json()["changes"]), (200, []))
        # The push token was changed, and the empty renewal kept it.
        id = self.backend.send("nia")["id"]
        self.assertEqual((len(self.pushes("nia-1")), len(self.pushes("nia-2"))), (0, 1))
        self.backend.respond(id, tokens[0]["token"], action="default")
        named = self.blobd.get(f"/v1/notifications/{id}").json()["device"]
        self.backend.respond(id, tokens[2]["token"], action="default")
        self.assertEqual(self.blobd.get(f"/v1/notifications/{id}").json()["device"], named)
        self.backend.call("DELETE", "/devices", headers=session)
        for method in ("PUT", "DELETE"):
            answer = self.backend.http.request(method, "/devices", json={}, headers=session)
            self.assertEqual((answer.status_code, "signed in" in answer.json()["error"]), (401, True))
        self.assertEqual(self.backend.send("nia")["sent"], 0)

    def browser(self, owner, token):
        """Registers a browser. Returns its token for blobd."""
        subscription = json.loads(self.variables["WEB_PUSH"])
        subscription["endpoint"] += token
        return self.backend.register(owner, "webpush", json.dumps(subscription))

    @unittest.skipUnless(PYTHON, "the others know phones only")
    def test_a_browser_gets_the_push_that_its_service_worker_shows(self):
        key = self.backend.call("GET", "/devices").json()["webpush"]
        self.assertEqual(len(key), 87)
        device = self.backend.register("pia", "apns", "pia-phone")
        for _ in range(2):
            self.browser("pia", "pia-browser")
        id = self.backend.send("pia")["id"]
        [push] = self.pushes("pia-browser", 1)
        self.assertEqual(push["push"], {"notification": {"title": "Look", "tag": id, "data": {"richId": id, "richType": "img"}}})
        self.assertAlmostEqual(int(push["fields"]["ttl"]), 86_400, delta=60)
        self.assertEqual((push["fields"]["urgency"], len(push["fields"]["topic"])), ("high", 32))
        # An answer elsewhere has the service worker close it, in place of a push that is still under way.
        self.backend.respond(id, device, action="default")
        again = self.pushes("pia-browser", 2)[1]
        self.assertEqual(again["push"], withdrawals(id, "activated")[2])
        self.assertEqual(again["fields"]["topic"], push["fields"]["topic"])
        # The browser is the last user's.
        self.browser("quin", "pia-browser")
        self.assertEqual((self.backend.send("pia")["sent"], self.backend.send("quin")["sent"]), (1, 1))

    @unittest.skipUnless(PYTHON, "the others know phones only")
    def test_push_services_of_browsers_are_treated_like_the_others(self):
        for token in "gone-browser", "busy-browser", "broken-browser", "bad-browser", "later-browser":
            self.browser("rob", token)
        outcome = self.backend.send("rob")
        self.assertEqual((outcome["sent"], outcome["dropped"]), (2, 1))
        self.assertEqual(sorted(failure[:12] for failure in outcome["failed"]), ["webpush: 400", "webpush: 429"])
        self.assertEqual((self.services.attempts["bad-browser"], self.services.attempts["later-browser"]), (1, 1))
        self.assertEqual(self.backend.send("rob")["dropped"], 0)

    @unittest.skipUnless(PYTHON, "the others know phones only")
    def test_only_a_push_services_subscription_is_called(self):
        subscription = json.loads(self.variables["WEB_PUSH"])
        session = self.backend.bearer(self.backend.sign_in("rob"))
        for change, words in (
            ({"endpoint": "https://127.0.0.1.example/"}, "127.0.0.1.example is not one of the push services"),
            ({"endpoint": "http://127.0.0.1/"}, "over https"), ({"endpoint": "https:///x"}, "over https"),
            ({"endpoint": "https://other.example\\.127.0.0.1/"}, "not one of the push services"),
            ({"endpoint": "https://a:b@127.0.0.1/"}, "not one of the push services"), ({"endpoint": 1}, "not a browser's subscription"),
            ({"keys": {"auth": "x"}}, "not a browser's subscription"),
            ({"keys": subscription["keys"] | {"p256dh": "BAAA"}}, "not a browser's subscription"),
        ):
            token = json.dumps(subscription | change)
            answer = self.backend.http.put("/devices", json={"platform": "webpush", "token": token}, headers=session)
            self.assertEqual(answer.status_code, 400, answer.text)
            self.assertIn(words, answer.json()["error"])

    def test_a_device_that_is_gone_is_dropped(self):
        self.backend.register("bea", "apns", "gone-1")
        self.backend.register("bea", "fcm", "gone-2")
        self.assertEqual(self.backend.send("bea")["dropped"], 2)
        outcome = self.backend.send("bea")
        self.assertEqual((outcome["sent"], outcome["dropped"]), (0, 0))

    def test_busy_and_broken_services_are_tried_again(self):
        for platform in ("apns", "fcm"):
            for token in ("busy", "broken", "slow", "expired"):
                self.backend.register(f"cy-{platform}", platform, f"{token}-{platform}")
            begin = time.monotonic()
            outcome = self.backend.send(f"cy-{platform}")
            self.assertEqual((outcome["sent"], outcome["failed"]), (4, []))
            # What Retry-After asks for is waited for.
            self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_an_outage_is_told_after_five_attempts(self):
        self.backend.register("hal", "apns", "away-1")
        self.backend.register("hal", "fcm", "away-2")
        outcome = self.backend.send("hal")
        self.assertEqual((outcome["sent"], outcome["dropped"], len(outcome["failed"])), (0, 0, 2))
        self.assertEqual((self.services.attempts["away-1"], self.services.attempts["away-2"]), (5, 5))
        if not SWIFT:
            self.assertIn("; trying again in ", self.backend.log())

    def test_a_service_that_asks_for_a_long_pause_is_not_tried_again(self):
        for platform in ("apns", "fcm"):
            self.backend.register("kim", platform, f"later-{platform}")
        outcome = self.backend.send("kim")
        self.assertEqual((outcome["sent"], outcome["dropped"], len(outcome["failed"])), (0, 0, 2))
        self.assertEqual((self.services.attempts["later-apns"], self.services.attempts["later-fcm"]), (1, 1))

    def test_what_is_refused_is_told_and_not_repeated(self):
        backend = self.start_backend()
        backend.register("dan", "apns", "bad-1")
        backend.register("dan", "fcm", "bad-2")
        for _ in range(2):
            outcome = backend.send("dan")
            self.assertEqual((outcome["sent"], outcome["dropped"]), (0, 0))
            self.assertEqual(outcome["failed"][0], 'apns: 400 {"reason": "BadDeviceToken"}')
            self.assertIn("INVALID_ARGUMENT", outcome["failed"][1])
        # The stand-ins count attempts.
        self.assertEqual(self.services.attempts["bad-1"], 2)
        # Apple's server is the right one: a token that it calls bad is.
        backend.register("dot", "apns", "dot-1")
        self.assertEqual(backend.send("dot")["sent"], 1)
        self.assertEqual(backend.send("dan")["dropped"], 1)

    @unittest.skipUnless(PYTHON, "backend.py's own reader")
    def test_a_body_that_is_no_text_or_too_deep_is_refused(self):
        session = self.backend.bearer(self.backend.sign_in("rob"))
        lone = r'{"user":"ann","password":"\ud800"}'
        for method, path, body in ("POST", "/sign-in", lone), ("POST", "/sign-in", "[" * 4_000), ("PUT", "/devices", "[" * 4_000):
            answer = self.backend.http.request(method, path, content=body, headers=session)
            self.assertEqual((answer.status_code, "not JSON" in answer.json()["error"]), (400, True))
        device = {"platform": "webpush", "token": "[" * 4_000}
        self.assertEqual(self.backend.http.put("/devices", json=device, headers=session).status_code, 400)

    def test_wrong_credentials_are_refused(self):
        # Services of their own: APNs allows few provider tokens.
        services, folder = (os.path.join(self.folder.name, name) for name in ("services", "other"))
        os.mkdir(services), os.mkdir(folder)
        variables, _ = push_services.start(services)
        push_services.Keys(folder).write_account(variables["FCM_URL"])
        for service, name, value, reason in (
            ("apns", "APNS_TOPIC", "com.example.other", "BadTopic"), ("apns", "APNS_KEY_ID", "OTHER12345", "InvalidProviderToken"),
            ("apns", "APNS_TEAM_ID", "OTHER12345", "InvalidProviderToken"),
            ("apns", "APNS_KEY", f"{folder}/AuthKey.p8", "InvalidProviderToken"),
            ("fcm", "FCM_ACCOUNT", f"{folder}/account.json", "invalid_grant"),
        ):
            backend = self.start_backend(**variables | {name: value})
            backend.register("jim", service, "a1")
            outcome = backend.send("jim")
            self.assertEqual((outcome["sent"], outcome["dropped"], len(outcome["failed"])), (0, 0, 1), name)
            self.assertIn(reason, outcome["failed"][0])

    def test_a_device_belongs_to_the_last_user_who_signed_in(self):
        self.backend.register("eve", "fcm", "shared")
        self.backend.register("fay", "fcm", "shared")
        self.assertEqual(self.backend.send("eve")["sent"], 0)
        self.assertEqual(self.backend.send("fay")["sent"], 1)
        self.backend.unregister("fay", "fcm", "shared")
        self.assertEqual(self.backend.send("fay")["sent"], 0)

    def test_without_credentials_pushes_are_printed_and_devices_survive_a_restart(self):
        path = os.path.join(self.folder.name, "devices")
        names = [name for name in self.variables if name.startswith(("APNS", "FCM"))]
        for round in (1, 2):
            backend = self.start_backend(DEVICES=path, **dict.fromkeys(names))
            if round == 1:
                backend.register("gil", "apns", "a1")
            outcome = backend.send("gil")
            self.assertEqual((outcome["sent"], outcome.get("printed", 1)), (1, 1) if SWIFT else (0, 1))
            self.assertIn("no credentials", backend.log())
            self.assertIn(backend.printed.format("a1"), backend.log())
            backend.stop()

    @unittest.skipUnless(SWIFT, "backend.py chooses a lifetime itself")
    def test_no_attempt_after_the_notification_has_expired(self):
        backend = self.start_backend(BLOBD_SOCKET=self.start_daemon("3s"), PUSH_PAUSE="0.5")
        backend.register("ida", "fcm", "away-3")
        self.assertEqual(len(backend.send("ida")["failed"]), 1)
        # At 0, 0.5 and 1.5 s or somewhat later, and not at 3.5 s.
        self.assertLessEqual(self.services.attempts["away-3"], 3)

    def test_mistakes_are_told(self):
        http = self.backend.http
        if SWIFT:
            id = http.post("/api/register", auth=("ann", "ann")).json()
            for device in ({"Platform": "sms", "Handle": "t"}, {"Platform": "apns", "Handle": "a b"}, {}):
                answer = http.put(f"/api/register/{id}", json=device, auth=("ann", "ann"))
                self.assertEqual(answer.status_code, 400, device)
            return
        session = self.backend.bearer(self.backend.sign_in("ann"))
        query, other = {"owner": "ann", "message": "m"}, self.backend.bearer("other")
        for method, path, arguments, status, words in (
            ("GET", "/", {}, 404, "/sign-in"),
            ("POST", "/sign-in", {"content": b"{"}, 400, "JSON"),
            ("POST", "/sign-in", {"json": []}, 400, "JSON"),
            ("POST", "/sign-in", {"json": {"user": "ann"}}, 400, "password is missing"),
            ("POST", "/sign-in", {"json": {"user": "ann", "password": 1}}, 400, "strings"),
            ("POST", "/sign-in", {"content": bytes(10_000)}, 413, "10000 bytes; the limit is 8192"),
            ("PUT", "/devices", {"json": {}}, 401, "signed in"),
            ("PUT", "/devices", {"json": {}, "headers": other}, 401, "signed in"),
            ("PUT", "/devices", {"json": {"platform": "sms", "token": "t"}, "headers": session}, 400, "not sms"),
            ("PUT", "/devices", {"json": {"platform": "apns"}, "headers": session}, 400, "token is missing"),
            ("PUT", "/devices", {"json": {"platform": "apns", "token": "../a"}, "headers": session}, 400, "characters"),
            ("POST", "/send", {"content": PICTURE}, 400, "owner is missing"),
            ("POST", "/send", {"params": {"owner": "", "message": "m"}, "content": PICTURE}, 400, "owner is missing"),
            ("POST", "/send", {"params": query, "content": b""}, 415, "empty"),
            ("POST", "/send", {"params": query, "content": b"text"}, 415, "not a JPEG, PNG, GIF or WebP"),
            ("POST", "/send", {"params": query, "content": bytes(10_000_001)}, 413, "10000001 bytes; the limit is 10000000"),
            ("POST", "/send", {"params": query | {"message": "m" * 10_000}, "content": PICTURE}, 400, "the limit is 4096"),
            *PHP * [
                ("POST", "/send?owner=ann&message=%ff", {"content": PICTURE}, 400, "message is not text in UTF-8"),
                ("POST", "/send?owner[]=ann&message=m", {"content": PICTURE}, 400, "owner is not text in UTF-8"),
            ],
        ):
            with self.subTest(path=path, words=words):
                answer = http.request(method, path, **arguments)
                self.assertEqual(answer.status_code, status, answer.text)
                self.assertIn(words, answer.json()["error"])
        lost = self.start_backend(SIGNING_KEYS="/none", BLOBD_SOCKET="/none")
        answer = lost.http.put("/devices", json={}, headers=lost.bearer(lost.sign_in("ann")))
        self.assertEqual((answer.status_code, "key" in answer.json()["error"]), (503, True))
        answer = lost.http.post("/send", params=query, content=PICTURE)
        self.assertEqual((answer.status_code, "blobd does not answer" in answer.json()["error"]), (503, True))


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
