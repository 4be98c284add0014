/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Denials
 *
 * A payload that wants to hide one telling denial floods the table with others.
 * So there are two tables: rows (layer, what, object, comm), and, once those are
 * used up, overflow by (layer, what) alone, whose number of keys is not the
 * payload's to choose (system calls and operations).  Sums are counted apart from
 * both.  Rows are found by a hash over their key, then compared; 256 comparisons
 * of a word are cheap next to the notification that brought the denial here.
 */
#include "runtime/supervise/denials.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/text.h"

struct mr_denials_row {
	uint64_t key; /* hash over layer, what, object, comm */
	uint64_t count;
	uint64_t first_ns;
	enum mr_denial_layer layer;
	int errnum;
	pid_t pid;
	bool object_cut;
	char comm[MR_DENIAL_MAX_COMM + 1];
	char *what, *object, *rule, *reason, *allow, *address, *name; /* NULL: not known */
	uint16_t port;
};

static const char *const layer_names[] = {
	[MR_DENIAL_SECCOMP] = "seccomp", [MR_DENIAL_LANDLOCK] = "landlock",
	[MR_DENIAL_MOUNT] = "mount",	 [MR_DENIAL_NETWORK] = "network",
	[MR_DENIAL_LIMITS] = "limits",
};

const char *mr_denials_layer_name(enum mr_denial_layer layer)
{
	mr_assert((size_t)layer < N_ELEMENTS(layer_names));
	return layer_names[layer];
}

void mr_denials_init(struct mr_denials *tbl)
{
	*tbl = (struct mr_denials){ 0 };
}

static void free_row(struct mr_denials_row *row)
{
	free(row->what);
	free(row->object);
	free(row->rule);
	free(row->reason);
	free(row->allow);
	free(row->address);
	free(row->name);
}

void mr_denials_deinit(struct mr_denials *tbl)
{
	for (size_t i = 0; i < tbl->n_rows; i++)
		free_row(&tbl->rows[i]);
	for (size_t i = 0; i < tbl->n_overflow; i++)
		free_row(&tbl->overflow[i]);
	free(tbl->rows);
	free(tbl->overflow);
	*tbl = (struct mr_denials){ 0 };
}

/* FNV-1a over at most max bytes and the end mark; NULL differs from "". */
static uint64_t hash_text(uint64_t h, const char *s, size_t max)
{
	size_t n = s ? strnlen(s, max) : 0;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3ULL;
	return (h ^ (s ? 0x100 : 0x200)) * 0x100000001b3ULL;
}

static uint64_t hash_denial(const struct mr_denial *d)
{
	uint64_t h = 0xcbf29ce484222325ULL ^ (uint64_t)d->layer;

	h = hash_text(h, d->what, MR_DENIAL_MAX_TEXT);
	h = hash_text(h, d->object, MR_DENIAL_MAX_OBJECT);
	return hash_text(h, d->comm, MR_DENIAL_MAX_COMM);
}

/* Is `kept` what keeping s leaves? */
static bool same_text(const char *kept, const char *s, size_t max)
{
	size_t n;

	if (!kept || !s)
		return !kept && !s;
	n = strnlen(s, max);
	return strncmp(kept, s, n) == 0 && kept[n] == '\0';
}

static bool row_matches(const struct mr_denials_row *row, uint64_t key, const struct mr_denial *d)
{
	return row->key == key && row->layer == d->layer &&
	       same_text(row->what, d->what, MR_DENIAL_MAX_TEXT) &&
	       same_text(row->object, d->object, MR_DENIAL_MAX_OBJECT) &&
	       same_text(row->comm, d->comm ? d->comm : "", MR_DENIAL_MAX_COMM);
}

/* Make room for one more row; false when there is none to be had. */
static bool reserve_row(struct mr_denials_row **rows, size_t n, size_t max)
{
	struct mr_denials_row *more;

	if (n >= max)
		return false;
	if (n % 16 != 0)
		return true;
	more = realloc(*rows, (n + 16) * sizeof(**rows));
	if (more)
		*rows = more;
	return more != NULL;
}

