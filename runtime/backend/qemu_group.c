/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group
 */
#include "runtime/backend/qemu_group.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/rand.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/lease.h"

#define CPUS_MAX 8
#define PIDS_MAX 256 /* threads of all */

unsigned int mr_machine_cpus(const struct mr_spec *spec)
{
	unsigned int n = (unsigned int)get_nprocs();

	if (spec->limits_cpus != MR_UNLIMITED && (spec->limits_cpus + 999) / 1000 < n)
		n = (unsigned int)((spec->limits_cpus + 999) / 1000);
	return n < CPUS_MAX ? n : CPUS_MAX;
}

int mr_machine_group_make(struct mr_machine_group *group, const char *run_id, uint64_t memory_bytes,
			  uint64_t cpu_quota_us, struct mr_error *err)
{
	const struct mr_lease_note note = { .program = "menace-qemu", .begin_ns = mr_now_ns() };
	const struct mr_limits limits = {
		.memory_max = memory_bytes,
		.swap_max = MR_UNLIMITED,
		.pids_max = PIDS_MAX,
		.cpu_quota_us = cpu_quota_us,
		.cpu_period_us = MR_GROUP_PERIOD_US,
	};
	int r = mr_cgroup_detect(&group->groups, err);

	group->run_id = run_id;
	if (r < 0 || mr_cgroup_host_mode(group->groups) == MR_CGROUP_NONE)
		return r;
	r = group->lease_dir = mr_lease_open_dir(err);
	if (r >= 0)
		r = group->lease =
			mr_lease_take(group->lease_dir, run_id, group->groups, &note, err);
	return r < 0 ? r : mr_cgroup_new(group->groups, run_id, &limits, 0, &group->group, err);
}

void mr_machine_group_drop(struct mr_machine_group *group)
{
	struct mr_error err = MR_ERROR_INIT;

	if (group->group &&
	    mr_cgroup_sweep(group->groups, group->run_id, MR_PATIENCE_MS(QEMU_SWEEP), &err) < 0)
		mr_log_warn("control group of the machine: %s", err.msg);
	group->group = mr_cgroup_free(group->group);
	if (group->lease >= 0)
		group->lease = mr_lease_release(group->lease_dir, group->run_id, group->lease);
	group->lease_dir = mr_close(group->lease_dir);
	group->groups = mr_cgroup_host_free(group->groups);
}

/* Whoever is made in a group needs not be moved there: that waits for all processors to have passed through
 * the scheduler, 10 ms and more on a quiet host. */
int mr_machine_fork(const struct mr_cgroup *group, pid_t *ret, struct mr_error *err)
{
	struct mr_clone_args args = { .exit_signal = SIGCHLD };
	bool is_in = group != NULL;
	long pid;

	if (group) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)mr_cgroup_v2_fd(group);
	}
	pid = group ? mr_clone3(&args) : fork();
	if (pid < 0 && group) { /* some containers do not have that call */
		is_in = false;
		pid = fork();
	}
	if (pid < 0)
		return mr_err(err, MR_E_SYS, errno, "fork: %m");
	*ret = (pid_t)pid;
	if (pid > 0 || !group)
		return 0;
	return is_in ? mr_cgroup_enter_v1(group, err) : mr_cgroup_add(group, getpid(), err);
}

/* What is not for a payload that there is not yet. */
static bool asks_for_end(int signals_fd, int *ret_signal)
{
	struct signalfd_siginfo info;

	while (read(signals_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2)
			continue;
		*ret_signal = (int)info.ssi_signo;
		return true;
	}
	return false;
}

bool mr_machine_pause(unsigned int attempts, int report_fd, int signals_fd, uint64_t until_ns,
		      int *ret_signal)
{
	struct pollfd pfds[] = { { report_fd, 0, 0 }, { signals_fd, POLLIN, 0 } };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_rand rand;
	uint64_t seed = 0;
	int ms;

	if (attempts >= MR_GROUP_ATTEMPTS || mr_rand_fresh_seed(&seed, &err) < 0)
		return false;
	mr_rand_init(&rand, seed);
	ms = (int)mr_rand_below(&rand, (MR_PATIENCE_MS(QEMU_PAUSE) << (attempts - 1)) + 1);
	if (mr_now_ns() + (uint64_t)ms * 1000000 >= until_ns)
		return false;
	if (poll(pfds, N_ELEMENTS(pfds), ms) <= 0)
		return true;
	return !pfds[0].revents && !asks_for_end(signals_fd, ret_signal);
}
