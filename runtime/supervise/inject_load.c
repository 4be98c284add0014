/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure modes cpu_spike and concurrency_spike
 *
 * A second is an occasion.  cpu_spike: processes of ours in a control group beside the payload's,
 * each kept to one CPU, are busy for the first 200 ms of it; the group is swept with the run's,
 * should the supervisor be killed.  concurrency_spike: a process of ours in the payload's own
 * control group, outside of its namespaces, starts as many threads and processes as are asked for,
 * or as pids.max allows; they do nothing, and are over soon.  A burst that comes late, since others had the
 * processor, waits for the one before: two at once would be more than was asked for.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/helper.h"
#include "runtime/supervise/state.h"

static void bump(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* --- cpu_spike -------------------------------------------------------------------------------- */

#define PROCESSES_MAX 4
#define BUSY_NS 200000000ULL
#define LOAD_MEMORY (16ULL << 20)

/* Written by the processes, each its own. */
struct tally {
	uint64_t seconds, busy, cpu_ns;
};

struct board {
	struct mr_seconds seconds;
	uint64_t begin_ns;
	struct tally tallies[PROCESSES_MAX];
};

struct load {
	struct mr_cgroup *group;
	bool has_group; /* it is still there */
	struct board *board;
	struct mr_helper helpers[PROCESSES_MAX];
	size_t n;
};

/* What a process is given; those before it have read theirs, or have a copy. */
struct share {
	struct board *board;
	size_t i;
};

/* The n-th CPU that we may run on. */
static void keep_to_cpu(size_t n)
{
	cpu_set_t allowed, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || n-- > 0)
			continue;
		CPU_SET(cpu, &one);
		/* Not kept to one, it is as busy. */
		(void)sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void burn(struct tally *tally, uint64_t until_ns)
{
	while (mr_now_ns() < until_ns)
		__atomic_store_n(&tally->cpu_ns, mr_clock_ns(MR_CLOCK_PROCESS_CPU),
				 __ATOMIC_RELAXED);
}

static void make_load(void *arg, int fd)
{
	const struct share *share = arg;
	struct board *board = share->board;
	struct tally *tally = &board->tallies[share->i];

	keep_to_cpu(share->i);
	for (uint64_t second = 0;; second++) {
		const uint64_t at = board->begin_ns + second * MR_SECOND_NS;

		if (mr_helper_wait(fd, at))
			return;
		bump(&tally->seconds, 1);
		if (!mr_seconds_fire(&board->seconds, second))
			continue;
		bump(&tally->busy, 1);
		burn(tally, at + BUSY_NS);
	}
}

static size_t count_cpus(void)
{
	cpu_set_t allowed;
	int n = sched_getaffinity(0, sizeof(allowed), &allowed) < 0 ? 1 : CPU_COUNT(&allowed);

	return n < 1 ? 1 : n > PROCESSES_MAX ? PROCESSES_MAX : (size_t)n;
}

static int start_load(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	const struct mr_limits limits = { .memory_max = LOAD_MEMORY,
					  .swap_max = MR_UNLIMITED,
					  .pids_max = PROCESSES_MAX,
					  .cpu_quota_us = MR_UNLIMITED };
	struct load *load = mr_str_alloc(sizeof(*load));
	const size_t n = count_cpus();
	char name[MR_LEASE_SPIKE_SIZE];
	int r;

	f->state = load;
	load->board = mr_helper_share(sizeof(*load->board), err);
	if (!load->board)
		return -ENOMEM;
	load->board->begin_ns = run->go_ns;
	mr_seconds_draw(&load->board->seconds, &f->rand,
			(unsigned int)run->spec->failure_intensity);
	mr_lease_spike_name(run->id, name);
	r = mr_cgroup_new(run->host->cgroups, name, &limits, 0, &load->group, err);
	load->has_group = r == 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct share share = { load->board, i };

		r = mr_helper_start(&load->helpers[load->n++], load->group, "menace-load",
				    make_load, &share, err);
	}
	return r;
}

static void stop_load(struct mr_run *run, struct mr_failure *f)
{
	struct load *load = f->state;
	struct mr_error err;

	if (!load->has_group)
		return;
	/* All at once: each may be busy for a while. */
	if (mr_cgroup_kill(load->group, &err) < 0)
		mr_log_warn("run %s: %s", run->id, err.msg);
	for (size_t i = 0; i < load->n; i++)
		mr_helper_stop(&load->helpers[i]);
	f->opportunities = load->board->tallies[0].seconds;
	f->fired = load->board->tallies[0].busy;
	for (size_t i = 0; i < load->n; i++)
		f->amount += load->board->tallies[i].cpu_ns;
	load->has_group = false;
	if (mr_cgroup_destroy(load->group, &err) < 0)
		mr_log_warn("run %s: %s; the next start will remove it", run->id, err.msg);
}

static void tell_load(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct load *load = f->state;

	(void)run;
	json_object_set_new(object, "processes", json_integer((json_int_t)load->n));
}

static void free_load(struct mr_run *run, struct mr_failure *f)
{
	struct load *load = f->state;

	stop_load(run, f);
	mr_cgroup_free(load->group);
	if (load->board)
		munmap(load->board, sizeof(*load->board));
	free(load);
}

const struct mr_injector mr_inject_cpu_spike = {
	.mode = MR_FAILURE_cpu_spike,
	.unit = "ns",
	.start = start_load,
	.stop = stop_load,
	.tell = tell_load,
	.free = free_load,
};

