/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stale
 */
#include "tools/stale.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/backend/qemu_accel.h"
#include "runtime/backend/qemu_template.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/supervise/lease.h"
#include "tools/engine.h"

/* What the engine's part counts, and how it is said. */
static const struct row {
	const char *name, *what;
} rows[] = {
	{ "runs", "containers of runs whose supervisor is dead" },
	{ "prepared", "containers that were being prepared or used by one" },
	{ "expired", "prepared containers past their time" },
	{ "drained", "prepared containers that waited" },
	{ "old", "containers from before the last boot" },
	{ "records", "records without a container" },
	{ "folders", "folders of files without a container" },
};

static int sweep_leases(bool dry_run, struct mr_stale *stale, struct mr_error *err)
{
	mr_auto_close int dir_fd = mr_lease_open_dir(err);
	int r;

	if (dir_fd < 0)
		return dir_fd;
	r = dry_run ? mr_lease_count_dead(dir_fd, err)
		    : mr_lease_sweep(dir_fd, &stale->leases_left, err);
	if (r >= 0)
		stale->leases = r;
	return r < 0 ? r : 0;
}

static int ask(const char *task, bool dry_run, struct mr_stale *stale, struct mr_error *err)
{
	const char *const words[] = { task, dry_run ? "dry" : NULL, NULL };
	struct mr_error why = MR_ERROR_INIT;
	int r = mr_engine_ask(words, &stale->docker, &why);

	if (r == 0)
		return 0;
	if (why.code != MR_E_KERNEL || why.errnum != ECONNREFUSED) {
		*err = why;
		return r;
	}
	snprintf(stale->no_engine, sizeof(stale->no_engine), "%.299s", why.msg);
	return 0;
}

int mr_stale_remove(const char *task, bool dry_run, struct mr_stale *ret, struct mr_error *err)
{
	struct mr_stale stale = { 0 };
	struct mr_error engine = MR_ERROR_INIT;
	int asked = ask(task, dry_run, &stale, &engine);
	int r = sweep_leases(dry_run, &stale, err);

	if (r == 0 && asked < 0) {
		*err = engine;
		r = asked;
	}
	if (r < 0)
		mr_stale_deinit(&stale);
	else
		*ret = stale;
	return r;
}

int mr_stale_remove_templates(bool dry_run, struct mr_stale *stale, struct mr_error *err)
{
	mr_auto_close int folder = mr_accel_open_folder();
	int r = folder < 0 ? 0 : mr_template_drop(folder, dry_run, &stale->templates_used, err);

	if (r >= 0)
		stale->templates = r;
	return r < 0 ? r : 0;
}

void mr_stale_deinit(struct mr_stale *stale)
{
	json_decref(stale->docker);
	stale->docker = NULL;
}

json_t *mr_stale_json(const struct mr_stale *stale, bool dry_run)
{
	return json_pack("{s:b, s:i, s:i, s:i, s:i, s:O?, s:s?}", "dry_run", dry_run, "leases",
			 stale->leases, "leases_left", (int)stale->leases_left, "templates",
			 stale->templates, "templates_used", (int)stale->templates_used, "docker",
			 stale->docker, "no_engine", stale->docker ? NULL : stale->no_engine);
}

static json_int_t number(const struct mr_stale *stale, const char *name)
{
	return json_integer_value(json_object_get(stale->docker, name));
}

static void print_row(json_int_t n, const char *what, const char *verb)
{
	if (n > 0)
		printf("%lld %s %s\n", (long long)n, what, verb);
}

void mr_stale_print(const struct mr_stale *stale, bool dry_run)
{
	const char *verb = dry_run ? "would be removed" : "removed";
	json_int_t sum = stale->leases + stale->templates;

	print_row(stale->leases, "leases of dead supervisors, with their control groups and files,",
		  verb);
	print_row(stale->templates, "templates of machines", verb);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		print_row(number(stale, rows[i].name), rows[i].what, verb);
		sum += number(stale, rows[i].name);
	}
	print_row((json_int_t)stale->leases_left + number(stale, "left"), "things",
		  "could not be removed; what was said above tells why");
	print_row((json_int_t)stale->templates_used, "templates of machines",
		  "stay, as somebody uses or makes one");
	if (sum == 0)
		printf("nothing %s\n", dry_run ? "to remove" : "was left");
	if (!stale->docker)
		printf("containers were not looked for, and what prepared ones need stays: %s\n",
		       stale->no_engine);
}

bool mr_stale_is_left(const struct mr_stale *stale)
{
	return stale->leases_left > 0 || number(stale, "left") > 0;
}
