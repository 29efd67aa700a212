"""Signs requests as botocore does: a line of hexadecimal texts each (target, time, token, body), their Authorization out."""
import datetime
import sys
from unittest import mock

import botocore.auth
import botocore.awsrequest
import botocore.credentials


def text(digits):
    return bytes.fromhex(digits).decode()


for line in sys.stdin.read().split("\n"):
    target, time, token, body = (text(word) for word in line.split(" "))
    credentials = botocore.credentials.Credentials("id", "se/cr+et", token or None)
    request = botocore.awsrequest.AWSRequest(
        method="PUT", url="https://example.com:8443" + target, data=body.encode(),
        headers={"If-None-Match": "*", "Content-Type": "application/octet-stream"})
    request.context["payload_signing_enabled"] = True
    moment = datetime.datetime.strptime(time, "%Y%m%dT%H%M%SZ")
    with mock.patch.object(botocore.auth, "get_current_datetime", lambda *a, **k: moment):
        botocore.auth.S3SigV4Auth(credentials, "s3", "eu-west-9").add_auth(request)
    print(request.headers["Authorization"])
