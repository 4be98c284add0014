/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries that somebody else wrote
 *
 * The statement comes from a person or a program that may be fooled.  It runs on a
 * connection that is only open for reading, under an authorizer that allows what
 * is on its lists and nothing else, with bounds on time, memory, text and depth.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/internal.h"
#include "runtime/store/query.h"
#include "runtime/store/rows.h"

#define HEAP_MAX (256 << 20)
#define PROGRESS_STEPS 10000

/* Pure, and bounded by SQLITE_LIMIT_LENGTH, which does not bound the time of instr, replace and trim:
 * that grows with the product of two lengths.  Nothing that reads files, loads code or tells addresses. */
static const char *const functions[] = {
	"abs",
	"avg",
	"changes",
	"coalesce",
	"count",
	"cume_dist",
	"date",
	"datetime",
	"dense_rank",
	"first_value",
	"format",
	"glob",
	"group_concat",
	"hex",
	"ifnull",
	"iif",
	"instr",
	"json",
	"json_array",
	"json_array_length",
	"json_each",
	"json_extract",
	"json_group_array",
	"json_group_object",
	"json_object",
	"json_quote",
	"json_tree",
	"json_type",
	"json_valid",
	"julianday",
	"lag",
	"last_value",
	"lead",
	"length",
	"like",
	"likelihood",
	"likely",
	"lower",
	"ltrim",
	"max",
	"min",
	"nth_value",
	"ntile",
	"nullif",
	"percent_rank",
	"printf",
	"quote",
	"rank",
	"replace",
	"round",
	"row_number",
	"rtrim",
	"sign",
	"strftime",
	"substr",
	"substring",
	"sum",
	"time",
	"total",
	"trim",
	"typeof",
	"unicode",
	"unixepoch",
	"unlikely",
	"upper",
	"->",
	"->>",
};

static const struct limit {
	int id;
	int value;
} limits[] = {
	{ SQLITE_LIMIT_LENGTH, 16 << 20 },  { SQLITE_LIMIT_SQL_LENGTH, 1 << 16 },
	{ SQLITE_LIMIT_EXPR_DEPTH, 100 },   { SQLITE_LIMIT_COMPOUND_SELECT, 50 },
	{ SQLITE_LIMIT_VDBE_OP, 100000 },   { SQLITE_LIMIT_FUNCTION_ARG, 32 },
	{ SQLITE_LIMIT_ATTACHED, 0 },	    { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
	{ SQLITE_LIMIT_WORKER_THREADS, 0 }, { SQLITE_LIMIT_COLUMN, 200 },
};

struct guard {
	json_t *tables; /* names that may be read */
	json_t *modules; /* names of virtual tables */
	uint64_t deadline_ns;
	char refused[80]; /* what was asked for and is not allowed */
};

static bool is_function(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(functions); i++)
		if (mr_str_equal_nocase(functions[i], name))
			return true;
	return false;
}

static bool is_table(const struct guard *guard, const char *name)
{
	return json_object_get(guard->tables, name) || strcmp(name, "json_each") == 0 ||
	       strcmp(name, "json_tree") == 0;
}

/* "count(*) FROM x" reads no column, and x may be a name that the statement itself gave. */
static bool is_own_name(const struct guard *guard, const char *name, const char *column)
{
	return column[0] == '\0' && !json_object_get(guard->modules, name) &&
	       !mr_str_starts_with(name, "pragma_");
}

static int refuse(struct guard *guard, const char *what, const char *name)
{
	struct mr_str text;

	mr_str_init(&text, guard->refused, sizeof(guard->refused));
	mr_str_printf(&text, "%s%s%s", what, name ? " " : "", name ? name : "");
	return SQLITE_DENY;
}

static int authorize(void *owner, int action, const char *first, const char *second,
		     const char *database, const char *inner)
{
	struct guard *guard = owner;

	(void)database;
	(void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return is_table(guard, first) || is_own_name(guard, first, second)
			       ? SQLITE_OK
			       : refuse(guard, "reading", first);
	case SQLITE_FUNCTION:
		return is_function(second) ? SQLITE_OK : refuse(guard, "function", second);
	default: /* the many ways to write, attach, set or call something */
		return refuse(guard, "anything but SELECT", NULL);
	}
}

