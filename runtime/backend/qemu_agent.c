/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent
 *
 * One loop for one machine.  The port is read only while nothing of what it brought waits for a
 * slow reader, but to its end even if QEMU has ended.  finish() is called once, by whatever ends it
 * first; then the machine goes, and what the program wrote is passed on.
 */
#include "runtime/backend/qemu_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/errand.h"
#include "runtime/backend/qemu_flow.h"
#include "runtime/backend/qemu_tail.h"
#include "runtime/backend/qemu_wire.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/json.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/spec/spec.h"

#define CHUNK 16384
#define MS 1000000ULL
#define RESULT_MAX 4096
#define LINE_MAX_BYTES 64 /* of the greeting */
#define EXIT_MAX 255
#define SIGNAL_MAX 64

struct agent {
	const struct mr_agent_opts *opts;
	struct mr_agent_report *report;
	struct mr_loop *loop;
	struct mr_wire wire;
	pid_t qemu; /* 0: not running */
	struct mr_source port, console, log, qemu_end, timer, abandoned, signals;
	int port_fd, console_fd, log_fd, qemu_pidfd, timer_fd; /* owned */
	struct mr_capture log_tail;
	struct mr_buf queue; /* for the agent */
	size_t queue_at;
	struct mr_buf result;
	struct mr_flow out, err;
	char line[LINE_MAX_BYTES]; /* the last one that came, as far as it fits */
	size_t line_len;
	uint64_t noise; /* bytes before the greeting */
	uint64_t output_bytes;
	uint64_t begin_ns;
	bool paused, port_over, done;
};

static void finish(struct agent *a, enum mr_agent_end end)
{
	if (a->done)
		return;
	a->report->end = end;
	a->done = true;
}

static void __attribute__((format(printf, 5, 6)))
stop_for(struct agent *a, enum mr_agent_end end, enum mr_errc code, int errnum, const char *fmt,
	 ...)
{
	char text[400];
	va_list args;

	if (a->done)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	mr_err(&a->report->error, code, errnum, "%s", text);
	finish(a, end);
}

static void fail_with(struct agent *a, const struct mr_error *why)
{
	stop_for(a, MR_AGENT_FAILED, why->code, why->errnum, "%.390s", why->msg);
}

static uint64_t since_begin(const struct agent *a)
{
	return mr_now_ns() - a->begin_ns;
}

/* --- time ----------------------------------------------------------------------------- */

/* For a QEMU that has ended there is no time any more. */
static void arm(struct agent *a, uint64_t at_ns)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_timer_arm(a->timer_fd, a->report->has_exit ? 0 : at_ns, &err) < 0)
		fail_with(a, &err);
}

static uint64_t agent_ns(const struct agent *a)
{
	const struct mr_spec *spec = a->opts->spec;

	return (spec->sandbox_vm_agent_ms < spec->limits_wall_ms ? spec->sandbox_vm_agent_ms
								 : spec->limits_wall_ms) *
	       MS;
}

static bool is_mute(const struct agent *a)
{
	return mr_capture_total(&a->report->console) == 0 && a->noise == 0 &&
	       !a->report->greeted_ns;
}

static void on_silence(struct agent *a)
{
	if (a->opts->firmware_ns > 0 && is_mute(a)) {
		a->report->is_mute = true;
		stop_for(a, MR_AGENT_FAILED, MR_E_KERNEL, ETIMEDOUT,
			 "timeout: not even the machine's firmware said a word");
	} else if (since_begin(a) < agent_ns(a)) {
		arm(a, a->begin_ns + agent_ns(a)); /* the firmware is up, and that was all */
	} else {
		stop_for(a, MR_AGENT_NONE, MR_E_SYS, ETIMEDOUT,
			 "timeout: no agent in the guest after %.1f s (\"" MR_AGENT_GREETING
			 "" MR_AGENT_VERSION "\" on its second serial port)",
			 (double)agent_ns(a) / 1e9);
	}
}

static void on_timer(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;

	(void)events;
	mr_timer_ack(source->fd);
	if (a->report->greeted_ns)
		finish(a, MR_AGENT_WALL);
	else
		on_silence(a);
}

static void arm_for_run(struct agent *a)
{
	const uint64_t wall_ms = a->opts->spec->limits_wall_ms;

	arm(a, wall_ms == MR_UNLIMITED ? 0 : a->begin_ns + wall_ms * MS);
}

/* --- to the agent --------------------------------------------------------------------- */

static void on_port(struct mr_source *source, uint32_t events);

