# A backend's and a device's part with blobd, in Python: client.py SOCKET PICTURE KEYS
import base64, hashlib, hmac, http.client, json, socket, sys, time

SOCKET, PICTURE, KEYS = sys.argv[1:4]


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


blobd = UnixConnection("blobd")


def call(method, target, body=None, **fields):
    """A request over the one connection. Returns the status, the fields and the body."""
    blobd.request(method, target, body, {name.replace("_", "-"): value for name, value in fields.items()})
    response = blobd.getresponse()
    return response.status, response.headers, response.read()


# Publish: the document and its picture are stored in one transaction.
document = {"owner": "ann", "message": "Look who is here", "rich_type": "img", "ttl": 3600}
picture = open(PICTURE, "rb").read()
form = (
    b'--part\r\nContent-Disposition: form-data; name="notification"\r\n\r\n' + json.dumps(document).encode()
    + b'\r\n--part\r\nContent-Disposition: form-data; name="payload"; filename="photo.jpg"\r\n'
    + b"Content-Type: image/jpeg\r\n\r\n" + picture + b"\r\n--part--\r\n"
)
status, _, _ = call("PUT", "/v1/notifications/42", form, Content_Type="multipart/form-data; boundary=part")
print("published:", status)

# The push for APNs. Send it as it is; it has the id, not the picture.
print("push:", call("GET", "/v1/notifications/42/envelope?platform=apns&style=alert")[2].decode())

# Fetch: the entity tag is the digest of the bytes.
_, fields, body = call("GET", "/v1/notifications/42/payload")
digest = "sha256:" + hashlib.sha256(body).hexdigest()
print("fetched:", len(body), "bytes,", digest if fields["ETag"] == f'"{digest}"' else "damaged")


def follow(cursor, wait=0):
    """Prints the changes after a cursor, page by page. Returns the cursor after them."""
    more = True
    while more:
        page = json.loads(call("GET", f"/v1/users/ann/changes?since={cursor}&wait={wait}")[2])
        for change in page["changes"]:
            # Not every change names a device, and those of categories have no id.
            print("change:", change["kind"], change.get("id", ""), *(["by", change["device"]] if "device" in change else []))
        cursor, more = page["next"], page["more"]
    return cursor


# Follow the feed: all changes first, then those after the cursor. The second call waits for one.
cursor = follow("0")
call("PATCH", "/v1/notifications/42", b'{"read":true}', Content_Type="application/merge-patch+json", Blobd_Device="phone")
follow(cursor, wait=30)

# A signed link, with which a device fetches by itself: through nginx from the device socket.
key_id, key = next(line.split() for line in open(KEYS) if line.strip() and not line.startswith("#"))
path, expiry = "/d/42", int(time.time()) + 3600
code = hmac.digest(base64.b64decode(key), f"GET\n{path}\n{expiry}\n{key_id}".encode(), "sha256")
link = f"{path}?e={expiry}&k={key_id}&sig=" + base64.urlsafe_b64encode(code).decode().rstrip("=")
status, _, body = call("GET", link)
print("by link:", status, len(body), "bytes")
