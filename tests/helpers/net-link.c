/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loopback does to packets
 *
 *   net-link COUNT SIZE GAP_US WINDOW WAIT_MS
 *
 * Sends COUNT datagrams of SIZE bytes to itself, one each GAP_US, at most WINDOW of them under
 * way, and waits up to WAIT_MS after the last one for those that are.  There are several receiving
 * sockets, so that the memory of one does not bound what may have come.  A packet is timed from its
 * send to the kernel's time stamp where it arrives, so that how fast this program reads
 * does not matter.  Prints one object; packets count with their headers, as on a wire.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/helpers/number.h"

#define HEADERS (8 + 20 + 14) /* UDP, IPv4, Ethernet */
#define SIZE_MAX_ 1472
#define RECEIVERS 8
#define BATCH 32 /* packets a call, where nothing paces them: calls cost more than packets */
#define TAKE_EACH 256 /* packets; the sockets hold some more of any size */

static struct {
	uint64_t sent_ns, came_ns; /* 0: not yet */
	uint64_t times; /* it came */
} * packets;
static struct pollfd polls[RECEIVERS + 1]; /* the last one sends */
static struct sockaddr_in addrs[RECEIVERS];
static uint64_t count, size, sent, came, distinct;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int open_receiver(struct pollfd *ret, struct sockaddr_in *ret_addr)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(addr);
	const int on = 1, room = 8 << 20;
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &length) < 0)
		return -1;
	*ret = (struct pollfd){ .fd = fd, .events = POLLIN };
	*ret_addr = addr;
	return 0;
}

static int open_sockets(void)
{
	for (int i = 0; i < RECEIVERS; i++) {
		if (open_receiver(&polls[i], &addrs[i]) < 0)
			return -1;
	}
	polls[RECEIVERS].fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	polls[RECEIVERS].events = POLLOUT;
	return polls[RECEIVERS].fd < 0 ? -1 : 0;
}

static uint64_t stamp_of(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct timespec ts;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
	return now_ns();
}

static void note(const char *data, uint64_t stamp)
{
	uint64_t number;

	memcpy(&number, data, sizeof(number));
	if (number >= sent)
		return;
	came++;
	if (packets[number].times++)
		return;
	packets[number].came_ns = stamp;
	distinct++;
}

/* Some packets of this socket; 0: there are no more. */
static int take_some(int fd)
{
	static char data[BATCH][sizeof(uint64_t)], control[BATCH][128];
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	int n;

	memset(msgs, 0, sizeof(msgs));
	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ .iov_base = data[i], .iov_len = sizeof(data[i]) };
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i],
						   .msg_iovlen = 1,
						   .msg_control = control[i],
						   .msg_controllen = sizeof(control[i]) };
	}
	n = recvmmsg(fd, msgs, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++) {
		if (msgs[i].msg_len == sizeof(data[i]))
			note(data[i], stamp_of(&msgs[i].msg_hdr));
	}
	return n == BATCH;
}

static void take(void)
{
	for (int i = 0; i < RECEIVERS; i++) {
		while (take_some(polls[i].fd))
			;
	}
}

/* Up to `n` packets, which have one time; what was sent, -1 for an error. */
static int put(uint64_t n)
{
	static char data[BATCH][SIZE_MAX_];
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	const uint64_t now = now_ns();
	int r;

	memset(msgs, 0, sizeof(msgs));
	n = n < BATCH ? n : BATCH;
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t number = sent + i;

		memcpy(data[i], &number, sizeof(number));
		packets[number].sent_ns = now;
		iov[i] = (struct iovec){ .iov_base = data[i], .iov_len = size };
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i],
						   .msg_iovlen = 1,
						   .msg_name = &addrs[number % RECEIVERS],
						   .msg_namelen = sizeof(addrs[0]) };
	}
	r = sendmmsg(polls[RECEIVERS].fd, msgs, (unsigned int)n, 0);
	if (r < 0)
		return errno == EAGAIN ? 0 : -1;
	sent += (uint64_t)r;
	return r;
}

static void wait_for(uint64_t until_ns, int room_wanted)
{
	const uint64_t now = now_ns();
	struct timespec ts = { 0 };

	if (until_ns > now) {
		ts.tv_sec = (time_t)((until_ns - now) / 1000000000);
		ts.tv_nsec = (long)((until_ns - now) % 1000000000);
	}
	ppoll(polls, RECEIVERS + (room_wanted ? 1 : 0), &ts, NULL);
}

/* How many may be sent at once. */
static uint64_t room(uint64_t gap_ns, uint64_t window)
{
	const uint64_t left = count - sent, under_way = sent - distinct;

	if (under_way >= window)
		return 0;
	if (gap_ns)
		return 1;
	return window - under_way < left ? window - under_way : left;
}

