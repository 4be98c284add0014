#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installed below any prefix, the programs and their manual pages are all there and find each other
#

. "${0%/*}/../../lib/system.sh"

need_root
need_program cmake

build=${MENACE_RUN%/*}/..
DESTDIR=$tmp/root cmake --install "$build" --prefix /opt/menace >"$tmp/log" 2>&1 ||
	fail "cmake --install: $(tail -3 "$tmp/log")"
at=$tmp/root/opt/menace
assert_eq "$(cd "$at" && echo bin/* libexec/*/* share/man/*/*)" "bin/menace bin/menace-run \
libexec/menace/menace-docker libexec/menace/menace-guest libexec/menace/menace-init \
libexec/menace/menace-netd libexec/menace/menace-probe-load libexec/menace/menace-qemu \
libexec/menace/menace-send libexec/menace/menace-symbolize share/man/man1/menace-run.1 \
share/man/man1/menace.1 share/man/man5/menace-flow.5 share/man/man5/menace-policy.5 \
share/man/man5/menace-spec.5 share/man/man5/menace-store.5"
# One that bin starts, and one that libexec does.
run_plain "$at/bin/menace-run" -q --net stub --mock "http://a.example=body:found" -- \
	python3 -c 'import urllib.request as u; print(u.urlopen("http://a.example/").read().decode())'
assert_status 0
assert_eq "$stdout" found
# Its answer is waited for as long as a busy machine takes, and not as briefly as the page has it.
cp -r "$repo/docs/examples/shop" "$tmp/shop"
sed -i 's/"0.3"/"50"/' "$tmp/shop/flow.json"
run_plain "$at/bin/menace" flow run --json "$tmp/shop/flow.json"
assert_status 0
assert_eq "$(gojq -r '.status, (.steps | length)' <<<"$stdout")" "passed
3"
