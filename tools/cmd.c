/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of menace: the list of them, and what they share
 */
#include "tools/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/store/ingest.h"
#include "runtime/store/place.h"
#include "runtime/store/query.h"
#include "runtime/store/spool.h"
#include "runtime/supervise/living.h"

#define COMMAND(name) extern const struct mr_cmd mr_cmd_##name;
#include "tools/commands.def"
#undef COMMAND

static const struct mr_cmd *const commands[] = {
#define COMMAND(name) &mr_cmd_##name,
#include "tools/commands.def"
#undef COMMAND
};

const struct mr_cmd *mr_cmd_get(size_t i)
{
	return i < N_ELEMENTS(commands) ? commands[i] : NULL;
}

json_t *mr_cmd_instant(int64_t us)
{
	return us == MR_CMD_NOT_GIVEN ? json_null() : json_integer(us);
}

void mr_cmd_print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	putchar('\n');
}

void mr_cmd_print_line(const json_t *json)
{
	json_dumpf(json, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
}

int mr_cmd_lost_output(int errnum, struct mr_error *err)
{
	__fpurge(stdout);
	clearerr(stdout);
	return errnum == EPIPE ? 0 : mr_err(err, MR_E_SYS, errnum, "standard output: %m");
}

static void tell_ingest(const struct mr_place *place, const struct mr_ingest_stats *stats)
{
	if (stats->aside > 0)
		mr_log_warn("%zu pieces of the spool are no records; they are kept in %s",
			    stats->aside, place->aside);
	if (stats->busy > 0)
		mr_log_warn("%zu pieces of the spool are in use; their records come next time",
			    stats->busy);
}

/* Of an older version: nobody has written into it since. */
static int open_to_read(const struct mr_place *place, struct mr_store **ret, struct mr_error *err)
{
	mr_auto_store struct mr_store *store = NULL;
	struct mr_error why = MR_ERROR_INIT;
	int r = mr_store_open(place, MR_STORE_READ, MR_PATIENCE_MS(STORE_BUSY), ret, err);

	if (r != -ESTALE)
		return r;
	if (mr_store_open(place, MR_STORE_WRITE, MR_PATIENCE_MS(STORE_BUSY), &store, &why) < 0)
		return mr_err_wrap(err, r, "%s", why.msg);
	store = mr_store_close(store);
	return mr_store_open(place, MR_STORE_READ, MR_PATIENCE_MS(STORE_BUSY), ret, err);
}

static int open_at(const struct mr_place *place, enum mr_store_mode mode, struct mr_store **ret,
		   struct mr_error *err)
{
	mr_auto_store struct mr_store *store = NULL;
	struct mr_ingest_stats stats = { 0 };
	struct mr_error why = MR_ERROR_INIT;
	int r = 0;

	if (mode == MR_STORE_WRITE || mr_spool_waits(place)) {
		r = mr_store_open(place, MR_STORE_WRITE, MR_PATIENCE_MS(STORE_BUSY), &store, &why);
		if (r == 0)
			r = mr_ingest(place, store, &stats, &why);
		tell_ingest(place, &stats);
	}
	if (r < 0 && mode == MR_STORE_WRITE) {
		*err = why;
		return r;
	}
	if (r < 0)
		mr_log_warn("what waits in the spool is not shown: %s", why.msg);
	if (mode == MR_STORE_READ) {
		store = mr_store_close(store);
		r = open_to_read(place, &store, err);
	}
	if (r > 0)
		return mr_err(err, MR_E_SYS, ENOENT,
			      "there is no store %s yet: run something with menace-run, or name "
			      "another with --store",
			      place->db);
	if (r == 0)
		*ret = mr_take_ptr(store);
	return r;
}

int mr_cmd_open(const struct mr_cmd_common *common, enum mr_store_mode mode, struct mr_store **ret,
		struct mr_error *err)
{
	struct mr_place place = { 0 };
	int r = mr_place_find(common->store, &place, err);

	if (r > 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "no store: name one with --store (MENACE_STORE is none)");
	if (r == 0)
		r = open_at(&place, mode, ret, err);
	mr_place_deinit(&place);
	return r;
}

int mr_cmd_find_run(struct mr_store *store, const char *prefix, char **ret, struct mr_error *err)
{
	mr_auto_json json_t *rows = NULL;
	char quoted[MR_STR_QUOTE_SIZE];
	int r;

	mr_str_quote(quoted, sizeof(quoted), prefix);
	if (prefix[0] == '\0' ||
	    strspn(prefix, "0123456789abcdefghijklmnopqrstuvwxyz") != strlen(prefix))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is not the id of a run", quoted);
	r = mr_query_all(store, "run.find", json_pack("{s:s}", "prefix", prefix), &rows, err);
	if (r < 0)
		return r;
	if (json_array_size(rows) == 0)
		return mr_err(err, MR_E_NONE, ENOENT, "there is no run %s", quoted);
	if (json_array_size(rows) > 1)
		return mr_err(err, MR_E_USAGE, EINVAL, "several runs begin with %s: say more of it",
			      quoted);
	*ret = mr_str_dup(json_string_value(json_object_get(json_array_get(rows, 0), "run_id")));
	return 0;
}

int mr_cmd_find_living(const struct mr_living *list, size_t n, const char *prefix, size_t *ret,
		       struct mr_error *err)
{
	size_t found = 0;

	for (size_t i = 0; i < n && prefix[0]; i++) {
		if (!mr_str_starts_with(list[i].info.id, prefix))
			continue;
		*ret = i;
		found++;
	}
	if (found > 1)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%zu running sandboxes begin with \"%s\": say more of it", found,
			      prefix);
	return found ? 0 : 1;
}

int mr_cmd_check_word(const char *option, const char *word, const char *const *known, size_t n,
		      struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	if (!word)
		return 0;
	mr_str_nearest_init(&nearest, word);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(known[i], word) == 0)
			return 0;
		mr_str_nearest_offer(&nearest, known[i]);
	}
	mr_str_quote(quoted, sizeof(quoted), word);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "--%s: unknown value %s; did you mean %s?",
			      option, quoted, nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "--%s: unknown value %s; see --help", option,
		      quoted);
}

int mr_cmd_check_reason(const char *reason, struct mr_error *err)
{
	static const char *const reasons[] = {
		"exited",   "signaled",	   "wall_timeout",   "cpu_limit",	"idle_timeout",
		"oom",	    "pids_limit",  "output_limit",   "disk_limit",	"seccomp",
		"injected", "setup_error", "killed_by_user", "supervisor_lost", "skipped",
	};

	return mr_cmd_check_word("reason", reason, reasons, N_ELEMENTS(reasons), err);
}

int mr_cmd_check_count(const char *option, int64_t *value, int64_t fallback, int64_t min,
		       int64_t max, struct mr_error *err)
{
	if (*value == MR_CMD_NOT_GIVEN)
		*value = fallback;
	if (*value >= min && *value <= max)
		return 0;
	return mr_err(err, MR_E_USAGE, ERANGE, "--%s: %jd is out of range; accepted: %jd to %jd",
		      option, (intmax_t)*value, (intmax_t)min, (intmax_t)max);
}
