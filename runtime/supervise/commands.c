/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands
 *
 * A lane is one command at a time:
 *
 *   READING -> RUNNING -> WRITING -> READING
 *
 * and their number is that of the commands that run at once.  What comes in by it is from a process that
 * reads hostile bytes and may have been taken over by them: it is bounded and looked at before anything
 * is made of it, and a lane that breaks the rules ends the run.  In one turn of the loop a lane moves one
 * piece, so that a flood of requests keeps no deadline waiting.
 */
#include "runtime/supervise/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns/mock.h"
#include "netns/netd.h"
#include "netns/stub.h"
#include "netns/stub_http.h"
#include "netns/stub_lane.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/supervise/command_spec.h"
#include "runtime/supervise/run.h"
#include "runtime/supervise/state.h"

#define CHUNK 65536
#define METHOD_MAX 32
#define WHY_MAX 200

enum failure {
#define FAILURE(name) FAILED_##name,
#include "runtime/supervise/command_failures.def"
#undef FAILURE
	FAILURES_,
};

static const char *const failure_names[] = {
#define FAILURE(name) [FAILED_##name] = #name,
#include "runtime/supervise/command_failures.def"
#undef FAILURE
};

/* What became of the commands of one mock. */
struct tally {
	char *program; /* as mr_command_find() found it */
	uint64_t runs;
	uint64_t failed[FAILURES_];
	char last[FAILURES_][WHY_MAX];
};

enum lane_state { READING, RUNNING, WRITING };

struct lane {
	struct mr_commands *commands;
	struct mr_source source;
	enum lane_state state;
	struct mr_buf buf; /* what came so far, or goes out */
	size_t at;
	size_t mock;
	void *subrun;
	int output_fd; /* what the command prints */
};

struct mr_commands {
	struct mr_run *run;
	const struct mr_mocks *mocks;
	struct tally *tallies; /* mocks->n */
	struct lane lanes[MR_STUB_LANES];
};

/* --- the answer back ---------------------------------------------------------------------- */

/* menace-netd is gone, or is not to be heard any more. */
static void drop_source(struct lane *lane)
{
	const int fd = lane->source.fd;

	mr_loop_remove(lane->commands->run->host->loop, &lane->source);
	mr_close(fd);
}

static void watch(struct lane *lane, enum lane_state state, uint32_t events)
{
	struct mr_error err = MR_ERROR_INIT;

	lane->state = state;
	if (lane->source.fd >= 0 &&
	    mr_loop_modify(lane->commands->run->host->loop, &lane->source, events, &err) < 0)
		mr_run_fail(lane->commands->run, &err);
}

/* output NULL: none. */
static void reply(struct lane *lane, const char *output, size_t size)
{
	const struct mr_stub_output_head head = { .answered = output != NULL,
						  .size = (uint32_t)size };

	mr_buf_deinit(&lane->buf);
	mr_buf_addn(&lane->buf, (const char *)&head, sizeof(head));
	mr_buf_addn(&lane->buf, output ? output : "", size);
	lane->at = 0;
	watch(lane, WRITING, EPOLLOUT);
}

/* For a terminal and for JSON: what it is made of may be cut or be anybody's bytes. */
static void put_why(struct tally *tally, enum failure kind, const char *why)
{
	snprintf(tally->last[kind], WHY_MAX, "%.*s", WHY_MAX - 1, why);
	for (char *p = tally->last[kind]; *p; p++)
		if (*p < 0x20 || *p >= 0x7f)
			*p = '?';
}

static void fail(struct lane *lane, enum failure kind, const char *why)
{
	struct tally *tally = &lane->commands->tallies[lane->mock];

	tally->failed[kind]++;
	put_why(tally, kind, why);
	reply(lane, NULL, 0);
}

