/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store: verification and retention
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/store/checkpoint.h"
#include "runtime/store/ingest.h"
#include "runtime/store/query.h"
#include "runtime/store/retain.h"
#include "runtime/store/sign.h"
#include "runtime/store/verify.h"
#include "tests/lib/storeedit.h"
#include "tests/lib/storetree.h"

#define OTHER_HASH "00000000000000000000000000000000000000000000000000000000000000ff"

/* --- verification ---------------------------------------------------------- */

static void fill(struct storetree *t, int n)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_ingest_stats stats;
	struct mr_store *store = open_store(t);
	char id[16];

	for (int i = 1; i <= n; i++) {
		snprintf(id, sizeof(id), "run%d", i);
		spool_record(t, id);
	}
	assert_int_equal(mr_ingest(&t->place, store, &stats, &err), 0);
	assert_int_equal(stats.records, n);
	mr_store_close(store);
}

static void take_in(struct storetree *t)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_ingest_stats stats;
	struct mr_store *store = open_store(t);

	assert_int_equal(mr_ingest(&t->place, store, &stats, &err), 0);
	mr_store_close(store);
}

static struct mr_verify_report verify_with(struct storetree *t, const struct mr_verify_opts *opts)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_store *store = NULL;
	int r;

	assert_int_equal(mr_store_open(&t->place, MR_STORE_READ, 50, &store, &err), 0);
	r = mr_verify(store, opts, &report, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(r, report.what[0] != '\0');
	mr_store_close(store);
	return report;
}

static struct mr_verify_report verify(struct storetree *t, const json_t *checkpoint,
				      const char *public_key)
{
	struct mr_verify_opts opts = { .checkpoint = checkpoint, .public_key = public_key };

	return verify_with(t, &opts);
}

struct edit_row {
	const char *sql;
	int64_t bad_seq;
	const char *what;
};

static void assert_found(struct storetree *t, const struct edit_row *row)
{
	struct mr_verify_report report;

	edit(t, row->sql);
	report = verify(t, NULL, NULL);
	assert_string_equal(report.what, row->what);
	assert_int_equal(report.bad_seq, row->bad_seq);
}

/* All that a run has beside its row of the chain. */
#define FORGET(run)                                                                               \
	"DELETE FROM links WHERE run_id = '" run "'; DELETE FROM runs WHERE run_id = '" run       \
	"'; DELETE FROM usage WHERE run_id = '" run "'; DELETE FROM limits WHERE run_id = '" run  \
	"'; DELETE FROM limits_hit WHERE run_id = '" run                                          \
	"'; DELETE FROM denials WHERE run_id = '" run "'; DELETE FROM steps WHERE run_id = '" run \
	"'; DELETE FROM receipts WHERE run_id = '" run "';"

