#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every engine is spoken to in the newest version of its API that both know; one that has none of ours is told
#

. "${0%/*}/../../lib/system.sh"

need_program python3 jq
menace=${MENACE:-${MENACE_RUN%/*}/menace}

engines=(api-12-40 api-12-41 api-44-52 api-12-39 api-60-70)
for engine in "${engines[@]}"; do
	mkdir "$tmp/$engine"
done
python3 "$repo/tests/lib/fake-dockerd.py" "$tmp" "${engines[@]}" &
at_exit kill $!
wait_until 30 test -S "$tmp/api-60-70/sock" || fail "the engines do not start"

# speaks ENGINE VERSION: a run and who tidies up do, after they have asked once each.
speaks()
{
	local log=$tmp/$1/log

	export DOCKER_HOST=unix://$tmp/$1/sock
	run --backend docker -- true
	assert_status 7
	assert_eq "$(head -n 1 "$log")" 'GET /version' "$1: the first request"
	assert_eq "$(grep -c '^GET /version' "$log")" 1 "$1: questions for the version"
	run_plain "$menace" image list
	assert_status 0
	assert_eq "$(grep -v '^GET /version$\|^input ends$' "$log" | grep -cv "^[A-Z]* /v$2/")" 0 "$1: requests of another version"
	assert_ge "$(grep -c " /v$2/" "$log")" 5 "$1: requests"
	! grep unexpected "$log" || fail "$1: see above"
}

# refuses ENGINE MESSAGE
refuses()
{
	export DOCKER_HOST=unix://$tmp/$1/sock
	run --backend docker -- true
	assert_status 125
	assert_reason setup_error
	assert_eq "$(json .error.code)" kernel
	assert_eq "$(json .error.message)" "the Docker Engine at $DOCKER_HOST $2"
	assert_eq "$(cat "$tmp/$1/log")" 'GET /version' "$1: what was asked"
}

speaks api-12-40 1.40
speaks api-12-41 1.41
speaks api-44-52 1.44
refuses api-12-39 'has the API up to 1.39, and 1.40 is needed: Docker 19.03 or newer'
refuses api-60-70 'has the API from 1.60 on, and menace knows it up to 1.44: a newer menace or an older engine is needed'
