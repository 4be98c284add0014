#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# user_misuse hands a program wrong arguments, hidden and denied files, damaged configurations and wrong variables,
# by seed, each told by class and never by value; the workspace is not changed, and neither is it said to be

. "${0%/*}/../../lib/system.sh"

failure()
{
	json ".failures[] | select(.mode == \"user_misuse\") | $1"
}
changes()
{
	failure "[.changes[] | select(.what == \"$1\") | \"\\(.class) \\(.argument // .path // .name)\"] | join(\"; \")"
}
# misuse SEED OPTIONS... -- PROGRAM...
misuse()
{
	run --workspace "$tmp/w" --set failure.seed="$1" "${@:2}"
}
modes=(--set failure.modes=user_misuse)

mkdir -p "$tmp/w/conf"
echo 'secret-of-the-file=12345678' >"$tmp/w/conf/app.conf"
echo data >"$tmp/w/data.csv"
chmod -R a+rX "$tmp/w"
before=$(cd "$tmp/w" && find . -type f -exec sha256sum {} + | sort)
show='for a in "$@"; do echo "<$a>"; done; echo "${TOKEN-unset}"; wc -c <conf/app.conf; cat conf/app.conf; cat data.csv; ls'

declare -A seen
# These seeds draw each class, the fifth an argument that leads to the file no more.
for seed in 1 2 3 5 10 17; do
	misuse $seed "${modes[@]}" --env TOKEN=secret-of-the-env -- sh -c "$show" sh one --in=data.csv
	n=4
	[ -n "$(changes path)" ] || n=3 # the argument that leads there is none any more
	assert_eq "$(failure '"\(.made) \(.opportunities) \(.fired)"')" "true $n $n" "seed $seed"
	assert_eq "$(json '.inconclusive, .workspace.changes.counts.added, .workspace.changes.counts.deleted, .workspace.changes.counts.modified')" \
		$'false\n0\n0\n0'
	assert_not_contains "$(failure .)" secret-of "a value in the result"
	# Each change is what its class says.
	mapfile -t args < <(grep '^<' <<<"$stdout")
	rest=$(grep -v '^<' <<<"$stdout")
	IFS=' ' read -r class at <<<"$(changes arguments)"
	seen[arguments:$class]=1
	case $class in
		left-out) assert_eq "${#args[@]}" 1 ;;
		doubled) assert_eq "${#args[@]} ${args[at - 1]}" "3 ${args[at]}" ;;
		unknown-option) assert_eq "${#args[@]} ${args[at - 1]}" "3 <--no-such-option>" ;;
		wrong-type) assert_eq "${#args[@]} ${args[at - 1]}" "2 <123>" ;;
		*) fail "arguments: $class" ;;
	esac
	class=$(changes path)
	[ -z "$class" ] || seen[path:${class%% *}]=1
	case $class in
		"missing /work/data.csv") assert_contains "$stderr" "data.csv: No such file" && assert_not_contains "$(tail -n 2 <<<"$rest")" data.csv ;;
		"denied /work/data.csv") assert_contains "$stderr" "data.csv: Permission denied" ;;
		"") assert_contains "$stdout" $'\ndata\n' ;;
		*) fail "path: $class" ;;
	esac
	class=$(changes configuration)
	seen[configuration:${class%% *}]=1
	case $class in
		"empty /work/conf/app.conf") assert_eq "$(sed -n 2p <<<"$rest")" 0 ;;
		"flipped /work/conf/app.conf") assert_eq "$(sed -n 2p <<<"$rest")" 28 && assert_not_contains "$rest" $'secret-of-the-file=12345678\n' ;;
		"cut /work/conf/app.conf") assert_le "$(sed -n 2p <<<"$rest")" 27 bytes ;;
		*) fail "configuration: $class" ;;
	esac
	class=$(changes environment)
	seen[environment:${class%% *}]=1
	case $class in
		"wrong-type TOKEN") assert_eq "$(sed -n 1p <<<"$rest")" 123 ;;
		"empty TOKEN") assert_eq "$(sed -n 1p <<<"$rest")" "" ;;
		"unset TOKEN") assert_eq "$(sed -n 1p <<<"$rest")" unset ;;
		*) fail "environment: $class" ;;
	esac
done
assert_eq "$(printf '%s\n' "${!seen[@]}" | sort | paste -sd' ')" \
	"arguments:doubled arguments:left-out arguments:unknown-option arguments:wrong-type configuration:cut configuration:empty configuration:flipped environment:empty environment:unset environment:wrong-type path:denied path:missing"
assert_eq "$(cd "$tmp/w" && find . -type f -exec sha256sum {} + | sort)" "$before" "the workspace"

# The same seed does the same.
misuse 7 "${modes[@]}" -- cat data.csv
first=$(failure .)
misuse 7 "${modes[@]}" -- cat data.csv
assert_eq "$(failure .)" "$first" "the same seed"

# Occasions are counted although nothing happens, and without any nothing is concluded.
misuse 1 "${modes[@]}" --set failure.intensity=0 -- cat data.csv
assert_status 0
assert_eq "$stdout $(failure '"\(.opportunities) \(.fired) \(.changes | length)"') $(json .inconclusive)" "data 3 0 0 false"
run "${modes[@]}" -- true
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true user_misuse: it had no opportunity"

# What an interpreter runs is the program, and the flags of a preset are a part each.
echo 'echo "ran $*"' >"$tmp/w/run.sh"
chmod a+r "$tmp/w/run.sh"
misuse 1 --preset '{"UNEXPECTED_API_CALLS": true}' -- sh run.sh x
assert_eq "$(tr -d '\n' <<<"$stdout")" "ran --no-such-option x"
misuse 1 --preset '{"INVALID_CONFIG": true}' -- sh run.sh x
assert_eq "$stdout $(failure '[.changes[].what] | join(" ")')" "ran x configuration"
misuse 1 --preset '{"INVALID_PARAM_TYPES": true}' --env LEVEL=3 -- sh -c 'echo "$1 $LEVEL"' sh 4
assert_eq "$stdout" "not_a_number not_a_number"

# Without root as with it.
need_unprivileged_user
chmod a+rx "$tmp"
install -d -o 65534 -g 65534 "$tmp/mine"
for seed in 2 3; do
	said=$("${as_user[@]}" "$MENACE_RUN" --best-effort cgroup --workspace "$tmp/w" -o "$tmp/mine/$seed" --set failure.seed=$seed "${modes[@]}" -- sh -c 'cat data.csv' sh data.csv 2>&1)
	cp "$tmp/mine/$seed" "$result"
	class=$(changes path)
	seen[user:${class%% *}]=1
	case $class in
		denied*) assert_contains "$said" "data.csv: Permission denied" ;;
		missing*) assert_contains "$said" "data.csv: No such file" ;;
	esac
done
assert_eq "${seen[user:denied]-} ${seen[user:missing]-}" "1 1" "both, without root"
