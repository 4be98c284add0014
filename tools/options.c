/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of menace-run: one handler each
 *
 * An option that sets a knob needs none: its row names the field.  The others
 * have a function here, which checks its argument and stores it.
 */
#include "tools/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/lang.h"
#include "runtime/spec/policy.h"

#define SPEC_FILE_MAX (16 << 20)
#define JOBS_MAX 64
#define FD_MAX 1048576

static int refuse(struct mr_error *err, const char *message)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s", message);
}

static int refuse_value(struct mr_error *err, const char *value, const char *accepted)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "unknown value %s; accepted: %s",
		      mr_str_quote(quoted, sizeof(quoted), value), accepted);
}

static int take_code(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	(void)err;
	parse->code = arg;
	return 0;
}

static int take_lang(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	parse->lang = arg;
	return mr_lang_check(arg, err);
}

static int read_stdin(char **ret, size_t *ret_size, struct mr_error *err)
{
	mr_auto_free char *text = mr_str_alloc(SPEC_FILE_MAX + 1);
	ssize_t n = mr_read_full(STDIN_FILENO, text, SPEC_FILE_MAX + 1);

	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read standard input: %m");
	if (n > SPEC_FILE_MAX)
		return refuse(err, "standard input has more than 16 MiB");
	*ret = mr_take_ptr(text);
	*ret_size = (size_t)n;
	return 0;
}

/* A document from a file, or from standard input ("-"). */
static int read_document(const char *arg, const char *schema, char **ret, size_t *ret_size,
			 const char **ret_source, struct mr_error *err)
{
	bool from_stdin = strcmp(arg, "-") == 0;
	int r;

	*ret_source = from_stdin ? "standard input" : arg;
	if (from_stdin)
		r = read_stdin(ret, ret_size, err);
	else
		r = mr_read_whole_file(arg, SPEC_FILE_MAX, ret, ret_size, err);
	if (r < 0) {
		if (err)
			err->code = MR_E_USAGE;
		return r;
	}
	if (strspn(*ret, " \t\r\n") == *ret_size)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s is empty; accepted: a document of schema %s", *ret_source,
			      schema);
	return 0;
}

static int take_spec(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	const char *source;
	size_t size = 0;
	int r = read_document(arg, MR_SPEC_SCHEMA, &text, &size, &source, err);

	return r < 0 ? r : mr_spec_parse_json(&parse->cli.spec, text, size, source, err);
}

static int take_policy(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	mr_auto_policy struct mr_policy *policy = NULL;
	mr_auto_free char *text = NULL;
	const char *source;
	size_t size = 0;
	int r = read_document(arg, MR_POLICY_SCHEMA, &text, &size, &source, err);

	if (r == 0)
		r = mr_policy_parse(text, size, source, &policy, err);
	return r < 0 ? r : mr_spec_set_policy(&parse->cli.spec, policy, err);
}

static int take_preset(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_preset_apply_arg(&parse->cli.spec, arg, parse->label, err);
}

static int take_set(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_set_assignment(&parse->cli.spec, arg, err);
}

static int take_best_effort(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_best_effort(&parse->cli.spec, arg, err);
}

static int take_env(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_env(&parse->cli.spec, arg, err);
}

static int take_env_pass(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_env_pass(&parse->cli.spec, arg, err);
}

static int take_mock(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_mock(&parse->cli.spec, arg, err);
}

static int take_allow(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_allow(&parse->cli.spec, arg, err);
}

static int take_net_fault(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_fault(&parse->cli.spec, arg, err);
}

static int take_ro(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_mount(&parse->cli.spec, MR_MOUNT_RO, arg, err);
}

static int take_rw(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_mount(&parse->cli.spec, MR_MOUNT_RW, arg, err);
}

static int take_tmpfs(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_mount(&parse->cli.spec, MR_MOUNT_TMPFS, arg, err);
}

static int take_hide(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return mr_spec_add_mount(&parse->cli.spec, MR_MOUNT_HIDE, arg, err);
}

/* The level, if it is the first word, and switches of probes behind it. */
static int take_telemetry(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	size_t n = arg[0] == '+' || arg[0] == '-' ? 0 : strcspn(arg, ",");
	mr_auto_free char *level = mr_str_ndup(arg, n);
	const char *switches = arg + n + (n > 0 && arg[n] == ',');
	int r = 0;

	if (n > 0 || arg[0] == '\0')
		r = mr_spec_set_labelled(&parse->cli.spec, MR_FIELD_telemetry_level, level, false,
					 MR_ORIGIN_FLAG, NULL, err);
	if (r == 0 && arg[n] != '\0' && switches[0] == '\0')
		return refuse(err, "nothing is behind the last comma");
	return r < 0 ? r
		     : mr_spec_set_labelled(&parse->cli.spec, MR_FIELD_telemetry_probes, switches,
					    false, MR_ORIGIN_FLAG, NULL, err);
}

static int take_json(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	uint64_t fd = 0;

	if (arg[0] == '\0' || (mr_str_starts_with(arg, "FD:") &&
			       (mr_units_parse_count(arg + 3, &fd, NULL) < 0 || fd > FD_MAX)))
		return refuse_value(err, arg, "FILE, FD:N with the number of a descriptor, or -");
	mr_freep(&parse->cli.json_target);
	parse->cli.json_target = mr_str_dup(arg);
	return 0;
}