/* While nothing is wanted of it, it is not in the loop, which would tell of its end over and over. */
static void watch_port(struct agent *a)
{
	struct mr_error err = MR_ERROR_INIT;
	uint32_t events = (a->paused ? 0 : EPOLLIN) | (a->queue_at < a->queue.len ? EPOLLOUT : 0);
	int r = 0;

	if (a->done || a->port_over)
		return;
	if (events == 0)
		mr_loop_remove(a->loop, &a->port);
	else if (a->port.fd >= 0)
		r = mr_loop_modify(a->loop, &a->port, events, &err);
	else
		r = mr_loop_add(a->loop, &a->port, a->port_fd, events, on_port, a, &err);
	if (r < 0)
		fail_with(a, &err);
}

static void queue_order(struct agent *a)
{
	mr_wire_queue_text(&a->queue, MR_WIRE_SPEC, a->opts->order);
	mr_wire_queue(&a->queue, MR_WIRE_START, NULL, 0);
	watch_port(a);
}

static void flush_queue(struct agent *a)
{
	while (a->queue_at < a->queue.len) {
		ssize_t n = send(a->port_fd, a->queue.text + a->queue_at,
				 a->queue.len - a->queue_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/* Where QEMU is gone its end says why. */
		a->queue_at = n < 0 ? a->queue.len : a->queue_at + (size_t)n;
	}
	if (a->queue_at == a->queue.len) {
		mr_buf_clear(&a->queue);
		a->queue_at = 0;
	}
	watch_port(a);
}

/* --- from the agent: the greeting ------------------------------------------------------ */

static void greet(struct agent *a)
{
	a->report->greeted_ns = since_begin(a);
	mr_wire_init(&a->wire, MR_WIRE_GUEST);
	arm_for_run(a);
	queue_order(a);
}

/* A whole line: is it the greeting? */
static void take_line(struct agent *a)
{
	static const char greeting[] = MR_AGENT_GREETING;
	const char *version = a->line + strlen(greeting);
	char quoted[MR_STR_QUOTE_SIZE];

	if (a->line_len > 0 && a->line[a->line_len - 1] == '\r')
		a->line_len--;
	a->line[a->line_len < LINE_MAX_BYTES ? a->line_len : LINE_MAX_BYTES - 1] = '\0';
	a->line_len = 0;
	if (strncmp(a->line, greeting, strlen(greeting)) != 0)
		return;
	if (strcmp(version, MR_AGENT_VERSION) == 0)
		greet(a);
	else
		stop_for(a, MR_AGENT_NONE, MR_E_SYS, EPROTONOSUPPORT,
			 "the guest's agent speaks version %s, not " MR_AGENT_VERSION,
			 mr_str_quote(quoted, sizeof(quoted), version));
}

/* Bytes until the greeting is found; how many were taken. */
static size_t seek_greeting(struct agent *a, const unsigned char *buf, size_t size)
{
	size_t i = 0;

	while (i < size && !a->report->greeted_ns && !a->done) {
		const char c = (char)buf[i++];

		if (c == '\n')
			take_line(a);
		else if (a->line_len < LINE_MAX_BYTES - 1)
			a->line[a->line_len++] = c;
		else
			a->line[0] = '\0'; /* too long to be one */
	}
	if (!a->report->greeted_ns)
		a->noise += i;
	if (a->noise > MR_AGENT_NOISE_MAX)
		stop_for(a, MR_AGENT_NONE, MR_E_SYS, EPROTO,
			 "the guest floods its second serial port (more than %d bytes), and no "
			 "line "
			 "of it is an agent's",
			 MR_AGENT_NOISE_MAX);
	return i;
}

/* --- from the agent: frames ------------------------------------------------------------ */

/* Nothing waits any more for a slow reader, or all was passed on to it. */
static void on_flow_change(void *owner)
{
	struct agent *a = owner;

	a->paused = mr_flow_waits(&a->out) || mr_flow_waits(&a->err);
	watch_port(a);
}

/* Who reads is not waited for any more. */
static void drop_output(struct agent *a)
{
	mr_flow_drop(&a->out);
	mr_flow_drop(&a->err);
	on_flow_change(a);
}

static int put_output(struct agent *a, struct mr_flow *flow, const unsigned char *body, size_t size,
		      struct mr_error *err)
{
	const uint64_t limit = a->opts->spec->limits_output_bytes;
	uint64_t room = limit == MR_UNLIMITED ? size : limit - a->output_bytes;
	int r = 0;

	if (room > size)
		room = size;
	if (room > 0)
		r = mr_flow_put(flow, body, room, err);
	a->output_bytes += room;
	a->paused |= mr_flow_waits(flow);
	watch_port(a);
	if (room < size)
		finish(a, MR_AGENT_OUTPUT);
	return r;
}

static int take_started(struct agent *a, struct mr_error *err)
{
	if (a->report->started)
		return mr_err(err, MR_E_PROTO, EPROTO, "STARTED twice");
	a->report->started = true;
	a->report->started_ns = since_begin(a);
	return 0;
}

static int take_fail(struct agent *a, const unsigned char *body, size_t size)
{
	char quoted[400];
	mr_auto_free char *text = mr_str_ndup((const char *)body, size);

	mr_str_quote(quoted, sizeof(quoted), text);
	stop_for(a, MR_AGENT_FAILED, MR_E_PROTO, ENOEXEC, "agent: %s", quoted);
	return 0;
}

static int take_result(struct agent *a, const unsigned char *body, size_t size,
		       struct mr_error *err)
{
	if (a->result.len + size > RESULT_MAX)
		return mr_err(err, MR_E_PROTO, EFBIG, "a result of more than %d bytes", RESULT_MAX);
	mr_buf_addn(&a->result, (const char *)body, size);
	return 0;
}

static int take_end(struct agent *a, struct mr_error *err)
{
	int r = mr_agent_read_result(a->result.text, a->result.len, &a->report->wait_status, err);

	if (r == 0)
		finish(a, MR_AGENT_RESULT);
	return r;
}

static int take(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		struct mr_error *err)
{
	struct agent *a = owner;

	if (a->done)
		return 0;
	if (type == MR_WIRE_STARTED)
		return take_started(a, err);
	if (type == MR_WIRE_FAIL)
		return take_fail(a, body, size);
	if (!a->report->started)
		return mr_err(err, MR_E_PROTO, EPROTO, "frame %d before STARTED", type);
	switch (type) {
	case MR_WIRE_OUT:
		return put_output(a, &a->out, body, size, err);
	case MR_WIRE_ERR:
		return put_output(a, &a->err, body, size, err);
	case MR_WIRE_RESULT:
		return take_result(a, body, size, err);
	case MR_WIRE_END:
		return take_end(a, err);
	default:
		return mr_err(err, MR_E_PROTO, EPROTO, "frame %d is not for an agent to send",
			      type);
	}
}

static void take_bytes(struct agent *a, const unsigned char *buf, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	size_t used = a->report->greeted_ns ? 0 : seek_greeting(a, buf, size);

	if (used < size && a->report->greeted_ns && !a->done &&
	    mr_wire_feed(&a->wire, buf + used, size - used, take, a, &err) < 0)
		stop_for(a, MR_AGENT_FAILED, err.code, err.errnum, "garbage from the agent: %.300s",
			 err.msg);
}

static void judge_qemu_end(struct agent *a);

/* Of a QEMU that has ended nothing comes but what is there. */
static void end_port(struct agent *a)
{
	mr_loop_remove(a->loop, &a->port);
	a->port_over = true;
	if (a->report->has_exit)
		judge_qemu_end(a);
}

static void on_port(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;
	unsigned char buf[CHUNK];
	ssize_t n;

	if (events & EPOLLOUT)
		flush_queue(a);
	if (a->paused || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(a->port_fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !a->report->has_exit)))
		return;
	if (n <= 0)
		end_port(a);
	else
		take_bytes(a, buf, (size_t)n);
}

