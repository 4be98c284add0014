#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# disk: the errors and delays that the program sees are those that are told, at places that the
# seed decides.  disk_corruption: the bits that the program reads back are those that are told, in
# each of its own places, and never in a file of the host

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program python3

failure()
{
	json ".failures[] | select(.mode == \"$1\") | .$2"
}

write_40='
import errno, os, time
f = os.open("a", os.O_CREAT | os.O_RDWR, 0o600)
for i in range(40):
    begin = time.monotonic()
    try:
        os.write(f, b"0123456789")
        print("w" if time.monotonic() - begin < 0.03 else "d", end="")
    except OSError as e:
        print({errno.EIO: "E", errno.ENOSPC: "N"}[e.errno], end="")
print(" %d" % os.fstat(f).st_size)'

count()
{
	local rest=${stdout// */}

	rest=${rest//[^$1]/}
	echo ${#rest}
}

for seed in 1 1 2; do
	run -t "$(scaled 20)" --set failure.modes=disk --set failure.intensity=50 --set failure.seed=$seed \
		--set failure.disk_delay_ms=30 -- python3 -c "$write_40"
	assert_status 0
	assert_eq "$(failure disk opportunities)" 40 "writes"
	assert_eq "$(failure disk ENOSPC) $(failure disk EIO)" "$(count N) $(count E)"
	assert_eq "$(failure disk fired)" $(($(count N) + $(count E) + $(failure disk delayed)))
	assert_ge "$(count d)" "$(failure disk delayed)" "late writes"
	assert_eq "$(failure disk ns)" $(($(failure disk delayed) * 30000000))
	assert_eq "${stdout##* }" $(((40 - $(count N) - $(count E)) * 10)) "bytes in the file"
	assert_ge "$(failure disk fired)" 8
	errors=${stdout% *}
	patterns+=("${errors//d/w}")
done
assert_eq "${patterns[1]}" "${patterns[0]}" "the same seed"
assert_ne "${patterns[2]}" "${patterns[0]}" "another seed"
# A pipe is no file, and a descriptor that is none is the kernel's to refuse.
run --set failure.modes=disk -- sh -c 'echo x | cat; echo y >&9' 9>&-
assert_eq "$stdout" x
assert_eq "$(json '[.inconclusive, .inconclusive_why[]] | join(" ")')" "true disk: it had no opportunity"

# Every way to write, each its own file; then what differs from what was written.
write_all='
import os, sys
data = bytes(range(256)) * 64
def put(name, how):
    f = os.open(name, os.O_CREAT | os.O_RDWR | (os.O_APPEND if how == "append" else 0), 0o600)
    want = data
    if how == "write" or how == "append": os.write(f, data)
    elif how == "writev": os.writev(f, [data[:1000], data[1000:]])
    elif how == "pwrite":
        os.pwrite(f, data, 100)
        want = bytes(100) + data
    elif how == "copy":
        source = os.open("/data", os.O_RDONLY)
        os.sendfile(f, source, 0, len(data))
    os.close(f)
    got = open(name, "rb").read()
    assert len(got) == len(want), name
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b: print(os.path.realpath(name), i, (a ^ b).bit_length() - 1, bin(a ^ b).count("1"))
for place in sys.argv[1:]:
    for how in "write", "append", "writev", "pwrite", "copy":
        put(place + "/" + how, how)'
python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 64)' >"$tmp/data"
mkdir "$tmp/workspace" "$tmp/host"
echo untouched >"$tmp/workspace/write"
chmod 777 "$tmp/workspace" "$tmp/host" "$tmp/workspace/write"

for seed in 1 1; do
	rm -f "$tmp/host"/*
	run -t "$(scaled 30)" --workspace "$tmp/workspace" --ro "$tmp/data:/data" --rw "$tmp/host:/host" \
		--tmpfs /small:1M --set failure.modes=disk_corruption --set failure.intensity=60 \
		--set failure.seed=$seed -- python3 -c "$write_all" /work /tmp /small /host
	assert_status 0
	assert_eq "$(failure disk_corruption opportunities)" 15 "writes to places of its own"
	assert_eq "$(failure disk_corruption fired) $(failure disk_corruption bytes)" \
		"$(wc -l <"$tmp/stdout") $(wc -l <"$tmp/stdout")"
	assert_ge "$(failure disk_corruption fired)" 3
	assert_eq "$(failure disk_corruption 'flips[] | "\(.file) \(.offset) \(.bit) 1"')" "$stdout" "flipped bits"
	patterns+=("$stdout")
done
assert_eq "${patterns[4]}" "${patterns[3]}" "the same seed"
for how in write append writev copy; do
	cmp "$tmp/data" "$tmp/host/$how" || fail "a file of the host was changed"
done
assert_eq "$(cat "$tmp/workspace/write")" untouched

# What is open to be read alone is not changed, whatever is called on it.
run --ro "$tmp/data:/data" --set failure.modes=disk_corruption -- python3 -c '
import os
open("a", "w").close()
f = os.open("a", os.O_RDONLY)
for i in range(3):
    try: os.pwrite(f, b"x", 0)
    except OSError: pass'
assert_eq "$(failure disk_corruption opportunities)" 0
