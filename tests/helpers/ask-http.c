/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ask over HTTP as a static program does, without a library for names
 *
 *	ask-http HOST PORT REQUEST
 *
 * Asks the first nameserver of /etc/resolv.conf for HOST, connects, sends REQUEST and prints
 * what comes until the end.  Exit: 0, 3 when the name does not exist, 4 when it cannot connect.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static struct sockaddr_in find_server(void)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(53) };
	FILE *f = fopen("/etc/resolv.conf", "re");
	char word[64];

	if (!f || fscanf(f, "nameserver %63s", word) != 1 ||
	    inet_pton(AF_INET, word, &server.sin_addr) != 1)
		errx(1, "no nameserver in /etc/resolv.conf");
	fclose(f);
	return server;
}

static size_t make_query(uint8_t query[512], const char *name)
{
	static const uint8_t head[12] = { 0x12, 0x34, 0x01, 0, 0, 1 };
	static const uint8_t tail[5] = { 0, 0, 1, 0, 1 };
	size_t at = sizeof(head);

	memcpy(query, head, sizeof(head));
	for (; *name; name += *name == '.') {
		size_t n = strcspn(name, ".");

		if (n > 63 || at + n + 1 + sizeof(tail) > 512)
			errx(1, "the name is too long");
		query[at++] = (uint8_t)n;
		memcpy(query + at, name, n);
		at += n;
		name += n;
	}
	memcpy(query + at, tail, sizeof(tail));
	return at + sizeof(tail);
}

/* The address is the last thing of an answer with one record. */
static struct in_addr look_up(const char *name)
{
	const struct timeval patience = { .tv_sec = 30 };
	struct sockaddr_in server = find_server();
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t query[512], reply[512];
	size_t size = make_query(query, name);
	struct in_addr address;
	ssize_t n;

	if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		err(1, "socket");
	if (sendto(sock, query, size, 0, (struct sockaddr *)&server, sizeof(server)) < 0)
		err(1, "ask for %s", name);
	n = recv(sock, reply, sizeof(reply), 0);
	close(sock);
	if (n < 12)
		errx(1, "no answer for %s", name);
	if ((reply[3] & 15) == 3) {
		warnx("%s does not exist", name);
		_exit(3);
	}
	if ((reply[3] & 15) != 0 || reply[7] != 1 || n < 16)
		errx(1, "no address of %s", name);
	memcpy(&address, reply + n - 4, sizeof(address));
	return address;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char buf[4096];
	size_t size;
	ssize_t n;
	int sock;

	if (argc != 4)
		errx(2, "usage: ask-http HOST PORT REQUEST");
	to.sin_port = htons((uint16_t)number_of(argv[2]));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		to.sin_addr = look_up(argv[1]);
	sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0) {
		warn("connect");
		return 4;
	}
	size = strlen(argv[3]);
	if (send(sock, argv[3], size, MSG_NOSIGNAL) != (ssize_t)size)
		err(5, "send");
	while ((n = recv(sock, buf, sizeof(buf), 0)) > 0)
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n)
			err(1, "write");
	if (n < 0)
		err(6, "receive");
	return fflush(stdout) == 0 ? 0 : 1;
}
