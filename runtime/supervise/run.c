/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run
 *
 *   SETTING_UP --READY, verified--> HELD --let go--> RUNNING --main ended | killed--> ENDING --> DONE
 *        \---------------------------^-\-----------failed, killed--------------------^
 *
 * transitions[state][event] below is the whole life; a missing entry is an event
 * that means nothing in that state.  ENDING is entered once: it kills the group, so
 * nothing of the payload lives on, and waits for three things: init reaped, the
 * group empty, the streams drained.  Then the facts are collected while the
 * group still exists, and the owner is told.  What the workspace holds is read when he
 * asks, outside of the loop: how long that takes is the payload's choice.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/die_at.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/roots.h"
#include "runtime/supervise/state.h"

#define OOM_LOOKS 10

enum event {
	EV_RELAY,
	EV_BUILT,
	EV_READY,
	EV_FAILED,
	EV_GO,
	EV_EXITED,
	EV_LOST,
	EV_KILL,
	EV_PROGRESS,
	EV_COUNT_
};

struct message {
	const struct mr_sync_msg *msg;
	int *fds; /* by bit; what a handler keeps it sets to -1 */
	pid_t pid;
};

static void handle(struct mr_run *run, enum event event, struct message *m);

/* Something of ours failed: remembered once, the first is the cause. */
static void fail(struct mr_run *run, const struct mr_error *err)
{
	if (!run->facts.setup_failed) {
		run->facts.setup_failed = true;
		run->facts.setup_exit_status = mr_errc_exit_status(err->code);
		run->error = *err;
	}
}

void mr_run_fail(struct mr_run *run, const struct mr_error *err)
{
	if (run->state >= MR_RUN_ENDING)
		return;
	fail(run, err);
	handle(run, EV_KILL, NULL);
}

/* --- set-up ----------------------------------------------------------------- */

static void on_sync(struct mr_source *source, uint32_t events);
static void on_init(struct mr_source *source, uint32_t events);
static void on_empty(struct mr_source *source, uint32_t events);
static void on_oom(struct mr_source *source, uint32_t events);
static void on_drain(struct mr_source *source, uint32_t events);

int mr_run_watch(struct mr_run *run, struct mr_error *err)
{
	struct mr_loop *loop = run->host->loop;
	short oom_events = 0;
	int timer, oom_fd, r;

	timer = mr_timer_open(err);
	if (timer < 0)
		return timer;
	r = mr_loop_add(loop, &run->drain, timer, EPOLLIN, on_drain, run, err);
	if (r < 0) {
		mr_close(timer);
		return r;
	}
	r = mr_loop_add(loop, &run->sync, run->launched.sync_fd, EPOLLIN, on_sync, run, err);
	if (r == 0)
		r = mr_loop_add(loop, &run->init, run->launched.pidfd, EPOLLIN, on_init, run, err);
	if (r < 0 || !run->cgroup)
		return r;
	r = mr_loop_add(loop, &run->empty, mr_cgroup_events_fd(run->cgroup), EPOLLPRI, on_empty,
			run, err);
	oom_fd = mr_cgroup_oom_fd(run->cgroup, &oom_events);
	/* v2 kills the whole group by itself (memory.oom.group) */
	if (r == 0 && oom_fd >= 0 && oom_events == POLLIN)
		r = mr_loop_add(loop, &run->oom, oom_fd, EPOLLIN, on_oom, run, err);
	return r;
}

static void finish(struct mr_run *run);

struct mr_run *mr_run_start(struct mr_run_host *host, const struct mr_run_opts *opts)
{
	struct mr_run *run = calloc(1, sizeof(*run));
	struct mr_error err = MR_ERROR_INIT;

