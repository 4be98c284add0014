#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace export --format otlp: each number of the database is in the metrics, each row in the logs,
# nothing else is, in the JSON encoding of OTLP; to a file, and to a receiver that decodes it
#
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
need_cgroups

make_runs
put_records
menace export --format otlp
assert_exported
check otlp "$store"
assert_harmless
assert_eq "$checked" "9 runs"
cp "$tmp/stdout" "$tmp/lines"
for signal in metrics logs; do
	menace export --format otlp --signal "$signal"
	check otlp "$store" "$signal"
done

# shellcheck disable=SC2119 # no options
start_receiver
menace export --format otlp --endpoint "$url/ok" --header 'X-Token: hunter2'
assert_status 0
assert_eq "$stderr" "menace-send: $(wc -l <"$tmp/lines") lines accepted, 0 in part, 0 refused; 0 points and records rejected; $(wc -l <"$tmp/lines") requests"
assert_eq "$(count_requests ok)" "$(wc -l <"$tmp/lines")" requests
gojq -r .body "$received"/*.json | sort >"$tmp/stdout"
sort "$tmp/lines" | cmp - "$tmp/stdout" || fail "what arrived is not what was exported"
check otlp "$store"
assert_eq "$(gojq -r '[.path, .headers["Content-Type"], .headers["X-Token"],
	(.body | fromjson | keys[0])] | join(" ")' "$received"/*.json | sort -u)" \
	"/ok/v1/logs application/json hunter2 resourceLogs
/ok/v1/metrics application/json hunter2 resourceMetrics"
stop_receiver