static void write_more(struct lane *lane)
{
	ssize_t n = send(lane->source.fd, lane->buf.text + lane->at, lane->buf.len - lane->at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	/* That menace-netd is gone is told by its process. */
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		lane->at = lane->buf.len;
	if (n > 0)
		lane->at += (size_t)n;
	if (lane->at < lane->buf.len)
		return;
	mr_buf_deinit(&lane->buf);
	watch(lane, READING, EPOLLIN);
}

/* --- the end of a command ------------------------------------------------------------------ */

static enum failure kind_of(const char *reason)
{
	static const struct {
		const char *reason;
		enum failure kind;
	} kinds[] = {
		{ "setup_error", FAILED_not_started }, { "exited", FAILED_status },
		{ "signaled", FAILED_status },	       { "wall_timeout", FAILED_time },
		{ "output_limit", FAILED_output },
	};

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].reason, reason) == 0)
			return kinds[i].kind;
	return FAILED_limit;
}

/* Printable, and no more of it than fits. */
static void describe_end(const json_t *result, char why[WHY_MAX])
{
	const char *reason = mr_json_text_or_empty(result, "reason");
	const char *message = mr_json_text_or_empty(json_object_get(result, "error"), "message");
	const char *said = mr_json_text_or_empty(json_object_get(result, "stderr"), "text");
	const json_int_t status = json_integer_value(mr_json_at(result, "exit", "status", NULL));
	mr_auto_free char *first = mr_str_ndup(said, strnlen(said, MR_COMMAND_SAID_MAX));
	char quoted[MR_STR_QUOTE_SIZE];

	if (message[0])
		snprintf(why, WHY_MAX, "%.*s", WHY_MAX - 1, message);
	else if (strcmp(reason, "exited") != 0)
		snprintf(why, WHY_MAX, "%s", reason);
	else if (first[0])
		snprintf(why, WHY_MAX, "exited with status %lld: %.*s", (long long)status,
			 WHY_MAX - 50, mr_str_quote(quoted, sizeof(quoted), first));
	else
		snprintf(why, WHY_MAX, "exited with status %lld", (long long)status);
}

static void send_output(struct lane *lane)
{
	mr_auto_free char *output = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(lane->output_fd, &st) < 0 || st.st_size > MR_STUB_OUTPUT_MAX) {
		fail(lane, FAILED_output, "more than 1048576 bytes");
		return;
	}
	output = mr_str_alloc((size_t)st.st_size + 1);
	n = lseek(lane->output_fd, 0, SEEK_SET) < 0
		    ? -errno
		    : mr_read_full(lane->output_fd, output, (size_t)st.st_size);
	if (n < 0)
		fail(lane, FAILED_output, "its output cannot be read");
	else
		reply(lane, output, (size_t)n);
}

static void on_end(void *owner)
{
	struct lane *lane = owner;
	const struct mr_subruns *subruns = lane->commands->run->host->subruns;
	struct mr_error err = MR_ERROR_INIT;
	const json_t *result = NULL;
	char why[WHY_MAX];

	if (subruns->result(lane->subrun, &result, &err) < 0) {
		fail(lane, FAILED_not_started, err.msg);
	} else if (strcmp(mr_json_text_or_empty(result, "reason"), "exited") == 0 &&
		   json_integer_value(mr_json_at(result, "exit", "status", NULL)) == 0) {
		send_output(lane);
	} else {
		describe_end(result, why);
		fail(lane, kind_of(mr_json_text_or_empty(result, "reason")), why);
	}
	subruns->free(lane->subrun);
	lane->subrun = NULL;
	lane->output_fd = mr_close(lane->output_fd);
}

/* --- the begin of one -------------------------------------------------------------------------- */

static int start(struct lane *lane, const struct mr_command_request *request, struct mr_error *err)
{
	const struct mr_commands *commands = lane->commands;
	struct mr_run *run = commands->run;
	mr_auto_json json_t *spec = NULL;
	mr_auto_close int output = -1;
	struct mr_subrun_opts opts = {
		.input = request->input,
		.input_size = (size_t)request->head.head_size + request->head.body_size,
		.on_end = on_end,
		.owner = lane,
	};
	int r = mr_command_spec(run->spec, &commands->mocks->v[lane->mock],
				commands->tallies[lane->mock].program, request, &spec, err);

	if (r < 0)
		return r;
	output = memfd_create("menace-answer", MFD_CLOEXEC);
	if (output < 0)
		return mr_err(err, MR_E_SYS, errno, "memfd_create: %m");
	opts.spec = spec;
	opts.output_fd = output;
	r = run->host->subruns->start(run->host->loop, &opts, &lane->subrun, err);
	if (r == 0)
		lane->output_fd = mr_take_fd(output);
	return r;
}