/* A matter of the caller's like --json, not of the request: a spec cannot say where to write. */
static int take_store(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	if (arg[0] == '\0' || mr_str_ends_with(arg, "/"))
		return refuse_value(err, arg, "the path of a file, or none");
	mr_freep(&parse->cli.store);
	parse->cli.store = mr_str_dup(arg);
	return 0;
}

static int take_cgroup_parent(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	if (!mr_cgroup_name_ok(arg))
		return refuse_value(err, arg, "a name of A-Z a-z 0-9 . _ -");
	mr_freep(&parse->cli.cgroup_parent);
	parse->cli.cgroup_parent = mr_str_dup(arg);
	return 0;
}

static int take_fd(int *ret, const char *arg, struct mr_error *err)
{
	uint64_t fd = 0;

	if (mr_units_parse_count(arg, &fd, NULL) < 0 || fd <= STDERR_FILENO || fd > FD_MAX)
		return refuse_value(err, arg, "the number of a descriptor, not 0, 1 or 2");
	*ret = (int)fd;
	return 0;
}

static int take_ready_fd(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return take_fd(&parse->cli.ready.ready_fd, arg, err);
}

static int take_block_fd(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	return take_fd(&parse->cli.ready.block_fd, arg, err);
}

static int take_jobs(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	uint64_t jobs = 0;

	if (mr_units_parse_count(arg, &jobs, NULL) < 0 || jobs < 1 || jobs > JOBS_MAX)
		return refuse_value(err, arg, "1 to 64");
	parse->cli.jobs = (unsigned int)jobs;
	return 0;
}

static int take_log_format(struct mr_cli_parse *parse, const char *arg, struct mr_error *err)
{
	bool json = strcmp(arg, "json") == 0;

	if (!json && strcmp(arg, "text") != 0)
		return refuse_value(err, arg, "text, json");
	parse->cli.log_format = json ? MR_LOG_JSON : MR_LOG_TEXT;
	return 0;
}

#define TAKE_SWITCH(fn, statement)                                                       \
	static int fn(struct mr_cli_parse *parse, const char *arg, struct mr_error *err) \
	{                                                                                \
		(void)arg;                                                               \
		(void)err;                                                               \
		parse->cli.statement;                                                    \
		return 0;                                                                \
	}
TAKE_SWITCH(take_batch, batch = true)
TAKE_SWITCH(take_brief, brief = true)
TAKE_SWITCH(take_summary, summary = true)
TAKE_SWITCH(take_dry_run, dry_run = true)
TAKE_SWITCH(take_quiet, verbosity--)
TAKE_SWITCH(take_verbose, verbosity++)
TAKE_SWITCH(take_version, version = true)
TAKE_SWITCH(take_help, help = true)

static const struct mr_cli_row rows[MR_OPTIONS_COUNT] = {
#define GROUP(title) { .option = { .group = (title), .field = -1 } },
#define OPTION(name_, short_, arg_, stage_, take_, help_)     \
	{ .option = { NULL, name_, short_, arg_, help_, -1 }, \
	  .stage = MR_CLI_STAGE_##stage_,                     \
	  .take = take_ },
#define KNOB(name_, short_, arg_, field_, help_)                             \
	{ .option = { NULL, name_, short_, arg_, help_, MR_FIELD_##field_ }, \
	  .stage = MR_CLI_STAGE_FLAG },
#define SWITCH(name_, short_, field_, value_, help_)                         \
	{ .option = { NULL, name_, short_, NULL, help_, MR_FIELD_##field_ }, \
	  .stage = MR_CLI_STAGE_FLAG,                                        \
	  .value = value_ },
#include "tools/options.def"
};

const struct mr_cli_row *mr_options_rows(void)
{
	return rows;
}

const struct mr_cli_option *mr_cli_option(size_t i)
{
	return i < N_ELEMENTS(rows) ? &rows[i].option : NULL;
}

const char *mr_options_label(const struct mr_cli_met *met, char buf[MR_OPTABLE_LABEL_SIZE])
{
	return mr_optable_label(&met->row->option, met->is_short, buf);
}

static int set_knob(struct mr_cli_parse *parse, const struct mr_cli_met *met, struct mr_error *err)
{
	enum mr_field_id id = (enum mr_field_id)met->row->option.field;

	if (!met->row->value && mr_spec_fields()[id].type == MR_FIELD_STR && met->arg[0] == '\0')
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: an empty text is not accepted",
			      parse->label);
	return mr_spec_set_labelled(&parse->cli.spec, id,
				    met->row->value ? met->row->value : met->arg, true,
				    MR_ORIGIN_FLAG, parse->label, err);
}

int mr_options_apply(struct mr_cli_parse *parse, const struct mr_cli_met *met, struct mr_error *err)
{
	int r;

	mr_options_label(met, parse->label);
	if (!met->row->take)
		return set_knob(parse, met, err);
	r = met->row->take(parse, met->arg, err);
	/* A preset puts the label itself where it belongs. */
	return r < 0 && met->row->take != take_preset ? mr_err_wrap(err, r, "%s", parse->label) : r;
}