/* --- concurrency_spike ------------------------------------------------------------------------ */

#define THREAD_LIFE_NS 50000000ULL
#define TASK_LIFE_NS 10000000ULL
#define STACK 4096

struct burst {
	struct mr_seconds seconds;
	uint64_t begin_ns, threads, tasks; /* asked for */
	uint64_t begun, fired, started, refused; /* seconds, and tasks of both kinds */
};

struct crowd {
	struct burst *burst;
	struct mr_helper helper;
};

static int live_and_die(void *arg)
{
	const uint64_t life_ns = (uint64_t)(uintptr_t)arg;
	const struct timespec life = { .tv_nsec = (long)life_ns };

	/* Shares its maker's memory and errno, which nobody looks at. */
	syscall(SYS_nanosleep, &life, NULL);
	syscall(SYS_exit, 0);
	return 0;
}

/* At the low end of a stack: not 0 while its thread is there, by the kernel. */
static pid_t *thread_at(char *stacks, uint64_t i)
{
	return (pid_t *)(void *)(stacks + i * STACK);
}

/* How many of n were started. */
static uint64_t start_tasks(struct burst *burst, char *stacks, uint64_t n, int flags,
			    uint64_t life_ns)
{
	uint64_t started = 0;

	for (uint64_t i = 0; i < n; i++) {
		char *top = stacks + (i + 1) * STACK;
		pid_t *tid = thread_at(stacks, i);

		if (clone(live_and_die, top, CLONE_VM | CLONE_FS | CLONE_FILES | flags,
			  (void *)(uintptr_t)life_ns, tid, NULL, tid) > 0)
			started++;
		else
			bump(&burst->refused, 1);
	}
	bump(&burst->started, started);
	return started;
}

static void wait_for_tasks(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void wait_for_threads(char *stacks, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		pid_t *tid = thread_at(stacks, i);
		pid_t there;

		while ((there = __atomic_load_n(tid, __ATOMIC_ACQUIRE)))
			syscall(SYS_futex, tid, FUTEX_WAIT, there, NULL, NULL, 0);
	}
}

static void make_bursts(void *arg, int fd)
{
	struct burst *burst = arg;
	const size_t size = (size_t)(burst->threads + burst->tasks) * STACK;
	char *stacks = mmap(NULL, size ? size : STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stacks == MAP_FAILED)
		return;
	for (uint64_t second = 0;; second++) {
		const uint64_t at = burst->begin_ns + second * MR_SECOND_NS;

		if (mr_helper_wait(fd, at))
			return;
		bump(&burst->begun, 1);
		if (!mr_seconds_fire(&burst->seconds, second))
			continue;
		bump(&burst->fired, 1);
		start_tasks(burst, stacks, burst->threads,
			    CLONE_SIGHAND | CLONE_THREAD | CLONE_PARENT_SETTID |
				    CLONE_CHILD_CLEARTID,
			    THREAD_LIFE_NS);
		start_tasks(burst, stacks + burst->threads * STACK, burst->tasks, SIGCHLD,
			    TASK_LIFE_NS);
		wait_for_tasks();
		wait_for_threads(stacks, burst->threads);
	}
}

static int start_crowd(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct crowd *crowd = mr_str_alloc(sizeof(*crowd));
	struct burst *burst = mr_helper_share(sizeof(*burst), err);

	f->state = crowd;
	crowd->burst = burst;
	if (!burst)
		return -ENOMEM;
	burst->begin_ns = run->go_ns;
	burst->threads = run->spec->failure_thread_burst;
	burst->tasks = run->spec->failure_task_burst;
	mr_seconds_draw(&burst->seconds, &f->rand, (unsigned int)run->spec->failure_intensity);
	return mr_helper_start(&crowd->helper, run->cgroup, "menace-burst", make_bursts, burst,
			       err);
}

static void stop_crowd(struct mr_run *run, struct mr_failure *f)
{
	struct crowd *crowd = f->state;
	const struct burst *burst = crowd->burst;

	(void)run;
	if (!crowd->helper.pid)
		return;
	mr_helper_stop(&crowd->helper);
	f->opportunities = burst->begun;
	f->fired = burst->fired;
}

/* What it was refused was not the payload's to fail of. */
static void count_crowd(struct mr_run *run, struct mr_failure *f)
{
	const struct crowd *crowd = f->state;
	const uint64_t refused = crowd->burst->refused;

	run->facts.pids_max_events -=
		run->facts.pids_max_events < refused ? run->facts.pids_max_events : refused;
}

static void tell_crowd(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct crowd *crowd = f->state;

	(void)run;
	json_object_set_new(object, "tasks", json_integer((json_int_t)crowd->burst->started));
	json_object_set_new(object, "EAGAIN", json_integer((json_int_t)crowd->burst->refused));
}

static void free_crowd(struct mr_run *run, struct mr_failure *f)
{
	struct crowd *crowd = f->state;

	stop_crowd(run, f);
	if (crowd->burst)
		munmap(crowd->burst, sizeof(*crowd->burst));
	free(crowd);
}

const struct mr_injector mr_inject_concurrency_spike = {
	.mode = MR_FAILURE_concurrency_spike,
	.start = start_crowd,
	.stop = stop_crowd,
	.count = count_crowd,
	.tell = tell_crowd,
	.free = free_crowd,
};
