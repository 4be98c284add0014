#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A command of menace knows the options that it heeds, and refuses the others
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

# Every command, or each of its verbs: the indented lines of help begin with them.
commands()
{
	local command verbs

	while read -r command _; do
		verbs=$("$MENACE" "$command" --help | sed -n "s/^  \($command [a-z-]*\) .*/\1/p")
		echo "${verbs:-$command}"
	done < <("$MENACE" --help | grep '^  [a-z]')
}

mapfile -t all < <(commands)
assert_le 40 "${#all[@]}" "number of commands"
without_store=()
for command in "${all[@]}"; do
	# shellcheck disable=SC2086 # one word, or two
	menace $command --help
	assert_status 0
	grep -q '^ .*--store ' <<<"$stdout" && continue
	without_store+=("$command")
	# What they pass on is menace-run's.
	[ "$command" != learn ] || continue
	# shellcheck disable=SC2086
	menace $command --store "$store"
	assert_refused 'unknown option --store; see --help'
done

# What these tell is of the machine, of an engine, or of files.
for command in check-resources cleanup doctor "image build" "image list" "image rm" install-autopurge \
	"pool status" "pool drain" purge-stale top "preset generate" "preset suggest"; do
	printf '%s\n' "${without_store[@]}" | grep -qx -e "$command" || fail "$command knows --store"
done
# And these do look into it.
for command in runs show diff events "audit verify" "audit head" "audit checkpoint" hold; do
	printf '%s\n' "${without_store[@]}" | grep -qx -e "$command" && fail "$command knows no --store"
done

menace install-autopurge --to "$tmp" --json
assert_refused 'unknown option --json; see --help'
[ -z "$(find "$tmp" -name 'menace-autopurge*')" ] || fail "units were written"

# Those of one verb are no other's.
menace audit verify --new-key
assert_refused 'unknown option --new-key; see --help'
menace audit head --output "$tmp/head"
assert_refused 'unknown option --output; see --help'
menace audit checkpoint --public-key 00
assert_refused 'unknown option --public-key; see --help'
