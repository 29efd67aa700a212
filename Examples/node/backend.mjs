// A backend that sends pictures to phones, for Node 18 or later and without packages. Its calls, variables and rules are
// those of ../python/backend.py, which explains them; DEVICES is a JSON file here.
//
//     USERS=ann:secret node backend.mjs 8081
import { createHash, createHmac, randomBytes, sign, timingSafeEqual } from "node:crypto"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import http from "node:http"
import http2 from "node:http2"
import { setTimeout as sleep } from "node:timers/promises"

const environment = process.env
const PICTURE_BYTES_MAX = 10_000_000
const DOCUMENT_BYTES_MAX = 8_192
const LIFETIME = 24 * 3600 // Seconds, of a notification.
const TOKEN_LIFETIME = 7 * 24 * 3600 // Of a device's token.
const ATTEMPTS_MAX = 5
const PAUSE = Number(environment.PUSH_PAUSE ?? 1) // Seconds after the first failed attempt; it doubles.
const PAUSE_MAX = 60
const CA = environment.PUSH_CA && readFileSync(environment.PUSH_CA)

class Unregistered extends Error {}

class Refused extends Error {
  constructor(status, words) {
    super(words)
    this.status = status
  }
}

const now = () => Math.floor(Date.now() / 1000)
const sha256 = (text) => createHash("sha256").update(text).digest()

function jwt(header, claims, signature) {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
  return `${text}.${signature(Buffer.from(text)).toString("base64url")}`
}

// --- APNs and FCM

const connections = new Map()

/** An HTTP/2 POST, over one connection for each host. */
function post(address, fields, body) {
  const url = new URL(address)
  let connection = connections.get(url.origin)
  if (!connection || connection.closed || connection.destroyed) {
    connections.set(url.origin, (connection = http2.connect(url.origin, { ca: CA })))
    connection.on("error", () => {}) // Its requests fail with the same error.
  }
  return new Promise((resolve, reject) => {
    const stream = connection.request({ ":method": "POST", ":path": url.pathname, ...fields })
    let headers, text = ""
    stream.setEncoding("utf8").setTimeout(10_000, () => stream.destroy(new Error("no answer within 10 s")))
    stream.on("response", (received) => (headers = received)).on("data", (data) => (text += data)).on("error", reject)
    stream.on("close", () => headers ? resolve({ status: headers[":status"], headers, text }) : reject(new Error("no answer")))
    stream.end(body)
  })
}

class Service {
  renewAt = 0
  hasAccepted = false

  async bearer() {
    if (now() >= this.renewAt) {
      this.renewAt = Infinity // Who comes meanwhile waits for the same token.
      this.token = this.newToken().then(([token, seconds]) => {
        this.renewAt = now() + seconds
        return token
      })
      this.token.catch(() => (this.renewAt = 0))
    }
    return this.token
  }

  async send(device, push) {
    let problem
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      let pause = PAUSE * 2 ** attempt
      const bearer = await this.bearer()
      try {
        const answer = await this.request(device, push, bearer)
        if (answer.status === 200) return void (this.hasAccepted = true)
        problem = `${answer.status} ${answer.text}`
        if (this.isUnregistered(answer)) throw new Unregistered(problem)
        if (this.isTokenRefused(answer)) this.renewAt = pause = 0
        else if (![429, 500, 502, 503, 504].includes(answer.status)) break // It would be refused again.
        pause = Number(answer.headers["retry-after"] ?? pause)
      } catch (error) {
        if (error instanceof Unregistered) throw error
        problem = error.message
      }
      if (attempt + 1 === ATTEMPTS_MAX || !(pause <= PAUSE_MAX)) break
      pause *= 1 + Math.random() / 4
      console.log(`${this.constructor.name}: ${problem}; trying again in ${pause.toFixed(1)} s`)
      await sleep(pause * 1000)
    }
    throw new Error(problem)
  }
}

class APNs extends Service {
  url = environment.APNS_URL ?? "https://api.push.apple.com"
  key = readFileSync(environment.APNS_KEY)

