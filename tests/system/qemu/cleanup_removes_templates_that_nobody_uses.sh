#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What was kept of machines goes with "menace cleanup", but for what a run uses or makes; purge-stale leaves it.
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/docker.sh"

need_program flock jq
need_root
menace=${MENACE:-${MENACE_RUN%/*}/menace}
with_own_leases

folder=/run/menace/qemu
mkdir -m 700 "$folder"
used=$folder/template-1111111111111111111111111111111111111111111111111111111111111111
idle=$folder/template-2222222222222222222222222222222222222222222222222222222222222222

# clean WORDS...: the numbers that the command tells.
clean()
{
	"$menace" "$@" --json | gojq -c '[.templates, .templates_used]'
}

touch "$used" "$idle" "$folder/template-lock" "$folder/kvm-fails" "$folder/unfinished-1"
assert_eq "$(clean purge-stale)" '[0,0]' "templates that purge-stale takes"
exec {making}<"$folder/template-lock"
flock "$making"
assert_eq "$(clean cleanup)" '[0,2]' "templates that go while one is made"
exec {making}<&-
exec {using}<"$used"
flock --shared "$using"
assert_eq "$(clean cleanup --dry-run)" '[1,1]' "templates that would go"
[ -e "$idle" ] || fail "a dry run removes something"
assert_eq "$(clean cleanup)" '[1,1]' "templates that go beside one that is used"
assert_eq "$(cd "$folder" && echo *)" "kvm-fails template-1111111111111111111111111111111111111111111111111111111111111111 template-lock"
exec {using}<&-
"$menace" cleanup >"$tmp/stdout" || fail "cleanup: $?"
grep -qx '1 templates of machines removed' "$tmp/stdout" || fail "$(cat "$tmp/stdout")"
assert_eq "$(cd "$folder" && echo *)" 'kvm-fails template-lock'
