/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace audit: what proves that the store was not changed
 *
 *   head         the last row of the chain
 *   checkpoint   the same, signed, to be kept elsewhere
 *   verify       everything, against a checkpoint if there is one
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/chain.h"
#include "runtime/store/checkpoint.h"
#include "runtime/store/query.h"
#include "runtime/store/sign.h"
#include "runtime/store/verify.h"
#include "tools/cmd.h"
#include "tools/progress.h"
#include "tools/term.h"

#define CHECKPOINT_MAX 65536
#define STATUS_BAD 1

struct audit {
	struct mr_cmd_common common;
	const char *key, *output, *checkpoint, *public_key;
	bool new_key, old_seals;
};

/* --- head ------------------------------------------------------------------ */

static const struct mr_cmd_row head_rows[] = { MR_CMD_COMMON_ROWS(audit) };

static int show_head(void *values, char **words, struct mr_error *err)
{
	const struct audit *audit = values;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *head = NULL;
	mr_auto_free char *id = NULL;
	mr_auto_free char *shown = NULL;
	char hash[MR_HASH_HEX_SIZE];
	int64_t seq = 0;
	int r = mr_cmd_open(&audit->common, MR_STORE_READ, &store, err);

	(void)words;
	if (r == 0)
		r = mr_chain_head(store, &seq, hash, err);
	if (r == 0)
		r = mr_checkpoint_store_id(store, &id, err);
	if (r < 0)
		return r;
	head = json_pack("{s:s, s:I, s:s}", "store", id, "seq", (json_int_t)seq, "head", hash);
	if (audit->common.json) {
		mr_cmd_print_line(head);
		return 0;
	}
	shown = mr_term_safe(id);
	printf("store %s\nseq   %lld\nhead  %s\n", shown, (long long)seq, hash);
	return 0;
}

static const struct mr_cmd audit_head = {
	.name = "audit head",
	.synopsis = "",
	.summary = "Tell the last row of the chain",
	.options = MR_OPTABLE(head_rows),
	.size = sizeof(struct audit),
	.run = show_head,
};

/* --- checkpoint ------------------------------------------------------------ */

static const struct mr_cmd_row checkpoint_rows[] = {
	MR_CMD_ROW("key", 'k', "FILE", PATH, audit, key, "sign with this key"),
	MR_CMD_ROW("new-key", 0, NULL, FLAG, audit, new_key, "make the key first"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, audit, output,
		   "write it to a new file instead of standard output"),
	MR_CMD_COMMON_ROWS(audit),
};

static int write_checkpoint(const char *path, const json_t *checkpoint, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(checkpoint, JSON_COMPACT | JSON_ENSURE_ASCII);
	mr_auto_close int fd = -1;
	int r;

	mr_assert(text);
	if (!path) {
		mr_cmd_print_line(checkpoint);
		return 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "--output %s: %m", path);
	r = mr_write_full(fd, text, strlen(text));
	if (r == 0)
		r = mr_write_full(fd, "\n", 1);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r == 0 ? 0 : mr_err(err, MR_E_SYS, -r, "write %s: %m", path);
}

static int sign_and_keep(struct mr_store *store, const struct audit *audit,
			 const struct mr_sign_key *key, struct mr_error *err)
{
	mr_auto_json json_t *checkpoint = NULL;
	int r = mr_store_begin(store, err);

	if (r < 0)
		return r;
	r = mr_checkpoint_make(store, key, &checkpoint, err);
	if (r == 0)
		r = mr_checkpoint_keep(store, checkpoint, err);
	if (r < 0)
		return r;
	r = mr_store_commit(store, err);
	return r < 0 ? r : write_checkpoint(audit->output, checkpoint, err);
}

static int make_checkpoint(void *values, char **words, struct mr_error *err)
{
	const struct audit *audit = values;
	mr_auto_store struct mr_store *store = NULL;
	struct mr_sign_key key;
	int r;

	(void)words;
	if (!audit->key)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "audit checkpoint needs --key FILE; --new-key makes one");
	r = mr_cmd_open(&audit->common, MR_STORE_WRITE, &store, err);
	if (r < 0)
		return r;
	r = audit->new_key ? mr_sign_key_make(audit->key, &key, err)
			   : mr_sign_key_read(audit->key, &key, err);
	if (r == 0 && audit->new_key)
		fprintf(stderr, "public key %s\n", key.public_hex);
	if (r == 0)
		r = sign_and_keep(store, audit, &key, err);
	mr_sign_key_forget(&key);
	return r;
}

static const struct mr_cmd audit_checkpoint = {
	.name = "audit checkpoint",
	.synopsis = "",
	.summary = "Sign the last row of the chain, to be kept elsewhere",
	.options = MR_OPTABLE(checkpoint_rows),
	.size = sizeof(struct audit),
	.run = make_checkpoint,
};

/* --- verify ---------------------------------------------------------------- */

