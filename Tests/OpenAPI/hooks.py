"""What schemathesis has to know of blobd besides docs/openapi.json. Loaded by Scripts/openapi-check."""
import atexit
import base64
import collections
import hashlib
import hmac
import json
import os
import random
import time

import schemathesis
from schemathesis.generation import GenerationMode

KEY_ID, KEY = os.environ["OPENAPI_KEY"].split()
RANDOM = random.Random(os.environ["OPENAPI_SEED"])

# Refusals of requests that the schemas allow: of what depends on what is stored, on another value, on the time, or on
# the bytes of the body. Others are told by their words: texts that are too long in bytes, names that are given twice, and
# 1.0, which is an integer to a schema.
BEYOND_SCHEMAS = {
    "attachment_too_large", "bad_coding", "bad_cursor", "bad_expiry", "bad_multipart", "bad_response",
    "digest_mismatch", "empty_notification", "envelope_too_large", "expired", "immutable_member", "length_required",
    "no_message", "part_missing", "part_unexpected", "precondition_failed", "record_too_large", "unknown_action",
    "unknown_category", "unknown_digest", "unsupported_attachment", "unsupported_content_coding",
    "unsupported_media_type",
}
WORDS_BEYOND_SCHEMAS = (
    "bytes long", "twice", "duplicate", "token is for fcm", "navigate is for webpush", "silent is not for webpush",
    '.0"; it must be a whole number',
    "allows app and no other filter",
)

DOCUMENTS = ("application/json", "multipart/form-data")

statuses = collections.Counter()
codes = collections.Counter()


def is_valid(case):
    return case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE


def likely(share):
    return RANDOM.random() < share


@schemathesis.hook
def filter_case(context, case):
    """Whether a request is what it is taken for."""
    # A list in a path is sent as a text, and may be a name.
    if any(not isinstance(value, str) for value in (case.path_parameters or {}).values()):
        return False
    if case.path != "/v1/notifications":
        return True
    # With a query a new notification is published from raw bytes: then no schema of a document holds. The schema for
    # raw bytes does not hold for the types of documents.
    is_document = isinstance(case.body, dict) or not is_valid(case)
    return case.media_type not in DOCUMENTS or (not case.query and is_document)


@schemathesis.hook
def before_call(context, case, kwargs):
    query = case.query if isinstance(case.query, dict) else {}
    # Nobody waits for a change for a minute.
    wait = str(query.get("wait", "0"))
    if wait.isdecimal() and int(wait) > 1:
        query["wait"] = 1
    if not is_valid(case):
        return
    # What is valid shall go through: few ids, conditions now and then, times ahead.
    if isinstance(case.path_parameters, dict):
        for name in ("id", "owner"):
            if name in case.path_parameters and likely(0.6):
                case.path_parameters[name] = RANDOM.choice(("a", "b c", "d"))
    if likely(0.8):
        for name in ("If-Match", "If-None-Match"):
            (case.headers or {}).pop(name, None)
    body = case.body if isinstance(case.body, dict) else {}
    for place in (query, body):
        if place.get("expires_at") is not None:
            place["expires_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3_600))
    if "ttl" in query and "expires_at" in query:
        del query[RANDOM.choice(("ttl", "expires_at"))]
    if case.path.endswith("/responses") and "action" in body and likely(0.8):
        body["action"] = RANDOM.choice(("default", "dismiss"))
    if case.path.startswith("/d/") and "sig" in query and likely(0.8):
        sign(query, case.formatted_path)
    if case.path.startswith("/d/me/"):
        case.headers["Authorization"] = "Bearer " + token()


def sign(query, path):
    query["e"], query["k"] = str(int(time.time()) + 60), KEY_ID
    text = f"GET\n{path}\n{query['e']}\n{KEY_ID}".encode()
    code = hmac.new(base64.b64decode(KEY), text, hashlib.sha256).digest()
    query["sig"] = base64.urlsafe_b64encode(code).decode().rstrip("=")


def token():
    claims = {"sub": RANDOM.choice(("a", "b c", "d")), "exp": int(time.time()) + 60, "scope": RANDOM.choice(("read", "write"))}
    pieces = [json.dumps(part).encode() for part in ({"alg": "HS256", "kid": KEY_ID}, claims)]
    text = b".".join(base64.urlsafe_b64encode(piece).rstrip(b"=") for piece in pieces)
    code = hmac.new(base64.b64decode(KEY), text, hashlib.sha256).digest()
    return (text + b"." + base64.urlsafe_b64encode(code).rstrip(b"=")).decode()


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@schemathesis.check
def valid_requests_are_accepted(context, response, case):
    """positive_data_acceptance, but for refusals that no schema foretells."""
    if not is_valid(case) or case.method == "HEAD" or response.status_code not in (400, 413, 415, 422):
        return
    problem = response.json()
    assert problem["code"] in BEYOND_SCHEMAS or any(
        words in problem["detail"] for words in WORDS_BEYOND_SCHEMAS
    ), f"the schemas allow what is refused with {problem['code']}: {problem['detail']}"


@schemathesis.check
def no_server_errors(context, response, case):
    """not_a_server_error, but for a backup while the daemon has not seen yet that the client of the last one has gone."""
    if response.status_code < 500:
        return
    assert response.status_code == 503 and case.path == "/v1/backup", f"status {response.status_code}"
    if case.method != "HEAD":
        detail = response.json()["detail"]
        assert "backups are being taken" in detail, detail


@schemathesis.hook
def after_call(context, case, response):
    statuses[response.status_code] += 1
    if response.status_code >= 400 and case.method != "HEAD":
        codes[response.json().get("code")] += 1


@atexit.register
def report():
    with open(os.environ["OPENAPI_REPORT"], "w") as file:
        print(f"{sum(statuses.values())} requests; their statuses:", file=file)
        print(" ".join(f"{status}: {count}" for status, count in sorted(statuses.items())), file=file)
        print(f"{len(codes)} codes of errors:", " ".join(sorted(map(str, codes))), file=file)
