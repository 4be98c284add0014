/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace learn: run a program, write the policy it needs
 *
 * menace-run does the run, as it would any other, with --record-access and a
 * result that comes back through a file in memory.  What is written was read back
 * as a policy first.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/spec/policy.h"
#include "tools/cmd.h"
#include "tools/learned.h"
#include "runtime/base/outfile.h"

#define RUNS_MAX 1000
#define THRESHOLD_MAX 1000000
#define MARGIN_MAX 100000
#define RESULT_MAX (256 << 20)

struct learn {
	struct mr_cmd_common common;
	const char *output;
	int64_t runs, threshold, margin;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("output", 'o', "FILE", PATH, learn, output,
		   "write the policy there; without it on standard output"),
	MR_CMD_ROW("runs", 'n', "N", COUNT, learn, runs,
		   "run it so often and allow what any of them used; 1 if not given"),
	MR_CMD_ROW("threshold", 0, "N", COUNT, learn, threshold,
		   "more files of one folder than this become the folder; 16 if not given"),
	MR_CMD_ROW("margin", 0, "PERCENT", COUNT, learn, margin,
		   "on top of each peak; 100 and for times 400 if not given"),
	MR_CMD_HELP_ROW(learn),
};

/* The words for menace-run: what was given, with ours before the "--". */
static int make_argv(char *program, char **words, char *json, char ***ret, struct mr_error *err)
{
	static char record[] = "--record-access";
	size_t n = 0, dashes = 0;
	char **argv;

	while (words[n])
		n++;
	while (words[dashes] && strcmp(words[dashes], "--") != 0)
		dashes++;
	if (!words[dashes])
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "-- is missing; accepted: menace learn [OPTIONS] [OPTIONS of "
			      "menace-run] -- PROGRAM [ARG...]");
	for (size_t i = 0; i < dashes; i++)
		if (mr_str_starts_with(words[i], "--json") || strcmp(words[i], "--batch") == 0 ||
		    strcmp(words[i], "--dry-run") == 0)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "%s: menace learn makes one run and reads its result itself",
				      words[i]);
	argv = mr_str_alloc((n + 4) * sizeof(*argv));
	argv[0] = program;
	memcpy(argv + 1, words, dashes * sizeof(*argv));
	argv[1 + dashes] = record;
	argv[2 + dashes] = json;
	memcpy(argv + 3 + dashes, words + dashes, (n - dashes) * sizeof(*argv));
	*ret = argv;
	return 0;
}

/* Status of menace-run as a shell gives it. */
static int spawn(char **argv, int fd, int *ret_status, struct mr_error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction interrupt, quit;
	int status = MR_WAIT_UNKNOWN;
	pid_t pid;

	/* Ctrl-C is the program's, as in a shell. */
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		if (fcntl(fd, F_SETFD, 0) == 0)
			execv(argv[0], argv);
		_exit(125);
	}
	if (pid < 0)
		mr_err(err, MR_E_SYS, errno, "fork: %m");
	else
		status = mr_wait(pid);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return pid < 0 ? -ECHILD : 0;
}

static int read_result(int fd, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || st.st_size > RESULT_MAX || lseek(fd, 0, SEEK_SET) < 0)
		return mr_err(err, MR_E_SYS, errno, "result of menace-run: %m");
	text = mr_str_alloc((size_t)st.st_size + 1);
	n = mr_read_full(fd, text, (size_t)st.st_size);
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "result of menace-run: %m");
	return mr_json_parse(text, (size_t)n, "result of menace-run", ret, err);
}

