/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdict
 *
 * In order: our own failure; what we killed it for; the interrupt that we passed on,
 * if the main process died of it; the kernel's OOM killer, even when the main process
 * returned 0 after a child was killed; how the main process ended.  Who handles an
 * interrupt and exits has ended by itself.  A process that failed by itself after it
 * hit a limit that does not kill (pids, disk) keeps its own status; the reason names
 * the limit.
 *
 * The number of a signal proves nothing, for a program may send itself any: it names a
 * limit or a filter only where the kernel has shown that there was one to meet.
 */
#include "runtime/supervise/verdict.h"

#include <signal.h>
#include <sys/wait.h>

#define STATUS_TIMEOUT 124
#define STATUS_LIMIT 137 /* 128 + SIGKILL */
#define STATUS_FAILED 125 /* not the program: what it wrote, or how it ended, is lost */

static const char *const names[] = {
#define REASON(name) [MR_REASON_##name] = #name,
	MR_REASONS(REASON)
#undef REASON
};

const char *mr_reason_name(enum mr_reason reason)
{
	return names[reason];
}

static const struct kill_row {
	enum mr_reason reason;
	int exit_status;
	const char *limit; /* NULL: it was none */
} kills[] = {
	[MR_KILL_WALL] = { MR_REASON_wall_timeout, STATUS_TIMEOUT, "wall" },
	[MR_KILL_CPU] = { MR_REASON_cpu_limit, STATUS_LIMIT, "cpu_time" },
	[MR_KILL_IDLE] = { MR_REASON_idle_timeout, STATUS_TIMEOUT, "idle" },
	[MR_KILL_OUTPUT] = { MR_REASON_output_limit, STATUS_LIMIT, "output" },
	[MR_KILL_OOM] = { MR_REASON_oom, STATUS_LIMIT, "memory" },
	[MR_KILL_USER] = { MR_REASON_killed_by_user, STATUS_LIMIT, NULL },
	[MR_KILL_PIDS] = { MR_REASON_pids_limit, STATUS_LIMIT, "pids" },
	[MR_KILL_INJECTED] = { MR_REASON_injected, STATUS_LIMIT, NULL },
};
#define N_KILLS (sizeof(kills) / sizeof(kills[0]))

const char *mr_kill_limit(enum mr_kill_cause kill)
{
	return kills[kill].limit;
}

const char *mr_reason_limit(enum mr_reason reason)
{
	for (size_t i = MR_KILL_NONE + 1; i < N_KILLS; i++) {
		if (kills[i].reason == reason)
			return kills[i].limit;
	}
	return reason == MR_REASON_disk_limit ? "disk" : NULL;
}

/* Only what the caller asked for: the same signal from inside before that is the payload's own. */
static bool is_interrupted(const struct mr_facts *f)
{
	return f->user_signal && f->main_ended && WIFSIGNALED(f->wait_status) &&
	       WTERMSIG(f->wait_status) == f->user_signal;
}

static enum mr_reason reason_of_signal(const struct mr_facts *f, int sig)
{
	if (sig == SIGSYS && f->seccomp_killed)
		return MR_REASON_seccomp;
	return sig == SIGXFSZ && f->fsize_limited ? MR_REASON_disk_limit : MR_REASON_signaled;
}

/* Ended with our init, which said nothing. */
static void judge_lost(const struct mr_facts *f, struct mr_verdict *v)
{
	v->reason = f->init_lost ? MR_REASON_supervisor_lost : MR_REASON_signaled;
	v->signal = f->init_lost ? 0 : SIGKILL;
	v->exit_status = f->init_lost ? STATUS_FAILED : STATUS_LIMIT;
}

static void judge_main(const struct mr_facts *f, struct mr_verdict *v)
{
	bool failed;

	if (!f->main_ended) {
		judge_lost(f, v);
		return;
	}
	v->has_code = WIFEXITED(f->wait_status);
	if (v->has_code) {
		v->code = WEXITSTATUS(f->wait_status);
		v->exit_status = v->code;
		v->reason = MR_REASON_exited;
	} else {
		v->signal = WTERMSIG(f->wait_status);
		v->exit_status = 128 + v->signal;
		v->reason = reason_of_signal(f, v->signal);
	}
	failed = v->exit_status != 0;
	if (failed && v->reason != MR_REASON_seccomp && f->pids_max_events)
		v->reason = MR_REASON_pids_limit;
	if (failed && v->reason != MR_REASON_seccomp && f->disk_full)
		v->reason = MR_REASON_disk_limit;
}

struct mr_verdict mr_verdict_reach(const struct mr_facts *f)
{
	struct mr_verdict v = { 0 };

	if (f->setup_failed) {
		v.reason = MR_REASON_setup_error;
		v.exit_status = f->setup_exit_status;
		return v;
	}
	judge_main(f, &v);
	if (f->kill != MR_KILL_NONE) {
		v.reason = kills[f->kill].reason;
		v.exit_status = kills[f->kill].exit_status;
	} else if (is_interrupted(f)) {
		v.reason = MR_REASON_killed_by_user; /* the status is the signal's already */
	} else if (f->oom_kills) {
		v.reason = MR_REASON_oom;
		v.exit_status = STATUS_LIMIT;
	}
	if (f->kill == MR_KILL_USER)
		v.exit_status = 128 + f->user_signal;
	if (v.exit_status == 0 && (f->output_lost || f->mock_unused))
		v.exit_status = STATUS_FAILED;
	return v;
}
