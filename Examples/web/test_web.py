"""Plays the way of a Web Push in Chromium: test_web.py BLOBD PYTHON. Scripts/push-check web runs it.

PYTHON has what Examples/python needs. A site on loopback has the files of this folder, backend.py and blobd behind it. A
push goes from the backend to the stand-in of a push service, which checks and decrypts it, and from there through the
DevTools protocol to the service worker: browsers subscribe only with their vendor's push service.
"""
import contextlib, http.client, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, urlencode

from playwright.sync_api import expect, sync_playwright

from desktop import DEADLINE, Desktop, until

# Whoever starts this may block SIGTERM, as test runners do, and children inherit that.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
BLOBD, PYTHON = sys.argv.pop(1), sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
PICTURE = os.path.join(HERE, "..", "payloads", "photo.jpg")
expect.set_options(timeout=DEADLINE * 1_000)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("blobd", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Site(BaseHTTPRequestHandler):
    """One origin, as nginx makes it: the files, the backend and blobd. `fault` says what goes wrong with a path of blobd's:
    a status, "silence" until `end_of_silence`, or "away" for a connection that breaks."""

    protocol_version = "HTTP/1.1"
    fault, end_of_silence, log = staticmethod(lambda path: None), threading.Event(), []

    def log_message(self, *_):
        pass

    def answer(self, status, content, media_type):
        self.send_response(status)
        self.send_header("Content-Type", media_type or "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)
        Site.log.append((self.command, self.path, status, content))

    def handle_call(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        if path.startswith("/d/") and (fault := Site.fault(self.path)):
            if fault == "silence":
                Site.end_of_silence.wait(2 * DEADLINE)
                fault = "away"
            if fault == "away":
                self.close_connection = True
                return
            return self.answer(fault, b"{}", None)
        if re.fullmatch(r"/(sign-in|devices|d/me/notifications/[^/]+/responses)", path):
            connection = http.client.HTTPConnection("127.0.0.1", Site.backend, timeout=DEADLINE)
        elif path.startswith("/d/"):
            connection = UnixConnection(Site.devices)
        else:
            name = path.strip("/") or "index.html"
            if name not in ("index.html", "subscribe.js", "sw.js"):
                return self.answer(404, b"", None)
            with open(f"{HERE}/{name}", "rb") as file:
                return self.answer(200, file.read(), "text/html" if name.endswith("html") else "text/javascript")
        names = ("Authorization", "Content-Type", "Content-Length")
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request(self.command, self.path, body, {name: self.headers[name] for name in names if name in self.headers})
            response = connection.getresponse()
            self.answer(response.status, response.read(), response.headers["Content-Type"])

    do_GET = do_POST = do_PUT = do_DELETE = handle_call

    def handle(self):
        # A page that goes away closes its connections.
        with contextlib.suppress(ConnectionError):
            super().handle()


class WebPushTests(unittest.TestCase, Desktop):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="web-push-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.pushes_path = f"{cls.folder.name}/pushes.jsonl"
        open(cls.pushes_path, "w").close()
        services = cls.start(PYTHON, f"{HERE}/../python/push_services.py", cls.folder.name, stdout=subprocess.PIPE, text=True)
        variables = {}
        while "WEB_PUSH" not in variables:
            name, _, value = services.stdout.readline().strip().partition("=")
            assert name, "the stand-ins of push services do not start"
            variables[name] = value
        cls.subscription = json.loads(variables["WEB_PUSH"])
        server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.shutdown)
        cls.site = f"http://127.0.0.1:{server.server_address[1]}"
        cls.socket, Site.devices, keys = (f"{cls.folder.name}/{name}" for name in ("blobd.sock", "devices.sock", "keys"))
        subprocess.run([BLOBD, "sign", "--new-key", keys], check=True, capture_output=True)
        cls.start(BLOBD, "serve", "--data", f"{cls.folder.name}/data", "--socket", cls.socket, "--device-socket", Site.devices,
            "--signing-keys", keys, "--link-base", cls.site, "--log-level", "error", "--sweep-interval", "250ms", stdout=subprocess.DEVNULL)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            Site.backend = listener.getsockname()[1]
        chosen = {name: value for name, value in variables.items() if name.startswith(("VAPID", "WEB_PUSH", "PUSH"))}
        chosen |= {"USERS": ",".join(f"user{n}:secret" for n in range(40)), "PUSH_PAUSE": "0.02", "WEB_PAGE": f"{cls.site}/"}
        chosen |= {"BLOBD_SOCKET": cls.socket, "SIGNING_KEYS": keys, "DEVICES": f"{cls.folder.name}/devices.db"}
        cls.start(PYTHON, f"{HERE}/../python/backend.py", str(Site.backend), env=os.environ | chosen, stdout=subprocess.DEVNULL)
        for call in lambda: cls.call_backend("GET", "/devices"), lambda: cls.blobd("GET", "/readyz"):
            until(lambda: cls.succeeds(call), "the backend or the daemon")
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)
        cls.users = iter(range(40))

    @classmethod
    def start(cls, *command, **options):
        process = subprocess.Popen(command, **options)

        def stop():
            process.terminate()
            process.wait(30)

        cls.addClassCleanup(stop)
        return process

    @staticmethod
    def succeeds(call):
        with contextlib.suppress(OSError, http.client.HTTPException):
            call()
            return True

    @staticmethod
    def send_request(connection, method, path, body=None, **fields):
        with contextlib.closing(connection):
            connection.request(method, path, body, fields)
            response = connection.getresponse()
            content = response.read()
        return response.status, json.loads(content) if content.startswith(b"{") else content

    @classmethod
    def call_backend(cls, method, path, body=None, **fields):
        return cls.send_request(http.client.HTTPConnection("127.0.0.1", Site.backend, timeout=DEADLINE), method, path, body, **fields)

    @classmethod
    def blobd(cls, method, path, body=None):
        status, document = cls.send_request(UnixConnection(cls.socket), method, path, body, **{"Content-Type": "application/json"})
        assert status < 300, (method, path, document)
        return document

    def setUp(self):
        Site.fault = staticmethod(lambda path: None)
        Site.end_of_silence.clear()
        self.addCleanup(Site.end_of_silence.set)
        Site.log.clear()
        self.context = self.browser.new_context()
        self.addCleanup(self.context.close)
        self.context.set_default_timeout(DEADLINE * 1_000)
        self.context.grant_permissions(["notifications"], origin=self.site)
        self.user, self.token = f"user{next(self.users)}", self.id().split(".")[-1]
        self.subscribe(self.user, self.token)

    def subscribe(self, user, token):
        """A page in which the user subscribes; the push service is the stand-in."""
        subscription = self.subscription | {"endpoint": self.subscription["endpoint"] + token}
        self.page = self.context.new_page()
        self.page.add_init_script(f"""
            PushManager.prototype.subscribe = async options => {{
                window.options = options
                return {{ toJSON: () => ({json.dumps(subscription)}) }}
            }}""")
        devtools = self.context.new_cdp_session(self.page)
        registrations = []
        devtools.on("ServiceWorker.workerRegistrationUpdated", lambda event: registrations.extend(event["registrations"]))
        devtools.send("ServiceWorker.enable")
        self.page.goto(self.site)
        self.page.locator("[name=user]").fill(user)
        self.page.get_by_role("button", name="Show notifications here").click()
        expect(self.page.locator("#status")).to_have_text("Notifications are shown here.")
        self.worker = self.context.service_workers[0]
        self.be_patient()
        # How many pushes it has finished.
        self.worker.evaluate("""() => {
            if (self.finished !== undefined) return
            self.finished = 0
            const original = receive
            receive = pushed => original(pushed).finally(() => self.finished++)
        }""")
        self.devtools = lambda method, **arguments: devtools.send(
            f"ServiceWorker.{method}", {"origin": self.site, "registrationId": registrations[-1]["registrationId"], **arguments})

    def send(self, message="Look at this", actions=None, user=None):
        """The backend sends the picture. Returns the notification's id and what became of the pushes."""
        with open(PICTURE, "rb") as file:
            query = urlencode({"owner": user or self.user, "message": message})
            status, outcome = self.call_backend("POST", f"/send?{query}", file.read())
        self.assertEqual(status, 200, outcome)
        if actions:
            self.blobd("PATCH", f"/v1/notifications/{outcome['id']}", json.dumps({"actions": actions}))
        return outcome["id"], outcome

    def pushes(self, token=None, count=1):
        """What the push service accepted and decrypted for a subscription."""
        def find():
            with open(self.pushes_path, encoding="utf-8") as file:
                pushes = [push for push in map(json.loads, file) if push["token"] == (token or self.token)]
            return len(pushes) >= count and pushes
        return until(find, "the push")

    def deliver(self, push):
        """Has the service worker get a push, and waits until it has done with it."""
        before = self.worker.evaluate("finished")
        self.devtools("deliverPushMessage", data=json.dumps(push["push"]))
        until(lambda: self.worker.evaluate("finished") > before, "the end of the push")

    def record(self, id):
        return self.blobd("GET", f"/v1/notifications/{quote(id)}")

    def kept(self):
        return self.worker.evaluate("store('responses', values => values.count())")

    # --- The way

    def test_from_the_backend_to_the_notification_and_back_to_the_feed(self):
        yes = [{"identifier": "yes", "title": "Yes"}, {"identifier": "no", "title": "No"}]
        key = self.call_backend("GET", "/devices")[1]["webpush"]
        self.assertEqual(self.page.evaluate("[options.userVisibleOnly, options.applicationServerKey]"), [True, key])
        id, outcome = self.send(actions=yes)
        self.assertEqual((outcome["sent"], outcome["failed"]), (1, []))
        [push] = self.pushes()
        self.assertEqual((push["push"]["web_push"], push["fields"]["urgency"]), (8030, "high"))
        self.deliver(push)
        [shown] = self.shown()
        link = push["push"]["notification"]["data"]["richUrl"]
        self.assertEqual(shown, {
            "id": id, "title": "Look at this", "body": "", "image": link, "page": f"{self.site}/", "actions": ["Yes", "No"]})
        with open(PICTURE, "rb") as file:
            picture = file.read()
        fetched = [content for _, path, _, content in Site.log if link.endswith(path)]
        # Once by the service worker, and again by the browser for what it shows.
        self.assertEqual(fetched, [picture] * 2)
        self.do(id, action="yes")
        self.shows()
        feed = self.blobd("GET", f"/v1/users/{self.user}/changes")["changes"][-1]
        self.assertEqual((feed["id"], feed["notification"]["action_state"]), (id, "activated"))
        self.assertEqual([one["action"] for one in feed["notification"]["responses"]], ["yes"])
        self.assertIn("device", feed)

    def test_a_click_opens_the_page_and_a_dismissal_is_told(self):
        (first, _), (second, _) = self.send("First"), self.send("Second")
        for push in self.pushes(count=2):
            self.deliver(push)
        self.page.goto("about:blank")
        self.do(first)
        self.assertEqual(self.worker.evaluate("opened"), [f"{self.site}/"])
        self.do(second, "notificationclose")
        self.assertEqual([self.record(id)["action_state"] for id in (first, second)], ["activated", "dismissed"])
        self.shows()

    def test_a_click_opens_pages_of_the_web_only(self):
        self.page.goto("about:blank")
        opened = self.worker.evaluate("""async pages => {
            clients.openWindow = async page => page
            return Promise.all(pages.map(page => open(page)))
        }""", [None, "javascript:alert(1)", "data:text/html,x", "https://[", "inbox", "https://other.example/x"])
        self.assertEqual(opened, [f"{self.site}/"] * 4 + [f"{self.site}/inbox", "https://other.example/x"])

    def test_a_session_that_is_none_signs_nobody_out_and_follows_nothing(self):
        refused = "import('/subscribe.js').then(it => it.subscribe('nonsense')).catch(error => error.message)"
        self.assertEqual(self.page.evaluate(refused), "Nobody is signed in with this session.")
        self.assertEqual(self.send()[1]["sent"], 1)
        follow = "session => import('/subscribe.js').then(it => it.follow(eval(session))).catch(error => error.message)"
        self.assertIsNone(self.page.evaluate(follow, "Promise.resolve('nonsense')"))
        self.assertEqual(self.page.evaluate(follow, "Promise.reject(new Error('The sign-in failed.'))"), "The sign-in failed.")

    def test_what_is_answered_elsewhere_is_closed_by_the_open_page_and_by_the_next_push(self):
        (first, _), (second, _), (third, _) = self.send("First"), self.send("Second"), self.send("Third")
        pushes = self.pushes(count=3)
        for push in pushes[:2]:
            self.deliver(push)
        self.shows(first, second)
        # The page follows the feed.
        self.blobd("POST", f"/v1/notifications/{first}/responses", json.dumps({"action": "default"}))
        self.shows(second)
        # No page: the next push closes.
        self.page.goto("about:blank")
        self.blobd("DELETE", f"/v1/notifications/{second}")
        self.deliver(pushes[2])
        self.shows(third)

    def test_a_withdrawing_push_closes_and_shows_nothing_that_stays(self):
        phone = self.subscription | {"endpoint": self.subscription["endpoint"] + "other-browser"}
        _, session = self.call_backend("POST", "/sign-in", json.dumps({"user": self.user, "password": "secret"}))
        device = json.dumps({"platform": "webpush", "token": json.dumps(phone)})
        _, token = self.call_backend("PUT", "/devices", device, Authorization=f"Bearer {session['session']}")
        id, _ = self.send()
        self.page.goto("about:blank")
        self.deliver(self.pushes()[0])
        self.shows(id)
        status, _ = self.call_backend("POST", f"/d/me/notifications/{id}/responses", json.dumps({"action": "default"}),
            Authorization=f"Bearer {token['token']}", **{"Content-Type": "application/json"})
        self.assertEqual(status, 201)
        withdrawing = self.pushes(count=2)[1]
        self.assertEqual(withdrawing["push"]["notification"]["data"], {"richId": id, "richState": "activated"})
        self.assertEqual(withdrawing["fields"]["topic"], self.pushes()[0]["fields"]["topic"])
        for _ in range(2):
            self.deliver(withdrawing)
            self.assertEqual(self.shown(), [])

    # --- What goes wrong

    def test_a_picture_that_is_gone_leaves_the_text_and_the_buttons(self):
        id, _ = self.send(actions=[{"identifier": "a", "title": "A"}])
        Site.fault = staticmethod(lambda path: 404 if path.startswith(f"/d/{id}?") else None)
        self.deliver(self.pushes()[0])
        [shown] = self.shown()
        self.assertEqual((shown["title"], shown["image"], shown["actions"]), ("Look at this", "", ["A"]))

    def test_a_token_that_has_expired_or_whose_key_is_gone_is_renewed(self):
        for token in {"token": "old", "expires_at": 1}, {"token": "forged", "expires_at": 9e9}:
            self.worker.evaluate("token => keep('token', token)", token)
            id, outcome = self.send()
            self.assertEqual((outcome["sent"], outcome["failed"]), (1, []))
            push = self.pushes()[-1]
            self.assertEqual(push["push"]["notification"]["tag"], id)
            self.deliver(push)
            self.assertEqual([bool(one["image"]) for one in self.shown() if one["id"] == id], [True])
            self.assertGreater(len(self.worker.evaluate("kept('token')")["token"]), 100)

    def test_with_the_daemon_away_the_text_is_shown_and_what_the_user_does_is_sent_later(self):
        (id, _), (other, _) = self.send("First"), self.send("Second")
        Site.fault = staticmethod(lambda path: 503)
        for push in self.pushes(count=2):
            self.deliver(push)
        self.assertEqual([(one["image"], one["actions"]) for one in self.shown()], [("", [])] * 2)
        self.do(id, "notificationclose")
        Site.fault = staticmethod(lambda path: "away")
        self.do(other)
        self.assertEqual(self.kept(), 2)
        Site.fault = staticmethod(lambda path: None)
        self.devtools("dispatchSyncEvent", tag="responses", lastChance=False)
        until(lambda: self.kept() == 0, "the end of the outbox")
        self.assertEqual([self.record(one)["action_state"] for one in (id, other)], ["dismissed", "activated"])

    def test_a_response_that_can_never_be_recorded_holds_nothing_up(self):
        (id, _), (other, _) = self.send("First"), self.send("Second")
        for push in self.pushes(count=2):
            self.deliver(push)
        Site.fault = staticmethod(lambda path: 503)
        self.do(id, action="no-such-action")
        self.do(other, "notificationclose")
        self.assertEqual(self.kept(), 2)
        Site.fault = staticmethod(lambda path: None)
        self.devtools("dispatchSyncEvent", tag="responses", lastChance=False)
        until(lambda: self.kept() == 0, "the end of the outbox")
        self.assertEqual([self.record(one)["action_state"] for one in (id, other)], ["none", "dismissed"])

    def test_silence_leaves_the_text_to_be_shown_in_time(self):
        id, _ = self.send(actions=[{"identifier": "a", "title": "A"}])
        # The picture never comes, then nothing does.
        for silent, patience, buttons in (f"/d/{id}?", 0.5, ["A"]), ("/d/", 0.1, []):
            self.be_patient(patience)
            Site.fault = staticmethod(lambda path: "silence" if path.startswith(silent) else None)
            # It ends while the silence goes on.
            self.deliver(self.pushes()[0])
            [shown] = self.shown()
            self.assertEqual((shown["title"], shown["image"], shown["actions"]), ("Look at this", "", buttons))

    def test_a_push_that_is_too_large_is_our_mistake_and_not_the_browsers(self):
        _, outcome = self.send("m" * 4_000)
        self.assertEqual((outcome["sent"], outcome["dropped"], len(outcome["failed"])), (0, 0, 1))
        self.assertIn("webpush: ", outcome["failed"][0])
        self.assertIn("422", outcome["failed"][0])
        self.assertEqual(self.send()[1]["sent"], 1)

    def test_a_subscription_that_is_gone_is_forgotten(self):
        self.subscribe(self.user, "gone-for-good")
        self.assertEqual(self.send()[1]["dropped"], 1)
        self.assertEqual(self.send()[1]["dropped"], 0)

    def test_the_same_push_twice_is_one_notification_and_none_after_its_answer(self):
        id, _ = self.send()
        [push] = self.pushes()
        for _ in range(2):
            self.deliver(push)
        self.shows(id)
        # Offline, so that blobd does not know of it yet.
        Site.fault = staticmethod(lambda path: 503)
        self.do(id, "notificationclose")
        Site.fault = staticmethod(lambda path: None)
        self.deliver(push)
        self.assertEqual((self.shown(), self.record(id)["action_state"]), ([], "dismissed"))

    def test_two_accounts_in_one_browser_see_only_their_own(self):
        former, id = self.user, self.send()[0]
        session = self.worker.evaluate("kept('session')")
        (push,) = self.pushes()
        self.deliver(push)
        second = f"user{next(self.users)}"
        # Without signing out.
        self.subscribe(second, f"{self.token}-2")
        self.assertEqual(self.shown(), [])
        self.assertEqual(self.call_backend("PUT", "/devices", "{}", Authorization=f"Bearer {session}")[0], 401)
        # One that was still under way.
        self.deliver(push)
        self.assertEqual(self.shown(), [])
        self.assertEqual(self.record(id)["action_state"], "none")
        self.assertEqual(self.send(user=former)[1]["sent"], 0)
        other, _ = self.send(user=second)
        self.deliver(self.pushes(f"{self.token}-2")[0])
        self.shows(other)

    def test_signing_out_leaves_nothing_behind(self):
        id, _ = self.send()
        [push] = self.pushes()
        self.deliver(push)
        self.shows(id)
        self.page.get_by_role("button", name="Sign out").click()
        expect(self.page.locator("#status")).to_have_text("Signed out.")
        self.assertEqual((self.shown(), self.worker.evaluate("store('kept', values => values.count())")), ([], 0))
        self.assertEqual(self.send()[1]["sent"], 0)
        self.deliver(push)
        self.assertEqual(self.shown(), [])

    def test_signing_out_while_a_push_is_handled_shows_nothing_of_it(self):
        id, _ = self.send()
        picture = f"/d/{id}?"
        is_asked = threading.Event()
        Site.fault = staticmethod(lambda path: is_asked.set() or "silence" if path.startswith(picture) else None)
        self.devtools("deliverPushMessage", data=json.dumps(self.pushes()[0]["push"]))
        until(is_asked.is_set, "the fetch of the picture")
        self.worker.evaluate("unsubscribe()")
        Site.end_of_silence.set()
        until(lambda: self.worker.evaluate("finished") > 0, "the end of the push")
        self.assertEqual(self.shown(), [])

    def test_signing_out_during_a_renewal_leaves_no_token(self):
        self.worker.evaluate("""async () => {
            const original = fetch
            // The user signs out before the new token has come.
            fetch = async (url, options) => {
                const answer = await original(url, options)
                if (options?.method === "PUT") await unsubscribe()
                return answer
            }
            await register({}).catch(() => {})
        }""")
        self.assertEqual(self.worker.evaluate("store('kept', values => values.count())"), 0)

    def test_what_is_answered_elsewhere_while_its_picture_loads_is_closed(self):
        self.page.goto("about:blank")
        id, _ = self.send()
        picture = f"/d/{id}?"

        def answer(path):
            if path.startswith(picture) and self.record(id)["action_state"] == "none":
                self.blobd("POST", f"/v1/notifications/{id}/responses", json.dumps({"action": "default"}))

        Site.fault = staticmethod(answer)
        self.deliver(self.pushes()[0])
        self.assertEqual((self.shown(), self.record(id)["action_state"]), ([], "activated"))

    def test_a_database_that_is_lost_is_opened_again_and_holds_no_text_up(self):
        id, _ = self.send()
        [push] = self.pushes()
        self.worker.evaluate("connect().then(database => database.close())")
        self.deliver(push)
        self.assertEqual([bool(one["image"]) for one in self.shown()], [True])
        self.worker.evaluate("close(() => true)")
        self.worker.evaluate("""async () => {
            (await connect()).close()
            IDBFactory.prototype.open = () => { throw new Error("The disk is full.") }
        }""")
        self.deliver(push)
        self.assertEqual([(one["id"], one["title"]) for one in self.shown()], [(id, "Look at this")])

    def test_a_push_of_another_form_and_the_sites_own_notifications_are_left_alone(self):
        self.worker.evaluate("registration.showNotification('Own', { tag: 'own' })")
        for text in "", "no JSON", "null", "{}", '{"notification": 1}', '{"notification": {"data": null}}', '{"notification": {"data": {"richState": "expired"}}}':
            before = self.worker.evaluate("finished")
            self.devtools("deliverPushMessage", data=text)
            until(lambda: self.worker.evaluate("finished") > before, f"the end of {text}")
        self.deliver({"push": {"notification": {"title": "Hello"}}})
        own = "registration.getNotifications().then(all => all.map(one => one.title).sort())"
        self.assertEqual((self.shown(), self.worker.evaluate(own)), ([], ["Hello", "Own"]))
        self.worker.evaluate("unsubscribe()")
        self.assertEqual(self.worker.evaluate(own), ["Hello", "Own"])

    def test_the_page_tells_what_is_wrong_with_the_key_and_replaces_a_subscription_with_another(self):
        self.page.evaluate("""() => {
            window.ended = 0
            PushManager.prototype.getSubscription = async () => ({ unsubscribe: async () => { window.ended++ } })
            const original = PushManager.prototype.subscribe
            PushManager.prototype.subscribe = async function (options) {
                if (window.ended === 0) throw new DOMException("There is one with another key.", "InvalidStateError")
                return original.call(this, options)
            }
        }""")
        button, status = self.page.get_by_role("button", name="Show notifications here"), self.page.locator("#status")
        for body, words in (
            ("<html>", "The answer to GET /devices is not JSON"), ('{"webpush": null}', "The backend has no key for browsers"), (None, "Notifications are shown here."),
        ):
            def answer(route):
                route.continue_() if body is None or route.request.method != "GET" else route.fulfill(body=body)

            self.page.route("**/devices", answer)
            button.click()
            expect(status).to_contain_text(words)
            self.page.unroute("**/devices")
        self.assertEqual(self.page.evaluate("ended"), 1)

    def test_a_call_that_does_not_exist_is_answered_and_a_page_without_a_worker_signs_out(self):
        call = "import('/subscribe.js').then(it => it.ask({ call: 'no-such-call' })).catch(error => error.message)"
        self.assertEqual(self.page.evaluate(call), "There is no call no-such-call.")
        other = self.browser.new_context()
        self.addCleanup(other.close)
        page = other.new_page()
        page.goto(self.site)
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#status")).to_have_text("Signed out.")

    def test_a_subscription_that_the_browser_replaces_is_told_to_the_backend(self):
        subscription = self.subscription | {"endpoint": self.subscription["endpoint"] + "replaced"}
        self.worker.evaluate("""async subscription => {
            PushManager.prototype.subscribe = async options => ({ toJSON: () => ({ ...subscription, options }) })
            const event = new ExtendableEvent("pushsubscriptionchange")
            let work
            event.waitUntil = promise => { work = promise }
            dispatchEvent(event)
            await work
        }""", subscription)
        id, outcome = self.send()
        self.assertEqual(outcome["sent"], 1)
        self.deliver(self.pushes("replaced")[0])
        self.shows(id)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
