/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection asked for without the system call connect
 *
 *   connect-by-ring GROUP PORT
 *
 * Joins the control group whose folder is GROUP, then has an io_uring connect a TCP socket to
 * 127.0.0.1:PORT, and prints what the ring said: 0 or a negative errno.  3: no ring here (prints
 * why); 1: anything else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static int join(const char *group)
{
	int dir = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(group);
		return -1;
	}
	close(fd);
	close(dir);
	return 0;
}

static void *map_ring(int ring, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
}

/* One request in, one answer out. */
static int submit(int ring, const struct io_uring_params *p, const struct io_uring_sqe *sqe,
		  int *ret)
{
	char *sq = map_ring(ring, p->sq_off.array + p->sq_entries * sizeof(unsigned int),
			    IORING_OFF_SQ_RING);
	char *cq = map_ring(ring, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe),
			    IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes = map_ring(ring, p->sq_entries * sizeof(*sqes), IORING_OFF_SQES);
	struct io_uring_cqe *cqe;

	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED) {
		perror("map the ring");
		return -1;
	}
	sqes[0] = *sqe;
	((unsigned int *)(sq + p->sq_off.array))[0] = 0;
	atomic_store((_Atomic unsigned int *)(sq + p->sq_off.tail), 1);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) {
		perror("io_uring_enter");
		return -1;
	}
	cqe = (struct io_uring_cqe *)(cq + p->cq_off.cqes);
	*ret = cqe->res;
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	struct io_uring_sqe sqe = { .opcode = IORING_OP_CONNECT, .addr = (uintptr_t)&to };
	struct io_uring_params params = { 0 };
	int ring, answer;

	if (argc != 3) {
		fputs("usage: connect-by-ring GROUP PORT\n", stderr);
		return 1;
	}
	to.sin_port = htons((uint16_t)number_of(argv[2]));
	sqe.off = sizeof(to); /* of a connect: the length of the address */
	ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0) {
		printf("io_uring_setup: %s\n", strerror(errno));
		return 3;
	}
	if (join(argv[1]) < 0)
		return 1;
	sqe.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sqe.fd < 0 || submit(ring, &params, &sqe, &answer) < 0)
		return 1;
	printf("%d\n", answer);
	return 0;
}
