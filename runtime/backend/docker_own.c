/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, own images
 */
#include "runtime/backend/docker_own.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_image.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789._-/"
#define TAG_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define NAME_MAX_BYTES 200

/* "NAME[:TAG]"; a registry with a port in front is none of ours. */
static int check_name(const char *name, struct mr_error *err)
{
	const size_t n = strspn(name, NAME_LETTERS);
	const char *tag = name[n] == ':' ? name + n + 1 : NULL;

	if (n > 0 && n <= NAME_MAX_BYTES && (name[n] == '\0' || tag) && !strchr("./-_", name[0]) &&
	    !strchr("./-_", name[n - 1]) && !strstr(name, "//") && !strstr(name, "..") &&
	    !strstr(name, "/.") &&
	    (!tag || (*tag && strlen(tag) <= 128 && tag[strspn(tag, TAG_LETTERS)] == '\0' &&
		      !strchr(".-", *tag))))
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "\"%.200s\" is no name of an image; accepted: small letters, digits and "
		      "\"._-/\", then \":TAG\" or nothing",
		      name);
}

static const char *kind_of(const json_t *labels)
{
	return json_string_value(json_object_get(labels, MR_DOCKER_LABEL_IMAGE));
}

/* 0: ours; 1: there is none. */
static int find_own(struct mr_docker *docker, const char *name, json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *image = NULL;
	int r = mr_docker_image_inspect(docker, name, &image, err);

	if (r != 0)
		return r;
	if (!kind_of(mr_json_at(image, "Config", "Labels", NULL)))
		return mr_err(err, MR_E_USAGE, EPERM,
			      "image %s is not one that menace built (it has no "
			      "label " MR_DOCKER_LABEL_IMAGE "): it stays as it is",
			      name);
	*ret = mr_take_ptr(image);
	return 0;
}

static int import(struct mr_docker *docker, const char *tar, size_t size, const char *name,
		  struct mr_error *err)
{
	const char *colon = strchr(name, ':');
	mr_auto_free char *repo = mr_str_ndup(name, colon ? (size_t)(colon - name) : strlen(name));
	mr_auto_free char *escaped = mr_docker_escape(repo);
	mr_auto_free char *path = mr_str_format(
		"/images/create?fromSrc=-&repo=%s&tag=%s&changes=LABEL%%20" MR_DOCKER_LABEL_IMAGE
		"%%3Dbuilt",
		escaped, colon ? colon + 1 : "latest");
	const struct mr_docker_request request = { .method = "POST",
						   .path = path,
						   .body = tar,
						   .body_size = size,
						   .content_type = "application/x-tar",
						   .timeout_ms = MR_PATIENCE_MS(DOCKER_IMPORT) };

	return mr_docker_image_create(docker, &request, name, err);
}

int mr_docker_own_build(struct mr_docker *docker, const char *tar, size_t size, const char *name,
			json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *before = NULL, *after = NULL;
	char hash[MR_HASH_HEX_SIZE], id[MR_DOCKER_IMAGE_ID_SIZE];
	mr_auto_free char *made = NULL;
	int r;

	if (!name) {
		mr_hash_hex(tar, size, hash);
		name = made = mr_str_format("menace/image:%.16s", hash);
	}
	r = check_name(name, err);
	if (r == 0)
		r = find_own(docker, name, &before, err);
	if (r >= 0)
		r = import(docker, tar, size, name, err);
	if (r == 0)
		r = find_own(docker, name, &after, err);
	if (r > 0)
		return mr_err(err, MR_E_PROTO, ENOENT,
			      "image %s: the engine does not have it after it was given it", name);
	if (r == 0)
		r = mr_docker_image_id(after, name, id, err);
	if (r < 0)
		return r;
	*ret = json_pack("{s:s, s:s, s:O?}", "id", id, "name", name, "bytes",
			 json_object_get(after, "Size"));
	return 0;
}

int mr_docker_own_list(struct mr_docker *docker, json_t **ret, struct mr_error *err)
{
	const struct mr_docker_request request = {
		.method = "GET",
		.path = "/images/json?filters=%7B%22label%22%3A%5B%22" MR_DOCKER_LABEL_IMAGE
			"%22%5D%7D",
	};
	mr_auto_json json_t *images = NULL;
	json_t *list, *image;
	size_t i;
	int r = mr_docker_want_json(docker, &request, &images, err);

	if (r < 0)
		return r;
	if (!json_is_array(images))
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "images: the engine's answer is no list of them");
	list = json_array();
	json_array_foreach (images, i, image) {
		const char *kind = kind_of(json_object_get(image, "Labels"));

		if (kind) /* the filter is the engine's */
			json_array_append_new(list,
					      json_pack("{s:O?, s:O?, s:s, s:O?, s:O?}", "id",
							json_object_get(image, "Id"), "names",
							json_object_get(image, "RepoTags"), "kind",
							kind, "bytes",
							json_object_get(image, "Size"), "created",
							json_object_get(image, "Created")));
	}
	*ret = list;
	return 0;
}

/* By its id: a name may be another image's by now. */
int mr_docker_own_remove(struct mr_docker *docker, const char *name, json_t **ret,
			 struct mr_error *err)
{
	mr_auto_json json_t *image = NULL;
	char id[MR_DOCKER_IMAGE_ID_SIZE];
	mr_auto_free char *path = NULL;
	struct mr_docker_request request = { .method = "DELETE" };
	struct mr_docker_answer answer = { 0 };
	int r = find_own(docker, name, &image, err);

	if (r > 0)
		return mr_err(err, MR_E_USAGE, ENOENT, "image %s: the engine does not have it",
			      name);
	if (r == 0)
		r = mr_docker_image_id(image, name, id, err);
	if (r < 0)
		return r;
	request.path = path = mr_str_format("/images/%s", id);
	r = mr_docker_want(docker, &request, &answer, err);
	mr_docker_answer_deinit(&answer);
	if (r < 0)
		return mr_err_wrap(err, r, "image %s", name);
	*ret = json_pack("{s:s, s:s}", "id", id, "name", name);
	return 0;
}
