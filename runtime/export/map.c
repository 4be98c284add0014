/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map
 *
 * A value goes through one conversion, by a table of functions.  What cannot be
 * converted is not there: a reader of a typed field is not given another type.
 */
#include "runtime/export/map.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

/* --- where a value comes from ---------------------------------------------- */

static json_t *own_value(const char *name, const struct mr_facts *facts, const struct mr_fact *fact)
{
	const char *run_id = json_string_value(json_object_get(facts->run, "run_id"));
	mr_auto_free char *uid = NULL;

	if (strcmp(name, "@time_ns") == 0)
		return json_integer(fact->time_ns);
	if (strcmp(name, "@kind") == 0)
		return json_string(mr_fact_kind_name(fact->kind));
	if (strcmp(name, "@variant") == 0)
		return fact->variant[0] ? json_string(fact->variant) : NULL;
	if (strcmp(name, "@n") == 0)
		return json_integer((json_int_t)fact->n);
	if (strcmp(name, "@seq") == 0)
		return json_integer((json_int_t)fact->n + 1);
	mr_assert(strcmp(name, "@uid") == 0);
	uid = mr_str_format("%s-%zu", run_id, fact->n);
	return json_string(uid);
}

static json_t *find(const char *from, const struct mr_facts *facts, const struct mr_fact *fact)
{
	if (from[0] == '@')
		return own_value(from, facts, fact);
	if (mr_str_starts_with(from, "run."))
		return json_incref(json_object_get(facts->run, from + 4));
	return json_incref(json_object_get(fact->row, from));
}

/* --- what becomes of it ---------------------------------------------------- */

static json_t *to_text(const json_t *value)
{
	char text[24];

	if (json_is_string(value))
		return json_incref((json_t *)(uintptr_t)value);
	if (!json_is_integer(value))
		return NULL;
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	return json_string(text);
}

static json_t *to_bool(const json_t *value)
{
	return json_is_integer(value)	? json_boolean(json_integer_value(value) != 0)
	       : json_is_boolean(value) ? json_incref((json_t *)(uintptr_t)value)
					: NULL;
}

static json_t *to_ms(const json_t *value)
{
	return json_is_integer(value) ? json_integer(json_integer_value(value) / 1000000) : NULL;
}

static json_t *us_to_ns(const json_t *value)
{
	json_int_t ns;

	if (!json_is_integer(value) || __builtin_mul_overflow(json_integer_value(value), 1000, &ns))
		return NULL;
	return json_integer(ns);
}

static json_t *to_iso(const json_t *value)
{
	json_int_t ns = json_integer_value(value);
	time_t seconds = (time_t)(ns / 1000000000);
	char date[32], text[64];
	struct tm tm;

	if (!json_is_integer(value) || ns < 0 || !gmtime_r(&seconds, &tm) ||
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return NULL;
	snprintf(text, sizeof(text), "%s.%09lldZ", date, (long long)(ns % 1000000000));
	return json_string(text);
}

/* A path that ends in a slash is its own name. */
static json_t *to_basename(const json_t *value)
{
	const char *path = json_string_value(value);
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!path)
		return NULL;
	return json_string_nocheck(slash && slash[1] ? slash + 1 : path);
}

static bool is_ip(const json_t *value)
{
	const char *text = json_string_value(value);
	unsigned char address[sizeof(struct in6_addr)];

	return text &&
	       (inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1);
}

static json_t *if_ip(const json_t *value)
{
	return is_ip(value) ? json_incref((json_t *)(uintptr_t)value) : NULL;
}

static json_t *if_no_ip(const json_t *value)
{
	return json_is_string(value) && !is_ip(value) ? json_incref((json_t *)(uintptr_t)value)
						      : NULL;
}

static json_t *as_is(const json_t *value)
{
	return json_incref((json_t *)(uintptr_t)value);
}

