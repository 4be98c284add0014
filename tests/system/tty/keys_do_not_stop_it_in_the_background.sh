#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In the background of a shell what is typed is the shell's: menace-run is not stopped by it, so that its limits
# hold; in the foreground again the program reads

. "${0%/*}/../../lib/system.sh"

need_root
need_file "$MENACE_HELPERS/on-a-terminal"
[ -c /dev/ptmx ] || skip "no terminals"
ON_A_TERMINAL_SECONDS=$(scaled 60)
export ON_A_TERMINAL_SECONDS
terminal=$MENACE_HELPERS/on-a-terminal

# What is expected is in no line that is typed, for those are shown as well.  What is typed while menace-run is
# in the foreground is its program's.
# shellcheck disable=SC2016 # for the shell on the terminal
run_plain "$terminal" \
	send='"$MENACE_RUN" -q -t '"$(scaled 2)"' -- sh -c "echo u\"\"p; exec sleep 1000" &'$'\n' expect=up \
	send=$'\n' send=$'echo ke""y\n' expect=key send=$'wait $!; echo "status-$?"\n' expect=status-124 send=$'exit 5\n' -- \
	/bin/bash --norc --noprofile -i
assert_contains "$stderr" "status 5;"

# shellcheck disable=SC2016 # for the shell on the terminal
run_plain "$terminal" \
	send='"$MENACE_RUN" -q -t '"$(scaled 60)"' -- sh -c "echo u\"\"p; read -r a; echo go\"\"t-\$a" &'$'\n' expect=up \
	send=$'echo ke""y\n' expect=key send=$'fg; echo bac""k\n' expect='read -r a;' send=$'line\n' expect=got-line \
	expect=back send=$'exit 5\n' -- \
	/bin/bash --norc --noprofile -i
assert_contains "$stderr" "status 5;"