static void every_edit_is_found_and_named(void **state)
{
	static const struct edit_row rows[] = {
		{ "UPDATE usage SET wall_us = 999 WHERE run_id = 'run2'", 2,
		  "run run2: table usage, row 1: wall_us is \"999\", the chain says \"1000\"" },
		{ "UPDATE runs SET reason = 'oom' WHERE run_id = 'run3'", 3,
		  "run run3: table runs, row 1: reason is \"oom\", the chain says \"exited\"" },
		{ "DELETE FROM denials WHERE run_id = 'run2'", 2,
		  "run run2: table denials: row 1 is gone" },
		{ "INSERT INTO denials (run_id, n, layer, what, count) VALUES ('run1', 7, 'x', "
		  "'y', 1)",
		  1, "run run1: table denials: row 2 was added" },
		{ "INSERT INTO events (run_id, n, boot_ns, type) VALUES ('other', 0, 1, 'x')", 0,
		  "table events has a row of run \"other\", which is not in the chain" },
		{ "DELETE FROM chain WHERE seq = 2", 2, "row 2 of the chain is gone" },
		{ "DELETE FROM chain WHERE seq = 4", 4, "run run4 is there and not in the chain" },
		{ "UPDATE chain SET body = replace(body, 'run3', 'run4') WHERE seq = 3", 3,
		  "row 3 of the chain does not have its hash: it was changed" },
		{ "UPDATE chain SET subject = 'run4' WHERE seq = 3", 3,
		  "row 3 of the chain is not in its place" },
		{ "UPDATE chain SET seq = 99 WHERE seq = 2; UPDATE chain SET seq = 2 WHERE seq = "
		  "3; "
		  "UPDATE chain SET seq = 3 WHERE seq = 99",
		  2, "row 2 of the chain is not in its place" },
		{ "UPDATE links SET body = replace(body, 'exited', 'signaled') WHERE run_id = "
		  "'run1' "
		  "AND n = 1",
		  1, "run run1: link 1 does not have its hash: it was changed" },
		{ "DELETE FROM links WHERE run_id = 'run2' AND n = 0", 2,
		  "run run2: link 0 is gone" },
		{ "DELETE FROM links WHERE run_id = 'run2' AND n = 1", 2,
		  "run run2: it has 1 links, the chain says 2" },
		{ "UPDATE links SET run_id = 'x' WHERE run_id = 'run1'; UPDATE links SET run_id = "
		  "'run1' "
		  "WHERE run_id = 'run2'; UPDATE links SET run_id = 'run2' WHERE run_id = 'x'",
		  1, "run run1: link 0 is not in its place" },
		{ "DELETE FROM links WHERE run_id = 'run4'", 4,
		  "run run4: table denials: row 1 was added" },
		/* Written anew, each with the hash that it has then. */
		{ "UPDATE chain SET body = '{ ' || substr(body, 2) WHERE seq = 2; "
		  "UPDATE chain SET hash = sha256(body) WHERE seq = 2",
		  3, "row 3 of the chain does not follow the one before" },
		{ "UPDATE links SET body = '{ ' || substr(body, 2) WHERE run_id = 'run2' AND n = "
		  "0; "
		  "UPDATE links SET hash = sha256(body) WHERE run_id = 'run2'",
		  2, "run run2: link 1 does not follow the one before" },
		{ "UPDATE links SET body = '{ ' || substr(body, 2) WHERE run_id = 'run1' AND n = "
		  "1; "
		  "UPDATE links SET hash = sha256(body) WHERE run_id = 'run1'",
		  1, "run run1: its last link is not the head that the chain has" },
		{ "INSERT INTO holds VALUES ('run1', 9, '')", 0,
		  "table holds: the row of run1 is not what the chain says" },
		{ "INSERT INTO holds VALUES ('run1', 0, '')", 0,
		  "table holds: the row of run1 is not what the chain says" },
		{ "INSERT INTO store_losses VALUES (3, 'x', 'y', 1)", 0,
		  "table store_losses: the row of 3 is not what the chain says" },
		{ "INSERT INTO store_losses VALUES (0, 'x', 'y', 1)", 0,
		  "table store_losses: the row of 0 is not what the chain says" },
		{ FORGET("run2") "INSERT INTO purged VALUES ('run2', 0)", 2,
		  "run run2: its record is gone, and no purge says so" },
		{ FORGET("run2") "INSERT INTO purged VALUES ('run2', 2)", 2,
		  "run run2: its record is gone, and no purge says so" },
		{ FORGET("run2") "INSERT INTO purged VALUES ('run2', 3)", 0,
		  "table purged: the row of run2 is not what the chain says" },
		{ "INSERT INTO purged VALUES ('other', 0)", 0,
		  "table purged: the row of other is not what the chain says" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_verify_report report;
		struct storetree t;

		storetree_make(&t);
		fill(&t, 4);
		report = verify(&t, NULL, NULL);
		assert_string_equal(report.what, "");
		assert_int_equal(report.runs, 4);
		assert_found(&t, &rows[i]);
		storetree_remove(&t);
	}
}

static json_t *make_checkpoint(struct storetree *t, const struct mr_sign_key *key)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_store *store = open_store(t);
	json_t *checkpoint = NULL;

	assert_int_equal(mr_checkpoint_make(store, key, &checkpoint, &err), 0);
	mr_store_close(store);
	return checkpoint;
}

/* All of the last run goes, and nothing in the store shows it. */
#define CUT_THE_TAIL FORGET("run4") "DELETE FROM chain WHERE subject = 'run4'"

