/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdict: why a run ended, and with which exit status
 *
 * A pure function of facts of the kernel and of what the supervisor itself did.
 * Nothing the payload prints has a part in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* REASON(name): the closed set. */
/* clang-format off */
#define MR_REASONS(REASON) \
	REASON(exited) \
	REASON(signaled) \
	REASON(wall_timeout) \
	REASON(cpu_limit) \
	REASON(idle_timeout) \
	REASON(oom) \
	REASON(pids_limit) \
	REASON(output_limit) \
	REASON(disk_limit) \
	REASON(seccomp) \
	REASON(killed_by_user) \
	REASON(injected) \
	REASON(setup_error) \
	REASON(skipped) \
	REASON(supervisor_lost)
/* clang-format on */

enum mr_reason {
#define REASON(name) MR_REASON_##name,
	MR_REASONS(REASON)
#undef REASON
};
const char *mr_reason_name(enum mr_reason reason);

/* Why the supervisor killed the tree, if it did. */
enum mr_kill_cause {
	MR_KILL_NONE,
	MR_KILL_WALL,
	MR_KILL_CPU,
	MR_KILL_IDLE,
	MR_KILL_OUTPUT,
	MR_KILL_OOM, /* the group's memory limit was hit: the rest of the tree goes too */
	MR_KILL_USER, /* interrupt or termination asked for */
	MR_KILL_PIDS, /* counted by polling, without a control group */
	MR_KILL_INJECTED, /* by the failure mode timeout */
};
/* The limit that was hit then, as limits_hit of a result names it; NULL: none. */
const char *mr_kill_limit(enum mr_kill_cause kill);
/* The same of a run of which no more than its reason is known. */
const char *mr_reason_limit(enum mr_reason reason);

struct mr_facts {
	bool setup_failed;
	int setup_exit_status; /* of the error's code */
	enum mr_kill_cause kill;
	int user_signal; /* the first interrupt that was forwarded, or 0 */
	bool main_ended; /* wait_status is the main process's */
	int wait_status;
	bool init_lost; /* the sandbox's init ended before it told of the main process, by nobody of
			 * ours: how the program ended is not known */
	bool fsize_limited; /* a limit of the size of files was set: else no SIGXFSZ is the kernel's */
	bool seccomp_killed; /* the kernel told of a SIGSYS with SYS_SECCOMP: else it is a signal as
			      * any other, which anybody may send */
	uint64_t oom_kills; /* 0 also when unknown */
	uint64_t pids_max_events;
	bool disk_full; /* no byte or no inode left at the end */
	bool mock_unused; /* one that was required to be asked was not, as far as is known */
	bool output_lost; /* the caller's stream failed before it had all of the output */
};

struct mr_verdict {
	enum mr_reason reason;
	int exit_status; /* of menace-run */
	bool has_code; /* the main process exited with code */
	int code;
	int signal; /* it was killed by this, or 0 */
};
struct mr_verdict mr_verdict_reach(const struct mr_facts *facts);
