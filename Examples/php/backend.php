<?php
// A backend that sends pictures to phones, for PHP 8.1 or later with the extensions curl and pdo_sqlite. Its calls, variables
// and rules are those of ../python/backend.py, which explains them. Under PHP-FPM, send every request to this file; to try it:
//
//     USERS=ann:secret PHP_CLI_SERVER_WORKERS=4 php -d post_max_size=11M -S 127.0.0.1:8081 backend.php
declare(strict_types=1);

const PICTURE_BYTES_MAX = 10_000_000;
const DOCUMENT_BYTES_MAX = 8_192;
const LIFETIME = 24 * 3600; // Seconds, of a notification.
const TOKEN_LIFETIME = 7 * 24 * 3600; // Of a device's token.
const ATTEMPTS_MAX = 5;
const PAUSE_MAX = 60;
const SERVICES = ["apns" => "APNS_KEY", "fcm" => "FCM_ACCOUNT"];

class Unregistered extends Exception {}

/** What is wrong with a call; the code is the status. */
class Refused extends Exception {}

function variable(string $name, string $default = ""): string
{
    return getenv($name) !== false ? getenv($name) : $default;
}

/** Runs a statement on the devices that are signed in, and on what processes share about the push services. */
function run(string $statement, mixed ...$values): array
{
    static $db;
    if (!$db) {
        $db = new PDO("sqlite:" . variable("DEVICES", "devices.db"));
        $db->exec("PRAGMA busy_timeout = 10000");
        $db->exec("CREATE TABLE IF NOT EXISTS signed_in (id TEXT PRIMARY KEY, session TEXT UNIQUE, owner TEXT, platform TEXT,
            token TEXT, UNIQUE (platform, token))");
        $db->exec("CREATE TABLE IF NOT EXISTS services (platform TEXT PRIMARY KEY, bearer TEXT, renew_at INT, has_accepted INT)");
    }
    $prepared = $db->prepare($statement);
    $prepared->execute($values);
    return $prepared->fetchAll(PDO::FETCH_ASSOC);
}

function base64url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), "+/", "-_"), "=");
}

/** A JSON Web Token; `$sign` makes the signature of a text. */
function jwt(array $header, array $claims, callable $sign): string
{
    $text = base64url(json_encode($header)) . "." . base64url(json_encode($claims));
    return "$text." . base64url($sign($text));
}

// --- APNs and FCM

/** A POST over HTTP/2. Returns the status, the fields and the body. */
function post(string $url, array $fields, string $body): array
{
    // The handle keeps its connections open.
    static $curl;
    curl_reset($curl ??= curl_init());
    $answered = [];
    curl_setopt_array($curl, [
        CURLOPT_URL => $url,
        CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2TLS,
        CURLOPT_POSTFIELDS => $body,
        CURLOPT_HTTPHEADER => array_map(fn($name, $value) => "$name: $value", array_keys($fields), $fields),
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 10,
        CURLOPT_HEADERFUNCTION => function ($curl, $line) use (&$answered) {
            [$name, $value] = explode(":", $line, 2) + [1 => ""];
            $answered[strtolower($name)] = trim($value);
            return strlen($line);
        },
    ] + (variable("PUSH_CA") ? [CURLOPT_CAINFO => variable("PUSH_CA")] : []));
    $text = curl_exec($curl);
    return $text === false ? [0, [], curl_error($curl)] : [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), $answered, $text];
}

