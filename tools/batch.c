/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch: one spec a line on standard input, one result a line on standard output
 *
 * Up to --jobs runs share one loop; each has a slot, which makes its ids distinct.
 * Results come in the order the runs end, with batch_index to tell them apart.
 * Input is read only when a slot is free and output is written without blocking,
 * so neither a fast writer nor a slow reader grows us or delays a deadline.
 * A run for whose set-up there are too few descriptors, while others have them, waits until one of
 * these has ended; alone it fails.
 * A line that is no valid spec gives a result with reason setup_error; the exit
 * status is then 2, or 125 when a valid one could not be set up or the input could not
 * be read to its end, else 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/supervise/pump.h"
#include "tools/session.h"
#include "tools/to_store.h"
#include "tools/where.h"

#define SLOTS_MAX 64
#define LINE_MAX_BYTES (32 * 1024 * 1024)
#define OUTPUT_HIGH (4 * 1024 * 1024) /* more than this waiting: start no run */
#define READ_SIZE 65536

struct slot {
	struct batch *batch;
	struct mr_run *run; /* one of ours, or NULL */
	struct mr_deputy *deputy; /* one that another backend does, or NULL */
	struct mr_where where;
	json_t *refused; /* result of our own, which was refused */
	struct mr_spec spec;
	uint64_t index;
	bool taken, done;
	bool waits; /* for descriptors that other runs have */
	bool alone; /* no other run went on when it was started */
};

struct buffer {
	char *data;
	size_t at, end, cap;
};

struct batch {
	struct mr_run_host *host;
	const struct mr_cli *cli;
	struct mr_ready_fds ready;
	struct slot slots[SLOTS_MAX];
	unsigned int jobs, busy;
	unsigned int waiting; /* of the busy slots: their runs are to be started again */
	struct mr_source input, output, signals;
	struct mr_source
		stall; /* timer: interrupted, and the reader of the results takes nothing */
	bool input_is_file, input_ended, interrupted;
	struct mr_sink_fd sink;
	struct mr_to_store store;
	struct buffer in, out;
	uint64_t next_index, next_line;
	int status;
};

static void grow(struct buffer *b, size_t more)
{
	if (b->at) {
		memmove(b->data, b->data + b->at, b->end - b->at);
		b->end -= b->at;
		b->at = 0;
	}
	if (b->end + more > b->cap) {
		b->cap = (b->end + more) * 2;
		b->data = realloc(b->data, b->cap);
		mr_assert(b->data);
	}
}

/* --- output ---------------------------------------------------------------- */

static void on_output(struct mr_source *source, uint32_t events);

/* From the first interrupt on, and again after each byte that the reader takes. */
static void arm_stall(struct batch *b)
{
	struct mr_error err;

	if (mr_timer_arm(b->stall.fd, mr_now_ns() + MR_PATIENCE_NS(READER_STALL), &err) < 0)
		mr_log_warn("%s", err.msg);
}

static void drop_results(struct batch *b)
{
	if (b->out.at < b->out.end)
		mr_log_error("nobody reads standard output: %zu bytes of results are dropped",
			     b->out.end - b->out.at);
	b->out.at = b->out.end = 0;
	mr_loop_remove(b->host->loop, &b->output);
}

/* Runs that still end have results to come: it is looked again. */
static void on_stall(struct mr_source *source, uint32_t events)
{
	struct batch *b = source->owner;

	(void)events;
	mr_timer_ack(source->fd);
	if (b->busy > 0)
		arm_stall(b);
	else
		drop_results(b);
}

static int watch_stall(struct batch *b, struct mr_error *err)
{
	mr_auto_close int timer = mr_timer_open(err);
	int r = timer;

	if (r >= 0)
		r = mr_loop_add(b->host->loop, &b->stall, timer, EPOLLIN, on_stall, b, err);
	if (r == 0)
		mr_take_fd(timer);
	return r;
}

static void end_stall(struct batch *b)
{
	const int timer = b->stall.fd;

	mr_loop_remove(b->host->loop, &b->stall);
	mr_close(timer);
}

