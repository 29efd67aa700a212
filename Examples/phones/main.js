// The page: the devices, and a console that plays the backend.

import { Computer } from "./computer.js"
import { Device, names, neighbor } from "./device.js"
import { element, log, post, remember, remembered, say, size, stopped, tick } from "./page.js"

const pictures = { "photo.jpg": "A lake", "sticker.png": "A star", "confetti.gif": "Confetti" }
const buttonsMax = 3
const lettersMax = 25
const form = document.querySelector("#send")
const edit = document.querySelector("#edit")
let chosen = null

// --- Devices

// The address names the page's devices: a reload finds them again, and whoever is given the address sees the same.
const page = await post("page", {})
history.replaceState(null, "", `#${page.id}`)
const devices = page.devices.map(description => description.platform === "webpush" ? new Computer(description) : new Device(description))
for (const device of devices) document.querySelector(device instanceof Computer ? "#computer" : "#devices").append(device.view)
addEventListener("pageshow", event => event.persisted && location.reload())
addEventListener("hashchange", () => location.reload())

/** One stream for all: a browser opens six connections to a server. */
function connect() {
    const stream = new EventSource(`${neighbor(2)}/api/stream?page=${page.id}`)
    const on = (name, handle) => stream.addEventListener(name, event => handle(JSON.parse(event.data)))
    const quietly = work => work.catch(error => log(error.message))
    const named = id => devices.find(device => device.id === id)
    on("ready", () => { for (const device of devices) quietly(device.catchUp()) })
    on("push", event => quietly(named(event.device).receive(event.push)))
    on("switched", event => {
        const device = named(event.device)
        if (device.isOn === event.isOn) return
        device.setOn(event.isOn)
        if (event.isOn) quietly(device.catchUp())
    })
    on("change", event => {
        if (event.change.kind === "expired") tick("expire")
        for (const device of devices) if (device.user === event.user) quietly(device.apply(event.change))
    })
    stream.onerror = () => {
        look()
        if (stream.readyState === EventSource.CLOSED) setTimeout(again, 2_000)
    }
}

async function again() {
    const found = await post("page", {}).catch(() => null)
    if (!found) setTimeout(again, 2_000)
    else if (found.id === page.id) connect()
    // The server was started again, and knows nothing of this page.
    else location.hash = found.id
}

// --- Choosing a picture

function choose(file) {
    chosen = file
    document.querySelector("#drop span").textContent = file ? `${file.name}, ${size(file.size)}` : "Drop a picture here, or choose one"
    tick("pick")
}

document.querySelector("#picture-help").textContent = `JPEG, PNG, GIF or WebP of at most ${size(page.pictureBytesMax)}.`
document.querySelector("#pictures").append(...Object.entries(pictures).map(([file, name], index) =>
    element("label", { title: name },
        element("input", { type: "radio", name: "picture", value: file, checked: index === 0, "aria-label": name, onclick: () => choose(null) }),
        element("img", { src: `/pictures/${file}`, alt: "" }))))

const drop = document.querySelector("#drop")
document.querySelector("#file").onchange = async event => {
    const [file] = event.target.files
    // So that the same file can be chosen again.
    event.target.value = ""
    if (file) await take(file)
}
// A file that misses its place must not replace the page.
addEventListener("dragover", event => { event.preventDefault(); drop.classList.add("over") })
addEventListener("dragleave", () => drop.classList.remove("over"))
addEventListener("drop", event => { event.preventDefault(); drop.classList.remove("over"); take(event.dataTransfer.files[0]) })

async function take(file) {
    const wrong = await wrongWith(file)
    if (wrong) return say(wrong)
    choose(file)
    say(`${file.name} is chosen.`)
    for (const radio of document.querySelectorAll("#pictures input")) radio.checked = false
}

async function wrongWith(file) {
    if (!file) return "That is not a file: drop a picture."
    if (file.size === 0) return `${file.name} is empty. Choose another picture.`
    if (file.size > page.pictureBytesMax) return `${file.name} has ${size(file.size)}; phones show at most ${size(page.pictureBytesMax)}.`
    const isPicture = await createImageBitmap(file).then(() => true, () => false)
    if (!isPicture) return `${file.name} is not a picture that phones show. Choose a JPEG, PNG, GIF or WebP.`
}

async function picture() {
    return chosen ?? (await fetch(`/pictures/${form.elements.picture.value}`).catch(stopped)).blob()
}

// --- Sending

let last = remembered("last", null)
let isBusy = false

const fields = () => Object.fromEntries([...new FormData(form)].filter(([name]) => name !== "picture" && name !== "file"))
const titles = () => form.elements.buttons.value.split(",").map(title => title.trim()).filter(Boolean)

/** What is wrong with a field, in a sentence. */
function wrongField(isEdit) {
    const long = titles().find(title => [...title].length > lettersMax)
    if (!isEdit && !form.elements.title.value.trim() && !form.elements.message.value.trim()) return ["title", "Write a title or a text: a push without words shows nothing."]
    if (titles().length > buttonsMax) return ["buttons", `A notification has room for ${buttonsMax} buttons; these are ${titles().length}.`]
    if (long) return ["buttons", `A button has room for ${lettersMax} letters; “${long.slice(0, 12)}…” has ${[...long].length}.`]
}

