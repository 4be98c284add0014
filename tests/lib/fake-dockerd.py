#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines that fail as they are told to.

usage: fake-dockerd.py DIR FAULT...

One engine a fault: its socket is DIR/FAULT/sock, what was asked of it is in DIR/FAULT/log.
Speaks as much of the Docker Engine API as menace-docker uses, and is strict about it: what it
does not know is a line "unexpected ..." there.  Every request is a line there.  The one container
has output "out" and error output "err" and ends with status 7 when its input ends, or at
once without one; the fault says what goes wrong.
"""
import contextlib
import json
import socket
import sys
import threading
import time

ID = "c" * 64
IMAGE = "sha256:" + "1" * 64

# Containers that do not end with their input.
ENDLESS = ("endless", "ignores-kill", "hangs-at-kill")

class Engine:
    def __init__(self, folder, fault):
        self.log = open(folder + "/log", "a", buffering=1)
        self.fault = fault
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(folder + "/sock")
        self.listener.listen(64)
        self.asked = None
        self.ended = threading.Event()
        self.started = threading.Event()
        self.status = 7

    def note(self, text):
        self.log.write(text + "\n")

    def die(self):
        """As a process that is killed: nobody listens, and all connections end."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for conn in self.connections:
            with contextlib.suppress(OSError):  # it is over already
                conn.shutdown(socket.SHUT_RDWR)

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(conn)
            threading.Thread(target=guarded, args=(self, conn), daemon=True).start()


def read_request(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
    size = int(headers.get("content-length", "0"))
    while len(body) < size:
        more = conn.recv(65536)
        if not more:
            return None
        body += more
    method, target, _ = lines[0].split(" ")
    return method, target, body


def reply(conn, status, body=b""):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    conn.sendall(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                 % (status, len(body)) + body)


def frame(channel, data):
    return bytes([channel, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def send_output(engine, conn):
    engine.started.wait()
    if engine.fault == "half-frame":
        conn.sendall(frame(1, b"out") + b"\x01\x00\x00")
    elif engine.fault == "bad-frame":
        conn.sendall(frame(1, b"out") + b"no frame at all")
    elif engine.fault == "system-error":
        conn.sendall(frame(3, b"the daemon \x1b[2J says no"))
    elif engine.fault == "endless":
        while not engine.ended.is_set():
            conn.sendall(frame(1, b"x" * 60000))
    else:
        for byte in frame(1, b"out") + frame(2, b"err"):
            conn.sendall(bytes([byte]))
    if engine.fault in ("endless", "ignores-kill", "hangs-at-kill", "dies"):
        engine.ended.wait()


def take_input(engine, conn):
    while conn.recv(65536):
        pass
    engine.note("input ends")
    if engine.fault not in ENDLESS:
        engine.ended.set()


def attach(engine, conn, query):
    conn.sendall(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
    if "stdin=1" in query:
        take_input(engine, conn)
    else:
        send_output(engine, conn)
    return False


def create(engine, conn, body):
    engine.asked = json.loads(body)
    if engine.fault == "dies-at-create":
        engine.die()
        return
    warnings = ["No swap limit support"] if engine.fault == "warns" else None
    reply(conn, 201, {"Id": ID, "Warnings": warnings})


def inspect(engine, conn):
    host = dict(engine.asked["HostConfig"])
    if engine.fault == "lies":
        host["Memory"] = 0
    reply(conn, 200, {"Id": ID, "HostConfig": host,
                      "State": {"Running": False, "OOMKilled": engine.fault == "oom",
                                "ExitCode": engine.status, "Error": ""}})


def wait(engine, conn):
    if engine.fault == "dies":
        time.sleep(0.3)
        engine.die()
        return
    if not engine.asked["OpenStdin"] and engine.fault not in ENDLESS:
        engine.ended.set()
    engine.ended.wait()
    if engine.fault == "wait-garbage":
        reply(conn, 200, {"StatusCode": "seven"})
    else:
        reply(conn, 200, {"StatusCode": engine.status, "Error": None})


def kill(engine, conn):
    if engine.fault == "hangs-at-kill":
        time.sleep(3600)
    reply(conn, 204)
    if engine.fault != "ignores-kill":
        engine.status = 137
        engine.ended.set()


def remove(engine, conn):
    if engine.fault == "keeps":
        reply(conn, 500, {"message": "device or resource busy"})
        return
    engine.ended.set()
    reply(conn, 204)


def answer(engine, conn, method, path, query, body):
    name = path.rsplit("/", 1)[-1]
    if method == "GET" and path.startswith("/v1.40/images/") and name == "json":
        if engine.fault == "huge":
            reply(conn, 200, b'{"Id":"' + b"1" * (9 << 20) + b'"}')
        else:
            reply(conn, 200, {"Id": IMAGE})
    elif method == "GET" and path == "/v1.40/containers/json":
        reply(conn, 200, [])
    elif method == "POST" and path == "/v1.40/containers/create":
        create(engine, conn, body)
    elif method == "GET" and path == "/v1.40/containers/" + ID + "/json":
        inspect(engine, conn)
    elif method == "GET" and path == "/v1.40/containers/" + ID + "/stats":
        reply(conn, 200, {})
    elif method == "POST" and path == "/v1.40/containers/" + ID + "/attach":
        return attach(engine, conn, query)
    elif method == "POST" and path == "/v1.40/containers/" + ID + "/start":
        engine.started.set()
        reply(conn, 204)
    elif method == "POST" and path == "/v1.40/containers/" + ID + "/wait":
        wait(engine, conn)
    elif method == "POST" and path == "/v1.40/containers/" + ID + "/kill":
        kill(engine, conn)
    elif method == "DELETE" and path.startswith("/v1.40/containers/menace-"):
        remove(engine, conn)
    else:
        engine.note("unexpected " + method + " " + path)
        reply(conn, 404, {"message": "page not found"})
    return True


def serve(engine, conn):
    goes_on = True
    while goes_on:
        request = read_request(conn)
        if not request:
            break
        method, target, body = request
        path, _, query = target.partition("?")
        engine.note(method + " " + target)
        if engine.fault == "silent":
            time.sleep(3600)
        if engine.fault == "garbage":
            conn.sendall(b"\x00\xff\x16\x03 what is this\r\n\r\n")
            break
        if engine.fault == "500":
            reply(conn, 500, {"message": "out of disk"})
            continue
        if engine.fault == "slow":
            time.sleep(0.2)
        goes_on = answer(engine, conn, method, path, query, body)
    conn.close()


def guarded(engine, conn):
    try:
        serve(engine, conn)
    except OSError:
        pass  # whoever asked is gone


def main():
    engines = [Engine(sys.argv[1] + "/" + fault, fault) for fault in sys.argv[2:]]
    threads = [threading.Thread(target=engine.run) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
