/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, make
 */
#include "runtime/backend/docker_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_mounts.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/launch/steps.h"

#define SNIPPETS "snippet" /* in a container's folder */

/* --- plan ---------------------------------------------------------------------------------------- */

int mr_docker_plan_make(struct mr_docker *docker, const struct mr_spec *spec, const char *label,
			struct mr_docker_plan *ret, struct mr_error *err)
{
	struct mr_docker_plan plan = { .docker = docker, .spec = spec, .label = label };
	int r = 0;

	mr_docker_lease_machine(plan.machine);
	if (mr_docker_is_local(docker))
		r = mr_sibling_find("menace-init", plan.init, err);
	if (r == 0)
		*ret = plan;
	return r;
}

void mr_docker_plan_request(const struct mr_docker_plan *plan, const char *id, bool prepared,
			    const char *folder, char **snippet, struct mr_docker_create *ret)
{
	const struct mr_spec *spec = plan->spec;
	const uint64_t idle = spec->sandbox_pool_idle_ms, life = spec->sandbox_pool_lifetime_ms;
	const bool local = plan->init[0];

	*snippet = mr_str_format("%s/" SNIPPETS, folder);
	*ret = (struct mr_docker_create){
		.spec = spec,
		.run_id = id,
		.lease = plan->label,
		.machine = plan->machine[0] ? plan->machine : NULL,
		.image = plan->image,
		.host_system = !spec->sandbox_image[0],
		.forces_ro = mr_docker_mounts_forces(plan->docker),
		.init_file = local ? plan->init : NULL,
		.pool_id = prepared ? id : NULL,
		.wait_ms = !prepared	 ? MR_PATIENCE_MS(DOCKER_MAKE)
			   : idle < life ? idle
					 : life,
		.snippet_folder = local ? *snippet : NULL,
		.etc_folder = folder,
	};
}

/* --- what cannot be asked for --------------------------------------------------------------------- */

/* A remote engine has none of this host's files. */
static int check_files(const struct mr_docker_plan *plan, const struct mr_child *child,
		       struct mr_error *err)
{
	const struct mr_spec *spec = plan->spec;
	bool needs = !spec->sandbox_image[0] || child->snippet_name;

	for (size_t i = 0; i < spec->n_mounts; i++)
		needs |= spec->mounts[i].source != NULL;
	if (!needs || mr_docker_is_local(plan->docker))
		return 0;
	return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
		      "the engine at %.100s is reached by TCP and has no files of this host: "
		      "without sandbox.image, with a snippet or with --ro and --rw it cannot do it",
		      mr_docker_name(plan->docker));
}

/* The API is JSON, which has no other bytes. */
static int check_text(const char *text, const char *what, struct mr_error *err)
{
	if (!text || mr_str_utf8_valid(text, strlen(text)))
		return 0;
	return mr_err(err, MR_E_KERNEL, EILSEQ,
		      "%s: the Docker API has no way to hand over what is not UTF-8", what);
}

static int check_texts(const struct mr_spec *spec, const struct mr_child *child,
		       struct mr_error *err)
{
	int r = check_text(spec->sandbox_cwd, "working directory", err);

	if (r == 0)
		r = check_text(child->snippet_name, "snippet", err);
	for (size_t i = 0; r == 0 && child->argv && child->argv[i]; i++)
		r = check_text(child->argv[i], "argument", err);
	for (size_t i = 0; r == 0 && child->envp && child->envp[i]; i++)
		r = check_text(child->envp[i], "environment", err);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		r = check_text(spec->mounts[i].source, "mount", err);
		if (r == 0)
			r = check_text(spec->mounts[i].dest, "mount", err);
	}
	return r;
}

int mr_docker_make_check(const struct mr_docker_plan *plan, const struct mr_child *child,
			 struct mr_error *err)
{
	int r = check_texts(plan->spec, child, err);

	return r < 0 ? r : check_files(plan, child, err);
}

/* --- files --------------------------------------------------------------------------------------- */

/* Ids of runs end below 2^31 (runtime/launch/idmap.c); these are behind them. */
static int choose_slot(unsigned int *ret, struct mr_error *err)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return mr_err(err, MR_E_SYS, errno, "random bytes: %m");
	*ret = (1U << 28) - (unsigned int)getpid() * 64 + (random & 0xffffff);
	return 0;
}

