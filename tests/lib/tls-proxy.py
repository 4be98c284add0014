#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS in front of a unix socket, to clients with a certificate of a CA alone.

usage: tls-proxy.py CA CERTIFICATE KEY SOCKET

Prints the port, at 127.0.0.1, when it listens.
"""
import contextlib
import select
import socket
import ssl
import sys
import threading


def pump(client, engine):
    """Until both have ended; the end of one is told to the other."""
    open_sides = {client: engine, engine: client}
    while open_sides:
        ready = [client] if client in open_sides and client.pending() else \
            select.select(list(open_sides), [], [])[0]
        for side in ready:
            data = side.recv(65536)
            if data:
                open_sides[side].sendall(data)
                continue
            other = open_sides.pop(side)
            if other is client:
                return  # an engine that has ended has nothing more to hear
            other.shutdown(socket.SHUT_WR)


def turn_away(client):
    """What is closed with something unread is reset, and the alert goes with it."""
    with socket.socket(fileno=client.detach()) as conn:
        conn.shutdown(socket.SHUT_WR)
        while conn.recv(65536):
            pass


def serve(context, conn, path):
    with contextlib.suppress(OSError):
        client = context.wrap_socket(conn, server_side=True, do_handshake_on_connect=False)
        try:
            client.do_handshake()
        except ssl.SSLError:
            turn_away(client)
            return
        with client, socket.socket(socket.AF_UNIX) as engine:
            engine.connect(path)
            pump(client, engine)


def main():
    ca, certificate, key, path = sys.argv[1:]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ca)
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=serve, args=(context, conn, path), daemon=True).start()


main()
