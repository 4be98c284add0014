/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock: the only reader of the kernel's clocks
 *
 * All that waits goes by mr_now_ns().  A unit test may put a hook in place of the kernel
 * (clock_virtual.h): then time passes when the test says so, and whoever waits in the event loop
 * comes to the next deadline at once.
 *
 * Was the time of day set meanwhile?  The kernel speeds up and slows down all its clocks alike, so that
 * the time of day less the time since boot only changes when somebody sets the clock.  Two clocks cannot
 * be read at one instant: by how much they may be apart is part of a reading.
 */
#pragma once

#include <poll.h>
#include <stdint.h>

enum mr_clock {
	MR_CLOCK_BOOT, /* CLOCK_BOOTTIME: a suspended host does not stop it */
	MR_CLOCK_MONOTONIC, /* the one that programs in the kernel know */
	MR_CLOCK_REAL, /* the time of day, since 1970 */
	MR_CLOCK_PROCESS_CPU,
	MR_CLOCK_THREAD_CPU,
};

uint64_t mr_clock_ns(enum mr_clock clock);
/* The clock that deadlines go by: MR_CLOCK_BOOT. */
uint64_t mr_now_ns(void);
/* The time of day in whole microseconds. */
int64_t mr_clock_real_us(void);

/* poll() until mr_now_ns() is until_ns; UINT64_MAX: for ever.  May return 0 a little early where that is
 * further away than poll() can wait, never otherwise. */
int mr_clock_poll(struct pollfd *fds, nfds_t n, uint64_t until_ns);
/* Wait until then, whatever signals come. */
void mr_clock_sleep(uint64_t until_ns);

struct mr_clock_reading {
	int64_t offset_ns; /* CLOCK_REALTIME less CLOCK_BOOTTIME */
	int64_t doubt_ns; /* off at most so much, to either side */
};

void mr_clock_read(struct mr_clock_reading *ret);
/* By how much the clock was set forward between two readings; below 0: back; 0: by no more than they may
 * be off. */
int64_t mr_clock_skew_ns(const struct mr_clock_reading *from, const struct mr_clock_reading *to);

/* What stands in for the kernel; NULL: nothing does. */
struct mr_clock_hook {
	uint64_t (*read)(enum mr_clock clock);
	/* A timer is to fire at this time; 0: not at all. */
	void (*arm)(int timer_fd, uint64_t at_ns);
	/* Nothing has come: let the time pass until the next timer fires, or until_ns.  -1: neither will
	 * ever be, so that the kernel's word is to be waited for; else 0. */
	int (*pass)(uint64_t until_ns);
};

void mr_clock_set_hook(const struct mr_clock_hook *hook);
const struct mr_clock_hook *mr_clock_hook(void);
