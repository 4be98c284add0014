/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan
 *
 * Files are read here, once, and their contents go into the sandbox: what was hashed is what was parsed,
 * and the parser sees nothing else.  Many files share one run, for a start costs more than parsing.  Each
 * file has a line of its own in the reply, written at once, so when a run is ended early the file after the
 * last line may be what ended it: it is asked for again alone, and only what ends a run of its own is to
 * blame.  The runs after that go on with the others, alone until one comes to its end, for as long as such
 * ends have not taken too long.
 */
#include "runtime/section/scan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/flow/box.h"
#include "runtime/section/cache.h"
#include "runtime/section/embedded.h"
#include "runtime/section/reply.h"
#include "runtime/section/walk.h"

#define MEMORY (768u << 20)
#define REPLY_MAX (15u << 20)
#define BATCH_BYTES (2u << 20) /* of files in one run */
#define TOLD_MAX ((size_t)64 << 20) /* bytes of all replies, with those that were kept */

/* One content that the cache does not know. */
struct unknown {
	char sha256[MR_HASH_HEX_SIZE];
	char *data;
	size_t size;
};

struct scan {
	const struct mr_section_scan_opts *opts;
	char folder[PATH_MAX], name[MR_HASH_HEX_SIZE], version[MR_HASH_HEX_SIZE];
	json_t *files; /* {"path", "size", "sha256"} */
	json_t *before, *known; /* by hash: of the cache, and what is in the folder now */
	json_t *unsure; /* by hash: ends of ours, which are tried again the next time */
	struct unknown *unknown;
	size_t n_unknown, cap, n_cached, n_forged;
	size_t n_told; /* bytes of replies */
	uint64_t broken_ms;
};

char *mr_section_id(const char *path, const char *name)
{
	return name[0] ? mr_str_format("%s:%s", path, name) : mr_str_dup(path);
}

/* --- files ----------------------------------------------------------------- */

static int take_file(const char *path, char **data, size_t size, void *owner, struct mr_error *err)
{
	struct scan *s = owner;
	char sha256[MR_HASH_HEX_SIZE];
	json_t *found;

	(void)err;
	mr_hash_hex(*data, size, sha256);
	json_array_append_new(s->files, json_pack("{s:s, s:I, s:s}", "path", path, "size",
						  (json_int_t)size, "sha256", sha256));
	if (json_object_get(s->known, sha256)) {
		s->n_cached += !json_is_null(json_object_get(s->known, sha256));
		return 0;
	}
	found = json_object_get(s->before, sha256);
	if (found && !mr_section_reply_fits(found, *data, size)) {
		s->n_forged++;
		found = NULL;
	}
	s->n_cached += found != NULL;
	json_object_set_new(s->known, sha256, found ? json_incref(found) : json_null());
	if (found)
		return 0;
	s->unknown = mr_str_grow(s->unknown, s->n_unknown, &s->cap, sizeof(*s->unknown));
	s->unknown[s->n_unknown] = (struct unknown){ .data = mr_take_ptr(*data), .size = size };
	memcpy(s->unknown[s->n_unknown++].sha256, sha256, sizeof(sha256));
	return 0;
}

/* --- replies --------------------------------------------------------------- */

/* Nothing that the parser said: an end of ours. */
static void give_up(struct scan *s, struct unknown *u, const char *why)
{
	json_object_set_new(s->unsure, u->sha256,
			    json_pack("{s:{s:i, s:s}}", "error", "line", 0, "message", why));
}

/* The line of the n-th file of a run, held against it; false: it is none. */
static bool take_reply(struct scan *s, struct unknown *u, size_t n, const char *line, size_t size)
{
	mr_auto_json json_t *reply = NULL;

	if (mr_json_parse(line, size, "reply", &reply, NULL) < 0 ||
	    !json_is_integer(json_object_get(reply, "n")) ||
	    json_integer_value(json_object_get(reply, "n")) != (json_int_t)n)
		return false;
	json_object_del(reply, "n");
	if (!mr_section_reply_fits(reply, u->data, u->size))
		return false;
	if (s->n_told + size > TOLD_MAX) {
		give_up(s, u, "left out: what is in all files is over 64 MiB of text");
		return true;
	}
	s->n_told += size;
	json_object_set(s->known, u->sha256, reply);
	return true;
}

/* Lines of whole replies, from the first-th unknown on; how many there were. */
static size_t take_replies(struct scan *s, size_t first, size_t n, const char *text)
{
	size_t done = 0;

	for (const char *end; done < n && (end = strchr(text, '\n')); text = end + 1) {
		struct unknown *u = &s->unknown[first + done];

		if (!take_reply(s, u, done, text, (size_t)(end - text)))
			break;
		free(mr_take_ptr(u->data));
		done++;
	}
	return done;
}

