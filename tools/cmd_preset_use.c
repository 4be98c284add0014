/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset check, show and combine: what reads presets
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/scenario/check.h"
#include "runtime/scenario/combine.h"
#include "runtime/scenario/draws.h"
#include "tools/cmd_preset.h"
#include "tools/term.h"

#define STATUS_REFUSED 1
#define STATUS_MALFORMED 2

/* --- reading, for all that read -------------------------------------------- */

struct reading {
	enum mr_loss_unit unit;
	mr_document_fn *fn;
	void *owner;
};

static int take_preset(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	const struct reading *reading = owner;
	mr_auto_free char *warning = NULL;
	char path[128];
	int r = mr_document_losses(preset->value, reading->unit, &warning, err);

	mr_json_path(preset, path, sizeof(path));
	if (r < 0)
		return mr_json_wrap(preset, r, err);
	if (warning)
		mr_log_warn("%s: %s%s%s", preset->source, path, path[0] ? ": " : "", warning);
	return reading->fn(preset, reading->owner, err);
}

int mr_cmd_preset_each(const char *word, const char *loss_unit, mr_document_fn *fn, void *owner,
		       struct mr_error *err)
{
	static const char *const units[] = { "percent", "fraction" };
	struct reading reading = { MR_LOSS_PERCENT, fn, owner };
	mr_auto_json json_t *document = NULL;
	const char *source = NULL;
	struct mr_json root;
	int r = mr_cmd_check_word("loss-unit", loss_unit, units, N_ELEMENTS(units), err);

	if (r < 0)
		return r;
	if (loss_unit && strcmp(loss_unit, units[1]) == 0)
		reading.unit = MR_LOSS_FRACTION;
	r = mr_cmd_preset_read(word, &document, &source, err);
	if (r < 0)
		return r;
	root = mr_json_root(document, source);
	return mr_document_each(&root, take_preset, &reading, err);
}

int mr_cmd_preset_refuse_malformed(const struct mr_json *preset, struct mr_error *err)
{
	mr_auto_json json_t *report = NULL;

	if (mr_check_preset(preset, true, &report) != MR_CHECK_MALFORMED)
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL, "%s",
		      json_string_value(json_array_get(json_object_get(report, "problems"), 0)));
}

/* --- check ----------------------------------------------------------------- */

struct check {
	struct mr_cmd_common common;
	const char *loss_unit;
	bool user_misuse, quiet;
	enum mr_check_verdict verdict; /* the worst */
	json_t *reports;
};

static const struct mr_cmd_row check_rows[] = {
	MR_CMD_ROW("user-misuse", 0, NULL, FLAG, check, user_misuse,
		   "admit presets that misuse on purpose; also by ALLOW_USER_MISUSE_PRESETS and "
		   "SANDBOX_PRESET_MODE of the environment"),
	MR_CMD_ROW("loss-unit", 0, "UNIT", TEXT, check, loss_unit,
		   "how a bare number of PACKET_LOSS and PACKET_DUPLICATION is meant: percent (if "
		   "not given) or fraction"),
	MR_CMD_ROW("quiet", 'q', NULL, FLAG, check, quiet,
		   "print problems and verdicts, not each variable"),
	MR_CMD_ROW("json", 0, NULL, FLAG, check, common.json, "print JSON, one document"),
	MR_CMD_HELP_ROW(check),
};

static const char *string_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* "limits.cpus = 4" */
static void print_knobs(const json_t *row)
{
	const char *knob;
	json_t *value;

	json_object_foreach (json_object_get(row, "knobs"), knob, value) {
		printf(" %s = ", knob);
		mr_term_put(MR_TERM_PLAIN,
			    json_is_string(value) ? json_string_value(value) : "(text)");
	}
}

static void print_variable(const json_t *row)
{
	mr_auto_free char *value = mr_draws_text(json_object_get(row, "value"));
	const char *effect = string_of(row, "effect");
	const bool bad = strcmp(effect, "refused") == 0 || strcmp(effect, "malformed") == 0;

	printf("  ");
	mr_term_cell(bad ? MR_TERM_RED : MR_TERM_PLAIN, effect, 10);
	putchar(' ');
	mr_term_put(MR_TERM_PLAIN, string_of(row, "variable"));
	putchar(' ');
	mr_term_put(MR_TERM_PLAIN, value);
	print_knobs(row);
	if (strcmp(effect, "refused") == 0)
		printf(": not enforced by this version (%s)", string_of(row, "message"));
	putchar('\n');
}

static void print_best_effort(const json_t *report)
{
	const json_t *list = json_object_get(report, "best_effort");

	if (json_array_size(list) == 0 || json_array_size(json_object_get(report, "problems")) > 0)
		return;
	printf("  menace-run would start without them by --best-effort ");
	for (size_t i = 0; i < json_array_size(list); i++)
		printf("%s%s", i > 0 ? "," : "", json_string_value(json_array_get(list, i)));
	putchar('\n');
}

