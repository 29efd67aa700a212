"""Plays the stories of the page in Chromium: test_phones.py SITE BLOBD [FOLDER FOR SCREENSHOTS]. Scripts/phones --check runs it."""
import contextlib, hashlib, os, re, shutil, signal, subprocess, sys, tempfile, unittest
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "web"))
from desktop import Desktop

# Whoever starts this may block SIGTERM, as test runners do, and children inherit that.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
SITE, BLOBD = sys.argv.pop(1), sys.argv.pop(1)
SCRIPT = os.path.join(HERE, "..", "..", "Scripts", "phones")
PHOTO = os.path.join(HERE, "..", "payloads", "photo.jpg")
FOLDER = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else None
ANN, WORK, WATCH, BOB = "#device-ann-iphone", "#device-ann-pixel", "#device-ann-watch", "#device-bob-pixel"
COMPUTER = "#device-computer"
expect.set_options(timeout=60_000)


class PhoneTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.open()

    def open(self, site=SITE, **options):
        self.context = self.browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        self.addCleanup(self.context.close)
        self.context.set_default_timeout(60_000)
        self.problems, self.streams = [], []
        self.page = self.tab(site)
        return self.page

    def tab(self, address):
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.problems.append(message.text))
        page.on("request", lambda request: request.url.startswith(("http://127.0.0.1:", "blob:", "data:")) or self.problems.append(request.url))
        page.on("request", lambda request: re.search("/api/stream|/changes", request.url) and self.streams.append(request.url))
        page.goto(address)
        expect(page.locator(".device")).to_have_count(4)
        return page

    def tearDown(self):
        self.assertEqual(self.problems, [])

    def notifications(self, device, page=None):
        return (page or self.page).locator(f"{device} .notification:not(.leaving)")

    def send(self, **fields):
        for name, value in fields.items():
            control = self.page.locator(f"[name={name}]")
            if name == "style":
                self.page.locator("details").evaluate("details => { details.open = true }")
            control.select_option(value) if name in ("to", "ttl", "style") else control.fill(value)
        self.page.get_by_role("button", name="Send", exact=True).click()
        self.says("Sent to")

    def says(self, *sentences):
        for sentence in sentences:
            expect(self.page.locator("#status")).to_contain_text(sentence)

    def switch(self, device):
        return self.page.locator(f"{device} input[type=checkbox]")

    def choose(self, name, content=b"", byte_count=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(content)
                file.truncate(byte_count or len(content))
            self.page.locator("#file").set_input_files(path)
            expect(self.page.locator("#status")).to_contain_text(name)

    def change_buttons(self, buttons):
        self.page.locator("[name=buttons]").fill(buttons)
        self.page.get_by_role("button", name="Change the buttons").click()

    def picture(self, name):
        if FOLDER:
            self.page.screenshot(path=os.path.join(FOLDER, name + ".png"), full_page=True, animations="disabled")

    def test_a_picture_reaches_all_devices_of_a_user_and_nobody_else(self):
        before = self.notifications(BOB).count()
        fetches = []
        self.page.on("request", lambda request: re.search(r"/d/[0-9]+\?|/payload$", request.url) and fetches.append(request.url))
        self.send(message="A view of the lake")
        for device in (ANN, WORK, WATCH):
            first = self.notifications(device).first
            expect(first).to_contain_text("A view of the lake")
            expect(first.locator("img")).to_have_js_property("complete", True)
            self.assertGreater(first.locator("img").evaluate("image => image.naturalWidth"), 0)
            expect(first.get_by_role("button", name="Like")).to_be_visible()
        self.says("Sent to 3 devices.")
        expect(self.notifications(BOB)).to_have_count(before)
        # Each device has fetched it once.
        self.assertEqual(len(fetches), 3, fetches)

    def test_a_silent_push_shows_the_same(self):
        self.send(message="In silence", style="silent")
        for device in (ANN, WORK, WATCH):
            expect(self.notifications(device).first).to_contain_text("In silence")

    def test_a_tap_on_one_device_withdraws_it_from_the_others(self):
        self.send(message="Who is coming?")
        for device in (ANN, WORK, WATCH):
            expect(self.notifications(device).filter(has_text="Who is coming?")).to_have_count(1)
        self.notifications(ANN).filter(has_text="Who is coming?").get_by_role("button", name="Like").click()
        for device in (ANN, WORK, WATCH):
            expect(self.notifications(device).filter(has_text="Who is coming?")).to_have_count(0)

    def test_a_dismissal_does_so_too(self):
        self.send(message="Away with it")
        expect(self.notifications(WATCH).filter(has_text="Away with it")).to_have_count(1)
        self.notifications(WATCH).filter(has_text="Away with it").get_by_role("button", name="Dismiss").click()
        for device in (ANN, WORK):
            expect(self.notifications(device).filter(has_text="Away with it")).to_have_count(0)

    def test_buttons_change_after_delivery(self):
        self.send(message="Dinner?", buttons="Yes, No")
        shown = self.notifications(WORK).filter(has_text="Dinner?")
        expect(shown.get_by_role("button", name="Yes")).to_be_visible()
        self.change_buttons("At seven, At eight")
        self.says("Ann’s phone, Ann’s tablet, and Ann’s watch show the new buttons.")
        for device in (ANN, WORK, WATCH):
            shown = self.notifications(device).filter(has_text="Dinner?")
            expect(shown.get_by_role("button", name="At eight")).to_be_visible()
            expect(shown.locator("img")).to_be_visible()
            expect(shown.get_by_role("button", name="Yes")).to_have_count(0)

    def test_shared_buttons_change_on_all_of_its_notifications(self):
        self.page.locator("summary").click()
        self.page.locator("[name=shared]").check()
        for message in ("Lunch?", "Cinema?"):
            self.send(message=message, buttons="Coming, Sorry")
            for device in (ANN, WORK, WATCH):
                expect(self.notifications(device).filter(has_text=message).get_by_role("button", name="Coming")).to_be_visible()
        self.change_buttons("Next week")
        for device in (ANN, WORK, WATCH):
            for message in ("Lunch?", "Cinema?"):
                shown = self.notifications(device).filter(has_text=message)
                expect(shown.get_by_role("button", name="Next week")).to_be_visible()
                expect(shown.get_by_role("button", name="Coming")).to_have_count(0)
        self.notifications(WORK).filter(has_text="Lunch?").get_by_role("button", name="Next week").click()
        for device in (ANN, WATCH):
            expect(self.notifications(device).filter(has_text="Lunch?")).to_have_count(0)
            expect(self.notifications(device).filter(has_text="Cinema?")).to_have_count(1)

    def test_a_notification_expires_before_ones_eyes(self):
        self.send(message="Only for a moment", ttl="10")
        expect(self.notifications(ANN).filter(has_text="Only for a moment")).to_have_count(1)
        expect(self.notifications(ANN).filter(has_text="Only for a moment")).to_have_count(0, timeout=30_000)

    def test_a_device_that_was_off_catches_up(self):
        self.switch(WORK).uncheck()
        for number in range(10):
            self.send(message=f"Missed {number} of ten")
            self.says("Sent to 2 devices.", "Ann’s tablet is off: it will get this when you switch it on.")
        expect(self.page.locator(f"{WORK} .note")).to_have_text("Off. 10 wait for it in blobd.")
        self.assertEqual(self.notifications(WORK).count(), 0)
        # One of them is dismissed meanwhile.
        self.notifications(ANN).filter(has_text="Missed 3 of ten").get_by_role("button", name="Dismiss").click()
        expect(self.notifications(ANN).filter(has_text="Missed 3 of ten")).to_have_count(0)
        expect(self.page.locator(f"{WORK} .note")).to_have_text("Off. 9 wait for it in blobd.")
        self.switch(WORK).check()
        expect(self.notifications(WORK)).to_have_count(9)
        # In the order of publishing, whichever picture came first.
        expected = [f"Missed {number} of ten" for number in (9, 8, 7, 6, 5, 4, 2, 1, 0)]
        for device in (ANN, WORK):
            self.assertEqual(self.notifications(device).locator("p").all_inner_texts(), expected)
        expect(self.notifications(WORK).locator("img")).to_have_count(9)

    def test_a_device_that_is_off_cannot_answer(self):
        self.send(message="Still there?")
        self.switch(WATCH).uncheck()
        like = self.notifications(WATCH).locator("button", has_text="Like")
        with self.assertRaises(Exception):
            like.click(timeout=500)
        self.change_buttons("Love")
        self.says("Ann’s phone and Ann’s tablet show the new buttons.", "Ann’s watch is off.")
        expect(self.notifications(ANN)).to_have_count(1)

    def test_buttons_that_nobody_shows_are_not_said_to_change(self):
        self.send(message="Quick")
        self.notifications(ANN).get_by_role("button", name="Like").click()
        for device in (ANN, WORK, WATCH):
            expect(self.notifications(device)).to_have_count(0)
        self.change_buttons("Love")
        self.says("No device shows it any more: there is nothing to change.")

    def test_only_what_a_device_acknowledged_counts_as_sent(self):
        # The tablet gets its push, and never its picture.
        self.page.route(re.compile("/d/[0-9]+[?]"), lambda route: route.abort() if next(fetches) == 0 else route.continue_())
        fetches = iter(range(100))
        self.page.get_by_role("button", name="Send", exact=True).click()
        self.says("Sent to 2 devices.", "has not confirmed it.")
        expect(self.page.get_by_text("The picture did not come.")).to_have_count(1)
        self.problems.clear()

    def test_a_push_that_cannot_be_made_publishes_nothing(self):
        status = """fetch(`/api/send?page=${location.hash.slice(1)}&to=ann&style=alert`, { method: "POST", body: new Blob(["x"], { type: "image/png" }) })
            .then(response => response.status)"""
        count = "fetch('/api/figures').then(answer => answer.json()).then(figures => figures.notifications)"
        before = self.page.evaluate(count)
        self.assertEqual(self.page.evaluate(status), 422)
        self.assertEqual(self.page.evaluate(count), before)
        self.problems.clear()

    def test_a_click_sends_once(self):
        self.page.get_by_role("button", name="Send", exact=True).dblclick()
        self.says("Sent to 3 devices.")
        self.send(message="The second")
        expect(self.notifications(ANN)).to_have_count(2)

    def test_bad_input_gets_a_sentence_and_no_request(self):
        posts = []
        self.page.on("request", lambda request: re.search("/api/(send|many|edit)", request.url) and posts.append(request.url))
        for name, content, byte_count, sentence in (
            ("empty.png", b"", 0, "empty.png is empty."),
            ("text.png", b"This is text.", 13, "text.png is not a picture that phones show."),
            ("large.png", b"", 16_000_000, "large.png has 16 MB; phones show at most 10 MB."),
            ("film.png", b"", 60_000_000, "film.png has 60 MB; phones show at most 10 MB."),
        ):
            self.choose(name, content, byte_count)
            self.says(sentence)
        for fields, sentence in (
            ({"title": "", "message": " "}, "Write a title or a text"),
            ({"title": "Ann", "buttons": "a, b, c, d"}, "room for 3 buttons; these are 4."),
            ({"buttons": "Donaudampfschifffahrtsgesellschaft"}, "room for 25 letters; “Donaudampfsc…” has 34."),
        ):
            for name, value in fields.items():
                self.page.locator(f"[name={name}]").fill(value)
            self.page.get_by_role("button", name="Send", exact=True).click()
            self.says(sentence)
            expect(self.page.locator("[aria-invalid=true]")).to_be_focused()
        self.assertEqual(posts, [])
        expect(self.page.get_by_text("at most 10 MB.")).to_be_visible()
        # Without buttons it is sent, and a long word stays within its button.
        self.send(buttons="")
        self.change_buttons("Donaudampfschifffahrtsges")
        self.says("show the new buttons")
        self.assertTrue(self.notifications(WATCH).get_by_role("button").last.evaluate("button => button.scrollWidth <= button.clientWidth"))
        self.change_buttons("")
        self.says("show no buttons now")

    def test_the_same_file_can_be_chosen_twice(self):
        for _ in range(2):
            self.page.locator("#file").set_input_files(PHOTO)
            self.says("photo.jpg is chosen.")
            self.send(message="From a file")
            self.page.get_by_role("radio", name="A star").click()
            expect(self.page.locator("#drop")).to_contain_text("Drop a picture here")

    def test_two_people_have_pages_of_their_own_and_can_share_one(self):
        other = self.tab(SITE)
        self.assertNotEqual(other.url, self.page.url)
        same = self.tab(self.page.url)
        self.send(message="Seen by two")
        for page in (self.page, same):
            for device in (ANN, WORK, WATCH):
                expect(self.notifications(device, page).locator("img")).to_have_count(1)
        self.notifications(ANN, same).get_by_role("button", name="Like").click()
        expect(self.notifications(WATCH)).to_have_count(0)
        self.switch(WORK).uncheck()
        expect(same.locator(f"{WORK} input[type=checkbox]")).not_to_be_checked()
        self.assertEqual(self.notifications(ANN, other).count(), 0)

    def test_five_tabs_at_once_all_work(self):
        for self.page in [self.page, *(self.tab(SITE) for _ in range(4))]:
            self.send(message="In this tab")
            expect(self.notifications(WATCH).locator("img")).to_have_count(1)
            open_requests = "performance.getEntriesByType('resource').filter(entry => /changes|stream/.test(entry.name)).length"
            self.assertLessEqual(self.page.evaluate(open_requests), 1)
        self.assertEqual(len({*self.streams}), 5, self.streams)

    def test_reload_and_back_find_what_was_there(self):
        self.send(message="First")
        self.switch(BOB).uncheck()
        self.send(message="Second")
        self.notifications(ANN).filter(has_text="First").get_by_role("button", name="Dismiss").click()
        expect(self.notifications(WORK)).to_have_count(1)
        for again in (self.page.reload, lambda: (self.page.goto("about:blank"), self.page.go_back())):
            again()
            for device in (ANN, WORK, WATCH):
                expect(self.notifications(device).locator("p")).to_have_text(["Second"])
                expect(self.notifications(device).locator("img")).to_be_visible()
            expect(self.switch(BOB)).not_to_be_checked()
            expect(self.page.locator("#steps li.done")).to_have_count(3)
            expect(self.page.locator("#log")).to_contain_text("published")
        self.change_buttons("Later")
        self.says("show the new buttons")

    def test_the_steps_tick_themselves(self):
        shown = self.page.locator("#steps li:visible")
        expect(shown).to_have_count(3)
        done = lambda step: expect(self.page.locator(f"#steps [data-step={step}]")).to_have_class("done")
        self.page.get_by_role("radio", name="A star").click()
        done("pick")
        self.send(message="One")
        done("send")
        self.notifications(ANN).get_by_role("button", name="Like").click()
        done("tap")
        expect(shown).to_have_count(6)
        self.switch(BOB).uncheck()
        self.send(to="bob", ttl="10")
        self.says("Sent to no device.", "Bob’s phone is off")
        self.switch(BOB).check()
        expect(self.notifications(BOB)).to_have_count(1)
        done("off")
        self.page.get_by_role("button", name="Send to 10,000 users").click()
        expect(self.page.locator("#status")).to_contain_text("one picture", timeout=120_000)
        done("many")
        expect(self.page.locator("#steps [data-step=expire]")).to_have_class("done", timeout=30_000)

    @contextlib.contextmanager
    def script(self, port):
        """Another Scripts/phones: its address and its process."""
        with subprocess.Popen([SCRIPT, "--built", BLOBD, "--port", str(port)], stderr=subprocess.PIPE, text=True) as process:
            try:
                lines = []
                while not lines or not lines[-1].startswith("Open "):
                    lines.append(process.stderr.readline())
                    self.assertTrue(lines[-1], lines)
                yield lines[-1].split()[1], process, lines
            finally:
                process.terminate()
                lines.extend(process.stderr)

    def test_a_taken_port_gives_the_next_and_the_page_says_when_blobd_stops(self):
        taken = urlsplit(SITE).port
        with self.script(taken) as (site, process, lines):
            self.assertIn(f"Port {taken} or one of the next two is taken.\n", lines)
            self.assertGreater(urlsplit(site).port, taken)
            self.open(site)
            self.send(message="Before the end")
            first = self.page.url.split("#")[1]
            # blobd is the first program that it starts.
            os.kill(int(subprocess.check_output(["pgrep", "-o", "-P", str(process.pid)])), signal.SIGKILL)
            expect(self.page.locator("#trouble")).to_contain_text("has stopped")
            self.page.get_by_role("button", name="Send", exact=True).click()
            self.says("Not done: Scripts/phones has stopped.")
            # By itself, also where it takes a while: told to stop, it would end with 0.
            process.wait(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("blobd has stopped.\n", lines)
        # Started again, the page goes on by itself.
        with self.script(urlsplit(site).port):
            expect(self.page.locator("#trouble")).to_be_hidden(timeout=30_000)
            self.page.wait_for_url(re.compile(f"{site}/#(?!{first})"))
            self.send(message="After it")
        # Of the connections that were refused.
        self.problems.clear()

    # --- This computer

    def allow(self, page=None):
        """Has this computer show notifications. Returns its desktop."""
        self.context.grant_permissions(["notifications"], origin=SITE)
        page = page or self.page
        page.reload()
        page.locator(COMPUTER).get_by_role("button", name="Show notifications here").click()
        expect(page.locator(COMPUTER).get_by_role("button", name="Stop")).to_be_visible()
        desktop = Desktop(self.context.service_workers[0])
        desktop.be_patient()
        return desktop

    def test_this_computer_shows_what_is_sent_with_its_picture_and_buttons(self):
        desktop = self.allow()
        self.send(message="On the desktop")
        self.says("Sent to 4 devices.")
        [shown] = desktop.shown()
        self.assertEqual((shown["title"], shown["body"], shown["actions"], shown["page"]),
            ("Ann", "On the desktop", ["Like", "Reply"], self.page.url))
        # The service worker names it once it has it.
        digest = """async address => [...new Uint8Array(await crypto.subtle.digest("SHA-256", await (await fetch(address)).arrayBuffer()))]"""
        with open(PHOTO, "rb") as file:
            self.assertEqual(bytes(self.page.evaluate(digest, shown["image"])), hashlib.sha256(file.read()).digest())
        self.change_buttons("Love")
        self.waits(lambda: [one["actions"] for one in desktop.shown()] == [["Love"]])
        self.send(to="bob", message="For Bob")
        self.assertEqual(len(desktop.shown()), 1)

    def waits(self, condition):
        """Plays the page's events meanwhile."""
        for _ in range(3_000):
            if condition():
                return
            self.page.wait_for_timeout(20)
        self.fail("It did not come.")

    def test_an_answer_on_this_computer_goes_from_all_phones_and_the_reverse(self):
        desktop = self.allow()
        ids = []
        for message in ("A button", "A dismissal", "An answer elsewhere"):
            self.send(message=message)
            ids += [one["id"] for one in desktop.shown() if one["id"] not in ids]
        button, dismissal, elsewhere = ids
        desktop.do(button, action="b0")
        desktop.do(dismissal, "notificationclose")
        for device in (ANN, WORK, WATCH):
            expect(self.notifications(device).locator("p")).to_have_text(["An answer elsewhere"])
        self.notifications(WATCH).get_by_role("button", name="Like").click()
        self.waits(lambda: desktop.shown() == [])

    def test_on_this_computer_too_a_notification_expires(self):
        desktop = self.allow()
        self.send(message="Only for a moment", ttl="10")
        self.assertEqual(len(desktop.shown()), 1)
        self.waits(lambda: desktop.shown() == [])

    def test_this_computer_shows_while_another_tab_is_looked_at_and_stops_when_told(self):
        desktop = self.allow()
        same = self.tab(self.page.url)
        same.bring_to_front()
        expect(same.locator(COMPUTER).get_by_role("button", name="Stop")).to_be_visible()
        self.send(message="Behind")
        self.assertEqual(len(desktop.shown()), 1)
        # A page of its own takes the desktop over.
        other = self.tab(SITE)
        other.locator(COMPUTER).get_by_role("button", name="Show notifications here").click()
        for page in (self.page, same):
            expect(page.locator(COMPUTER).get_by_role("button", name="Show notifications here")).to_be_visible()
        self.waits(lambda: desktop.shown() == [])
        self.send(message="Not here")
        self.says("Sent to 3 devices.")
        other.locator(COMPUTER).get_by_role("button", name="Stop").click()
        expect(other.locator(COMPUTER).get_by_role("button", name="Show notifications here")).to_be_visible()

    def test_permission_is_asked_for_only_on_a_click_and_a_refusal_gets_a_sentence(self):
        asks = """Object.defineProperty(Notification, "permission", { get: () => window.given ?? "default", configurable: true })
            Notification.requestPermission = async () => { window.asked = true; return window.given = window.answer }"""
        for answer, sentence in ("denied", "Notifications of this page are blocked."), ("default", "press the button again"):
            page = self.open()
            page.add_init_script(asks + f"; window.answer = '{answer}'")
            page.reload()
            computer = page.locator(COMPUTER)
            expect(computer).to_contain_text("Your browser will ask whether this page may show notifications.")
            self.send(message="Not yet")
            self.says("Sent to 3 devices.")
            self.assertFalse(page.evaluate("Boolean(window.asked)"))
            computer.get_by_role("button").click()
            expect(page.locator("#status")).to_contain_text(sentence)
            self.assertEqual(computer.get_by_role("button").count(), answer == "default")

    def test_browsers_that_show_less_get_a_sentence(self):
        for script, sentence in (
            ("delete Notification.prototype.image", "have no picture"),
            ("delete Notification.prototype.image; delete Notification.prototype.actions", "have no picture: you see the text. This browser’s notifications have no buttons"),
            ("delete Navigator.prototype.serviceWorker", "no service workers in private windows"),
            ("delete window.PushManager; delete window.Notification", "On an iPhone, add the page to the Home Screen"),
        ):
            page = self.open()
            self.context.grant_permissions(["notifications"], origin=SITE)
            page.add_init_script(script)
            page.reload()
            expect(page.locator(COMPUTER)).to_contain_text(sentence)

    def test_names_and_sizes_for_everyone(self):
        self.send(message="A view")
        for device in ("Ann’s phone", "Ann’s tablet", "Ann’s watch", "Bob’s phone"):
            expect(self.page.get_by_role("article", name=device)).to_have_count(1)
            expect(self.page.get_by_role("switch", name=f"{device} is on")).to_be_checked()
        expect(self.page.locator(ANN).get_by_role("button", name="Dismiss “Ann: A view”")).to_be_visible()
        small = self.page.evaluate("""[...document.querySelectorAll("button, select, summary, label, input:not([type=radio], [type=file])")]
            .filter(control => control.checkVisibility()).map(control => [control.outerHTML, control.getBoundingClientRect()])
            .filter(([_, box]) => box.width < 24 || box.height < 24).map(([text]) => text)""")
        self.assertEqual(small, [])
        # The focus goes to what is next, and stays where buttons change.
        self.send(message="Another")
        self.notifications(ANN).first.get_by_role("button", name="Like").focus()
        self.change_buttons_from_elsewhere("Love")
        expect(self.notifications(ANN).first.get_by_role("button", name="Love")).to_be_focused()
        self.page.keyboard.press("Enter")
        expect(self.notifications(ANN).first.get_by_role("button", name="Like")).to_be_focused()
        self.page.keyboard.press("Enter")
        expect(self.page.locator(f"{ANN} .screen")).to_be_focused()

    def change_buttons_from_elsewhere(self, buttons):
        self.page.evaluate("""buttons => fetch(`/api/edit?page=${location.hash.slice(1)}&id=${document.querySelector(".notification").dataset.id}&buttons=${buttons}`,
            { method: "POST" })""", buttons)

    def test_the_figures_are_above_the_fold_and_the_screens_are_aligned(self):
        box = lambda selector: self.page.locator(selector).bounding_box()
        figures = box("#figures")
        self.assertLessEqual(figures["y"] + figures["height"], 900)
        self.assertEqual(len({(box(f"{device} .screen")["y"], box(f"{device} .screen")["height"]) for device in (ANN, WORK, BOB)}), 1)
        self.assertLess(box(f"{WATCH} .screen")["height"], 220)

    def test_on_a_small_screen_the_phone_is_what_one_sees_after_send(self):
        self.open(viewport={"width": 360, "height": 740})
        self.send(to="bob", message="Thursday?")
        shown = self.notifications(BOB).get_by_role("button", name="Like")
        expect(shown).to_be_in_viewport(ratio=1)
        expect(self.page.locator("#status")).to_be_in_viewport(ratio=1)

    def test_one_picture_for_ten_thousand_users_is_stored_once(self):
        count = "fetch('/api/figures').then(answer => answer.json()).then(figures => figures.%s)"
        blobs, bytes_stored = (self.page.evaluate(count % name) for name in ("blobs", "bytes_stored"))
        self.page.get_by_role("button", name="Send to 10,000 users").click()
        expect(self.page.locator("#status")).to_contain_text("one picture", timeout=120_000)
        self.assertLessEqual(self.page.evaluate(count % "blobs"), blobs + 1)
        self.assertLess(self.page.evaluate(count % "bytes_stored") - bytes_stored, 1_000_000)
        expect(self.page.locator("#figures")).to_contain_text(re.compile(r"\d{2},\d{3}"))

    def test_a_picture_of_ones_own_is_sent(self):
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            self.page.locator("#devices").screenshot(path=file.name)
            self.page.locator("#file").set_input_files(file.name)
            self.send(to="bob", message="For Bob alone")
        expect(self.notifications(BOB).filter(has_text="For Bob alone").locator("img")).to_be_visible()
        self.assertEqual(self.notifications(ANN).filter(has_text="For Bob alone").count(), 0)

    def test_the_keyboard_is_enough(self):
        self.page.locator("[name=message]").focus()
        self.page.keyboard.type(" by keyboard")
        self.page.keyboard.press("Enter")
        shown = self.notifications(ANN).filter(has_text="by keyboard")
        expect(shown).to_have_count(1)
        shown.get_by_role("button", name="Like").focus()
        self.page.keyboard.press("Enter")
        expect(shown).to_have_count(0)

    def test_screenshots_in_both_themes_and_on_a_phone(self):
        for scheme in ("light", "dark"):
            for width, height in ((1280, 900), (360, 740)):
                self.open(viewport={"width": width, "height": height}, color_scheme=scheme)
                self.send(title="Ann", message="Look at this view", buttons="Like, Reply", to="ann")
                self.send(title="Bob", message="Thursday at seven?", buttons="Yes, No", to="bob")
                expect(self.notifications(BOB).first.locator("img")).to_be_visible()
                expect(self.notifications(ANN).first.locator("img")).to_be_visible()
                # Nothing is wider than the window.
                wide = "[...document.querySelectorAll('body *')].filter(one => !one.closest('#devices') && one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML)"
                self.assertEqual(self.page.evaluate(wide), [])
                self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), width)
                self.picture(f"phones-{scheme}-{width}")
                self.allow()
                self.picture(f"phones-{scheme}-{width}-allowed")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
