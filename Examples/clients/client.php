<?php
// A backend's and a device's part with blobd, in PHP: client.php SOCKET PICTURE KEYS
[, $socket, $picture, $keys] = $argv;

// One handle keeps the connection open from one request to the next.
$blobd = curl_init();

/** A request over the one connection. Returns the status, the fields and the body. */
function call(string $method, string $target, ?string $body = null, array $fields = []): array
{
    global $blobd, $socket;
    $answered = [];
    curl_reset($blobd);
    curl_setopt_array($blobd, [
        CURLOPT_UNIX_SOCKET_PATH => $socket,
        CURLOPT_URL => "http://blobd$target",
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => $fields,
        CURLOPT_HEADERFUNCTION => function ($handle, $line) use (&$answered) {
            $parts = explode(": ", trim($line), 2);
            if (count($parts) === 2) {
                $answered[strtolower($parts[0])] = $parts[1];
            }
            return strlen($line);
        },
    ]);
    if ($body !== null) {
        curl_setopt($blobd, CURLOPT_POSTFIELDS, $body);
    }
    $content = curl_exec($blobd);
    if ($content === false) {
        exit(curl_error($blobd) . "\n");
    }
    return [curl_getinfo($blobd, CURLINFO_RESPONSE_CODE), $answered, $content];
}

// Publish: the document and its picture are stored in one transaction.
$document = ["owner" => "ann", "message" => "Look who is here", "rich_type" => "img", "ttl" => 3600];
$form = "--part\r\nContent-Disposition: form-data; name=\"notification\"\r\n\r\n" . json_encode($document)
    . "\r\n--part\r\nContent-Disposition: form-data; name=\"payload\"; filename=\"photo.jpg\"\r\n"
    . "Content-Type: image/jpeg\r\n\r\n" . file_get_contents($picture) . "\r\n--part--\r\n";
[$status] = call("PUT", "/v1/notifications/42", $form, ["Content-Type: multipart/form-data; boundary=part"]);
echo "published: $status\n";

// The push for APNs. Send it as it is; it has the id, not the picture.
echo "push: ", call("GET", "/v1/notifications/42/envelope?platform=apns&style=alert")[2], "\n";

// Fetch: the entity tag is the digest of the bytes.
[, $fields, $body] = call("GET", "/v1/notifications/42/payload");
$digest = "sha256:" . hash("sha256", $body);
echo "fetched: ", strlen($body), " bytes, ", $fields["etag"] === "\"$digest\"" ? $digest : "damaged", "\n";

/** Prints the changes after a cursor, page by page. Returns the cursor after them. */
function follow(string $cursor, int $wait = 0): string
{
    do {
        $page = json_decode(call("GET", "/v1/users/ann/changes?since=$cursor&wait=$wait")[2]);
        foreach ($page->changes as $change) {
            // Not every change names a device, and those of categories have no id.
            echo "change: $change->kind ", $change->id ?? "", isset($change->device) ? " by $change->device" : "", "\n";
        }
        $cursor = $page->next;
    } while ($page->more);
    return $cursor;
}

// Follow the feed: all changes first, then those after the cursor. The second call waits for one.
$cursor = follow("0");
$fields = ["Content-Type: application/merge-patch+json", "Blobd-Device: phone"];
call("PATCH", "/v1/notifications/42", '{"read":true}', $fields);
follow($cursor, 30);

// A signed link, with which a device fetches by itself: through nginx from the device socket.
$lines = array_values(preg_grep('/^[^#\s]/', file($keys)));
[$keyID, $key] = preg_split('/\s+/', $lines[0]);
[$path, $expiry] = ["/d/42", time() + 3600];
$code = hash_hmac("sha256", "GET\n$path\n$expiry\n$keyID", base64_decode($key), true);
$link = "$path?e=$expiry&k=$keyID&sig=" . rtrim(strtr(base64_encode($code), "+/", "-_"), "=");
[$status, , $body] = call("GET", $link);
echo "by link: $status ", strlen($body), " bytes\n";
