/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, run
 *
 *   prepare   lease, keeper                  nothing of the engine's yet
 *   sweep     what others left; then which image it is
 *   begin     a prepared container is taken, or one is made, compared with what was asked for
 *             and started; then it is connected to, observed and told what to start:
 *             from here on the payload lives
 *   follow    until the engine says that it ended, or a limit or a signal ends it
 *   finish    drain, state, remove, result
 *
 * Whatever fails, finish comes.  An engine that fails before the start is one that cannot do this
 * run (setup_error, MR_E_KERNEL: another backend may); one that is lost afterwards is
 * reason supervisor_lost, for nobody knows what the payload has done.
 */
#include "runtime/backend/docker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_image.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_ledger.h"
#include "runtime/backend/docker_make.h"
#include "runtime/backend/docker_pool.h"
#include "runtime/backend/docker_result.h"
#include "runtime/backend/docker_streams.h"
#include "runtime/backend/docker_sweep.h"
#include "runtime/backend/docker_watch.h"
#include "runtime/backend/errand.h"
#include "runtime/backend/handover.h"
#include "runtime/backend/order.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/inherit.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/launch/steps.h"

#define NEVER UINT64_MAX
#define MS UINT64_C(1000000)

struct run {
	const struct mr_errand *errand;
	const struct mr_spec *spec;
	struct mr_docker *docker;
	struct mr_docker_lease lease;
	struct mr_child child; /* program and environment, as a native run has them */
	bool resolved;
	struct mr_docker_plan plan;
	struct mr_docker_prepared prepared; /* record.fd -1: none is taken */
	struct mr_docker_pool_news news;
	char id[MR_DOCKER_ID_SIZE]; /* "": there is no container yet */
	json_t *asked; /* owned, unless it is prepared.asked */
	struct mr_docker_streams streams;
	bool has_streams;
	struct mr_docker_call *wait, *look, *kill;
	struct mr_docker_watch watch;
	int signal_fd;

	struct mr_docker_facts facts;
	struct mr_error error;
	bool started, ended, abandoned, dropped;
	unsigned int interrupts;
	uint64_t killed_ns; /* when the engine was told to; 0: not yet */
	struct mr_error kill_error; /* code set: it could not be told */
	uint64_t grace_at_ns, look_at_ns, drain_until_ns;
	uint64_t active_ns, seen_ns,
		seen_cpu_ns; /* for idleness; seen: the last that was told of it */
};

/* --- prepare ------------------------------------------------------------------------------------- */

static int open_signals(struct run *run, struct mr_error *err)
{
	static const int more[] = { SIGUSR1, SIGUSR2 };

	run->signal_fd = mr_signals_open(more, N_ELEMENTS(more), NULL, err);
	return run->signal_fd < 0 ? run->signal_fd : 0;
}

static int prepare(struct run *run, struct mr_error *err)
{
	int r = mr_launch_check(run->spec, err);

	if (r == 0)
		r = open_signals(run, err);
	if (r == 0)
		r = mr_docker_lease_open(run->errand->run_id, run->spec, &run->lease, err);
	if (r == 0)
		r = mr_docker_open(&run->docker, err);
	if (r == 0)
		r = mr_docker_plan_make(run->docker, run->spec, run->lease.label, &run->plan, err);
	if (r == 0)
		r = mr_program_resolve(&run->child, err);
	if (r < 0)
		return r;
	run->resolved = true;
	run->child.envp = mr_env_build(run->spec);
	run->facts.engine = mr_docker_name(run->docker);
	return mr_docker_make_check(&run->plan, &run->child, err);
}

/* --- make ------------------------------------------------------------------------------------------ */

/* What needs no engine first: one that does not answer ends the run. */
static int sweep(struct run *run, struct mr_error *err)
{
	mr_auto_close int pool = mr_docker_ledger_open(err);
	struct mr_docker_sweep sweep = { .docker = run->docker,
					 .leases_fd = run->lease.dir_fd,
					 .pool_fd = pool,
					 .label = run->lease.label,
					 .own_id = run->errand->run_id };
	int r = pool < 0 ? pool : mr_lease_sweep_at_start(run->lease.dir_fd, err);

	return r < 0 ? r : mr_docker_sweep_run(&sweep, err);
}

