/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready
 *
 * What cannot be told now is an error: the loop drives other runs, too, and waits for
 * no reader.  At the end of block_fd nobody is left who could give the word; a program
 * that began nevertheless would be one that nobody expects.
 */
#include "runtime/supervise/ready.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/base/error.h"

static int tell(int fd, struct mr_error *err)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	if (poll(&p, 1, 0) != 1)
		return mr_err(err, MR_E_SYS, EAGAIN,
			      "--ready-fd %d: full, nobody reads what is told there", fd);
	do
		n = write(fd, "\n", 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : mr_err(err, MR_E_SYS, errno, "--ready-fd %d: %m", fd);
}

static void on_word(struct mr_source *source, uint32_t events)
{
	struct mr_ready *ready = source->owner;
	const int fd = source->fd;
	struct mr_error err = MR_ERROR_INIT;
	char word;
	ssize_t n = read(fd, &word, 1);

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0)
		mr_err(&err, MR_E_SYS, errno, "--block-fd %d: %m", fd);
	else if (n == 0)
		mr_err(&err, MR_E_SYS, EPIPE,
		       "--block-fd %d: closed by its other side before the program was let go", fd);
	mr_ready_stop(ready);
	ready->on_go(ready->owner, n == 1 ? NULL : &err);
}

int mr_ready_tell(struct mr_ready *ready, struct mr_loop *loop, const struct mr_ready_fds *fds,
		  void (*on_go)(void *owner, const struct mr_error *err), void *owner,
		  struct mr_error *err)
{
	int r = 0;

	*ready = (struct mr_ready){ .loop = loop, .source.fd = -1, .on_go = on_go, .owner = owner };
	if (!fds)
		return 0;
	if (fds->block_fd >= 0)
		r = mr_loop_add(loop, &ready->source, fds->block_fd, EPOLLIN, on_word, ready, err);
	if (r < 0)
		return mr_err_wrap(err, r, "--block-fd %d", fds->block_fd);
	if (fds->ready_fd >= 0)
		r = tell(fds->ready_fd, err);
	if (r < 0)
		mr_ready_stop(ready);
	return r < 0 ? r : fds->block_fd >= 0;
}

void mr_ready_stop(struct mr_ready *ready)
{
	if (ready->loop)
		mr_loop_remove(ready->loop, &ready->source);
}
