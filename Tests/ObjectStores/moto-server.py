"""An S3 server for tests: moto's, one request at a time.

Usage: moto-server.py PORT BUCKET ADDRESS

moto compares and stores a conditional put in two steps, so that two threads may both win. A lock around each request makes
it a server that keeps its promise. Connections are kept alive, as those of real servers are.
"""
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

lock = threading.Lock()
application = DomainDispatcherApplication(create_backend_app)


def one_at_a_time(environ, start_response):
    """Reads the whole body first: a client that is slow, or gone, holds nobody else up."""
    import io
    length = int(environ.get("CONTENT_LENGTH") or 0)
    environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
    with lock:
        return [b"".join(application(environ, start_response))]


class Handler(WSGIRequestHandler):
    """With connections that are kept, and without a log."""

    protocol_version = "HTTP/1.1"

    def log_request(self, *arguments):
        pass


def main():
    port, bucket, address = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    server = make_server(address, port, one_at_a_time, threaded=True, request_handler=Handler)
    import boto3
    with lock:
        pass
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    client = boto3.client(
        "s3", endpoint_url=f"http://{address}:{port}", region_name="us-east-1",
        aws_access_key_id="testkey", aws_secret_access_key="testsecret")
    client.create_bucket(Bucket=bucket)
    print("ready", flush=True)
    thread.join()


main()