/* A container of this run's own. */
static int make(struct run *run, struct mr_error *err)
{
	struct mr_docker_facts *f = &run->facts;
	mr_auto_free char *snippets = NULL;
	struct mr_docker_create create;
	int r = mr_docker_make_ids(run->spec, false, &f->uid, &f->gid, err);

	if (r == 0)
		r = mr_docker_make_files(run->lease.folder, run->spec, f->uid, f->gid, err);
	if (r == 0)
		r = mr_docker_make_snippet(run->lease.folder, &run->child, err);
	if (r < 0)
		return r;
	mr_docker_plan_request(&run->plan, run->errand->run_id, false, run->lease.folder, &snippets,
			       &create);
	create.uid = f->uid;
	create.gid = f->gid;
	create.argv = run->child.argv;
	create.envp = run->child.envp;
	run->asked = mr_docker_create_body(&create);
	return mr_docker_make_container(run->docker, run->errand->run_id, run->asked, run->id, err);
}

/* --- start ----------------------------------------------------------------------------------------- */

static int post(struct run *run, const char *verb, struct mr_error *err)
{
	return mr_docker_make_post(run->docker, run->id, verb,
				   run->started ? MR_PATIENCE_MS(DOCKER_ANSWER)
						: MR_PATIENCE_MS(DOCKER_MAKE),
				   err);
}

static int open_streams(struct run *run, struct mr_error *err)
{
	run->has_streams = true;
	return mr_docker_streams_open(run->docker, run->id, run->spec, STDIN_FILENO, STDOUT_FILENO,
				      MR_HANDOVER_FD_STDERR, &run->streams, err);
}

static int begin_wait(struct run *run, struct mr_error *err)
{
	mr_auto_free char *wait =
		mr_str_format("/containers/%s/wait?condition=not-running", run->id);
	const struct mr_docker_request request = { .method = "POST",
						   .path = wait,
						   .timeout_ms = NEVER };

	return mr_docker_begin(run->docker, &request, &run->wait, err);
}

static void note_start(struct run *run)
{
	run->started = true;
	run->facts.go_ns = run->active_ns = run->seen_ns = mr_now_ns();
}

/* --- follow ---------------------------------------------------------------------------------------- */

/* Without waiting: an engine answers when the container has ended, which it does not while
 * nobody reads what it wrote, nor may that be for the caller's reader to decide. */
static void kill_container(struct run *run)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/kill?signal=KILL", run->id);
	/* judge_engine() looks at the time. */
	const struct mr_docker_request request = { .method = "POST",
						   .path = path,
						   .timeout_ms = NEVER };

	run->killed_ns = mr_now_ns();
	mr_docker_streams_stop_input(&run->streams);
	mr_docker_streams_read_ahead(&run->streams);
	if (mr_docker_begin(run->docker, &request, &run->kill, &run->kill_error) < 0)
		run->kill = NULL;
}

static void take_kill(struct run *run)
{
	struct mr_docker_answer answer = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	char message[200];
	int r = run->kill ? mr_docker_result(run->kill, &answer, &err) : 0;

	if (r == 0)
		return;
	run->kill = mr_docker_call_free(run->kill);
	/* 409 and 404: it has ended by itself. */
	if (r > 0 && answer.status >= 400 && answer.status != 409 && answer.status != 404) {
		mr_docker_reply_message(answer.body, answer.size, message, sizeof(message));
		r = mr_err(&err, MR_E_KERNEL, EBUSY, "kill: the engine answers %ld %s",
			   answer.status, message);
	}
	if (r < 0)
		run->kill_error = err;
	mr_docker_answer_deinit(&answer);
}

