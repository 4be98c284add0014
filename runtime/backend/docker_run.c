/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, run
 *
 *   prepare   lease, keeper, files           nothing of the engine's yet
 *   make      sweep, image, create, compare what is shown with what was asked for
 *   start     streams connected, then started: from here on the payload lives
 *   follow    until the engine says that it ended, or a limit or a signal ends it
 *   finish    drain, state, remove, result
 *
 * Whatever fails, finish comes.  An engine that fails before the start is one that cannot do this
 * run (setup_error, MR_E_KERNEL: another backend may); one that is lost afterwards is
 * reason supervisor_lost, for nobody knows what the payload has done.
 */
#include "runtime/backend/docker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_image.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_result.h"
#include "runtime/backend/docker_streams.h"
#include "runtime/backend/errand.h"
#include "runtime/backend/handover.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/launch/steps.h"

#define LOOK_MS 100 /* between looks at the statistics, where a limit needs them */
#define SAMPLE_MS 500 /* likewise, where only the result does */
#define END_MS 10000 /* for the engine to end what it was told to kill */
#define DRAIN_MS 2000 /* for the engine to hand over what came, beyond limits.drain_ms */
#define NEVER UINT64_MAX
#define MS UINT64_C(1000000)

struct run {
	const struct mr_errand *errand;
	const struct mr_spec *spec;
	struct mr_docker *docker;
	struct mr_docker_lease lease;
	struct mr_child child; /* program and environment, as a native run has them */
	bool resolved;
	char image[MR_DOCKER_IMAGE_ID_SIZE], id[MR_DOCKER_ID_SIZE], init[MR_SIBLING_MAX];
	json_t *asked;
	struct mr_docker_streams streams;
	bool has_streams;
	struct mr_docker_call *wait, *look, *kill;
	int signal_fd;

	struct mr_docker_facts facts;
	struct mr_error error;
	bool started, ended, abandoned;
	unsigned int interrupts;
	uint64_t killed_ns; /* when the engine was told to; 0: not yet */
	struct mr_error kill_error; /* code set: it could not be told */
	uint64_t grace_at_ns, look_at_ns, drain_until_ns;
	uint64_t active_ns, seen_ns, seen_cpu_ns; /* for idleness */
};

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- prepare ------------------------------------------------------------------------------------- */

static int open_signals(struct run *run, struct mr_error *err)
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N_ELEMENTS(taken); i++)
		sigaddset(&set, taken[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "signals: %m");
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? mr_err(err, MR_E_SYS, errno, "signalfd: %m") : 0;
}

/* A remote engine has none of this host's files. */
static int check_files(const struct run *run, struct mr_error *err)
{
	const struct mr_spec *spec = run->spec;
	bool needs = !spec->sandbox_image[0] || run->child.snippet_name;

	for (size_t i = 0; i < spec->n_mounts; i++)
		needs |= spec->mounts[i].source != NULL;
	if (!needs || mr_docker_is_local(run->docker))
		return 0;
	return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
		      "the engine at %.100s is reached by TCP and has no files of this host: "
		      "without sandbox.image, with a snippet or with --ro and --rw it cannot do it",
		      mr_docker_name(run->docker));
}

/* The API is JSON, which has no other bytes. */
static int check_text(const char *text, const char *what, struct mr_error *err)
{
	if (!text || mr_str_utf8_valid(text, strlen(text)))
		return 0;
	return mr_err(err, MR_E_KERNEL, EILSEQ,
		      "%s: the Docker API has no way to hand over what is not UTF-8", what);
}

static int check_texts(const struct run *run, struct mr_error *err)
{
	const struct mr_spec *spec = run->spec;
	int r = check_text(spec->sandbox_cwd, "working directory", err);

	if (r == 0)
		r = check_text(run->child.snippet_name, "snippet", err);
	for (size_t i = 0; r == 0 && run->child.argv && run->child.argv[i]; i++)
		r = check_text(run->child.argv[i], "argument", err);
	for (size_t i = 0; r == 0 && run->child.envp && run->child.envp[i]; i++)
		r = check_text(run->child.envp[i], "environment", err);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		r = check_text(spec->mounts[i].source, "mount", err);
		if (r == 0)
			r = check_text(spec->mounts[i].dest, "mount", err);
	}
	return r;
}