	mr_assert(run);
	run->host = host;
	run->opts = *opts;
	run->spec = opts->spec;
	run->lease_fd = run->root_fd = run->pool_fd = run->upper_fd = run->lower_fd = -1;
	run->keep_fd = run->netns_fd = run->pty_fd = run->feed_fd = run->sync.fd = run->init.fd =
		run->empty.fd = run->oom.fd = -1;
	run->drain.fd = run->deadlines.source.fd = run->in.in_fd = -1;
	run->launched = (struct mr_launched){ .pidfd = -1, .sync_fd = -1, .go_fd = -1 };
	run->telemetry.requested = (enum mr_telemetry_level)run->spec->telemetry_level;
	mr_lease_new_id(run->id);
	run->start_real_ns = mr_clock_ns(MR_CLOCK_REAL);
	mr_clock_read(&run->clock);
	run->begin_ns = mr_now_ns();
	if (mr_set_up(run, &err) < 0) {
		mr_launched_find_cause(&run->launched, &err);
		fail(run, &err);
		if (run->launched.pidfd >= 0)
			mr_launched_kill(&run->launched);
		run->init_gone = true;
		run->opts.on_done = NULL;
		finish(run);
	}
	return run;
}

/* --- events of the sandbox's side --------------------------------------------- */

static void on_sync(struct mr_source *source, uint32_t events)
{
	static const enum event event_of[] = {
		[MR_SYNC_FAILED] = EV_FAILED, [MR_SYNC_BUILT] = EV_BUILT,
		[MR_SYNC_READY] = EV_READY,   [MR_SYNC_EXITED] = EV_EXITED,
		[MR_SYNC_RELAY] = EV_RELAY,
	};
	struct mr_run *run = source->owner;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_sync_msg msg;
	int fds[8], pid = 0;
	int r = mr_sync_recv(run->launched.sync_fd, &msg, MSG_DONTWAIT, fds, &pid, &err);
	struct message m = { .msg = &msg, .fds = fds, .pid = pid };

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r > 0 && (msg.type >= N_ELEMENTS(event_of) || msg.type == MR_SYNC_MAPPED ||
		      msg.type == MR_SYNC_SIGNAL || msg.type == MR_SYNC_SERVED || msg.type == 0))
		r = mr_err(&err, MR_E_PROTO, EPROTO, "message %u from the sandbox", msg.type);
	if (r < 0)
		fail(run, &err);
	if (r <= 0) {
		mr_loop_remove(run->host->loop, &run->sync);
		if (r < 0)
			handle(run, EV_LOST, NULL);
		return; /* at end of file init is going: its pidfd tells */
	}
	handle(run, event_of[msg.type], &m);
	for (int i = 0; i < 8; i++)
		mr_close(fds[i]);
}

static void on_init(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;
	pid_t pid;

	(void)events;
	/* What it said last comes first. */
	while (run->sync.fd >= 0 && run->state != MR_RUN_DONE) {
		struct pollfd p = { .fd = run->sync.fd, .events = POLLIN };

		if (poll(&p, 1, 0) != 1)
			break;
		on_sync(&run->sync, EPOLLIN);
	}
	pid = wait4(run->launched.init_pid, NULL, WNOHANG, run->has_rusage ? NULL : &run->rusage);
	if (pid == 0)
		return;
	run->has_rusage |= pid > 0; /* else somebody reaped it, and it is gone all the same */
	mr_loop_remove(run->host->loop, &run->init);
	run->init_gone = true;
	handle(run, EV_LOST, NULL);
}

static bool is_group_empty(struct mr_run *run)
{
	struct mr_error err;

	return !run->cgroup || mr_cgroup_populated(run->cgroup, &err) <= 0;
}

static void on_empty(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;

	(void)events;
	/* Reading the file is what ends the notification, in any state. */
	run->group_empty = is_group_empty(run) && run->state == MR_RUN_ENDING;
	handle(run, EV_PROGRESS, NULL);
}

