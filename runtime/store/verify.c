/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verify
 *
 * One walk in one snapshot.  While it goes it gathers what the rows say about holds
 * and purges; at the end these are compared with their tables.
 */
#include "runtime/store/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/store/chain.h"
#include "runtime/store/checkpoint.h"
#include "runtime/store/compare.h"
#include "runtime/store/internal.h"
#include "runtime/store/query.h"

struct walk {
	struct mr_store *store;
	const struct mr_verify_opts *opts;
	struct mr_verify_report *report;
	struct mr_compare *compare;
	int64_t seq; /* last row that is right */
	char hash[MR_HASH_HEX_SIZE]; /* of it */
	/* What the chain says that the tables beside it hold: key as text -> the whole row. */
	json_t *holds, *purged, *losses;
	/* inside of one run */
	const char *run_id;
	int n;
	char head[MR_HASH_HEX_SIZE];
};

static const char *get_string(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int64_t get_int(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int bad(struct walk *w, int64_t seq, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int bad(struct walk *w, int64_t seq, const char *fmt, ...)
{
	va_list ap;

	w->report->bad_seq = seq;
	va_start(ap, fmt);
	vsnprintf(w->report->what, sizeof(w->report->what), fmt, ap);
	va_end(ap);
	return 1;
}

/* The body that was hashed, or NULL when the hash is not its. */
static json_t *open_body(const json_t *row)
{
	const char *text = get_string(row, "body");
	char hash[MR_HASH_HEX_SIZE];
	json_t *body = NULL;

	mr_hash_hex(text, strlen(text), hash);
	if (strcmp(hash, get_string(row, "hash")) != 0 ||
	    mr_json_parse(text, strlen(text), "body", &body, NULL) < 0)
		return NULL;
	return body;
}

static bool same(const json_t *row, const json_t *body, const char *key)
{
	return json_equal(json_object_get(row, key), json_object_get(body, key));
}

/* --- a run ----------------------------------------------------------------- */

static int walk_link(const json_t *row, void *owner, struct mr_error *err)
{
	struct walk *w = owner;
	mr_auto_json json_t *body = open_body(row);
	int64_t seq = w->seq + 1;

	if (get_int(row, "n") != w->n)
		return bad(w, seq, "run %s: link %d is gone", w->run_id, w->n);
	if (!body)
		return bad(w, seq, "run %s: link %d does not have its hash: it was changed",
			   w->run_id, w->n);
	if (!same(row, body, "n") || !same(row, body, "kind") ||
	    strcmp(get_string(body, "run_id"), w->run_id) != 0)
		return bad(w, seq, "run %s: link %d is not in its place", w->run_id, w->n);
	if (strcmp(get_string(body, "prev"), w->head) != 0)
		return bad(w, seq, "run %s: link %d does not follow the one before", w->run_id,
			   w->n);
	snprintf(w->head, sizeof(w->head), "%s", get_string(row, "hash"));
	w->n++;
	return mr_compare_project(w->compare, get_string(row, "kind"), get_string(row, "body"),
				  err);
}

/* A purge comes after its run: a row that says otherwise is not the chain's. */
static int check_gone(struct walk *w, int64_t seq, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(w->store, "purge.get", json_pack("{s:s}", "run_id", w->run_id), &row,
			     err);

	if (r < 0)
		return r;
	if (r > 0 || get_int(row, "seq") <= seq)
		return bad(w, seq, "run %s: its record is gone, and no purge says so", w->run_id);
	w->report->purged++;
	return 0;
}

static int walk_run(struct walk *w, int64_t seq, const json_t *data, struct mr_error *err)
{
	char what[sizeof(w->report->what) - 64];
	int r, end;

	w->n = 0;
	snprintf(w->head, sizeof(w->head), "%s", MR_CHAIN_START);
	r = mr_compare_begin(w->compare, err);
	if (r < 0)
		return r;
	r = mr_query_each(w->store, "link.list", json_pack("{s:s}", "run_id", w->run_id), walk_link,
			  w, err);
	end = mr_compare_end(w->compare, w->run_id, what, sizeof(what), err);
	if (r != 0)
		return r;
	if (end < 0)
		return end;
	if (w->n == 0)
		return end > 0 ? bad(w, seq, "run %.64s: %s", w->run_id, what)
			       : check_gone(w, seq, err);
	if (w->n != get_int(data, "links"))
		return bad(w, seq, "run %s: it has %d links, the chain says %" PRId64, w->run_id,
			   w->n, get_int(data, "links"));
	if (strcmp(w->head, get_string(data, "head")) != 0)
		return bad(w, seq, "run %s: its last link is not the head that the chain has",
			   w->run_id);
	if (end > 0)
		return bad(w, seq, "run %.64s: %s", w->run_id, what);
	w->report->runs++;
	return 0;
}

/* --- a row ----------------------------------------------------------------- */

static void gather(struct walk *w, const char *kind, const json_t *row, const json_t *data)
{
	json_t *seq = json_object_get(row, "seq");
	json_t *subject = json_object_get(row, "subject");
	char number[24];
	size_t i;
	json_t *run;

	if (strcmp(kind, "hold") == 0)
		json_object_set_new(w->holds, json_string_value(subject),
				    json_pack("{s:O, s:O, s:O?}", "run_id", subject, "seq", seq,
					      "reason", json_object_get(data, "reason")));
	if (strcmp(kind, "release") == 0)
		json_object_del(w->holds, json_string_value(subject));
	if (strcmp(kind, "purge") == 0)
		json_array_foreach (json_object_get(data, "runs"), i, run)
			json_object_set_new(w->purged, json_string_value(run),
					    json_pack("{s:O, s:O}", "run_id", run, "seq", seq));
	if (strcmp(kind, "loss") == 0) {
		snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(seq));
		json_object_set_new(w->losses, number,
				    json_pack("{s:O, s:O?, s:O?, s:O?}", "seq", seq, "source",
					      json_object_get(data, "source"), "reason",
					      json_object_get(data, "reason"), "bytes",
					      json_object_get(data, "bytes")));
		w->report->losses++;
	}
}

static int walk_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct walk *w = owner;
	mr_auto_json json_t *body = open_body(row);
	int64_t seq = get_int(row, "seq");
	const char *kind = get_string(row, "kind");
	const json_t *data = json_object_get(body, "data");
	int r = 0;

	if (seq != w->seq + 1)
		return bad(w, w->seq + 1, "row %" PRId64 " of the chain is gone", w->seq + 1);
	if (!body)
		return bad(w, seq,
			   "row %" PRId64 " of the chain does not have its hash: it was changed",
			   seq);
	if (!same(row, body, "seq") || !same(row, body, "kind") || !same(row, body, "subject"))
		return bad(w, seq, "row %" PRId64 " of the chain is not in its place", seq);
	if (strcmp(get_string(body, "prev"), w->hash) != 0)
		return bad(w, seq, "row %" PRId64 " of the chain does not follow the one before",
			   seq);
	gather(w, kind, row, data);
	if (strcmp(kind, "run") == 0) {
		w->run_id = get_string(row, "subject");
		r = walk_run(w, seq, data, err);
	}
	if (r != 0)
		return r;
	w->seq = seq;
	snprintf(w->hash, sizeof(w->hash), "%s", get_string(row, "hash"));
	w->report->rows++;
	if (w->opts->progress)
		w->opts->progress(seq, w->opts->owner);
	return 0;
}

/* --- the whole ------------------------------------------------------------- */

/* The seal is signed by the key that counts, if one was given. */
static int check_seal(struct walk *w, const json_t *row, const json_t *document)
{
	struct mr_error why = MR_ERROR_INIT;
	const char *key =
		w->opts->public_key ? w->opts->public_key : get_string(document, "public_key");
	int64_t seq = w->seq + 1;
	int r = mr_checkpoint_check_seal(w->store, document, key, &why);

	if (r < 0)
		return bad(w, seq, "the seal of row %" PRId64 " %.200s", seq, why.msg);
	if (r > 0 && !w->opts->old_seals)
		return bad(w, seq,
			   "the seal of row %" PRId64
			   " is a checkpoint: whoever had one can have put it in the place of the "
			   "rows; early versions sealed so, and if one of them sealed this store, "
			   "--old-seals lets it pass",
			   seq);
	if ((r == 0 && !same(row, document, "first_seq")) ||
	    get_int(document, "seq") != get_int(row, "last_seq") ||
	    get_int(row, "last_seq") < seq ||
	    strcmp(get_string(document, "head"), get_string(row, "head")) != 0)
		return bad(w, seq, "the seal of row %" PRId64 " is of other rows", seq);
	if (r > 0)
		w->report->old_sealed += get_int(row, "last_seq") - w->seq;
	return 0;
}

static int walk_segment(const json_t *row, void *owner, struct mr_error *err)
{
	struct walk *w = owner;
	const char *text = get_string(row, "document");
	mr_auto_json json_t *document = NULL;
	int64_t seq = w->seq + 1;

	(void)err;
	if (get_int(row, "first_seq") != seq)
		return bad(w, seq, "row %" PRId64 " of the chain is gone", seq);
	if (mr_json_parse(text, strlen(text), "segment", &document, NULL) < 0)
		return bad(w, seq, "the seal of row %" PRId64 " cannot be read", seq);
	if (check_seal(w, row, document) != 0)
		return 1;
	w->seq = get_int(row, "last_seq");
	w->report->sealed = w->seq;
	snprintf(w->hash, sizeof(w->hash), "%s", get_string(row, "head"));
	return 0;
}

static int check_end(struct walk *w, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int64_t seq = get_int(w->opts->checkpoint, "seq");
	int r;

	if (!w->opts->checkpoint)
		return 0;
	if (seq > w->seq)
		return bad(w, w->seq + 1,
			   "rows %" PRId64 " to %" PRId64
			   " of the chain are gone: the checkpoint has %" PRId64 " rows",
			   w->seq + 1, seq, seq);
	r = mr_query_one(w->store, "chain.at", json_pack("{s:I}", "seq", (json_int_t)seq), &row,
			 err);
	if (r < 0)
		return r;
	w->report->checkpoint_sealed = r > 0 && seq < w->report->sealed;
	if (w->report->checkpoint_sealed)
		return 0; /* only the end of a sealed part can be compared */
	if (strcmp(get_string(row, "hash"), get_string(w->opts->checkpoint, "head")) != 0)
		return bad(w, seq,
			   "row %" PRId64
			   " of the chain is not the one of the checkpoint: the store was "
			   "written anew",
			   seq);
	w->report->proven_seq = seq;
	return 0;
}

struct side {
	struct walk *walk;
	const char *statement, *key, *table;
	json_t *expected; /* key -> row */
	bool may_be_sealed; /* what says so may be gone; a seal stops at all that is in force */
};

static int check_side_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct side *side = owner;
	const json_t *key = json_object_get(row, side->key);
	int64_t seq = get_int(row, "seq");
	char text[72];
	const json_t *known;

	(void)err;
	snprintf(text, sizeof(text), "%s", json_string_value(key) ? json_string_value(key) : "");
	if (json_is_integer(key))
		snprintf(text, sizeof(text), "%" PRId64, (int64_t)json_integer_value(key));
	known = json_object_get(side->expected, text);
	if (!known && side->may_be_sealed && seq >= 1 && seq <= side->walk->report->sealed)
		return 0;
	if (!json_equal(row, known))
		return bad(side->walk, 0, "table %s: the row of %s is not what the chain says",
			   side->table, text);
	json_object_del(side->expected, text);
	return 0;
}