static void kill_for(struct run *run, enum mr_kill_cause cause)
{
	if (run->facts.facts.kill != MR_KILL_NONE)
		return;
	run->facts.facts.kill = cause;
	kill_container(run);
}

static void take_signal(struct run *run, int sig)
{
	char verb[40];
	struct mr_error err = MR_ERROR_INIT;

	if (run->ended) { /* the caller's reader may be what holds us */
		run->dropped |= sig != SIGUSR1 && sig != SIGUSR2;
		return;
	}
	snprintf(verb, sizeof(verb), "kill?signal=%d", sig);
	if (sig == SIGUSR1 || sig == SIGUSR2) {
		if (post(run, verb, &err) < 0)
			mr_log_warn("signal %d: %s", sig, err.msg);
		return;
	}
	if (run->interrupts++ > 0) {
		kill_for(run, MR_KILL_USER);
		return;
	}
	run->facts.facts.user_signal = sig;
	run->grace_at_ns = mr_now_ns() + run->spec->limits_grace_ms * MS;
	if (post(run, verb, &err) < 0)
		mr_log_warn("signal %d: %s", sig, err.msg);
}

static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info))
		take_signal(run, (int)info.ssi_signo);
}

/* Idle: no output, and under a hundredth of one CPU since the last look. */
static void judge_idleness(struct run *run, uint64_t now)
{
	const uint64_t cpu = run->facts.stats.cpu_ns;
	const uint64_t used = cpu > run->seen_cpu_ns ? cpu - run->seen_cpu_ns : 0;

	if (run->streams.moved || used * 100 >= now - run->seen_ns)
		run->active_ns = now;
	run->streams.moved = false;
	run->seen_ns = now;
	run->seen_cpu_ns = cpu;
	if (run->spec->limits_idle_ms != MR_UNLIMITED &&
	    now - run->active_ns >= run->spec->limits_idle_ms * MS)
		kill_for(run, MR_KILL_IDLE);
}

static void take_stats(struct run *run, const struct mr_docker_answer *answer)
{
	mr_auto_json json_t *reply = NULL;
	struct mr_docker_stats stats;
	struct mr_error err;

	if (answer->status != 200 ||
	    mr_docker_reply_parse(answer->body, answer->size, "stats", &reply, &err) < 0 ||
	    mr_docker_reply_stats(reply, &stats, &err) < 0 || stats.cpu_ns == UINT64_MAX ||
	    (run->facts.has_stats && stats.cpu_ns < run->facts.stats.cpu_ns))
		return; /* of a container that has ended all is zero */
	run->facts.stats = stats;
	run->facts.has_stats = true;
	if (run->spec->limits_cpu_time_ms != MR_UNLIMITED &&
	    stats.cpu_ns >= run->spec->limits_cpu_time_ms * MS)
		kill_for(run, MR_KILL_CPU);
	judge_idleness(run, mr_now_ns());
}

static bool needs_looks(const struct run *run)
{
	return run->spec->limits_cpu_time_ms != MR_UNLIMITED ||
	       run->spec->limits_idle_ms != MR_UNLIMITED;
}

static int look(struct run *run, struct mr_error *err)
{
	mr_auto_free char *path =
		mr_str_format("/containers/%s/stats?stream=false&one-shot=true", run->id);
	const struct mr_docker_request request = { .method = "GET", .path = path };
	struct mr_docker_answer answer = { 0 };
	const uint64_t now = mr_now_ns();
	int r;

	if (run->look) {
		r = mr_docker_result(run->look, &answer, err);
		if (r == 0)
			return 0;
		run->look = mr_docker_call_free(run->look);
		run->look_at_ns = now + (needs_looks(run) ? MR_PATIENCE_NS(DOCKER_LOOK)
							  : MR_PATIENCE_NS(DOCKER_SAMPLE));
		if (r > 0)
			take_stats(run, &answer);
		mr_docker_answer_deinit(&answer);
		/* Limits that nobody can count any more are not in force. */
		if (r >= 0 && now > run->seen_ns + MR_PATIENCE_NS(DOCKER_END))
			r = mr_err(err, MR_E_KERNEL, ENODATA,
				   "the engine tells no CPU time, which is to be limited");
		return r < 0 && needs_looks(run) ? r : 0;
	}
	return now < run->look_at_ns ? 0 : mr_docker_begin(run->docker, &request, &run->look, err);
}

