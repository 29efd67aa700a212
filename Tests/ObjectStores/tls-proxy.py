"""TLS in front of a server on loopback, with a certificate of its own for "localhost".

Usage: tls-proxy.py FOLDER PORT

FOLDER/certificate gets the certificate. Prints the port it listens on.
"""
import asyncio
import ssl
import subprocess
import sys

folder, port = sys.argv[1], int(sys.argv[2])
certificate, key = f"{folder}/certificate", f"{folder}/key"
subprocess.run(
    ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
     "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
    check=True, stderr=subprocess.DEVNULL)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)


async def copy(reader, writer):
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def connected(reader, writer):
    there, back = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(copy(reader, back), copy(there, writer))


async def main():
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