/** A new provider token, and for how many seconds it is good. */
function newBearer(string $platform): array
{
    if ($platform === "apns") {
        $sign = function (string $text): string {
            openssl_sign($text, $der, file_get_contents(variable("APNS_KEY")), "sha256");
            // ASN.1 has two integers of up to 33 bytes; a token has two of exactly 32.
            $first = ord($der[3]);
            $integers = [substr($der, 4, $first), substr($der, 6 + $first)];
            return implode(array_map(fn($bytes) => str_pad(ltrim($bytes, "\0"), 32, "\0", STR_PAD_LEFT), $integers));
        };
        $claims = ["iss" => variable("APNS_TEAM_ID"), "iat" => time()];
        // Apple refuses one that is older than an hour, and new ones within 20 minutes.
        return [jwt(["alg" => "ES256", "kid" => variable("APNS_KEY_ID")], $claims, $sign), 40 * 60];
    }
    $account = account();
    $claims = ["iss" => $account->client_email, "aud" => $account->token_uri, "iat" => time(), "exp" => time() + 3600];
    $claims["scope"] = "https://www.googleapis.com/auth/firebase.messaging";
    $sign = function (string $text) use ($account): string {
        openssl_sign($text, $signature, $account->private_key, "sha256");
        return $signature;
    };
    $assertion = jwt(["alg" => "RS256", "kid" => $account->private_key_id], $claims, $sign);
    $form = ["grant_type" => "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion" => $assertion];
    [$status, , $text] = post($account->token_uri, [], http_build_query($form));
    if ($status !== 200) {
        throw new Exception("no access token: $status $text");
    }
    $answer = json_decode($text);
    return [$answer->access_token, $answer->expires_in - 60];
}

function account(): object
{
    return json_decode(file_get_contents(variable("FCM_ACCOUNT")));
}

/** The provider token, which all processes share: Apple refuses too many. */
function bearer(string $platform): string
{
    $known = run("SELECT bearer FROM services WHERE platform = ? AND renew_at > ?", $platform, time());
    if ($known) {
        return $known[0]["bearer"];
    }
    [$bearer, $seconds] = newBearer($platform);
    run("INSERT INTO services VALUES (?1, ?2, ?3, 0) ON CONFLICT DO UPDATE SET bearer = ?2, renew_at = ?3",
        $platform, $bearer, time() + $seconds);
    return $bearer;
}

function request(string $platform, string $token, array $push): array
{
    $bearer = bearer($platform);
    if ($platform === "apns") {
        $fields = $push["headers"] + ["Authorization" => "bearer $bearer", "apns-topic" => variable("APNS_TOPIC")];
        return post(variable("APNS_URL", "https://api.push.apple.com") . "/3/device/$token", $fields, $push["body"]);
    }
    $fields = $push["headers"] + ["Authorization" => "Bearer $bearer"];
    $url = variable("FCM_URL", "https://fcm.googleapis.com");
    return post("$url/v1/projects/" . account()->project_id . "/messages:send", $fields, $push["body"]);
}

function isUnregistered(string $platform, int $status, string $text): bool
{
    if ($platform === "fcm") {
        return $status === 404 && str_contains($text, "UNREGISTERED");
    }
    // Every token is bad at the other one of Apple's two servers: a wrong APNS_URL must not drop every device.
    return $status === 410 || $status === 400 && str_contains($text, "BadDeviceToken")
        && run("SELECT 1 FROM services WHERE platform = 'apns' AND has_accepted = 1");
}

/** Sends a push, and again while the service is busy. */
function deliver(string $platform, string $token, array $push): void
{
    for ($attempt = 0; $attempt < ATTEMPTS_MAX; $attempt++) {
        $pause = (float) variable("PUSH_PAUSE", "1") * 2 ** $attempt;
        [$status, $fields, $text] = request($platform, $token, $push);
        if ($status === 200) {
            run("UPDATE services SET has_accepted = 1 WHERE platform = ?", $platform);
            return;
        }
        if (isUnregistered($platform, $status, $text)) {
            throw new Unregistered($text);
        }
        if ($status === 401 || $status === 403 && str_contains($text, "ExpiredProviderToken")) {
            run("UPDATE services SET renew_at = 0 WHERE platform = ?", $platform);
            $pause = 0;
        } elseif (!in_array($status, [0, 429, 500, 502, 503, 504])) {
            break; // It would be refused again.
        }
        $pause = is_numeric($fields["retry-after"] ?? "") ? (int) $fields["retry-after"] : $pause;
        if ($attempt + 1 === ATTEMPTS_MAX || $pause > PAUSE_MAX) {
            break;
        }
        $pause *= mt_rand(1_000, 1_250) / 1_000;
        error_log(sprintf("%s: %s; trying again in %.1f s", $platform, trim("$status $text"), $pause));
        usleep((int) ($pause * 1_000_000));
    }
    throw new Exception(trim("$status $text"));
}

