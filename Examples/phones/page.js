// Small things that all parts of the page use.

export function element(name, properties = {}, ...children) {
    const made = document.createElement(name)
    for (const [key, value] of Object.entries(properties)) {
        if (key.startsWith("aria-") || key === "role") made.setAttribute(key, value)
        else made[key] = value
    }
    made.append(...children)
    return made
}

export function size(byteCount) {
    if (byteCount < 1_000) return `${byteCount} B`
    const units = ["kB", "MB", "GB"]
    let value = byteCount / 1_000
    let unit = 0
    while (value >= 1_000 && unit < units.length - 1) { value /= 1_000; unit += 1 }
    return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

export const list = names => new Intl.ListFormat("en").format(names)

export function say(text) { document.querySelector("#status").textContent = text }

export function log(text) {
    const lines = document.querySelector("#log")
    const time = new Date().toLocaleTimeString([], { hour12: false })
    lines.prepend(element("li", {}, element("time", {}, time), " ", text))
    while (lines.childElementCount > 200) lines.lastElementChild.remove()
    remember("log", [...lines.children].map(line => line.textContent))
}

/** What a reload of this tab keeps; it belongs to the page that the address names. */
export const remember = (name, value) => sessionStorage.setItem(`${name}${location.hash}`, JSON.stringify(value))
export const remembered = (name, otherwise) => JSON.parse(sessionStorage.getItem(`${name}${location.hash}`)) ?? otherwise

/** Does one of the six things to try. */
export function tick(step) {
    const done = new Set(remembered("steps", []))
    if (step) remember("steps", [...done.add(step)])
    for (const item of document.querySelectorAll("#steps li")) {
        if (!done.has(item.dataset.step) || item.className === "done") continue
        item.className = "done"
        item.append(element("span", { className: "unseen" }, ", done"))
    }
    // The other three come when the first three are done.
    document.querySelector("#steps").classList.toggle("further", ["pick", "send", "tap"].every(first => done.has(first)))
}

/** For a fetch from the page's server that fails. */
export function stopped() { throw new Error("Scripts/phones has stopped.") }

/** Calls the page's server. */
export async function post(path, query, body) {
    const target = `/api/${path}?${new URLSearchParams({ page: location.hash.slice(1), ...query })}`
    const response = await fetch(target, { method: "POST", body }).catch(stopped)
    const answer = await response.json().catch(() => ({ detail: `The server answers ${response.status}.` }))
    if (!response.ok) throw new Error(answer.detail)
    return answer
}
