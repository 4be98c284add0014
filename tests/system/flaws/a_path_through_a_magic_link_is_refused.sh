#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CVE-2024-21626, the other half: no path of the request is walked through
# /proc/PID/fd, cwd or root, inside or outside
# security

. "${0%/*}/../../lib/system.sh"

exec 7</ 8</etc/passwd
mkdir "$tmp/work"
ln -s /proc/self/fd/7 "$tmp/work/out"
ln -s /proc/self/root "$tmp/work/root"

for fd in 7 8 9 10 11 12; do
	run --cwd /proc/self/fd/$fd -- pwd
	assert_refused "/proc/self/fd/$fd" "is not accepted as working directory"
done
for cwd in /proc/self/root /proc/1/cwd /proc/self/fd/7/tmp /proc/../proc/self/fd/7 //proc/self/fd/7; do
	run --cwd "$cwd" -- pwd
	assert_status 2
	assert_eq "$stdout" "" "output with --cwd $cwd"
done
# A link that is harmless for the look of the path.
for cwd in /work/out /work/root /work/out/etc; do
	run --workspace "$tmp/work" --cwd "$cwd" -- pwd
	assert_refused "working directory $cwd" "Too many levels of symbolic links"
done

for option in --ro --rw; do
	run $option /proc/self/fd/7:/host -- ls /host
	assert_refused "/proc/self/fd/7: leads through a magic link of /proc"
done
run --ro /proc/self/fd/8:/host -- cat /host
assert_refused "/proc/self/fd/8: leads through a magic link of /proc"
run --ro "$tmp/work/out/etc:/host" -- ls /host
assert_refused "leads through a magic link of /proc"
run --root /proc/self/fd/7 -- true
assert_refused "root /proc/self/fd/7: leads through a magic link of /proc"
run --workspace /proc/self/fd/7 -- true
assert_refused "workspace /proc/self/fd/7: leads through a magic link of /proc"
