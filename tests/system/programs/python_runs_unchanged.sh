#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Python with threads, subprocesses, multiprocessing, asyncio, sqlite3 and ssl;
# nothing it does at the default level is denied
#
# kernel

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

cat >"$tmp/a.py" <<'END'
import asyncio, concurrent.futures, multiprocessing, os, socket, sqlite3, ssl
import subprocess, tempfile, threading, time, hashlib, json, ctypes, select

def square(x):
    return x * x

if __name__ == "__main__":
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(square(i))) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print("threads", sorted(found))
    print("subprocess", subprocess.check_output("echo a | tr a b", shell=True, text=True).strip())
    with multiprocessing.Pool(3) as pool:
        print("pool", pool.map(square, range(5)))
    queue = multiprocessing.get_context("spawn").Queue()
    queue.put(7)
    print("queue", queue.get())
    async def sleepy(x):
        await asyncio.sleep(0.01)
        proc = await asyncio.create_subprocess_exec("echo", str(x), stdout=subprocess.PIPE)
        return (await proc.communicate())[0].decode().strip()
    async def both():
        return await asyncio.gather(sleepy(1), sleepy(2))
    print("asyncio", asyncio.run(both()))
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        print("futures", list(executor.map(square, [3, 4])))
    db = sqlite3.connect("file.db")
    db.execute("pragma journal_mode=wal")
    db.execute("create table t(a)")
    db.executemany("insert into t values(?)", [(i,) for i in range(100)])
    db.commit()
    print("sqlite", db.execute("select sum(a) from t").fetchone()[0])
    print("ssl", ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED)
    a, b = socket.socketpair()
    a.send(b"x")
    print("sockets", b.recv(1))
    with tempfile.NamedTemporaryFile() as f:
        print("tempfile", f.name.startswith("/tmp/"))
    print("random", len(os.urandom(16)), hashlib.sha256(b"").hexdigest()[:8])
    print("time", time.time() > 1600000000, os.cpu_count() > 0)
END
run -t "$(scaled 60)" "$tmp/a.py"
assert_status 0
assert_eq "$stdout" "threads [0, 1, 4, 9, 16, 25, 36, 49]
subprocess b
pool [0, 1, 4, 9, 16]
queue 7
asyncio ['1', '2']
futures [9, 16]
sqlite 4950
ssl True
sockets b'x'
tempfile True
random 16 e3b0c442
time True True"
assert_eq "$stderr" "" "standard error"
assert_eq "$(json .denials.total)" 0 "denials"
