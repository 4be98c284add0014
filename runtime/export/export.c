/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export
 *
 * Asks for the runs page by page, so that neither memory nor the store's read lock
 * is held for as long as a slow reader takes: a run that is purged between two
 * pages is left out, one that is added comes last.
 */
#include "runtime/export/export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/export/facts.h"
#include "runtime/export/format.h"
#include "runtime/store/query.h"

#define PAGE 200

static const struct mr_export_format *const formats[] = {
#define FORMAT(name) &mr_export_##name,
#include "runtime/export/formats.def"
#undef FORMAT
};

const struct mr_export_format *mr_export_format_get(size_t i)
{
	return i < N_ELEMENTS(formats) ? formats[i] : NULL;
}

const char *mr_export_format_name(const struct mr_export_format *format)
{
	return format->name;
}

const char *mr_export_format_help(const struct mr_export_format *format)
{
	return format->help;
}

unsigned int mr_export_format_mode(const struct mr_export_format *format)
{
	return format->mode;
}

static json_t *time_or_null(int64_t us)
{
	return us == MR_EXPORT_ANY_TIME ? json_null() : json_integer(us);
}

json_t *mr_export_binds(const struct mr_export *x)
{
	const struct mr_export_filter *filter = &x->opts->filter;

	return json_pack("{s:s?, s:s?, s:s?, s:o, s:o}", "run_id", filter->run_id, "reason",
			 filter->reason, "program", filter->program, "since_us",
			 time_or_null(filter->since_us), "until_us",
			 time_or_null(filter->until_us));
}

int mr_export_write(struct mr_export *x, const char *text, size_t size, struct mr_error *err)
{
	if (size == 0 || fwrite(text, 1, size, x->opts->out) == size)
		return 0;
	return mr_err(err, MR_E_SYS, errno, "write what is exported: %m");
}

/* jansson leaves DEL, the only byte below 128 that a terminal might act on, as it is. */
void mr_export_json_text(const json_t *json, struct mr_buf *out)
{
	mr_auto_free char *text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);

	mr_assert(text);
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\x7f");

		mr_buf_addn(out, p, n);
		p += n;
		if (*p) {
			mr_buf_add(out, "\\u007f");
			p++;
		}
	}
}

int mr_export_write_json(struct mr_export *x, const json_t *json, struct mr_error *err)
{
	mr_auto_buf struct mr_buf text = { 0 };

	mr_export_json_text(json, &text);
	mr_buf_add(&text, "\n");
	return mr_export_write(x, text.text, text.len, err);
}

int mr_export_write_facts(struct mr_export *x, const json_t *head, mr_export_make_fn *make,
			  struct mr_error *err)
{
	mr_auto_facts struct mr_facts facts = { 0 };
	int r = mr_facts_load(x->store, head, &facts, err);

	for (size_t i = 0; i < facts.n && r == 0; i++) {
		mr_auto_json json_t *document = make(x, head, &facts, &facts.v[i]);

		r = mr_export_write_json(x, document, err);
	}
	return r;
}

/* --- run by run ------------------------------------------------------------ */

static int count_runs(struct mr_export *x, uint64_t *ret, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(x->store, "export.count", mr_export_binds(x), &row, err);

	if (r == 0)
		*ret = (uint64_t)json_integer_value(json_object_get(row, "n"));
	return r;
}

static int next_page(struct mr_export *x, json_int_t after, json_t **ret, struct mr_error *err)
{
	json_t *binds = mr_export_binds(x);

	json_object_set_new(binds, "after", json_integer(after));
	json_object_set_new(binds, "page", json_integer(PAGE));
	return mr_query_all(x->store, "export.runs", binds, ret, err);
}

static int write_page(struct mr_export *x, const struct mr_export_format *format,
		      const json_t *page, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; i < json_array_size(page) && r >= 0; i++)
		r = format->run(x, json_array_get(page, i), err);
	return r < 0 ? r : 0;
}

static int write_runs(struct mr_export *x, const struct mr_export_format *format,
		      struct mr_error *err)
{
	uint64_t done = 0, total = 0;
	json_int_t after = 0;
	int r = x->opts->progress ? count_runs(x, &total, err) : 0;

	while (r == 0) {
		mr_auto_json json_t *page = NULL;
		size_t n;

		r = next_page(x, after, &page, err);
		n = json_array_size(page);
		if (r < 0 || n == 0)
			break;
		r = write_page(x, format, page, err);
		after = json_integer_value(json_object_get(json_array_get(page, n - 1), "seq"));
		done += n;
		if (x->opts->progress)
			x->opts->progress(x->opts->owner, done, total);
	}
	return r < 0 || !format->end ? r : format->end(x, err);
}

static int find_store_id(struct mr_export *x, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(x->store, "info.get", json_pack("{s:s}", "name", "id"), &row, err);

	if (r > 0)
		return mr_err(err, MR_E_PROTO, EBADMSG, "the store has no id");
	if (r == 0)
		x->store_id = mr_str_dup(json_string_value(json_object_get(row, "value")));
	return r;
}

int mr_export(struct mr_store *store, const struct mr_export_format *format,
	      const struct mr_export_opts *opts, struct mr_error *err)
{
	struct mr_export x = { .store = store, .opts = opts };
	int r = find_store_id(&x, err);

	if (r == 0)
		r = format->whole ? format->whole(&x, err) : write_runs(&x, format, err);
	for (size_t i = 0; i < N_ELEMENTS(x.buf); i++)
		mr_buf_deinit(&x.buf[i]);
	free(x.store_id);
	return r;
}
