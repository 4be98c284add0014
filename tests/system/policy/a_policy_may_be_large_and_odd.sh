#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Thousands of paths are all enforced; names may hold a newline or be no UTF-8
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_system_program python3

python3 - "$tmp" <<'END' || fail "cannot make files"
import base64, json, os, sys
tmp = os.fsencode(sys.argv[1])
os.mkdir(tmp + b"/many")
paths = []
for i in range(200):
    open(tmp + b"/many/%d" % i, "w").write(str(i))
for i in range(3000):
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
for i in range(200):
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
100 100"
assert_eq "$(json '.receipt.policy.paths | "\(.rules) \(.missing)"')" "104 2900" "paths"
assert_eq "$(json .denials.total)" 100 "denials"

# They are learned, too.
learn "${places[@]}" -- sh -c 'cat /odd/*'
assert_status 0
assert_eq "$(jq -c '[.paths[].path | select((type == "object") or (startswith("/odd/") and . != "/odd/"))]' "$tmp/policy.json")" \
	'["/odd/new\nline",{"base64":"L29kZC9ub3T/dXRmOA=="}]'
enforced "${places[@]}" -- sh -c 'cat /odd/*'
assert_status 0
assert_eq "$stdout" oddodd
assert_eq "$(json .denials.total)" 0 "denials"
enforced --ro "$tmp/odd:/odd" --ro "$tmp/odd:/odd2" -- sh -c 'cat /odd2/*'
assert_eq "$(json '[.denials.rows[] | select(.object_base64) | .object_base64][0]')" L29kZDIvbm90/3V0Zjg= \
	"denial of a name that is no UTF-8"