static void only_a_checkpoint_proves_the_tail(void **state)
{
	mr_auto_free char *path = NULL;
	mr_auto_json json_t *checkpoint = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_sign_key key;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	path = mr_str_format("%s/key", t.tree.path);
	assert_int_equal(mr_sign_key_make(path, &key, &err), 0);
	assert_int_equal(mr_sign_key_make(path, &key, &err), -EEXIST);
	fill(&t, 4);
	checkpoint = make_checkpoint(&t, &key);
	report = verify(&t, checkpoint, key.public_hex);
	assert_string_equal(report.what, "");
	assert_int_equal(report.proven_seq, 4);
	edit(&t, CUT_THE_TAIL);
	report = verify(&t, NULL, NULL);
	assert_string_equal(report.what, "");
	assert_int_equal(report.proven_seq, 0);
	report = verify(&t, checkpoint, key.public_hex);
	assert_string_equal(report.what,
			    "rows 4 to 4 of the chain are gone: the checkpoint has 4 rows");
	assert_int_equal(report.bad_seq, 4);
	spool_record(&t, "run5"); /* as many rows as before, but others */
	take_in(&t);
	report = verify(&t, checkpoint, key.public_hex);
	assert_string_equal(report.what, "row 4 of the chain is not the one of the checkpoint: the "
					 "store was written anew");
	storetree_remove(&t);
}

static void assert_checkpoint_refused(struct storetree *t, const json_t *checkpoint,
				      const char *key, const char *why)
{
	struct mr_verify_opts opts = { .checkpoint = checkpoint, .public_key = key };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_store *store = open_store(t);

	assert_true(mr_verify(store, &opts, &report, &err) < 0);
	if (!strstr(err.msg, why))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, why);
	mr_store_close(store);
}

static void a_checkpoint_must_be_whole_ours_and_signed(void **state)
{
	mr_auto_free char *path = NULL, *other = NULL;
	mr_auto_json json_t *checkpoint = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_sign_key key, stranger, again;
	struct storetree t, u;

	(void)state;
	storetree_make(&t);
	storetree_make(&u);
	path = mr_str_format("%s/key", t.tree.path);
	other = mr_str_format("%s/key", u.tree.path);
	assert_int_equal(mr_sign_key_make(path, &key, &err), 0);
	assert_int_equal(mr_sign_key_make(other, &stranger, &err), 0);
	assert_int_equal(mr_sign_key_read(path, &again, &err), 0);
	assert_string_equal(again.public_hex, key.public_hex);
	fill(&t, 2);
	fill(&u, 1);
	checkpoint = make_checkpoint(&t, &key);
	assert_checkpoint_refused(&t, checkpoint, stranger.public_hex, "is not signed by the key");
	assert_checkpoint_refused(&t, checkpoint, "12", "is not signed by the key");
	assert_checkpoint_refused(&t, checkpoint, NULL, "is not signed by the key");
	assert_checkpoint_refused(&u, checkpoint, key.public_hex, "is of another store");
	json_object_set_new(checkpoint, "seq", json_integer(1));
	assert_checkpoint_refused(&t, checkpoint, key.public_hex, "is not signed by the key");
	json_object_del(checkpoint, "head");
	assert_checkpoint_refused(&t, checkpoint, key.public_hex, "is no checkpoint");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(mr_sign_key_read(path, &again, &err), -EPERM);
	storetree_remove(&t);
	storetree_remove(&u);
}

/* RFC 8032, 7.1, test 2. */
static void signatures_are_ed25519(void **state)
{
	static const char public_key[] =
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
	static const char good[] =
		"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
		"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";

	(void)state;
	assert_true(mr_sign_is_good(public_key, "\x72", 1, good));
	assert_false(mr_sign_is_good(public_key, "\x73", 1, good));
	assert_false(mr_sign_is_good(public_key, "\x72", 1, public_key));
	assert_false(mr_sign_is_good("", "\x72", 1, good));
	assert_false(mr_sign_is_good(NULL, "\x72", 1, good));
	assert_false(mr_sign_is_good(public_key, "\x72", 1, NULL));
}

/* --- retention ------------------------------------------------------------- */

static int64_t purge(struct mr_store *store, const struct mr_purge_opts *opts, int64_t *sealed)
{
	struct mr_error err = MR_ERROR_INIT;
	int64_t runs = 0;

	*sealed = 0;
	if (mr_retain_purge(store, opts, &runs, sealed, &err) < 0)
		fail_msg("%s", err.msg);
	return runs;
}

