/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run: tear-down
 *
 * Three tables.  ending[] kills, so that nothing of the payload lives on; finish[] collects the facts
 * while the control group still exists; undo[] gives back what the run has, the lease after all that a
 * sweep would remove by it.  Each row takes a run that stopped anywhere in its set-up, and nothing that
 * a row meets keeps the later ones from their part.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "netns/pool.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/die_at.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"
#include "runtime/supervise/trail.h"

struct end_step {
	const char *name;
	void (*run)(struct mr_run *run);
};

/* --- ending ------------------------------------------------------------------------ */

static void let_nobody_wait(struct mr_run *run)
{
	mr_ready_stop(&run->ready);
}

static void count_leftovers(struct mr_run *run)
{
	if (run->facts.main_ended)
		mr_result_count_leftovers(run);
}

static void stop_deadlines(struct mr_run *run)
{
	mr_deadlines_stop(&run->deadlines);
}

static void kill_group(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	if (run->cgroup && mr_cgroup_kill(run->cgroup, &err) < 0)
		mr_log_warn("run %s: kill the control group: %s", run->id, err.msg);
}

static void kill_init(struct mr_run *run)
{
	if (!run->init_gone && mr_pidfd_send_signal(run->launched.pidfd, SIGKILL) < 0 &&
	    errno != ESRCH)
		mr_log_warn("run %s: kill the sandbox's init: %m", run->id);
}

static void stop_input(struct mr_run *run)
{
	mr_pump_in_stop(&run->in);
}

static uint64_t drain_ns(const struct mr_run *run)
{
	return run->spec->limits_drain_ms * 1000000 + 1; /* 0 would disarm */
}

static void begin_drain(struct mr_run *run)
{
	struct mr_error err;

	if (mr_timer_arm(run->drain.fd, run->end_ns + drain_ns(run), &err) < 0)
		mr_end_streams(run);
}

static const struct end_step ending[] = {
	{ "ready", let_nobody_wait },
	{ "failures", mr_failures_stop }, /* what it has in the group is none of the payload's */
	{ "leftovers", count_leftovers },
	{ "deadlines", stop_deadlines },
	{ "group", kill_group },
	/* Init's death ends the pid namespace: with a group it only makes sure, without it is the way. */
	{ "init", kill_init },
	{ "input", stop_input },
	{ "drain", begin_drain },
};
MR_DIE_TABLE(ending, ending[0], N_ELEMENTS(ending));

void mr_end_begin(struct mr_run *run)
{
	run->end_ns = mr_now_ns();
	for (size_t i = 0; i < N_ELEMENTS(ending); i++) {
		MR_DIE_AT(ending, ending[i].name);
		ending[i].run(run);
	}
}

void mr_end_hurry(struct mr_run *run)
{
	struct mr_error err;

	run->give_up = true;
	if (mr_timer_arm(run->drain.fd, mr_now_ns() + drain_ns(run), &err) < 0)
		mr_log_warn("run %s: %s", run->id, err.msg);
}

/* Of a run that was killed the reader has READER_STALL to take something, and again after each byte.
 * One that ended by itself has its time limit for the end of its output as well, as if it waited for
 * the reader in write(2). */
static void watch_reader(struct mr_run *run)
{
	const uint64_t wall = run->facts.kill == MR_KILL_NONE ? run->deadlines.wall_at_ns : 0;
	uint64_t at = mr_now_ns() + MR_PATIENCE_NS(READER_STALL);
	struct mr_error err;

	if (run->give_up || (mr_pump_out_done(&run->out) && mr_pump_out_done(&run->err)))
		return;
	run->cut = true;
	run->cut_passed = run->out.passed + run->err.passed;
	if (wall == UINT64_MAX)
		return;
	if (mr_timer_arm(run->drain.fd, at > wall ? at : wall, &err) < 0)
		mr_log_warn("run %s: %s", run->id, err.msg);
}

void mr_end_streams(struct mr_run *run)
{
	struct mr_pump_out *pumps[] = { &run->out, &run->err };

	for (int i = 0; i < 2; i++) {
		if (run->give_up)
			mr_pump_out_drop(pumps[i]);
		else
			mr_pump_out_cut(pumps[i]);
	}
	watch_reader(run);
}

void mr_end_late(struct mr_run *run)
{
	if (run->cut && !run->give_up && run->out.passed + run->err.passed == run->cut_passed) {
		run->give_up = true;
		/* It ended by itself, but what it wrote was not taken in the time that it had. */
		if (run->facts.kill == MR_KILL_NONE)
			run->facts.kill = MR_KILL_WALL;
	}
	mr_end_streams(run);
}

/* --- the facts -------------------------------------------------------------------- */

static void stop_streams(struct mr_run *run)
{
	mr_pump_in_stop(&run->in);
	mr_pump_out_stop(&run->out);
	mr_pump_out_stop(&run->err);
}

static void stop_notify(struct mr_run *run)
{
	mr_notify_stop(&run->notify);
}

