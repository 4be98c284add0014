/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, key
 *
 * Not a list of what counts, which would miss what is added later: the whole request, with the few
 * things taken out that do not count.  They are made equal by asking for them equal: no folder, one
 * id, and ids of users that are drawn for each container are the same word here.
 */
#include "runtime/backend/docker_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

#define NO_FOLDER "/-" /* begins what lies in the container's own folder */

/* Ids that are given are kept; those that each container gets anew are not. */
static int set_ids(const struct mr_docker_plan *plan, struct mr_docker_create *create,
		   struct mr_error *err)
{
	const bool drawn = geteuid() == 0;
	int r = mr_docker_make_ids(plan->spec, true, &create->uid, &create->gid, err);

	if (drawn && plan->spec->sandbox_uid == MR_UNSET)
		create->uid = 0;
	if (drawn && plan->spec->sandbox_gid == MR_UNSET && plan->spec->sandbox_uid == MR_UNSET)
		create->gid = 0;
	return r;
}

/* A path says where a file was; which one is there now says its inode, and for a file the time of
 * its last change.  A folder's contents are shown as they are at any time. */
static void stamp_mount(json_t *mount)
{
	const char *source = json_string_value(json_object_get(mount, "Source"));
	struct stat st;
	mr_auto_free char *stamp = NULL;

	if (!source || mr_str_starts_with(source, NO_FOLDER "/"))
		return;
	if (stat(source, &st) < 0)
		return; /* the engine will say so */
	stamp = S_ISDIR(st.st_mode)
			? mr_str_format("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino)
			: mr_str_format("%ju:%ju:%jd.%09ld:%jd", (uintmax_t)st.st_dev,
					(uintmax_t)st.st_ino, (intmax_t)st.st_ctim.tv_sec,
					st.st_ctim.tv_nsec, (intmax_t)st.st_size);
	json_object_set_new(mount, "stamp", json_string(stamp));
}

int mr_docker_key(const struct mr_docker_plan *plan, char ret[MR_HASH_HEX_SIZE],
		  struct mr_error *err)
{
	struct mr_docker_create create;
	mr_auto_free char *snippets = NULL, *text = NULL;
	mr_auto_json json_t *body = NULL;
	json_t *mount;
	size_t i;
	int r;

	mr_docker_plan_request(plan, "", true, NO_FOLDER, &snippets, &create);
	r = set_ids(plan, &create, err);
	if (r < 0)
		return r;
	body = mr_docker_create_body(&create);
	mr_docker_create_drop_limits(body);
	json_array_foreach (mr_json_at(body, "HostConfig", "Mounts", NULL), i, mount)
		stamp_mount(mount);
	json_object_set_new(body, "engine", json_string(mr_docker_name(plan->docker)));
	text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
	mr_assert(text);
	mr_hash_hex(text, strlen(text), ret);
	return 0;
}
