# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the shipped hostile inputs share; after system.sh and store.sh
#
# Set here by make_inputs: $ids of all inputs, each of which is a file $tmp/inputs/ID; the test is in an empty folder,
# in which nothing may be made.

make_inputs()
{
	local id

	mapfile -t ids < <(sed -n 's/^HOSTILE("\([^"]*\)".*/\1/p' "$repo/runtime/spec/hostile.def")
	assert_ge "${#ids[@]}" 60 "hostile inputs"
	mkdir "$tmp/here" "$tmp/inputs" && cd "$tmp/here" || fail "no folder to be in"
	chmod 777 "$tmp/inputs"
	for id in "${ids[@]}"; do
		printf '{"schema": "menace.spec/1", "program": ["sh", "-c", "cat >/inputs/%s"], "failure": {"modes": "hostile_input", ' "$id"
		printf '"hostile": "%s"}, "mounts": [{"type": "rw", "source": "%s", "dest": "/inputs"}]}\n' "$id" "$tmp/inputs"
	done >"$tmp/specs"
	"$MENACE_RUN" --batch -j 2 --store none <"$tmp/specs" >"$tmp/results" || fail "the inputs cannot be had"
	assert_eq "$(ls "$tmp/inputs")" "$(printf '%s\n' "${ids[@]}" | sort)" "inputs"
}

# answers ID COMMAND...: with a status of its own.
answers()
{
	local id=$1

	shift
	"$@" >"$tmp/out" 2>"$tmp/err" <"$tmp/inputs/$id"
	status=$?
	case $status in
	0 | 1 | 2 | 125 | 126 | 127) ;;
	*) fail "$id: status $status of $*: $(tail -c 500 "$tmp/err")" ;;
	esac
}

# refuses ID COMMAND...: and says what it does not take.
refuses()
{
	answers "$@"
	[ "$status" -ne 0 ] || fail "$1 is taken by ${*:2}"
	[ -s "$tmp/err" ] || fail "$1: ${*:2} says nothing"
}

# word_of ID: sets $word, as much of it as a word of a command can hold.
word_of()
{
	{
		word=$(cat "$tmp/inputs/$1"; printf x)
	} 2>/dev/null # it would tell of NULs, which it leaves out
	word=${word%x} word=${word:0:100000}
}

# nothing_was_executed: and no file made; the store can be verified.
nothing_was_executed()
{
	assert_eq "$(ls -A)" "" "files that somebody made"
	[ ! -e /pwned ] && [ ! -e "$HOME/pwned" ] || fail "an input was executed"
	menace audit verify
	assert_status 0
}
