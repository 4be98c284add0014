/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure modes cpu, memory and timeout
 *
 * cpu: time is cut into stretches; at the begin of each it is drawn whether the control group's
 * share is a tenth in it.  What it tells of is how long the payload then waited, as the kernel
 * counts it.
 *
 * memory: drawn once, before the first instruction, when next to nothing is in use: later, a limit
 * under what is used would be refused by one kernel and kill by another.
 *
 * timeout: at a time that is drawn, it is drawn whether the tree is killed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/state.h"

#define STRETCH_NS 500000000ULL
#define CPU_PART 10
#define CPU_ONE_US 100000 /* of the same: one CPU */
#define MEMORY_PART 4
#define EARLIEST_PART 20 /* of failure.timeout_ms */

struct clock {
	struct mr_source timer;
	uint64_t due_ns;
	uint64_t after_ns; /* timeout: from the first instruction on */
};

static int start_clock(struct mr_run *run, struct clock *clock, uint64_t due_ns,
		       void (*on_due)(struct mr_source *, uint32_t), struct mr_error *err)
{
	int timer = mr_timer_open(err), r;

	clock->timer.fd = -1;
	clock->due_ns = due_ns;
	if (timer < 0)
		return timer;
	r = mr_loop_add(run->host->loop, &clock->timer, timer, EPOLLIN, on_due, run, err);
	if (r < 0) {
		mr_close(timer);
		return r;
	}
	return mr_timer_arm(timer, due_ns, err);
}

static void stop_clock(struct mr_run *run, struct clock *clock)
{
	const int fd = clock->timer.fd;

	if (fd < 0)
		return;
	mr_loop_remove(run->host->loop, &clock->timer);
	mr_close(fd);
}

static void free_state(struct mr_run *run, struct mr_failure *f)
{
	struct clock *clock = f->state; /* the first member of each */

	stop_clock(run, clock);
	free(f->state);
}

/* --- cpu ---------------------------------------------------------------------------------- */

struct cpu {
	struct clock clock;
	bool scarce; /* now */
	uint64_t quota_us, normal_us, period_us; /* the first as the kernel shows it; of period */
	uint64_t waited_us; /* in all, when the stretch began */
};

static uint64_t waited_us(const struct mr_run *run)
{
	struct mr_cgroup_stats stats;
	struct mr_error err;

	return mr_cgroup_stats(run->cgroup, &stats, &err) == 0 &&
			       stats.cpu_throttled_us != MR_STAT_UNKNOWN
		       ? stats.cpu_throttled_us
		       : 0;
}

static uint64_t shown(const struct mr_run *run, const char *key)
{
	struct mr_cgroup_shown rows[8];
	struct mr_error err;
	size_t n = 0;

	if (mr_cgroup_show_limits(run->cgroup, rows, N_ELEMENTS(rows), &n, &err) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].key, key) == 0)
			return rows[i].value;
	return 0;
}

static int set_share(struct mr_run *run, uint64_t quota_us, struct mr_error *err)
{
	const struct mr_limits limits = { .memory_max = MR_UNLIMITED,
					  .swap_max = MR_UNLIMITED,
					  .pids_max = MR_UNLIMITED,
					  .cpu_quota_us = quota_us,
					  .cpu_period_us = CPU_ONE_US };

	return mr_cgroup_change(run->cgroup, &limits, err);
}

static int begin_stretch(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct cpu *cpu = f->state;
	const bool scarce = mr_failure_fires(run, f);
	const uint64_t waited = waited_us(run);
	const uint64_t few = cpu->normal_us < CPU_ONE_US ? cpu->normal_us : CPU_ONE_US;
	int r = 0;

	if (cpu->scarce)
		f->amount += (waited - cpu->waited_us) * 1000;
	cpu->waited_us = waited;
	if (scarce == cpu->scarce)
		return 0;
	r = set_share(run,
		      !scarce				       ? cpu->normal_us
		      : run->spec->limits_cpus == MR_UNLIMITED ? few / CPU_PART
							       : cpu->normal_us / CPU_PART,
		      err);
	if (r < 0)
		return r;
	cpu->scarce = scarce;
	if (scarce) {
		cpu->quota_us = shown(run, "cpu_quota_us");
		cpu->period_us = shown(run, "cpu_period_us");
	}
	return 0;
}

static void on_stretch(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;
	struct mr_failure *f = mr_failures_find(run, MR_FAILURE_cpu);
	struct cpu *cpu = f->state;
	struct mr_error err = MR_ERROR_INIT;
	int r;

	(void)events;
	mr_timer_ack(source->fd);
	r = begin_stretch(run, f, &err);
	cpu->clock.due_ns += STRETCH_NS;
	if (r == 0)
		r = mr_timer_arm(source->fd, cpu->clock.due_ns, &err);
	if (r == 0)
		return;
	mr_err_wrap(&err, r, "failure mode cpu");
	mr_run_fail(run, &err);
}

