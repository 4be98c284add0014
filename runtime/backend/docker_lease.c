/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, lease
 */
#include "runtime/backend/docker_lease.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"

#define KEEPER_TRIES 20
#define KEEPER_PAUSE_MS 500
#define ID_LETTERS "0123456789abcdefghijklmnopqrstuvwxyz"

/* --- the folder of files -------------------------------------------------------------------------- */

static char *folder_of(const char *run_id)
{
	char leases[256];

	if (mr_lease_folder(leases, sizeof(leases)) < 0)
		return NULL;
	return mr_str_format("%s/../docker-%s", leases, run_id);
}

static int make_folder(struct mr_docker_lease *lease, struct mr_error *err)
{
	lease->folder = folder_of(lease->run_id);
	if (!lease->folder || mkdir(lease->folder, 0711) < 0)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m",
			      lease->folder ? lease->folder : "of the container's files");
	return 0;
}

static void remove_folder(const char *run_id)
{
	static const char *const files[] = { MR_DOCKER_ETC, "snippet" };
	mr_auto_free char *folder = folder_of(run_id);

	if (!folder)
		return;
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		mr_auto_free char *path = mr_str_format("%s/%s", folder, files[i]);

		if (unlink(path) < 0 && errno != ENOENT)
			mr_log_warn("remove %s: %m", path);
	}
	if (rmdir(folder) < 0 && errno != ENOENT)
		mr_log_warn("remove %s: %m", folder);
}

/* --- removal --------------------------------------------------------------------------------------- */

int mr_docker_lease_remove(struct mr_docker *docker, const char *run_id, struct mr_error *err)
{
	mr_auto_free char *path =
		mr_str_format("/containers/" MR_DOCKER_NAME_PREFIX "%s?force=1&v=1", run_id);
	const struct mr_docker_request request = { .method = "DELETE", .path = path };
	struct mr_docker_answer answer = { 0 };
	char message[200];
	int r = mr_docker_ask(docker, &request, &answer, err);

	if (r < 0)
		return r;
	/* 409: somebody, it may be we, is removing it already. */
	r = answer.status == 404 || answer.status == 409;
	if (r == 0 && answer.status != 204 && answer.status != 200) {
		mr_docker_reply_message(answer.body, answer.size, message, sizeof(message));
		r = mr_err(err, MR_E_KERNEL, EBUSY,
			   "remove container " MR_DOCKER_NAME_PREFIX "%s: %ld %s", run_id,
			   answer.status, message);
	}
	mr_docker_answer_deinit(&answer);
	return r;
}

/* --- the keeper ------------------------------------------------------------------------------------ */

/* A container may be in the making when its supervisor ends: one look is not enough. */
static void clean_up_after(const char *run_id)
{
	const struct timespec pause = { .tv_nsec = KEEPER_PAUSE_MS * 1000000L };
	struct mr_docker *docker = NULL;
	struct mr_error err = MR_ERROR_INIT;
	int good = 0;

	if (mr_docker_open(&docker, &err) < 0)
		return;
	for (int i = 0; i < KEEPER_TRIES && good < 2; i++) {
		good = mr_docker_lease_remove(docker, run_id, &err) >= 0 ? good + 1 : 0;
		if (good < 2)
			nanosleep(&pause, NULL);
	}
	if (good < 2)
		mr_log_error("%s; the next start removes it", err.msg);
	mr_docker_free(docker);
	remove_folder(run_id);
}

_Noreturn static void keep(int fd, const char *run_id)
{
	char goodbye;
	ssize_t n;

	do
		n = read(fd, &goodbye, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		clean_up_after(run_id);
	_exit(0);
}

/* Of our descriptors it holds the lease, for as long as it has to do, and where messages go. */
static void become_keeper(const struct mr_docker_lease *lease, int fd)
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	const int kept[] = { STDERR_FILENO, fd, lease->fd, lease->dir_fd };

	setsid();
	prctl(PR_SET_NAME, "menace-keeper");
	for (size_t i = 0; i < N_ELEMENTS(taken); i++)
		signal(taken[i], SIG_IGN);
	for (int i = 0; i < 64; i++) {
		bool keep_it = false;

		for (size_t j = 0; j < N_ELEMENTS(kept); j++)
			keep_it |= kept[j] == i;
		if (!keep_it)
			close(i);
	}
}

static int start_keeper(struct mr_docker_lease *lease, struct mr_error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe: %m");
	lease->keeper = fork();
	if (lease->keeper == 0) {
		become_keeper(lease, fds[0]);
		keep(fds[0], lease->run_id);
	}
	mr_close(fds[0]);
	if (lease->keeper < 0) {
		lease->keeper = 0;
		mr_close(fds[1]);
		return mr_err(err, MR_E_SYS, errno, "fork: %m");
	}
	lease->keeper_fd = fds[1];
	return 0;
}

/* --- lease ----------------------------------------------------------------------------------------- */

