/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace export: runs in the formats of other programs
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/export/export.h"
#include "tools/cmd.h"
#include "tools/handover.h"
#include "runtime/base/outfile.h"
#include "tools/progress.h"

#define FORMATS_MAX 16

struct export
{
	struct mr_cmd_common common;
	const char *format, *signal, *output, *run, *reason, *program;
	const char *endpoint, *ca, *timeout, *retries, *retry_wait; /* for menace-send */
	struct mr_cmd_list headers;
	int64_t since_us, until_us;
	struct mr_progress progress;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("format", 'f', "FORMAT", TEXT, export, format,
		   "jsonl (default), prometheus, ocsf, otlp, ecs or cef; see FORMATS"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, export, output,
		   "write there instead of to standard output; the file is there whole or not at "
		   "all"),
	MR_CMD_ROW("signal", 0, "SIGNAL", TEXT, export, signal,
		   "of otlp only the metrics or only the logs"),
	MR_CMD_ROW("endpoint", 0, "URL", PATH, export, endpoint,
		   "send otlp to this receiver; the options that follow are of that"),
	MR_CMD_ROW("header", 0, "HEADER", LIST, export, headers,
		   "\"Name: value\" to send along, or @FILE with one a line; may be repeated"),
	MR_CMD_ROW("ca", 0, "FILE", PATH, export, ca,
		   "trust these certificates (PEM) instead of the system's"),
	MR_CMD_ROW("timeout", 0, "TIME", PATH, export, timeout, "of one request; 30s if not given"),
	MR_CMD_ROW("retries", 0, "N", PATH, export, retries,
		   "tries after the first; 5 if not given"),
	MR_CMD_ROW("retry-wait", 0, "TIME", PATH, export, retry_wait,
		   "before the first retry, doubling; 1s if not given"),
	MR_CMD_ROW("run", 0, "RUN", TEXT, export, run, "only this one"),
	MR_CMD_ROW("reason", 0, "REASON", TEXT, export, reason,
		   "only runs that ended for this reason"),
	MR_CMD_ROW("program", 0, "PATTERN", TEXT, export, program,
		   "only runs whose program or name matches (* and ?)"),
	MR_CMD_ROW("since", 0, "TIME", INSTANT, export, since_us, "only runs from then on"),
	MR_CMD_ROW("until", 0, "TIME", INSTANT, export, until_us, "only runs before"),
	MR_CMD_COMMON_ROWS(export),
};

static int find_format(const char *name, const struct mr_export_format **ret, struct mr_error *err)
{
	const char *known[FORMATS_MAX];
	size_t n = 0;
	int r;

	*ret = mr_export_format_get(0);
	while (mr_export_format_get(n)) {
		mr_assert(n < FORMATS_MAX);
		known[n] = mr_export_format_name(mr_export_format_get(n));
		n++;
	}
	r = mr_cmd_check_word("format", name, known, n, err);
	for (size_t i = 0; i < n && r == 0 && name; i++)
		if (strcmp(known[i], name) == 0)
			*ret = mr_export_format_get(i);
	return r;
}

static void tell_progress(void *owner, uint64_t done, uint64_t total)
{
	mr_progress_tell(&((struct export *)owner)->progress, done, total);
}

static int write_runs(struct export *export, struct mr_store *store,
		      const struct mr_export_format *format, struct mr_export_opts *opts,
		      struct mr_error *err)
{
	int r;

	opts->progress = tell_progress;
	opts->owner = export;
	mr_progress_begin(&export->progress, "exporting runs");
	r = mr_export(store, format, opts, err);
	mr_progress_end(&export->progress);
	return r;
}

static int write_stdout(struct export *export, struct mr_store *store,
			const struct mr_export_format *format, struct mr_export_opts *opts,
			struct mr_error *err)
{
	int r;

	opts->out = stdout;
	r = write_runs(export, store, format, opts, err);
	/* The first write that fails ends it: r is of that one. */
	return r < 0 && ferror(stdout) ? mr_cmd_lost_output(-r, err) : r;
}

static int write_file(struct export *export, struct mr_store *store,
		      const struct mr_export_format *format, struct mr_export_opts *opts,
		      struct mr_error *err)
{
	struct mr_outfile file = MR_OUTFILE_INIT;
	int r = mr_outfile_open(export->output, mr_export_format_mode(format), &file, err);

