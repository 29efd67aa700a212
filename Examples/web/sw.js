// The service worker: shows what is pushed, with its picture and its buttons, and sends what the user does with it. Copy
// it to the root of your site, beside subscribe.js. The site's server forwards /devices to your backend
// (Examples/python/backend.py) and /d/ to blobd (docs/NGINX.md).

const site = ""                     // Another origin has to allow this one (CORS).
const patience = 8_000              // Milliseconds for the record and the picture together; then the text is shown alone.
const renewal = 24 * 3_600          // Seconds before its end in which the token for blobd is renewed.
const later = [401, 408, 429]       // Answers, besides 5xx, after which a response is sent again.

addEventListener("install", () => skipWaiting())
addEventListener("activate", event => event.waitUntil(clients.claim()))

// --- What is kept: `session` and `token` of who is signed in, and the responses that are not sent yet

let database
const connect = () => database ??= new Promise((done, failed) => {
    const opening = indexedDB.open("push", 1)
    opening.onupgradeneeded = () => ["kept", "responses"].forEach(name => opening.result.createObjectStore(name))
    opening.onsuccess = () => done(opening.result)
    opening.onerror = () => failed(opening.error)
})

async function store(name, work) {
    const begin = async () => (await connect()).transaction(name, "readwrite")
    const transaction = await begin().catch(() => { database = null; return begin() })  // The browser had closed it.
    const request = work(transaction.objectStore(name))
    return new Promise((done, failed) => {
        transaction.oncomplete = () => done(request.result)
        transaction.onabort = () => failed(transaction.error)
    })
}

const kept = name => store("kept", values => values.get(name))
const keep = (name, value) => store("kept", values => values.put(value, name))

// --- Calls

/** Tells the backend where this browser can be reached, or nothing new with {}. Returns a new token for blobd. */
async function register(device, signal) {
    const session = await kept("session"), headers = { Authorization: `Bearer ${session}` }
    const response = await fetch(`${site}/devices`, { method: "PUT", headers, body: JSON.stringify(device), signal })
    if (!response.ok) throw new Error(`The backend answers ${response.status}.`)
    const token = await response.json()
    const now = await store("kept", values => Object.assign(values.get("session"), {
        onsuccess: ({ target }) => { if (target.result === session) values.put(token, "token") } }))
    if (now !== session) throw new Error("The user has signed out.")
    return token
}

/** Calls blobd as the user. A token that has expired, or whose key was removed, is renewed once. */
async function call(path, options, signal) {
    const headers = { "Content-Type": "application/json" }
    const use = ({ token }) => fetch(`${site}/d/me/${path}`, { ...options, signal, headers: { ...headers, Authorization: `Bearer ${token}` } })
    const token = await kept("token"), isOld = !token || token.expires_at < Date.now() / 1_000 + renewal
    const renewed = isOld && await register({}, signal).catch(error => { if (!token) throw error })  // The old one may still do.
    const response = await use(renewed || token)
    return response.status === 401 && !renewed ? use(await register({}, signal)) : response
}

async function read(path, signal) {
    const response = await call(path, {}, signal)
    if (!response.ok && response.status !== 404) throw new Error(`blobd answers ${response.status}.`)
    return response.ok ? response.json() : null
}

// --- Pushes

addEventListener("push", event => event.waitUntil(receive(pushedBy(event) ?? {})))
const pushedBy = event => { try { return event.notification ?? event.data.json().notification } catch { return {} } }

async function receive(pushed) {
    const { richId: id, richUrl: link, richState: state } = pushed.data ?? {}
    const signal = AbortSignal.timeout(patience)
    const shown = { body: pushed.body, tag: id, data: { id, page: pushed.navigate } }, tag = id ?? "nothing"
    const session = await kept("session").catch(() => null)     // Null is a database that fails.
    let isOpen = !state && session !== undefined && Boolean(id ?? pushed.title)
    try {
        // What the user did while offline comes first: it may have been about this one.
        await send(signal)
        const record = isOpen && id ? await read(`notifications/${encodeURIComponent(id)}`, signal) : null
        // Answered elsewhere, expired, or another user's who was signed in here before.
        if (id) isOpen = record?.action_state === "none"
        if (record && isOpen) await Promise.all([
            buttons(record, signal).then(actions => { shown.actions = actions }),
            fetchPicture(link, signal).then(image => { if (image) shown.image = image }),
        ])
    } catch { /* It is late, or blobd or the backend is away: the text is shown with what has come. */ }
    await alone(async () => {
        const now = await kept("session").catch(() => session)  // The user may have signed out meanwhile.
        isOpen &&= now === session || session === null && now !== undefined
        // Browsers count a push that shows nothing against the site: what is withdrawn is replaced, and closed at once.
        await registration.showNotification(isOpen && pushed.title || location.host, isOpen ? shown : { tag, data: { id: tag }, silent: true })
    })
    if (!isOpen) await close(shown => shown === tag)
    await closeWithdrawn().catch(() => {})
}

async function buttons(record, signal) {
    const category = !record.actions && record.category
    const actions = category ? (await read(`notifications/${encodeURIComponent(record.id)}/category`, signal))?.actions : record.actions
    return (actions ?? []).slice(0, Notification.maxActions).map(({ identifier, title }) => ({ action: identifier, title }))
}

