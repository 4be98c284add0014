/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, pool: taking
 */
#include "runtime/backend/docker_pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_key.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

bool mr_docker_pool_fits(const struct mr_docker_plan *plan, const char **ret_why)
{
	const struct mr_spec *spec = plan->spec;

	*ret_why = NULL;
	if (spec->sandbox_pool == 0)
		return false;
	if (!plan->init[0])
		*ret_why = "the engine is not on this host";
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].source)
			*ret_why = "what --ro and --rw show is not known beforehand";
	return *ret_why == NULL;
}

/* --- choosing ---------------------------------------------------------------------------------------- */

static bool suits(const struct mr_docker_record *record, const char *key)
{
	return record->state == MR_DOCKER_READY &&
	       strcmp(mr_docker_record_text(record, "key"), key) == 0 &&
	       mr_now_ns() + MR_PATIENCE_NS(DOCKER_POOL_MARGIN) <
		       mr_docker_record_number(record, "until_ns") &&
	       strlen(mr_docker_record_text(record, "container")) == MR_DOCKER_ID_SIZE - 1;
}

/* The first that waits, held and marked as used: 0; 1: there is none. */
static int claim(int pool_fd, const char *key, struct mr_docker_record *ret, struct mr_error *err)
{
	mr_auto_free void *ids = NULL;
	char(*list)[MR_RUN_ID_SIZE] = NULL;
	size_t n = 0;
	int r = mr_docker_ledger_list(pool_fd, &list, &n, err);

	ids = list;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct mr_docker_record record;

		r = mr_docker_record_hold(pool_fd, list[i], &record, err);
		if (r < 0)
			return r;
		if (r > 0) { /* somebody else's, or gone */
			r = 0;
			continue;
		}
		if (!suits(&record, key)) {
			mr_docker_record_release(&record);
			continue;
		}
		r = mr_docker_record_use(&record, err);
		if (r < 0) {
			mr_docker_record_release(&record);
			return r;
		}
		*ret = record;
		return 0;
	}
	return r < 0 ? r : 1;
}

/* --- making it fit ----------------------------------------------------------------------------------- */

/* What an engine warns of here is the host's network, which it judges without looking at the
 * container's.  One that leaves a limit out is found out by what it shows. */
static int update(const struct mr_docker_plan *plan, const struct mr_docker_prepared *p,
		  const json_t *limits, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/update", p->container);
	mr_auto_free char *body = json_dumps(limits, JSON_COMPACT);
	const struct mr_docker_request request = {
		.method = "POST", .path = path, .body = body, .body_size = body ? strlen(body) : 0
	};
	struct mr_docker_answer answer = { 0 };
	int r;

	mr_assert(body);
	r = mr_docker_want(plan->docker, &request, &answer, err);
	mr_docker_answer_deinit(&answer);
	return r;
}

/* As it has to be, and waiting: 0.  Judged by what the engine shows after the last change. */
static int verify(const struct mr_docker_plan *plan, const struct mr_docker_prepared *p,
		  struct mr_error *err)
{
	mr_auto_json json_t *shown = NULL;
	struct mr_docker_state state = { 0 };
	int r = mr_docker_make_inspect(plan->docker, p->container, &shown, err);

	if (r == 0)
		r = mr_docker_reply_state(shown, &state, err);
	if (r == 0 && !state.running)
		r = mr_err(err, MR_E_KERNEL, ESRCH, "the prepared container does not run");
	return r < 0 ? r : mr_docker_create_verify(p->asked, shown, err);
}

static int fit(const struct mr_docker_plan *plan, struct mr_docker_prepared *p,
	       struct mr_error *err)
{
	mr_auto_free char *snippets = NULL;
	mr_auto_json json_t *limits = NULL;
	struct mr_docker_create create;
	int r = 0;

	mr_docker_plan_request(plan, p->id, true, p->folder, &snippets, &create);
	create.uid = p->uid;
	create.gid = p->gid;
	p->asked = mr_docker_create_body(&create);
	limits = mr_docker_create_limits(p->asked);
	if (!json_equal(limits, json_object_get(p->record.facts, "limits")))
		r = update(plan, p, limits, err);
	return r < 0 ? r : verify(plan, p, err);
}

static void take_facts(struct mr_docker_prepared *p)
{
	memcpy(p->id, p->record.id, sizeof(p->id));
	snprintf(p->container, sizeof(p->container), "%s",
		 mr_docker_record_text(&p->record, "container"));
	p->uid = (unsigned int)mr_docker_record_number(&p->record, "uid");
	p->gid = (unsigned int)mr_docker_record_number(&p->record, "gid");
	p->folder = mr_docker_lease_folder_of(p->id);
}

int mr_docker_pool_take(const struct mr_docker_plan *plan, struct mr_docker_prepared *ret,
			struct mr_docker_pool_news *news, struct mr_error *err)
{
	char key[MR_HASH_HEX_SIZE];
	int r = mr_docker_key(plan, key, err);

	while (r == 0) {
		struct mr_docker_prepared p = { .record = { .fd = -1 }, .pool_fd = -1 };
		struct mr_error why = MR_ERROR_INIT;

		p.pool_fd = mr_docker_ledger_open(err);
		r = p.pool_fd < 0 ? p.pool_fd : claim(p.pool_fd, key, &p.record, err);
		if (r != 0) {
			mr_docker_prepared_deinit(&p);
			break;
		}
		take_facts(&p);
		if (p.folder && fit(plan, &p, &why) == 0) {
			news->used++;
			*ret = p;
			return 0;
		}
		news->unfit++;
		snprintf(news->why, sizeof(news->why), "%.199s", why.msg);
		/* An engine that is not there any more ends the run with its own words. */
		r = mr_docker_pool_discard(plan->docker, &p, err);
		mr_docker_prepared_deinit(&p);
	}
	news->missed += r > 0;
	return r;
}

int mr_docker_pool_discard(struct mr_docker *docker, struct mr_docker_prepared *p,
			   struct mr_error *err)
{
	int r = mr_docker_lease_remove(docker, p->id, err);

	if (r < 0)
		return r;
	mr_docker_lease_remove_folder(p->id);
	mr_docker_record_drop(p->pool_fd, &p->record);
	return 0;
}

void mr_docker_prepared_deinit(struct mr_docker_prepared *p)
{
	mr_docker_record_release(&p->record);
	p->pool_fd = mr_close(p->pool_fd);
	free(p->folder);
	p->folder = NULL;
	json_decref(p->asked);
	p->asked = NULL;
}