	if (r < 0)
		return mr_err_wrap(err, r, "--output");
	opts->out = file.stream;
	r = write_runs(export, store, format, opts, err);
	if (r == 0)
		r = mr_outfile_commit(&file, err);
	mr_outfile_deinit(&file);
	return r;
}

/* The options of menace-send, by their own names. */
static const char **words_for_sender(const struct export *export)
{
	const struct {
		const char *name, *value;
	} options[] = { { "--endpoint", export->endpoint },
			{ "--ca", export->ca },
			{ "--timeout", export->timeout },
			{ "--retries", export->retries },
			{ "--retry-wait", export->retry_wait } };
	const char **words =
		mr_str_alloc((2 * (N_ELEMENTS(options) + export->headers.n) + 2) * sizeof(*words));
	size_t n = 1; /* the first is the program */

	for (size_t i = 0; i < N_ELEMENTS(options); i++) {
		if (!options[i].value)
			continue;
		words[n++] = options[i].name;
		words[n++] = options[i].value;
	}
	for (size_t i = 0; i < export->headers.n; i++) {
		words[n++] = "--header";
		words[n++] = export->headers.v[i];
	}
	return words;
}

/* When the sender has exited it has said why, and its status is ours. */
static int send_runs(struct export *export, struct mr_store *store,
		     const struct mr_export_format *format, struct mr_export_opts *opts,
		     struct mr_error *err)
{
	mr_auto_free const char **words = words_for_sender(export);
	struct mr_error of_sender = MR_ERROR_INIT;
	struct mr_handover handover;
	int r = mr_handover_open("menace-send", words, &handover, err);
	int status;

	if (r < 0)
		return r;
	opts->out = handover.stream;
	r = write_runs(export, store, format, opts, err);
	status = mr_handover_close(&handover, &of_sender);
	if (r < 0 && (r != -EPIPE || status == 0))
		return r;
	if (status < 0)
		*err = of_sender;
	return status;
}

static int check_options(const struct export *export, const struct mr_export_format *format,
			 struct mr_error *err)
{
	static const char *const signals[] = { "metrics", "logs" };
	bool is_otlp = strcmp(mr_export_format_name(format), "otlp") == 0;
	int r = mr_cmd_check_reason(export->reason, err);

	if (r == 0)
		r = mr_cmd_check_word("signal", export->signal, signals, N_ELEMENTS(signals), err);
	if (r < 0)
		return r;
	if (export->common.json && format != mr_export_format_get(0))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--json is --format %s; --format %s has a form of its own",
			      mr_export_format_name(mr_export_format_get(0)),
			      mr_export_format_name(format));
	if (export->signal && !is_otlp)
		return mr_err(err, MR_E_USAGE, EINVAL, "--signal is of --format otlp");
	if (export->endpoint && !is_otlp)
		return mr_err(err, MR_E_USAGE, EINVAL, "--endpoint takes --format otlp only");
	if (export->endpoint && export->output)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--endpoint and --output exclude each other");
	if (!export->endpoint && (export->ca || export->timeout || export->retries ||
				  export->retry_wait || export->headers.n > 0))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--header, --ca, --timeout, --retries and --retry-wait are of "
			      "--endpoint");
	return 0;
}

static int64_t time_or_any(int64_t us)
{
	return us == MR_CMD_NOT_GIVEN ? MR_EXPORT_ANY_TIME : us;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct export *export = values;
	const struct mr_export_format *format = NULL;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_free char *run_id = NULL;
	struct mr_export_opts opts = { .signal = export->signal };
	int r = find_format(export->format, &format, err);

	(void)words;
	if (r == 0)
		r = check_options(export, format, err);
	if (r == 0)
		r = mr_cmd_open(&export->common, MR_STORE_READ, &store, err);
	if (r == 0 && export->run)
		r = mr_cmd_find_run(store, export->run, &run_id, err);
	if (r < 0)
		return r;
	opts.filter = (struct mr_export_filter){
		.run_id = run_id,
		.reason = export->reason,
		.program = export->program,
		.since_us = time_or_any(export->since_us),
		.until_us = time_or_any(export->until_us),
	};
	if (export->endpoint)
		return send_runs(export, store, format, &opts, err);
	if (!export->output || strcmp(export->output, "-") == 0)
		return write_stdout(export, store, format, &opts, err);
	return write_file(export, store, format, &opts, err);
}

const struct mr_cmd mr_cmd_export = {
	.name = "export",
	.synopsis = "",
	.summary = "Print records of runs for other programs",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct export),
	.run = run,
};