/* An interrupt wins over results that nobody reads; a reader that still reads gets all of them. */
static void interrupt(struct batch *b, int sig)
{
	struct mr_error err = MR_ERROR_INIT;

	b->interrupted = true;
	b->status = 128 + sig;
	if (b->stall.fd >= 0) { /* told again: no longer wait where only the reader is waited for */
		if (b->busy == 0)
			drop_results(b);
		return;
	}
	if (watch_stall(b, &err) < 0)
		mr_log_warn("%s", err.msg);
	else
		arm_stall(b);
}

static void flush_output(struct batch *b)
{
	struct mr_error err;

	while (b->out.at < b->out.end) {
		ssize_t n = write(b->sink.fd, b->out.data + b->out.at, b->out.end - b->out.at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			if (b->output.fd < 0 && mr_loop_add(b->host->loop, &b->output, b->sink.fd,
							    EPOLLOUT, on_output, b, &err) < 0)
				mr_log_error("standard output: %s", err.msg);
			return;
		}
		if (n < 0) {
			mr_log_error("standard output: %m; no further run is started");
			b->out.at = b->out.end = 0;
			b->interrupted = true;
			b->status = 125;
			break;
		}
		b->out.at += (size_t)n;
		if (b->stall.fd >= 0)
			arm_stall(b);
	}
	mr_loop_remove(b->host->loop, &b->output);
}

static void on_output(struct mr_source *source, uint32_t events)
{
	(void)events;
	flush_output(source->owner);
}

