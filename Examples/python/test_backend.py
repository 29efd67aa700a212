"""Tests of backend.py, or of RichPushBackend, with a daemon and the stand-ins: test_backend.py BLOBD [RICH_PUSH_BACKEND]."""
import json, os, signal, subprocess, sys, tempfile, time, unittest

import httpx

import push_services

BLOBD = sys.argv.pop(1)
SWIFT = sys.argv.pop(1) if os.path.isfile("".join(sys.argv[1:2])) else None
HERE = os.path.dirname(os.path.abspath(__file__))
PICTURE = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 40
OWNERS = ("ann", "bea", "cy-apns", "cy-fcm", "dan", "dot", "eve", "fay", "gil", "hal", "ida", "jim", "kim")


def wait(call):
    deadline = time.monotonic() + 60
    while True:
        try:
            return call()
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class PythonBackend:
    """backend.py, by its own calls."""

    printed = "apns has no credentials; not sent to {}: {{"

    def __init__(self, folder, variables):
        with push_services.socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.path = f"{folder}/log-{port}"
        with open(self.path, "w") as log:
            self.process = subprocess.Popen(self.command(folder, variables, port), env=variables, stdout=log)
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
        wait(lambda: self.http.get("/"))

    def command(self, folder, variables, port):
        return [sys.executable, f"{HERE}/backend.py", str(port)]

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

    def register(self, owner, platform, token):
        self.call("PUT", "/devices", json={"owner": owner, "platform": platform, "token": token})

    def unregister(self, owner, platform, token):
        self.call("DELETE", "/devices", json={"platform": platform, "token": token})

    def send(self, owner, style="alert"):
        query = {"owner": owner, "message": "Look", "style": style}
        return self.call("POST", "/send", params=query, content=PICTURE, headers={"Content-Type": "image/jpeg"}).json()


class SwiftBackend(PythonBackend):
    """RichPushBackend, by the tutorial's calls. Its log says what became of pushes."""

    printed = 'push: {{"body":'

    def command(self, folder, variables, port):
        with open(f"{folder}/picture", "wb") as file:
            file.write(PICTURE)
        users = [f"{owner}:{owner}" for owner in OWNERS]
        return [SWIFT, variables["BLOBD_SOCKET"], str(port), f"{folder}/picture", *users]

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
        cls.variables["BLOBD_SOCKET"] = cls.start_daemon("1d")
        cls.backend = cls.start_backend()

    @classmethod
    def start_daemon(cls, ttl):
        path = f"{cls.folder.name}/{len(cls.daemons)}"
        cls.daemons.append(subprocess.Popen([
            BLOBD, "serve", "--data", path, "--socket", f"{path}.sock", "--default-ttl", ttl, "--log-level", "error"]))
        with httpx.Client(transport=httpx.HTTPTransport(uds=f"{path}.sock")) as client:
            wait(lambda: client.get("http://blobd/readyz"))
        return f"{path}.sock"

    @classmethod
    def start_backend(cls, **variables):
        name = f"{cls.folder.name}/devices-{len(cls.backends)}"
        environment = cls.variables | {"DEVICES": name} | variables
        environment = {name: value for name, value in environment.items() if value is not None}
        cls.backends.append((SwiftBackend if SWIFT else PythonBackend)(cls.folder.name, environment))
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

    def pushes(self, token):
        path = os.path.join(self.folder.name, "pushes.jsonl")
        with open(path, encoding="utf-8") as file:
            return [push for push in map(json.loads, file) if push["token"] == token]

    def test_alerts_and_silent_pushes_arrive_and_name_the_picture(self):
        for platform in ("apns", "fcm"):
            self.backend.register("ann", platform, f"ann-{platform}")
        for style in ("alert", "silent"):
            outcome = self.backend.send("ann", style)
            self.assertEqual((outcome["sent"], outcome["dropped"], outcome["failed"]), (2, 0, []))
        alert, silent = self.pushes("ann-apns")
        self.assertEqual((alert["fields"]["apns-push-type"], alert["fields"]["apns-priority"]), ("alert", "10"))
        self.assertEqual((silent["fields"]["apns-push-type"], silent["fields"]["apns-priority"]), ("background", "5"))
        for push in (alert, silent):
            self.assertEqual(push["fields"]["apns-collapse-id"], push["push"]["richId"])
            self.assertAlmostEqual(int(push["fields"]["apns-expiration"]), push["at"] + 86_400, delta=10)
        for push in self.pushes("ann-fcm"):
            # The app shows what Android would show without a picture.
            self.assertNotIn("notification", push["push"])
            self.assertAlmostEqual(int(push["push"]["android"]["ttl"][:-1]), 86_400, delta=10)
        self.assertEqual(self.pushes("ann-fcm")[1]["push"]["data"]["richId"], silent["push"]["richId"])
        with httpx.Client(transport=httpx.HTTPTransport(uds=self.variables["BLOBD_SOCKET"])) as blobd:
            answer = blobd.get(f"http://blobd/v1/notifications/{silent['push']['richId']}/payload")
            self.assertEqual(answer.content, PICTURE)

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
            self.assertEqual(backend.send("gil")["sent"], 1)
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
        self.assertEqual(http.put("/devices", json={"owner": "a", "platform": "sms", "token": "t"}).status_code, 400)
        self.assertEqual(http.post("/send", content=b"").status_code, 400)
        answer = http.post("/send", params={"owner": "", "message": "m"}, content=b"x")
        self.assertEqual(answer.status_code, 400)
        self.assertIn("owner", answer.json()["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