static int write_file(const struct run *run, const char *name, const char *text, size_t size,
		      mode_t mode, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s", run->lease.folder, name);
	mr_auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : mr_write_full(fd, text, size);

	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write %s: %m", path) : 0;
}

static int write_etc(const struct run *run, struct mr_error *err)
{
	static const char *const names[] = { MR_DOCKER_ETC };
	const unsigned int uid = run->facts.uid, gid = run->facts.gid;
	char *const texts[N_ELEMENTS(names)] = {
		mr_str_format("root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
			      "sandbox:x:%u:%u:sandbox:/work:/bin/sh\n"
			      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			      uid, gid),
		mr_str_format("root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n", gid),
		mr_str_format("127.0.0.1 localhost %s\n::1 localhost ip6-localhost\n",
			      run->spec->sandbox_hostname),
		mr_str_dup("# no network\n"),
		mr_str_dup("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
			   "services: files\nprotocols: files\n"),
	};
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		if (r == 0)
			r = write_file(run, names[i], texts[i], strlen(texts[i]), 0444, err);
		free(texts[i]);
	}
	return r;
}

static int write_files(struct run *run, struct mr_error *err)
{
	int r = write_etc(run, err);

	if (r == 0 && run->child.snippet_name)
		r = write_file(run, "snippet", run->child.snippet_text, run->child.snippet_size,
			       0555, err);
	return r;
}

/* As root an id of its own as natively; else the caller's, who has rights to no other. */
static int choose_ids(struct run *run, struct mr_error *err)
{
	struct mr_ids ids = { 0 };
	int r = mr_launch_ids(run->spec, 0, &ids, err);

	if (r < 0)
		return r;
	run->facts.uid = ids.userns && run->spec->sandbox_uid == MR_UNSET ? geteuid() : ids.uid;
	run->facts.gid = ids.userns && run->spec->sandbox_gid == MR_UNSET ? getegid() : ids.gid;
	return 0;
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
		r = mr_sibling_find("menace-init", run->init, err);
	if (r == 0)
		r = choose_ids(run, err);
	if (r == 0)
		r = mr_program_resolve(&run->child, err);
	if (r < 0)
		return r;
	run->resolved = true;
	run->child.envp = mr_env_build(run->spec);
	run->facts.engine = mr_docker_name(run->docker);
	r = check_texts(run, err);
	if (r == 0)
		r = check_files(run, err);
	return r < 0 ? r : write_files(run, err);
}

/* --- make ------------------------------------------------------------------------------------------ */

static json_t *body_of(const struct run *run)
{
	mr_auto_free char *snippet = mr_str_format("%s/snippet", run->lease.folder);
	const struct mr_docker_create create = {
		.spec = run->spec,
		.run_id = run->errand->run_id,
		.lease = run->lease.label,
		.image = run->image,
		.host_system = !run->spec->sandbox_image[0],
		.init_file = run->init,
		.argv = run->child.argv,
		.envp = run->child.envp,
		.snippet_file = run->child.snippet_name ? snippet : NULL,
		.snippet_name = run->child.snippet_name,
		.etc_folder = run->lease.folder,
		.uid = run->facts.uid,
		.gid = run->facts.gid,
	};

	return mr_docker_create_body(&create);
}

/* Ask for a document. */
static int ask_json(struct run *run, const struct mr_docker_request *request, json_t **ret,
		    struct mr_error *err)
{
	struct mr_docker_answer answer = { 0 };
	int r = mr_docker_want(run->docker, request, &answer, err);

	if (r == 0)
		r = mr_docker_reply_parse(answer.body, answer.size, request->path, ret, err);
	mr_docker_answer_deinit(&answer);
	return r;
}

static int create(struct run *run, struct mr_error *err)
{
	mr_auto_free char *path =
		mr_str_format("/containers/create?name=" MR_DOCKER_NAME_PREFIX "%s",
			      run->errand->run_id);
	mr_auto_free char *body = NULL;
	mr_auto_json json_t *reply = NULL;
	struct mr_docker_request request = { .method = "POST",
					     .path = path,
					     .timeout_ms = MR_DOCKER_MAKE_MS };
	char warnings[300];
	int r;

	run->asked = body_of(run);
	request.body = body = json_dumps(run->asked, JSON_COMPACT);
	mr_assert(body);
	request.body_size = strlen(body);
	r = ask_json(run, &request, &reply, err);
	if (r == 0)
		r = mr_docker_reply_created(reply, run->id, warnings, sizeof(warnings), err);
	/* What an engine warns of is a limit that it leaves out. */
	if (r == 0 && warnings[0])
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "the engine would leave something out: %s", warnings);
	return r;
}