void mr_run_kill_for(struct mr_run *run, enum mr_kill_cause cause)
{
	if (run->facts.kill == MR_KILL_NONE && run->state < MR_RUN_ENDING)
		run->facts.kill = cause;
	handle(run, EV_KILL, NULL);
}

/* v1 tells before the kernel has chosen whom to kill, and also when a limit above ours is hit:
 * only its count says that it was one of ours. */
static void look_for_oom(struct mr_run *run)
{
	struct mr_cgroup_stats stats;
	struct mr_error err;

	if (mr_cgroup_stats(run->cgroup, &stats, &err) < 0 || stats.oom_kills > 0)
		mr_run_kill_for(run, MR_KILL_OOM);
	else if (!run->interrupts && run->oom_looks < OOM_LOOKS &&
		 mr_timer_arm(run->drain.fd,
			      mr_now_ns() + (MR_PATIENCE_NS(OOM_LOOK) << run->oom_looks++),
			      &err) < 0)
		mr_run_kill_for(run, MR_KILL_OOM);
}

static void on_oom(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;

	(void)events;
	mr_timer_ack(source->fd); /* an eventfd is read the same way */
	run->oom_looks = 0;
	if (run->state < MR_RUN_ENDING)
		look_for_oom(run);
}

void mr_streams_progress(struct mr_pump_out *pump, size_t n)
{
	struct mr_run *run = pump->owner;
	bool over;

	run->out_bytes += n;
	over = run->out_bytes > run->spec->limits_output_bytes;
	if (n && run->deadlines.source.fd >= 0)
		mr_deadlines_activity(&run->deadlines);
	if (over && run->state == MR_RUN_RUNNING) {
		mr_run_kill_for(run, MR_KILL_OUTPUT);
		return;
	}
	/* The verdict must not depend on whether it ended before we had read it all. */
	if (over && run->state == MR_RUN_ENDING && run->facts.kill == MR_KILL_NONE)
		run->facts.kill = MR_KILL_OUTPUT;
	handle(run, EV_PROGRESS, NULL);
}

static void on_drain(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;

	(void)events;
	mr_timer_ack(source->fd);
	if (run->state < MR_RUN_ENDING) {
		if (run->interrupts) /* the grace time is over */
			mr_run_kill_for(run, MR_KILL_USER);
		else
			look_for_oom(run);
		return;
	}
	mr_end_late(run);
	handle(run, EV_PROGRESS, NULL);
}

/* --- transitions ---------------------------------------------------------------- */

static enum mr_run_state fail_set_up(struct mr_run *run, struct mr_error *err)
{
	mr_launched_find_cause(&run->launched, err);
	fail(run, err);
	return MR_RUN_ENDING;
}

/* The sandbox's side waits for it. */
static enum mr_run_state when_relay(struct mr_run *run, struct message *m)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_relay_start(run, &m->msg->relay, m->fds[0], &err) == 0)
		return MR_RUN_SETTING_UP;
	return fail_set_up(run, &err);
}

static struct mr_receipt_input receipt_input(const struct mr_run *run, const struct message *m)
{
	return (struct mr_receipt_input){
		.spec = run->spec,
		.launched = &run->launched,
		.cgroup = run->cgroup,
		.cgroup_mode = mr_cgroup_host_mode(run->host->cgroups),
		.payload_pid = m->pid,
		.landlock_abi = run->built.built.landlock_abi,
		.has_listener = m->fds[4] >= 0,
	};
}

static enum mr_run_state when_built(struct mr_run *run, struct message *m)
{
	int *const places[] = { &run->root_fd, &run->pool_fd, &run->upper_fd, &run->lower_fd };
	struct mr_error err = MR_ERROR_INIT;