/** Does one thing at a time, and says what came of it. */
async function report(begin, work, isEdit) {
    if (isBusy) return
    const [field, sentence] = wrongField(isEdit) ?? []
    for (const name of ["title", "buttons"]) form.elements[name].ariaInvalid = name === field
    if (field) {
        say(sentence)
        return form.elements[field].focus()
    }
    isBusy = true
    form.classList.add("busy")
    say(begin)
    const result = await work().catch(error => `Not done: ${error.message}`)
    isBusy = false
    form.classList.remove("busy")
    say(result)
    look()
}

form.onsubmit = event => {
    event.preventDefault()
    // As the form is now, and not once the picture has been read.
    const wanted = fields()
    const receivers = devices.filter(device => device.user === wanted.to)
    report("Sending …", async () => {
        // On a small screen the phone is what one wants to see.
        if (matchMedia("(max-width: 60rem)").matches) receivers[0].view.scrollIntoView({ block: "start", inline: "center" })
        await Promise.all(devices.map(device => device.switching))
        const content = await picture()
        const sent = await post("send", wanted, content)
        last = { id: sent.id, shares: "shared" in wanted }
        remember("last", last)
        edit.disabled = false
        for (const step of ["pick", "send"]) tick(step)
        log(`published ${sent.id}: ${size(content.size)} stored, pushes of at most ${size(sent.bytes)}`)
        const of = ids => devices.filter(device => ids.includes(device.id))
        const count = sent.reached.length
        return [`Sent to ${count || "no"} device${count > 1 ? "s" : ""}.`,
            ...of(sent.off).map(device => `${device.name} is off: it will get this when you switch it on.`),
            ...of(sent.lost).map(device => `${device.name} has not confirmed it.`)].join(" ")
    })
}

// Before it is handled here, a click would load another page.
form.querySelector("[type=submit]").disabled = false

edit.disabled = !last
edit.onclick = () => report("Changing …", async () => {
    const entries = device => [...device.shown.values()].filter(entry => entry.id === last.id || (last.shares && entry.shares))
    const holders = devices.filter(device => entries(device).length > 0)
    if (holders.length === 0) return "No device shows it any more: there is nothing to change."
    const wanted = titles().join()
    await post("edit", { id: last.id, buttons: wanted })
    const show = device => device.isOn && entries(device).every(entry => [...entry.buttons.children].map(button => button.textContent).join() === wanted)
    for (let tries = 0; tries < 100 && !holders.every(device => show(device) || !device.isOn); tries++) await new Promise(done => setTimeout(done, 50))
    const shown = holders.filter(show)
    const off = holders.filter(device => !device.isOn)
    log(`changed the buttons of ${last.id}`)
    return [shown.length ? `${names(shown)} ${shown.length === 1 ? "shows" : "show"} ${wanted ? "the new buttons" : "no buttons now"}.` : "No device shows the change yet.",
        ...off.map(device => `${device.name} is off.`)].join(" ")
}, true)

document.querySelector("#many").onclick = () => report("Sending to 10,000 users …", async () => {
    const sent = await post("many", { count: 10_000, message: fields().message }, await picture())
    tick("many")
    log(`published the same picture for ${sent.stored.toLocaleString()} users in ${sent.seconds} s`)
    return `Stored for ${sent.stored.toLocaleString()} users in ${sent.seconds} s: one picture.`
})

// --- Figures

let before = null

async function look() {
    const response = await fetch("/api/figures").catch(() => null)
    const trouble = document.querySelector("#trouble")
    const words = response?.ok ? "" : response ? "blobd does not answer: nothing can be sent or fetched. Trying again …"
        : "Scripts/phones has stopped. Start it again in its terminal; this page then continues."
    // Set again, it would be read out again.
    if (trouble.textContent !== words) trouble.textContent = words
    trouble.hidden = !words
    if (words) return
    const now = await response.json()
    now.at = performance.now()
    const seconds = before ? (now.at - before.at) / 1_000 : 0
    const rate = seconds > 0 ? (now.requests - before.requests) / seconds : 0
    const rows = {
        "Notifications": now.notifications.toLocaleString(),
        "Pictures": now.blobs.toLocaleString(),
        "Sent, in all": size(now.bytes_referenced),
        "Stored for it": size(now.bytes_stored),
        "Requests/s": Math.round(rate).toLocaleString(),
        "Typical fetch": percentile(now, 0.5),
        "Slowest 1 %": percentile(now, 0.99),
    }
    document.querySelector("#figures").replaceChildren(
        ...Object.entries(rows).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))))
    before = now
}

/** Of all fetches since the start, as the upper bound of the histogram's bucket. */
function percentile(figures, share) {
    const counts = figures.fetch_buckets
    const all = counts.reduce((sum, count) => sum + count, 0)
    if (all === 0) return "–"
    let seen = 0
    for (const [index, count] of counts.entries()) {
        seen += count
        if (seen >= all * share) {
            const bound = figures.bucket_nanoseconds[index]
            return bound ? `≤ ${bound < 1_000_000 ? `${Math.round(bound / 1_000)} µs` : `${Math.round(bound / 1_000_000)} ms`}` : "slower"
        }
    }
    return "–"
}

tick()
for (const line of remembered("log", [])) document.querySelector("#log").append(element("li", {}, line))
connect()
await look()
setInterval(look, 2_000)