static void judge_time(struct run *run)
{
	const uint64_t now = mr_now_ns();

	if (run->spec->limits_wall_ms != MR_UNLIMITED &&
	    now - run->facts.go_ns >= run->spec->limits_wall_ms * MS)
		kill_for(run, MR_KILL_WALL);
	if (run->grace_at_ns && now >= run->grace_at_ns)
		kill_for(run, MR_KILL_USER);
	if (run->streams.total > run->spec->limits_output_bytes)
		kill_for(run, MR_KILL_OUTPUT);
}

/* Milliseconds until something is due. */
static int next_ms(const struct run *run)
{
	const uint64_t now = mr_now_ns();
	uint64_t at = now + MR_PATIENCE_NS(DOCKER_TURN);

	if (run->spec->limits_wall_ms != MR_UNLIMITED &&
	    run->facts.go_ns + run->spec->limits_wall_ms * MS < at)
		at = run->facts.go_ns + run->spec->limits_wall_ms * MS;
	if (run->grace_at_ns && run->grace_at_ns < at)
		at = run->grace_at_ns;
	return at <= now ? 0 : (int)((at - now) / MS) + 1;
}

/* Has it ended?  The status is a number of the engine's: over 128 it stands for a signal. */
static int take_end(struct run *run, struct mr_error *err)
{
	struct mr_docker_answer answer = { 0 };
	mr_auto_json json_t *reply = NULL;
	int status = 0, r = mr_docker_result(run->wait, &answer, err);

	if (r <= 0)
		return r;
	r = answer.status == 200
		    ? mr_docker_reply_parse(answer.body, answer.size, "wait", &reply, err)
		    : mr_err(err, MR_E_PROTO, EPROTO, "wait: the engine answers %ld",
			     answer.status);
	mr_docker_answer_deinit(&answer);
	if (r == 0)
		r = mr_docker_reply_waited(reply, &status, err);
	if (r < 0)
		return r;
	run->facts.facts.main_ended = true;
	run->facts.facts.fsize_limited = run->spec->limits_fsize_bytes != MR_UNLIMITED;
	run->facts.facts.wait_status =
		status > 128 && status <= 128 + 64 ? status - 128 : status << 8;
	run->facts.end_ns = mr_now_ns();
	run->ended = true;
	return 0;
}

/* One turn.  What menace-run does not want any more ends here, too.  Signals are for a payload, and
 * wait until there is one. */
static int turn(struct run *run, struct mr_error *err)
{
	struct pollfd fds[MR_DOCKER_STREAMS_FDS + 3];
	const bool begun = !run->streams.awaited;
	size_t n = mr_docker_streams_wants(&run->streams, fds);
	struct pollfd *report = &fds[n++];
	int r;

	*report = (struct pollfd){ .fd = run->errand->report_fd };
	fds[n++] = (struct pollfd){ .fd = mr_docker_watch_fd(&run->watch), .events = POLLIN };
	if (begun)
		fds[n++] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
	r = mr_docker_wait_some(run->docker, fds, n, next_ms(run), err);
	if (r < 0)
		return r;
	if (report->revents & POLLERR) {
		run->abandoned = true;
		return mr_err(err, MR_E_SYS, EPIPE, "menace-run is gone");
	}
	if (begun)
		take_signals(run);
	mr_docker_watch_read(&run->watch);
	return mr_docker_streams_move(&run->streams, err);
}