int mr_docker_make_ids(const struct mr_spec *spec, bool prepared, unsigned int *ret_uid,
		       unsigned int *ret_gid, struct mr_error *err)
{
	struct mr_ids ids = { 0 };
	unsigned int slot = 0;
	int r = prepared ? choose_slot(&slot, err) : 0;

	if (r == 0)
		r = mr_launch_ids(spec, slot, &ids, err);
	if (r < 0)
		return r;
	*ret_uid = ids.userns && spec->sandbox_uid == MR_UNSET ? geteuid() : ids.uid;
	*ret_gid = ids.userns && spec->sandbox_gid == MR_UNSET ? getegid() : ids.gid;
	return 0;
}

static int write_file(const char *folder, const char *name, const char *text, size_t size,
		      mode_t mode, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s", folder, name);
	mr_auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : mr_write_full(fd, text, size);

	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write %s: %m", path) : 0;
}

static int make_snippets(const char *folder, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/" SNIPPETS, folder);

	if (mkdir(path, 0700) < 0 || chmod(path, 0755) < 0)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", path);
	return 0;
}

int mr_docker_make_files(const char *folder, const struct mr_spec *spec, unsigned int uid,
			 unsigned int gid, struct mr_error *err)
{
	static const char *const names[] = { MR_DOCKER_ETC };
	char *const texts[N_ELEMENTS(names)] = {
		mr_str_format("root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
			      "sandbox:x:%u:%u:sandbox:/work:/bin/sh\n"
			      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			      uid, gid),
		mr_str_format("root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n", gid),
		mr_str_format("127.0.0.1 localhost %s\n::1 localhost ip6-localhost\n",
			      spec->sandbox_hostname),
		mr_str_dup("# no network\n"),
		mr_str_dup("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
			   "services: files\nprotocols: files\n"),
	};
	int r = make_snippets(folder, err);

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		if (r == 0)
			r = write_file(folder, names[i], texts[i], strlen(texts[i]), 0444, err);
		free(texts[i]);
	}
	return r;
}

int mr_docker_make_snippet(const char *folder, const struct mr_child *child, struct mr_error *err)
{
	mr_auto_free char *snippets = mr_str_format("%s/" SNIPPETS, folder);

	return child->snippet_name ? write_file(snippets, child->snippet_name, child->snippet_text,
						child->snippet_size, 0555, err)
				   : 0;
}

/* --- the engine's -------------------------------------------------------------------------------- */

int mr_docker_make_inspect(struct mr_docker *docker, const char *id, json_t **ret,
			   struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/json", id);
	const struct mr_docker_request request = { .method = "GET", .path = path };

	return mr_docker_want_json(docker, &request, ret, err);
}

int mr_docker_make_post(struct mr_docker *docker, const char *id, const char *verb,
			uint64_t timeout_ms, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/containers/%s/%s", id, verb);
	const struct mr_docker_request request = { .method = "POST",
						   .path = path,
						   .timeout_ms = timeout_ms };
	struct mr_docker_answer answer = { 0 };
	int r = mr_docker_want(docker, &request, &answer, err);

	mr_docker_answer_deinit(&answer);
	return r;
}

static int create(struct mr_docker *docker, const char *name, const json_t *body,
		  char ret_id[MR_DOCKER_ID_SIZE], struct mr_error *err)
{
	mr_auto_free char *path =
		mr_str_format("/containers/create?name=" MR_DOCKER_NAME_PREFIX "%s", name);
	mr_auto_free char *text = json_dumps(body, JSON_COMPACT);
	mr_auto_json json_t *reply = NULL;
	struct mr_docker_request request = { .method = "POST",
					     .path = path,
					     .body = text,
					     .timeout_ms = MR_PATIENCE_MS(DOCKER_MAKE) };
	char warnings[300];
	int r;

	mr_assert(text);
	request.body_size = strlen(text);
	r = mr_docker_want_json(docker, &request, &reply, err);
	if (r == 0)
		r = mr_docker_reply_created(reply, ret_id, warnings, sizeof(warnings), err);
	/* What an engine warns of is a limit that it leaves out. */
	if (r == 0 && warnings[0])
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "the engine would leave something out: %s", warnings);
	return r;
}

int mr_docker_make_container(struct mr_docker *docker, const char *name, const json_t *body,
			     char ret_id[MR_DOCKER_ID_SIZE], struct mr_error *err)
{
	mr_auto_json json_t *shown = NULL;
	int r = mr_docker_mounts_check(body, err);

	if (r == 0)
		r = create(docker, name, body, ret_id, err);
	if (r == 0)
		r = mr_docker_make_inspect(docker, ret_id, &shown, err);
	return r < 0 ? r : mr_docker_create_verify(body, shown, err);
}