static void emit(struct batch *b, json_t *result, uint64_t index)
{
	mr_auto_free char *text = NULL;
	size_t len;

	json_object_set_new(result, "batch_index", json_integer((json_int_t)index));
	text = json_dumps(result, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(result);
	mr_assert(text);
	len = strlen(text);
	grow(&b->out, len + 1);
	memcpy(b->out.data + b->out.end, text, len);
	b->out.data[b->out.end + len] = '\n';
	b->out.end += len + 1;
	flush_output(b);
}

static void emit_refusal(struct batch *b, const struct mr_error *err, uint64_t index)
{
	int status = mr_errc_exit_status(err->code);

	emit(b,
	     json_pack("{s:s, s:s, s:s, s:{s:i, s:n, s:n, s:n}, s:{s:s, s:i, s:s}}", "schema",
		       "menace.result/1", "version", MENACE_VERSION, "reason", "setup_error",
		       "exit", "status", status, "code", "signal", "signal_name", "error", "code",
		       mr_errc_name(err->code), "errno", err->errnum, "message", err->msg),
	     index);
	if (b->status == 0 || status != 2)
		b->status = status == 2 ? 2 : 125;
}

/* --- runs -------------------------------------------------------------------- */

static void on_done(struct mr_run *run, void *owner)
{
	struct slot *slot = owner;

	(void)run;
	slot->done = true; /* freed by the main loop: we are inside of the run here */
}

static struct slot *free_slot(struct batch *b)
{
	for (unsigned int i = 0; i < b->jobs; i++) {
		if (!b->slots[i].taken)
			return &b->slots[i];
	}
	return NULL;
}

static void on_deputy_done(struct mr_deputy *deputy, void *owner)
{
	struct slot *slot = owner;

	(void)deputy;
	slot->done = true;
}

/* In the backend that was chosen last. */
static void start_chosen(struct batch *b, struct slot *slot)
{
	const struct mr_run_opts own = { .spec = &slot->spec,
					 .slot = (unsigned int)(slot - b->slots),
					 .stdin_fd = -1,
					 .stdout_fd = -1,
					 .stderr_fd = -1,
					 .ready = &b->ready,
					 .on_done = on_done,
					 .owner = slot };
	const struct mr_deputy_opts other = { .spec = &slot->spec,
					      .choice = &slot->where.choice,
					      .stdin_fd = -1,
					      .stdout_fd = -1,
					      .stderr_fd = -1,
					      .ready = &b->ready,
					      .on_done = on_deputy_done,
					      .owner = slot };

	if (slot->where.choice.backend == MR_BACKEND_NATIVE) {
		slot->run = mr_run_start(b->host, &own);
		slot->done = mr_run_is_done(slot->run);
	} else {
		slot->deputy = mr_deputy_start(b->host->loop, &other);
		slot->done = mr_deputy_is_done(slot->deputy);
	}
}

/* Who reads many results for little in them pays most for these: they are most of a result.  With the two
 * timings that stay it is known when the program began. */
static void make_brief(json_t *result)
{
	json_t *losses = mr_json_at(result, "telemetry", "losses", NULL);
	json_t *setup = mr_json_at(result, "timings", "setup_us", NULL);
	json_t *held = mr_json_at(result, "timings", "held_us", NULL);

	json_object_set_new(result, "telemetry", json_pack("{s:O?}", "losses", losses));
	json_object_set_new(result, "timings",
			    json_pack("{s:O?, s:O?}", "setup_us", setup, "held_us", held));
}

/* The result first: nothing of the payload lives by then, and what is left to remove is ours.  Until it is
 * in the store the run is one of the living. */
static void give_result(struct batch *b, struct slot *slot, json_t *result)
{
	mr_to_store_queue(&b->store, &slot->spec, result, (int64_t)slot->index);
	if (b->cli->brief)
		make_brief(result); /* the record has all */
	emit(b, result, slot->index);
	mr_to_store_append(&b->store);
	mr_run_free(slot->run);
	mr_deputy_free(slot->deputy);
	json_decref(slot->refused);
	mr_spec_deinit(&slot->spec);
	*slot = (struct slot){ .batch = b };
	b->busy--;
}

/* Choose and start; refused: why the last choice could not begin, or NULL. */
static void start_somewhere(struct batch *b, struct slot *slot, const struct mr_error *refused)
{
	struct mr_error err = MR_ERROR_INIT;

	slot->done = false;
	slot->alone = b->busy - b->waiting == 1;
	if (mr_where_next(&slot->where, refused, &err) == 0) {
		start_chosen(b, slot);
		return;
	}
	b->status = 125;
	give_result(b, slot, mr_where_refused(&slot->where, mr_take_ptr(slot->refused), &err));
}

static void start_run(struct batch *b, struct slot *slot, const char *line, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	char source[40];
	int r;

	slot->index = b->next_index++;
	snprintf(source, sizeof(source), "line %ju", (uintmax_t)b->next_line);
	mr_spec_copy(&slot->spec, &b->cli->spec);
	r = mr_spec_parse_json(&slot->spec, line, size, source, &err);
	if (r == 0 && (r = mr_spec_validate(&slot->spec, &err)) < 0)
		mr_err_wrap(&err, r, "%s", source);
	if (r < 0) {
		emit_refusal(b, &err, slot->index);
		mr_spec_deinit(&slot->spec);
		return;
	}
	slot->taken = true;
	b->busy++;
	mr_where_init(&slot->where, &slot->spec, b->cli->cgroup_parent);
	start_somewhere(b, slot, NULL);
}

/* While a workspace is read the other runs' events are handled: those that end wait for us. */
static void drive_others(void *owner)
{
	struct batch *b = owner;
	struct mr_error err = MR_ERROR_INIT;

	if (mr_loop_run_once(b->host->loop, 0, &err) < 0)
		mr_log_error("%s", err.msg); /* and again when the loop is next run by itself */
}

static json_t *result_of(struct slot *slot)
{
	json_t *result;

	if (slot->deputy)
		return mr_deputy_result(slot->deputy);
	result = mr_run_result(slot->run);
	mr_choice_put(&slot->where.choice, result);
	return result;
}

static bool others_have_descriptors(const struct batch *b, const struct slot *slot,
				    const struct mr_error *failed)
{
	return failed && failed->errnum == EMFILE && !b->interrupted &&
	       (!slot->alone || b->busy - b->waiting > 1);
}

/* Nothing of it has begun, and what it lacks comes back with the next run that ends. */
static void wait_for_descriptors(struct batch *b, struct slot *slot)
{
	slot->run = mr_run_free(slot->run);
	slot->deputy = mr_deputy_free(slot->deputy);
	json_decref(slot->refused);
	slot->refused = NULL;
	slot->done = false;
	slot->waits = true;
	b->waiting++;
	mr_log_warn("too few open files are allowed for %u runs at once (ulimit -n): some wait "
		    "for others to end",
		    b->jobs);
}

/* One at a time: the next has its turn when this one runs, or has ended. */
static void start_waiting(struct batch *b)
{
	for (unsigned int i = 0; i < b->jobs; i++) {
		struct slot *slot = &b->slots[i];

		if (!slot->waits)
			continue;
		slot->waits = false;
		b->waiting--;
		mr_where_init(&slot->where, &slot->spec, b->cli->cgroup_parent);
		start_somewhere(b, slot, NULL);
		return;
	}
}

/* The batch ends: they will not be started any more. */
static void drop_waiting(struct batch *b)
{
	struct mr_error err = MR_ERROR_INIT;
	const int status = b->status;

	mr_err(&err, MR_E_SYS, EINTR, "the batch ended while this run waited for open files");
	for (unsigned int i = 0; i < b->jobs; i++) {
		struct slot *slot = &b->slots[i];

		if (!slot->waits)
			continue;
		emit_refusal(b, &err, slot->index);
		mr_spec_deinit(&slot->spec);
		*slot = (struct slot){ .batch = b };
		b->busy--;
		b->waiting--;
	}
	b->status = status;
}

static void collect_slot(struct batch *b, struct slot *slot)
{
	const struct mr_error *failed;
	struct mr_error refusal;
	json_t *result;
	bool moves;

	if (slot->run)
		mr_run_collect(slot->run, drive_others, b);
	failed = slot->deputy ? mr_deputy_error(slot->deputy) : mr_run_error(slot->run);
	if (others_have_descriptors(b, slot, failed)) {
		wait_for_descriptors(b, slot);
		return;
	}
	moves = failed && mr_where_may_move(&slot->where, failed);
	if (failed)
		refusal = *failed;
	result = result_of(slot);
	if (moves) {
		if (slot->run)
			slot->refused = json_incref(result);
		slot->run = mr_run_free(slot->run);
		slot->deputy = mr_deputy_free(slot->deputy);
		json_decref(result);
		start_somewhere(b, slot, &refusal);
		return;
	}
	if (failed)
		b->status = 125;
	give_result(b, slot, result);
}

/* True: something had ended, so there may be room for more. */
static bool collect(struct batch *b)
{
	bool any = false, freed = false;

	for (unsigned int i = 0; i < b->jobs; i++) {
		if (!b->slots[i].taken || !b->slots[i].done)
			continue;
		collect_slot(b, &b->slots[i]);
		any = true;
		freed |= !b->slots[i].waits;
	}
	if (b->interrupted && b->waiting)
		drop_waiting(b);
	else if (b->waiting && (freed || b->busy == b->waiting))
		start_waiting(b);
	return any;
}

/* --- input -------------------------------------------------------------------- */

/* Specs that could not be read are no end of them: what had come is run, and the batch has failed. */
static void give_up_input(struct batch *b, const char *why)
{
	mr_log_error("standard input: %s", why);
	b->input_ended = true;
	b->status = 125;
}

static void read_more(struct batch *b)
{
	ssize_t n;

	grow(&b->in, READ_SIZE);
	do
		n = read(STDIN_FILENO, b->in.data + b->in.end, READ_SIZE);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		b->in.end += (size_t)n;
	if (n < 0)
		give_up_input(b, strerror(errno));
	else if (n == 0)
		b->input_ended = true;
}

static void on_input(struct mr_source *source, uint32_t events)
{
	struct batch *b = source->owner;

	(void)events;
	read_more(b);
	mr_loop_remove(b->host->loop, &b->input); /* asked for again when a slot is free */
}

static bool is_blank(const char *line, size_t size)
{
	while (size > 0 && strchr(" \t\r", line[size - 1]) && line[size - 1])
		size--;
	return size == 0;
}

/* Take one line off the input and start it. False when there is no whole line yet. */
static bool take_line(struct batch *b, struct slot *slot)
{
	size_t have = b->in.end - b->in.at;
	char *line = have ? b->in.data + b->in.at : NULL;
	char *end = have ? memchr(line, '\n', have) : NULL;
	size_t size = end ? (size_t)(end - line) : have;

	if (!end && have > LINE_MAX_BYTES) {
		mr_log_error("standard input: a line is longer than %d bytes", LINE_MAX_BYTES);
		b->status = 2;
		b->interrupted = true;
		return false;
	}
	if (!end && (!b->input_ended || !have))
		return false;
	b->in.at += size + (end != NULL);
	if (end)
		*end = '\0';
	b->next_line++;
	if (!is_blank(line, size))
		start_run(b, slot, line, size);
	return true;
}

static void fill_slots(struct batch *b)
{
	struct mr_error err = MR_ERROR_INIT;
	struct slot *slot;
	int r;

	/* Those that wait come first. */
	while (!b->interrupted && b->waiting == 0 && b->out.end - b->out.at < OUTPUT_HIGH &&
	       (slot = free_slot(b))) {
		if (take_line(b, slot))
			continue;
		if (b->input_ended)
			return;
		if (b->input_is_file) {
			read_more(b);
			continue;
		}
		if (b->input.fd >= 0)
			return;
		r = mr_loop_add(b->host->loop, &b->input, STDIN_FILENO, EPOLLIN, on_input, b, &err);
		if (r == 0)
			return;
		b->input_is_file = r == -EPERM; /* /dev/null and its like never block either */
		if (!b->input_is_file) {
			give_up_input(b, err.msg);
			return;
		}
	}
}

static void look_for_followers(struct batch *b)
{
	for (unsigned int i = 0; i < b->jobs; i++)
		if (b->slots[i].run)
			mr_run_followed(b->slots[i].run);
}

static void on_signal(struct mr_source *source, uint32_t events)
{
	struct batch *b = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGURG)
			look_for_followers(b);
		if (info.ssi_signo == SIGURG || info.ssi_signo == SIGWINCH ||
		    info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2 ||
		    info.ssi_signo == SIGTSTP)
			continue;
		interrupt(b, (int)info.ssi_signo);
		for (unsigned int i = 0; i < b->jobs; i++) {
			if (b->slots[i].run)
				mr_run_interrupt(b->slots[i].run, (int)info.ssi_signo);
			if (b->slots[i].deputy)
				mr_deputy_signal(b->slots[i].deputy, (int)info.ssi_signo);
		}
	}
}

