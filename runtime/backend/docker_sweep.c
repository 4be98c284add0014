/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, sweep
 *
 * Several may sweep at once, while others make, take and end: who judges a prepared container holds
 * its record while he does, and records are listed before the containers are, so that a container
 * that was made meanwhile is not missed.
 */
#include "runtime/backend/docker_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_ledger.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"

#define ID_LETTERS "0123456789abcdefghijklmnopqrstuvwxyz"

static bool is_id(const char *id)
{
	return id && strlen(id) == MR_RUN_ID_SIZE - 1 && id[strspn(id, ID_LETTERS)] == '\0';
}

int mr_docker_sweep_list(struct mr_docker *docker, const char *label, const char *value,
			 json_t **ret, struct mr_error *err)
{
	mr_auto_free char *filter = mr_str_format("{\"label\":[\"%s=%s\"]}", label, value);
	mr_auto_free char *escaped = mr_docker_escape(filter);
	mr_auto_free char *path = mr_str_format("/containers/json?all=1&filters=%s", escaped);
	const struct mr_docker_request request = { .method = "GET", .path = path };
	mr_auto_json json_t *list = NULL;
	json_t *own, *container;
	size_t i;
	int r = mr_docker_want_json(docker, &request, &list, err);

	if (r < 0)
		return r;
	if (!json_is_array(list)) /* it would be taken for an empty one */
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "containers: the engine's answer is no list of them");
	own = json_array();
	json_array_foreach (list, i, container) {
		const json_t *labels = json_object_get(container, "Labels");
		const char *whose = json_string_value(json_object_get(labels, label));

		/* The filter is the engine's; what is not ours is not ours whatever it says. */
		if (whose && strcmp(whose, value) == 0)
			json_array_append(own, container);
	}
	*ret = own;
	return 0;
}

static const char *label_of(const json_t *container, const char *name)
{
	const char *id =
		json_string_value(json_object_get(json_object_get(container, "Labels"), name));

	return is_id(id) ? id : NULL;
}

/* By its own id: a label could name another.  0; 1: others have; negative: it is still there. */
static int remove_container(struct mr_docker_sweep *sweep, const json_t *container)
{
	const char *id = json_string_value(json_object_get(container, "Id"));
	struct mr_error err = MR_ERROR_INIT;
	int r;

	if (sweep->dry_run)
		return 0;
	if (!id || strlen(id) != MR_DOCKER_ID_SIZE - 1 ||
	    id[strspn(id, "0123456789abcdef")] != '\0')
		r = mr_err(&err, MR_E_PROTO, EPROTO,
			   "the engine tells of a container without an Id");
	else
		r = mr_docker_lease_remove_container(sweep->docker, id, &err);
	if (r < 0) {
		mr_log_warn("%s; the next start tries again", err.msg);
		sweep->left++;
	}
	return r;
}

static void remove_folder(const struct mr_docker_sweep *sweep, const char *id)
{
	if (!sweep->dry_run)
		mr_docker_lease_remove_folder(id);
}

/* --- of runs --------------------------------------------------------------------------------------- */

static bool is_held_run(const struct mr_docker_sweep *sweep, const char *id)
{
	return (sweep->own_id && strcmp(id, sweep->own_id) == 0) ||
	       mr_lease_may_live(sweep->leases_fd, id);
}

static void judge_run(struct mr_docker_sweep *sweep, const char *id, const json_t *container)
{
	int r;

	if (is_held_run(sweep, id))
		return;
	r = remove_container(sweep, container);
	if (r < 0)
		return;
	remove_folder(sweep, id);
	if (r > 0)
		return; /* it has ended since the list was made */
	if (!sweep->dry_run)
		mr_log_notice("container of run %s, whose supervisor is dead, is removed", id);
	sweep->runs++;
}

/* --- prepared -------------------------------------------------------------------------------------- */

/* Hold it; or, where nothing is to be changed, see whether it could be held. */
static int hold(const struct mr_docker_sweep *sweep, const char *id,
		struct mr_docker_record *record, struct mr_error *err)
{
	bool held = false;
	int r;

	if (!sweep->dry_run)
		return mr_docker_record_hold(sweep->pool_fd, id, record, err);
	r = mr_docker_record_look(sweep->pool_fd, id, record, &held, err);
	if (r == 0 && held) {
		mr_docker_record_release(record);
		r = 1;
	}
	return r;
}

static void drop(const struct mr_docker_sweep *sweep, struct mr_docker_record *record)
{
	if (sweep->dry_run)
		mr_docker_record_release(record);
	else
		mr_docker_record_drop(sweep->pool_fd, record);
}

/* What one is counted as that goes; NULL: it stays. */
static size_t *verdict_on(struct mr_docker_sweep *sweep, const struct mr_docker_record *record,
			  const json_t *container)
{
	const char *state = json_string_value(json_object_get(container, "State"));

	if (record->state != MR_DOCKER_READY)
		return &sweep->prepared;
	if (!state || strcmp(state, "running") != 0 ||
	    mr_now_ns() >= mr_docker_record_number(record, "until_ns"))
		return &sweep->expired;
	return sweep->drain ? &sweep->drained : NULL;
}

/* Without holding it: who wants to take it is not to find it held. */
static bool may_stay(struct mr_docker_sweep *sweep, const char *id, const json_t *container)
{
	struct mr_docker_record record;
	struct mr_error ignored;
	bool held = false, stays;

	if (mr_docker_record_look(sweep->pool_fd, id, &record, &held, &ignored) != 0)
		return false;
	stays = held || !verdict_on(sweep, &record, container);
	mr_docker_record_release(&record);
	return stays;
}

