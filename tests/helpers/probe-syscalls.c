/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe-syscalls: make every bad call and say what came of it
 *
 * Prints one line "name ERRNO" for each call, OK for success.  Exit status 0 if
 * every call got the errno expected at the default level, 1 otherwise; a line
 * that differs ends in "expected ERRNO".  Linked statically, to run anywhere.
 */
#include <stdio.h>
#include <string.h>

#include "tests/helpers/bad-calls.h"

static const char *errno_name(int errnum)
{
	const char *name = errnum ? strerrorname_np(errnum) : "OK";

	return name ? name : "?";
}

int main(void)
{
	int status = 0;

	for (size_t i = 0; i < N_BAD_CALLS; i++) {
		const struct bad_call *c = &bad_calls[i];
		int got = try_bad_call(c);

		if (got == c->expected) {
			printf("%s %s\n", c->name, errno_name(got));
			continue;
		}
		printf("%s %s expected %s\n", c->name, errno_name(got), errno_name(c->expected));
		status = 1;
	}
	return fflush(stdout) == 0 ? status : 1;
}
