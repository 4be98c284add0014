#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Under a policy that allows nothing the program is started and can end, and do nothing else: what
# our own code needs until then is not the program's
# security

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/policy.sh"

need_root
need_program gcc

# No library: calls by number.  With an argument it tries more of them.
cat >"$tmp/a.c" <<'END'
static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}
static char *const empty[] = { 0 };
static char message[64]; /* a struct msghdr of zeros */
void start(long *stack)
{
	static const short numbers[] = { 0, 1, 2, 3, 9, 12, 39, 46, 56, 57, 59, 61, 101, 157, 202,
					 257, 302, 317, 322, 435, 436, 437 };
	const long last = stack[0] > 1 ? 5000 : 500;
	long failed = 0;

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		long r = call(numbers[i], 0, (long)"/a", (long)empty);

		failed += r >= 0 || (r != -1 && r != -38);
	}
	/* sendmsg passes on one number of a descriptor, which nobody can have. */
	for (long fd = 0; fd < last; fd++) {
		long r = call(46, fd, (long)message, 0);

		failed += r != -1 && r != -9;
	}
	call(231, failed ? 1 : 42, 0, 0);
	for (;;)
		;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall start\n");
END
gcc -O1 -static -nostdlib -ffreestanding -fno-stack-protector -o "$tmp/a" "$tmp/a.c" ||
	fail "cannot compile"
policy '"syscalls": [], "paths": [], "hosts": []'
declare -A more=([3]=more [3--userns]=more)
for level in 2 3 4 5; do
	for option in "" --userns; do
		# shellcheck disable=SC2086 # none or one
		enforced --level $level $option --ro "$tmp/a:/a" -- /a ${more[$level$option]-}
		assert_status 42
		assert_eq "$(json '.receipt.policy | "\(.state) \(.syscalls.allowed) \(.paths.rules)"')" \
			"enforced 4 0" "receipt"
		assert_contains "$(denials)" "seccomp read null"
		assert_contains "$(denials)" "seccomp prlimit64 null"
		assert_contains "$(denials)" "seccomp close_range null"
	done
done
# With the libraries' needs it does not even come to its first line, and that is told.
enforced -- /bin/true
assert_ne "$status" 0 "exit status"
assert_contains "$(denials)" "seccomp brk null"