static void held_runs_stay_and_purges_are_accounted_for(void **state)
{
	struct mr_purge_opts all = { .reason = "test" },
			     one = { .run_id = "run1", .reason = "one" };
	struct mr_purge_opts old = { .before_us = 1000, .reason = "old" };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_store *store;
	struct storetree t;
	int64_t sealed;

	(void)state;
	storetree_make(&t);
	fill(&t, 4);
	store = open_store(&t);
	assert_int_equal(mr_retain_hold(store, "run3", "evidence", &err), 0);
	assert_int_equal(mr_retain_hold(store, "run3", "evidence", &err), 1);
	assert_int_equal(purge(store, &old, &sealed), 0);
	assert_int_equal(purge(store, &one, &sealed), 1);
	assert_int_equal(purge(store, &all, &sealed), 2);
	assert_int_equal(sealed, 0);
	report = verify(&t, NULL, NULL);
	assert_string_equal(report.what, "");
	assert_int_equal(report.rows, 7); /* 4 runs, a hold, 2 purges */
	assert_int_equal(report.runs, 1);
	assert_int_equal(report.purged, 3);
	assert_int_equal(mr_retain_release(store, "run3", "over", &err), 0);
	assert_int_equal(mr_retain_release(store, "run3", "over", &err), 1);
	assert_int_equal(purge(store, &all, &sealed), 1);
	assert_int_equal(purge(store, &all, &sealed), 0);
	mr_store_close(store);
	report = verify(&t, NULL, NULL);
	assert_string_equal(report.what, "");
	assert_int_equal(report.purged, 4);
	edit(&t, "DELETE FROM purged WHERE run_id = 'run2'");
	report = verify(&t, NULL, NULL);
	assert_string_equal(report.what, "run run2: its record is gone, and no purge says so");
	storetree_remove(&t);
}

static void a_purged_run_leaves_no_bytes(void **state)
{
	struct mr_purge_opts all = { .reason = "test" };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *record = make_record("run1");
	mr_auto_free char *text = NULL, *bytes = NULL;
	struct mr_ingest_stats stats;
	struct mr_store *store;
	struct storetree t;
	int64_t sealed;
	size_t size = 0;

	(void)state;
	storetree_make(&t);
	json_object_set_new(record, "program", json_string("conspicuous-name"));
	text = json_dumps(record, JSON_COMPACT);
	spool_text(&t, text);
	store = open_store(&t);
	assert_int_equal(mr_ingest(&t.place, store, &stats, &err), 0);
	assert_int_equal(purge(store, &all, &sealed), 1);
	mr_store_close(store);
	assert_int_equal(mr_read_whole_file(t.place.db, 1 << 24, &bytes, &size, &err), 0);
	assert_null(memmem(bytes, size, "conspicuous-name", 16));
	storetree_remove(&t);
}

static void a_seal_takes_the_place_of_what_is_gone(void **state)
{
	mr_auto_free char *path = NULL;
	mr_auto_json json_t *checkpoint = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_sign_key key;
	struct mr_purge_opts opts = { .reason = "test", .key = &key };
	struct mr_store *store;
	struct storetree t;
	int64_t sealed;

	(void)state;
	storetree_make(&t);
	path = mr_str_format("%s/key", t.tree.path);
	assert_int_equal(mr_sign_key_make(path, &key, &err), 0);
	fill(&t, 4);
	store = open_store(&t);
	assert_int_equal(mr_retain_hold(store, "run3", "evidence", &err), 0);
	assert_int_equal(purge(store, &opts, &sealed), 3);
	assert_int_equal(sealed, 2); /* up to the run that is held */
	report = verify(&t, NULL, key.public_hex);
	assert_string_equal(report.what, "");
	assert_int_equal(report.sealed, 2);
	assert_int_equal(mr_retain_release(store, "run3", "over", &err), 0);
	assert_int_equal(purge(store, &opts, &sealed), 1);
	mr_store_close(store);
	report = verify(&t, NULL, key.public_hex);
	assert_string_equal(report.what, "");
	assert_int_equal(report.sealed, 7);
	assert_int_equal(report.old_sealed, 0);
	checkpoint = make_checkpoint(&t, &key);
	report = verify(&t, checkpoint, key.public_hex);
	assert_string_equal(report.what, "");
	assert_int_equal(report.proven_seq, 8);
	edit(&t, "UPDATE segments SET head = '" OTHER_HASH "' WHERE first_seq = 1");
	report = verify(&t, NULL, key.public_hex);
	assert_string_equal(report.what, "the seal of row 1 is of other rows");
	storetree_remove(&t);
}

#define SEAL_IS_A_CHECKPOINT                                                                      \
	"the seal of row 1 is a checkpoint: whoever had one can have put it in the place of the " \
	"rows; early versions sealed so, and if one of them sealed this store, --old-seals lets " \
	"it pass"

