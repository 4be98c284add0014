/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace check-resources: is there room for runs in containers, and is nothing left behind?
 *
 * Changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/units.h"
#include "tools/cmd.h"
#include "tools/engine.h"
#include "tools/stale.h"

#define MIN_DISK "1Gi"
#define MIN_MEMORY "256Mi"

struct resources {
	struct mr_cmd_common common;
	const char *min_disk, *min_memory;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("min-disk", 0, "SIZE", TEXT, resources, min_disk,
		   "short of disk is the engine with less free than this; " MIN_DISK " by default"),
	MR_CMD_ROW("min-memory", 0, "SIZE", TEXT, resources, min_memory,
		   "short of memory is the host with less available than this; " MIN_MEMORY
		   " by default"),
	MR_CMD_JSON_ROWS(resources),
};

/* MemAvailable of /proc/meminfo, in bytes; -1: not told. */
static int64_t memory_available(void)
{
	char text[4096];
	uint64_t kib = 0;
	char *at, *digits;

	if (mr_read_file_at(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, "\nMemAvailable:");
	if (!at)
		return -1;
	digits = at + strlen("\nMemAvailable:");
	digits += strspn(digits, " ");
	digits[strspn(digits, "0123456789")] = '\0';
	return mr_units_parse_count(digits, &kib, NULL) < 0 ? -1 : (int64_t)(kib * 1024);
}

static int parse_limit(const char *option, const char *given, const char *otherwise, uint64_t *ret,
		       struct mr_error *err)
{
	int r = mr_units_parse_size(given ? given : otherwise, ret, err);

	return r < 0 ? mr_err_wrap(err, r, "--%s", option) : 0;
}

static bool has_stale(const struct mr_stale *stale)
{
	static const char *const names[] = { "runs", "prepared", "expired",
					     "old",  "records",	 "folders" };
	bool any = stale->leases > 0;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		any |= json_integer_value(json_object_get(stale->docker, names[i])) > 0;
	return any;
}

/* The names of what is short: the answer. */
static json_t *judge(const struct resources *opts, const json_t *engine,
		     const struct mr_stale *stale, int64_t memory, struct mr_error *err)
{
	const json_t *disk = mr_json_at(engine, "disk", "free_bytes", NULL);
	uint64_t min_disk = 0, min_memory = 0;
	json_t *shortage;
	int r = parse_limit("min-disk", opts->min_disk, MIN_DISK, &min_disk, err);

	if (r == 0)
		r = parse_limit("min-memory", opts->min_memory, MIN_MEMORY, &min_memory, err);
	if (r < 0)
		return NULL;
	shortage = json_array();
	if (json_is_integer(disk) && (uint64_t)json_integer_value(disk) < min_disk)
		json_array_append_new(shortage, json_string("disk"));
	if (memory >= 0 && (uint64_t)memory < min_memory)
		json_array_append_new(shortage, json_string("memory"));
	if (has_stale(stale))
		json_array_append_new(shortage, json_string("stale"));
	return shortage;
}

static void print_size(const char *what, const json_t *bytes)
{
	if (json_is_integer(bytes))
		printf("%-28s %10.1f MiB\n", what, (double)json_integer_value(bytes) / 1048576);
	else
		printf("%-28s %14s\n", what, "not known");
}

static void print_answer(const json_t *answer, const struct mr_stale *stale)
{
	const json_t *engine = json_object_get(answer, "engine");
	const json_t *shortage = json_object_get(answer, "short");

	if (json_is_object(engine)) { /* not where there is none */
		print_size("free for the engine's files",
			   mr_json_at(engine, "disk", "free_bytes", NULL));
		print_size("images of ours", json_object_get(engine, "image_bytes"));
		printf("%-28s %10lld\n", "containers of ours",
		       (long long)json_integer_value(json_object_get(engine, "containers")));
	}
	print_size("memory available", json_object_get(answer, "memory_available_bytes"));
	mr_stale_print(stale, true);
	for (size_t i = 0; i < json_array_size(shortage); i++) {
		const char *name = json_string_value(json_array_get(shortage, i));

		if (strcmp(name, "stale") == 0)
			printf("there is something stale: menace purge-stale removes it\n");
		else
			printf("short of %s\n", name);
	}
}

static int answer(const struct resources *opts, const json_t *engine, const struct mr_stale *stale,
		  struct mr_error *err)
{
	const int64_t memory = memory_available();
	json_t *shortage = judge(opts, engine, stale, memory, err);
	mr_auto_json json_t *document = NULL;

	if (!shortage)
		return -EINVAL;
	document = json_pack("{s:o, s:o, s:o, s:O?}", "short", shortage, "memory_available_bytes",
			     memory < 0 ? json_null() : json_integer(memory), "stale",
			     mr_stale_json(stale, true), "engine", engine);
	if (opts->common.json)
		mr_cmd_print_json(document);
	else
		print_answer(document, stale);
	return json_array_size(shortage) > 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	static const char *const task[] = { "resources", NULL };
	const struct resources *opts = values;
	mr_auto_json json_t *engine = NULL;
	struct mr_stale stale;
	int r = mr_stale_remove("purge", true, &stale, err);

	(void)words;
	if (r == 0 && stale.docker)
		r = mr_engine_ask(task, &engine, err);
	else if (r < 0)
		return r;
	if (r == 0)
		r = answer(opts, engine, &stale, err);
	mr_stale_deinit(&stale);
	return r;
}

const struct mr_cmd mr_cmd_check_resources = {
	.name = "check-resources",
	.synopsis = "",
	.summary = "Say whether disk or memory are short for runs in containers, and what is stale",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct resources),
	.run = run,
};