int mr_agent_read_result(const char *text, size_t size, int *ret_status, struct mr_error *err)
{
	mr_auto_json json_t *json = NULL;
	const json_t *code, *sig;
	int r = mr_json_parse(text ? text : "", size, "result", &json, err);

	if (r < 0) {
		err->code = MR_E_PROTO;
		return mr_err_wrap(err, r, "the agent's");
	}
	code = json_object_get(json, "exit");
	sig = json_object_get(json, "signal");
	if (json_object_size(json) == 1 && json_is_integer(code) && json_integer_value(code) >= 0 &&
	    json_integer_value(code) <= EXIT_MAX) {
		*ret_status = W_EXITCODE((int)json_integer_value(code), 0);
		return 0;
	}
	if (json_object_size(json) == 1 && json_is_integer(sig) && json_integer_value(sig) > 0 &&
	    json_integer_value(sig) <= SIGNAL_MAX) {
		*ret_status = W_EXITCODE(0, (int)json_integer_value(sig));
		return 0;
	}
	return mr_err(err, MR_E_PROTO, EPROTO,
		      "the agent's result is neither {\"exit\": 0 to 255} nor {\"signal\": 1 to "
		      "64}");
}

/* --- what else happens ---------------------------------------------------------------- */

static void on_console(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;

	(void)events;
	mr_tail_read(a->loop, source, &a->report->console);
}

