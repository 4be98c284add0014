/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a run, shared by run.c (its life) and result.c (its report)
 */
#pragma once

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "cgroups/cgroup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/sync.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/changes.h"
#include "runtime/supervise/deadline.h"
#include "runtime/supervise/denials.h"
#include "runtime/supervise/failures.h"
#include "runtime/supervise/faults.h"
#include "runtime/supervise/follow.h"
#include "runtime/supervise/keep.h"
#include "runtime/supervise/lease.h"
#include "runtime/supervise/notify.h"
#include "runtime/supervise/procs.h"
#include "runtime/supervise/pump.h"
#include "runtime/supervise/ready.h"
#include "runtime/supervise/receipt.h"
#include "runtime/supervise/recorder.h"
#include "runtime/supervise/relay.h"
#include "runtime/supervise/run.h"
#include "runtime/supervise/shaping.h"
#include "runtime/supervise/telemetry.h"
#include "runtime/supervise/verdict.h"

struct mr_datagrams;
struct mr_network;

enum mr_run_state { MR_RUN_SETTING_UP, MR_RUN_HELD, MR_RUN_RUNNING, MR_RUN_ENDING, MR_RUN_DONE };

struct mr_run {
	struct mr_run_host *host;
	struct mr_run_opts opts;
	const struct mr_spec
		*spec; /* what is enforced: opts.spec, or narrowed where it has a policy */
	struct mr_spec narrowed;
	char id[MR_RUN_ID_SIZE];
	enum mr_run_state state;

	int lease_fd;
	struct mr_cgroup *cgroup;
	struct mr_launched launched;
	int netns_fd; /* from the pool, or -1 */
	uint64_t root_made_ns; /* of the oldest of what is in a root that others have, too */
	pid_t payload_pid;
	int root_fd, pool_fd, upper_fd, lower_fd, pty_fd;
	int keep_fd; /* of the folder for what changed, held from before the start; or -1 */
	int feed_fd; /* writing end of its input until it is fed, or -1 */
	int *tmpfs_fds; /* the places of --tmpfs DEST:SIZE */
	size_t n_tmpfs;

	struct mr_source sync, init, empty, oom;
	/* timer: end of the drain; before it, end of the grace time or the next look for a victim */
	struct mr_source drain;
	struct mr_ready ready; /* while it is held */
	struct mr_deadlines deadlines;
	struct mr_pump_out out, err;
	struct mr_pump_in in;
	struct mr_notify notify;
	struct mr_denials denials;
	struct mr_recorder recorder; /* with sandbox.record_access */
	struct mr_telemetry telemetry;
	struct mr_follow *follow; /* NULL: nobody follows it */
	struct mr_datagrams *datagrams; /* NULL: it has made no internet socket that is looked at */
	struct mr_network *network; /* NULL: nobody answers for it */
	struct mr_procs procs; /* polled usage, without a control group */

	bool init_gone, group_empty;
	bool cut; /* only what was in the pipes at the end of the drain is still passed on */
	uint64_t cut_passed; /* bytes that readers had taken at the last look */
	uint64_t
		may_pass; /* bytes of both streams that may still go to readers: limits.output_bytes */
	bool give_up; /* interrupted while only output was left: what nobody reads is dropped */
	unsigned int interrupts, oom_looks;
	uint64_t out_bytes;

	/* facts for the result */
	struct mr_facts facts;
	struct mr_verdict verdict;
	struct mr_error error;
	struct mr_receipt receipt;
	struct mr_sync_msg built;
	struct mr_shaping shaping;
	struct mr_relay relay; /* of engine tun */
	struct mr_failures failures;
	struct mr_faults faults;
	struct rusage rusage; /* all processes waited for */
	bool has_rusage;
	bool has_left; /* a control group could not be removed: the lease stays, for a sweep */
	struct mr_cgroup_stats stats;
	bool has_stats;
	struct statvfs pool;
	bool has_pool;
	unsigned int leftover_killed;
	bool has_leftovers; /* they were counted: the main process ended, in a group */
	int unreaped; /* if the main process ended; -1: more than MR_SYNC_UNREAPED_MAX */
	struct mr_clock_reading clock; /* at the start */
	int64_t clock_skew_ns; /* from then to the end */
	uint64_t start_real_ns, begin_ns, cgroup_ns, ready_ns, go_ns, end_ns, done_ns;
	struct mr_changes changes;
	bool has_changes;
	struct mr_kept kept;
	bool has_kept;
	struct mr_error changes_error;
	bool collected;
};

