// A device: it gets pushes, fetches pictures by their links, follows its user's feed with its token, and responds.

import { element, log, size } from "./page.js"

/** The address of this page's host at another port (Scripts/phones). */
const neighbor = distance => `${location.protocol}//${location.hostname}:${Number(location.port) + distance}`
const site = neighbor(1)
const pushService = neighbor(2)

export class Device {
    constructor(description) {
        Object.assign(this, description)
        this.shown = new Map()
        // Where in the feed it is; a device that was offline continues there.
        this.cursor = null
        this.build()
        this.connect()
    }

    // --- Its look

    build() {
        this.online = element("input", { type: "checkbox", checked: true, onchange: () => this.setOnline(this.online.checked) })
        this.list = element("div", { "aria-live": "polite" })
        this.empty = element("p", { className: "empty" }, "No notifications")
        this.time = element("span")
        this.view = element("article", { className: `device ${this.kind}`, id: `device-${this.id}` },
            element("h2", {}, element("span", {}, this.name, " ", element("small", {}, this.system)),
                element("label", { className: "switch" }, this.online, " online")),
            element("div", { className: "screen" },
                element("div", { className: "clock" }, this.time, element("span", {}, this.ownerName)), this.list, this.empty))
        const tick = () => {
            this.time.textContent = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
        }
        tick()
        setInterval(tick, 10_000)
    }

    setOnline(isOnline) {
        this.view.classList.toggle("offline", !isOnline)
        if (isOnline) {
            this.connect()
        } else {
            this.pushes?.close()
            this.following?.abort()
        }
    }

    connect() {
        this.pushes = new EventSource(`${pushService}/api/push/${this.id}`)
        this.pushes.onmessage = event => this.receive(JSON.parse(event.data), event.data.length)
        this.following = new AbortController()
        this.follow(this.following.signal)
    }

    // --- Pushes

    /** A push has the id, the text and a link. The members of FCM's are in its message's data. */
    async receive(push, byteCount) {
        const data = push.message?.data ?? push
        log(`push of ${size(byteCount)} to ${this.name}`)
        const alert = push.aps?.alert ?? push.message?.notification ?? {}
        await this.show(data.richId, { title: alert.title ?? data.richTitle, message: alert.body ?? data.richMessage }, data.richUrl)
    }

    /** Shows a notification, or shows it again: with its picture and its buttons, if they are still there. */
    async show(id, text, link) {
        const known = this.shown.get(id)
        const entry = known ?? { id }
        this.shown.set(id, entry)
        // The push and the feed may bring it at the same time.
        entry.fetching ??= this.picture(entry, link)
        const [record, picture] = await Promise.all([this.call("GET", `notifications/${encodeURIComponent(id)}`), entry.fetching])
        // It was withdrawn meanwhile.
        if (this.shown.get(id) !== entry) return
        if (!record || record.action_state !== "none") return this.withdraw(id)
        if (picture) entry.picture = picture
        else entry.fetching = null
        entry.category = record.actions ? null : record.category
        const actions = record.actions ?? (record.category && await this.call("GET", `notifications/${encodeURIComponent(id)}/category`))?.actions
        if (this.shown.get(id) !== entry) return
        const buttons = (actions ?? []).map(action =>
            element("button", { type: "button", onclick: () => this.respond(id, action.identifier, action.title) }, action.title))
        const dismiss = element("button", { type: "button", "aria-label": "Dismiss", onclick: () => this.respond(id, "dismiss", "dismissed") }, "✕")
        const view = element("div", { className: "notification", role: "group", "aria-label": record.message ?? "Notification" },
            element("header", {}, element("span", {}, "Demo"), dismiss),
            element("strong", {}, record.title ?? text.title ?? ""), element("p", {}, record.message ?? text.message ?? ""),
            ...(entry.picture ? [element("img", { src: entry.picture, alt: "The picture of the notification" })] : []),
            element("div", { className: "actions" }, ...buttons))
        view.dataset.id = id
        if (entry.view) entry.view.replaceWith(view)
        else this.list.prepend(view)
        entry.view = view
        this.empty.hidden = true
    }

    /** Fetches the picture with its signed link, or with the token if the push was missed. */
    async picture(entry, link) {
        const begin = performance.now()
        const response = link
            ? await fetch(link)
            : await fetch(`${site}/d/me/notifications/${encodeURIComponent(entry.id)}/payload`, { headers: this.headers })
        if (!response.ok) return null
        const bytes = await response.blob()
        log(`${this.name} fetched ${size(bytes.size)} in ${Math.round(performance.now() - begin)} ms`)
        return URL.createObjectURL(bytes)
    }

    withdraw(id) {
        const entry = this.shown.get(id)
        this.shown.delete(id)
        if (!entry?.view) return
        entry.view.classList.add("leaving")
        setTimeout(() => {
            entry.view.remove()
            if (entry.picture) URL.revokeObjectURL(entry.picture)
            this.empty.hidden = this.list.childElementCount > 0
        }, matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
    }

    // --- Its user's feed

    get headers() { return { Authorization: `Bearer ${this.token}` } }

    /** Follows the changes as they come, from where it was. */
    async follow(signal) {
        while (!signal.aborted) {
            try {
                this.cursor ??= (await this.call("GET", "changes?since=latest")).next
                const response = await fetch(`${site}/d/me/changes?since=${this.cursor}`, {
                    headers: { ...this.headers, Accept: "text/event-stream" }, signal })
                if (!response.ok) throw new Error(`the feed answers ${response.status}`)
                for await (const event of events(response.body)) {
                    if (event.id) this.cursor = event.id
                    if (event.data) await this.apply(JSON.parse(event.data))
                }
            } catch (error) {
                if (signal.aborted) return
                await new Promise(done => setTimeout(done, 1_000))
            }
        }
    }

    async apply(change) {
        const record = change.notification
        if (change.kind === "category") {
            for (const [id, entry] of this.shown) if (entry.category === change.category.name) await this.show(id, {})
        } else if (change.kind === "published" && !this.shown.has(change.id)) {
            // The push comes a moment later, unless it was missed.
            const show = () => this.shown.has(change.id) || this.show(change.id, record).catch(error => log(`${this.name}: ${error.message}`))
            setTimeout(show, 500)
        } else if (change.kind === "updated" && record.action_state === "none") {
            if (this.shown.has(change.id)) await this.show(change.id, record)
        } else if (change.kind === "updated" || ["deleted", "expired", "left"].includes(change.kind)) {
            if (this.shown.has(change.id)) log(`${this.name} withdraws ${change.id}: ${record?.action_state ?? change.kind}`)
            this.withdraw(change.id)
        }
    }

    async respond(id, action, word) {
        log(`${this.name}: ${word}`)
        this.withdraw(id)
        await this.call("POST", `notifications/${encodeURIComponent(id)}/responses`, { action, key: crypto.randomUUID() })
    }

    /** Calls blobd; null where the notification is gone. */
    async call(method, path, document) {
        const response = await fetch(`${site}/d/me/${path}`, {
            method, headers: document ? { ...this.headers, "Content-Type": "application/json" } : this.headers,
            body: document && JSON.stringify(document) })
        if (response.status === 404) return null
        if (!response.ok) throw new Error((await response.json()).detail)
        return response.json()
    }
}

/** The events of a stream (`text/event-stream`), which EventSource cannot ask for with a token. */
async function* events(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        text += value
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
            const event = {}
            for (const line of text.slice(0, end).split("\n")) {
                const colon = line.indexOf(":")
                if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).trimStart()
            }
            yield event
        }
    }
}
