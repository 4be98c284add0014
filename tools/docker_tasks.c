/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker tasks
 */
#include "tools/docker_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_own.h"
#include "runtime/backend/docker_tidy.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"

/* --- images ------------------------------------------------------------------------------------- */

/* tar is one of the programs without which there is no Debian; its words are a list, not a line. */
static int start_tar(const char *folder, int out, pid_t *ret, struct mr_error *err)
{
	mr_auto_free char *directory = mr_str_format("--directory=%s", folder);
	char *argv[] = { (char *)(uintptr_t) "tar",
			 (char *)(uintptr_t) "--create",
			 (char *)(uintptr_t) "--numeric-owner",
			 (char *)(uintptr_t) "--one-file-system",
			 (char *)(uintptr_t) "--sort=name",
			 (char *)(uintptr_t) "--file=-",
			 directory,
			 (char *)(uintptr_t) ".",
			 NULL };
	char *envp[] = { (char *)(uintptr_t) "LC_ALL=C", NULL }; /* not TAR_OPTIONS */
	posix_spawn_file_actions_t actions;
	int errnum;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return mr_err(err, MR_E_SYS, ENOMEM, "start tar: %m");
	errnum = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (errnum == 0)
		errnum = posix_spawn(ret, "/bin/tar", &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	return errnum == 0 ? 0 : mr_err(err, MR_E_SYS, errnum, "start /bin/tar: %m");
}

/* Of a folder: in a file without a name. */
static int pack_folder(const char *folder, struct mr_error *err)
{
	mr_auto_close int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int status, r;
	pid_t pid = 0;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make a file in /var/tmp: %m");
	r = start_tar(folder, fd, &pid, err);
	if (r < 0)
		return r;
	status = mr_wait(pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return mr_err(err, MR_E_SYS, EIO,
			      "%s: tar could not pack all of it (see what it said above)", folder);
	return mr_take_fd(fd);
}

static int open_source(const char *source, struct mr_error *err)
{
	mr_auto_close int fd = open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_USAGE, errno, "%s: %m", source);
	if (S_ISDIR(st.st_mode))
		return pack_folder(source, err);
	if (!S_ISREG(st.st_mode))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: is neither a folder nor a tar", source);
	return mr_take_fd(fd);
}

static int build_image(struct mr_docker *docker, char *const *words, json_t **ret,
		       struct mr_error *err)
{
	mr_auto_close int fd = open_source(words[0], err);
	struct stat st;
	void *tar;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: %m", words[0]);
	if (st.st_size == 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: is empty", words[0]);
	tar = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (tar == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "map %s: %m", words[0]);
	r = mr_docker_own_build(docker, tar, (size_t)st.st_size, words[1], ret, err);
	munmap(tar, (size_t)st.st_size);
	return r;
}

static int list_images(struct mr_docker *docker, char *const *words, json_t **ret,
		       struct mr_error *err)
{
	(void)words;
	return mr_docker_own_list(docker, ret, err);
}

static int remove_images(struct mr_docker *docker, char *const *words, json_t **ret,
			 struct mr_error *err)
{
	mr_auto_json json_t *list = json_array();

	for (size_t i = 0; words[i]; i++) {
		json_t *removed = NULL;
		int r = mr_docker_own_remove(docker, words[i], &removed, err);

		if (r < 0 && i > 0)
			return mr_err_wrap(err, r, "the %zu before it are removed", i);
		if (r < 0)
			return r;
		json_array_append_new(list, removed);
	}
	*ret = mr_take_ptr(list);
	return 0;
}

/* --- the pool, and what is left ------------------------------------------------------------------- */

static bool is_dry(char *const *words)
{
	return words[0] && strcmp(words[0], "dry") == 0;
}

static int tell_status(struct mr_docker *docker, char *const *words, json_t **ret,
		       struct mr_error *err)
{
	(void)words;
	return mr_docker_tidy_status(docker, ret, err);
}

static int drain(struct mr_docker *docker, char *const *words, json_t **ret, struct mr_error *err)
{
	return mr_docker_tidy_drain(docker, is_dry(words), ret, err);
}

static int purge(struct mr_docker *docker, char *const *words, json_t **ret, struct mr_error *err)
{
	return mr_docker_tidy_purge(docker, is_dry(words), ret, err);
}

static int tell_resources(struct mr_docker *docker, char *const *words, json_t **ret,
			  struct mr_error *err)
{
	(void)words;
	return mr_docker_tidy_resources(docker, ret, err);
}

/* --- the table ---------------------------------------------------------------------------------- */

static const struct task {
	const char *name;
	size_t min_words;
	int (*run)(struct mr_docker *docker, char *const *words, json_t **ret,
		   struct mr_error *err);
} tasks[] = {
	{ "image-build", 1, build_image },  { "image-list", 0, list_images },
	{ "image-rm", 1, remove_images },   { "pool-status", 0, tell_status },
	{ "pool-drain", 0, drain },	    { "purge", 0, purge },
	{ "resources", 0, tell_resources },
};

static int run_task(const struct task *task, char *const *words, json_t **ret, struct mr_error *err)
{
	struct mr_docker *docker = NULL;
	int r = mr_docker_open(&docker, err);

	if (r == 0)
		r = task->run(docker, words, ret, err);
	mr_docker_free(docker);
	return r;
}

static int write_answer(json_t *answer, struct mr_error *err)
{
	int r = json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (r == 0 && fflush(stdout) == 0)
		return 0;
	return mr_err(err, MR_E_SYS, errno ? errno : EIO, "write the answer: %m");
}

int mr_docker_task(char *const *words, struct mr_error *err)
{
	mr_auto_json json_t *answer = NULL;
	struct mr_error why = MR_ERROR_INIT;
	json_t *done = NULL;
	int r;

	for (size_t i = 0; words[0] && i < N_ELEMENTS(tasks); i++) {
		size_t n = 0;

		while (words[n + 1])
			n++;
		if (strcmp(words[0], tasks[i].name) != 0 || n < tasks[i].min_words)
			continue;
		r = run_task(&tasks[i], words + 1, &done, &why);
		answer = r < 0 ? json_pack("{s:{s:i, s:i, s:s%}}", "error", "code", (int)why.code,
					   "errno", why.errnum, "message", why.msg, strlen(why.msg))
			       : json_pack("{s:o}", "done", done);
		if (!answer)
			return mr_err(err, MR_E_PROTO, EILSEQ, "the answer is no UTF-8");
		return write_answer(answer, err);
	}
	return mr_err(err, MR_E_USAGE, EINVAL, "is started by menace-run and menace");
}
