/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace flow: the database of workflows
 */
#include "tools/cmd_flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/workflow.h"
#include "runtime/store/query.h"
#include "tools/flow_session.h"
#include "tools/term.h"

struct flow {
	struct mr_cmd_common common;
	bool runs;
	struct mr_store *store;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_COMMON_ROWS(flow),
};

/* A number of the database. */
static int parse_id(const char *word, json_int_t *ret, struct mr_error *err)
{
	uint64_t id = 0;
	int r = mr_units_parse_count(word, &id, err);

	*ret = (json_int_t)id;
	return r;
}

/* --- add ------------------------------------------------------------------- */

static int add_to_store(struct mr_store *store, const struct mr_flow *flow, const char *folder,
			json_int_t *ret_id, struct mr_error *err)
{
	mr_auto_free char *document = json_dumps(flow->document, JSON_COMPACT | JSON_SORT_KEYS);
	mr_auto_free char *both = NULL;
	mr_auto_json json_t *row = NULL;
	char sha256[MR_HASH_HEX_SIZE];
	int r;

	mr_assert(document);
	both = mr_str_format("%s\n%s", folder, document);
	mr_hash_hex(both, strlen(both), sha256);
	r = mr_query_run(store, "flow.add",
			 json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", flow->name, "folder",
				   folder, "document", document, "sha256", sha256, "added_us",
				   (json_int_t)mr_flow_session_now_us()),
			 err);
	if (r == 0)
		r = mr_query_one(store, "flow.find", json_pack("{s:s}", "sha256", sha256), &row,
				 err);
	if (r == 0)
		*ret_id = json_integer_value(json_object_get(row, "id"));
	return r;
}

static int add_file(struct flow *f, const char *path, struct mr_error *err)
{
	mr_auto_flow struct mr_flow *flow = NULL;
	mr_auto_json json_t *told = NULL;
	mr_auto_free char *folder = NULL;
	json_int_t id = 0;
	int r = mr_flow_read(path, &flow, &folder, err);

	if (r == 0)
		r = add_to_store(f->store, flow, folder, &id, err);
	if (r < 0)
		return r;
	told = json_pack("{s:I, s:s, s:i}", "id", id, "name", flow->name, "steps",
			 (int)flow->n_steps);
	if (f->common.json)
		mr_cmd_print_line(told);
	else
		printf("%lld\n", (long long)id);
	return 0;
}

static int run_add(void *values, char **words, struct mr_error *err)
{
	struct flow *f = values;
	int r = mr_cmd_open(&f->common, MR_STORE_WRITE, &f->store, err);

	for (size_t i = 0; r == 0 && words[i]; i++)
		r = add_file(f, words[i], err);
	f->store = mr_store_close(f->store);
	return r;
}

static const struct mr_cmd add = {
	.name = "flow add",
	.synopsis = "FILE.json...",
	.summary = "Keep workflows in the store, with the files in them; print their numbers",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct flow),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run_add,
};

/* --- list ------------------------------------------------------------------ */

static const struct mr_cmd_row list_rows[] = {
	MR_CMD_ROW("runs", 'r', NULL, FLAG, flow, runs,
		   "list the runs of workflows instead, newest first"),
	MR_CMD_COMMON_ROWS(flow),
};

static void print_flow(const json_t *row)
{
	char when[32];

	printf("%5lld  %s  %4lld steps  ",
	       (long long)json_integer_value(json_object_get(row, "id")),
	       mr_term_time(json_integer_value(json_object_get(row, "added_us")), when),
	       (long long)json_integer_value(json_object_get(row, "steps")));
	mr_term_put(MR_TERM_PLAIN, json_string_value(json_object_get(row, "name")));
	putchar('\n');
}

