/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace export: runs as lines, as they were recorded
 *
 * Comes from the bytes that were hashed, not from the tables: what is exported is
 * what can be verified.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"

struct export
{
	struct mr_cmd_common common;
	const char *format, *run;
	int64_t since_us, until_us;
	struct mr_store *store;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("format", 'f', "jsonl", TEXT, export, format,
		   "jsonl: a record of schema menace.record/1 a line"),
	MR_CMD_ROW("run", 0, "RUN", TEXT, export, run, "only this one"),
	MR_CMD_ROW("since", 0, "TIME", INSTANT, export, since_us, "only runs from then on"),
	MR_CMD_ROW("until", 0, "TIME", INSTANT, export, until_us, "only runs before"),
	MR_CMD_COMMON_ROWS(export),
};

static json_t *data_of(const json_t *link, struct mr_error *err)
{
	const char *body = json_string_value(json_object_get(link, "body"));
	mr_auto_json json_t *parsed = NULL;

	if (mr_json_parse(body, strlen(body), "link", &parsed, err) < 0)
		return NULL;
	return json_incref(json_object_get(parsed, "data"));
}

/* Put the links of a run together again. */
static int add_link(const json_t *link, void *owner, struct mr_error *err)
{
	json_t *record = owner;
	const char *kind = json_string_value(json_object_get(link, "kind"));
	mr_auto_json json_t *data = data_of(link, err);

	if (!data)
		return mr_err(err, MR_E_PROTO, EBADMSG,
			      "a link is damaged: menace audit verify says which");
	if (strcmp(kind, "run") == 0)
		json_object_update(record, data);
	else if (strcmp(kind, "result") == 0)
		json_object_set(record, "result", data);
	else
		json_object_set(json_object_get(record, "result"), kind, data);
	return 0;
}

static int on_run(const json_t *row, void *owner, struct mr_error *err)
{
	struct export *export = owner;
	mr_auto_json json_t *record = json_object();
	int r = mr_query_each(export->store, "link.list",
			      json_pack("{s:O}", "run_id", json_object_get(row, "run_id")),
			      add_link, record, err);

	if (r < 0)
		return r;
	json_object_set_new(record, "integrity",
			    json_pack("{s:O, s:O}", "seq", json_object_get(row, "seq"), "hash",
				      json_object_get(row, "hash")));
	mr_cmd_print_line(record);
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct export *export = values;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_free char *run_id = NULL;
	char quoted[MR_STR_QUOTE_SIZE];
	int r;

	(void)words;
	if (export->format && strcmp(export->format, "jsonl") != 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--format: unknown value %s; accepted: jsonl",
			      mr_str_quote(quoted, sizeof(quoted), export->format));
	r = mr_cmd_open(&export->common, MR_STORE_READ, &store, err);
	if (r == 0 && export->run)
		r = mr_cmd_find_run(store, export->run, &run_id, err);
	if (r < 0)
		return r;
	export->store = store;
	return mr_query_each(store, "export.runs",
			     json_pack("{s:s?, s:o, s:o}", "run_id", run_id, "since_us",
				       mr_cmd_instant(export->since_us), "until_us",
				       mr_cmd_instant(export->until_us)),
			     on_run, export, err);
}

const struct mr_cmd mr_cmd_export = {
	.name = "export",
	.synopsis = "",
	.summary = "Print records of runs for other programs",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct export),
	.run = run,
};
