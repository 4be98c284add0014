#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A template that is damaged, cut or another's is not used: it is made again.  One of which no machine
# comes up gives way to a machine that boots, and the receipt says why.  A maker that is killed leaves
# nothing that is used.
# lane: machine
. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/qemu.sh"

need_machine
check_leaks

# A QEMU of this test alone has templates of this test alone.  It does not restore while "broken" is there, and
# says when it boots.
cat >"$tmp/qemu-own" <<END2
#!/bin/bash
case " \$* " in
*' -incoming '*)
	[ ! -e "$tmp/broken" ] || exit 9 ;;
*)
	echo boot >>"$tmp/boots" ;;
esac
exec /usr/bin/qemu-system-x86_64 "\$@"
END2
chmod +x "$tmp/qemu-own"
chmod 755 "$tmp"
: >"$tmp/boots"
chmod 666 "$tmp/boots"
export MENACE_QEMU_PROGRAM=$tmp/qemu-own

templates()
{
	find /run/menace/qemu -name 'template-*' ! -name template-lock -newer "$tmp/qemu-own"
}

drop_templates()
{
	templates | xargs -r rm -f
}
at_exit drop_templates

# ours START BOOTS: a run whose machine was started so, after so many boots in all.
ours()
{
	run --backend qemu --timeout 60s -- echo ready
	assert_status 0
	assert_eq "$stdout" ready
	assert_eq "$(json .receipt.guest.start)" "$1" "start of the machine ($(json .receipt.guest.cold_why))"
	assert_eq "$(wc -l <"$tmp/boots")" "$2" "boots"
}

has_booted()
{
	[ -s "$tmp/boots" ]
}
# kill_maker: fails if there is a template, as where it came too late.
kill_maker()
{
	drop_templates
	: >"$tmp/boots"
	"$MENACE_RUN" -q --backend qemu -- true 2>"$tmp/stderr" &
	supervisor=$!
	wait_until 60 has_booted || fail "no machine was started: $(cat "$tmp/stderr")"
	pkill -KILL -P "$supervisor" -x menace-qemu
	wait "$supervisor"
	[ -z "$(templates)" ]
}
# Killed while it makes one: the run ends, and there is no template.
patiently kill_maker || fail "templates of a killed maker: $(templates)"

ours restored 2
ours restored 2
template=$(templates)
assert_eq "$(stat -c %a:%U "$template")" 600:root

# Words that no memory of a guest has at that place already, as it may have any byte.
printf 'damaged by %s' "$tmp" | dd of="$template" bs=1 seek=50000000 conv=notrunc status=none || fail "cannot write"
ours restored 3
assert_contains "$stderr" 'its sum does not fit'
truncate -s 50000000 "$template" || fail "cannot cut"
ours restored 4
assert_contains "$stderr" 'it is cut short or too long'
echo "another's" >"$template" || fail "cannot write"
ours restored 5

touch "$tmp/broken"
ours cold 6
assert_contains "$(json .receipt.guest.cold_why)" 'the restored machine did not come up: '
assert_eq "$(diagnostics cold_why)" "$(json .receipt.guest.cold_why)"
assert_eq "$(templates)" '' "templates that do not work"
rm "$tmp/broken"
MENACE_QEMU_TEMPLATE=0 ours cold 7
assert_eq "$(json .receipt.guest.cold_why)" 'MENACE_QEMU_TEMPLATE says so'

# Where little is free none is made, and nothing booted for one: the folder may lie in memory that others need.
# That KVM fails, where it does, is known there, too.
mkdir "$tmp/little"
# shellcheck disable=SC2016 # for the shell inside
unshare -m sh -c 'mount -t tmpfs -o size=300m,mode=700 none "$0" &&
	{ [ ! -e /run/menace/qemu/kvm-fails ] || cp /run/menace/qemu/kvm-fails "$0"; } &&
	mount --move "$0" /run/menace/qemu && exec "$@"' "$tmp/little" \
	"$MENACE_RUN" -q -o "$result" --backend qemu --timeout 60s -- true
assert_eq "$(json '"\(.reason) \(.receipt.guest.start) \(.receipt.guest.cold_why)"')" \
	'exited cold make the template of a machine: less than 512 MiB are free where templates are kept'
assert_eq "$(wc -l <"$tmp/boots")" 8 "boots"