	run->built = *m->msg;
	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		mr_close(*places[i]);
		*places[i] = mr_take_fd(m->fds[i]);
	}
	mr_roots_keep(run, mr_take_fd(m->fds[4]));
	mr_shaping_take(run, m->fds);
	if (mr_narrowing_needs_landlock(run->spec) && !run->built.built.landlock_abi)
		mr_receipt_degrade(&run->receipt, "landlock", "this kernel has no Landlock");
	if (mr_result_workspace_note(run))
		mr_log_warn("workspace %s: %s", run->spec->sandbox_workspace,
			    mr_result_workspace_note(run));
	if (run->built.built.shared_inodes)
		mr_receipt_degrade(&run->receipt, "private-inodes",
				   "this kernel refuses an overlay of the host's folders");
	/* While the payload is being confined. */
	const struct mr_receipt_input in = receipt_input(run, m);

	if (mr_receipt_built(&run->receipt, &in, &err) == 0)
		return MR_RUN_SETTING_UP;
	return fail_set_up(run, &err);
}

static int verify_policy(struct mr_run *run, struct message *m, struct mr_error *err)
{
	if (m->fds[4] < 0)
		mr_receipt_degrade(&run->receipt, "seccomp-listener",
				   "another seccomp listener is above us: denials are not "
				   "recorded");
	return mr_narrowing_verify(run, err);
}

static int verify_network(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_network_verify(run, err);
}

static int begin_shaping(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_shaping_begin(run, err);
}

static int prepare_faults(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_faults_prepare(run, err);
}

static int complete_receipt(struct mr_run *run, struct message *m, struct mr_error *err)
{
	const struct mr_receipt_input in = receipt_input(run, m);

	return mr_receipt_complete(&run->receipt, &in, err);
}

static int hold_tmpfs(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_result_hold_tmpfs(run, err);
}

static int start_input(struct mr_run *run, struct message *m, struct mr_error *err)
{
	return mr_streams_start_input(run, &m->fds[5], err);
}

static int start_notify(struct mr_run *run, struct message *m, struct mr_error *err)
{
	struct mr_notify_payload payload;

	if (m->fds[4] < 0)
		return 0;
	payload = mr_narrowing_payload(run, m->pid);
	return mr_notify_start(&run->notify, run->host->loop, mr_take_fd(m->fds[4]), run->root_fd,
			       &run->launched.policy, &payload, &run->denials, err);
}

struct message_step {
	const char *name;
	int (*run)(struct mr_run *run, struct message *m, struct mr_error *err);
};

/* The payload is confined and waits: look, and put in place what it finds from its first instruction. */
static const struct message_step verification[] = {
	{ "policy", verify_policy },  { "network", verify_network },   { "shaping", begin_shaping },
	{ "faults", prepare_faults }, { "receipt", complete_receipt }, { "tmpfs", hold_tmpfs },
	{ "input", start_input },     { "notify", start_notify },
};
MR_DIE_TABLE(verify, verification[0], N_ELEMENTS(verification));

static int verify(struct mr_run *run, struct message *m, struct mr_error *err)
{
	int r = 0;

	run->payload_pid = m->pid;
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(verification); i++) {
		MR_DIE_AT(verify, verification[i].name);
		r = verification[i].run(run, m, err);
	}
	return r;
}

static int start_deadlines(struct mr_run *run, struct message *m, struct mr_error *err)
{
	int r = mr_run_start_deadlines(run, err);

	(void)m;
	if (r < 0)
		return r;
	/* In place before the first instruction, but counted from it. */
	run->go_ns = mr_now_ns();
	mr_deadlines_shift(&run->deadlines, run->go_ns - run->deadlines.start_ns);
	return 0;
}

static int start_failures(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_failures_start(run, err);
}

static int begin_faults(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_faults_begin(run, err);
}

static int give_word(struct mr_run *run, struct message *m, struct mr_error *err)
{
	(void)m;
	return mr_launch_go(&run->launched, err);
}

static const struct message_step letting_go[] = {
	{ "deadlines", start_deadlines },
	{ "failures", start_failures },
	{ "faults", begin_faults },
	{ "word", give_word },
};
MR_DIE_TABLE(go, letting_go[0], N_ELEMENTS(letting_go));

