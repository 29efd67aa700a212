// A device: it gets pushes, fetches pictures by their links, asks blobd with its token, and responds.

import { element, list, log, post, say, size, tick } from "./page.js"

/** The address of this page's host at another port (Scripts/phones). */
export const neighbor = distance => `${location.protocol}//${location.hostname}:${Number(location.port) + distance}`
const site = neighbor(1)

export class Device {
    constructor(description) {
        Object.assign(this, description)
        this.has = new Set(description.has)
        this.shown = new Map()
        this.waiting = new Set()
        this.build()
        this.setOn(this.isOn)
    }

    // --- Its look

    build() {
        this.switch = element("input", { type: "checkbox", role: "switch", "aria-label": `${this.name} is on`, onchange: () => {
            this.setOn(this.switch.checked)
            // A push that is sent next must find it so.
            this.switching = post("switch", { device: this.id, on: this.isOn }).catch(error => say(error.message))
            if (this.isOn) this.catchUp()
        } })
        this.empty = element("p", { className: "empty" }, "No notifications")
        this.list = element("div")
        this.time = element("span")
        this.screen = element("div", { className: "screen", tabIndex: 0, role: "group", "aria-label": `Screen of ${this.name}` },
            element("div", { className: "clock" }, this.time, element("span", {}, this.ownerName)), this.list, this.empty)
        this.note = element("p", { className: "note" })
        this.view = element("article", { className: `device ${this.kind}`, id: `device-${this.id}`, "aria-label": this.name },
            element("h2", {}, this.name, " ", element("small", {}, this.system)),
            element("label", { className: "switch" }, this.switch, " on"),
            element("div", { className: "body" }, this.screen, this.note))
        const showTime = () => {
            this.time.textContent = new Date().toLocaleTimeString([], { hour: "numeric", minute: "2-digit" })
        }
        showTime()
        setInterval(showTime, 10_000)
    }

    setOn(isOn) {
        this.isOn = this.switch.checked = isOn
        this.view.classList.toggle("off", !isOn)
        this.screen.inert = !isOn
        this.update()
    }

    update() {
        this.empty.hidden = this.shown.size > 0
        const count = this.waiting.size
        this.note.textContent = this.isOn ? "" : `Off. ${count ? `${count} ${count === 1 ? "waits" : "wait"} for it in blobd.` : ""}`
    }

    // --- Pushes

    /** A push has the id, the text and a link. The members of FCM's are in its message's data. */
    async receive(text) {
        if (!this.isOn) return
        log(`push of ${size(text.length)} to ${this.name}`)
        const push = JSON.parse(text)
        const data = push.message?.data ?? push
        const alert = push.aps?.alert ?? push.message?.notification ?? {}
        const entry = this.place(data.richId, alert.title ?? data.richTitle, alert.body ?? data.richMessage)
        entry.link = data.richUrl
        const record = await this.call("GET", `notifications/${encodeURIComponent(entry.id)}`)
        if (record?.action_state !== "none") this.withdraw(entry.id)
        else await this.complete(entry, record)
    }

    /** Shows the text at once, in the order of publishing. */
    place(id, title = "", message = "") {
        const known = this.shown.get(id)
        if (known) return known
        const name = [title, message].filter(Boolean).join(": ") || "Picture"
        const entry = { id, buttons: element("div", { className: "actions" }), picture: element("div", { className: "picture" }) }
        const dismiss = element("button", { type: "button", className: "dismiss", "aria-label": `Dismiss “${name}”`, onclick: () => this.respond(entry, "dismiss") }, "✕")
        entry.view = element("div", { className: "notification", role: "group", "aria-label": name },
            dismiss, element("strong", {}, title), element("p", {}, message), entry.picture, entry.buttons)
        entry.view.dataset.id = id
        const older = [...this.list.children].find(view => Number(view.dataset.id) < Number(id))
        this.list.insertBefore(entry.view, older ?? null)
        this.shown.set(id, entry)
        this.waiting.delete(id)
        this.update()
        return entry
    }

    /** Adds the buttons and the picture, and acknowledges. */
    async complete(entry, record) {
        entry.fetching ??= this.fetchPicture(entry)
        await Promise.all([entry.fetching, this.setButtons(entry, record)])
        if (this.has.has(entry.id) || this.shown.get(entry.id) !== entry) return
        this.has.add(entry.id)
        await post("shown", { device: this.id, id: entry.id })
    }

