"""Tests of backend.py against a daemon and the stand-ins: test_backend.py BLOBD."""
import json, os, signal, subprocess, sys, tempfile, time, unittest

import httpx

import push_services

BLOBD = sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
PICTURE = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 40


class BackendTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="push-")
        path = cls.folder.name
        variables, cls.services = push_services.start(path)
        cls.variables = os.environ | variables
        cls.variables |= {"BLOBD_SOCKET": f"{path}/blobd.sock", "DEVICES": f"{path}/devices.db", "PUSH_PAUSE": "0.02"}
        cls.processes = [subprocess.Popen(
            [BLOBD, "serve", "--data", f"{path}/data", "--socket", f"{path}/blobd.sock", "--log-level", "error"])]
        cls.backend = cls.start_backend(cls.variables)
        cls.wait(lambda: httpx.Client(transport=httpx.HTTPTransport(uds=f"{path}/blobd.sock")).get("http://blobd/readyz"))

    @classmethod
    def start_backend(cls, variables, log=None):
        with push_services.socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        cls.processes.append(subprocess.Popen([sys.executable, f"{HERE}/backend.py", str(port)], env=variables, stdout=log or subprocess.DEVNULL))
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
        cls.wait(lambda: client.get("/"))
        return client

    @staticmethod
    def wait(call):
        deadline = time.monotonic() + 60
        while True:
            try:
                return call()
            except httpx.TransportError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @classmethod
    def tearDownClass(cls):
        for process in reversed(cls.processes):
            process.send_signal(signal.SIGTERM if process.args[0] == BLOBD else signal.SIGKILL)
            process.wait(30)
        cls.folder.cleanup()

    def register(self, owner, platform, token, backend=None):
        device = {"owner": owner, "platform": platform, "token": token}
        answer = (backend or self.backend).put("/devices", json=device)
        self.assertEqual(answer.status_code, 204, answer.text)

    def send(self, owner, style="alert", backend=None, **fields):
        answer = (backend or self.backend).post(
            "/send", params={"owner": owner, "message": "Look", "style": style}, content=PICTURE,
            headers={"Content-Type": "image/jpeg"} | fields)
        self.assertEqual(answer.status_code, 200, answer.text)
        return answer.json()

    def pushes(self, token):
        path = os.path.join(self.folder.name, "pushes.jsonl")
        with open(path, encoding="utf-8") as file:
            return [push for push in map(json.loads, file) if push["token"] == token]

    def test_alerts_and_silent_pushes_arrive_and_name_the_picture(self):
        for platform in ("apns", "fcm"):
            self.register("ann", platform, f"ann-{platform}")
        for style in ("alert", "silent"):
            outcome = self.send("ann", style)
            self.assertEqual((outcome["sent"], outcome["dropped"], outcome["failed"]), (2, 0, []))
        alert, silent = self.pushes("ann-apns")
        self.assertEqual((alert["fields"]["apns-push-type"], alert["fields"]["apns-priority"]), ("alert", "10"))
        self.assertEqual((silent["fields"]["apns-push-type"], silent["fields"]["apns-priority"]), ("background", "5"))
        self.assertEqual(silent["push"]["richId"], outcome["id"])
        self.assertEqual(len(self.pushes("ann-fcm")), 2)
        with httpx.Client(transport=httpx.HTTPTransport(uds=self.variables["BLOBD_SOCKET"])) as blobd:
            self.assertEqual(blobd.get(f"http://blobd/v1/notifications/{outcome['id']}/payload").content, PICTURE)

    def test_a_device_that_is_gone_is_dropped(self):
        self.register("bea", "apns", "gone-1")
        self.register("bea", "fcm", "gone-2")
        self.assertEqual(self.send("bea")["dropped"], 2)
        outcome = self.send("bea")
        self.assertEqual((outcome["sent"], outcome["dropped"]), (0, 0))

    def test_busy_and_broken_services_are_tried_again(self):
        for platform in ("apns", "fcm"):
            for token in ("busy", "broken", "slow", "expired"):
                self.register(f"cy-{platform}", platform, f"{token}-{platform}")
            begin = time.monotonic()
            outcome = self.send(f"cy-{platform}")
            self.assertEqual((outcome["sent"], outcome["failed"]), (4, []))
            # What Retry-After asks for is waited for.
            self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_what_is_refused_is_told_and_neither_repeated_nor_dropped(self):
        self.register("dan", "apns", "bad-1")
        self.register("dan", "fcm", "bad-2")
        for _ in range(2):
            outcome = self.send("dan")
            self.assertEqual((outcome["sent"], outcome["dropped"]), (0, 0))
            self.assertEqual(outcome["failed"][0], 'apns: 400 {"reason": "BadDeviceToken"}')
            self.assertIn("INVALID_ARGUMENT", outcome["failed"][1])
        # The stand-ins count attempts.
        self.assertEqual(self.services.attempts["bad-1"], 2)

    def test_a_device_belongs_to_the_last_user_who_signed_in(self):
        self.register("eve", "fcm", "shared")
        self.register("fay", "fcm", "shared")
        self.assertEqual(self.send("eve")["sent"], 0)
        self.assertEqual(self.send("fay")["sent"], 1)
        self.assertEqual(self.backend.request("DELETE", "/devices", json={"platform": "fcm", "token": "shared"}).status_code, 204)
        self.assertEqual(self.send("fay")["sent"], 0)

    def test_without_credentials_pushes_are_printed(self):
        variables = {name: value for name, value in self.variables.items() if not name.startswith(("APNS", "FCM"))}
        log = os.path.join(self.folder.name, "log")
        with open(log, "w") as file:
            backend = self.start_backend(variables | {"DEVICES": ":memory:"}, file)
        self.register("gil", "apns", "a1", backend)
        self.assertEqual(self.send("gil", backend=backend)["sent"], 1)
        with open(log) as file:
            self.assertIn("apns has no credentials; not sent to a1: {", file.read())

    def test_mistakes_are_told(self):
        self.assertEqual(self.backend.put("/devices", json={"owner": "a", "platform": "sms", "token": "t"}).status_code, 400)
        self.assertEqual(self.backend.post("/send", content=b"").status_code, 400)
        answer = self.backend.post("/send", params={"owner": "", "message": "m"}, content=b"x")
        self.assertEqual(answer.status_code, 400)
        self.assertIn("owner", answer.json()["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
