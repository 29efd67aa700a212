"""Tests of the receiver's code without Android: test_device.py TOOL BLOBD.

They are those of Examples/ios, whose program has the same commands, and some more.
"""
import json, os, subprocess, sys, time, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ios/Tests"))
import test_device as ios


class Faulty(ios.Faulty):
    """More ways to misbehave, and a stand-in of blobd's /d/me/."""

    calls, statuses = [], []

    def head(self, status, fields):
        Faulty.statuses.append((self.path.strip("/"), status))
        super().head(status, fields)

    def do_GET(self):
        name = self.path.strip("/")
        if name == "gzip-tag":
            self.send(ios.PICTURE, "W/" + ios.tag(ios.PICTURE)[:-1] + '-gzip"')
        elif name == "end-cut":  # After the last byte, whose position is not known.
            number = sum(1 for request in Faulty.requests if request[0] == name)
            Faulty.requests.append((name, self.headers.get("Range")))
            if number == 0:
                self.head(200, {"Transfer-Encoding": "chunked", "Content-Type": "image/jpeg", "ETag": ios.tag(ios.PICTURE)})
                self.wfile.write(b"%x\r\n%b\r\n" % (len(ios.PICTURE), ios.PICTURE))
                self.cut()
            elif self.headers.get("Range"):
                self.head(416, {"Content-Length": 0})
            else:
                self.send(ios.PICTURE, ios.tag(ios.PICTURE))
        elif name == "around":
            self.head(302, {"Location": "/around", "Content-Length": 0})
        elif name.startswith("d/me/"):
            self.call()
        else:
            super().do_GET()

    def call(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        Faulty.calls.append((self.command, self.path, self.headers["Authorization"], body))
        if "moved" in self.path:
            return self.head(307, {"Location": "/d/me/changes", "Content-Length": 0})
        answer = b'{"id":"1","message":"Hello","read":false,"action_state":"none"}'
        self.head(200, {"Content-Length": len(answer), "Content-Type": "application/json"})
        self.wfile.write(answer)

    do_PATCH = do_POST = call


ios.Faulty = Faulty


class ReceiverTests(ios.DeviceTests):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.variables = cls.variables | {"CERTIFICATE_FILE": os.path.join(cls.work, "cert.pem")}

    def test_a_download_continues_where_it_was_cut(self):
        super().test_a_download_continues_where_it_was_cut()
        self.assertEqual([status for name, status in Faulty.statuses if name == "cut"], [200, 206, 206])

    def test_the_time_is_kept_while_nothing_comes(self):
        for name in ("silent", "stalled"):
            begin = time.monotonic()
            self.fails(f"{self.faulty}/{name}", "timedOut", "1000000", "1")
            self.assertLess(time.monotonic() - begin, 4)

    def test_weak_tags_and_those_of_gzip_forms_are_digests(self):
        self.download(self.faulty + "/gzip-tag", ios.PICTURE)

    def test_a_range_that_does_not_exist_starts_the_download_again(self):
        self.download(self.faulty + "/end-cut", ios.PICTURE)
        self.assertEqual([text for name, text in Faulty.requests if name == "end-cut"], [None, f"bytes={len(ios.PICTURE)}-", None])

    def test_redirects_end(self):
        self.fails(self.faulty + "/around", "refused(status: 302)")

    def test_the_limit_is_1_mb(self):
        self.put("large", bytes(1_000_001))
        self.fails(self.sign("large"), "tooLarge")
        self.put("large", ios.PICTURE + bytes(1_000_000 - len(ios.PICTURE)))
        self.download(self.sign("large"), ios.PICTURE + bytes(1_000_000 - len(ios.PICTURE)))

    def test_calls_carry_the_token_and_encode_ids(self):
        self.assertEqual(self.run_tool("show", self.faulty, "T", "a/b c+\u00e4"), "Hello false none \n")
        self.run_tool("read", self.faulty, "T", "1")
        self.run_tool("respond", self.faulty, "T", "1", "yes", "k")
        calls = [(method, path, token, body and json.loads(body)) for method, path, token, body in Faulty.calls[-3:]]
        self.assertEqual(calls, [
            ("GET", "/d/me/notifications/a%2Fb%20c%2B%C3%A4", "Bearer T", ""),
            ("PATCH", "/d/me/notifications/1", "Bearer T", {"read": True}),
            ("POST", "/d/me/notifications/1/responses", "Bearer T", {"action": "yes", "key": "k"})])

    def test_the_token_goes_nowhere_else(self):
        count = len(Faulty.calls)
        self.assertIn("307", self.run_tool("show", self.faulty, "T", "moved", status=1))
        self.assertIn("is not https", self.run_tool("show", self.faulty.replace("https", "http"), "T", "1", status=1))
        self.assertEqual(len(Faulty.calls), count + 1)

    def test_a_repeated_response_is_recorded_once(self):
        self.put("3", ios.PICTURE)
        token = self.blobd("token", "ann", "--scope", "write", "--signing-keys", os.path.join(self.work, "keys"))
        for _ in range(2):
            self.run_tool("respond", self.site, token, "3", "dismiss", "k")
        record = subprocess.run(
            ["curl", "-sfk", "-H", f"Authorization: Bearer {token}", self.site + "/d/me/notifications/3"],
            check=True, capture_output=True).stdout
        self.assertEqual([response["action"] for response in json.loads(record)["responses"]], ["dismiss"])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