static void leave_loop(struct mr_run *run)
{
	struct mr_source *const sources[] = { &run->drain, &run->sync, &run->init, &run->empty,
					      &run->oom };
	const int drain = run->drain.fd; /* the other descriptors belong to launched and cgroup */

	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		mr_loop_remove(run->host->loop, sources[i]);
	mr_close(drain);
}

static void finish_telemetry(struct mr_run *run)
{
	mr_telemetry_finish(&run->telemetry);
}

static void judge(struct mr_run *run)
{
	run->verdict = mr_verdict_reach(&run->facts);
	if (run->verdict.reason == MR_REASON_supervisor_lost) {
		mr_err(&run->error, MR_E_SYS, ESRCH,
		       "the sandbox's init was killed, not by menace-run: the program went with "
		       "it, "
		       "and how it would have ended is not known");
		mr_log_error("run %s: %s", run->id, run->error.msg);
	}
	if (run->verdict.exit_status != 0 && run->telemetry.trail)
		mr_trail_keep_last(run->telemetry.trail);
}

static const struct end_step finish[] = {
	{ "deadlines", stop_deadlines },  { "notify", stop_notify },
	{ "streams", stop_streams },	  { "loop", leave_loop },
	{ "network", mr_network_finish }, { "telemetry", finish_telemetry },
	{ "collect", mr_result_collect }, { "verdict", judge },
	{ "followers", mr_follow_end },
};
MR_DIE_TABLE(finish, finish[0], N_ELEMENTS(finish));

void mr_end_finish(struct mr_run *run)
{
	struct mr_clock_reading now;

	run->done_ns = mr_now_ns();
	mr_clock_read(&now);
	run->clock_skew_ns = mr_clock_skew_ns(&run->clock, &now);
	if (!run->end_ns)
		run->end_ns = run->done_ns;
	for (size_t i = 0; i < N_ELEMENTS(finish); i++) {
		MR_DIE_AT(finish, finish[i].name);
		finish[i].run(run);
	}
}

/* --- all that it has ------------------------------------------------------------------ */

static void close_descriptors(struct mr_run *run)
{
	int *const fds[] = { &run->root_fd, &run->pool_fd, &run->upper_fd, &run->lower_fd,
			     &run->pty_fd,  &run->feed_fd, &run->keep_fd };

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		*fds[i] = mr_close(*fds[i]);
}

static void free_launched(struct mr_run *run)
{
	mr_launched_deinit(&run->launched);
}

static void give_netns(struct mr_run *run)
{
	if (run->netns_fd >= 0)
		mr_netns_pool_give(run->host->netns, run->netns_fd);
	run->netns_fd = -1;
}

/* What stays is found by the lease. */
static void note_left(struct mr_run *run, int r, const struct mr_error *err)
{
	run->has_left |= r < 0;
	if (r < 0)
		mr_log_warn("run %s: %s; the next start will remove it", run->id, err->msg);
}

static void remove_network_group(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	note_left(run, mr_network_remove_group(run, &err), &err);
}

static void remove_relay_group(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	note_left(run, mr_relay_remove_group(run, &err), &err);
}

static void remove_group(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	note_left(run, run->cgroup ? mr_cgroup_destroy(run->cgroup, &err) : 0, &err);
	run->cgroup = mr_cgroup_free(run->cgroup);
}

static void release_lease(struct mr_run *run)
{
	if (!run->has_left)
		run->lease_fd = mr_lease_release(run->host->lease_dir, run->id, run->lease_fd);
	run->lease_fd = mr_close(run->lease_fd);
}

static void free_records(struct mr_run *run)
{
	mr_capture_deinit(&run->out.capture);
	mr_capture_deinit(&run->err.capture);
	mr_denials_deinit(&run->denials);
	mr_telemetry_deinit(&run->telemetry);
	mr_changes_deinit(&run->changes);
	mr_keep_deinit(&run->kept);
}

static const struct end_step undo[] = {
	{ "descriptors", close_descriptors },
	{ "tmpfs", mr_result_drop_tmpfs },
	{ "shaping", mr_shaping_end },
	{ "failures", mr_failures_free },
	{ "faults", mr_faults_free },
	{ "process", free_launched },
	{ "netns", give_netns },
	{ "network_group", remove_network_group },
	{ "relay_group", remove_relay_group },
	{ "group", remove_group },
	{ "lease", release_lease }, /* after all that a sweep would remove by it */
	{ "records", free_records },
	{ "policy", mr_narrowing_end },
	{ "network", mr_network_free },
	{ "relay", mr_relay_free },
};
MR_DIE_TABLE(undo, undo[0], N_ELEMENTS(undo));

struct mr_run *mr_end_undo(struct mr_run *run)
{
	for (size_t i = 0; i < N_ELEMENTS(undo); i++) {
		MR_DIE_AT(undo, undo[i].name);
		undo[i].run(run);
	}
	free(run);
	return NULL;
}