static int start_cpu(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct cpu *cpu = mr_str_alloc(sizeof(*cpu));
	int r;

	f->state = cpu;
	cpu->clock.timer.fd = -1;
	cpu->normal_us = mr_run_limits(run).cpu_quota_us;
	if (cpu->normal_us == MR_UNLIMITED) /* make_cgroup() gave it all there are */
		cpu->normal_us = shown(run, "cpu_quota_us");
	r = begin_stretch(run, f, err);
	return r < 0 ? r : start_clock(run, &cpu->clock, run->go_ns + STRETCH_NS, on_stretch, err);
}

static void stop_cpu(struct mr_run *run, struct mr_failure *f)
{
	struct cpu *cpu = f->state;

	if (cpu->clock.timer.fd < 0)
		return;
	stop_clock(run, &cpu->clock);
	if (cpu->scarce)
		f->amount += (waited_us(run) - cpu->waited_us) * 1000;
}

static void tell_cpu(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct cpu *cpu = f->state;

	(void)run;
	json_object_set_new(object, "cpus",
			    cpu->period_us
				    ? json_real((double)cpu->quota_us / (double)cpu->period_us)
				    : json_null());
}

const struct mr_injector mr_inject_cpu = {
	.mode = MR_FAILURE_cpu,
	.unit = "ns",
	.start = start_cpu,
	.stop = stop_cpu,
	.tell = tell_cpu,
	.free = free_state,
};

/* --- memory ------------------------------------------------------------------------------- */

struct memory {
	struct clock clock; /* unused */
	uint64_t limit; /* as the kernel shows it; 0: as ever */
};

static int start_memory(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct memory *memory = mr_str_alloc(sizeof(*memory));
	struct mr_limits limits = mr_run_limits(run);
	const uint64_t normal = limits.memory_max;
	int r;

	f->state = memory;
	memory->clock.timer.fd = -1;
	if (!mr_failure_fires(run, f))
		return 0;
	limits.memory_max = normal / MEMORY_PART > MR_FAILURE_MEMORY_MIN ? normal / MEMORY_PART
									 : MR_FAILURE_MEMORY_MIN;
	limits.pids_max = limits.cpu_quota_us = MR_UNLIMITED;
	r = mr_cgroup_change(run->cgroup, &limits, err);
	if (r < 0)
		return r;
	memory->limit = shown(run, "memory_max_bytes");
	if (memory->limit > limits.memory_max)
		return mr_err(err, MR_E_KERNEL, EINVAL,
			      "the kernel shows a limit of %ju bytes in place of %ju",
			      (uintmax_t)memory->limit, (uintmax_t)limits.memory_max);
	f->amount = normal - memory->limit;
	return 0;
}

static void tell_memory(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct memory *memory = f->state;
	const uint64_t hits = run->has_stats ? run->stats.memory_max_events : MR_STAT_UNKNOWN;

	json_object_set_new(object, "limit_bytes",
			    memory->limit ? json_integer((json_int_t)memory->limit) : json_null());
	json_object_set_new(object, "limit_hits",
			    hits == MR_STAT_UNKNOWN ? json_null() : json_integer((json_int_t)hits));
}

const struct mr_injector mr_inject_memory = {
	.mode = MR_FAILURE_memory,
	.unit = "bytes",
	.start = start_memory,
	.tell = tell_memory,
	.free = free_state,
};

/* --- timeout ------------------------------------------------------------------------------ */

static void on_timeout(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;
	struct mr_failure *f = mr_failures_find(run, MR_FAILURE_timeout);

	(void)events;
	mr_timer_ack(source->fd);
	if (run->state == MR_RUN_RUNNING && mr_failure_fires(run, f))
		mr_run_kill_for(run, MR_KILL_INJECTED);
}

static int start_timeout(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct clock *clock = mr_str_alloc(sizeof(*clock));
	const uint64_t latest_us = run->spec->failure_timeout_ms * 1000;
	const uint64_t earliest_us = latest_us / EARLIEST_PART;

	f->state = clock;
	clock->after_ns =
		(earliest_us + mr_rand_below(&f->rand, latest_us - earliest_us + 1)) * 1000;
	return start_clock(run, clock, run->go_ns + clock->after_ns, on_timeout, err);
}

static void stop_timeout(struct mr_run *run, struct mr_failure *f)
{
	stop_clock(run, f->state);
}

static void tell_timeout(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct clock *clock = f->state;

	json_object_set_new(object, "at_ns", json_integer((json_int_t)clock->after_ns));
	if (run->facts.kill == MR_KILL_INJECTED)
		json_object_set_new(object, "mark", json_string("injected_timeout"));
}

const struct mr_injector mr_inject_timeout = {
	.mode = MR_FAILURE_timeout,
	.start = start_timeout,
	.stop = stop_timeout,
	.tell = tell_timeout,
	.free = free_state,
};
