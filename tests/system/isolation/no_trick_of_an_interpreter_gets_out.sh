#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The ways around a check that is made inside an interpreter: raw files, ctypes,
# another program, paths that lead up
# security

. "${0%/*}/../../lib/system.sh"

need_unprivileged_user
need_system_program python3
echo "host secret" >"$tmp/secret"
chmod 644 "$tmp/secret"
mkdir "$tmp/work"
ln -s "$tmp/secret" "$tmp/work/link"
cat >"$tmp/tricks.py" <<'PY'
import ctypes, io, os, socket, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
secret = sys.argv[1]
up = "/".join([".."] * 30) + secret

def by_ctypes(path):
    fd = libc.open(path.encode(), 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return os.read(fd, 100)

def by_syscall(path):
    fd = libc.syscall(257, -100, path.encode(), 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return os.read(fd, 100)

def by_chroot(path):
    os.makedirs("/tmp/jail", exist_ok=True)
    top = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/jail")
    os.fchdir(top)
    return open("../" * 30 + path).read()

reads = {
    "open": lambda p: open(p).read(),
    "FileIO": lambda p: io.FileIO(p).read(),
    "os.open": lambda p: os.read(os.open(p, os.O_RDONLY), 100),
    "ctypes": by_ctypes,
    "syscall": by_syscall,
    "cat": lambda p: subprocess.run(["cat", p], capture_output=True, check=True).stdout,
    "shell": lambda p: subprocess.run(f"cat {p}", shell=True, capture_output=True, check=True).stdout,
    "chroot": by_chroot,
}
paths = {
    "plain": secret, "up": up, "link": "/work/link", "root": "/proc/self/root" + secret,
    "root-up": "/proc/self/root/.." + secret, "cwd-up": "/proc/self/cwd/" + up, "task": "/proc/thread-self/root" + secret,
    "init": "/proc/1/root" + secret, "parent": f"/proc/{os.getppid()}/root" + secret, "fd": "/dev/fd/0/" + up,
}
for how, read in reads.items():
    for what, path in paths.items():
        try:
            print(how, what, "GOT", read(path))
        except (OSError, subprocess.CalledProcessError) as e:
            print(how, what, "refused")

def attempt(name, call):
    try:
        call()
        print(name, "GOT")
    except OSError as e:
        print(name, "refused")

attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
for path in "/var/run/docker.sock", "/run/docker.sock", "/run/systemd/private", "/run/dbus/system_bus_socket":
    attempt(path, lambda: socket.socket(socket.AF_UNIX).connect(path))
for path in "/usr/bin/new", "/etc/passwd", "/proc/self/mem2", "/../new", "/work/../new":
    attempt("write " + path, lambda: open(path, "w"))
attempt("write outside", lambda: open(os.path.dirname(secret) + "/written", "w"))
PY
# From a folder that everyone may enter: the tests' own may be below /root.
(cd / && "${as_user[@]}" /usr/bin/python3 "$tmp/tricks.py" "$tmp/secret") >"$tmp/control" 2>/dev/null </dev/null
assert_ge "$(grep -c "GOT.*host secret" "$tmp/control")" 30 "control: tricks that work outside"
rm -f "$tmp/written"

for options in "" --userns "--level 2" "--workspace $tmp/work"; do
	# shellcheck disable=SC2086 # words
	run $options --lang python -- "$tmp/tricks.py" "$tmp/secret"
	assert_eq "$(grep GOT "$tmp/stdout")" "" "tricks that work with '$options'"
	assert_eq "$status $(grep -c refused "$tmp/stdout")" "0 93" "status and tricks tried"
	assert_absent "$tmp/written"
	assert_absent /new
done
