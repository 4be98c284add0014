#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines that fail as they are told to.

usage: fake-dockerd.py DIR FAULT...

One engine a fault: its socket is DIR/FAULT/sock, what was asked of it is in DIR/FAULT/log.
Speaks as much of the Docker Engine API as menace-docker uses, and is strict about it: what it
does not know is a line "unexpected ..." there.  Every request is a line there.  The one container
takes an order as menace-init does, unless it has an init of the engine's, has output "out" and error output "err" and ends with status 7
when its input ends; the fault says what goes wrong.  FAULT-auto is the same fault once more.
The fault api-A-B has the versions 1.A to 1.B of the API, and refuses others as an engine does; all others have 1.12 to 1.41.
"""
import contextlib
import json
import os
import socket
import struct
import sys
import threading
import time

ID = "c" * 64
IMAGE = "sha256:" + "1" * 64

# Containers that do not end with their input.
ENDLESS = ("endless", "uncounted", "ignores-kill", "hangs-at-kill")

class Engine:
    def __init__(self, folder, fault):
        self.log = open(folder + "/log", "a", buffering=1)
        self.fault = fault.removesuffix("-auto")
        self.apis = (12, 41)
        if self.fault.startswith("api-"):
            self.apis = tuple(int(word) for word in self.fault.split("-")[1:])
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(folder + "/sock.new")
        self.listener.listen(64)
        os.rename(folder + "/sock.new", folder + "/sock")  # whoever sees it may connect
        self.asked = None
        self.ended = threading.Event()
        self.started = threading.Event()
        self.asked_for = threading.Event()  # whether it listens
        self.ordered = threading.Event()
        self.said = threading.Event()  # all of its output
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


def take_order(engine, conn):
    """runtime/backend/order.h; False: none came"""
    taken = conn.makefile("rb", buffering=0)

    def read(size):
        data = b""
        while len(data) < size:
            more = taken.read(size - len(data))
            if not more:
                return None
            data += more
        return data

    for event in (engine.asked_for, engine.ordered):
        head = read(16)
        if not head:
            return False
        magic, size, zero = struct.unpack("<8sII", head)
        if magic != b"menace1\n" or zero or (size == 0) != (event is engine.asked_for):
            engine.note("unexpected order %r" % head)
            return False
        if not read(size) and size:
            return False
        event.set()
    return True


def begin_by_order(engine, conn):
    """False: it is over before anything begins"""
    engine.asked_for.wait()
    if engine.fault == "answers-nothing":
        engine.ended.wait()
        return False
    if engine.fault == "answers-wrongly":
        conn.sendall(frame(1, b"what is this\n"))
        engine.ended.wait()
        return False
    if engine.fault == "ends-unasked":
        engine.ended.set()
        return False
    conn.sendall(frame(1, b"menace: ready\n"))
    engine.ordered.wait()
    if engine.fault == "ends-unordered":
        engine.ended.set()
        return False
    conn.sendall(frame(1, b"menace: taken\n"))
    return True


def send_output(engine, conn):
    engine.started.wait()
    if engine.asked["Entrypoint"] and not begin_by_order(engine, conn):
        return
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
        engine.said.set()
    if engine.fault in ("endless", "uncounted", "ignores-kill", "hangs-at-kill", "dies"):
        engine.ended.wait()


def take_input(engine, conn):
    if engine.asked["Entrypoint"] and not take_order(engine, conn):
        return
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
    for mount in engine.asked["HostConfig"]["Mounts"]:
        forced = mount["BindOptions"].get("ReadOnlyForceRecursive", False)
        if forced != (mount["ReadOnly"] and engine.apis[1] >= 44):
            engine.note("unexpected mount " + json.dumps(mount))
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
        engine.said.wait()  # in the middle of the run, not while it is being started
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


def tell_version(engine, conn):
    if engine.fault == "no-version":
        reply(conn, 200, {"Version": "many"})
    else:
        reply(conn, 200, {"Version": "0.fake", "ApiVersion": "1.%d" % engine.apis[1],
                          "MinAPIVersion": "1.%d" % engine.apis[0]})


def speaks(engine, conn, version):
    minor = int(version.removeprefix("v1."))
    if minor < engine.apis[0]:
        reply(conn, 400, {"message": "client version 1.%d is too old. Minimum supported API version is 1.%d, "
                                     "please upgrade your client to a newer version" % (minor, engine.apis[0])})
    elif minor > engine.apis[1]:
        reply(conn, 400, {"message": "client version 1.%d is too new. Maximum supported API version is 1.%d"
                                     % (minor, engine.apis[1])})
    else:
        return True
    engine.note("unexpected version " + version)
    return False


def answer(engine, conn, method, path, query, body):
    name = path.rsplit("/", 1)[-1]
    if method == "GET" and path == "/version":
        tell_version(engine, conn)
        return True
    version, path = path.split("/")[1], "/" + path.split("/", 2)[-1]
    if not speaks(engine, conn, version):
        return True
    if method == "GET" and path == "/version":
        tell_version(engine, conn)
    elif method == "GET" and path == "/images/json":
        reply(conn, 200, [{"Id": "sha\x1b[2J", "RepoTags": ["a\x1b[2J\x9b31m:1"], "Size": 1048576,
                           "Labels": {"org.menace.image": "\x1b[2J"}}])
    elif method == "GET" and path.startswith("/images/") and name == "json":
        if engine.fault == "huge":
            reply(conn, 200, b'{"Id":"' + b"1" * (9 << 20) + b'"}')
        else:
            reply(conn, 200, {"Id": IMAGE})
    elif method == "GET" and path == "/containers/json":
        reply(conn, 200, {"containers": []} if engine.fault == "no-list" else [])
    elif method == "POST" and path == "/containers/create":
        create(engine, conn, body)
    elif method == "GET" and path == "/containers/" + ID + "/json":
        inspect(engine, conn)
    elif method == "GET" and path == "/containers/" + ID + "/stats":
        reply(conn, 200, {})
    elif method == "POST" and path == "/containers/" + ID + "/attach":
        return attach(engine, conn, query)
    elif method == "POST" and path == "/containers/" + ID + "/start":
        engine.started.set()
        if engine.fault == "dies-at-start":
            engine.die()
        else:
            reply(conn, 204)
    elif method == "POST" and path == "/containers/" + ID + "/wait":
        wait(engine, conn)
    elif method == "POST" and path == "/containers/" + ID + "/kill":
        kill(engine, conn)
    elif method == "DELETE" and path.startswith("/containers/menace-"):
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
