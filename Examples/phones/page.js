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

export function log(text) {
    const list = document.querySelector("#log")
    const time = new Date().toLocaleTimeString([], { hour12: false })
    list.prepend(element("li", {}, element("time", {}, time), " ", text))
    while (list.childElementCount > 200) list.lastElementChild.remove()
}