/* A table beside the chain must hold what the rows said, no more and no less. */
static int check_side(struct side *side, struct mr_error *err)
{
	int r = mr_query_each(side->walk->store, side->statement, NULL, check_side_row, side, err);

	if (r == 0 && json_object_size(side->expected) > 0)
		return bad(side->walk, 0, "table %s: the row of %s is gone", side->table,
			   json_object_iter_key(json_object_iter(side->expected)));
	return r;
}

static int check_sides(struct walk *w, struct mr_error *err)
{
	struct side sides[] = {
		{ w, "hold.list", "run_id", "holds", w->holds, false },
		{ w, "purge.list", "run_id", "purged", w->purged, true },
		{ w, "loss.list", "seq", "store_losses", w->losses, false },
	};
	char what[sizeof(w->report->what) - 64];
	int r = 0;

	for (size_t i = 0; i < N_ELEMENTS(sides) && r == 0; i++)
		r = check_side(&sides[i], err);
	if (r == 0)
		r = mr_compare_strangers(w->compare, what, sizeof(what), err);
	return r == 1 && !w->report->what[0] ? bad(w, 0, "%s", what) : r;
}

static int check_strangers(struct walk *w, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(w->store, "verify.strangers", NULL, &row, err);

	if (r != 0)
		return r < 0 ? r : 0;
	return bad(w, w->seq + 1, "run %.64s is there and not in the chain",
		   get_string(row, "run_id"));
}