static int exchange(uint64_t gap_ns, uint64_t window, uint64_t wait_ns)
{
	const uint64_t begin = now_ns();

	while (sent < count) {
		const uint64_t due = begin + sent * gap_ns, now = now_ns(),
			       n = room(gap_ns, window);
		int r = 1;

		if (now >= due && n > 0) {
			r = put(n);
			if (r < 0)
				return -1;
			if (r > 0 && sent % TAKE_EACH >= BATCH)
				continue;
		}
		take();
		if (r == 0)
			wait_for(now_ns() + 1000000000, 1);
		else if (now < due || room(gap_ns, window) == 0)
			wait_for(now < due ? due : now + wait_ns, 0);
		if (now_ns() >= due + wait_ns && room(gap_ns, window) == 0)
			window += 1; /* a lost one does not come */
	}
	for (const uint64_t end = now_ns() + wait_ns; now_ns() < end && distinct < count;) {
		wait_for(end, 0);
		take();
	}
	take();
	return 0;
}

/* Losses in a row, and a number that stands for which packets were lost. */
static void print_losses(void)
{
	uint64_t bursts = 0, longest = 0, row = 0, hash = 14695981039346656037ULL;

	for (uint64_t i = 0; i < count; i++) {
		if (packets[i].times) {
			row = 0;
			continue;
		}
		bursts += row == 0;
		longest = ++row > longest ? row : longest;
		hash = (hash ^ i) * 1099511628211ULL;
	}
	printf("\"bursts\": %ju, \"longest\": %ju, \"which\": \"%016jx\", ", (uintmax_t)bursts,
	       (uintmax_t)longest, (uintmax_t)hash);
}

/* Packets that came after one that was sent later. */
static uint64_t count_overtaken(void)
{
	uint64_t earliest = UINT64_MAX, n = 0;

	for (uint64_t i = count; i-- > 0;) {
		if (!packets[i].times)
			continue;
		n += packets[i].came_ns > earliest;
		earliest = packets[i].came_ns < earliest ? packets[i].came_ns : earliest;
	}
	return n;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Quartiles: a machine that stands still for a moment moves them little. */
static void print_delays(void)
{
	int64_t *us = calloc(count + 1, sizeof(*us));
	double sum = 0;
	uint64_t n = 0;

	if (!us)
		exit(1);
	for (uint64_t i = 0; i < count; i++) {
		if (packets[i].times)
			us[n++] =
				((int64_t)packets[i].came_ns - (int64_t)packets[i].sent_ns) / 1000;
	}
	qsort(us, n, sizeof(*us), compare);
	for (uint64_t i = 0; i < n; i++)
		sum += (double)us[i];
	printf("\"mean_us\": %.0f, \"min_us\": %jd, \"p10_us\": %jd, \"q1_us\": %jd, "
	       "\"median_us\": %jd, \"q3_us\": "
	       "%jd, \"max_us\": %jd, ",
	       n ? sum / (double)n : 0, (intmax_t)us[0], (intmax_t)us[n / 10], (intmax_t)us[n / 4],
	       (intmax_t)us[n / 2], (intmax_t)us[n * 3 / 4], (intmax_t)us[n ? n - 1 : 0]);
	free(us);
}

/* Of the link while something waits for it: packets that were sent before the one before them
 * came.  How fast this program keeps it busy does not matter. */
static void print_rate(void)
{
	uint64_t waited = 0, ns = 0;

	for (uint64_t i = 1; i < count; i++) {
		if (!packets[i].times || !packets[i - 1].times ||
		    packets[i].sent_ns > packets[i - 1].came_ns ||
		    packets[i].came_ns < packets[i - 1].came_ns)
			continue;
		waited++;
		ns += packets[i].came_ns - packets[i - 1].came_ns;
	}
	printf("\"waited\": %ju, \"bits_per_second\": %.0f}\n", (uintmax_t)waited,
	       ns ? (double)(waited * (size + HEADERS) * 8) * 1e9 / (double)ns : 0);
}

int main(int argc, char **argv)
{
	uint64_t gap_us, window, wait_ms;

	if (argc != 6) {
		fputs("usage: net-link COUNT SIZE GAP_US WINDOW WAIT_MS\n", stderr);
		return 2;
	}
	count = number_of(argv[1]);
	size = number_of(argv[2]);
	gap_us = number_of(argv[3]);
	window = number_of(argv[4]);
	wait_ms = number_of(argv[5]);
	packets = calloc(count + 1, sizeof(*packets));
	if (!packets || size < sizeof(sent) || size > SIZE_MAX_ || open_sockets() < 0 ||
	    exchange(gap_us * 1000, window, wait_ms * 1000000) < 0) {
		perror("net-link");
		return 1;
	}
	printf("{\"sent\": %ju, \"came\": %ju, \"distinct\": %ju, \"lost\": %ju, \"repeated\": "
	       "%ju, \"overtaken\": %ju, ",
	       (uintmax_t)sent, (uintmax_t)came, (uintmax_t)distinct, (uintmax_t)(count - distinct),
	       (uintmax_t)(came - distinct), (uintmax_t)count_overtaken());
	print_losses();
	print_delays();
	print_rate();
	return 0;
}