static int check_time(void *owner)
{
	return mr_clock_ns(MR_CLOCK_MONOTONIC) > ((const struct guard *)owner)->deadline_ns;
}

static int add_name(const json_t *row, void *owner, struct mr_error *err)
{
	(void)err;
	json_object_set(owner, json_string_value(json_object_get(row, "name")), json_true());
	return 0;
}

static int prepare(struct mr_store *store, const char *sql, struct guard *guard, sqlite3_stmt **ret,
		   struct mr_error *err)
{
	const char *tail = NULL;
	int rc = sqlite3_prepare_v2(store->db, sql, -1, ret, &tail);

	if (rc != SQLITE_OK && guard->refused[0]) {
		char quoted[MR_STR_QUOTE_SIZE];

		mr_str_quote(quoted, sizeof(quoted), guard->refused);
		return mr_err(err, MR_E_USAGE, EPERM, "query: not allowed: %.*s",
			      (int)strlen(quoted) - 2, quoted + 1);
	}
	if (rc != SQLITE_OK)
		return mr_store_fail(store, rc, "query", err);
	if (!*ret)
		return mr_err(err, MR_E_USAGE, EINVAL, "query: there is no statement");
	if (tail[strspn(tail, " \t\r\n;")] != '\0')
		return mr_err(err, MR_E_USAGE, EINVAL, "query: more than one statement");
	if (!sqlite3_stmt_readonly(*ret))
		return mr_err(err, MR_E_USAGE, EPERM, "query: not allowed: writing");
	return 0;
}

/* Same connection as the named statements: what is set here is taken back. */
static void set_bounds(struct mr_store *store, struct guard *guard, int before[])
{
	for (size_t i = 0; i < N_ELEMENTS(limits); i++)
		before[i] = sqlite3_limit(store->db, limits[i].id, limits[i].value);
	sqlite3_hard_heap_limit64(HEAP_MAX);
	sqlite3_progress_handler(store->db, PROGRESS_STEPS, check_time, guard);
	sqlite3_set_authorizer(store->db, authorize, guard);
}

static void lift_bounds(struct mr_store *store, const int before[])
{
	sqlite3_set_authorizer(store->db, NULL, NULL);
	sqlite3_progress_handler(store->db, 0, NULL, NULL);
	sqlite3_hard_heap_limit64(0);
	for (size_t i = 0; i < N_ELEMENTS(limits); i++)
		sqlite3_limit(store->db, limits[i].id, before[i]);
}

int mr_query_overdue(const struct mr_store *store, struct mr_error *err)
{
	return mr_store_fail(store, SQLITE_INTERRUPT, "query", err);
}

/* What is done with a row takes none of the statement's time. */
struct reader {
	struct guard *guard;
	mr_query_fn *fn;
	void *owner;
};

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct reader *reader = owner;
	const uint64_t began_ns = mr_clock_ns(MR_CLOCK_MONOTONIC);
	int r = reader->fn(row, reader->owner, err);

	reader->guard->deadline_ns += mr_clock_ns(MR_CLOCK_MONOTONIC) - began_ns;
	return r;
}

int mr_query_adhoc(struct mr_store *store, const char *sql, uint64_t time_ms, mr_query_fn *fn,
		   void *owner, struct mr_error *err)
{
	mr_auto_json json_t *tables = json_object();
	mr_auto_json json_t *modules = json_object();
	struct guard guard = { .tables = tables,
			       .modules = modules,
			       .deadline_ns = mr_clock_ns(MR_CLOCK_MONOTONIC) + time_ms * 1000000 };
	struct reader reader = { .guard = &guard, .fn = fn, .owner = owner };
	int before[N_ELEMENTS(limits)];
	sqlite3_stmt *stmt = NULL;
	int r = mr_query_each(store, "adhoc.tables", NULL, add_name, tables, err);

	if (r == 0) /* connecting them declares a table, which the authorizer would refuse */
		r = mr_query_run(store, "adhoc.connect", NULL, err);
	if (r == 0)
		r = mr_query_each(store, "adhoc.modules", NULL, add_name, modules, err);

	if (r < 0)
		return r;
	set_bounds(store, &guard, before);
	r = prepare(store, sql, &guard, &stmt, err);
	if (r == 0)
		r = mr_rows_each(store, stmt, "query", on_row, &reader, err);
	sqlite3_finalize(stmt);
	lift_bounds(store, before);
	return r;
}