/* Until it has said what was awaited: 1 when it ended without. */
static int await_answer(struct run *run, struct mr_error *err)
{
	const uint64_t until = mr_now_ns() + MR_PATIENCE_NS(DOCKER_END);

	for (;;) {
		int r = turn(run, err);

		if (r < 0)
			return r;
		if (run->streams.refused)
			return mr_err(err, MR_E_PROTO, EPROTO,
				      "the container does not answer as menace-init does");
		if (!run->streams.awaited)
			return 0;
		if (mr_docker_streams_ended(&run->streams))
			return 1;
		if (mr_now_ns() > until)
			return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
				      "the container has not answered within %ju ms",
				      (uintmax_t)MR_PATIENCE_MS(DOCKER_END));
	}
}

/* Once menace-init listens it does nothing else: from here on all is the payload's. */
static int observe(struct run *run, struct mr_error *err)
{
	const struct mr_docker_watched watched = { .spec = run->spec,
						   .container = run->id,
						   .init = run->plan.init,
						   .uid = run->facts.uid };
	size_t size = 0;
	char *question = mr_order_ask(&size);
	int r;

	mr_docker_streams_order(&run->streams, question, size, MR_ORDER_READY);
	r = await_answer(run, err);
	if (r == 0)
		mr_docker_watch_begin(&run->watch, run->docker, &watched);
	return r;
}

/* 0: the payload starts; 1: the container has ended before it took the order. */
static int give_order(struct run *run, struct mr_error *err)
{
	size_t size = 0;
	char *order;
	int r = observe(run, err);

	if (r != 0)
		return r;
	order = mr_order_make(run->spec->sandbox_cwd, run->child.argv, run->child.envp, &size);
	if (!order)
		return mr_err(err, MR_E_USAGE, E2BIG,
			      "arguments and environment have more than %d bytes", MR_ORDER_MAX);
	mr_docker_streams_order(&run->streams, order, size, MR_ORDER_TAKEN);
	/* From here on nobody knows what has been started, unless it is said. */
	note_start(run);
	r = begin_wait(run, err);
	return r < 0 ? r : await_answer(run, err);
}

/* Without menace-init the payload starts with it: who gets no answer does not know whether it has. */
static int start_container(struct run *run, struct mr_error *err)
{
	int r = post(run, "start", err);

	if (r < 0 && !run->plan.init[0] && err->errnum != EOPNOTSUPP && err->errnum != ECONNREFUSED)
		note_start(run);
	return r;
}

/* In a container of the run's own. */
static int start(struct run *run, struct mr_error *err)
{
	int r = open_streams(run, err);

	if (r == 0)
		r = start_container(run, err);
	if (r == 0 && run->plan.init[0]) {
		r = give_order(run, err);
	} else if (r == 0) {
		note_start(run);
		r = begin_wait(run, err);
	}
	if (r <= 0)
		return r;
	run->started = false;
	run->facts.go_ns = 0;
	return mr_err(err, MR_E_KERNEL, ESRCH, "the container ended before it took the run");
}

/* One that ended before it took the run has started nothing, and of the caller's input nothing
 * was read: as if it had not been. */
static int forget_prepared(struct run *run, struct mr_error *err)
{
	int r = mr_docker_pool_discard(run->docker, &run->prepared, err);

	run->started = false;
	run->facts.go_ns = 0;
	run->asked = NULL;
	run->wait = mr_docker_call_free(run->wait);
	mr_docker_watch_deinit(&run->watch);
	mr_docker_streams_close(&run->streams);
	run->has_streams = false;
	run->id[0] = '\0';
	run->news.used--;
	run->news.unfit++;
	snprintf(run->news.why, sizeof(run->news.why), "it ended before it took the run");
	mr_docker_prepared_deinit(&run->prepared);
	return r;
}

static int use_prepared(struct run *run, struct mr_error *err)
{
	struct mr_docker_prepared *p = &run->prepared;
	int r = mr_docker_lease_adopt(&run->lease, p->id, err);

	memcpy(run->id, p->container, sizeof(run->id));
	run->facts.uid = p->uid;
	run->facts.gid = p->gid;
	run->asked = p->asked;
	if (r == 0)
		r = mr_docker_make_snippet(p->folder, &run->child, err);
	if (r == 0)
		r = open_streams(run, err);
	if (r == 0)
		r = give_order(run, err);
	return r;
}

