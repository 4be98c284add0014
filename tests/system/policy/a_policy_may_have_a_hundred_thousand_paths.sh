#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A hundred thousand paths are all enforced
# lane: soak (volume)

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3

python3 - "$tmp" <<'END' || fail "cannot make files"
import base64, json, os, sys
tmp = os.fsencode(sys.argv[1])
os.mkdir(tmp + b"/many")
paths = []
for i in range(2000):
    open(tmp + b"/many/%d" % i, "w").write(str(i))
for i in range(100000):
    paths.append({"path": "/many/%d" % (i * 2), "access": ["read"]})
os.mkdir(tmp + b"/odd")
for name in (b"new\nline", b"not\xffutf8"):
    open(tmp + b"/odd/" + name, "w").write("odd")
json.dump({"schema": "menace.policy/1", "paths": paths + [
    {"path": "/odd/new\nline", "access": ["read"]},
    {"path": {"base64": base64.b64encode(b"/odd/not\xffutf8").decode()}, "access": ["read"]},
    {"path": "/usr/", "access": ["read", "execute", "list"]},
    {"path": "/etc/", "access": ["read"]}]}, open(tmp + b"/policy.json", "w"))
END
places=(--ro "$tmp/many:/many" --ro "$tmp/odd:/odd")

enforced "${places[@]}" -t "$(scaled 60)" -- python3 -c '
import os
read = refused = 0
for i in range(2000):
    try:
        read += open("/many/%d" % i).read() == str(i) and i % 2 == 0
    except PermissionError:
        refused += i % 2
for name in os.fsencode("/odd/new\nline"), b"/odd/not\xffutf8":
    print(open(name).read())
print(read, refused)
'
assert_status 0
assert_eq "$stdout" "odd
odd
1000 1000"
assert_eq "$(json '.receipt.policy.paths | "\(.rules) \(.missing)"')" "1004 99000" "paths"
assert_eq "$(json .denials.total)" 1000 "denials"