/* A bounded copy; *ok turns false when memory is short. */
static char *keep_text(const char *s, size_t max, bool *ok)
{
	char *copy = s ? strndup(s, max) : NULL;

	if (s && !copy)
		*ok = false;
	return copy;
}

static bool fill_row(struct mr_denials_row *row, uint64_t key, const struct mr_denial *d)
{
	bool ok = true;

	*row = (struct mr_denials_row){
		.key = key,
		.count = 1,
		.first_ns = d->time_ns,
		.layer = d->layer,
		.errnum = d->errnum,
		.pid = d->pid,
		.object_cut = d->object &&
			      strnlen(d->object, MR_DENIAL_MAX_OBJECT + 1) > MR_DENIAL_MAX_OBJECT,
		.what = keep_text(d->what, MR_DENIAL_MAX_TEXT, &ok),
		.object = keep_text(d->object, MR_DENIAL_MAX_OBJECT, &ok),
		.rule = keep_text(d->rule, MR_DENIAL_MAX_TEXT, &ok),
		.reason = keep_text(d->reason, MR_DENIAL_MAX_TEXT, &ok),
		.allow = keep_text(d->allow, MR_DENIAL_MAX_TEXT, &ok),
		.address = keep_text(d->address, MR_DENIAL_MAX_TEXT, &ok),
		.name = keep_text(d->name, MR_DENIAL_MAX_TEXT, &ok),
		.port = d->port,
	};
	if (d->comm)
		memcpy(row->comm, d->comm, strnlen(d->comm, MR_DENIAL_MAX_COMM));
	if (!ok)
		free_row(row);
	return ok;
}

/* Count a dropped denial by layer and what; when even that has no room, dropped alone tells. */
static void add_overflow(struct mr_denials *tbl, const struct mr_denial *d, uint64_t n)
{
	struct mr_denial brief = { .layer = d->layer, .what = d->what };

	tbl->dropped += n;
	for (size_t i = 0; i < tbl->n_overflow; i++) {
		struct mr_denials_row *row = &tbl->overflow[i];

		if (row->layer == d->layer && same_text(row->what, d->what, MR_DENIAL_MAX_TEXT)) {
			row->count += n;
			return;
		}
	}
	if (reserve_row(&tbl->overflow, tbl->n_overflow, MR_DENIALS_MAX_OVERFLOW) &&
	    fill_row(&tbl->overflow[tbl->n_overflow], 0, &brief))
		tbl->overflow[tbl->n_overflow++].count = n;
}

void mr_denials_lose(struct mr_denials *tbl, enum mr_denial_layer layer, const char *what,
		     uint64_t n)
{
	const struct mr_denial brief = { .layer = layer, .what = what };

	mr_assert((size_t)layer < MR_DENIAL_LAYERS_);
	if (n == 0)
		return;
	tbl->total += n;
	tbl->by_layer[layer] += n;
	add_overflow(tbl, &brief, n);
}

void mr_denials_add(struct mr_denials *tbl, const struct mr_denial *denial)
{
	uint64_t key = hash_denial(denial);

	mr_assert((size_t)denial->layer < MR_DENIAL_LAYERS_);
	tbl->total++;
	tbl->by_layer[denial->layer]++;
	for (size_t i = 0; i < tbl->n_rows; i++) {
		if (row_matches(&tbl->rows[i], key, denial)) {
			tbl->rows[i].count++;
			return;
		}
	}
	if (reserve_row(&tbl->rows, tbl->n_rows, MR_DENIALS_MAX_ROWS) &&
	    fill_row(&tbl->rows[tbl->n_rows], key, denial))
		tbl->n_rows++;
	else
		add_overflow(tbl, denial, 1);
}

uint64_t mr_denials_total(const struct mr_denials *tbl)
{
	return tbl->total;
}

uint64_t mr_denials_of_layer(const struct mr_denials *tbl, enum mr_denial_layer layer)
{
	mr_assert((size_t)layer < MR_DENIAL_LAYERS_);
	return tbl->by_layer[layer];
}

static void set_text(json_t *obj, const char *key, const char *text)
{
	if (text)
		mr_text_set(obj, key, text, strlen(text));
	else
		json_object_set_new(obj, key, json_null());
}