/* All that it said, or the beginning of too much. */
static const char *find_said(const json_t *result)
{
	const json_t *said = json_object_get(result, "stdout");

	return mr_json_text_or_empty(said, json_object_get(said, "text") ? "text" : "head");
}

/* Why a run was ended before it was through. */
static char *why_ended(const json_t *result)
{
	const char *reason = mr_json_text_or_empty(result, "reason");
	const char *signal = mr_json_text_or_empty(json_object_get(result, "exit"), "signal_name");

	if (strcmp(reason, "exited") == 0)
		return mr_str_dup("its parser gave no usable answer");
	return mr_str_format("its parser was ended: %s%s%s", reason, signal[0] ? " " : "", signal);
}

/* --- runs ------------------------------------------------------------------ */

static size_t fill_batch(const struct scan *s, size_t first, bool alone, struct mr_buf *input)
{
	size_t n = 0;

	while (first + n < s->n_unknown &&
	       (n == 0 || (!alone && input->len + s->unknown[first + n].size <= BATCH_BYTES))) {
		const struct unknown *u = &s->unknown[first + n];

		mr_buf_printf(input, "{\"n\": %zu, \"size\": %zu}\n", n, u->size);
		mr_buf_addn(input, u->data, u->size);
		n++;
	}
	return n;
}

static int run_box(const struct scan *s, struct mr_box *box, struct mr_loop *loop,
		   const struct mr_buf *input, const json_t **ret, struct mr_error *err)
{
	const struct mr_box_opts opts = {
		.loop = loop,
		.program = s->opts->program,
		.store = s->opts->store,
		.name = "sections",
		.code = mr_section_extract_py,
		.code_size = strlen(mr_section_extract_py),
		.input = input->text,
		.input_size = input->len,
		.wall_ms = MR_PATIENCE_MS(SCAN_WALL),
		.memory_bytes = MEMORY,
		.output_bytes = REPLY_MAX,
	};
	int r = mr_box_start(box, &opts, err);

	while (r >= 0 && !box->ended)
		r = mr_loop_run_once(loop, -1, err);
	return r < 0 ? r : mr_box_result(box, ret, err);
}

static int judge(const json_t *result, struct mr_error *err)
{
	const char *message = mr_json_text_or_empty(json_object_get(result, "error"), "message");

	if (message[0])
		return mr_err(err, MR_E_SYS, EIO, "the parser's sandbox: %.300s", message);
	if (strcmp(mr_json_text_or_empty(result, "reason"), "killed_by_user") == 0)
		return mr_err(err, MR_E_SYS, EINTR, "interrupted");
	return 0;
}

/* Whether a run came to its end, or to as much as it may say. */
static bool is_through(const json_t *result, size_t done, size_t n)
{
	return done == n ||
	       (done > 0 && strcmp(mr_json_text_or_empty(result, "reason"), "output_limit") == 0);
}

/* From *first on, which moves; *alone: only that one, and afterwards whether the next is. */
static int run_batch(struct scan *s, struct mr_loop *loop, size_t *first, bool *alone,
		     struct mr_error *err)
{
	mr_cleanup(mr_box_deinit) struct mr_box box = { 0 };
	mr_auto_buf struct mr_buf input = { 0 };
	const json_t *result = NULL;
	const uint64_t began = mr_now_ns();
	const size_t n = fill_batch(s, *first, *alone, &input);
	size_t done;
	int r = run_box(s, &box, loop, &input, &result, err);

	if (r == 0)
		r = judge(result, err);
	if (r < 0)
		return r;
	done = take_replies(s, *first, n, find_said(result));
	*alone = !is_through(result, done, n);
	if (!is_through(result, done, n) && n == 1) {
		mr_auto_free char *why = why_ended(result);

		give_up(s, &s->unknown[*first], why);
		s->broken_ms += (mr_now_ns() - began) / 1000000;
		done = 1;
	}
	*first += done;
	return 0;
}

static int run_all(struct scan *s, struct mr_error *err)
{
	struct mr_loop *loop = NULL;
	size_t first = 0;
	bool alone = false;
	int r = s->n_unknown > 0 ? mr_loop_new(&loop, err) : 0;

	while (r == 0 && first < s->n_unknown && s->broken_ms < MR_PATIENCE_MS(SCAN_BROKEN) &&
	       s->n_told < TOLD_MAX)
		r = run_batch(s, loop, &first, &alone, err);
	for (; r == 0 && first < s->n_unknown; first++)
		give_up(s, &s->unknown[first],
			s->broken_ms < MR_PATIENCE_MS(SCAN_BROKEN)
				? "left out: what is in all files is over 64 MiB of text"
				: "left out: parsers of other files were ended too often");
	mr_loop_free(loop);
	return r;
}