/* In a prepared container: 0; 1 when there is none that can be used. */
static int start_prepared(struct run *run, struct mr_error *err)
{
	const char *why;
	int r;

	if (!mr_docker_pool_fits(&run->plan, &why)) {
		run->facts.pool = why;
		return 1;
	}
	while ((r = mr_docker_pool_take(&run->plan, &run->prepared, &run->news, err)) == 0) {
		r = use_prepared(run, err);
		if (r <= 0) {
			run->facts.pool = "used";
			return r;
		}
		r = forget_prepared(run, err);
		if (r < 0)
			return r;
	}
	run->facts.pool = "none was ready";
	return r;
}

/* An engine that does not do as it is told is lost. */
static int judge_engine(const struct run *run, struct mr_error *err)
{
	if (run->kill_error.code) {
		*err = run->kill_error;
		return -(err->errnum ? err->errnum : EINVAL);
	}
	if (run->killed_ns && mr_now_ns() - run->killed_ns > MR_PATIENCE_NS(DOCKER_END))
		return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
			      "the engine has not ended the container %ju ms after it was told to",
			      (uintmax_t)MR_PATIENCE_MS(DOCKER_END));
	return 0;
}

static int follow(struct run *run, struct mr_error *err)
{
	int r = 0;

	while (r == 0 && !run->ended) {
		r = turn(run, err);
		if (r == 0)
			r = take_end(run, err);
		if (r == 0 && !run->ended) {
			judge_time(run);
			take_kill(run);
			r = judge_engine(run, err);
			if (r == 0)
				r = look(run, err);
		}
	}
	return r;
}

/* --- finish ---------------------------------------------------------------------------------------- */

/* What was written before the end is on its way.  Who reads it from us may take his time until a signal
 * comes, as natively; an engine that neither hands over more nor ends has lost some of it. */
static int drain(struct run *run, struct mr_error *err)
{
	const uint64_t most = (run->spec->limits_drain_ms + MR_PATIENCE_MS(DOCKER_END)) * MS;
	uint64_t until = run->facts.end_ns + most;
	bool told = false;
	int r = 0;

	mr_docker_streams_stop_input(&run->streams);
	while (r == 0 && !mr_docker_streams_ended(&run->streams) && !run->dropped) {
		const bool blocked = mr_docker_streams_is_blocked(&run->streams);

		if (blocked && !told)
			told = mr_errand_waits_for_reader(run->errand);
		if (blocked || run->streams.moved)
			until = mr_now_ns() + most;
		else if (mr_now_ns() >= until)
			return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
				      "the engine keeps back the end of the output");
		run->streams.moved = false;
		r = turn(run, err);
	}
	if (r == 0 && run->streams.total > run->spec->limits_output_bytes &&
	    run->facts.facts.kill == MR_KILL_NONE)
		run->facts.facts.kill = MR_KILL_OUTPUT;
	return r;
}

static int read_state(struct run *run, struct mr_error *err)
{
	mr_auto_json json_t *shown = NULL;
	struct mr_docker_state state = { 0 };
	int r = mr_docker_make_inspect(run->docker, run->id, &shown, err);

	if (r == 0)
		r = mr_docker_reply_state(shown, &state, err);
	if (r < 0)
		return r;
	run->facts.facts.oom_kills = state.oom_killed;
	return 0;
}

static void fail(struct run *run, const struct mr_error *err)
{
	run->error = *err;
	run->facts.error = &run->error;
	run->facts.lost = run->started;
	if (run->started) {
		/* Whatever the engine refuses now: it has begun, and no other backend may do it again. */
		if (run->error.code == MR_E_KERNEL)
			run->error.code = MR_E_PROTO;
		return;
	}
	run->facts.facts.setup_failed = true;
	run->facts.facts.setup_exit_status = mr_errc_exit_status(err->code);
}