static int inspect(struct run *run, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/json", run->id);
	const struct mr_docker_request request = { .method = "GET", .path = path };

	return ask_json(run, &request, ret, err);
}

static int make(struct run *run, struct mr_error *err)
{
	mr_auto_json json_t *shown = NULL;
	int r = mr_docker_lease_sweep(run->docker, &run->lease, err);

	if (r >= 0)
		r = mr_docker_image_find(run->docker, run->spec, run->image, err);
	if (r == 0)
		r = create(run, err);
	if (r == 0)
		r = inspect(run, &shown, err);
	return r < 0 ? r : mr_docker_create_verify(run->asked, shown, err);
}

/* --- start ----------------------------------------------------------------------------------------- */

static int post(struct run *run, const char *verb, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/%s", run->id, verb);
	const struct mr_docker_request request = { .method = "POST",
						   .path = path,
						   .timeout_ms = run->started ? MR_DOCKER_TIMEOUT_MS
									      : MR_DOCKER_MAKE_MS };
	struct mr_docker_answer answer = { 0 };
	int r = mr_docker_want(run->docker, &request, &answer, err);

	mr_docker_answer_deinit(&answer);
	return r;
}

static int start(struct run *run, struct mr_error *err)
{
	mr_auto_free char *wait =
		mr_str_format("/containers/%s/wait?condition=not-running", run->id);
	const struct mr_docker_request request = { .method = "POST",
						   .path = wait,
						   .timeout_ms = NEVER };
	int r;

	run->has_streams = true;
	r = mr_docker_streams_open(run->docker, run->id, run->spec, STDIN_FILENO, STDOUT_FILENO,
				   MR_HANDOVER_FD_STDERR, &run->streams, err);
	if (r < 0)
		return r;
	r = post(run, "start", err);
	if (r < 0)
		return r;
	run->started = true;
	run->facts.go_ns = run->active_ns = run->seen_ns = mr_now_ns();
	return mr_docker_begin(run->docker, &request, &run->wait, err);
}

/* --- follow ---------------------------------------------------------------------------------------- */

/* Without waiting: an engine answers when the container has ended, which it does not while
 * nobody reads what it wrote. */
static void kill_container(struct run *run)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/kill?signal=KILL", run->id);
	const struct mr_docker_request request = { .method = "POST",
						   .path = path,
						   .timeout_ms = NEVER }; /* END_MS judges */

	run->killed_ns = mr_now_ns();
	mr_docker_streams_stop_input(&run->streams);
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
		run->look_at_ns = now + (needs_looks(run) ? LOOK_MS : SAMPLE_MS) * MS;
		if (r > 0)
			take_stats(run, &answer);
		mr_docker_answer_deinit(&answer);
		/* Limits that nobody can count any more are not in force. */
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
	uint64_t at = now + 200 * MS;

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
	run->facts.facts.wait_status =
		status > 128 && status <= 128 + 64 ? status - 128 : status << 8;
	run->facts.end_ns = mr_now_ns();
	run->ended = true;
	return 0;
}

/* One turn.  What menace-run does not want any more ends here, too. */
static int turn(struct run *run, struct mr_error *err)
{
	struct pollfd fds[MR_DOCKER_STREAMS_FDS + 2];
	size_t n = mr_docker_streams_wants(&run->streams, fds);
	int r;

	fds[n] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
	fds[n + 1] = (struct pollfd){ .fd = run->errand->report_fd };
	r = mr_docker_wait_some(run->docker, fds, n + 2, next_ms(run), err);
	if (r < 0)
		return r;
	if (fds[n + 1].revents & POLLERR) {
		run->abandoned = true;
		return mr_err(err, MR_E_SYS, EPIPE, "menace-run is gone");
	}
	take_signals(run);
	return mr_docker_streams_move(&run->streams, err);
}

