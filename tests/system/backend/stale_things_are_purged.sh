#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Without an engine what dead supervisors left is purged all the same, and units call for it
#
# security

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_program jq setsid
need_cgroups
menace=${MENACE:-${MENACE_RUN%/*}/menace}
need_root
with_own_leases

# A supervisor and all of its own that is killed leaves a lease, and groups.
setsid "$MENACE_RUN" -q -- sleep 1000 >/dev/null 2>&1 &
run=$!
# has_leases N
has_leases()
{
	[ "$(find /run/menace/leases -type f ! -name '.*' 2>/dev/null | wc -l)" = "$1" ]
}
wait_until 50 has_leases 1 || fail "no lease"
"$MENACE_RUN" -q -- sleep 1000 >/dev/null 2>&1 &
living=$!
wait_until 50 has_leases 2 || fail "no second lease"
kill -9 "$run"
wait "$run" 2>/dev/null

is_stale()
{
	[ "$("$menace" purge-stale --dry-run --json | gojq -c '[.dry_run,.leases,.docker,(.no_engine|type)]')" = '[true,1,null,"string"]' ]
}
# Its program goes after it.
wait_until 20 is_stale || fail "dry run: $("$menace" purge-stale --dry-run --json)"
"$menace" check-resources --json >"$tmp/checked"
[ "$?,$(gojq -c '[.short, .stale.leases, (.memory_available_bytes > 0)]' "$tmp/checked")" = '1,[["stale"],1,true]' ] ||
	fail "check-resources: $(cat "$tmp/checked")"
"$menace" purge-stale >"$tmp/stdout" || fail "purge-stale: $?"
grep -qx '1 leases of dead supervisors, with their control groups and files, removed' "$tmp/stdout" || fail "$(cat "$tmp/stdout")"
kill -0 "$living" || fail "the living run is gone"
has_leases 1 || fail "leases: $(ls -A /run/menace/leases)"
[ "$("$menace" cleanup --json | gojq .leases)" = 0 ] || fail "cleanup took something"
"$menace" check-resources >/dev/null || fail "check-resources after it: $("$menace" check-resources)"
"$menace" check-resources --min-memory 1000Ti --json >"$tmp/checked"
[ "$?,$(gojq -c .short "$tmp/checked")" = '1,["memory"]' ] || fail "--min-memory: $(cat "$tmp/checked")"
# Of an engine that is not there nothing is told as if it were known.
"$menace" check-resources >"$tmp/stdout"
grep -qE '^(free for|images of|containers of)' "$tmp/stdout" && fail "without an engine: $(cat "$tmp/stdout")"
grep -q '^memory available  *[0-9.]* MiB$' "$tmp/stdout" || fail "without an engine: $(cat "$tmp/stdout")"
grep -q '^containers were not looked for, and what prepared ones need stays: ' "$tmp/stdout" || fail "without an engine: $(cat "$tmp/stdout")"
"$menace" check-resources --min-disk x >/dev/null 2>"$tmp/stderr"
[[ $?,$(cat "$tmp/stderr") == '2,menace: --min-disk: '* ]] || fail "--min-disk x: $(cat "$tmp/stderr")"
kill "$living"
wait "$living"

# Units name the program that wrote them, whatever its folder is called.
odd="$tmp/a b 50% \$HOME"
mkdir "$odd" "$tmp/a\"b" "$tmp/units"
cp "$menace" "$odd/menace"
cp "$menace" "$tmp/a\"b/menace"
"$tmp/a\"b/menace" install-autopurge --to "$tmp/units" 2>"$tmp/stderr"
[[ $?,$(cat "$tmp/stderr") == 2,*'which has quotes'* && -z $(ls "$tmp/units") ]] || fail "quotes: $(cat "$tmp/stderr")"
DOCKER_HOST='unix:///x%y' "$odd/menace" install-autopurge --to "$tmp/units" >"$tmp/stdout" 2>"$tmp/stderr" ||
	fail "install-autopurge: $(cat "$tmp/stderr")"
grep -qx 'systemctl enable --now menace-autopurge.timer' "$tmp/stdout" || fail "it says: $(cat "$tmp/stdout")"
grep -qFx 'Environment="DOCKER_HOST=unix:///x%%y"' "$tmp/units/menace-autopurge.service" ||
	fail "$(cat "$tmp/units/menace-autopurge.service")"
grep -qFx "ExecStart=\"$tmp/a b 50%% \$HOME/menace\" purge-stale" "$tmp/units/menace-autopurge.service" ||
	fail "$(cat "$tmp/units/menace-autopurge.service")"
if command -v systemd-analyze >/dev/null; then
	systemd-analyze verify --man=no "$tmp/units/menace-autopurge.timer" "$tmp/units/menace-autopurge.service" \
		>"$tmp/verified" 2>&1 && [ ! -s "$tmp/verified" ] || fail "verify: $(cat "$tmp/verified")"
fi

# Its own are written anew, somebody else's are not.
"$menace" install-autopurge --to "$tmp/units" >/dev/null 2>&1 || fail "a second time"
grep -qF "$odd" "$tmp/units/menace-autopurge.service" && fail "the unit still names the other program"
echo '[Timer]' >"$tmp/units/menace-autopurge.timer"
"$menace" install-autopurge --to "$tmp/units" >/dev/null 2>"$tmp/stderr"
[[ $?,$(tail -n 1 "$tmp/stderr") == 2,*'menace-autopurge.timer is there and was not written by menace'* ]] ||
	fail "somebody else's: $(cat "$tmp/stderr")"
[ "$(cat "$tmp/units/menace-autopurge.timer")" = '[Timer]' ] || fail "somebody else's timer is another"