static void print_run(const json_t *row)
{
	const json_t *ended = json_object_get(row, "ended_us");
	const bool passed = json_integer_value(json_object_get(row, "passed")) == 1;
	char when[32];

	printf("%s  %s  %4lld steps done  %-10s ",
	       json_string_value(json_object_get(row, "flow_run")),
	       mr_term_time(json_integer_value(json_object_get(row, "started_us")), when),
	       (long long)json_integer_value(json_object_get(row, "steps")),
	       json_is_null(ended) ? "unfinished"
	       : passed		   ? "passed"
				   : "failed");
	mr_term_put(MR_TERM_PLAIN, json_string_value(json_object_get(row, "name")));
	putchar('\n');
}

static int print_one(const json_t *row, void *owner, struct mr_error *err)
{
	const struct flow *f = owner;

	(void)err;
	if (f->common.json)
		mr_cmd_print_line(row);
	else if (f->runs)
		print_run(row);
	else
		print_flow(row);
	return 0;
}

static int run_list(void *values, char **words, struct mr_error *err)
{
	struct flow *f = values;
	int r = mr_cmd_open(&f->common, MR_STORE_READ, &f->store, err);

	(void)words;
	if (r == 0)
		r = f->runs ? mr_query_each(f->store, "flow_run.list",
					    json_pack("{s:i}", "limit", -1), print_one, f, err)
			    : mr_query_each(f->store, "flow.list", NULL, print_one, f, err);
	f->store = mr_store_close(f->store);
	return r;
}

static const struct mr_cmd list = {
	.name = "flow list",
	.synopsis = "",
	.summary = "List the workflows in the store",
	.options = MR_OPTABLE(list_rows),
	.size = sizeof(struct flow),
	.run = run_list,
};

/* --- show ------------------------------------------------------------------ */

/* A number is one in the store, else it is a file: as it is understood, checked. */
static int run_show(void *values, char **words, struct mr_error *err)
{
	struct flow *f = values;
	struct mr_flow_session session = MR_FLOW_SESSION_INIT;
	const bool stored = strspn(words[0], "0123456789") == strlen(words[0]);
	int r = stored ? mr_cmd_open(&f->common, MR_STORE_READ, &session.store, err) : 0;

	if (r == 0)
		r = mr_flow_session_find(&session, words[0], err);
	if (r == 0)
		mr_cmd_print_json(session.flow->document);
	mr_flow_session_close(&session);
	return r;
}

static const struct mr_cmd show = {
	.name = "flow show",
	.synopsis = "FILE.json|ID",
	.summary = "Check a workflow and print it, with the contents of files in it",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct flow),
	.min_words = 1,
	.max_words = 1,
	.run = run_show,
};

/* --- rm -------------------------------------------------------------------- */

static int remove_one(struct mr_store *store, const char *word, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	json_int_t id = 0;
	int r = parse_id(word, &id, err);

	if (r == 0)
		r = mr_query_one(store, "flow.remove", json_pack("{s:I}", "id", id), &row, err);
	if (r > 0)
		return mr_err(err, MR_E_NONE, ENOENT, "workflow %lld not found", (long long)id);
	return r;
}

static int run_rm(void *values, char **words, struct mr_error *err)
{
	struct flow *f = values;
	int r = mr_cmd_open(&f->common, MR_STORE_WRITE, &f->store, err);

	if (r == 0)
		r = mr_store_begin(f->store, err);
	for (size_t i = 0; r == 0 && words[i]; i++)
		r = remove_one(f->store, words[i], err);
	if (r == 0)
		r = mr_store_commit(f->store, err);
	f->store = mr_store_close(f->store);
	return r;
}

static const struct mr_cmd rm = {
	.name = "flow rm",
	.synopsis = "ID...",
	.summary = "Remove workflows from the store, all that are named or none; their runs stay",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct flow),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run_rm,
};

static const struct mr_cmd *const verbs[] = { &mr_cmd_flow_run,	  &add, &list, &show, &rm,
					      &mr_cmd_flow_purge, NULL };

const struct mr_cmd mr_cmd_flow = {
	.name = "flow",
	.synopsis = "VERB",
	.summary = "Run workflows of several steps, and keep them",
	.verbs = verbs,
};
