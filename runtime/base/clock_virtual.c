/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual clock
 *
 * Armed timers are kept here and not by the kernel, which is only told to fire one when it is due.  No
 * program of the product refers to this file, so none has it.
 */
#include "runtime/base/clock_virtual.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/timerfd.h>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#define TIMERS_MAX 64
#define EPOCH_NS UINT64_C(1767225600000000000) /* 2026-01-01 */

static struct {
	uint64_t now_ns, cpu_ns;
	struct timer {
		int fd;
		uint64_t at_ns; /* 0: a free place */
	} timers[TIMERS_MAX];
} clocks;

static uint64_t read_clock(enum mr_clock clock)
{
	switch (clock) {
	case MR_CLOCK_BOOT:
	case MR_CLOCK_MONOTONIC:
		return clocks.now_ns;
	case MR_CLOCK_REAL:
		return EPOCH_NS + clocks.now_ns;
	case MR_CLOCK_PROCESS_CPU:
	case MR_CLOCK_THREAD_CPU:
		break;
	}
	return clocks.cpu_ns;
}

static bool is_armed(const struct timer *timer)
{
	return timer->at_ns != 0;
}

/* The kernel does so a moment after it is told to; a timer that was closed is gone. */
static void fire(struct timer *timer)
{
	const struct itimerspec past = { .it_value = { .tv_nsec = 1 } };
	struct pollfd p = { .fd = timer->fd, .events = POLLIN };

	if (timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &past, NULL) == 0)
		mr_assert(poll(&p, 1, -1) == 1);
	timer->at_ns = 0;
}

static void fire_due(void)
{
	for (size_t i = 0; i < TIMERS_MAX; i++)
		if (is_armed(&clocks.timers[i]) && clocks.timers[i].at_ns <= clocks.now_ns)
			fire(&clocks.timers[i]);
}

static void forget(int timer_fd)
{
	for (size_t i = 0; i < TIMERS_MAX; i++)
		if (clocks.timers[i].fd == timer_fd)
			clocks.timers[i].at_ns = 0;
}

static void arm(int timer_fd, uint64_t at_ns)
{
	size_t i = 0;

	forget(timer_fd);
	if (at_ns == 0)
		return;
	while (i < TIMERS_MAX && is_armed(&clocks.timers[i]))
		i++;
	mr_assert(i < TIMERS_MAX);
	clocks.timers[i] = (struct timer){ .fd = timer_fd, .at_ns = at_ns };
	fire_due();
}

static int pass(uint64_t until_ns)
{
	uint64_t next = until_ns;

	for (size_t i = 0; i < TIMERS_MAX; i++)
		if (is_armed(&clocks.timers[i]) && clocks.timers[i].at_ns < next)
			next = clocks.timers[i].at_ns;
	if (next == UINT64_MAX)
		return -1;
	if (next > clocks.now_ns)
		clocks.now_ns = next;
	fire_due();
	return 0;
}

void mr_clock_set_virtual(uint64_t ns)
{
	static const struct mr_clock_hook hook = { .read = read_clock, .arm = arm, .pass = pass };

	memset(&clocks, 0, sizeof(clocks));
	clocks.now_ns = ns;
	mr_clock_set_hook(&hook);
}

void mr_clock_set_real(void)
{
	mr_clock_set_hook(NULL);
}

void mr_clock_advance(uint64_t ns)
{
	clocks.now_ns += ns;
	fire_due();
}

void mr_clock_advance_cpu(uint64_t ns)
{
	clocks.cpu_ns += ns;
}