static void begin(struct lane *lane, const struct mr_command_request *request)
{
	struct mr_error err = MR_ERROR_INIT;

	lane->commands->tallies[lane->mock].runs++;
	watch(lane, RUNNING, 0);
	if (start(lane, request, &err) < 0)
		fail(lane, FAILED_not_started, err.msg);
	else
		mr_buf_deinit(&lane->buf);
}

/* --- a request --------------------------------------------------------------------------------- */

static bool is_printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f)
			return false;
	return n > 0;
}

static bool is_head(const struct mr_commands *commands, const struct mr_stub_ask_head *head)
{
	return head->mock < commands->mocks->n && commands->mocks->v[head->mock].by_command &&
	       head->port <= UINT16_MAX && head->method_size <= METHOD_MAX &&
	       head->target_size <= MR_HTTP_HEAD_MAX && head->head_size <= MR_HTTP_HEAD_MAX &&
	       head->body_size <= MR_STUB_ASK_BODY_MAX;
}

/* 1: whole, 0: more must come, -1: it is none. */
static int look_at(const struct lane *lane, struct mr_command_request *ret)
{
	const struct mr_stub_ask_head *head = &ret->head;
	size_t size;

	if (lane->buf.len < sizeof(*head))
		return 0;
	memcpy(&ret->head, lane->buf.text, sizeof(*head));
	if (!is_head(lane->commands, head))
		return -1;
	size = sizeof(*head) + head->method_size + head->target_size + head->head_size +
	       head->body_size;
	if (lane->buf.len != size)
		return lane->buf.len < size ? 0 : -1;
	ret->method = lane->buf.text + sizeof(*head);
	ret->target = ret->method + head->method_size;
	ret->input = ret->target + head->target_size;
	return is_printable(ret->method, head->method_size) &&
			       is_printable(ret->target, head->target_size) && ret->target[0] == '/'
		       ? 1
		       : -1;
}

static void read_more(struct lane *lane)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_command_request request;
	char chunk[CHUNK];
	ssize_t n = recv(lane->source.fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	int whole;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* menace-netd is gone, which its process tells */
		drop_source(lane);
		return;
	}
	mr_buf_addn(&lane->buf, chunk, (size_t)n);
	whole = look_at(lane, &request);
	if (whole < 0) {
		drop_source(lane);
		mr_err(&err, MR_E_PROTO, EPROTO,
		       MR_NETD_PROGRAM " asked for a command with what is no request");
		mr_run_fail(lane->commands->run, &err);
	} else if (whole) {
		lane->mock = request.head.mock;
		begin(lane, &request);
	}
}

static void on_event(struct mr_source *source, uint32_t events)
{
	struct lane *lane = source->owner;

	(void)events;
	switch (lane->state) {
	case READING:
		read_more(lane);
		break;
	case WRITING:
		write_more(lane);
		break;
	case RUNNING: /* it is gone: its process tells, and the command ends with the run */
		drop_source(lane);
		break;
	}
}

/* --- all of them --------------------------------------------------------------------------------- */

static int open_lane(struct mr_commands *commands, struct lane *lane, int *ret_theirs,
		     struct mr_error *err)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a channel for commands: socketpair: %m");
	r = mr_loop_add(commands->run->host->loop, &lane->source, pair[0], EPOLLIN, on_event, lane,
			err);
	if (r < 0) {
		mr_close(pair[0]);
		mr_close(pair[1]);
		return r;
	}
	*ret_theirs = pair[1];
	return 0;
}

int mr_commands_new(struct mr_run *run, const struct mr_mocks *mocks, int *fds,
		    struct mr_commands **ret, struct mr_error *err)
{
	struct mr_commands *commands;
	size_t n = 0;
	int r = 0;

