#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Copies are held until all are ready: one whose runner dies before it is does not hold the others for ever, and
# costs the cell its verdict
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_cgroups
check_leaks

# Beside the copy of menace is one that plays menace-run: the first that holds a run dies of its request.
mkdir "$tmp/bin" && install -m 755 "$MENACE" "$tmp/bin/menace" || fail "cannot copy $MENACE"
cat >"$tmp/bin/menace-run" <<EOF
#!/bin/sh
case "\$*" in
*--block-fd*) ! mkdir "$tmp/first" 2>/dev/null || { read -r line; exit 3; } ;;
esac
exec "$MENACE_RUN" "\$@"
EOF
chmod 755 "$tmp/bin/menace-run"
MENACE=$tmp/bin/menace

menace scenario run -p '{"SCENARIO_NAME": "crowd", "CONCURRENCY_LEVEL": 4, "MEMORY_LIMIT": "32Mi"}' --json -- true
assert_status 125
[ -d "$tmp/first" ] || fail "none was held"
cp "$tmp/stdout" "$result"
assert_eq "$(json '.cells[] | select(.arm == "on") | [.verdict, .copies, .copies_passed, .why[-1]] | map(tostring) | join(" ")')" \
	'error 4 3 step "run": menace-run ended with status 3 and said nothing'
assert_eq "$(json '.cells[] | select(.arm == "off") | .verdict')" passed
