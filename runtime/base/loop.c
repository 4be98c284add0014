/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop
 *
 * epoll_wait hands out a batch of pointers; a callback may remove another source
 * of the same batch and its owner may then free it.  So the loop keeps the batch
 * and mr_loop_remove() blanks the entries of the removed source in it.
 */
#include "runtime/base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#define BATCH 32

struct mr_loop {
	int epoll_fd;
	struct epoll_event batch[BATCH];
	int batch_size; /* entries of the batch being handled, 0 outside */
};

int mr_loop_new(struct mr_loop **ret, struct mr_error *err)
{
	struct mr_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return mr_err(err, MR_E_SYS, ENOMEM, "event loop: %m");
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		int r = mr_err(err, MR_E_SYS, errno, "make an event loop: epoll_create1: %m");

		free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

struct mr_loop *mr_loop_free(struct mr_loop *loop)
{
	if (loop) {
		mr_close(loop->epoll_fd);
		free(loop);
	}
	return NULL;
}

int mr_loop_fd(const struct mr_loop *loop)
{
	return loop->epoll_fd;
}

int mr_loop_add(struct mr_loop *loop, struct mr_source *source, int fd, uint32_t events,
		void (*on_event)(struct mr_source *, uint32_t), void *owner, struct mr_error *err)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return mr_err(err, MR_E_SYS, errno, "epoll: watch descriptor %d: %m", fd);
	*source = (struct mr_source){
		.fd = fd, .events = events, .on_event = on_event, .owner = owner
	};
	return 0;
}

int mr_loop_modify(struct mr_loop *loop, struct mr_source *source, uint32_t events,
		   struct mr_error *err)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	if (source->events == events)
		return 0;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &ev) < 0)
		return mr_err(err, MR_E_SYS, errno, "epoll: change descriptor %d: %m", source->fd);
	source->events = events;
	return 0;
}

void mr_loop_remove(struct mr_loop *loop, struct mr_source *source)
{
	if (source->fd < 0 || !source->on_event)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = -1;
	source->on_event = NULL;
	for (int i = 0; i < loop->batch_size; i++) {
		if (loop->batch[i].data.ptr == source)
			loop->batch[i].data.ptr = NULL;
	}
}

/* epoll_wait(), by the clock that deadlines go by. */
static int wait_for_events(struct mr_loop *loop, int timeout_ms)
{
	const struct mr_clock_hook *hook = mr_clock_hook();
	int n = epoll_wait(loop->epoll_fd, loop->batch, BATCH, hook ? 0 : timeout_ms);
	uint64_t until_ns = UINT64_MAX;

	if (n != 0 || !hook || timeout_ms == 0)
		return n;
	if (timeout_ms > 0)
		until_ns = mr_now_ns() + (uint64_t)timeout_ms * 1000000;
	return epoll_wait(loop->epoll_fd, loop->batch, BATCH, hook->pass(until_ns));
}

int mr_loop_run_once(struct mr_loop *loop, int timeout_ms, struct mr_error *err)
{
	int n = wait_for_events(loop, timeout_ms);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "epoll_wait: %m");
	loop->batch_size = n;
	for (int i = 0; i < n; i++) {
		struct mr_source *source = loop->batch[i].data.ptr;

		if (source)
			source->on_event(source, loop->batch[i].events);
	}
	loop->batch_size = 0;
	return n;
}

int mr_loop_drain(struct mr_loop *loop, uint64_t ns, struct mr_error *err)
{
	const uint64_t end = mr_clock_ns(MR_CLOCK_PROCESS_CPU) + ns;
	int n;

	do {
		n = mr_loop_run_once(loop, 0, err);
	} while (n > 0 && mr_clock_ns(MR_CLOCK_PROCESS_CPU) < end);
	return n > 0 ? mr_err(err, MR_E_SYS, ETIMEDOUT,
			      "what had come was not all heard in %llu ms of processor time",
			      (unsigned long long)(ns / 1000000))
		     : n;
}

int mr_timer_open(struct mr_error *err)
{
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && mr_clock_hook())
		mr_clock_hook()->arm(fd, 0); /* another may have had this number */
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "make a timer: timerfd_create: %m") : fd;
}

int mr_timer_arm(int timer_fd, uint64_t at_ns, struct mr_error *err)
{
	const struct mr_clock_hook *hook = mr_clock_hook();
	const uint64_t kernel_ns = hook ? 0 : at_ns;
	const struct itimerspec spec = {
		.it_value = { .tv_sec = (time_t)(kernel_ns / 1000000000),
			      .tv_nsec = (long)(kernel_ns % 1000000000) },
	};

	if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "timerfd_settime: %m");
	if (hook)
		hook->arm(timer_fd, at_ns);
	return 0;
}

void mr_timer_ack(int timer_fd)
{
	uint64_t count;

	if (read(timer_fd, &count, sizeof(count)) < 0)
		return; /* EAGAIN: someone re-armed it meanwhile */
}