static void on_log(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;

	(void)events;
	mr_tail_read(a->loop, source, &a->log_tail);
}

static void read_rest(struct agent *a)
{
	mr_tail_read_rest(a->loop, &a->console, &a->report->console);
	mr_tail_read_rest(a->loop, &a->log, &a->log_tail);
}

static void judge_qemu_end(struct agent *a)
{
	const int status = a->report->qemu_status;
	char log[MR_TAIL_LOG];

	a->report->is_mute = WIFEXITED(status) && is_mute(a);
	mr_tail_line(&a->log_tail, log, sizeof(log));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !a->report->greeted_ns)
		stop_for(a, MR_AGENT_NONE, MR_E_SYS, ECHILD,
			 "the guest has ended its machine, and had no agent");
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		stop_for(a, MR_AGENT_FAILED, MR_E_PROTO, ECHILD,
			 "the guest has ended its machine before its agent told a result");
	else if (WIFEXITED(status))
		stop_for(a, MR_AGENT_FAILED, MR_E_PROTO, ECHILD,
			 "QEMU ended with status %d%s%.300s", WEXITSTATUS(status),
			 log[0] ? ": " : "", log);
	else
		stop_for(a, MR_AGENT_FAILED, MR_E_PROTO, ECHILD,
			 "QEMU was ended by signal %d%s%.300s", WTERMSIG(status),
			 log[0] ? ": " : "", log);
}

/* The port may still hold the result.  It is read to its end, at the pace of whoever reads the output,
 * which is all that takes time from here on. */
static void read_last_words(struct agent *a)
{
	arm(a, 0);
	while (!a->port_over && !a->paused && !a->done)
		on_port(&a->port, EPOLLIN);
	if (a->paused && !a->done)
		mr_errand_waits_for_reader(a->opts->errand);
}

static void on_qemu_end(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;

	(void)events;
	if (!mr_wait_now(a->qemu, &a->report->qemu_status))
		return;
	a->qemu = 0;
	a->report->has_exit = true;
	mr_loop_remove(a->loop, source);
	read_rest(a);
	if (a->port_over)
		judge_qemu_end(a);
	else
		read_last_words(a);
}

static void on_abandoned(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;

	(void)events;
	finish(a, MR_AGENT_ABANDONED);
	a->report->end = MR_AGENT_ABANDONED;
	drop_output(a);
}

/* The program cannot be reached by a signal, so whoever wants it to end ends the machine. */
static void on_signal(struct mr_source *source, uint32_t events)
{
	struct agent *a = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2)
			continue;
		/* The caller's reader may be what holds us. */
		if (a->done || a->report->has_exit) {
			drop_output(a);
			continue;
		}
		a->report->user_signal = (int)info.ssi_signo;
		finish(a, MR_AGENT_KILLED);
	}
}

/* --- making it, and the end ------------------------------------------------------------ */

static int make_pair(int *ret_ours, int *ret_its, struct mr_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno, "socketpair: %m");
	*ret_ours = pair[0];
	*ret_its = pair[1];
	return 0;
}

static int start_qemu(struct agent *a, struct mr_error *err)
{
	struct mr_disk_machine_opts machine = a->opts->machine;
	mr_auto_close int port = -1, console = -1, log = -1;
	int r = make_pair(&a->port_fd, &port, err);

	if (r == 0)
		r = make_pair(&a->console_fd, &console, err);
	if (r == 0)
		r = make_pair(&a->log_fd, &log, err);
	if (r < 0)
		return r;
	machine.agent_fd = port;
	machine.console_fd = console;
	machine.log_fd = log;
	machine.group = a->opts->group;
	return mr_disk_machine_start(&machine, &a->qemu, err);
}