/* Also one whose making nobody told us the end of. */
static int remove_container(struct run *run, struct mr_error *err)
{
	if (run->prepared.record.fd >= 0)
		return mr_docker_pool_discard(run->docker, &run->prepared, err);
	return run->asked ? mr_docker_lease_remove(run->docker, run->errand->run_id, err) : 0;
}

static void remove_all(struct run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	run->look = mr_docker_call_free(run->look);
	run->wait = mr_docker_call_free(run->wait);
	run->kill = mr_docker_call_free(run->kill);
	if (run->has_streams)
		mr_docker_streams_cut(&run->streams);
	if (remove_container(run, &err) >= 0) {
		mr_docker_lease_close(&run->lease);
		return;
	}
	mr_log_warn("%s; it is tried again, and by the next start", err.msg);
	mr_docker_lease_abandon(&run->lease);
}

static void deinit(struct run *run)
{
	for (size_t i = 0; run->child.envp && run->child.envp[i]; i++)
		free(run->child.envp[i]);
	free(run->child.envp);
	if (run->resolved)
		mr_program_release(&run->child);
	if (run->has_streams)
		mr_docker_streams_close(&run->streams);
	if (run->asked != run->prepared.asked)
		json_decref(run->asked);
	mr_docker_prepared_deinit(&run->prepared);
	mr_docker_watch_deinit(&run->watch);
	mr_docker_free(run->docker);
	mr_close(run->signal_fd);
}

static json_t *result_of(struct run *run)
{
	struct mr_docker_facts *f = &run->facts;

	f->container = run->id;
	f->image = run->plan.image;
	f->asked = run->asked;
	if (!f->engine)
		f->engine = "";
	if (!f->end_ns && f->go_ns)
		f->end_ns = mr_now_ns();
	f->done_ns = mr_now_ns();
	mr_clock_read(&f->clock_done);
	f->telemetry =
		mr_docker_watch_to_json(&run->watch,
					f->lost || mr_verdict_reach(&f->facts).exit_status != 0);
	if (run->has_streams) {
		f->facts.output_lost = run->streams.lost;
		f->out = &run->streams.sinks[0].capture;
		f->err = &run->streams.sinks[1].capture;
	}
	return mr_docker_result_make(f);
}

static int begin(struct run *run, struct mr_error *err)
{
	int r = start_prepared(run, err);

	if (r <= 0)
		return r;
	r = make(run, err);
	return r < 0 ? r : start(run, err);
}

json_t *mr_docker_run(const struct mr_errand *errand, struct mr_docker_pool_news *ret_news)
{
	struct run run = { .errand = errand,
			   .spec = &errand->spec,
			   .child = { .spec = &errand->spec },
			   .lease = { .dir_fd = -1, .fd = -1, .keeper_fd = -1 },
			   .prepared = { .record = { .fd = -1 }, .pool_fd = -1 },
			   .signal_fd = -1,
			   .facts = { .spec = &errand->spec, .run_id = errand->run_id } };
	struct mr_error err = MR_ERROR_INIT;
	json_t *result;
	int r;

	run.facts.start_real_ns = mr_clock_ns(MR_CLOCK_REAL);
	mr_clock_read(&run.facts.clock_start);
	run.facts.begin_ns = mr_now_ns();
	r = prepare(&run, &err);
	if (r == 0)
		r = sweep(&run, &err);
	if (r == 0)
		r = mr_docker_image_find(run.docker, run.spec, run.plan.image, &err);
	if (r == 0)
		r = begin(&run, &err);
	if (r == 0)
		r = follow(&run, &err);
	if (r == 0)
		r = drain(&run, &err);
	if (r == 0)
		r = read_state(&run, &err);
	if (r < 0)
		fail(&run, &err);
	if (run.ended)
		mr_docker_watch_end(&run.watch);
	remove_all(&run);
	mr_docker_watch_end(&run.watch);
	result = result_of(&run);
	*ret_news = run.news;
	deinit(&run);
	return result;
}
