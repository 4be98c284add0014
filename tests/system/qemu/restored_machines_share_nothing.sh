#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Machines of one template: each has the right time and random numbers of its own, and nothing that another did.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_machine
check_leaks

cat >"$tmp/code" <<'END2'
#!/bin/bash
date +%s
cat /proc/sys/kernel/random/uuid
head -c 16 /dev/urandom | od -An -tx1
for place in /tmp /var/tmp /dev/shm; do
	[ ! -e "$place/left" ] || echo "seen in $place"
done
for place in /tmp /var/tmp /dev/shm; do
	echo left >"$place/left" || exit 3
done
END2
chmod +x "$tmp/code"

# one NAME: a run, its answer in $tmp/NAME; its time is that of this host.
one()
{
	local before=$EPOCHSECONDS

	run --backend qemu --timeout 60s --ro "$tmp/code:/code" -- /code
	assert_status 0
	assert_reason exited
	assert_eq "$(json .receipt.guest.start)" restored "start of the machine $1 ($(json .receipt.guest.cold_why))"
	assert_eq "$(json .receipt.guest.cold_why)" null
	assert_eq "$(diagnostics start)" restored
	assert_eq "$(json .receipt.seccomp.state)" enforced
	mapfile -t lines <"$tmp/stdout"
	assert_eq "${#lines[@]}" 3 "lines of a machine that sees nothing of another"
	assert_ge "${lines[0]}" "$before" "time in the machine"
	assert_le "${lines[0]}" "$EPOCHSECONDS" "time in the machine"
	cp "$tmp/stdout" "$tmp/$1" || fail "cannot keep the output"
}

one first
one second
assert_ne "$(sed -n 2p "$tmp/first")" "$(sed -n 2p "$tmp/second")" "random numbers of the kernel"
assert_ne "$(sed -n 3p "$tmp/first")" "$(sed -n 3p "$tmp/second")" "random bytes"

# Both of them at once, too: neither waits for the other or takes its answer.
for name in third fourth; do
	"$MENACE_RUN" -q --backend qemu --timeout 60s -o "$tmp/$name.json" --ro "$tmp/code:/code" -- /code >"$tmp/$name" &
done
wait
for name in third fourth; do
	assert_eq "$(jq -r .receipt.guest.start "$tmp/$name.json")" restored
	assert_eq "$(wc -l <"$tmp/$name")" 3 "lines of $name"
done
assert_eq "$(cat "$tmp"/{first,second,third,fourth} | sed -n '2~3p;3~3p' | sort -u | wc -l)" 8 "different numbers"