/** The address of the picture, once the browser has it in its cache; null where it is gone. */
async function fetchPicture(link, signal) {
    if (!link) return null
    const response = await fetch(link, { signal })
    if (!response.ok || !response.headers.get("Content-Type")?.startsWith("image/")) return null
    await response.blob()
    return link
}

/** One at a time: Chromium forgets what comes to be shown while another call lists what is. */
const alone = work => navigator.locks.request("shown", { signal: AbortSignal.timeout(patience) }, work).catch(work)
const listed = () => alone(async () => (await registration.getNotifications()).filter(shown => shown.data?.id))  // Not the site's own.
const close = async isMeant => (await listed()).filter(shown => isMeant(shown.tag)).forEach(shown => shown.close())

/** Closes what was answered elsewhere, has expired or was deleted: at each push, and when an open page says so. */
async function closeWithdrawn() {
    const signal = AbortSignal.timeout(patience)
    await Promise.all((await listed()).map(async shown => {
        const record = await read(`notifications/${encodeURIComponent(shown.tag)}`, signal)
        if (record?.action_state !== "none") shown.close()
    }))
}

// --- What the user does

addEventListener("notificationclick", event => {
    const { id, page } = event.notification.data ?? {}
    if (!id) return                 // It is the site's own.
    event.notification.close()
    event.waitUntil(respond(id, event.action || "default"))
    if (!event.action) event.waitUntil(open(page))
})
addEventListener("notificationclose", event => event.waitUntil(respond(event.notification.data?.id, "dismiss")))
addEventListener("sync", event => event.waitUntil(send().then(isEmpty => { if (!isEmpty) throw new Error("There is no way yet.") })))

/** Shows the page in a window that has it, or in a new one. */
async function open(page) {
    const url = webPage(page)
    const known = (await clients.matchAll({ type: "window", includeUncontrolled: true })).find(window => window.url === url)
    return known ? known.focus() : clients.openWindow(url)
}

/** The site's own page where a push names none, or what is no page of the web. Another site's is opened: the backend says so. */
function webPage(page) {
    try {
        const url = new URL(page ?? "", registration.scope)
        if (["http:", "https:"].includes(url.protocol)) return url.href
    } catch { /* It is no URL. */ }
    return registration.scope
}

async function respond(id, action) {
    if (!id) return
    const key = crypto.randomUUID()
    await store("responses", values => values.put({ id, action, key }, `${Date.now()} ${key}`))     // In their order.
    // Browsers without Background Sync send it with the next push, click or visit.
    if (!await send()) await registration.sync?.register("responses").catch(() => {})
}

/** Sends the responses that are kept; whether none is left. Each has a key, so that one sent twice counts once. */
async function send(signal = AbortSignal.timeout(patience)) {
    const names = await store("responses", values => values.getAllKeys())
    for (const name of names) {
        const { id, ...document } = await store("responses", values => values.get(name)) ?? {}
        if (!id) continue
        const path = `notifications/${encodeURIComponent(id)}/responses`
        const answer = await call(path, { method: "POST", body: JSON.stringify(document) }, signal).catch(() => null)
        if (!answer || answer.status >= 500 || later.includes(answer.status)) return false
        await store("responses", values => values.delete(name))
    }
    return true
}

// --- Signing in and out

addEventListener("message", event => {
    const look = () => send().then(closeWithdrawn), push = ({ notification }) => receive(notification)
    const { call } = event.data ?? {}
    if (!call) return               // It is the site's own.
    const work = { __proto__: null, leave, subscribe, unsubscribe, look, receive: push }[call]
    const answer = (work?.(event.data) ?? Promise.reject(new Error(`There is no call ${call}.`))).then(() => ({}), error => ({ error: error.message }))
    event.waitUntil(answer.then(document => event.ports[0]?.postMessage(document)))
})

/** Another user did not sign out here: what is pushed to that one must not reach this one. */
const leave = async ({ session }) => { if (![undefined, session].includes(await kept("session"))) await unsubscribe() }

const subscribe = ({ session, subscription }) => keep("session", session).then(() => reach(subscription))
const reach = subscription => register({ platform: "webpush", token: JSON.stringify(subscription) })

/** Leaves nothing of the user behind, even where the backend does not answer: the push service then says 410 to it. */
async function unsubscribe() {
    await send().catch(() => {})
    const headers = { Authorization: `Bearer ${await kept("session")}` }
    await fetch(`${site}/devices`, { method: "DELETE", headers, signal: AbortSignal.timeout(patience) }).catch(() => {})
    await (await registration.pushManager.getSubscription())?.unsubscribe().catch(() => {})
    for (const name of ["kept", "responses"]) await store(name, values => values.clear())
    await close(() => true)
}

/** The browser has replaced its subscription, or ended it. */
addEventListener("pushsubscriptionchange", event => event.waitUntil((async () => {
    if (!await kept("session")) return
    await reach(event.newSubscription ?? await registration.pushManager.subscribe({
        userVisibleOnly: true, applicationServerKey: (await (await fetch(`${site}/devices`)).json()).webpush }))
})()))
