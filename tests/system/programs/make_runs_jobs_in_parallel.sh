#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make -j4 with its job server, without a denial
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program make

mkdir "$tmp/src"
cat >"$tmp/src/Makefile" <<'END'
parts := $(addprefix part,1 2 3 4 5 6 7 8)
all: $(parts)
	cat $(parts) >all
	$(MAKE) -s sub
sub: $(addprefix sub,1 2 3)
	@echo sub done
part%:
	@sleep 0.02; echo $* >$@
sub%:
	@echo $* >$@
END
run -t "$(scaled 60)" --workspace "$tmp/src" -- make -s -j4
assert_status 0
assert_eq "$stdout" "sub done"
assert_eq "$stderr" ""
assert_eq "$(json .workspace.changes.counts.added)" 12 "files made"
assert_eq "$(json .denials.total)" 0 "denials"
assert_eq "$(ls "$tmp/src")" Makefile
