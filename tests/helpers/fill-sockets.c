/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fill sockets
 *
 *   fill-sockets N         N TCP connections over loopback, with all that their buffers take
 *   fill-sockets netlink   one message from a program to itself by netlink
 *
 * The first prints the KiB of data that the kernel holds in them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 1;
}

static int talk_by_netlink(void)
{
	struct sockaddr_nl self = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(self);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);

	if (fd < 0)
		return fail("socket");
	if (bind(fd, (struct sockaddr *)&self, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&self, &len) < 0)
		return fail("bind");
	if (sendto(fd, "x", 1, 0, (struct sockaddr *)&self, len) < 0)
		return fail("sendto");
	puts("sent");
	return 0;
}

static int connect_and_fill(int listener, unsigned long long *held)
{
	static const char data[65536];
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t n;

	if (fd < 0 || getsockname(listener, (struct sockaddr *)&addr, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, len) < 0 || accept(listener, NULL, NULL) < 0)
		return fail("connect");
	while ((n = send(fd, data, sizeof(data), MSG_DONTWAIT)) > 0)
		*held += (unsigned long long)n;
	return 0;
}

int main(int argc, char **argv)
{
	const struct sockaddr_in loopback = { .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned long long n, held = 0;
	int listener;

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "netlink") == 0)
		return talk_by_netlink();
	n = number_of(argv[1]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 ||
	    bind(listener, (const struct sockaddr *)&loopback, sizeof(loopback)) < 0 ||
	    listen(listener, 1) < 0)
		return fail("listen");
	for (unsigned long long i = 0; i < n; i++) {
		if (connect_and_fill(listener, &held))
			return 1;
	}
	printf("%llu\n", held / 1024);
	return 0;
}