static int watch_all(struct agent *a, struct mr_error *err)
{
	const struct {
		struct mr_source *source;
		int fd;
		uint32_t events;
		void (*on_event)(struct mr_source *, uint32_t);
	} rows[] = {
		{ &a->qemu_end, a->qemu_pidfd, EPOLLIN, on_qemu_end },
		{ &a->port, a->port_fd, EPOLLIN, on_port },
		{ &a->console, a->console_fd, EPOLLIN, on_console },
		{ &a->log, a->log_fd, EPOLLIN, on_log },
		{ &a->timer, a->timer_fd, EPOLLIN, on_timer },
		{ &a->abandoned, a->opts->errand->report_fd, 0, on_abandoned },
		{ &a->signals, a->opts->signals_fd, EPOLLIN, on_signal },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(rows); i++)
		if (rows[i].fd >= 0)
			r = mr_loop_add(a->loop, rows[i].source, rows[i].fd, rows[i].events,
					rows[i].on_event, a, err);
	return r;
}

static int start(struct agent *a, struct mr_error *err)
{
	const struct mr_agent_opts *o = a->opts;
	const uint64_t first_ns =
		o->firmware_ns > 0 && o->firmware_ns < agent_ns(a) ? o->firmware_ns : agent_ns(a);
	int r = mr_loop_new(&a->loop, err);

	if (r == 0)
		r = a->timer_fd = mr_timer_open(err);
	if (r >= 0)
		r = mr_flow_open(&a->out, a->loop, o->spec, o->stdout_fd, on_flow_change, a, err);
	if (r == 0)
		r = mr_flow_open(&a->err, a->loop, o->spec, o->stderr_fd, on_flow_change, a, err);
	if (r == 0)
		r = start_qemu(a, err);
	if (r < 0)
		return r;
	a->qemu_pidfd = mr_pidfd_open(a->qemu, 0);
	if (a->qemu_pidfd < 0)
		return mr_err(err, MR_E_SYS, errno, "pidfd: %m");
	r = watch_all(a, err);
	if (r == 0)
		arm(a, a->begin_ns + first_ns);
	return r;
}

/* Whatever ended it; of the loop only who may want no more output is left. */
static void end_machine(struct agent *a)
{
	struct mr_source *const its[] = { &a->port, &a->console, &a->log, &a->qemu_end, &a->timer };

	if (a->qemu > 0) {
		kill(a->qemu, SIGKILL);
		mr_wait(a->qemu);
	}
	read_rest(a);
	for (size_t i = 0; i < N_ELEMENTS(its); i++)
		mr_loop_remove(a->loop, its[i]);
}

static void stop(struct agent *a)
{
	const bool out_lost = mr_flow_stop(&a->out, &a->report->out);
	const bool err_lost = mr_flow_stop(&a->err, &a->report->err);

	a->report->output_lost = out_lost || err_lost;
	mr_capture_deinit(&a->log_tail);
	mr_buf_deinit(&a->queue);
	mr_buf_deinit(&a->result);
	a->loop = mr_loop_free(a->loop);
	mr_close(a->port_fd);
	mr_close(a->console_fd);
	mr_close(a->log_fd);
	mr_close(a->qemu_pidfd);
	mr_close(a->timer_fd);
}

static struct agent *make(const struct mr_agent_opts *opts, struct mr_agent_report *report)
{
	struct agent *a = mr_str_alloc(sizeof(*a));
	struct mr_source *const sources[] = { &a->port,	 &a->console,	&a->log,    &a->qemu_end,
					      &a->timer, &a->abandoned, &a->signals };

	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		sources[i]->fd = -1;
	a->port_fd = a->console_fd = a->log_fd = a->qemu_pidfd = a->timer_fd = -1;
	a->opts = opts;
	a->report = report;
	a->begin_ns = mr_now_ns();
	mr_capture_init(&a->log_tail, 0, MR_TAIL_LOG);
	mr_capture_init(&report->console, 0, MR_AGENT_CONSOLE_TAIL);
	return a;
}

void mr_agent_run(const struct mr_agent_opts *opts, struct mr_agent_report *ret)
{
	struct mr_error err = MR_ERROR_INIT;
	struct agent *a;
	int r;

	*ret = (struct mr_agent_report){ .end = MR_AGENT_FAILED };
	a = make(opts, ret);
	r = start(a, &err);
	while (r >= 0 && !a->done)
		r = mr_loop_run_once(a->loop, -1, &err);
	if (r < 0)
		fail_with(a, &err);
	end_machine(a);
	if (ret->end != MR_AGENT_ABANDONED)
		mr_flow_drain(&a->out, &a->err, opts->errand);
	stop(a);
	free(a);
}

void mr_agent_report_deinit(struct mr_agent_report *report)
{
	mr_capture_deinit(&report->out);
	mr_capture_deinit(&report->err);
	mr_capture_deinit(&report->console);
}