  async newToken() {
    const signature = (text) => sign("sha256", text, { key: this.key, dsaEncoding: "ieee-p1363" })
    const header = { alg: "ES256", kid: environment.APNS_KEY_ID }
    // Apple refuses one that is older than an hour, and new ones within 20 minutes.
    return [jwt(header, { iss: environment.APNS_TEAM_ID, iat: now() }, signature), 40 * 60]
  }

  request(device, push, bearer) {
    const fields = { ...push.headers, authorization: `bearer ${bearer}`, "apns-topic": environment.APNS_TOPIC }
    return post(`${this.url}/3/device/${device}`, fields, push.body)
  }

  isUnregistered({ status, text }) {
    // Every token is bad at the other one of Apple's two servers: a wrong APNS_URL must not drop every device.
    return status === 410 || (status === 400 && text.includes("BadDeviceToken") && this.hasAccepted)
  }

  isTokenRefused({ status, text }) {
    return status === 403 && text.includes("ExpiredProviderToken")
  }
}

class FCM extends Service {
  url = environment.FCM_URL ?? "https://fcm.googleapis.com"
  account = JSON.parse(readFileSync(environment.FCM_ACCOUNT))

  async newToken() {
    const { client_email: iss, token_uri: aud, private_key: key, private_key_id: kid } = this.account
    const claims = { iss, aud, iat: now(), exp: now() + 3600, scope: "https://www.googleapis.com/auth/firebase.messaging" }
    const assertion = jwt({ alg: "RS256", kid }, claims, (text) => sign("sha256", text, key))
    const form = new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion })
    const answer = await post(aud, { "content-type": "application/x-www-form-urlencoded" }, form.toString())
    if (answer.status !== 200) throw new Error(`no access token: ${answer.status} ${answer.text}`)
    const { access_token, expires_in } = JSON.parse(answer.text)
    return [access_token, expires_in - 60]
  }

  request(_, push, bearer) {
    const fields = { ...push.headers, authorization: `Bearer ${bearer}` }
    return post(`${this.url}/v1/projects/${this.account.project_id}/messages:send`, fields, push.body)
  }

  isUnregistered({ status, text }) {
    return status === 404 && text.includes("UNREGISTERED")
  }

  isTokenRefused({ status }) {
    return status === 401
  }
}

const services = {
  apns: environment.APNS_KEY ? new APNs() : null,
  fcm: environment.FCM_ACCOUNT ? new FCM() : null,
}

// --- Devices

const path = environment.DEVICES ?? "devices.json"
let devices = existsSync(path) ? JSON.parse(readFileSync(path)) : []

