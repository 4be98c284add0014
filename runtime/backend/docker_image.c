/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, image
 */
#include "runtime/backend/docker_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

#define TAR_BLOCK 512
#define SKELETON "menace/skeleton"

/* --- the tar ------------------------------------------------------------------------------------ */

struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], uname[32], gname[32], major[8], minor[8];
	char prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header of ustar is one block");

/* A folder, or a link where link is not NULL. */
static void add_entry(struct mr_buf *tar, const char *name, const char *link, unsigned int mode)
{
	struct tar_header h = { .type = link ? '2' : '5', .magic = "ustar", .version = "00" };
	unsigned int sum = 0;

	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.link, sizeof(h.link), "%s", link ? link : "");
	snprintf(h.mode, sizeof(h.mode), "%07o", mode);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0U);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0U);
	snprintf(h.size, sizeof(h.size), "%011o", 0U);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0U);
	memset(h.checksum, ' ', sizeof(h.checksum));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	mr_buf_addn(tar, (const char *)&h, sizeof(h));
}

char *mr_docker_image_skeleton(size_t *ret_size)
{
	static const char *const folders[] = { "dev",	      "etc", "proc", "run",
					       "run/snippet", "sys", "var",  "work" };
	static const char zeros[2 * TAR_BLOCK];
	struct mr_buf tar = { 0 };
	size_t n;
	const char *const *entries = mr_docker_system_entries(&n);

	for (size_t i = 0; i < N_ELEMENTS(folders); i++)
		add_entry(&tar, folders[i], NULL, 0755);
	add_entry(&tar, "tmp", NULL, 01777); /* what is mounted there gets its mode */
	add_entry(&tar, "var/tmp", "/tmp", 0777);
	for (size_t i = 0; i < n; i++) {
		mr_auto_free char *path = mr_str_format("/%s", entries[i]);
		char target[100];
		ssize_t len = readlink(path, target, sizeof(target) - 1);

		if (len > 0) {
			target[len] = '\0';
			add_entry(&tar, entries[i], target, 0777);
		} else if (access(path, F_OK) == 0) {
			add_entry(&tar, entries[i], NULL, 0755);
		}
	}
	mr_buf_addn(&tar, zeros, sizeof(zeros));
	*ret_size = tar.len;
	return tar.text;
}

/* --- the engine's ------------------------------------------------------------------------------- */

int mr_docker_image_inspect(struct mr_docker *docker, const char *name, json_t **ret,
			    struct mr_error *err)
{
	mr_auto_free char *escaped = mr_docker_escape(name);
	mr_auto_free char *path = mr_str_format("/images/%s/json", escaped);
	const struct mr_docker_request request = { .method = "GET", .path = path };
	struct mr_docker_answer answer = { 0 };
	int r = mr_docker_ask(docker, &request, &answer, err);

	if (r < 0)
		return r;
	if (answer.status == 404)
		r = 1;
	else if (answer.status != 200)
		r = mr_err(err, MR_E_PROTO, EPROTO, "image %s: the engine answers %ld", name,
			   answer.status);
	else
		r = mr_docker_reply_parse(answer.body, answer.size, "image", ret, err);
	mr_docker_answer_deinit(&answer);
	return r;
}

int mr_docker_image_id(const json_t *image, const char *name, char ret_id[MR_DOCKER_IMAGE_ID_SIZE],
		       struct mr_error *err)
{
	const char *id = json_string_value(json_object_get(image, "Id"));

	if (!id || strlen(id) < 64 || strlen(id) >= MR_DOCKER_IMAGE_ID_SIZE ||
	    id[strspn(id, "sha256:0123456789abcdef")] != '\0')
		return mr_err(err, MR_E_PROTO, EPROTO, "image %s: the engine's answer has no Id",
			      name);
	snprintf(ret_id, MR_DOCKER_IMAGE_ID_SIZE, "%s", id);
	return 0;
}

/* 0 and its id; 1: the engine has none of that name. */
static int look_up(struct mr_docker *docker, const char *name, char ret_id[MR_DOCKER_IMAGE_ID_SIZE],
		   struct mr_error *err)
{
	mr_auto_json json_t *image = NULL;
	int r = mr_docker_image_inspect(docker, name, &image, err);