// --- Devices

function signIn(string $user, string $password): array
{
    $users = array_column(array_map(fn($user) => explode(":", $user, 2), explode(",", variable("USERS"))), 1, 0);
    if (!hash_equals($users[$user] ?? "", $password) || !isset($users[$user])) {
        throw new Refused("the user or the password is wrong", 401);
    }
    $session = base64url(random_bytes(32));
    // Whoever reads the file cannot sign in with it.
    $hash = hash("sha256", $session);
    run("INSERT INTO signed_in (id, session, owner) VALUES (?, ?, ?)", bin2hex(random_bytes(8)), $hash, $user);
    return ["session" => $session];
}

function signedIn(): array
{
    $session = preg_replace("/^Bearer /", "", $_SERVER["HTTP_AUTHORIZATION"] ?? "");
    return run("SELECT * FROM signed_in WHERE session = ?", hash("sha256", $session))[0]
        ?? throw new Refused("nobody is signed in with this session", 401);
}

function putDevice(): array
{
    $device = signedIn();
    $said = members();
    if ($said) {
        ["platform" => $platform, "token" => $token] = required($said, "platform", "token");
        if (!isset(SERVICES[$platform])) {
            throw new Refused("platform is apns or fcm, not $platform", 400);
        }
        // It becomes a part of a path.
        if (!preg_match('/^[\w:-]{1,4096}$/D', $token)) {
            throw new Refused("the token contains other characters than a push service's", 400);
        }
        // A phone on which another user signs in is not the former one's any more.
        run("DELETE FROM signed_in WHERE platform = ? AND token = ? AND id <> ?", $platform, $token, $device["id"]);
        run("UPDATE signed_in SET platform = ?, token = ? WHERE id = ?", $platform, $token, $device["id"]);
    }
    return deviceToken($device);
}

function deviceToken(array $device): array
{
    $lines = @file(variable("SIGNING_KEYS", "/etc/blobd/signing-keys"))
        ?: throw new Refused("the key of device tokens cannot be read: " . error_get_last()["message"], 503);
    [$id, $key] = preg_split('/\s+/', array_values(preg_grep('/^[^#\s]/', $lines))[0]);
    $claims = ["sub" => $device["owner"], "device" => $device["id"], "scope" => "write", "exp" => time() + TOKEN_LIFETIME];
    $sign = fn(string $text) => hash_hmac("sha256", $text, base64_decode($key), true);
    return ["token" => jwt(["alg" => "HS256", "kid" => $id], $claims, $sign), "expires_at" => $claims["exp"]];
}

// --- Pushes

/** Calls blobd. Returns the status and the body. */
function blobd(string $method, string $target, ?string $body = null, array $fields = []): array
{
    static $curl;
    curl_reset($curl ??= curl_init());
    curl_setopt_array($curl, [
        CURLOPT_UNIX_SOCKET_PATH => variable("BLOBD_SOCKET", "/run/blobd/blobd.sock"),
        CURLOPT_URL => "http://blobd$target",
        CURLOPT_PATH_AS_IS => true,
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
        CURLOPT_HTTPHEADER => $fields,
    ] + ($body === null ? [] : [CURLOPT_POSTFIELDS => $body]));
    $answer = curl_exec($curl);
    if ($answer === false) {
        throw new Refused("blobd does not answer: " . curl_error($curl), 503);
    }
    return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), $answer];
}

