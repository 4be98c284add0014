#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace tells what it did not understand and what may have been meant, with exit 2
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_root
run -- true
run -- true
mapfile -t ids < <(run_ids)

menace rnus
assert_refused 'unknown command "rnus"; did you mean runs?'
menace frobnicate
assert_refused 'unknown command "frobnicate"; see menace --help'
menace runs --resaon oom
assert_refused "unknown option --resaon; did you mean --reason?"
menace runs --reason omm
assert_refused '--reason: unknown value "omm"; did you mean oom?'
menace runs --sort wal
assert_refused '--sort: unknown value "wal"; did you mean wall?'
menace runs --since yesterday
assert_refused '--since: "yesterday" is no time: accepted are'
menace runs --program $'\xff'
assert_refused '--program: "\xff" is not UTF-8'
menace hold "${ids[0]}" --reason $'\xff'
assert_refused '--reason: "\xff" is not UTF-8'
menace purge --all --reason $'\xff'
assert_refused '--reason: "\xff" is not UTF-8'
menace runs -n many
assert_refused "-n (--limit): "
menace runs --limit
assert_refused "--limit needs a value: N"
menace audit verfiy
assert_refused 'unknown verb "verfiy"; did you mean verify?'
menace show
assert_refused "usage: menace show [OPTIONS] RUN; see menace show --help"
menace top x
assert_refused "usage: menace top [OPTIONS]; see menace top --help"
menace show a b
assert_refused "usage: menace show"
menace show '../x'
assert_refused '"../x" is not the id of a run'
menace show 0
assert_refused 'several runs begin with "0": say more of it'
menace show zzzz
assert_status 1
assert_contains "$stderr" 'there is no run "zzzz"'
menace purge
assert_refused "say what is to go: --before, --run, --all or --probes"
menace export --format xml
assert_refused '--format: unknown value "xml"; see --help'
menace export --format promtheus
assert_refused '--format: unknown value "promtheus"; did you mean prometheus?'
menace export --reason omm
assert_refused '--reason: unknown value "omm"; did you mean oom?'
menace export --format otlp --signal metric
assert_refused '--signal: unknown value "metric"; did you mean metrics?'
menace export --signal logs
assert_refused "--signal is of --format otlp"
menace export --endpoint http://127.0.0.1:1
assert_refused "--endpoint takes --format otlp only"
menace export --format otlp --endpoint http://127.0.0.1:1 --output "$tmp/x"
assert_refused "--endpoint and --output exclude each other"
menace export --format otlp --header 'a: b'
assert_refused "--header, --ca, --timeout, --retries and --retry-wait are of --endpoint"
menace --store x runs
assert_status 2
menace runs --store none
assert_refused "no store: name one with --store"
menace runs --store "$tmp/kept/nothing.db"
assert_status 125
assert_contains "$stderr" "there is no store $tmp/kept/nothing.db yet"

# The beginning of an id is enough, options may stand behind words.
menace show "${ids[1]:0:25}" --json
assert_status 0
assert_eq "$(gojq -r .run.run_id "$tmp/stdout")" "${ids[1]}"
for command in "" runs show events top diff query export audit hold purge ingest doctor; do
	# shellcheck disable=SC2086 # no word, or one
	menace $command --help
	assert_eq "$status:$stderr" 0: "help of '$command'"
	assert_contains "$stdout" "Usage: menace "
done

# Help of one command, whichever word comes first.
for words in pool "pool drain" runs; do
	# shellcheck disable=SC2086 # two words
	assert_eq "$("$MENACE" help $words)" "$("$MENACE" $words --help)" "help $words"
done
assert_eq "$("$MENACE" help)" "$("$MENACE" --help)" "help"
menace help pol
assert_refused 'unknown command "pol"; did you mean pool?'