	if (!run->host->subruns)
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "a mock that a command answers (exec) is not for this backend");
	commands = mr_str_alloc(sizeof(*commands));
	commands->run = run;
	commands->mocks = mocks;
	commands->tallies = mr_str_alloc((mocks->n + 1) * sizeof(*commands->tallies));
	for (size_t i = 0; i < MR_STUB_LANES; i++)
		commands->lanes[i] = (struct lane){ .commands = commands,
						    .source = { .fd = -1 },
						    .output_fd = -1 };
	for (size_t i = 0; r == 0 && i < mocks->n; i++)
		if (mocks->v[i].by_command)
			r = mr_command_find(run->spec, &mocks->v[i], &commands->tallies[i].program,
					    err);
	for (; r == 0 && n < MR_STUB_LANES; n += r == 0)
		r = open_lane(commands, &commands->lanes[n], &fds[n], err);
	if (r < 0) {
		while (n > 0)
			mr_close(fds[--n]);
		mr_commands_free(commands);
		return r;
	}
	*ret = commands;
	return 0;
}

void mr_commands_stop(struct mr_commands *commands)
{
	const struct mr_subruns *subruns;

	if (!commands)
		return;
	subruns = commands->run->host->subruns;
	/* All are told before any is waited for. */
	for (size_t i = 0; i < MR_STUB_LANES; i++)
		if (commands->lanes[i].subrun)
			subruns->interrupt(commands->lanes[i].subrun);
	for (size_t i = 0; i < MR_STUB_LANES; i++) {
		struct lane *lane = &commands->lanes[i];
		struct tally *tally = &commands->tallies[lane->mock];

		if (lane->subrun) {
			tally->failed[FAILED_run_ended]++;
			snprintf(tally->last[FAILED_run_ended], WHY_MAX, "the run was over first");
		}
		subruns->free(lane->subrun);
		lane->subrun = NULL;
		drop_source(lane);
		lane->output_fd = mr_close(lane->output_fd);
		mr_buf_deinit(&lane->buf);
	}
}

void mr_commands_unusable(struct mr_commands *commands, size_t i, const char *why)
{
	if (commands && i < commands->mocks->n)
		put_why(&commands->tallies[i], FAILED_no_answer, why);
}

void mr_commands_count_unusable(struct mr_commands *commands, size_t i, uint64_t n)
{
	if (commands && i < commands->mocks->n)
		commands->tallies[i].failed[FAILED_no_answer] = n;
}

static uint64_t sum_failed(const struct tally *tally)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < FAILURES_; i++)
		sum += tally->failed[i];
	return sum;
}

static json_t *words_json(const struct mr_mock *mock)
{
	json_t *words = json_array();

	for (size_t i = 0; i < mock->n_words; i++) {
		const char *word = mock->words[i];

		json_array_append_new(words, mr_str_utf8_valid(word, strlen(word))
						     ? json_string(word)
						     : mr_text_base64(word, strlen(word)));
	}
	return words;
}

json_t *mr_commands_to_json(const struct mr_commands *commands, size_t i)
{
	const struct tally *tally = &commands->tallies[i];
	json_t *failures = json_object();

	for (size_t k = 0; k < FAILURES_; k++)
		if (tally->failed[k])
			json_object_set_new(failures, failure_names[k],
					    json_pack("{s:I, s:s}", "count",
						      (json_int_t)tally->failed[k], "last",
						      tally->last[k]));
	return json_pack("{s:o, s:I, s:I, s:o}", "command", words_json(&commands->mocks->v[i]),
			 "runs", (json_int_t)tally->runs, "failed", (json_int_t)sum_failed(tally),
			 "failures", failures);
}

void mr_commands_tell(const struct mr_commands *commands)
{
	for (size_t i = 0; commands && i < commands->mocks->n; i++) {
		const struct tally *tally = &commands->tallies[i];

		for (size_t k = 0; k < FAILURES_; k++)
			if (tally->failed[k])
				mr_log_notice("mock %s: its command gave no answer %llu times "
					      "(%s): %s",
					      commands->mocks->v[i].target,
					      (unsigned long long)tally->failed[k],
					      failure_names[k], tally->last[k]);
	}
}

struct mr_commands *mr_commands_free(struct mr_commands *commands)
{
	if (!commands)
		return NULL;
	mr_commands_stop(commands);
	for (size_t i = 0; i < commands->mocks->n; i++)
		free(commands->tallies[i].program);
	free(commands->tallies);
	free(commands);
	return NULL;
}
