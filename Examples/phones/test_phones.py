"""Plays the stories of the page in Chromium: test_phones.py SITE [FOLDER FOR SCREENSHOTS]. Scripts/phones --check runs it."""
import os, re, shutil, sys, tempfile, unittest

from playwright.sync_api import expect, sync_playwright

SITE = sys.argv.pop(1)
FOLDER = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]) else None
ANN, WORK, WATCH, BOB = "#device-ann-iphone", "#device-ann-pixel", "#device-ann-watch", "#device-bob-pixel"
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

    def open(self, **options):
        context = self.browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        self.addCleanup(context.close)
        context.set_default_timeout(60_000)
        self.page = context.new_page()
        self.problems = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: request.url.startswith(("http://127.0.0.1:", "blob:", "data:")) or self.problems.append(request.url))
        self.page.goto(SITE)
        expect(self.page.locator(".device")).to_have_count(4)
        # All push services and feeds are connected.
        self.page.wait_for_function("fetch('/api/figures').then(answer => answer.json()).then(figures => figures.watchers >= 4)")
        return self.page

    def tearDown(self):
        self.assertEqual(self.problems, [])

    def notifications(self, device):
        return self.page.locator(f"{device} .notification:not(.leaving)")

    def send(self, **fields):
        for name, value in fields.items():
            control = self.page.locator(f"[name={name}]")
            control.select_option(value) if name in ("owner", "ttl", "style") else control.fill(value)
        self.page.get_by_role("button", name="Send", exact=True).click()
        expect(self.page.locator("#status")).to_contain_text("Sent to")

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
        expect(self.notifications(BOB)).to_have_count(before)
        # Each device fetches it once, although the feed tells of it too.
        self.page.wait_for_timeout(1_000)
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
        self.page.locator("[name=buttons]").fill("At seven, At eight")
        self.page.get_by_role("button", name="Change its buttons").click()
        for device in (ANN, WORK, WATCH):
            shown = self.notifications(device).filter(has_text="Dinner?")
            expect(shown.get_by_role("button", name="At eight")).to_be_visible()
            expect(shown.locator("img")).to_be_visible()
            expect(shown.get_by_role("button", name="Yes")).to_have_count(0)

    def test_the_buttons_of_a_category_change_on_all_of_its_notifications(self):
        self.page.locator("[name=category]").check()
        for message in ("Lunch?", "Cinema?"):
            self.send(message=message, buttons="Coming, Sorry")
            for device in (ANN, WORK, WATCH):
                expect(self.notifications(device).filter(has_text=message).get_by_role("button", name="Coming")).to_be_visible()
        self.page.locator("[name=buttons]").fill("Next week")
        self.page.get_by_role("button", name="Change its buttons").click()
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

    def test_a_phone_that_was_offline_catches_up(self):
        switch = self.page.locator(f"{WORK} input[type=checkbox]")
        switch.uncheck()
        for number in range(10):
            self.send(message=f"Missed {number} of ten")
        self.page.wait_for_timeout(100)
        self.assertEqual(self.notifications(WORK).filter(has_text="of ten").count(), 0)
        # One of them is dismissed meanwhile.
        self.notifications(ANN).filter(has_text="Missed 3 of ten").get_by_role("button", name="Dismiss").click()
        expect(self.notifications(ANN).filter(has_text="Missed 3 of ten")).to_have_count(0)
        switch.check()
        expect(self.notifications(WORK).filter(has_text="of ten")).to_have_count(9)
        expect(self.notifications(WORK).filter(has_text="Missed 3 of ten")).to_have_count(0)
        expect(self.notifications(WORK).filter(has_text="of ten").locator("img")).to_have_count(9)

    def test_one_picture_for_ten_thousand_users_is_stored_once(self):
        count = "fetch('/api/figures').then(answer => answer.json()).then(figures => figures.%s)"
        blobs, bytes_stored = (self.page.evaluate(count % name) for name in ("blobs", "bytes_stored"))
        self.page.get_by_role("button", name="To 10,000 users").click()
        expect(self.page.locator("#status")).to_contain_text("one picture", timeout=60_000)
        self.assertLessEqual(self.page.evaluate(count % "blobs"), blobs + 1)
        self.assertLess(self.page.evaluate(count % "bytes_stored") - bytes_stored, 1_000_000)
        expect(self.page.locator("#figures")).to_contain_text(re.compile(r"\d{2},\d{3}"))

    def test_a_picture_of_ones_own_is_sent(self):
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            self.page.locator("#devices").screenshot(path=file.name)
            self.page.locator("#file").set_input_files(file.name)
            self.send(owner="bob", message="For Bob alone")
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
                self.send(title="Ann", message="Look at this view", buttons="Like, Reply", owner="ann")
                self.send(title="Bob", message="Thursday at seven?", buttons="Yes, No", owner="bob")
                expect(self.notifications(BOB).first.locator("img")).to_be_visible()
                expect(self.notifications(ANN).first.locator("img")).to_be_visible()
                # Nothing is wider than the window.
                self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), width)
                self.picture(f"phones-{scheme}-{width}")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