static int make_label(struct mr_docker_lease *lease, struct mr_error *err)
{
	char boot[64];
	struct stat st;
	ssize_t n =
		mr_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));

	if (n < 0 || fstat(lease->dir_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, n < 0 ? (int)-n : errno, "identity of the leases: %m");
	boot[strcspn(boot, "\n")] = '\0';
	snprintf(lease->label, sizeof(lease->label), "%s:%ju:%ju", boot, (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	return 0;
}

static int take_lease(struct mr_docker_lease *lease, const struct mr_spec *spec,
		      struct mr_error *err)
{
	const struct mr_lease_note note = { spec->argv.n ? spec->argv.v[0] : NULL, spec->name,
					    mr_now_ns() };
	struct mr_cgroup_host *host = NULL;
	int r;

	lease->dir_fd = mr_lease_open_dir(err);
	if (lease->dir_fd < 0)
		return lease->dir_fd;
	r = mr_cgroup_detect(&host, err);
	if (r < 0)
		return r;
	lease->fd = mr_lease_take(lease->dir_fd, lease->run_id, host, &note, err);
	mr_cgroup_host_free(host);
	return lease->fd < 0 ? lease->fd : make_label(lease, err);
}

int mr_docker_lease_open(const char *run_id, const struct mr_spec *spec,
			 struct mr_docker_lease *ret, struct mr_error *err)
{
	struct mr_docker_lease lease = { .dir_fd = -1, .fd = -1, .keeper_fd = -1 };
	int r;

	memcpy(lease.run_id, run_id, MR_RUN_ID_SIZE);
	r = take_lease(&lease, spec, err);
	if (r == 0)
		r = make_folder(&lease, err);
	if (r == 0)
		r = start_keeper(&lease, err);
	if (r < 0) {
		mr_docker_lease_close(&lease);
		return r;
	}
	*ret = lease;
	return 0;
}

void mr_docker_lease_abandon(struct mr_docker_lease *lease)
{
	lease->keeper_fd = mr_close(lease->keeper_fd); /* without a goodbye */
	lease->keeper = 0;
	lease->dir_fd = mr_close(lease->dir_fd);
	lease->fd = mr_close(lease->fd); /* the keeper has it, too */
	free(lease->folder);
	lease->folder = NULL;
}

void mr_docker_lease_close(struct mr_docker_lease *lease)
{
	if (lease->folder)
		remove_folder(lease->run_id);
	free(lease->folder);
	lease->folder = NULL;
	if (lease->keeper > 0) {
		if (mr_write_full(lease->keeper_fd, "", 1) < 0)
			mr_log_warn("cannot end the keeper: %m");
		lease->keeper_fd = mr_close(lease->keeper_fd);
		if (waitpid(lease->keeper, NULL, 0) < 0)
			mr_log_warn("wait for the keeper: %m");
		lease->keeper = 0;
	}
	if (lease->fd >= 0)
		lease->fd = mr_lease_release(lease->dir_fd, lease->run_id, lease->fd);
	lease->dir_fd = mr_close(lease->dir_fd);
}

/* --- sweep ----------------------------------------------------------------------------------------- */

static bool is_dead(const struct mr_docker_lease *lease, const char *id)
{
	struct mr_lease_info info;

	if (!id || strlen(id) != MR_RUN_ID_SIZE - 1 || id[strspn(id, ID_LETTERS)] != '\0' ||
	    strcmp(id, lease->run_id) == 0)
		return false;
	if (mr_lease_read(lease->dir_fd, id, &info) != 0)
		return true;
	mr_lease_info_deinit(&info);
	return false;
}

int mr_docker_lease_sweep(struct mr_docker *docker, const struct mr_docker_lease *lease,
			  struct mr_error *err)
{
	mr_auto_free char *filter =
		mr_str_format("{\"label\":[\"" MR_DOCKER_LABEL_LEASE "=%s\"]}", lease->label);
	char *escaped = curl_easy_escape(NULL, filter, 0);
	mr_auto_free char *path =
		mr_str_format("/containers/json?all=1&filters=%s", escaped ? escaped : "");
	const struct mr_docker_request request = { .method = "GET", .path = path };
	struct mr_docker_answer answer = { 0 };
	mr_auto_json json_t *list = NULL;
	json_t *container;
	size_t i;
	int r, n = 0;

	curl_free(escaped);
	r = mr_docker_want(docker, &request, &answer, err);
	if (r == 0)
		r = mr_docker_reply_parse(answer.body, answer.size, "list of containers", &list,
					  err);
	mr_docker_answer_deinit(&answer);
	if (r < 0)
		return r;
	json_array_foreach (list, i, container) {
		const json_t *labels = json_object_get(container, "Labels");
		const char *id = json_string_value(json_object_get(labels, MR_DOCKER_LABEL_RUN));
		const char *whose =
			json_string_value(json_object_get(labels, MR_DOCKER_LABEL_LEASE));

		/* The filter is the engine's; what is not ours is not removed whatever it says. */
		if (!whose || strcmp(whose, lease->label) != 0 || !is_dead(lease, id))
			continue;
		r = mr_docker_lease_remove(docker, id, err);
		if (r < 0)
			return r;
		remove_folder(id);
		if (r > 0)
			continue; /* it has ended since the list was made */
		mr_log_notice("container of run %s, whose supervisor is dead, is removed", id);
		n++;
	}
	return n;
}
