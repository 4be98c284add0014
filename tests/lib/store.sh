# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of the store share; after system.sh
#
# Set here: $MENACE, $store (a store in a folder of its own, for menace-run and menace).

MENACE=${MENACE:-$repo/build/bin/menace}
mkdir -m 700 "$tmp/kept" || exit 1
store=$tmp/kept/menace.db
export MENACE_STORE=$store

[ -x "$MENACE" ] || fail "no $MENACE: build first, or set MENACE"

# menace COMMAND...: as run does menace-run; sets $status, $stdout, $stderr.
menace()
{
	run_plain "$MENACE" "$@"
}

# edit SQL: the database, as somebody with an editor would.
edit()
{
	python3 - "$store" "$1" <<-'END' || fail "cannot edit the store: $1"
		import sqlite3, sys
		db = sqlite3.connect(sys.argv[1])
		db.executescript(sys.argv[2])
		db.commit()
	END
}

# new_store: from now on an empty one, for a try that begins anew.
new_store()
{
	local folder

	folder=$(mktemp -d "$tmp/kept.XXXXXX") || fail "no new store"
	store=$folder/menace.db
	export MENACE_STORE=$store
}

# count_runs: in the store.
count_runs()
{
	"$MENACE" runs --all --json | wc -l
}

# run_ids: oldest first.
run_ids()
{
	"$MENACE" runs --all --json --sort oldest | gojq -r .run_id
}

# mount_kept OPTIONS: the store's folder becomes a tmpfs of its own, which only this test sees: the
# test begins anew in a mount namespace. First thing of a test.
mount_kept()
{
	need_root
	need_program unshare mount
	with_own_mounts
	mount -t tmpfs -o "mode=700,$1" none "$tmp/kept" || fail "no tmpfs"
	at_exit umount -l "$tmp/kept"
}

# boot_ms: since the boot, as /proc/uptime tells it in hundredths of a second; for what must not be sooner.
boot_ms()
{
	local up

	read -r up _ </proc/uptime
	echo "${up/./}0"
}

# lock_store: another process holds the database locked until unlock_store.
lock_store()
{
	need_program python3
	mkfifo "$tmp/unlock"
	python3 - "$store" "$tmp/unlock" >"$tmp/locked" <<-'END' &
		import sqlite3, sys
		db = sqlite3.connect(sys.argv[1], isolation_level=None)
		db.execute("BEGIN IMMEDIATE")
		print("locked", flush=True)
		open(sys.argv[2]).read()
		db.execute("ROLLBACK")
	END
	lock_holder=$!
	at_exit end_lock_holder
	wait_until 30 grep -q locked "$tmp/locked" || fail "not locked"
}

end_lock_holder()
{
	kill "$lock_holder" 2>/dev/null
}

unlock_store()
{
	echo >"$tmp/unlock"
	wait "$lock_holder"
}

# The whole store is right, and nothing from outside proves its end.
assert_verified()
{
	menace audit verify
	assert_status 0
	assert_contains "$stdout" "tail not provable: no external checkpoint"
}

# assert_bad ROW TEXT
assert_bad()
{
	menace audit verify
	assert_status 1
	assert_contains "$stdout" "BAD at row $1: $2"
}
