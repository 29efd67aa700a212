// For your page: asks for permission, subscribes this browser, and signs it out.
//
//     import { follow, subscribe, trouble, unsubscribe } from "/subscribe.js"
//     button.hidden = Boolean(trouble())
//     button.onclick = () => subscribe(session)   // the session of Examples/python/backend.py, or its promise
//     follow(session, signal)                     // likewise; resolves when the signal is aborted or the session ends

const site = ""

/** Why this browser cannot show notifications, in a sentence for its user; null if it can. */
export function trouble() {
    if (!isSecureContext) return "Notifications need a page that is loaded over HTTPS."
    if (!("serviceWorker" in navigator)) return "This browser has no service workers in private windows: open the page in another one."
    if (!("PushManager" in window)) return "This browser cannot be sent notifications. On an iPhone, add the page to the Home Screen first."
    if (Notification.permission === "denied") return "Notifications of this page are blocked. Allow them in the browser’s settings for it; private windows always block them."
    return null
}

/** Call it only when the user clicks: it asks for permission, and only then awaits the session. Throws a sentence. */
export async function subscribe(session) {
    if (trouble()) throw new Error(trouble())
    if (await Notification.requestPermission() !== "granted") {
        throw new Error(trouble() ?? "Notifications are not allowed yet: press the button again to be asked.")
    }
    await navigator.serviceWorker.register("/sw.js")
    const { pushManager } = await navigator.serviceWorker.ready
    const { webpush } = await (await fetch(`${site}/devices`)).json()
        .catch(() => { throw new Error("The answer to GET /devices is not JSON: is it forwarded to the backend?") })
    if (!webpush) throw new Error("The backend has no key for browsers: start it with VAPID_KEY.")
    // Before anything is changed here: the former user is still signed in.
    const { ok, status } = await renew(await session)
    if (!ok) throw new Error(status === 401 ? "Nobody is signed in with this session." : `The backend answers ${status}.`)
    await ask({ call: "leave", session: await session })
    const subscription = await subscribeWith(webpush, pushManager)
    await ask({ call: "subscribe", session: await session, subscription: subscription.toJSON() })
}

/** Asks the backend for a token for blobd. */
const renew = (session, signal) =>
    fetch(`${site}/devices`, { method: "PUT", headers: { Authorization: `Bearer ${session}` }, body: "{}", signal })

async function subscribeWith(applicationServerKey, manager) {
    const subscribed = () => manager.subscribe({ userVisibleOnly: true, applicationServerKey })
    return subscribed().catch(async error => {
        if (error.name === "AbortError") throw new Error("The browser’s push service does not answer. Private windows have none.")
        if (error.name !== "InvalidStateError") throw error
        await (await manager.getSubscription())?.unsubscribe()      // It has a key that the backend had before.
        return subscribed()
    })
}

/** Signs this browser out, and closes what it shows. Ends the session. */
export const unsubscribe = () => ask({ call: "unsubscribe" })

/** Has the service worker do something, and waits for it. `receive` stands for a push, where a page has its own way. */
export async function ask(message) {
    if (!await navigator.serviceWorker?.getRegistration()) return   // Nobody has subscribed here: `ready` never comes.
    const { active } = await navigator.serviceWorker.ready
    const { error } = await new Promise(done => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = event => done(event.data)
        active.postMessage(message, [port2])
    })
    if (error) throw new Error(error)
}

/** Closes what is answered elsewhere, expires or is deleted, since browsers allow no push for that. Takes a session or its
 * promise, and resolves when `signal` is aborted or the session ends. */
export async function follow(session, signal) {
    session = await session
    for (let token, since = "latest"; !signal?.aborted;) try {
        if (since === "latest") await ask({ call: "look" })
        if (!token) {
            const answer = await renew(session, signal)
            if (answer.status === 401) return
            token = (await answer.json()).token
        }
        const response = await fetch(`${site}/d/me/changes?since=${since}&wait=50`, { headers: { Authorization: `Bearer ${token}` }, signal })
        if (response.status === 401) token = null
        if (!response.ok) throw new Error("It does not work now.")
        const { changes, next } = await response.json()
        if (changes.length > 0) await ask({ call: "look" })
        since = next
    } catch {
        since = "latest"
        await new Promise(done => setTimeout(done, 5_000))
    }
}
