/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, tidy
 */
#include "runtime/backend/docker_tidy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_ledger.h"
#include "runtime/backend/docker_own.h"
#include "runtime/backend/docker_sweep.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"

struct place {
	int leases_fd, pool_fd;
	char label[MR_DOCKER_LEASE_LABEL_SIZE];
};

static int open_place(struct place *ret, struct mr_error *err)
{
	struct place place = { .pool_fd = -1 };
	int r;

	place.leases_fd = mr_lease_open_dir(err);
	if (place.leases_fd < 0)
		return place.leases_fd;
	place.pool_fd = mr_docker_ledger_open(err);
	r = place.pool_fd < 0 ? place.pool_fd
			      : mr_docker_lease_label(place.leases_fd, place.label, err);
	*ret = place;
	return r < 0 ? r : 0;
}

static void close_place(struct place *place)
{
	mr_close(place->leases_fd);
	mr_close(place->pool_fd);
}

/* --- status ------------------------------------------------------------------------------------------ */

static const char *phase_name(enum mr_docker_phase phase)
{
	return phase == MR_DOCKER_MAKING ? "making" : phase == MR_DOCKER_READY ? "ready" : "used";
}

static json_t *record_json(const struct mr_docker_record *record, bool held, const json_t *list)
{
	const uint64_t now = mr_now_ns(), ready = mr_docker_record_number(record, "ready_ns"),
		       until = mr_docker_record_number(record, "until_ns");
	const bool ready_now = record->state == MR_DOCKER_READY;
	const json_t *shown = NULL, *container;
	size_t i;

	json_array_foreach (list, i, container) {
		const char *id =
			json_string_value(json_object_get(json_object_get(container, "Labels"),
							  MR_DOCKER_LABEL_POOL));

		if (id && strcmp(id, record->id) == 0)
			shown = json_object_get(container, "State");
	}
	return json_pack("{s:s, s:s, s:b, s:O?, s:O?, s:O?, s:O?, s:o, s:o, s:O?}", "id",
			 record->id, "state", phase_name(record->state), "held", held, "engine",
			 json_object_get(record->facts, "engine"), "container",
			 json_object_get(record->facts, "container"), "image",
			 json_object_get(record->facts, "image"), "key",
			 json_object_get(record->facts, "key"), "age_ms",
			 ready_now ? json_integer((json_int_t)((now - ready) / 1000000))
				   : json_null(),
			 "left_ms",
			 ready_now
				 ? json_integer(until > now ? (json_int_t)((until - now) / 1000000)
							    : 0)
				 : json_null(),
			 "engine_state", shown);
}

static int list_records(const struct place *place, const json_t *containers, json_t *ret,
			struct mr_error *err)
{
	mr_auto_free void *ids = NULL;
	char(*list)[MR_RUN_ID_SIZE] = NULL;
	size_t n = 0;
	int r = mr_docker_ledger_list(place->pool_fd, &list, &n, err);

	ids = list;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct mr_docker_record record;
		bool held;

		r = mr_docker_record_look(place->pool_fd, list[i], &record, &held, err);
		if (r != 0)
			continue;
		json_array_append_new(ret, record_json(&record, held, containers));
		mr_docker_record_release(&record);
	}
	return r < 0 ? r : 0;
}

static int status(const struct place *place, struct mr_docker *docker, json_t **ret,
		  struct mr_error *err)
{
	mr_auto_json json_t *containers = NULL, *records = json_array();
	struct mr_docker_counters counters = { .fd = -1 };
	struct mr_error why = MR_ERROR_INIT;
	int r = mr_docker_sweep_list(docker, MR_DOCKER_LABEL_LEASE, place->label, &containers,
				     &why);
	const bool heard = r == 0;

	r = list_records(place, containers, records, err);
	if (r == 0)
		r = mr_docker_counters_open(place->pool_fd, &counters, err);
	if (r < 0)
		return r;
	*ret = json_pack("{s:s, s:s?, s:O, s:O}", "engine", mr_docker_name(docker), "engine_error",
			 heard ? NULL : why.msg, "containers", records, "counters",
			 counters.values);
	return mr_docker_counters_close(&counters, err);
}

int mr_docker_tidy_status(struct mr_docker *docker, json_t **ret, struct mr_error *err)
{
	struct place place = { -1, -1, "" };
	int r = open_place(&place, err);

	if (r == 0)
		r = status(&place, docker, ret, err);
	close_place(&place);
	return r;
}

/* --- removing ---------------------------------------------------------------------------------------- */

static json_t *swept_json(const struct mr_docker_sweep *sweep, size_t folders)
{
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "engine",
			 mr_docker_name(sweep->docker), "runs", (int)sweep->runs, "prepared",
			 (int)sweep->prepared, "expired", (int)sweep->expired, "drained",
			 (int)sweep->drained, "old", (int)sweep->old, "records",
			 (int)sweep->records, "folders", (int)folders, "left", (int)sweep->left);
}