static int let_go(struct mr_run *run, struct message *m, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(letting_go); i++) {
		MR_DIE_AT(go, letting_go[i].name);
		r = letting_go[i].run(run, m, err);
	}
	return r;
}

static enum mr_run_state when_let_go(struct mr_run *run, struct message *m)
{
	struct mr_error err = MR_ERROR_INIT;

	if (let_go(run, m, &err) == 0)
		return MR_RUN_RUNNING;
	fail(run, &err);
	return MR_RUN_ENDING;
}

static void on_go(void *owner, const struct mr_error *err)
{
	if (err)
		mr_run_fail(owner, err);
	else
		handle(owner, EV_GO, NULL);
}

static enum mr_run_state when_ready(struct mr_run *run, struct message *m)
{
	struct mr_error err = MR_ERROR_INIT;
	int r = verify(run, m, &err);

	run->ready_ns = mr_now_ns();
	if (r == 0)
		r = mr_ready_tell(&run->ready, run->host->loop, run->opts.ready, on_go, run, &err);
	if (r == 0)
		return when_let_go(run, m);
	if (r > 0)
		return MR_RUN_HELD;
	return fail_set_up(run, &err);
}

static enum mr_run_state when_failed(struct mr_run *run, struct message *m)
{
	fail(run, &m->msg->error);
	return MR_RUN_ENDING;
}

static enum mr_run_state when_exited(struct mr_run *run, struct message *m)
{
	run->facts.main_ended = true;
	run->facts.wait_status = m->msg->exited.wait_status;
	run->unreaped = m->msg->exited.unreaped;
	run->rusage = m->msg->exited.rusage;
	run->has_rusage = true;
	return MR_RUN_ENDING;
}

/* The program's process ended before it was the program. */
static enum mr_run_state when_exited_early(struct mr_run *run, struct message *m)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)m;
	if (run->facts.kill == MR_KILL_NONE) {
		mr_launched_killed(&run->launched, "the program's process", &err);
		fail(run, &err);
	}
	return MR_RUN_ENDING;
}

static enum mr_run_state when_lost_early(struct mr_run *run, struct message *m)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)m;
	if (run->facts.kill == MR_KILL_NONE) {
		mr_launched_killed(&run->launched, "the sandbox's init", &err);
		fail(run, &err);
	}
	return MR_RUN_ENDING;
}

/* It tells how the program ended before it goes, unless we or somebody else kill it. */
static enum mr_run_state when_init_lost(struct mr_run *run, struct message *m)
{
	(void)m;
	run->facts.init_lost = run->facts.kill == MR_KILL_NONE;
	return MR_RUN_ENDING;
}

static enum mr_run_state when_over(struct mr_run *run, struct message *m)
{
	(void)run;
	(void)m;
	return MR_RUN_ENDING;
}

/* ENDING and something moved: is it all over? */
static enum mr_run_state when_progress(struct mr_run *run, struct message *m)
{
	(void)m;
	if (!run->group_empty)
		run->group_empty = is_group_empty(run);
	if (run->init_gone && run->group_empty && mr_pump_out_done(&run->out) &&
	    mr_pump_out_done(&run->err))
		return MR_RUN_DONE;
	return MR_RUN_ENDING;
}