static json_t *to_number(const struct mr_map_word *words, const json_t *value)
{
	const char *text = json_string_value(value);

	while (words->word && (!text || strcmp(words->word, text) != 0))
		words++;
	return json_integer(words->number);
}

static json_t *(*const conversions[])(const json_t *) = {
	[MR_MAP_AS_IS] = as_is, [MR_MAP_TEXT] = to_text,	 [MR_MAP_BOOL] = to_bool,
	[MR_MAP_MS] = to_ms,	[MR_MAP_US_AS_NS] = us_to_ns,	 [MR_MAP_ISO] = to_iso,
	[MR_MAP_IP] = if_ip,	[MR_MAP_BASENAME] = to_basename, [MR_MAP_NO_IP] = if_no_ip,
};

static json_t *constant(const char *value)
{
	uint64_t number = 0;

	if (value[0] != '#')
		return json_string(value);
	mr_assert(mr_units_parse_count(value + 1, &number, NULL) == 0);
	return json_integer((json_int_t)number);
}

json_t *mr_map_value(const struct mr_map_row *row, const struct mr_facts *facts,
		     const struct mr_fact *fact)
{
	mr_auto_json json_t *found = row->from ? find(row->from, facts, fact) : NULL;

	if (row->from && (!found || json_is_null(found)))
		return NULL;
	if (row->value)
		return constant(row->value);
	if (row->as == MR_MAP_WORD)
		return to_number(row->words, found);
	return conversions[row->as](found);
}

/* --- where it goes --------------------------------------------------------- */

/* The object behind one part of a path. */
static json_t *step_into(json_t *object, const char *part)
{
	mr_auto_free char *name = mr_str_dup(part);
	bool is_list = mr_str_ends_with(name, "[]");
	json_t *next;

	if (is_list)
		name[strlen(name) - 2] = '\0';
	next = json_object_get(object, name);
	if (!next) {
		next = is_list ? json_pack("[{}]") : json_object();
		json_object_set_new(object, name, next);
	}
	return is_list ? json_array_get(next, 0) : next;
}

void mr_map_set(json_t *object, const char *path, json_t *value)
{
	for (;;) {
		size_t n = strcspn(path, ".");
		mr_auto_free char *part = mr_str_ndup(path, n);

		if (path[n] == '\0')
			break;
		object = step_into(object, part);
		path += n + 1;
	}
	if (json_object_set_new(object, path, value) < 0)
		mr_assert(!value); /* out of memory */
}

void mr_map_nest(json_t *object, const struct mr_map_row *rows, const struct mr_facts *facts,
		 const struct mr_fact *fact)
{
	for (; rows->to; rows++) {
		json_t *value = mr_map_value(rows, facts, fact);

		if (value)
			mr_map_set(object, rows->to, value);
	}
}

static bool reads(const struct mr_map_row *rows, const char *column)
{
	for (; rows->to; rows++)
		if (rows->from && strcmp(rows->from, column) == 0)
			return true;
	return false;
}

/* The other forms of what is there anyway, and output of programs, which is no event. */
static bool is_said(const char *column)
{
	static const char *const others[] = {
		"argv",		  "tgid",	    "boot_ns",
		"start_boot_ns",  "exit_boot_ns",   "run_id",
		"first_ns",	  "end_ns",	    "parent_start_boot_ns",
		"stored_boot_ns", "stored_real_us", "stdout_head",
		"stderr_head",
	};

	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		if (strcmp(others[i], column) == 0)
			return true;
	return false;
}

json_t *mr_map_rest(const struct mr_fact *fact, const struct mr_map_row *const *tables, size_t n)
{
	json_t *rest = json_object();
	const char *column;
	json_t *value;

	json_object_foreach (fact->row, column, value) {
		bool is_read = json_is_null(value) || is_said(column);

		for (size_t i = 0; i < n && !is_read; i++)
			is_read = reads(tables[i], column);
		if (!is_read)
			json_object_set(rest, column, value);
	}
	return rest;
}
