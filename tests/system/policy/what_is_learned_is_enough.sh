#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that was learned passes under its policy without a denial, as often as it is run; what
# is written of the same runs is the same

. "$(dirname "$0")/../../lib/system.sh"
. "$(dirname "$0")/../../lib/policy.sh"

need_root
need_system_program python3 gcc

# check WHAT OPTIONS... -- PROGRAM...
check()
{
	local what=$1 expected
	shift

	learn "$@"
	assert_status 0
	expected=$stdout
	for _ in 1 2; do
		enforced -t "$(scaled 30)" "$@"
		assert_status 0
		assert_eq "$stdout" "$expected" "output of $what"
		assert_eq "$(json .denials.total)" 0 "denials of $what"
		assert_eq "$(json .receipt.policy.state)" enforced "policy of $what"
		assert_eq "$(json .receipt.policy.paths.missing)" 0 "missing paths of $what"
	done
}

cat >"$tmp/a.py" <<'END'
import json, os, subprocess, tempfile
with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "x")
    open(name, "w").write("1")
    os.mkdir(folder + "/d")
    os.rename(name, folder + "/d/y")
open("/work/out.json", "w").write(json.dumps({"a": 1}))
open("/proc/self/status").read()
print(subprocess.check_output(["cat", "/work/out.json"]).decode())
END
check python --ro "$tmp/a.py:/a.py" -- python3 /a.py
grep -q tmp_ "$tmp/policy.json" && fail "a name that is made by chance is in the policy"
jq -e '[.paths[].path] | index("/tmp/") and index("/work/")' "$tmp/policy.json" >/dev/null ||
	fail "the folders are not in the policy"

printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >"$tmp/a.c"
check gcc --ro "$tmp/a.c:/a.c" -- gcc -O1 -o /work/a /a.c

check pipeline -- sh -c 'seq 1 1000 | grep 7 | sort -rn | head -3 >/tmp/o; cat /tmp/o; rm /tmp/o'
cp "$tmp/policy.json" "$tmp/first.json"
learn -- sh -c 'seq 1 1000 | grep 7 | sort -rn | head -3 >/tmp/o; cat /tmp/o; rm /tmp/o'
assert_eq "$(jq -c 'del(.limits)' "$tmp/policy.json")" "$(jq -c 'del(.limits)' "$tmp/first.json")" \
	"what is learned again"
# Sorted as bytes.
assert_eq "$(jq -r '.paths[].path' "$tmp/first.json")" \
	"$(jq -r '.paths[].path' "$tmp/first.json" | sort)" "order of paths"