static json_t *errno_to_json(int errnum)
{
	const char *name = errnum > 0 ? strerrorname_np(errnum) : NULL;

	if (errnum <= 0)
		return json_null();
	return json_pack("{s:s?, s:i}", "name", name, "number", errnum);
}

/* Where it was for, in parts. */
static void set_target(json_t *obj, const struct mr_denials_row *row)
{
	if (row->layer != MR_DENIAL_NETWORK)
		return;
	set_text(obj, "address", row->address);
	json_object_set_new(obj, "port", row->port ? json_integer(row->port) : json_null());
	set_text(obj, "name", row->name);
}

static json_t *row_to_json(const struct mr_denials_row *row)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "layer", json_string(layer_names[row->layer]));
	set_text(obj, "what", row->what);
	if (row->object_cut) {
		size_t size = mr_text_trim_end(row->object, strlen(row->object));

		mr_text_set(obj, "object", row->object, size);
		json_object_set_new(obj, "object_truncated", json_true());
	} else {
		set_text(obj, "object", row->object);
	}
	json_object_set_new(obj, "errno", errno_to_json(row->errnum));
	json_object_set_new(obj, "pid", row->pid > 0 ? json_integer(row->pid) : json_null());
	set_text(obj, "comm", row->comm[0] ? row->comm : NULL);
	set_target(obj, row);
	set_text(obj, "rule", row->rule);
	set_text(obj, "reason", row->reason);
	set_text(obj, "allow", row->allow);
	json_object_set_new(obj, "count", json_integer((json_int_t)row->count));
	json_object_set_new(obj, "first_ns", json_integer((json_int_t)row->first_ns));
	return obj;
}

static json_t *overflow_to_json(const struct mr_denials_row *row)
{
	json_t *obj = json_object();

	json_object_set_new(obj, "layer", json_string(layer_names[row->layer]));
	set_text(obj, "what", row->what);
	json_object_set_new(obj, "count", json_integer((json_int_t)row->count));
	return obj;
}

struct json_t *mr_denials_to_json(const struct mr_denials *tbl)
{
	json_t *rows = json_array(), *overflow = json_array(), *by_layer = json_object();

	for (size_t i = 0; i < tbl->n_rows; i++)
		json_array_append_new(rows, row_to_json(&tbl->rows[i]));
	for (size_t i = 0; i < tbl->n_overflow; i++)
		json_array_append_new(overflow, overflow_to_json(&tbl->overflow[i]));
	for (size_t i = 0; i < N_ELEMENTS(layer_names); i++)
		json_object_set_new(by_layer, layer_names[i],
				    json_integer((json_int_t)tbl->by_layer[i]));
	return json_pack("{s:I, s:I, s:o, s:o, s:o}", "total", (json_int_t)tbl->total, "dropped",
			 (json_int_t)tbl->dropped, "by_layer", by_layer, "rows", rows, "overflow",
			 overflow);
}

json_t *mr_denials_event(const struct mr_denials *tbl, size_t i)
{
	const struct mr_denials_row *row = i < tbl->n_rows ? &tbl->rows[i] : NULL;
	json_t *event = row ? json_object() : NULL, *detail = row ? json_object() : NULL;
	const char *name = row ? strerrorname_np(row->errnum) : NULL;

	if (!row)
		return NULL;
	json_object_set_new(detail, "layer", json_string(layer_names[row->layer]));
	set_text(detail, "what", row->what);
	json_object_set_new(detail, "errno", json_integer(row->errnum));
	json_object_set_new(detail, "errno_name",
			    row->errnum && name ? json_string(name) : json_null());
	set_target(detail, row);
	set_text(detail, "rule", row->rule);
	set_text(detail, "reason", row->reason);
	set_text(detail, "allow", row->allow);
	json_object_set_new(event, "boot_ns", json_integer((json_int_t)row->first_ns));
	json_object_set_new(event, "type", json_string("denial"));
	json_object_set_new(event, "tgid", row->pid > 0 ? json_integer(row->pid) : json_null());
	json_object_set_new(event, "start_boot_ns", json_null());
	set_text(event, "comm", row->comm[0] ? row->comm : NULL);
	set_text(event, "object", row->object);
	json_object_set_new(event, "detail", detail);
	return event;
}
