// The computer that shows the page, as one more device: what is sent becomes a notification of its desktop. The page's
// stream takes the place of a push service; the service worker is that of Examples/web.

import { element, log, post, say } from "./page.js"
import { ask, trouble } from "./subscribe.js"

const limits = {
    image: "This browser’s notifications have no picture: you see the text.",
    actions: "This browser’s notifications have no buttons: click the notification, or dismiss it.",
}

/** What this browser cannot show, in sentences: Firefox and Safari have neither on some systems. */
function lacking() {
    if (!("Notification" in window)) return ""
    return Object.keys(limits).filter(name => !(name in Notification.prototype)).map(name => limits[name]).join(" ")
}

export class Computer {
    constructor(description) {
        const { id, name, user, ownerName } = description
        Object.assign(this, { id, name, user, ownerName })
        // The console asks all devices for what they show, whose buttons change; the desktop has that here.
        this.shown = new Map()
        this.pushed = new Map()
        this.words = element("p", { id: "computer-words" })
        this.button = element("button", { type: "button", "aria-describedby": "computer-words", onclick: () => this.press() })
        this.view = element("article", { className: "computer", id: `device-${this.id}`, "aria-label": this.name },
            element("h2", {}, this.name), this.words, this.button)
        addEventListener("storage", () => this.update())
        this.update()
    }

    /** One page at a time shows its notifications on the desktop: they belong to the browser. */
    get isOn() { return localStorage.computer === location.hash && globalThis.Notification?.permission === "granted" && !trouble() }

    update() {
        const words = trouble()
        this.button.hidden = Boolean(words)
        this.button.textContent = this.isOn ? "Stop" : "Show notifications here"
        const name = this.ownerName
        this.words.textContent = words ?? [this.isOn
            ? `What you send to ${name} appears on your desktop, also while you look at another tab. Answer it there, or on a phone.`
            : `Your browser will ask whether this page may show notifications. Then what you send to ${name} appears on your desktop.`,
        lacking()].filter(Boolean).join(" ")
    }

    async press() {
        this.button.disabled = true
        try {
            if (this.isOn) await this.stop()
            else await this.begin()
        } catch (error) {
            say(error.message)
        }
        this.button.disabled = false
        this.update()
    }

    async begin() {
        if (await Notification.requestPermission() !== "granted") throw new Error(trouble() ?? "Not allowed yet: press the button again to be asked.")
        await navigator.serviceWorker.register("sw.js")
        await ask({ call: "leave", session: this.session })
        await ask({ call: "subscribe", session: this.session, subscription: {} })
        localStorage.computer = location.hash
        await post("switch", { device: this.id, on: true })
        log(`${this.name} shows notifications`)
    }

    async stop() {
        localStorage.removeItem("computer")
        await post("switch", { device: this.id, on: false })
        await ask({ call: "unsubscribe" })
    }

    get session() { return location.hash.slice(1) }

    // --- As a device

    setOn() { this.update() }

    async receive(text) {
        if (!this.isOn) return
        const { notification } = JSON.parse(text)
        this.pushed.set(notification.tag, { ...notification, navigate: location.href })
        await ask({ call: "receive", notification: this.pushed.get(notification.tag) })
        log(`${this.name} shows ${notification.tag} on the desktop`)
        await post("shown", { device: this.id, id: notification.tag })
    }

    /** After a reload, and after the stream broke. */
    async catchUp() { if (this.isOn) await ask({ call: "look" }) }

    async apply({ id, kind, notification }) {
        if (!this.isOn || kind === "published") return
        if (notification?.action_state !== "none") return this.catchUp()
        // Other buttons.
        if (this.pushed.has(id) && await this.shows(id)) await ask({ call: "receive", notification: this.pushed.get(id) })
    }

    async shows(id) {
        const registration = await navigator.serviceWorker.ready
        // Not while the service worker shows another.
        const shown = await navigator.locks.request("shown", () => registration.getNotifications({ tag: id }))
        return shown.length > 0
    }
}