static void count_swept(const struct mr_docker_sweep *sweep)
{
	struct mr_docker_counters counters;
	struct mr_error err;

	if (sweep->dry_run || mr_docker_counters_open(sweep->pool_fd, &counters, &err) < 0)
		return;
	mr_docker_counters_add(&counters, "removed_stale",
			       (int64_t)(sweep->runs + sweep->prepared + sweep->old));
	mr_docker_counters_add(&counters, "removed_expired", (int64_t)sweep->expired);
	mr_docker_counters_add(&counters, "removed_drained", (int64_t)sweep->drained);
	mr_docker_counters_add(&counters, "removal_failures", (int64_t)sweep->left);
	mr_docker_counters_close(&counters, &err); /* what was done is done */
}

static int sweep_place(struct mr_docker *docker, const struct place *place, bool dry_run,
		       bool drain, json_t **ret, struct mr_error *err)
{
	struct mr_docker_sweep sweep = { .docker = docker,
					 .leases_fd = place->leases_fd,
					 .pool_fd = place->pool_fd,
					 .label = place->label,
					 .dry_run = dry_run,
					 .drain = drain };
	char machine[MR_DOCKER_LEASE_LABEL_SIZE];
	int r = mr_docker_sweep_run(&sweep, err);

	mr_docker_lease_machine(machine);
	if (r == 0 && !drain)
		r = mr_docker_sweep_old(&sweep, machine, err);
	if (r < 0)
		return r;
	count_swept(&sweep);
	*ret = swept_json(&sweep, drain ? 0 : mr_docker_sweep_folders(&sweep));
	return 0;
}

static int sweep(struct mr_docker *docker, bool dry_run, bool drain, json_t **ret,
		 struct mr_error *err)
{
	struct place place = { -1, -1, "" };
	int r = open_place(&place, err);

	if (r == 0)
		r = sweep_place(docker, &place, dry_run, drain, ret, err);
	close_place(&place);
	return r;
}

int mr_docker_tidy_drain(struct mr_docker *docker, bool dry_run, json_t **ret, struct mr_error *err)
{
	return sweep(docker, dry_run, true, ret, err);
}

int mr_docker_tidy_purge(struct mr_docker *docker, bool dry_run, json_t **ret, struct mr_error *err)
{
	return sweep(docker, dry_run, false, ret, err);
}

/* --- resources --------------------------------------------------------------------------------------- */

static json_t *disk_json(const json_t *info)
{
	const char *root = json_string_value(json_object_get(info, "DockerRootDir"));
	struct statvfs st;

	/* Of an engine elsewhere the path is none of this host's. */
	if (!root || statvfs(root, &st) < 0)
		return json_pack("{s:s?, s:n, s:n}", "folder", root, "free_bytes", "total_bytes");
	return json_pack("{s:s, s:I, s:I}", "folder", root, "free_bytes",
			 (json_int_t)st.f_bavail * (json_int_t)st.f_frsize, "total_bytes",
			 (json_int_t)st.f_blocks * (json_int_t)st.f_frsize);
}

static json_int_t bytes_of(const json_t *images)
{
	json_int_t sum = 0;
	const json_t *image;
	size_t i;

	json_array_foreach (images, i, image)
		sum += json_integer_value(json_object_get(image, "bytes"));
	return sum;
}

static int resources(struct mr_docker *docker, const struct place *place, json_t **ret,
		     struct mr_error *err)
{
	const struct mr_docker_request request = { .method = "GET", .path = "/info" };
	mr_auto_json json_t *info = NULL, *images = NULL, *containers = NULL, *stale = NULL;
	int r = mr_docker_want_json(docker, &request, &info, err);

	if (r == 0)
		r = mr_docker_own_list(docker, &images, err);
	if (r == 0)
		r = mr_docker_sweep_list(docker, MR_DOCKER_LABEL_LEASE, place->label, &containers,
					 err);
	if (r == 0)
		r = sweep_place(docker, place, true, false, &stale, err);
	if (r < 0)
		return r;
	*ret = json_pack("{s:s, s:o, s:O?, s:i, s:i, s:I, s:O}", "engine", mr_docker_name(docker),
			 "disk", disk_json(info), "memory_bytes", json_object_get(info, "MemTotal"),
			 "containers", (int)json_array_size(containers), "images",
			 (int)json_array_size(images), "image_bytes", bytes_of(images), "stale",
			 stale);
	return 0;
}

int mr_docker_tidy_resources(struct mr_docker *docker, json_t **ret, struct mr_error *err)
{
	struct place place = { -1, -1, "" };
	int r = open_place(&place, err);

	if (r == 0)
		r = resources(docker, &place, ret, err);
	close_place(&place);
	return r;
}