    /** With its signed link, or with the token if the push was missed. */
    async fetchPicture(entry) {
        const begin = performance.now()
        try {
            const response = entry.link
                ? await fetch(entry.link)
                : await fetch(`${site}/d/me/notifications/${encodeURIComponent(entry.id)}/payload`, { headers: this.headers })
            if (!response.ok) throw new Error(`blobd answers ${response.status}`)
            const bytes = await response.blob()
            log(`${this.name} fetched ${size(bytes.size)} in ${Math.round(performance.now() - begin)} ms`)
            entry.address = URL.createObjectURL(bytes)
            entry.picture.replaceChildren(element("img", { src: entry.address, alt: "Picture" }))
        } catch (error) {
            entry.fetching = null
            entry.picture.textContent = "The picture did not come."
            throw error
        }
    }

    async setButtons(entry, record) {
        entry.shares = !record.actions && record.category
        const actions = entry.shares ? (await this.call("GET", `notifications/${encodeURIComponent(entry.id)}/category`))?.actions : record.actions
        const focused = [...entry.buttons.children].indexOf(document.activeElement)
        entry.buttons.replaceChildren(...(actions ?? []).map(action =>
            element("button", { type: "button", onclick: () => this.respond(entry, action.identifier, action.title) }, action.title)))
        if (focused >= 0) (entry.buttons.children[focused] ?? entry.buttons.lastElementChild ?? this.screen).focus()
    }

    withdraw(id) {
        const entry = this.shown.get(id)
        this.shown.delete(id)
        this.waiting.delete(id)
        this.update()
        if (!entry) return
        const next = [entry.view.nextElementSibling, entry.view.previousElementSibling].find(view => view && !view.inert)
        if (entry.view.contains(document.activeElement)) (next?.querySelector(".actions button") ?? next?.querySelector("button") ?? this.screen).focus()
        entry.view.inert = true
        entry.view.classList.add("leaving")
        setTimeout(() => {
            entry.view.remove()
            if (entry.address) URL.revokeObjectURL(entry.address)
        }, matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
    }

    // --- Its user's notifications

    get headers() { return { Authorization: `Bearer ${this.token}` } }

    /** Shows what is there and nothing else: after a reload, after it was off, and after the stream broke. */
    async catchUp() {
        const before = [...this.shown.keys()]
        const { notifications } = await this.call("GET", "notifications?action_state=none")
        if (this.isOn && this.waiting.size) tick("off")
        const there = new Set(notifications.map(record => record.id))
        for (const id of before) if (this.isOn && !there.has(id)) this.withdraw(id)
        if (this.isOn) this.waiting.clear()
        await Promise.all(notifications.map(record => {
            if (this.isOn || this.has.has(record.id)) return this.complete(this.place(record.id, record.title, record.message), record)
            this.waiting.add(record.id)
        }))
        this.update()
    }

    /** A change from the feed. What was published comes by push. */
    async apply(change) {
        const { id, kind, notification } = change
        const isOpen = notification?.action_state === "none"
        if (!this.isOn) {
            // The device knows nothing of it; the page says what waits.
            if (isOpen && !this.shown.has(id)) this.waiting.add(id)
            else this.waiting.delete(id)
            this.update()
        } else if (kind === "category") {
            for (const entry of this.shown.values()) if (entry.shares === change.category.name) await this.setButtons(entry, { category: entry.shares })
        } else if (isOpen && kind === "updated") {
            if (this.shown.has(id)) await this.setButtons(this.shown.get(id), notification)
        } else if (!isOpen && this.shown.has(id)) {
            if (!this.shown.get(id).answered) log(`${this.name} withdraws ${id}: ${kind === "updated" ? "answered" : kind}`)
            this.withdraw(id)
        }
    }

    async respond(entry, action, word = "dismissed") {
        if (entry.answered) return
        entry.answered = true
        try {
            await this.call("POST", `notifications/${encodeURIComponent(entry.id)}/responses`, { action, key: crypto.randomUUID() })
            log(`${this.name}: ${word}`)
            tick("tap")
            this.withdraw(entry.id)
        } catch (error) {
            entry.answered = false
            say(`Not answered: ${error.message}`)
        }
    }

    /** Calls blobd; null where the notification is gone. */
    async call(method, path, document) {
        const response = await fetch(`${site}/d/me/${path}`, {
            method, headers: document ? { ...this.headers, "Content-Type": "application/json" } : this.headers,
            body: document && JSON.stringify(document) }).catch(() => { throw new Error("blobd does not answer.") })
        if (response.status === 404) return null
        if (!response.ok) throw new Error((await response.json().catch(() => ({}))).detail ?? "blobd does not answer.")
        return response.json()
    }
}

export const names = devices => list(devices.map(device => device.name))