static bool is_over(const struct batch *b)
{
	bool no_more = b->interrupted || (b->input_ended && b->in.at == b->in.end);

	return no_more && b->busy == 0 && b->out.at == b->out.end;
}

/* Something outside of us must happen first: else the loop only takes what is there. */
static bool has_to_wait(const struct batch *b)
{
	return b->busy || !b->input_ended || b->out.at < b->out.end;
}

static bool any_done(const struct batch *b)
{
	for (unsigned int i = 0; i < b->jobs; i++) {
		if (b->slots[i].done)
			return true;
	}
	return false;
}

int mr_batch_main(struct mr_run_host *host, struct mr_cli *cli)
{
	struct batch *b = calloc(1, sizeof(*b));
	struct mr_error err = MR_ERROR_INIT;
	struct stat st;
	int signals, status;

	mr_assert(b);
	*b = (struct batch){ .host = host,
			     .cli = cli,
			     .jobs = cli->jobs,
			     .ready = cli->ready,
			     .input.fd = -1,
			     .output.fd = -1,
			     .stall.fd = -1,
			     .signals.fd = -1 };
	if (b->jobs > SLOTS_MAX)
		b->jobs = SLOTS_MAX;
	b->input_is_file = fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode);
	signals = mr_session_signals(&err);
	if (signals < 0 || mr_run_host_keep(host, &b->jobs, &err) < 0 ||
	    mr_sink_fd_open(STDOUT_FILENO, &b->sink, &err) < 0 ||
	    mr_loop_add(host->loop, &b->signals, signals, EPOLLIN, on_signal, b, &err) < 0) {
		free(b);
		return mr_session_fail(&err);
	}
	mr_to_store_init(&b->store, cli->store);
	mr_log_count_repeats(); /* thousands of runs have the same to say */
	for (;;) {
		fill_slots(b);
		if (collect(b)) /* a run that could not begin has ended already */
			continue;
		if (is_over(b))
			break;
		if (!any_done(b) &&
		    mr_loop_run_once(host->loop, has_to_wait(b) ? -1 : 0, &err) < 0) {
			b->status = mr_session_fail(&err);
			break;
		}
		collect(b);
	}
	mr_loop_remove(host->loop, &b->signals);
	mr_loop_remove(host->loop, &b->input);
	end_stall(b);
	mr_close(signals);
	mr_sink_fd_close(&b->sink);
	mr_to_store_deinit(&b->store);
	mr_log_tell_repeats();
	free(b->in.data);
	free(b->out.data);
	status = b->status;
	free(b);
	return status;
}