/** Whoever reads the file cannot sign in with it: it has the hashes of sessions. */
function save(changed) {
  devices = changed
  writeFileSync(`${path}.new`, JSON.stringify(devices), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const users = new Map((environment.USERS ?? "").split(",").filter(Boolean).map((user) => user.split(/:(.*)/s)))

function signIn({ user, password }) {
  if (!timingSafeEqual(sha256(users.get(user) ?? ""), sha256(password)) || !users.has(user)) {
    throw new Refused(401, "the user or the password is wrong")
  }
  const session = randomBytes(32).toString("base64url")
  save([...devices, { id: randomBytes(8).toString("hex"), session: sha256(session).toString("hex"), owner: user }])
  return { session }
}

function signedIn(request) {
  const hash = sha256((request.headers.authorization ?? "").replace(/^Bearer /, "")).toString("hex")
  const device = devices.find(({ session }) => session === hash)
  if (!device) throw new Refused(401, "nobody is signed in with this session")
  return device
}

function deviceToken({ id, owner }) {
  let lines
  try {
    lines = readFileSync(environment.SIGNING_KEYS ?? "/etc/blobd/signing-keys", "utf8").split("\n")
  } catch (error) {
    throw new Refused(503, `the key of device tokens cannot be read: ${error.message}`)
  }
  const [kid, key] = lines.find((line) => line.trim() && !line.startsWith("#")).split(/\s+/)
  const claims = { sub: owner, device: id, scope: "write", exp: now() + TOKEN_LIFETIME }
  const signature = (text) => createHmac("sha256", Buffer.from(key, "base64")).update(text).digest()
  return { token: jwt({ alg: "HS256", kid }, claims, signature), expires_at: claims.exp }
}

async function putDevice(request) {
  const said = await members(request)
  const device = signedIn(request)
  if (Object.keys(said).length > 0) {
    const { platform, token } = required(said, "platform", "token")
    if (!(platform in services)) throw new Refused(400, `platform is apns or fcm, not ${platform}`)
    // It becomes a part of a path.
    if (!/^[\w:-]{1,4096}$/.test(token)) throw new Refused(400, "the token contains other characters than a push service's")
    const isOther = (other) => other.id !== device.id && (other.platform !== platform || other.token !== token)
    save([...devices.filter(isOther), { ...device, platform, token }])
  }
  return deviceToken(device)
}

// --- Pushes

/** Calls blobd. Resolves to the status and the body, a Buffer. */
function blobd(method, path, body, headers) {
  const socketPath = environment.BLOBD_SOCKET ?? "/run/blobd/blobd.sock"
  return new Promise((resolve, reject) => {
    const fail = (error) => reject(new Refused(503, `blobd does not answer: ${error.message}`))
    const request = http.request({ socketPath, method, path, headers, timeout: 30_000 }, async (response) => {
      const chunks = []
      response.on("data", (chunk) => chunks.push(chunk)).on("error", fail)
      response.on("end", () => resolve({ status: response.statusCode, body: Buffer.concat(chunks) }))
    })
    request.on("error", fail).on("timeout", () => request.destroy(new Error("no answer within 30 s"))).end(body)
  })
}

async function document(method, path, body, headers) {
  const answer = await blobd(method, path, body, headers)
  const read = JSON.parse(answer.body)
  if (answer.status >= 300) throw new Refused(answer.status, read.detail)
  return read
}

function mediaType(picture) {
  const begin = picture.subarray(0, 12).toString("latin1")
  const types = { jpeg: /^\xff\xd8\xff/, png: /^\x89PNG\r\n/, gif: /^GIF8/, webp: /^RIFF....WEBP/s }
  const name = Object.keys(types).find((name) => types[name].test(begin))
  if (name) return `image/${name}`
  throw new Refused(415, picture.length ? "the body is not a JPEG, PNG, GIF or WebP picture" : "the body is empty; send the picture")
}

/** Stores a notification with its picture, and pushes it to the owner's devices. */
async function send({ owner, message }, picture) {
  const boundary = randomBytes(16).toString("hex")
  const field = (name, type) => `--${boundary}\r\nContent-Disposition: form-data; ${name}\r\nContent-Type: ${type}\r\n\r\n`
  const form = Buffer.concat([
    Buffer.from(field('name="notification"', "application/json")),
    Buffer.from(JSON.stringify({ owner, message, rich_type: "img", ttl: LIFETIME }) + "\r\n"),
    Buffer.from(field('name="payload"; filename="picture"', mediaType(picture))), picture,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const type = `multipart/form-data; boundary=${boundary}`
  const { id } = await document("POST", "/v1/notifications", form, { "Content-Type": type, "Content-Length": form.length })
  // Android itself shows an alert while the app is in the background, without the picture.
  const query = (platform, token) => platform === "apns" ? { platform, style: "alert" } : { platform, style: "silent", token }
  const envelope = (platform, token) => {
    const parameters = new URLSearchParams({ ...query(platform, token), format: "json" })
    return document("GET", `/v1/notifications/${id}/envelope?${parameters}`)
  }
  return { id, ...(await push(`notification ${id} to ${owner}`, devices.filter((device) => device.owner === owner), envelope)) }
}

/** Tells the owner's devices that a notification was answered, except the one that did. */
async function withdraw({ id, owner, action_state: richState }, answering) {
  const data = { richId: id, richState }
  const envelope = (platform, token) => {
    if (platform === "apns") {
      // With the notification's own collapse id, it replaces an alert that has not been delivered yet.
      const headers = { "apns-push-type": "background", "apns-priority": "5", "apns-collapse-id": id }
      headers["apns-expiration"] = String(now() + LIFETIME)
      return { headers, body: JSON.stringify({ aps: { "content-available": 1 }, ...data }) }
    }
    // Not "high": Android slows apps down whose urgent messages show nothing.
    const message = { token, data, android: { priority: "normal", ttl: `${LIFETIME}s` } }
    return { headers: { "content-type": "application/json" }, body: JSON.stringify({ message }) }
  }
  await push(`withdrawal of ${id} to ${owner}`, devices.filter((other) => other.owner === owner && other.id !== answering), envelope)
}

/** Sends to each of the devices what `envelope` makes for it. Resolves to what became of them. */
async function push(what, recipients, envelope) {
  const outcome = { sent: 0, printed: 0, dropped: 0, failed: [] }
  for (const { platform, token } of recipients.filter((device) => device.token)) {
    try {
      const message = await envelope(platform, token)
      if (services[platform]) {
        await services[platform].send(token, message)
        outcome.sent++
      } else {
        console.log(`${platform} has no credentials; not sent to ${token}: ${message.body}`)
        outcome.printed++
      }
    } catch (error) {
      if (error instanceof Unregistered) {
        save(devices.map((device) => device.token === token && device.platform === platform ? { ...device, token: null } : device))
        outcome.dropped++
      } else {
        outcome.failed.push(`${platform}: ${error.message}`)
      }
    }
  }
  console.log(`${what}: ${JSON.stringify(outcome)}`)
  return outcome
}

// --- Calls

async function content(request, limit = DOCUMENT_BYTES_MAX) {
  const count = request.headers["content-length"]
  if (!count) throw new Refused(411, "the request has no Content-Length")
  if (Number(count) > limit) throw new Refused(413, `the body has ${count} bytes; the limit is ${limit}`)
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The texts in a body, a JSON object. */
async function members(request) {
  const body = await content(request)
  let said
  try {
    said = JSON.parse(body)
  } catch (error) {
    throw new Refused(400, `the body is not JSON: ${error.message}`)
  }
  if (said?.constructor !== Object || Object.values(said).some((value) => typeof value !== "string")) {
    throw new Refused(400, "the body is not a JSON object of strings")
  }
  return said
}

function required(values, ...names) {
  for (const name of names) if (!values[name]) throw new Refused(400, `${name} is missing`)
  return values
}

async function respond(request, path) {
  const headers = { "Content-Type": "application/json", Authorization: request.headers.authorization ?? "" }
  const body = await content(request)
  const answer = await blobd("POST", path, body, { ...headers, "Content-Length": body.length })
  const record = JSON.parse(answer.body)
  // Also for a response that was sent again: this process may have ended before it told the other devices.
  if (answer.status < 300 && record.action_state !== "none") {
    // The record's `device` made the latest change: after a response that was sent again, it may be another.
    const { device } = JSON.parse(Buffer.from(headers.Authorization.split(".")[1], "base64url")) // blobd has verified it.
    withdraw(record, device).catch(console.error)
  }
  return answer
}

async function carryOut(request) {
  const url = new URL(request.url, "http://backend")
  const call = `${request.method} ${url.pathname}`
  if (call === "POST /sign-in") return signIn(required(await members(request), "user", "password"))
  if (call === "PUT /devices") return putDevice(request)
  if (call === "DELETE /devices") {
    const { id } = signedIn(request)
    return save(devices.filter((device) => device.id !== id))
  }
  if (call === "POST /send") {
    const query = required(Object.fromEntries(url.searchParams), "owner", "message")
    return send(query, await content(request, PICTURE_BYTES_MAX))
  }
  throw new Refused(404, "POST /sign-in, PUT or DELETE /devices, POST /send")
}

http.createServer(async (request, response) => {
  try {
    if (request.method === "POST" && /^\/d\/me\/notifications\/[^/?]+\/responses$/.test(request.url)) {
      const { status, body } = await respond(request, request.url)
      return response.writeHead(status, { "Content-Type": "application/json" }).end(body)
    }
    const answer = await carryOut(request)
    response.writeHead(answer ? 200 : 204, { "Content-Type": "application/json" }).end(answer && JSON.stringify(answer))
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error)
    // What is left of the body is not read.
    response.writeHead(error.status ?? 500, { "Content-Type": "application/json", Connection: "close" })
    response.end(JSON.stringify({ error: error.message }))
  }
}).listen(Number(process.argv[2]), "127.0.0.1")