	return r == 0 ? mr_docker_image_id(image, name, ret_id, err) : r;
}

/* Progress as lines of JSON under status 200; a failure is a member "error" of one. */
static int check_progress(const struct mr_docker_answer *answer, const char *name,
			  struct mr_error *err)
{
	const char *found = answer->body ? strstr(answer->body, "\"error\":\"") : NULL;

	if (!found)
		return 0;
	found += strlen("\"error\":\"");
	return mr_err(err, MR_E_KERNEL, ENOENT, "image %s: %.*s", name,
		      (int)(strcspn(found, "\"") < 300 ? strcspn(found, "\"") : 300), found);
}

int mr_docker_image_create(struct mr_docker *docker, const struct mr_docker_request *request,
			   const char *name, struct mr_error *err)
{
	struct mr_docker_answer answer = { 0 };
	int r = mr_docker_want(docker, request, &answer, err);

	if (r < 0)
		return mr_err_wrap(err, r, "image %s", name);
	r = check_progress(&answer, name, err);
	mr_docker_answer_deinit(&answer);
	return r;
}

static int pull(struct mr_docker *docker, const char *name, struct mr_error *err)
{
	mr_auto_free char *escaped = mr_docker_escape(name);
	/* Without a tag an engine would fetch all of them. */
	const char *slash = strrchr(name, '/');
	const bool tagged = strchr(slash ? slash : name, ':') || strchr(name, '@');
	mr_auto_free char *path = mr_str_format("/images/create?fromImage=%s%s", escaped,
						tagged ? "" : "&tag=latest");
	const struct mr_docker_request request = { .method = "POST",
						   .path = path,
						   .timeout_ms = MR_PATIENCE_MS(DOCKER_PULL) };

	return mr_docker_image_create(docker, &request, name, err);
}

static int find_named(struct mr_docker *docker, const struct mr_spec *spec,
		      char ret_id[MR_DOCKER_IMAGE_ID_SIZE], struct mr_error *err)
{
	const char *name = spec->sandbox_image;
	int r = look_up(docker, name, ret_id, err);

	if (r <= 0)
		return r;
	if (!spec->sandbox_pull)
		return mr_err(err, MR_E_KERNEL, ENOENT,
			      "image %s: the engine does not have it; --pull lets it be fetched",
			      name);
	r = pull(docker, name, err);
	if (r < 0)
		return r;
	r = look_up(docker, name, ret_id, err);
	return r > 0 ? mr_err(err, MR_E_KERNEL, ENOENT,
			      "image %s: the engine does not have it after it was fetched", name)
		     : r;
}

int mr_docker_image_find(struct mr_docker *docker, const struct mr_spec *spec,
			 char ret_id[MR_DOCKER_IMAGE_ID_SIZE], struct mr_error *err)
{
	mr_auto_free char *tar = NULL, *name = NULL, *path = NULL;
	char hash[MR_HASH_HEX_SIZE];
	struct mr_docker_request request = { .method = "POST",
					     .content_type = "application/x-tar",
					     .timeout_ms = MR_PATIENCE_MS(DOCKER_MAKE) };
	int r;

	if (spec->sandbox_image[0])
		return find_named(docker, spec, ret_id, err);
	request.body = tar = mr_docker_image_skeleton(&request.body_size);
	mr_hash_hex(tar, request.body_size, hash);
	name = mr_str_format(SKELETON ":%.16s", hash);
	r = look_up(docker, name, ret_id, err);
	if (r <= 0)
		return r;
	request.path = path =
		mr_str_format("/images/create?fromSrc=-&repo=" SKELETON
			      "&tag=%.16s&changes=LABEL%%20" MR_DOCKER_LABEL_IMAGE "%%3Dskeleton",
			      hash);
	r = mr_docker_image_create(docker, &request, name, err);
	if (r == 0)
		r = look_up(docker, name, ret_id, err);
	return r > 0 ? mr_err(err, MR_E_PROTO, ENOENT,
			      "image %s: the engine does not have it after it was given it", name)
		     : r;
}
