/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: how long bytes take over a connection
 *
 *   stream sink PORT            take connections one after the other, answer how much came
 *   stream send ADDRESS PORT N  send N bytes, wait for the answer; prints nanoseconds
 *
 * No byte is looked at on either side, so that what is measured is the way between.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static char block[1 << 18];

static int fail(const char *what)
{
	fprintf(stderr, "stream: %s: %s\n", what, strerror(errno));
	return 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int serve_one(int listener)
{
	int fd = accept(listener, NULL, NULL);
	uint64_t total = 0;
	ssize_t n;

	if (fd < 0)
		return fail("accept");
	/* MSG_TRUNC: the kernel drops the bytes, as a discard server in it would. */
	while ((n = recv(fd, block, sizeof(block), MSG_TRUNC)) > 0)
		total += (uint64_t)n;
	if (n == 0 && write(fd, &total, sizeof(total)) != sizeof(total))
		n = -1;
	close(fd);
	return n < 0 ? fail("receive") : 0;
}

static int sink(uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
	    listen(fd, 16) < 0)
		return fail("listen");
	puts("ready");
	fflush(stdout);
	for (;;)
		serve_one(fd);
}

static int send_bytes(const char *address, uint16_t port, uint64_t n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t began, got = 0, left = n;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || fd < 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return fail("connect");
	began = now_ns();
	while (left > 0) {
		ssize_t put = send(fd, block, left < sizeof(block) ? left : sizeof(block), 0);

		if (put < 0)
			return fail("send");
		left -= (uint64_t)put;
	}
	shutdown(fd, SHUT_WR);
	if (recv(fd, &got, sizeof(got), MSG_WAITALL) != sizeof(got) || got != n)
		return fail("answer");
	printf("%" PRIu64 "\n", now_ns() - began);
	return 0;
}

static uint16_t port_of(const char *text)
{
	unsigned long long port = number_of(text);

	if (port == 0 || port > UINT16_MAX) {
		fprintf(stderr, "stream: \"%s\" is no port: 1 to 65535\n", text);
		exit(2);
	}
	return (uint16_t)port;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "sink") == 0)
		return sink(port_of(argv[2]));
	if (argc == 5 && strcmp(argv[1], "send") == 0)
		return send_bytes(argv[2], port_of(argv[3]), number_of(argv[4]));
	fprintf(stderr, "usage: stream sink PORT | send ADDRESS PORT BYTES\n");
	return 2;
}
