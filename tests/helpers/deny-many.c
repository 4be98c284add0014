/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny-many: make many calls that are denied
 *
 *   deny-many same N      N times unshare(CLONE_NEWUSER)
 *   deny-many connect N   N times connect(), each to another address
 *
 * Prints "denied N": how many failed with EPERM or ENETUNREACH.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static int connect_to(int fd, unsigned long i)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80) };

	in.sin_addr.s_addr = htonl(0x0a000000u + (unsigned int)i);
	return connect(fd, (struct sockaddr *)&in, sizeof(in));
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? number_of(argv[2]) : 0, denied = 0;
	const int connects = argc == 3 && strcmp(argv[1], "connect") == 0;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (unsigned long i = 0; i < n; i++) {
		int r = connects ? connect_to(fd, i) : unshare(CLONE_NEWUSER);

		denied += r < 0 && errno == (connects ? ENETUNREACH : EPERM);
	}
	printf("denied %lu\n", denied);
	return fflush(stdout) == 0 && denied == n ? 0 : 1;
}