/* result.c: open the directory for changes, which must be empty, while no payload can turn the way
 * to it. */
int mr_result_open_keep(struct mr_run *run, struct mr_error *err);
/* result.c: what the workspace cannot do on this kernel; NULL: nothing. */
const char *mr_result_workspace_note(const struct mr_run *run);
/* result.c: hold the places with a size of their own; before the payload starts. */
int mr_result_hold_tmpfs(struct mr_run *run, struct mr_error *err);
void mr_result_drop_tmpfs(struct mr_run *run);
/* result.c: the main process has ended; who of the group is left is about to be killed. */
void mr_result_count_leftovers(struct mr_run *run);
/* result.c: read what only lives until the group goes, and what takes no time. */
void mr_result_collect(struct mr_run *run);

/* streams.c.  The payload's end of its input (-1: none), our end that feeds it, and where the bytes
 * come from. */
int mr_streams_open_input(struct mr_run *run, int *ret_child, int *ret_feed, int *ret_source,
			  struct mr_error *err);
/* Is its source ours to close?  Not the caller's, nor a failure mode's. */
bool mr_streams_own_input(struct mr_run *run);
/* Start both output pumps; child[1] and child[2] get the payload's ends. */
int mr_streams_open_outputs(struct mr_run *run, int child[3], struct mr_error *err);
/* Take the payload's terminal, if it has one, and pump both ways; else begin to feed its input.  Not
 * before it is certain to start: what was read of the caller's input is gone. */
int mr_streams_start_input(struct mr_run *run, int *pty, struct mr_error *err);
/* set_up.c: everything up to the sandbox's first process.  What a failed step leaves is mr_end_undo()'s. */
int mr_set_up(struct mr_run *run, struct mr_error *err);
/* run.c: put the sandbox's side, which has just been launched, into the loop. */
int mr_run_watch(struct mr_run *run, struct mr_error *err);

/* end.c.  Kill all of it; its init's end, the empty group and the drained streams are still to come. */
void mr_end_begin(struct mr_run *run);
/* While it is ending: what nobody has read after another drain time is dropped. */
void mr_end_hurry(struct mr_run *run);
/* The drain time is over. */
void mr_end_streams(struct mr_run *run);
/* The drain is over, or the time of a reader that takes nothing. */
void mr_end_late(struct mr_run *run);
/* Once all has ended, or after a set-up that failed: the facts and the verdict. */
void mr_end_finish(struct mr_run *run);
/* Afterwards: everything it has, and itself.  Returns NULL. */
struct mr_run *mr_end_undo(struct mr_run *run);

/* run.c: something of ours failed in mid-run; it ends with this error, unless it is ending already */
void mr_run_fail(struct mr_run *run, const struct mr_error *err);
/* run.c: end it, unless it is ending already; the first cause counts. */
void mr_run_kill_for(struct mr_run *run, enum mr_kill_cause cause);
/* watchdog.c: from now on it is killed for what is over. */
int mr_run_start_deadlines(struct mr_run *run, struct mr_error *err);
/* group.c: what the control group is given; and make it, if one can be had. */
struct mr_limits mr_run_limits(const struct mr_run *run);
int mr_run_make_group(struct mr_run *run, struct mr_error *err);
/* Have it observed; what cannot be is a fact of the result. */
void mr_run_observe(struct mr_run *run);
/* run.c: called by the output pumps */
void mr_streams_progress(struct mr_pump_out *pump, size_t n);

/* narrowing.c: what a policy does to a run; all no-ops without one. */
int mr_narrowing_begin(struct mr_run *run, struct mr_error *err);
/* The sandbox's side did with its paths what it was asked to. */
int mr_narrowing_verify(const struct mr_run *run, struct mr_error *err);
/* What its calls are judged by. */
struct mr_notify_payload mr_narrowing_payload(struct mr_run *run, pid_t pid);
void mr_narrowing_end(struct mr_run *run);
/* The member "policy" of the receipt, NULL without one; new reference. */
struct json_t *mr_narrowing_to_json(const struct mr_run *run);
/* Does the run restrict paths by Landlock? */
bool mr_narrowing_needs_landlock(const struct mr_spec *spec);