/* One run. Positive: menace-run gave up, and said why. */
static int run_once(struct mr_learned *learned, char *program, char **words, struct mr_error *err)
{
	mr_auto_close int fd = memfd_create("menace-result", MFD_CLOEXEC);
	mr_auto_json json_t *result = NULL;
	mr_auto_free char **argv = NULL;
	char json[40];
	int status = 0, r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "memfd_create: %m");
	snprintf(json, sizeof(json), "--json=FD:%d", fd);
	r = make_argv(program, words, json, &argv, err);
	if (r == 0)
		r = spawn(argv, fd, &status, err);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_END) <= 0)
		return status ? status : 125;
	r = read_result(fd, &result, err);
	if (r == 0)
		r = mr_learned_add(learned, result, err);
	if (r < 0)
		return r;
	if (status)
		mr_log_warn("the program ended with status %d: what it did until then is learned",
			    status);
	return 0;
}

static int write_text(const char *text, struct mr_outfile *file, struct mr_error *err)
{
	if (!file->stream)
		return fputs(text, stdout) < 0 ? mr_cmd_lost_output(errno, err) : 0;
	if (fputs(text, file->stream) < 0)
		return mr_err(err, MR_E_SYS, errno, "write %s: %m", file->path);
	return mr_outfile_commit(file, err);
}

static int write_policy(const struct mr_learned *learned, const struct learn *learn,
			struct mr_outfile *file, struct mr_error *err)
{
	const struct mr_learned_opts opts = {
		.threshold = (size_t)learn->threshold,
		.margin_percent = learn->margin == MR_CMD_NOT_GIVEN ? MR_LEARNED_MARGINS
								    : (uint64_t)learn->margin,
	};
	mr_auto_json json_t *document = mr_learned_policy(learned, &opts);
	mr_auto_json json_t *checked = NULL;
	mr_auto_policy struct mr_policy *policy = NULL;
	mr_auto_free char *text = json_dumps(document, JSON_COMPACT);
	mr_auto_free char *pretty = NULL;
	mr_auto_free char *whole = NULL;
	int r;

	mr_assert(text);
	r = mr_policy_parse(text, strlen(text), "what was learned", &policy, err);
	if (r < 0)
		return r;
	checked = mr_policy_to_json(policy);
	pretty = json_dumps(checked, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	mr_assert(pretty);
	whole = mr_str_format("%s\n", pretty);
	for (size_t i = 0; mr_learned_unknown(learned, i); i++)
		mr_log_warn("the policy has no limit of %s: no run told its peak",
			    mr_learned_unknown(learned, i));
	return write_text(whole, file, err);
}

/* The place of the policy first: one that cannot be written costs no run, and the program cannot turn the way
 * to it, of which --rw may show it a folder. */
static int learn_from_runs(const struct learn *learn, char *program, char **words,
			   struct mr_error *err)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile file = MR_OUTFILE_INIT;
	struct mr_learned *learned;
	int r = 0;

	if (learn->output && strcmp(learn->output, "-") != 0)
		r = mr_outfile_open(learn->output, 0644, &file, err);
	if (r < 0)
		return mr_err_wrap(err, r, "--output");
	learned = mr_learned_new();
	for (int64_t i = 0; r == 0 && i < learn->runs; i++)
		r = run_once(learned, program, words, err);
	if (r == 0)
		r = write_policy(learned, learn, &file, err);
	mr_learned_free(learned);
	return r;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct learn *learn = values;
	char program[PATH_MAX];
	int64_t margin = learn->margin;
	int r = mr_cmd_check_count("runs", &learn->runs, 1, 1, RUNS_MAX, err);

	if (r == 0)
		r = mr_cmd_check_count("threshold", &learn->threshold, MR_LEARNED_THRESHOLD, 0,
				       THRESHOLD_MAX, err);
	if (r == 0)
		r = mr_cmd_check_count("margin", &margin, 0, 0, MARGIN_MAX, err);
	if (r == 0)
		r = mr_child_find_program(program, err);
	return r < 0 ? r : learn_from_runs(learn, program, words, err);
}

const struct mr_cmd mr_cmd_learn = {
	.name = "learn",
	.synopsis = "[OPTIONS OF menace-run] -- PROGRAM [ARG...]",
	.summary = "Run a program in the sandbox and write the policy it needs, menace-policy(5)",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct learn),
	.max_words = SIZE_MAX,
	.passes_on = true,
	.run = run,
};