static void print_net(const json_t *report)
{
	const char *net = json_string_value(json_object_get(report, "net"));

	if (net)
		printf("  it needs menace-run --net %s\n", net);
}

static void print_report(const struct check *check, const char *source, const json_t *report)
{
	const json_t *variables = json_object_get(report, "variables");
	const json_t *problems = json_object_get(report, "problems");
	const char *path = string_of(report, "preset");

	mr_term_put(MR_TERM_BOLD, source);
	printf("%s", path[0] ? ": " : "");
	mr_term_put(MR_TERM_BOLD, path);
	printf(": %s\n", string_of(report, "verdict"));
	for (size_t i = 0; !check->quiet && i < json_array_size(variables); i++)
		print_variable(json_array_get(variables, i));
	for (size_t i = 0; i < json_array_size(problems); i++) {
		printf("  ");
		mr_term_put(MR_TERM_RED, json_string_value(json_array_get(problems, i)));
		putchar('\n');
	}
	print_net(report);
	print_best_effort(report);
}

static int check_one(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	struct check *check = owner;
	mr_auto_json json_t *report = NULL;
	enum mr_check_verdict verdict = mr_check_preset(preset, check->user_misuse, &report);
	char source[MR_STR_QUOTE_SIZE];

	(void)err;
	if (verdict > check->verdict)
		check->verdict = verdict;
	if (!check->common.json) {
		print_report(check, preset->source, report);
		return 0;
	}
	json_object_set_new(report, "source",
			    mr_str_utf8_valid(preset->source, strlen(preset->source))
				    ? json_string(preset->source)
				    : json_string(mr_str_quote(source, sizeof(source),
							       preset->source)));
	json_array_append(check->reports, report);
	return 0;
}

static int admit_misuse(struct check *check, struct mr_error *err)
{
	const char *text = getenv("ALLOW_USER_MISUSE_PRESETS");
	int r;

	if (text && text[0] && !check->user_misuse) {
		r = mr_units_parse_flag(text, &check->user_misuse, err);
		if (r < 0)
			return mr_err_wrap(err, r, "ALLOW_USER_MISUSE_PRESETS");
	}
	return mr_cmd_preset_misuse(check->user_misuse, &check->user_misuse, err);
}

static int run_check(void *values, char **words, struct mr_error *err)
{
	static const int statuses[] = {
		[MR_CHECK_ACCEPTED] = 0,
		[MR_CHECK_REFUSED] = STATUS_REFUSED,
		[MR_CHECK_MALFORMED] = STATUS_MALFORMED,
	};
	struct check *check = values;
	mr_auto_json json_t *reports = json_array();
	mr_auto_json json_t *document = NULL;
	int r = admit_misuse(check, err);

	check->reports = reports;
	for (size_t i = 0; r == 0 && words[i]; i++)
		r = mr_cmd_preset_each(words[i], check->loss_unit, check_one, check, err);
	if (r < 0)
		return r;
	if (check->common.json) {
		document =
			json_pack("{s:s, s:s, s:O}", "schema", "menace.preset-check/1", "verdict",
				  mr_check_verdict_name(check->verdict), "presets", reports);
		mr_cmd_print_json(document);
	}
	return statuses[check->verdict];
}

const struct mr_cmd mr_cmd_preset_check = {
	.name = "preset check",
	.synopsis = "PRESET...",
	.summary = "Tell what menace-run would apply of presets, and what it would refuse",
	.options = MR_OPTABLE(check_rows),
	.size = sizeof(struct check),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run_check,
};

/* --- show ------------------------------------------------------------------ */

struct show {
	struct mr_cmd_common common;
	const char *loss_unit;
};

static const struct mr_cmd_row show_rows[] = {
	MR_CMD_ROW("loss-unit", 0, "UNIT", TEXT, show, loss_unit,
		   "how a bare number of PACKET_LOSS and PACKET_DUPLICATION is meant: percent (if "
		   "not given) or fraction"),
	MR_CMD_ROW("json", 0, NULL, FLAG, show, common.json,
		   "print JSON, one line a preset, with the whole request as menace-spec(5)"),
	MR_CMD_HELP_ROW(show),
};

static void print_explained(const char *source, const json_t *explained)
{
	const char *path = string_of(explained, "preset"), *key;
	json_t *value;

	mr_term_put(MR_TERM_BOLD, source);
	printf("%s", path[0] ? ": " : "");
	mr_term_put(MR_TERM_BOLD, path);
	if (string_of(explained, "name")[0]) {
		printf(" (");
		mr_term_put(MR_TERM_PLAIN, string_of(explained, "name"));
		putchar(')');
	}
	putchar('\n');
	json_object_foreach (json_object_get(explained, "knobs"), key, value)
		printf("  %-26s %s %s\n", key, string_of(value, "text"), string_of(value, "unit"));
	json_object_foreach (json_object_get(explained, "unenforced"), key, value) {
		mr_auto_free char *text = mr_draws_text(value);

		printf("  %-26s ", key);
		mr_term_put(MR_TERM_PLAIN, text);
		printf("  (not enforced by this version)\n");
	}
	print_net(explained);
}