static const struct transition {
	const char *name; /* the state and the event, for who asks for a death there */
	enum mr_run_state (*run)(struct mr_run *run, struct message *m);
} transitions[MR_RUN_DONE][EV_COUNT_] = {
	[MR_RUN_SETTING_UP] = {
		[EV_RELAY] = { "setting_up.relay", when_relay },
		[EV_BUILT] = { "setting_up.built", when_built },
		[EV_READY] = { "setting_up.ready", when_ready },
		[EV_FAILED] = { "setting_up.failed", when_failed },
		[EV_EXITED] = { "setting_up.exited", when_exited_early },
		[EV_LOST] = { "setting_up.lost", when_lost_early },
		[EV_KILL] = { "setting_up.kill", when_over },
	},
	[MR_RUN_HELD] = {
		[EV_GO] = { "held.go", when_let_go },
		[EV_FAILED] = { "held.failed", when_failed },
		[EV_EXITED] = { "held.exited", when_exited },
		[EV_LOST] = { "held.lost", when_lost_early },
		[EV_KILL] = { "held.kill", when_over },
	},
	[MR_RUN_RUNNING] = {
		[EV_FAILED] = { "running.failed", when_failed }, /* exec failed */
		[EV_EXITED] = { "running.exited", when_exited },
		[EV_LOST] = { "running.lost", when_init_lost },
		[EV_KILL] = { "running.kill", when_over },
	},
	[MR_RUN_ENDING] = {
		[EV_LOST] = { "ending.lost", when_progress },
		[EV_PROGRESS] = { "ending.progress", when_progress },
	},
};
MR_DIE_TABLE(run, transitions[0][0], sizeof(transitions) / sizeof(transitions[0][0]));

static void handle(struct mr_run *run, enum event event, struct message *m)
{
	enum mr_run_state old = run->state, next = old;

	if (old < MR_RUN_DONE && transitions[old][event].run) {
		MR_DIE_AT(run, transitions[old][event].name);
		next = transitions[old][event].run(run, m);
	}
	if (next == old)
		return;
	run->state = next;
	if (next == MR_RUN_ENDING) {
		mr_end_begin(run);
		handle(run, EV_PROGRESS, NULL);
	}
	if (next == MR_RUN_DONE)
		finish(run);
}

/* --- the end --------------------------------------------------------------------- */

static void finish(struct mr_run *run)
{
	run->state = MR_RUN_DONE;
	mr_end_finish(run);
	if (run->opts.on_done)
		run->opts.on_done(run, run->opts.owner);
}

bool mr_run_is_done(const struct mr_run *run)
{
	return run->state == MR_RUN_DONE;
}

void mr_run_forward(struct mr_run *run, int sig)
{
	struct mr_error err;

	if (run->state == MR_RUN_RUNNING && mr_launch_signal(&run->launched, sig, &err) < 0)
		mr_log_warn("run %s: %s", run->id, err.msg);
}

void mr_run_interrupt(struct mr_run *run, int sig)
{
	struct mr_error err;

	if (run->state == MR_RUN_ENDING) { /* the caller's reader may be what holds us */
		mr_end_hurry(run);
		return;
	}
	if (!run->facts.user_signal)
		run->facts.user_signal = sig;
	if (run->state != MR_RUN_RUNNING || run->interrupts++ > 0 || !run->spec->limits_grace_ms) {
		mr_run_kill_for(run, MR_KILL_USER);
		return;
	}
	mr_run_forward(run, sig);
	mr_run_forward(run, SIGCONT); /* a stopped tree cannot obey */
	if (mr_timer_arm(run->drain.fd, mr_now_ns() + run->spec->limits_grace_ms * 1000000, &err) <
	    0)
		mr_run_kill_for(run, MR_KILL_USER);
}

void mr_run_suspend(struct mr_run *run)
{
	mr_run_forward(run, SIGSTOP);
}

void mr_run_resume(struct mr_run *run, uint64_t stopped_ns)
{
	mr_run_forward(run, SIGCONT);
	mr_deadlines_shift(&run->deadlines, stopped_ns);
}

struct mr_run *mr_run_free(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	if (!run)
		return NULL;
	run->opts.on_done = NULL;
	if (run->state != MR_RUN_DONE)
		mr_run_kill_for(run, MR_KILL_USER);
	while (run->state != MR_RUN_DONE && mr_loop_run_once(run->host->loop, -1, &err) >= 0)
		;
	return mr_end_undo(run);
}
