#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --dry-run prints the resolved request and what the host can enforce; no group,
# no lease, no file is made and nothing is run
#
# sanitizers

. "${0%/*}/../../lib/system.sh"

need_root
need_cgroups
check_leaks

mkdir "$tmp/work"
run_plain "$MENACE_RUN" --dry-run -m 64m -t 2 --workspace "$tmp/work" --keep-changes "$tmp/out" \
	-o "$tmp/r" -- sh -c "touch $tmp/work/ran"
assert_status 0
assert_eq "$(gojq -r '.would_start' "$tmp/stdout")" true
assert_eq "$(gojq -r '.spec.limits.memory_max_bytes' "$tmp/stdout")" 67108864 "memory"
assert_eq "$(gojq -r '.spec.limits.wall_ms' "$tmp/stdout")" 2000 "wall"
assert_eq "$(gojq -r '.knobs["limits.wall_ms"] | .text + " " + .origin' "$tmp/stdout")" "2s flag" \
	"where it came from"
assert_eq "$(gojq -r '.host.cgroup_mode' "$tmp/stdout")" "$host_cgroups" "mode"
assert_match "$(gojq -r '.spec_sha256' "$tmp/stdout")" '^[0-9a-f]{64}$' "hash"
assert_eq "$(gojq -r '.spec.program | @json' "$tmp/stdout")" "[\"sh\",\"-c\",\"touch $tmp/work/ran\"]"
assert_absent "$tmp/work/ran"
assert_absent "$tmp/out"
assert_absent "$tmp/r"

# The run itself has the hash that was printed.
hash=$(gojq -r .spec_sha256 "$tmp/stdout")
run -m 64m -t 2 --workspace "$tmp/work" --keep-changes "$tmp/out" -- sh -c "touch $tmp/work/ran"
assert_eq "$(json .spec_sha256)" "$hash" "hash of the run"

run_plain "$MENACE_RUN" --dry-run --memory x -- true
assert_refused --memory
