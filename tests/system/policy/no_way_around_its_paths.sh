#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Links, "..", descriptors and /proc lead nowhere that the policy does not grant
# kernel
# security

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3

cat >"$tmp/a.py" <<'END'
import os, sys
good = "/data/good"
print(open(good).read().strip())
os.makedirs("/tmp/a/b", exist_ok=True)
for f in (os.symlink, os.link):
    try:
        f("/tmp/nowhere", "/tmp/a/x")
        os.unlink("/tmp/a/x")
    except OSError:
        pass
os.rename("/tmp/a/b", "/tmp/a/c")
os.listdir("/tmp/a")
open("/tmp/a/f", "w").close()
fd = os.open("/data/good", os.O_RDONLY)
os.close(os.dup(fd))
os.chdir("/tmp")
os.chdir("/")
os.readlink("/proc/self/exe")
open("/proc/self/status").read()
if len(sys.argv) == 1:
    sys.exit(0)

secret = "/data/secret"
os.symlink(secret, "/tmp/l")
os.symlink("/data", "/tmp/dl")
os.symlink("../../data/secret", "/tmp/a/rl")
ways = [secret, "/data/../data/secret", "/tmp/l", "/tmp/dl/secret", "/tmp/a/rl", "/tmp/a/../l",
        "/proc/self/root/data/secret", "/proc/self/cwd/data/secret", "/proc/thread-self/root" + secret,
        "/data/good/../secret", "//data//secret", "/data/./secret", "data/secret"]
os.chdir("/")
for way in ways:
    try:
        print("READ", way, open(way).read().strip())
    except OSError:
        pass
os.chdir("/data")
for way in ("secret", "../data/secret", "./secret"):
    try:
        print("READ", way, open(way).read().strip())
    except OSError:
        pass
# By a descriptor of the folder that needs no right.
d = os.open("/data", os.O_PATH)
f = os.open("secret", os.O_PATH, dir_fd=d)
for way in (lambda: os.open("secret", os.O_RDONLY, dir_fd=d),
            lambda: os.open("/proc/self/fd/%d" % f, os.O_RDONLY),
            lambda: os.open("/dev/fd/%d" % f, os.O_RDONLY)):
    try:
        print("READ", os.read(way(), 100))
    except OSError:
        pass
# What is granted in one place is not taken to another.
for way in (lambda: os.link("/data/good", "/tmp/good"), lambda: os.link(secret, "/tmp/secret"),
            lambda: os.rename("/rw/x", "/tmp/x"), lambda: open("/rw/x", "w"),
            lambda: os.unlink("/rw/x"), lambda: os.truncate("/rw/x", 0) if sys.argv[1] == "3" else 1 / 0,
            lambda: os.symlink("/", "/rw/y")):
    try:
        way()
        print("DID", way.__code__.co_consts)
    except (OSError, ZeroDivisionError):
        pass
print("end")
END
mkdir -m 755 "$tmp/data" "$tmp/rw"
chmod 777 "$tmp/rw"
echo good >"$tmp/data/good"
echo secret >"$tmp/data/secret"
echo x >"$tmp/rw/x"
chmod 666 "$tmp/rw/x"
places=(--ro "$tmp/data:/data" --rw "$tmp/rw:/rw" --ro "$tmp/a.py:/a.py")

learn "${places[@]}" -- python3 /a.py
assert_status 0
# The calls that the attack needs are granted: it is the paths that hold.
jq '.syscalls += ["@file", "@io"] | .paths += [{"path": "/rw/", "access": ["list"]}]' \
	"$tmp/policy.json" >"$tmp/wide.json" && mv "$tmp/wide.json" "$tmp/policy.json"
run --policy "$tmp/policy.json" "${places[@]}" -- python3 /a.py 1
judged=1
[ "$(json .receipt.policy.paths.truncation_judged)" = false ] || judged=3
enforced "${places[@]}" -- python3 /a.py $judged
assert_status 0
assert_eq "$stdout" "good
end" "output"
assert_eq "$(cat "$tmp/rw/x")" x "file in the writable folder"
assert_eq "$(ls "$tmp/rw")" x "writable folder"
[[ $(denials) == *"landlock openat /data/secret"* ]] || fail "the denial does not name the file: $(denials)"