static int judge_prepared(struct mr_docker_sweep *sweep, const char *id, const json_t *container,
			  struct mr_error *err)
{
	struct mr_docker_record record;
	size_t *count;
	int r;

	if (may_stay(sweep, id, container))
		return 0;
	r = hold(sweep, id, &record, err);
	if (r == 2 && remove_container(sweep, container) >= 0) {
		remove_folder(sweep, id);
		sweep->prepared++;
	}
	if (r != 0)
		return r < 0 ? r : 0;
	count = verdict_on(sweep, &record, container);
	if (count && remove_container(sweep, container) >= 0) {
		(*count)++;
		remove_folder(sweep, id);
		drop(sweep, &record);
	} else {
		mr_docker_record_release(&record);
	}
	return 0;
}

static bool has_container(const json_t *list, const char *id)
{
	json_t *container;
	size_t i;

	json_array_foreach (list, i, container) {
		const char *label = label_of(container, MR_DOCKER_LABEL_POOL);

		if (label && strcmp(label, id) == 0)
			return true;
	}
	return false;
}

/* One whose container is not there.  A container of an engine that is not asked now may be there:
 * it is let wait for its time; without a record it would be removed when that engine is asked. */
static int judge_record(struct mr_docker_sweep *sweep, const char *id, struct mr_error *err)
{
	struct mr_docker_record record;
	int r = hold(sweep, id, &record, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (record.state == MR_DOCKER_READY &&
	    mr_now_ns() < mr_docker_record_number(&record, "until_ns") &&
	    strcmp(mr_docker_record_text(&record, "engine"), mr_docker_name(sweep->docker)) != 0) {
		mr_docker_record_release(&record);
		return 0;
	}
	remove_folder(sweep, id);
	drop(sweep, &record);
	sweep->records++;
	return 0;
}

/* --- the whole ------------------------------------------------------------------------------------- */

int mr_docker_sweep_run(struct mr_docker_sweep *sweep, struct mr_error *err)
{
	mr_auto_free void *ids = NULL;
	char(*records)[MR_RUN_ID_SIZE] = NULL;
	mr_auto_json json_t *list = NULL;
	json_t *container;
	size_t n = 0, i;
	int r = mr_docker_ledger_list(sweep->pool_fd, &records, &n, err);

	ids = records;
	if (r == 0)
		r = mr_docker_sweep_list(sweep->docker, MR_DOCKER_LABEL_LEASE, sweep->label, &list,
					 err);
	json_array_foreach (list, i, container) {
		const char *run = label_of(container, MR_DOCKER_LABEL_RUN);
		const char *prepared = label_of(container, MR_DOCKER_LABEL_POOL);

		if (r == 0 && prepared)
			r = judge_prepared(sweep, prepared, container, err);
		else if (r == 0 && run)
			judge_run(sweep, run, container);
	}
	for (i = 0; r == 0 && i < n; i++)
		if (!has_container(list, records[i]))
			r = judge_record(sweep, records[i], err);
	return r;
}

/* --- from before the last boot --------------------------------------------------------------------- */

static bool is_old(const struct mr_docker_sweep *sweep, const json_t *container, int64_t boot_s)
{
	const char *lease = json_string_value(
		json_object_get(json_object_get(container, "Labels"), MR_DOCKER_LABEL_LEASE));
	const char *state = json_string_value(json_object_get(container, "State"));
	const json_int_t created = json_integer_value(json_object_get(container, "Created"));
	const size_t boot = strcspn(sweep->label, ":") + 1;

	return lease && state && created > 0 && created < boot_s &&
	       strncmp(lease, sweep->label, boot) != 0 && strcmp(state, "running") != 0 &&
	       strcmp(state, "paused") != 0;
}

int mr_docker_sweep_old(struct mr_docker_sweep *sweep, const char *machine, struct mr_error *err)
{
	const int64_t boot_s = (int64_t)(mr_clock_ns(MR_CLOCK_REAL) / 1000000000) -
			       (int64_t)(mr_now_ns() / 1000000000);
	mr_auto_json json_t *list = NULL;
	json_t *container;
	size_t i;
	int r;

	if (!machine[0] || !mr_docker_is_local(sweep->docker))
		return 0;
	r = mr_docker_sweep_list(sweep->docker, MR_DOCKER_LABEL_MACHINE, machine, &list, err);
	if (r < 0)
		return r;
	json_array_foreach (list, i, container) {
		if (is_old(sweep, container, boot_s) && remove_container(sweep, container) >= 0)
			sweep->old++;
	}
	return 0;
}

/* --- files ----------------------------------------------------------------------------------------- */

/* Has anybody that lives, or a record, to do with it? */
static bool is_wanted(const struct mr_docker_sweep *sweep, const char *id)
{
	return is_held_run(sweep, id) || faccessat(sweep->pool_fd, id, F_OK, 0) == 0 ||
	       errno != ENOENT;
}

size_t mr_docker_sweep_folders(const struct mr_docker_sweep *sweep)
{
	mr_auto_closedir DIR *dir = NULL;
	int fd = openat(sweep->leases_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	size_t n = 0;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		mr_close(fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		const char *id = entry->d_name + strlen(MR_LEASE_FILES_PREFIX);

		if (!mr_str_starts_with(entry->d_name, MR_LEASE_FILES_PREFIX) || !is_id(id) ||
		    is_wanted(sweep, id))
			continue;
		if (!sweep->dry_run)
			mr_docker_lease_remove_folder(id);
		n++;
	}
	return n;
}
