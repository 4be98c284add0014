#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# A receiver of OTLP/HTTP on loopback, for tests
#
#   otlp-receiver.py FOLDER [--tls CERT KEY]
#
# Writes its port to FOLDER/port, then each request as FOLDER/BEHAVIOUR.N.json: path, headers, body.
# The first part of the path says how it answers: one of BEHAVIOURS below.  Ends with its standard
# input.

import collections
import http.server
import json
import os
import ssl
import sys
import threading
import time


def answer(handler, status, body=b"{}", headers=()):
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers:
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def ok(handler, n):
    answer(handler, 200)


def partial(handler, n):
    part = {"partialSuccess": {"rejectedDataPoints": "3", "rejectedLogRecords": 2,
                               "errorMessage": "too\nold\x1b[31m"}}
    answer(handler, 200, json.dumps(part).encode())


def bad_request(handler, n):
    answer(handler, 400, b'{"code": 3, "message": "no\\nsuch field"}')


def unauthorized(handler, n):
    answer(handler, 401)


def busy_twice(handler, n):
    if n <= 2:
        answer(handler, 503 if n == 1 else 429)
    else:
        answer(handler, 200)


def retry_after(handler, n):
    answer(handler, 200 if n > 1 else 503, headers=[("Retry-After", "1")])


def retry_late(handler, n):
    answer(handler, 503, headers=[("Retry-After", "86400")])


def server_error(handler, n):
    answer(handler, 500)


def always_busy(handler, n):
    answer(handler, 503)


def redirect(handler, n):
    answer(handler, 307, headers=[("Location", handler.path + "/elsewhere")])


def slow(handler, n):
    time.sleep(float(os.environ["SLOW"]))
    answer(handler, 200)


def close_once(handler, n):
    if n > 1:
        answer(handler, 200)
    handler.close_connection = True


def no_json(handler, n):
    answer(handler, 200, b"<html>")


def gigabyte(handler, n, headers=("Transfer-Encoding: chunked",)):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + "".join(h + "\r\n" for h in headers).encode() + b"\r\n")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    try:
        for _ in range(1 << 14):
            handler.wfile.write(chunk)
    except OSError:
        pass
    handler.close_connection = True


def gigabyte_announced(handler, n):
    gigabyte(handler, n, ("Content-Length: 1073741824",))


def endless_headers(handler, n):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    try:
        for i in range(1 << 20):
            handler.wfile.write(b"X-%d: %s\r\n" % (i, b"x" * 1000))
    except OSError:
        pass
    handler.close_connection = True


BEHAVIOURS = {f.__name__: f for f in (
    ok, partial, bad_request, unauthorized, busy_twice, retry_after, retry_late, server_error,
    always_busy, redirect, slow, close_once, no_json, gigabyte, gigabyte_announced,
    endless_headers)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    counts = collections.Counter()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.path.split("/")[1]
        Handler.counts[name] += 1
        n = Handler.counts[name]
        path = os.path.join(folder, "%s.%d.json" % (name, n))
        with open(path + ".part", "w") as f:
            json.dump({"path": self.path, "headers": dict(self.headers),
                       "body": body.decode()}, f)
        os.rename(path + ".part", path)
        BEHAVIOURS[name](self, n)

    def log_message(self, *args):
        pass


folder = sys.argv[1]
words = sys.argv[2:]
tls = None
while words:
    option = words.pop(0)
    if option == "--tls":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(words.pop(0), words.pop(0))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.handle_error = lambda *args: None
if tls:
    server.socket = tls.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(folder, "port.part"), "w") as f:
    f.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.part"), os.path.join(folder, "port"))
sys.stdin.read()
os._exit(0)
