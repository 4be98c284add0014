#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A wrong policy, a second one, and one that cannot be enforced are refused before anything runs;
# it works in a spec, in a batch, and through --dry-run and back
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root

policy '"syscals": []'
enforced -- /bin/true
assert_refused "--policy: $tmp/policy.json: unknown key \"syscals\"; did you mean \"syscalls\"?"
: >"$tmp/policy.json"
enforced -- /bin/true
assert_refused "is empty; accepted: a document of schema menace.policy/1"
run --policy "$tmp/none" -- /bin/true
assert_refused "--policy: open $tmp/none: No such file or directory"
policy '"paths": [{"path": "/usr", "access": ["read"]}]'
enforced -- /bin/true
assert_status 2
assert_contains "$stderr" "policy: /usr is a folder inside; it is written with a slash at its end"
assert_reason setup_error

# One that takes away; a second might give back.
policy '"syscalls": ["read"]'
run --policy "$tmp/policy.json" --policy "$tmp/policy.json" -- /bin/true
assert_refused "there is a policy already"
jq -n --slurpfile p "$tmp/policy.json" \
	'{schema: "menace.spec/1", program: ["/bin/true"], policy: $p[0]}' >"$tmp/spec.json"
run --policy "$tmp/policy.json" --spec "$tmp/spec.json"
assert_refused "there is a policy already"

# Hosts that cannot be told apart.
policy '"hosts": [{"host": "127.0.0.1", "port": 80, "protocol": "tcp"}]'
enforced --backend native --net loopback -- /bin/true
assert_status 125
assert_contains "$stderr" "policy: hosts cannot be enforced"
assert_reason setup_error
enforced --net loopback --best-effort policy-hosts -- /bin/true
assert_status 0
assert_eq "$(json '.receipt.policy | "\(.state) \(.hosts.state)"')" "degraded degraded"
assert_eq "$(json '.receipt.degraded[0].item')" policy-hosts
enforced -- /bin/true
assert_status 0
assert_eq "$(json .receipt.policy.hosts.state)" enforced
policy '"hosts": []'
enforced --net loopback -- sh -c 'cat /proc/net/dev | grep -c lo:'
assert_status 0
assert_eq "$(json '.receipt.policy.hosts.net | "\(.asked) \(.applied)"')" "loopback none"
assert_eq "$(json .receipt.network.mode)" none

# Limits: the smaller of both.
policy '"limits": {"memory_max_bytes": "32Mi", "pids_max": 1000, "wall_ms": {"peak": 3000, "margin_percent": 100}}'
enforced -m 64m --pids 50 -- /bin/true
assert_status 0
assert_eq "$(jq -c '.receipt.policy.limits | map_values([.asked, .policy, .applied])' "$result")" \
	'{"memory_max_bytes":[67108864,33554432,33554432],"wall_ms":[30000,6000,6000],"pids_max":[50,1000,50]}'
assert_eq "$(json .receipt.cgroup.limits.memory_max_bytes.value)" 33554432
assert_eq "$(json .limits.wall_ms)" 6000
policy '"limits": {"wall_ms": {"peak": 200, "margin_percent": 100}}'
enforced -- sh -c 'while :; do :; done'
assert_status 124
assert_reason wall_timeout
assert_ge "$(json .usage.wall_us)" 400000 "microseconds until the end"

# Through --dry-run and back, and in a batch.
policy '"syscalls": ["read"], "limits": {"pids_max": 7}'
"$MENACE_RUN" --policy "$tmp/policy.json" --dry-run -- /bin/true >"$tmp/dry.json" || fail "dry run"
jq .spec "$tmp/dry.json" >"$tmp/again.json"
"$MENACE_RUN" --spec "$tmp/again.json" --dry-run >"$tmp/dry2.json" || fail "dry run of its spec"
for member in .spec .spec_sha256 .policy .payload.filter_sha256; do
	assert_eq "$(jq -cS $member "$tmp/dry2.json")" "$(jq -cS $member "$tmp/dry.json")" "$member"
done
run --spec "$tmp/again.json"
assert_eq "$(json .spec_sha256)" "$(gojq -r .spec_sha256 "$tmp/dry.json")" "hash of the request"
assert_eq "$(json .receipt.seccomp.filter_sha256)" "$(gojq -r .payload.filter_sha256 "$tmp/dry.json")" \
	"hash of the filter"
assert_eq "$(json .receipt.policy.sha256)" "$(gojq -r .policy.sha256 "$tmp/dry.json")" "hash of the policy"
{
	echo '{"schema": "menace.spec/1", "program": ["/bin/echo", "plain"]}'
	jq -c . "$tmp/again.json"
} >"$tmp/lines"
run_plain "$MENACE_RUN" --batch <"$tmp/lines"
assert_eq "$(jq -sr 'sort_by(.batch_index) | map(.receipt.policy.state // "none") | join(" ")' "$tmp/stdout")" \
	"none enforced" "policies of the batch"
run_plain "$MENACE_RUN" --batch --policy "$tmp/policy.json" <"$tmp/lines"
assert_status 2
assert_eq "$(jq -sr 'sort_by(.batch_index) | map(.receipt.policy.state // .error.message) | join(" | ")' "$tmp/stdout")" \
	"enforced | line 2: policy: there is a policy already; accepted: one, which may be written to allow less"
