#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# menace doctor says of a backend what a run would be told: an engine that fails, that speaks another API or that is
# elsewhere, and a machine without its programs
#

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

need_program python3 jq
engines=(none 500 api-60-70)
for engine in "${engines[@]}"; do
	mkdir "$tmp/$engine"
done
python3 "$repo/tests/lib/fake-dockerd.py" "$tmp" "${engines[@]}" &
at_exit kill $!
wait_until 30 test -S "$tmp/api-60-70/sock" || fail "the engines do not start"

# row NAME
row()
{
	gojq -r --arg name "$1" '.checks[] | select(.name == $name) | .state + "," + (.detail // "")' "$tmp/stdout"
}

# docker ENGINE ROW: of one at that place.
docker()
{
	run_plain env DOCKER_HOST="unix://$tmp/$1/sock" "$MENACE" doctor --json
	assert_eq "$(row docker)" "$2" "$1"
}
docker none ok,
docker 500 'missing,the engine refuses GET /version: 500 out of disk'
docker api-60-70 "missing,the Docker Engine at unix://$tmp/api-60-70/sock has the API from 1.60 on, and menace knows it up \
to 1.44: a newer menace or an older engine is needed"
docker absent "missing,GET /version: no answer of the Docker Engine at unix://$tmp/absent/sock: No such file or directory"

# What a machine lacks is told as the run is refused.
run_plain env MENACE_QEMU_PROGRAM="$tmp/no-qemu" "$MENACE_RUN" -q --backend qemu -o "$result" -- true
assert_status 125
why=$(json .error.message)
run_plain env MENACE_QEMU_PROGRAM="$tmp/no-qemu" "$MENACE" doctor --json
assert_eq "$(row qemu)" "missing,${why:0:199}" "a machine without QEMU"
