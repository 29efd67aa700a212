"""What tests see and do of a service worker's notifications, which headless Chromium keeps without a desktop."""
import time

DEADLINE = 60


def until(find, what):
    """What `find` returns, once that is true."""
    deadline = time.monotonic() + DEADLINE
    while not (found := find()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come")
        time.sleep(0.02)
    return found


class Desktop:
    def __init__(self, worker):
        self.worker = worker

    def be_patient(self, factor=8):
        """Multiplies the service worker's time-outs: on a busy machine the picture comes late. And what is shown stays:
        Chromium takes it from the screen after 25 s, which looks like a withdrawal."""
        self.worker.evaluate("""factor => {
            self.timeout ??= AbortSignal.timeout.bind(AbortSignal)
            AbortSignal.timeout = milliseconds => timeout(milliseconds * factor)
            self.show ??= registration.showNotification.bind(registration)
            registration.showNotification = (title, options) => show(title, { ...options, requireInteraction: true })
        }""", factor)

    def shown(self):
        return self.worker.evaluate("""async () => (await listed()).map(one =>
            ({ id: one.tag, title: one.title, body: one.body, image: one.image, page: one.data.page, actions: one.actions.map(action => action.title) }))""")

    def shows(self, *ids):
        """Waits until these are shown, and no others."""
        until(lambda: sorted(one["id"] for one in self.shown()) == sorted(ids), f"only {ids}")

    def do(self, id, event="notificationclick", action=""):
        """What the user does with a notification. A script's own event does not wait by itself."""
        self.worker.evaluate("""async ([id, name, action]) => {
            const notification = (await listed()).find(one => one.tag === id)
            const event = new NotificationEvent(name, { notification, action })
            const work = []
            event.waitUntil = promise => work.push(promise)
            if (name === "notificationclose") notification.close()
            self.opened = []
            clients.openWindow = async page => { self.opened.push(page) }
            dispatchEvent(event)
            // A window is only focused for a real click.
            await Promise.allSettled(work)
        }""", [id, event, action])
