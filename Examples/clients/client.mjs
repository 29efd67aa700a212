// A backend's and a device's part with blobd, in JavaScript for Node: node client.mjs SOCKET PICTURE KEYS
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";

const [socketPath, picturePath, keysPath] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** A request over the one connection. Resolves to the status, the fields and the body. */
function call(method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, agent, method, path, headers }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }));
    });
    request.on("error", reject);
    // With end() alone Node knows the length, and sends Content-Length.
    request.end(body);
  });
}

// Publish: the document and its picture are stored in one transaction.
const document = { owner: "ann", message: "Look who is here", rich_type: "img", ttl: 3600 };
const picture = readFileSync(picturePath);
const form = Buffer.concat([
  Buffer.from(`--part\r\nContent-Disposition: form-data; name="notification"\r\n\r\n${JSON.stringify(document)}\r\n`),
  Buffer.from(`--part\r\nContent-Disposition: form-data; name="payload"; filename="photo.jpg"\r\nContent-Type: image/jpeg\r\n\r\n`),
  picture,
  Buffer.from("\r\n--part--\r\n"),
]);
const published = await call("PUT", "/v1/notifications/42", form, { "Content-Type": "multipart/form-data; boundary=part" });
console.log("published:", published.status);

// The push for APNs. Send it as it is; it has the id, not the picture.
const push = await call("GET", "/v1/notifications/42/envelope?platform=apns&style=alert");
console.log("push:", push.body.toString());

// Fetch: the entity tag is the digest of the bytes.
const fetched = await call("GET", "/v1/notifications/42/payload");
const digest = "sha256:" + createHash("sha256").update(fetched.body).digest("hex");
console.log("fetched:", fetched.body.length, "bytes,", fetched.headers.etag === `"${digest}"` ? digest : "damaged");

/** Prints the changes after a cursor, page by page. Resolves to the cursor after them. */
async function follow(cursor, wait = 0) {
  for (;;) {
    const page = JSON.parse((await call("GET", `/v1/users/ann/changes?since=${cursor}&wait=${wait}`)).body);
    // Not every change names a device, and those of categories have no id.
    for (const { kind, id = "", device } of page.changes) console.log("change:", kind, id, ...(device ? ["by", device] : []));
    cursor = page.next;
    if (!page.more) return cursor;
  }
}

// Follow the feed: all changes first, then those after the cursor. The second call waits for one.
const cursor = await follow("0");
await call("PATCH", "/v1/notifications/42", '{"read":true}', { "Content-Type": "application/merge-patch+json", "Blobd-Device": "phone" });
await follow(cursor, 30);

// A signed link, with which a device fetches by itself: through nginx from the device socket.
const lines = readFileSync(keysPath, "utf8").split("\n");
const [keyID, key] = lines.find((line) => line.trim() && !line.startsWith("#")).split(/\s+/);
const path = "/d/42", expiry = Math.floor(Date.now() / 1000) + 3600;
const code = createHmac("sha256", Buffer.from(key, "base64")).update(`GET\n${path}\n${expiry}\n${keyID}`).digest("base64url");
const linked = await call("GET", `${path}?e=${expiry}&k=${keyID}&sig=${code}`);
console.log("by link:", linked.status, linked.body.length, "bytes");
agent.destroy();