/* The document takes the place of what it covers. */
static void replace_by(struct storetree *t, const json_t *document)
{
	mr_auto_free char *text = json_dumps(document, JSON_COMPACT);
	mr_auto_free char *sql =
		mr_str_format("DELETE FROM chain WHERE seq <= %lld; INSERT INTO segments VALUES "
			      "(1, %lld, '%s', "
			      "'%s')",
			      (long long)json_integer_value(json_object_get(document, "seq")),
			      (long long)json_integer_value(json_object_get(document, "seq")),
			      json_string_value(json_object_get(document, "head")), text);

	edit(t, sql);
}

static void a_checkpoint_is_no_seal_and_a_seal_no_checkpoint(void **state)
{
	mr_auto_free char *path = NULL;
	mr_auto_json json_t *checkpoint = NULL, *seal = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_store *store;
	struct mr_sign_key key;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	path = mr_str_format("%s/key", t.tree.path);
	assert_int_equal(mr_sign_key_make(path, &key, &err), 0);
	fill(&t, 4);
	checkpoint = make_checkpoint(&t, &key);
	store = open_store(&t);
	assert_int_equal(mr_checkpoint_make_seal(store, &key, 2, 4,
						 json_string_value(
							 json_object_get(checkpoint, "head")),
						 &seal, &err),
			 0);
	mr_store_close(store);
	assert_checkpoint_refused(&t, seal, key.public_hex, "is no checkpoint");
	edit(&t, FORGET("run1") FORGET("run2") FORGET("run3") FORGET("run4"));
	replace_by(&t, checkpoint);
	report = verify(&t, checkpoint, key.public_hex);
	assert_string_equal(report.what, SEAL_IS_A_CHECKPOINT);
	assert_int_equal(report.bad_seq, 1);
	assert_int_equal(report.proven_seq, 0);
	edit(&t, "DELETE FROM segments"); /* nor is it one of rows that it does not name */
	replace_by(&t, seal);
	report = verify(&t, checkpoint, key.public_hex);
	assert_string_equal(report.what, "the seal of row 1 is of other rows");
	storetree_remove(&t);
}

/* A store that an early version sealed is told of, and can still be verified. */
static void an_old_seal_passes_where_that_is_asked(void **state)
{
	mr_auto_free char *path = NULL;
	mr_auto_json json_t *early = NULL, *checkpoint = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	struct mr_sign_key key;
	struct mr_verify_opts opts = { .public_key = key.public_hex, .old_seals = true };
	struct mr_purge_opts all = { .reason = "test" };
	struct mr_store *store;
	struct storetree t;
	int64_t sealed;

	(void)state;
	storetree_make(&t);
	path = mr_str_format("%s/key", t.tree.path);
	assert_int_equal(mr_sign_key_make(path, &key, &err), 0);
	fill(&t, 1);
	early = make_checkpoint(&t, &key);
	spool_record(&t, "run2");
	take_in(&t);
	checkpoint = make_checkpoint(&t, &key);
	store = open_store(&t);
	assert_int_equal(purge(store, &all, &sealed), 2);
	mr_store_close(store);
	replace_by(&t, checkpoint);
	assert_string_equal(verify(&t, NULL, NULL).what, SEAL_IS_A_CHECKPOINT);
	report = verify_with(&t, &opts);
	assert_string_equal(report.what, "");
	assert_int_equal(report.sealed, 2);
	assert_int_equal(report.old_sealed, 2);
	opts.checkpoint = early;
	report = verify_with(&t, &opts);
	assert_string_equal(report.what, "");
	assert_int_equal(report.proven_seq, 0);
	assert_true(report.checkpoint_sealed);
	opts.checkpoint = checkpoint;
	report = verify_with(&t, &opts);
	assert_int_equal(report.proven_seq, 2);
	assert_false(report.checkpoint_sealed);
	edit(&t, "UPDATE segments SET document = replace(document, '\"seq\":2', '\"seq\":1'), "
		 "last_seq = 1");
	assert_non_null(strstr(verify_with(&t, &opts).what, "is not signed by the key"));
	storetree_remove(&t);
}

