/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines
 *
 * Times are CLOCK_BOOTTIME: a suspended host does not stretch a limit.  on_due may
 * stop the deadlines from within, so nothing is touched after it.
 *
 * A deadline is judged one turn of the loop after it was noticed: where we were kept from
 * running, the program's output or its end, from before that time, may wait behind the timer.
 */
#include "runtime/supervise/deadline.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"

#define MS 1000000ULL
#define NEVER UINT64_MAX
#define IDLE_SHARE 100 /* below 1/100 of one CPU is idle */

static uint64_t after(uint64_t now, uint64_t ms)
{
	return ms == UINT64_MAX || ms > (NEVER - now) / MS ? NEVER : now + ms * MS;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* For the next time that anything could be due; at once while that lies behind us. */
static void arm(struct mr_deadlines *d)
{
	uint64_t next = min(min(d->wall_at_ns, d->cpu_check_ns), min(d->idle_check_ns, d->poll_ns));
	struct mr_error err;

	/* Failing would need a bad descriptor of our own. */
	mr_assert(mr_timer_arm(d->source.fd, next == NEVER ? 0 : next, &err) == 0);
}

/* Is the budget used up?  If not, set the next time it could be. */
static int cpu_is_due(struct mr_deadlines *d, uint64_t now)
{
	uint64_t budget_us = d->opts.cpu_time_ms * 1000, used = 0, left_ns;

	if (d->opts.cpu_usage_us(d->opts.owner, &used) < 0)
		used = 0;
	if (used >= budget_us)
		return 1;
	left_ns = (budget_us - used) * 1000 / d->opts.cpus;
	d->cpu_check_ns = now + max(left_ns, MR_PATIENCE_NS(DEADLINE_LOOK_LEAST));
	return 0;
}

static int idle_is_due(struct mr_deadlines *d, uint64_t now)
{
	uint64_t idle_ns = d->opts.idle_ms * MS, used = 0, step;

	if (d->opts.cpu_usage_us(d->opts.owner, &used) == 0) {
		if ((used - d->seen_us) * 1000 * IDLE_SHARE > now - d->seen_ns)
			d->active_ns = now;
		d->seen_us = used;
		d->seen_ns = now;
	}
	if (now - d->active_ns >= idle_ns)
		return 1;
	step = min(d->active_ns + idle_ns - now, idle_ns / 4);
	d->idle_check_ns = now + max(step, MR_PATIENCE_NS(DEADLINE_LOOK_LEAST));
	return 0;
}

/* What is due, or MR_DEADLINE_POLL: nothing is. */
static enum mr_deadline notice(struct mr_deadlines *d, uint64_t now)
{
	if (now >= d->wall_at_ns)
		return MR_DEADLINE_WALL;
	if (now >= d->cpu_check_ns && cpu_is_due(d, now))
		return MR_DEADLINE_CPU;
	if (now >= d->idle_check_ns && idle_is_due(d, now))
		return MR_DEADLINE_IDLE;
	return MR_DEADLINE_POLL;
}

/* What was noticed in the turn before; CPU time that was used stays used. */
static bool is_still_due(const struct mr_deadlines *d, uint64_t now)
{
	switch (d->noticed) {
	case MR_DEADLINE_WALL:
		return now >= d->wall_at_ns;
	case MR_DEADLINE_CPU:
		return true;
	case MR_DEADLINE_IDLE:
		return now - d->active_ns >= d->opts.idle_ms * MS;
	case MR_DEADLINE_POLL:
		break;
	}
	return false;
}

static void on_timer(struct mr_source *source, uint32_t events)
{
	struct mr_deadlines *d = source->owner;
	uint64_t now = mr_now_ns();

	(void)events;
	mr_timer_ack(source->fd);
	if (is_still_due(d, now)) {
		d->opts.on_due(d->opts.owner, d->noticed);
		return;
	}
	d->noticed = notice(d, now);
	if (d->noticed == MR_DEADLINE_POLL && now >= d->poll_ns) {
		d->poll_ns = after(now, d->opts.poll_ms);
		arm(d);
		d->opts.on_due(d->opts.owner, MR_DEADLINE_POLL);
		return;
	}
	arm(d);
}

int mr_deadlines_start(struct mr_deadlines *d, struct mr_loop *loop,
		       const struct mr_deadlines_opts *opts, struct mr_error *err)
{
	uint64_t now = mr_now_ns();
	int fd = mr_timer_open(err), r;

	if (fd < 0)
		return fd;
	*d = (struct mr_deadlines){ .opts = *opts,
				    .loop = loop,
				    .source.fd = -1,
				    .start_ns = now,
				    .active_ns = now,
				    .seen_ns = now,
				    .cpu_check_ns = NEVER,
				    .idle_check_ns = NEVER,
				    .poll_ns = NEVER,
				    .noticed = MR_DEADLINE_POLL };
	d->wall_at_ns = after(now, opts->wall_ms);
	if (opts->cpu_time_ms != UINT64_MAX)
		d->cpu_check_ns = now + min(opts->cpu_time_ms * MS / opts->cpus,
					    MR_PATIENCE_NS(DEADLINE_LOOK_FIRST));
	if (opts->idle_ms != UINT64_MAX)
		d->idle_check_ns = now + opts->idle_ms * MS / 4;
	if (opts->poll_ms)
		d->poll_ns = after(now, opts->poll_ms);
	r = mr_loop_add(loop, &d->source, fd, EPOLLIN, on_timer, d, err);
	if (r < 0) {
		mr_close(fd);
		return r;
	}
	arm(d);
	return 0;
}

void mr_deadlines_activity(struct mr_deadlines *d)
{
	d->active_ns = mr_now_ns();
}

void mr_deadlines_shift(struct mr_deadlines *d, uint64_t ns)
{
	if (d->source.fd < 0)
		return;
	if (d->wall_at_ns != NEVER)
		d->wall_at_ns += ns;
	d->active_ns += ns;
	arm(d);
}

void mr_deadlines_stop(struct mr_deadlines *d)
{
	int fd = d->source.fd;

	if (!d->loop || fd < 0)
		return;
	mr_loop_remove(d->loop, &d->source);
	mr_close(fd);
}
