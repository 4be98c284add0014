#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What --dry-run prints as .spec is a document: --spec takes it unchanged and means
# the same by it, whatever it was made from
#

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups

# taken_back ARG...
taken_back()
{
	local hash

	run_plain "$MENACE_RUN" --dry-run "$@"
	assert_status 0
	gojq .spec "$tmp/stdout" >"$tmp/spec"
	hash=$(gojq -r .spec_sha256 "$tmp/stdout")
	run_plain "$MENACE_RUN" --dry-run --spec "$tmp/spec"
	assert_status 0
	assert_eq "$(gojq .spec "$tmp/stdout")" "$(cat "$tmp/spec")" "spec"
	assert_eq "$(gojq -r .spec_sha256 "$tmp/stdout")" "$hash" "hash"
}

taken_back -- true
taken_back -p strict -t unlimited --cpus 0.29 -m 64m --uid 7 --hostname h -e A=1 -e B= \
	--env-pass HOME --ro /opt:/o --tmpfs /t:1m --hide /usr/src --net loopback -- sh -c 'echo "$A"'
taken_back --lang python -c 'print("ä")' x ''
taken_back --best-effort GPU_LIMIT,landlock -p '{"GPU_LIMIT": 5, "SCENARIO_NAME": "n"}' -- true
assert_eq "$(gojq -r '.spec.unenforced[0] + .spec.name' "$tmp/stdout")" GPU_LIMITn
mkdir "$tmp/"$'\377'
taken_back --workspace "$tmp" --ro "$tmp/"$'\377:/d' -e $'\376=\375' -c $'#!/bin/sh\n# \374' $'\373'
SANDBOX_ENV_PRESETS='{"MAX_THREADS": 9}' taken_back -- true

# And it runs as what it was.
run_plain "$MENACE_RUN" --dry-run --pids 9 -- printf '%s.' $'\377' a
gojq .spec "$tmp/stdout" >"$tmp/spec"
hash=$(gojq -r .spec_sha256 "$tmp/stdout")
run --spec "$tmp/spec"
assert_status 0
assert_eq "$(od -An -tx1 <"$tmp/stdout")" " ff 2e 61 2e" "arguments"
assert_eq "$(json .spec_sha256)" "$hash" "hash of the run"
assert_eq "$(json .limits.pids_max)" 9 "pids"
