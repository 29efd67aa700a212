"""Tests of the receiver's code without Android: test_device.py TOOL BLOBD.

They are those of Examples/ios, whose program has the same commands, and some more.
"""
import os, sys, time, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ios/Tests"))
import test_device as ios


class Faulty(ios.Faulty):
    """More ways to misbehave."""

    statuses = []

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
        else:
            super().do_GET()


ios.Faulty = Faulty


class ReceiverTests(ios.DeviceTests):
    PLATFORM, TIMED_OUT = "fcm", "SocketTimeoutException"
    # WorkManager keeps responses, and Android empties the folder of downloads.
    test_responses_are_kept_until_they_are_sent = None
    test_leftovers_of_ended_downloads_are_removed = None
    test_the_app_and_its_extension_have_what_their_code_needs = None

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
            # A second, and a start of Java on a busy machine; the server is silent for longer.
            self.assertLess(time.monotonic() - begin, 20)

    def test_weak_tags_and_those_of_gzip_forms_are_digests(self):
        self.download(self.faulty + "/gzip-tag", ios.PICTURE)

    def test_a_range_that_does_not_exist_starts_the_download_again(self):
        self.download(self.faulty + "/end-cut", ios.PICTURE)
        self.assertEqual([text for name, text in Faulty.requests if name == "end-cut"], [None, f"bytes={len(ios.PICTURE)}-", None])

    def test_a_push_withdraws_what_was_answered_elsewhere(self):
        self.assertEqual(self.run_tool("push", '{"richId":"1","richState":"dismissed"}'), "cancel push-1\ncancel 1 0\n")
        self.assertEqual(self.run_tool("push", '{"richId":"1","richMessage":"Hi"}'), "notify 1 0\nenqueue push-1 REPLACE\n")
        self.assertEqual(self.run_tool("push", '{"other":"1"}'), "")

    def test_work_is_repeated_only_if_that_may_help(self):
        plain = self.faulty.replace("https", "http")
        for site, is_repeated in (
            ("https://localhost:1", True), (f"{self.faulty}/status-503", True), (f"{self.faulty}/status-429", True),
            (f"{self.faulty}/status-401", False), (f"{self.faulty}/status-404", False), (plain, False), ("localhost", False),
        ):
            said = self.run_tool("respond", site, "T", "1", "yes", status=1)
            self.assertEqual("again later" in said, is_repeated, said)

    def test_pictures_are_decoded_at_a_size_that_a_screen_shows(self):
        for width, height, size in (-1, -1, 1), (1_024, 700, 1), (1_025, 700, 2), (1_999, 3_999, 4), (8_000, 100, 8):
            self.assertEqual(self.run_tool("sample", str(width), str(height)), f"{size}\n")

    def test_redirects_end(self):
        self.fails(self.faulty + "/around", "refused(status: 302)")

    def test_the_limit_is_1_mb(self):
        self.put("large", bytes(1_000_001))
        self.fails(self.sign("large"), "tooLarge")
        self.put("large", ios.PICTURE + bytes(1_000_000 - len(ios.PICTURE)))
        self.download(self.sign("large"), ios.PICTURE + bytes(1_000_000 - len(ios.PICTURE)))

    def test_a_repeated_response_is_recorded_once(self):
        self.put("3", ios.PICTURE)
        token = self.blobd("token", "ann", "--scope", "write", "--signing-keys", os.path.join(self.work, "keys"))
        for _ in range(2):
            self.run_tool("respond", self.site, token, "3", "dismiss", "k")
        self.assertEqual([response["action"] for response in self.record(token, "3")["responses"]], ["dismiss"])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