static const struct mr_cmd_row verify_rows[] = {
	MR_CMD_ROW("checkpoint", 'c', "FILE", PATH, audit, checkpoint,
		   "what was kept elsewhere; needs --public-key"),
	MR_CMD_ROW("public-key", 'p', "HEX", TEXT, audit, public_key,
		   "the key whose signatures count"),
	MR_CMD_ROW("old-seals", 0, NULL, FLAG, audit, old_seals,
		   "let a checkpoint pass for a seal, as early versions made them"),
	MR_CMD_COMMON_ROWS(audit),
};

static int read_checkpoint(const struct audit *audit, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r;

	if (!audit->checkpoint)
		return 0;
	if (!audit->public_key)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--checkpoint needs --public-key: whoever wrote the file could have "
			      "signed it with a key of his own");
	r = mr_read_whole_file(audit->checkpoint, CHECKPOINT_MAX, &text, &size, err);
	return r < 0 ? r : mr_json_parse(text, size, audit->checkpoint, ret, err);
}

static void show_progress(int64_t seq, void *owner)
{
	mr_progress_tell(owner, (uint64_t)seq, 0);
}

static void print_document(const struct mr_verify_report *report)
{
	mr_auto_json json_t *document =
		json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:s?}", "good",
			  report->what[0] == '\0', "rows", (json_int_t)report->rows, "sealed",
			  (json_int_t)report->sealed, "old_sealed", (json_int_t)report->old_sealed,
			  "runs", (json_int_t)report->runs, "purged", (json_int_t)report->purged,
			  "losses", (json_int_t)report->losses, "unchained",
			  (json_int_t)report->unchained, "proven_seq",
			  (json_int_t)report->proven_seq, "checkpoint_sealed",
			  report->checkpoint_sealed, "bad_seq",
			  report->bad_seq ? json_integer(report->bad_seq) : json_null(), "what",
			  report->what[0] ? report->what : NULL);

	mr_cmd_print_json(document);
}

static void print_counts(const struct mr_verify_report *report)
{
	printf("%lld rows of the chain and %lld runs are as they were written",
	       (long long)report->rows, (long long)report->runs);
	if (report->sealed || report->purged)
		printf("; %lld rows are sealed, %lld runs purged", (long long)report->sealed,
		       (long long)report->purged);
	if (report->losses)
		printf("; %lld losses are on record", (long long)report->losses);
	putchar('\n');
	if (report->old_sealed)
		printf("%lld of the sealed rows are sealed by a checkpoint, and nothing proves "
		       "that they were purged\n",
		       (long long)report->old_sealed);
	if (report->unchained)
		printf("%lld rows of workflows, matrices and inputs are not in the chain and not "
		       "judged; the runs that they name are\n",
		       (long long)report->unchained);
}

static void print_judgement(const struct mr_verify_report *report)
{
	if (report->what[0]) {
		printf("BAD");
		if (report->bad_seq)
			printf(" at row %lld", (long long)report->bad_seq);
		printf(": ");
		mr_term_put(MR_TERM_RED, report->what);
		putchar('\n');
	} else if (report->proven_seq) {
		printf("proven up to row %lld by the checkpoint\n", (long long)report->proven_seq);
	} else if (report->checkpoint_sealed) {
		printf("tail not provable: the row of the checkpoint lies in a sealed part; a "
		       "newer checkpoint is needed\n");
	} else {
		printf("tail not provable: no external checkpoint\n");
	}
}

static int run_verify(void *values, char **words, struct mr_error *err)
{
	const struct audit *audit = values;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *checkpoint = NULL;
	struct mr_verify_opts opts = { .public_key = audit->public_key,
				       .old_seals = audit->old_seals };
	struct mr_verify_report report;
	struct mr_progress progress;
	int r = read_checkpoint(audit, &checkpoint, err);

	(void)words;
	if (r == 0)
		r = mr_cmd_open(&audit->common, MR_STORE_READ, &store, err);
	if (r < 0)
		return r;
	opts.checkpoint = checkpoint;
	mr_progress_begin(&progress, "rows of the chain verified");
	opts.progress = show_progress;
	opts.owner = &progress;
	r = mr_verify(store, &opts, &report, err);
	mr_progress_end(&progress);
	if (r < 0)
		return r;
	if (audit->common.json) {
		print_document(&report);
	} else {
		print_counts(&report);
		print_judgement(&report);
	}
	return r > 0 ? STATUS_BAD : 0;
}

static const struct mr_cmd audit_verify = {
	.name = "audit verify",
	.synopsis = "",
	.summary = "Verify the store: every record against its hash, every row against its record",
	.options = MR_OPTABLE(verify_rows),
	.size = sizeof(struct audit),
	.run = run_verify,
};

static const struct mr_cmd *const verbs[] = { &audit_verify, &audit_checkpoint, &audit_head, NULL };

const struct mr_cmd mr_cmd_audit = {
	.name = "audit",
	.synopsis = "VERB",
	.summary = "Verify the store, sign a checkpoint of it, tell its head",
	.verbs = verbs,
};