/* What is written while a workflow goes on has no record of its own; the runs that it names have. */
static int count_unchained(struct walk *w, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(w->store, "verify.unchained", NULL, &row, err);

	if (r >= 0)
		w->report->unchained = get_int(row, "n");
	return r < 0 ? r : 0;
}

static int walk_all(struct walk *w, struct mr_error *err)
{
	int r = mr_compare_new(w->store, &w->compare, err);

	if (r == 0)
		r = mr_query_each(w->store, "segment.list", NULL, walk_segment, w, err);
	if (r == 0)
		r = mr_query_each(w->store, "chain.list", NULL, walk_row, w, err);
	if (r == 0)
		r = check_end(w, err);
	if (r == 0)
		r = check_strangers(w, err);
	if (r == 0)
		r = check_sides(w, err);
	if (r == 0)
		r = count_unchained(w, err);
	mr_compare_free(w->compare);
	return r;
}

int mr_verify(struct mr_store *store, const struct mr_verify_opts *opts,
	      struct mr_verify_report *report, struct mr_error *err)
{
	mr_auto_json json_t *holds = json_object();
	mr_auto_json json_t *purged = json_object();
	mr_auto_json json_t *losses = json_object();
	struct walk walk = { .store = store,
			     .opts = opts,
			     .report = report,
			     .hash = MR_CHAIN_START,
			     .holds = holds,
			     .purged = purged,
			     .losses = losses };
	int r = 0;

	*report = (struct mr_verify_report){ 0 };
	if (opts->checkpoint)
		r = mr_checkpoint_check(store, opts->checkpoint, opts->public_key, err);
	if (r < 0)
		return mr_err_wrap(err, r, "the checkpoint");
	r = mr_store_exec(store, "BEGIN", "begin to read", err); /* one snapshot */
	if (r < 0)
		return r;
	r = walk_all(&walk, err);
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