static int show_one(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	const struct show *show = owner;
	mr_auto_json json_t *explained = NULL;
	int r = mr_check_explain(preset, &explained, err);

	if (r < 0)
		return r;
	if (show->common.json)
		mr_cmd_print_line(explained);
	else
		print_explained(preset->source, explained);
	return 0;
}

static int run_show(void *values, char **words, struct mr_error *err)
{
	struct show *show = values;
	int r = 0;

	for (size_t i = 0; r == 0 && words[i]; i++)
		r = mr_cmd_preset_each(words[i], show->loss_unit, show_one, show, err);
	return r;
}

const struct mr_cmd mr_cmd_preset_show = {
	.name = "preset show",
	.synopsis = "PRESET...",
	.summary = "Tell what presets mean as knobs of menace-spec(5)",
	.options = MR_OPTABLE(show_rows),
	.size = sizeof(struct show),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run_show,
};

/* --- combine --------------------------------------------------------------- */

struct combine {
	struct mr_cmd_common common;
	const char *loss_unit, *output;
	json_t *presets, *labels; /* arrays */
};

static const struct mr_cmd_row combine_rows[] = {
	MR_CMD_ROW("loss-unit", 0, "UNIT", TEXT, combine, loss_unit,
		   "how a bare number of PACKET_LOSS and PACKET_DUPLICATION is meant: percent (if "
		   "not given) or fraction"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, combine, output,
		   "write it there; without it on standard output"),
	MR_CMD_ROW("json", 0, NULL, FLAG, combine, common.json,
		   "print an object with the preset and how each variable was decided"),
	MR_CMD_HELP_ROW(combine),
};

static int collect_one(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	struct combine *combine = owner;
	char path[128], quoted[MR_STR_QUOTE_SIZE];
	mr_auto_free char *label = NULL;
	int r = mr_cmd_preset_refuse_malformed(preset, err);

	if (r < 0)
		return r;
	mr_json_path(preset, path, sizeof(path));
	label = mr_str_format("%s%s%s", preset->source, path[0] ? ": " : "", path);
	if (!mr_str_utf8_valid(label, strlen(label)))
		mr_str_quote(quoted, sizeof(quoted), label);
	json_array_append_new(combine->labels,
			      json_string(mr_str_utf8_valid(label, strlen(label)) ? label
										  : quoted));
	json_array_append(combine->presets, preset->value);
	return 0;
}

static int combine_all(const struct combine *combine, json_t **ret, json_t **ret_rows,
		       struct mr_error *err)
{
	const size_t n = json_array_size(combine->presets);
	mr_auto_free struct mr_combine_part *parts = mr_str_alloc((n + 1) * sizeof(*parts));

	for (size_t i = 0; i < n; i++) {
		parts[i].preset = json_array_get(combine->presets, i);
		parts[i].label = json_string_value(json_array_get(combine->labels, i));
	}
	return mr_combine(parts, n, ret, ret_rows, err);
}

static int run_combine(void *values, char **words, struct mr_error *err)
{
	struct combine *combine = values;
	mr_auto_json json_t *presets = json_array();
	mr_auto_json json_t *labels = json_array();
	mr_auto_json json_t *preset = NULL;
	mr_auto_json json_t *rows = NULL;
	mr_auto_json json_t *document = NULL;
	int r = 0;

	combine->presets = presets;
	combine->labels = labels;
	for (size_t i = 0; r == 0 && words[i]; i++)
		r = mr_cmd_preset_each(words[i], combine->loss_unit, collect_one, combine, err);
	if (r == 0 && json_array_size(presets) == 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "there are no presets to combine");
	if (r == 0)
		r = combine_all(combine, &preset, &rows, err);
	if (r < 0)
		return r;
	if (!combine->common.json)
		return mr_cmd_preset_write(combine->output, preset, err);
	document = json_pack("{s:s, s:O, s:O}", "schema", "menace.preset-combine/1", "preset",
			     preset, "decided", rows);
	return mr_cmd_preset_write(combine->output, document, err);
}

const struct mr_cmd mr_cmd_preset_combine = {
	.name = "preset combine",
	.synopsis = "PRESET...",
	.summary = "Make one preset of several, by a rule for each variable",
	.options = MR_OPTABLE(combine_rows),
	.size = sizeof(struct combine),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run_combine,
};