/* An engine that does not do as it is told is lost. */
static int judge_engine(const struct run *run, struct mr_error *err)
{
	if (run->kill_error.code) {
		*err = run->kill_error;
		return -(err->errnum ? err->errnum : EINVAL);
	}
	if (run->killed_ns && mr_now_ns() - run->killed_ns > END_MS * MS)
		return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
			      "the engine has not ended the container %d ms after it was told to",
			      END_MS);
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

/* What was written before the end is on its way. */
static int drain(struct run *run, struct mr_error *err)
{
	const uint64_t until = run->facts.end_ns + (run->spec->limits_drain_ms + DRAIN_MS) * MS;
	int r = 0;

	mr_docker_streams_stop_input(&run->streams);
	while (r == 0 && !mr_docker_streams_ended(&run->streams) && mr_now_ns() < until)
		r = turn(run, err);
	if (r == 0 && run->streams.total > run->spec->limits_output_bytes &&
	    run->facts.facts.kill == MR_KILL_NONE)
		run->facts.facts.kill = MR_KILL_OUTPUT;
	return r;
}

static int read_state(struct run *run, struct mr_error *err)
{
	mr_auto_json json_t *shown = NULL;
	struct mr_docker_state state = { 0 };
	int r = inspect(run, &shown, err);

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
	if (run->started)
		return;
	run->facts.facts.setup_failed = true;
	run->facts.facts.setup_exit_status = mr_errc_exit_status(err->code);
}

/* Also one whose making nobody told us the end of. */
static void remove_all(struct run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	run->look = mr_docker_call_free(run->look);
	run->wait = mr_docker_call_free(run->wait);
	run->kill = mr_docker_call_free(run->kill);
	if (run->has_streams)
		mr_docker_streams_cut(&run->streams);
	if (!run->asked || mr_docker_lease_remove(run->docker, run->errand->run_id, &err) >= 0) {
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
	json_decref(run->asked);
	mr_docker_free(run->docker);
	mr_close(run->signal_fd);
}

static json_t *result_of(struct run *run)
{
	struct mr_docker_facts *f = &run->facts;

	f->container = run->id;
	f->image = run->image;
	f->asked = run->asked;
	if (!f->engine)
		f->engine = "";
	if (!f->end_ns && f->go_ns)
		f->end_ns = mr_now_ns();
	f->done_ns = mr_now_ns();
	if (run->has_streams) {
		f->out = &run->streams.sinks[0].capture;
		f->err = &run->streams.sinks[1].capture;
	}
	return mr_docker_result_make(f);
}

json_t *mr_docker_run(const struct mr_errand *errand)
{
	struct run run = { .errand = errand,
			   .spec = &errand->spec,
			   .child = { .spec = &errand->spec },
			   .lease = { .dir_fd = -1, .fd = -1, .keeper_fd = -1 },
			   .signal_fd = -1,
			   .facts = { .spec = &errand->spec, .run_id = errand->run_id } };
	struct mr_error err = MR_ERROR_INIT;
	json_t *result;
	int r;

	run.facts.start_real_ns = real_ns();
	run.facts.begin_ns = mr_now_ns();
	r = prepare(&run, &err);
	if (r == 0)
		r = make(&run, &err);
	if (r == 0)
		r = start(&run, &err);
	if (r == 0)
		r = follow(&run, &err);
	if (r == 0)
		r = drain(&run, &err);
	if (r == 0)
		r = read_state(&run, &err);
	if (r < 0)
		fail(&run, &err);
	remove_all(&run);
	result = result_of(&run);
	deinit(&run);
	return result;
}

int mr_docker_probe(json_t **ret_facts, struct mr_error *err)
{
	const struct mr_docker_request request = { .method = "GET",
						   .path = "/version",
						   .timeout_ms = MR_HANDOVER_PROBE_MS / 2 };
	struct mr_docker_answer answer = { 0 };
	struct mr_docker *docker = NULL;
	int r = mr_docker_open(&docker, err);

	if (r < 0)
		return r;
	r = mr_docker_want(docker, &request, &answer, err);
	if (r == 0)
		r = mr_docker_reply_parse(answer.body, answer.size, "version", ret_facts, err);
	mr_docker_answer_deinit(&answer);
	mr_docker_free(docker);
	return r;
}
