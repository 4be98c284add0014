/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention
 */
#include "runtime/store/retain.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/canon.h"
#include "runtime/store/chain.h"
#include "runtime/store/checkpoint.h"
#include "runtime/store/internal.h"
#include "runtime/store/query.h"
#include "runtime/store/store.h"

static json_t *account(const char *reason)
{
	return json_pack("{s:s, s:I}", "reason", reason, "uid", (json_int_t)geteuid());
}

static json_t *run_bind(const char *run_id)
{
	return json_pack("{s:s}", "run_id", run_id);
}

static int finish(struct mr_store *store, int r, struct mr_error *err)
{
	if (r != 0) {
		mr_store_rollback(store);
		return r;
	}
	return mr_store_commit(store, err);
}

static int set_hold(struct mr_store *store, const char *run_id, const char *reason,
		    struct mr_error *err)
{
	mr_auto_json json_t *there = NULL;
	mr_auto_json json_t *data = account(reason);
	int64_t seq = 0;
	int r = mr_query_one(store, "hold.get", run_bind(run_id), &there, err);

	if (r <= 0)
		return r < 0 ? r : 1;
	r = mr_chain_append(store, "hold", run_id, data, &seq, err);
	if (r < 0)
		return r;
	return mr_query_run(store, "hold.set",
			    json_pack("{s:s, s:I, s:s}", "run_id", run_id, "seq", (json_int_t)seq,
				      "reason", reason),
			    err);
}

int mr_retain_hold(struct mr_store *store, const char *run_id, const char *reason,
		   struct mr_error *err)
{
	int r = mr_store_begin(store, err);

	return r < 0 ? r : finish(store, set_hold(store, run_id, reason, err), err);
}

static int lift_hold(struct mr_store *store, const char *run_id, const char *reason,
		     struct mr_error *err)
{
	mr_auto_json json_t *there = NULL;
	mr_auto_json json_t *data = account(reason);
	int r = mr_query_one(store, "hold.get", run_bind(run_id), &there, err);

	if (r != 0)
		return r;
	r = mr_chain_append(store, "release", run_id, data, NULL, err);
	return r < 0 ? r : mr_query_run(store, "hold.release", run_bind(run_id), err);
}

int mr_retain_release(struct mr_store *store, const char *run_id, const char *reason,
		      struct mr_error *err)
{
	int r = mr_store_begin(store, err);

	return r < 0 ? r : finish(store, lift_hold(store, run_id, reason, err), err);
}

int mr_retain_candidates(struct mr_store *store, const struct mr_purge_opts *opts, json_t **ret,
			 struct mr_error *err)
{
	return mr_query_all(store, "purge.candidates",
			    json_pack("{s:o, s:s?}", "before_us",
				      opts->before_us ? json_integer(opts->before_us) : json_null(),
				      "run_id", opts->run_id),
			    ret, err);
}

/* All tables that have rows of a run: the schema knows. */
static int delete_rows(struct mr_store *store, const struct mr_purge_opts *opts,
		       struct mr_error *err)
{
	mr_auto_json json_t *tables = NULL;
	size_t i;
	json_t *table;
	int r = mr_query_all(store, "verify.tables", NULL, &tables, err);

	json_array_foreach (tables, i, table) {
		/* Quoted: who wrote the store may have named a table like more SQL. */
		char *sql = sqlite3_mprintf("DELETE FROM \"%w\" WHERE run_id IN (SELECT run_id "
					    "FROM purged)",
					    json_string_value(json_object_get(table, "name")));

		mr_assert(sql);
		if (r == 0)
			r = mr_store_exec(store, sql, "purge", err);
		sqlite3_free(sql);
		if (opts->progress) /* making the file smaller comes last */
			opts->progress(i + 1, json_array_size(tables) + 1, opts->owner);
	}
	if (r == 0)
		r = mr_query_run(store, "purge.links", NULL, err);
	return r;
}

static int mark_runs(struct mr_store *store, const json_t *runs, int64_t seq, struct mr_error *err)
{
	size_t i;
	json_t *run;
	int r = 0;

	json_array_foreach ((json_t *)(uintptr_t)runs, i, run) {
		if (r == 0)
			r = mr_query_run(store, "purge.mark",
					 json_pack("{s:O, s:I}", "run_id", run, "seq",
						   (json_int_t)seq),
					 err);
	}
	return r;
}

/* The beginning of the chain up to the first row that is still needed goes under a seal. */
static int seal(struct mr_store *store, const struct mr_sign_key *key, int64_t *ret_sealed,
		struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	mr_auto_json json_t *document = NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_query_one(store, "seal.range", NULL, &row, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = mr_checkpoint_make_seal(store, key,
				    json_integer_value(json_object_get(row, "first_seq")),
				    json_integer_value(json_object_get(row, "last_seq")),
				    json_string_value(json_object_get(row, "head")), &document,
				    err);
	if (r < 0)
		return r;
	text = mr_canon_text(document, &size);
	r = mr_query_run(store, "segment.insert",
			 json_pack("{s:O, s:O, s:O, s:s}", "first_seq",
				   json_object_get(row, "first_seq"), "last_seq",
				   json_object_get(row, "last_seq"), "head",
				   json_object_get(row, "head"), "document", text),
			 err);
	if (r == 0)
		r = mr_query_run(store, "seal.delete",
				 json_pack("{s:O}", "last_seq", json_object_get(row, "last_seq")),
				 err);
	if (r == 0)
		*ret_sealed = json_integer_value(json_object_get(row, "last_seq")) -
			      json_integer_value(json_object_get(row, "first_seq")) + 1;
	return r;
}

static int purge(struct mr_store *store, const struct mr_purge_opts *opts, int64_t *ret_runs,
		 int64_t *ret_sealed, struct mr_error *err)
{
	mr_auto_json json_t *rows = NULL;
	mr_auto_json json_t *data = account(opts->reason);
	json_t *runs = json_array();
	int64_t seq = 0;
	size_t i;
	json_t *row;
	int r = mr_retain_candidates(store, opts, &rows, err);

	json_object_set_new(data, "runs", runs);
	json_array_foreach (rows, i, row)
		json_array_append(runs, json_object_get(row, "run_id"));
	*ret_runs = (int64_t)json_array_size(runs);
	if (r == 0 && *ret_runs > 0) {
		r = mr_chain_append(store, "purge", opts->reason, data, &seq, err);
		if (r == 0)
			r = mark_runs(store, runs, seq, err);
		if (r == 0)
			r = delete_rows(store, opts, err);
	}
	if (r == 0 && opts->key)
		r = seal(store, opts->key, ret_sealed, err);
	return r;
}

int mr_retain_purge(struct mr_store *store, const struct mr_purge_opts *opts, int64_t *ret_runs,
		    int64_t *ret_sealed, struct mr_error *err)
{
	int64_t runs = 0, sealed = 0;
	int r = mr_store_wipe_deleted(store, err);

	if (r == 0)
		r = mr_store_begin(store, err);
	if (r < 0)
		return r;
	r = finish(store, purge(store, opts, &runs, &sealed, err), err);
	if (r < 0)
		return r;
	*ret_runs = runs;
	*ret_sealed = sealed;
	return runs > 0 || sealed > 0 ? mr_store_compact(store, err) : 0;
}
