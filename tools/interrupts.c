/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts
 */
#include "tools/interrupts.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"

static void on_readable(struct mr_source *source, uint32_t events)
{
	struct mr_interrupts *interrupts = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		if (!interrupts->signal)
			interrupts->signal = (int)info.ssi_signo;
		interrupts->on_signal(interrupts->owner);
	}
}

int mr_interrupts_begin(struct mr_interrupts *interrupts, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	int r;

	interrupts->source.fd = -1;
	interrupts->signal = 0;
	fd = mr_signals_open(NULL, 0, &interrupts->before, err);
	if (fd < 0)
		return fd;
	r = mr_loop_add(interrupts->loop, &interrupts->source, fd, EPOLLIN, on_readable, interrupts,
			err);
	if (r == 0)
		mr_take_fd(fd);
	return r;
}

void mr_interrupts_end(struct mr_interrupts *interrupts)
{
	int fd = interrupts->source.fd;

	if (fd < 0)
		return;
	mr_loop_remove(interrupts->loop, &interrupts->source);
	mr_close(fd);
	sigprocmask(SIG_SETMASK, &interrupts->before, NULL);
}