function document(string $method, string $target, ?string $body = null, array $fields = []): array
{
    [$status, $answer] = blobd($method, $target, $body, $fields);
    $document = json_decode($answer, true);
    return $status < 300 ? $document : throw new Refused($document["detail"], $status);
}

/** By its first bytes. A name or a field may be wrong, and phones then show no picture, without a word. */
function mediaType(string $picture): string
{
    $types = ["jpeg" => "\xff\xd8\xff", "png" => "\x89PNG\r\n", "gif" => "GIF8", "webp" => "RIFF....WEBP"];
    foreach ($types as $name => $begin) {
        if (preg_match("/^$begin/s", $picture)) {
            return "image/$name";
        }
    }
    throw new Refused($picture === "" ? "the body is empty; send the picture" : "the body is not a JPEG, PNG, GIF or WebP picture", 415);
}

/** Stores a notification with its picture, and pushes it to the owner's devices. */
function send(string $owner, string $message, string $picture): array
{
    $boundary = bin2hex(random_bytes(16));
    $field = fn($name, $type) => "--$boundary\r\nContent-Disposition: form-data; $name\r\nContent-Type: $type\r\n\r\n";
    $form = $field('name="notification"', "application/json")
        . json_encode(["owner" => $owner, "message" => $message, "rich_type" => "img", "ttl" => LIFETIME]) . "\r\n"
        . $field('name="payload"; filename="picture"', mediaType($picture)) . "$picture\r\n--$boundary--\r\n";
    $id = document("POST", "/v1/notifications", $form, ["Content-Type: multipart/form-data; boundary=$boundary"])["id"];
    $envelope = function (string $platform, string $token) use ($id): array {
        // Android itself shows an alert while the app is in the background, without the picture.
        $query = $platform === "apns" ? ["style" => "alert"] : ["style" => "silent", "token" => $token];
        $query += ["platform" => $platform, "format" => "json"];
        return document("GET", "/v1/notifications/$id/envelope?" . http_build_query($query));
    };
    return ["id" => $id] + push("notification $id to $owner", devices($owner), $envelope);
}

/** Tells the owner's devices that a notification was answered, except the one that did. */
function withdraw(array $record, ?string $answering): void
{
    $id = $record["id"];
    $data = ["richId" => $id, "richState" => $record["action_state"]];
    $envelope = function (string $platform, string $token) use ($id, $data): array {
        if ($platform === "apns") {
            // With the notification's own collapse id, it replaces an alert that has not been delivered yet.
            $headers = ["apns-push-type" => "background", "apns-priority" => "5", "apns-collapse-id" => $id];
            $headers["apns-expiration"] = time() + LIFETIME;
            return ["headers" => $headers, "body" => json_encode(["aps" => ["content-available" => 1]] + $data)];
        }
        // Not "high": Android slows apps down whose urgent messages show nothing.
        $message = ["token" => $token, "data" => $data, "android" => ["priority" => "normal", "ttl" => LIFETIME . "s"]];
        return ["headers" => ["Content-Type" => "application/json"], "body" => json_encode(["message" => $message])];
    };
    $others = array_filter(devices($record["owner"]), fn($device) => $device["id"] !== $answering);
    push("withdrawal of $id to $record[owner]", $others, $envelope);
}

function devices(string $owner): array
{
    return run("SELECT * FROM signed_in WHERE owner = ? AND token IS NOT NULL", $owner);
}

/** Sends to each of the devices what `$envelope` makes for it. Returns what became of them. */
function push(string $what, array $recipients, callable $envelope): array
{
    $outcome = ["sent" => 0, "printed" => 0, "dropped" => 0, "failed" => []];
    foreach ($recipients as ["platform" => $platform, "token" => $token]) {
        try {
            $message = $envelope($platform, $token);
            if (variable(SERVICES[$platform])) {
                deliver($platform, $token, $message);
                $outcome["sent"]++;
            } else {
                error_log("$platform has no credentials; not sent to $token: $message[body]");
                $outcome["printed"]++;
            }
        } catch (Unregistered) {
            run("UPDATE signed_in SET token = NULL WHERE platform = ? AND token = ?", $platform, $token);
            $outcome["dropped"]++;
        } catch (Exception $error) {
            $outcome["failed"][] = "$platform: " . $error->getMessage();
        }
    }
    error_log("$what: " . json_encode($outcome));
    return $outcome;
}