/* --- the whole ------------------------------------------------------------- */

/* What is told depends on our program and on the interpreter. */
static void find_version(struct scan *s)
{
	struct stat st = { 0 };
	mr_auto_free char *text = NULL;

	if (stat("/usr/bin/python3", &st) < 0)
		st.st_size = 0;
	text = mr_str_format("%s\n%lld %lld %lld", mr_section_extract_py, (long long)st.st_ino,
			     (long long)st.st_size, (long long)st.st_mtime);
	mr_hash_hex(text, strlen(text), s->version);
}

static void save(struct scan *s)
{
	mr_auto_json json_t *certain = json_object();
	struct mr_error why = MR_ERROR_INIT;
	const char *sha256;
	json_t *found;

	if (!s->opts->cache ||
	    (s->n_unknown == 0 && json_object_size(s->known) == json_object_size(s->before)))
		return;
	json_object_foreach (s->known, sha256, found)
		if (!json_is_null(found))
			json_object_set(certain, sha256, found);
	if (mr_section_cache_save(s->opts->cache, s->name, s->version, certain, &why) < 0)
		mr_log_warn("what was found is not kept for the next time: %s", why.msg);
}

static json_t *make_document(const struct scan *s, json_t *left_out)
{
	size_t n_sections = 0, n_errors = 0;

	for (size_t i = 0; i < json_array_size(s->files); i++) {
		json_t *file = json_array_get(s->files, i);
		const char *sha256 = mr_json_text_or_empty(file, "sha256");
		json_t *found = json_object_get(s->unsure, sha256);

		json_object_update(file, found ? found : json_object_get(s->known, sha256));
		n_sections += json_array_size(json_object_get(file, "sections"));
		n_errors += json_object_get(file, "error") != NULL;
	}
	return json_pack("{s:s, s:s, s:O, s:o, s:{s:I, s:I, s:I, s:I}}", "schema",
			 MR_SECTION_SCHEMA, "folder", s->folder, "files", s->files, "left_out",
			 left_out, "counts", "files", (json_int_t)json_array_size(s->files),
			 "sections", (json_int_t)n_sections, "errors", (json_int_t)n_errors,
			 "cached", (json_int_t)s->n_cached);
}

static int scan_all(struct scan *s, json_t **ret, struct mr_error *err)
{
	json_t *left_out = NULL;
	int r = mr_section_walk(s->folder, take_file, s, &left_out, err);

	if (r < 0)
		return r;
	if (s->n_forged > 0)
		mr_log_warn("of what was found before, %zu files are not as it is told: they are "
			    "looked at anew (%s/%s.json)",
			    s->n_forged, s->opts->cache, s->name);
	r = run_all(s, err);
	if (r < 0) {
		json_decref(left_out);
		return r;
	}
	save(s);
	*ret = make_document(s, left_out);
	mr_assert(*ret);
	return 0;
}

int mr_section_scan(const struct mr_section_scan_opts *opts, json_t **ret, struct mr_error *err)
{
	struct scan *s = mr_str_alloc(sizeof(*s));
	char quoted[MR_STR_QUOTE_SIZE];
	int r = 0;

	s->opts = opts;
	s->files = json_array();
	s->known = json_object();
	s->unsure = json_object();
	if (!realpath(opts->folder, s->folder))
		r = mr_err(err, MR_E_USAGE, errno, "%s: %m",
			   mr_str_quote(quoted, sizeof(quoted), opts->folder));
	else if (!mr_str_utf8_valid(s->folder, strlen(s->folder)))
		r = mr_err(err, MR_E_USAGE, EILSEQ, "%s is not UTF-8",
			   mr_str_quote(quoted, sizeof(quoted), s->folder));
	if (r == 0) {
		mr_hash_hex(s->folder, strlen(s->folder), s->name);
		find_version(s);
		s->before = opts->cache ? mr_section_cache_load(opts->cache, s->name, s->version,
								&s->n_told)
					: json_object();
		r = scan_all(s, ret, err);
	}
	for (size_t i = 0; i < s->n_unknown; i++)
		free(s->unknown[i].data);
	free(s->unknown);
	json_decref(s->files);
	json_decref(s->known);
	json_decref(s->unsure);
	json_decref(s->before);
	free(s);
	return r;
}