/* Rows 1 and 2 are sealed, a run is held, a record was lost, the others are purged. */
static void fill_all_sides(struct storetree *t)
{
	mr_auto_free char *path = mr_str_format("%s/key", t->tree.path);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_sign_key key;
	struct mr_purge_opts opts = { .reason = "test", .key = &key };
	struct mr_store *store;
	int64_t sealed;

	assert_int_equal(mr_sign_key_make(path, &key, &err), 0);
	fill(t, 4);
	spool_text(t, "{}");
	take_in(t);
	store = open_store(t);
	assert_int_equal(mr_retain_hold(store, "run3", "evidence", &err), 0);
	assert_int_equal(purge(store, &opts, &sealed), 3);
	assert_int_equal(sealed, 2);
	mr_store_close(store);
}

static void every_edit_beside_the_chain_is_found(void **state)
{
	static const struct edit_row rows[] = {
		{ "UPDATE holds SET reason = 'none'", 0,
		  "table holds: the row of run3 is not what the chain says" },
		{ "UPDATE holds SET seq = 1", 0,
		  "table holds: the row of run3 is not what the chain says" },
		{ "INSERT INTO holds VALUES ('run4', 1, '')", 0,
		  "table holds: the row of run4 is not what the chain says" },
		{ "DELETE FROM holds", 0, "table holds: the row of run3 is gone" },
		{ "UPDATE store_losses SET reason = 'none'", 0,
		  "table store_losses: the row of 5 is not what the chain says" },
		{ "UPDATE store_losses SET source = 'none'", 0,
		  "table store_losses: the row of 5 is not what the chain says" },
		{ "UPDATE store_losses SET bytes = 1", 0,
		  "table store_losses: the row of 5 is not what the chain says" },
		{ "UPDATE store_losses SET seq = 1", 0,
		  "table store_losses: the row of 1 is not what the chain says" },
		{ "UPDATE purged SET seq = 1 WHERE run_id = 'run1'", 0,
		  "table purged: the row of run1 is not what the chain says" },
		{ "UPDATE purged SET seq = 1 WHERE run_id = 'run4'", 4,
		  "run run4: its record is gone, and no purge says so" },
		{ "INSERT INTO purged VALUES ('other', 0)", 0,
		  "table purged: the row of other is not what the chain says" },
		{ FORGET("run3") "INSERT INTO purged VALUES ('run3', 2)", 3,
		  "run run3: its record is gone, and no purge says so" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct storetree t;

		storetree_make(&t);
		fill_all_sides(&t);
		assert_string_equal(verify(&t, NULL, NULL).what, "");
		assert_found(&t, &rows[i]);
		storetree_remove(&t);
	}
}

/* Many processes at once, none of which found a store: every record is there, the chain is whole. */
static void writers_do_not_lose_each_others_records(void **state)
{
	struct mr_verify_report report;
	struct storetree t;
	int status;

	(void)state;
	storetree_make(&t);
	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		for (int k = 0; pid == 0 && k < 8; k++) {
			struct mr_error err = MR_ERROR_INIT;
			struct mr_ingest_stats stats;
			struct mr_store *store = NULL;
			char id[16];

			snprintf(id, sizeof(id), "run%dx%d", i, k);
			spool_record(&t, id);
			if (mr_store_open(&t.place, MR_STORE_WRITE, 20000, &store, &err) < 0 ||
			    mr_ingest(&t.place, store, &stats, &err) < 0)
				_exit(1);
			mr_store_close(store);
		}
		if (pid == 0)
			_exit(0);
	}
	for (int i = 0; i < 6; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	take_in(&t); /* what was in use by another the last time */
	report = verify(&t, NULL, NULL);
	assert_string_equal(report.what, "");
	assert_int_equal(report.runs, 48);
	assert_int_equal(report.losses, 0);
	storetree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_edit_is_found_and_named),
		cmocka_unit_test(only_a_checkpoint_proves_the_tail),
		cmocka_unit_test(a_checkpoint_must_be_whole_ours_and_signed),
		cmocka_unit_test(signatures_are_ed25519),
		cmocka_unit_test(held_runs_stay_and_purges_are_accounted_for),
		cmocka_unit_test(a_purged_run_leaves_no_bytes),
		cmocka_unit_test(a_seal_takes_the_place_of_what_is_gone),
		cmocka_unit_test(a_checkpoint_is_no_seal_and_a_seal_no_checkpoint),
		cmocka_unit_test(an_old_seal_passes_where_that_is_asked),
		cmocka_unit_test(every_edit_beside_the_chain_is_found),
		cmocka_unit_test(writers_do_not_lose_each_others_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