// --- Calls

function body(int $limit = DOCUMENT_BYTES_MAX): string
{
    $count = $_SERVER["CONTENT_LENGTH"] ?? throw new Refused("the request has no Content-Length", 411);
    return $count <= $limit ? file_get_contents("php://input")
        : throw new Refused("the body has $count bytes; the limit is $limit", 413);
}

/** The texts in the body, a JSON object. */
function members(): array
{
    $said = json_decode(body());
    if (json_last_error() !== JSON_ERROR_NONE) {
        throw new Refused("the body is not JSON: " . json_last_error_msg(), 400);
    }
    if (!is_object($said) || array_filter((array) $said, fn($value) => !is_string($value))) {
        throw new Refused("the body is not a JSON object of strings", 400);
    }
    return (array) $said;
}

function required(array $values, string ...$names): array
{
    foreach ($names as $name) {
        $value = $values[$name] ?? "";
        if ($value === "") {
            throw new Refused("$name is missing", 400);
        }
        // PHP makes an array of a query like `owner[]=ann`.
        if (!is_string($value) || !preg_match("//u", $value)) {
            throw new Refused("$name is not text in UTF-8", 400);
        }
    }
    return $values;
}

function answer(int $status, string $body = ""): void
{
    http_response_code($status);
    header("Content-Type: application/json");
    header("Content-Length: " . strlen($body));
    echo $body;
}

function respond(string $path): void
{
    $fields = ["Content-Type: application/json", "Authorization: " . ($_SERVER["HTTP_AUTHORIZATION"] ?? "")];
    [$status, $body] = blobd("POST", $path, body(), $fields);
    answer($status, $body);
    // The device has its answer before the pushes are sent.
    function_exists("fastcgi_finish_request") ? fastcgi_finish_request() : flush();
    ignore_user_abort(true);
    $record = json_decode($body, true);
    // Also for a response that was sent again: this process may have ended before it told the other devices.
    if ($status < 300 && $record["action_state"] !== "none") {
        // The record's `device` made the latest change: after a response that was sent again, it may be another. blobd has
        // verified the token.
        $claims = json_decode(base64_decode(strtr(explode(".", $_SERVER["HTTP_AUTHORIZATION"])[1], "-_", "+/")));
        withdraw($record, $claims->device ?? null);
    }
}

try {
    $path = parse_url($_SERVER["REQUEST_URI"], PHP_URL_PATH);
    $call = "$_SERVER[REQUEST_METHOD] $path";
    if ($call === "POST /sign-in") {
        ["user" => $user, "password" => $password] = required(members(), "user", "password");
        answer(200, json_encode(signIn($user, $password)));
    } elseif ($call === "PUT /devices") {
        answer(200, json_encode(putDevice()));
    } elseif ($call === "DELETE /devices") {
        run("DELETE FROM signed_in WHERE id = ?", signedIn()["id"]);
        answer(204);
    } elseif (preg_match('#^POST /d/me/notifications/[^/]+/responses$#D', $call)) {
        respond($path);
    } elseif ($call === "POST /send") {
        ["owner" => $owner, "message" => $message] = required($_GET, "owner", "message");
        answer(200, json_encode(send($owner, $message, body(PICTURE_BYTES_MAX))));
    } else {
        throw new Refused("POST /sign-in, PUT or DELETE /devices, POST /send", 404);
    }
} catch (Refused $error) {
    answer($error->getCode(), json_encode(["error" => $error->getMessage()]));
}
