#!/usr/bin/env python3
"""Relays TCP on the loopback interface to a Unix socket, for programs that know no Unix sockets.

relay.py SOCKET: prints the port, relays at most 64 connections at a time, ends with its standard input.
"""
import asyncio
import os
import sys

CONNECTIONS_MAX = 64


async def copy(reader, writer):
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        pass


async def main(path):
    places = asyncio.Semaphore(CONNECTIONS_MAX)

    async def relay(reader, writer):
        async with places:
            try:
                inner_reader, inner_writer = await asyncio.open_unix_connection(path)
                await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
                inner_writer.close()
            except OSError:
                pass
            writer.close()

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    # Connections that are open end with the process.
    os._exit(0)


asyncio.run(main(sys.argv[1]))
