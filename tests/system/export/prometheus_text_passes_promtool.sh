#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prometheus' own tool has nothing to say about names, units and help of the metrics
#
# lane: soak (promtool is fetched for that lane only)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
. "$repo/tests/lib/export.sh"

need_root
promtool=$(command -v promtool) || promtool=${MENACE_PROMTOOL_CACHE:-/var/cache/menace-promtool}/promtool
need_file "$promtool" # tests/fetch-promtool

put_records
"$MENACE" export --format prometheus >"$tmp/metrics.prom"
run_plain "$promtool" check metrics <"$tmp/metrics.prom"
assert_status 0
assert_eq "$stdout$stderr" "" "what promtool says"
