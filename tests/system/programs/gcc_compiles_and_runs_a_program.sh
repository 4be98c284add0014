#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gcc compiles, links and runs in the workspace; the host's folder stays as it is

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program gcc

mkdir "$tmp/src"
cat >"$tmp/src/a.c" <<'END'
#include <pthread.h>
#include <stdio.h>
static void *f(void *p) { *(int *)p = 42; return NULL; }
int main(void)
{
	pthread_t t;
	int x = 0;
	if (pthread_create(&t, NULL, f, &x) || pthread_join(t, NULL))
		return 1;
	printf("compiled %d\n", x);
	return 3;
}
END
run -t "$(scaled 60)" --workspace "$tmp/src" -- sh -c 'gcc -O2 -pthread -o a a.c && ./a'
assert_status 3
assert_eq "$stdout" "compiled 42"
assert_eq "$stderr" "" "standard error"
assert_eq "$(json .denials.total)" 0 "denials"
assert_eq "$(ls "$tmp/src")" a.c
assert_eq "$(json '[.workspace.changes.entries[] | .path + " " + .kind + " " + .mode] | @csv')" \
	'"a added 0755"'

run -t "$(scaled 60)" --workspace "$tmp/src" -- sh -c 'gcc -static -pthread -o s a.c && ./s'
assert_status 3
assert_eq "$stdout" "compiled 42" "static"
