// The page: the devices, and a console that plays the backend.

import { Device } from "./device.js"
import { element, log, size } from "./page.js"

const pictures = ["photo.jpg", "sticker.png", "confetti.gif"]
const form = document.querySelector("#send")
const status = document.querySelector("#status")
let chosen = null
let last = null

// --- Devices

const devices = await (await fetch("/api/devices")).json()
document.querySelector("#devices").append(...devices.map(description => new Device(description).view))

// --- Choosing a picture

function choose(file, name) {
    chosen = file
    document.querySelector("#drop span").textContent = name ? `${name}, ${size(file.size)}` : "Drop a picture here, or choose one"
}

document.querySelector("#pictures").append(...pictures.map((name, index) =>
    element("label", { title: name },
        element("input", { type: "radio", name: "picture", value: name, checked: index === 0, "aria-label": name, onchange: () => choose(null) }),
        element("img", { src: `/pictures/${name}`, alt: "" }))))

const drop = document.querySelector("#drop")
document.querySelector("#file").onchange = event => take(event.target.files[0])
drop.ondragover = event => { event.preventDefault(); drop.classList.add("over") }
drop.ondragleave = () => drop.classList.remove("over")
drop.ondrop = event => { event.preventDefault(); drop.classList.remove("over"); take(event.dataTransfer.files[0]) }

function take(file) {
    if (!file) return
    choose(file, file.name)
    for (const radio of document.querySelectorAll("#pictures input")) radio.checked = false
}

async function picture() {
    return chosen ?? (await fetch(`/pictures/${form.elements.picture.value}`)).blob()
}

// --- Sending

async function call(path, query, body) {
    const response = await fetch(`/api/${path}?${new URLSearchParams(query)}`, { method: "POST", body })
    const answer = await response.json()
    if (!response.ok) throw new Error(answer.detail)
    return answer
}

function fields() {
    return Object.fromEntries([...new FormData(form)].filter(([name]) => name !== "picture" && name !== "file"))
}

async function report(work) {
    status.textContent = "Sending …"
    try {
        status.textContent = await work()
    } catch (error) {
        status.textContent = `Not done: ${error.message}`
    }
    await look()
}

form.onsubmit = event => {
    event.preventDefault()
    // As the form is now, and not once the picture has been read.
    const wanted = fields()
    report(async () => {
        const content = await picture()
        const sent = await call("send", wanted, content)
        last = sent.id
        document.querySelector("#edit").disabled = false
        log(`published ${sent.id}: ${size(content.size)} stored, ${sent.sent === 1 ? "a push" : `${sent.sent} pushes`} of at most ${size(sent.bytes)}`)
        return `Sent to ${sent.sent} device${sent.sent === 1 ? "" : "s"}${sent.missed ? `, missed by ${sent.missed}` : ""}.`
    })
}

document.querySelector("#edit").onclick = () => report(async () => {
    await call("edit", { id: last, buttons: fields().buttons })
    log(`changed the buttons of ${last}`)
    return "The buttons have changed on every screen."
})

document.querySelector("#many").onclick = event => {
    const button = event.target
    button.disabled = true
    report(async () => {
        const sent = await call("many", { count: 10_000, message: fields().message }, await picture())
        log(`published the same picture for ${sent.stored.toLocaleString()} users in ${sent.seconds} s`)
        return `Stored for ${sent.stored.toLocaleString()} users in ${sent.seconds} s: one picture.`
    }).finally(() => { button.disabled = false })
}

// --- Figures

let before = null

async function look() {
    const response = await fetch("/api/figures")
    if (!response.ok) return
    const now = await response.json()
    now.at = performance.now()
    const seconds = before ? (now.at - before.at) / 1_000 : 0
    const rate = seconds > 0 ? (now.requests - before.requests) / seconds : 0
    const rows = {
        "Notifications": now.notifications.toLocaleString(),
        "Pictures stored": now.blobs.toLocaleString(),
        "Bytes as published": size(now.bytes_referenced),
        "Bytes stored": size(now.bytes_stored),
        "Requests a second": Math.round(rate).toLocaleString(),
        "Fetch, median": percentile(now, 0.5),
        "Fetch, 99 %": percentile(now, 0.99),
    }
    document.querySelector("#figures").replaceChildren(
        ...Object.entries(rows).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]))
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

await look()
setInterval(look, 2_000)
