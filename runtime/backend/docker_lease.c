/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, lease
 */
#include "runtime/backend/docker_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_ledger.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/spec/spec.h"

#define KEEPER_TRIES 20

/* --- the folder of files -------------------------------------------------------------------------- */

char *mr_docker_lease_folder_of(const char *run_id)
{
	char leases[256];

	if (mr_lease_folder(leases, sizeof(leases)) < 0)
		return NULL;
	return mr_str_format("%s/../" MR_LEASE_FILES_PREFIX "%s", leases, run_id);
}

int mr_docker_lease_make_folder(const char *id, char **ret, struct mr_error *err)
{
	mr_auto_free char *folder = mr_docker_lease_folder_of(id);

	if (!folder || mkdir(folder, 0711) < 0)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m",
			      folder ? folder : "of the container's files");
	*ret = mr_take_ptr(folder);
	return 0;
}

void mr_docker_lease_remove_folder(const char *id)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int leases = mr_lease_open_dir(&err);

	if (leases < 0 || mr_lease_remove_files(leases, id, &err) < 0)
		mr_log_warn("files of container %s: %s", id, err.msg);
}

/* --- removal --------------------------------------------------------------------------------------- */

int mr_docker_lease_remove_container(struct mr_docker *docker, const char *container,
				     struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/containers/%s?force=1&v=1", container);
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
		r = mr_err(err, MR_E_KERNEL, EBUSY, "remove container %s: %ld %s", container,
			   answer.status, message);
	}
	mr_docker_answer_deinit(&answer);
	return r;
}

int mr_docker_lease_remove(struct mr_docker *docker, const char *run_id, struct mr_error *err)
{
	mr_auto_free char *name = mr_str_format(MR_DOCKER_NAME_PREFIX "%s", run_id);

	return mr_docker_lease_remove_container(docker, name, err);
}

/* --- the keeper ------------------------------------------------------------------------------------ */

static int remove_both(struct mr_docker *docker, const char *run_id, const char *taken,
		       struct mr_error *err)
{
	int r = mr_docker_lease_remove(docker, run_id, err);

	if (r >= 0 && taken[0])
		r = mr_docker_lease_remove(docker, taken, err);
	return r;
}

static void forget_taken(const char *taken)
{
	struct mr_error err;
	mr_auto_close int pool = mr_docker_ledger_open(&err);

	mr_docker_lease_remove_folder(taken);
	if (pool >= 0)
		mr_docker_record_forget(pool, taken);
}

/* A container may be in the making when its supervisor ends: one look is not enough. */
static void clean_up_after(const char *run_id, const char *taken)
{
	struct mr_docker *docker = NULL;
	struct mr_error err = MR_ERROR_INIT;
	int good = 0;

	if (mr_docker_open(&docker, &err) < 0)
		return;
	for (int i = 0; i < KEEPER_TRIES && good < 2; i++) {
		good = remove_both(docker, run_id, taken, &err) >= 0 ? good + 1 : 0;
		if (good < 2)
			mr_clock_sleep(mr_now_ns() + MR_PATIENCE_NS(DOCKER_KEEPER_PAUSE));
	}
	if (good < 2)
		mr_log_error("%s; the next start removes it", err.msg);
	mr_docker_free(docker);
	mr_docker_lease_remove_folder(run_id);
	if (good == 2 && taken[0])
		forget_taken(taken);
}

/* Its parent says the id of a prepared container that it takes, or nothing as the goodbye; both are
 * of one size. */
_Noreturn static void keep(int fd, const char *run_id)
{
	char taken[MR_RUN_ID_SIZE] = "", said[MR_RUN_ID_SIZE];

	while (mr_read_full(fd, said, sizeof(said)) == (ssize_t)sizeof(said)) {
		if (said[0] == '\0')
			_exit(0);
		memcpy(taken, said, sizeof(taken));
		taken[sizeof(taken) - 1] = '\0';
	}
	clean_up_after(run_id, taken);
	_exit(0);
}

/* Of our descriptors it holds the lease, for as long as it has to do, and where messages go. */
static void become_keeper(const struct mr_docker_lease *lease, int fd)
{
	const int kept[] = { STDERR_FILENO, fd, lease->fd, lease->dir_fd };

	setsid();
	prctl(PR_SET_NAME, "menace-keeper");
	for (int sig = 1; sig < _NSIG; sig++)
		if (mr_signal_ends(sig) || sig == SIGUSR1 || sig == SIGUSR2)
			signal(sig, SIG_IGN);
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
		return mr_err(err, MR_E_SYS, errno, "make the pipe to the keeper of a lease: %m");
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

int mr_docker_lease_label(int dir_fd, char ret[MR_DOCKER_LEASE_LABEL_SIZE], struct mr_error *err)
{
	char boot[64];
	struct stat st;
	ssize_t n =
		mr_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));

	if (n < 0 || fstat(dir_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, n < 0 ? (int)-n : errno, "identity of the leases: %m");
	boot[strcspn(boot, "\n")] = '\0';
	snprintf(ret, MR_DOCKER_LEASE_LABEL_SIZE, "%s:%ju:%ju", boot, (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	return 0;
}

/* A hash: the id itself is nobody's business. */
void mr_docker_lease_machine(char ret[MR_DOCKER_LEASE_LABEL_SIZE])
{
	char id[64], text[96], hash[MR_HASH_HEX_SIZE];
	ssize_t n = mr_read_file_at(AT_FDCWD, "/etc/machine-id", id, sizeof(id));

	ret[0] = '\0';
	if (n < 32)
		return;
	snprintf(text, sizeof(text), "menace %.32s %u", id, geteuid());
	mr_hash_hex(text, strlen(text), hash);
	snprintf(ret, MR_DOCKER_LEASE_LABEL_SIZE, "%.32s", hash);
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
	return lease->fd < 0 ? lease->fd : mr_docker_lease_label(lease->dir_fd, lease->label, err);
}

int mr_docker_lease_open(const char *run_id, const struct mr_spec *spec,
			 struct mr_docker_lease *ret, struct mr_error *err)
{
	struct mr_docker_lease lease = { .dir_fd = -1, .fd = -1, .keeper_fd = -1 };
	int r;

	memcpy(lease.run_id, run_id, MR_RUN_ID_SIZE);
	r = take_lease(&lease, spec, err);
	if (r == 0)
		r = mr_docker_lease_make_folder(run_id, &lease.folder, err);
	if (r == 0)
		r = start_keeper(&lease, err);
	if (r < 0) {
		mr_docker_lease_close(&lease);
		return r;
	}
	*ret = lease;
	return 0;
}

int mr_docker_lease_adopt(struct mr_docker_lease *lease, const char *id, struct mr_error *err)
{
	int r = mr_write_full(lease->keeper_fd, id, MR_RUN_ID_SIZE);

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "tell the keeper: %m") : 0;
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
		mr_docker_lease_remove_folder(lease->run_id);
	free(lease->folder);
	lease->folder = NULL;
	if (lease->keeper > 0) {
		static const char goodbye[MR_RUN_ID_SIZE];

		if (mr_write_full(lease->keeper_fd, goodbye, sizeof(goodbye)) < 0)
			mr_log_warn("cannot end the keeper: %m");
		lease->keeper_fd = mr_close(lease->keeper_fd);
		mr_wait(lease->keeper);
		lease->keeper = 0;
	}
	if (lease->fd >= 0)
		lease->fd = mr_lease_release(lease->dir_fd, lease->run_id, lease->fd);
	lease->dir_fd = mr_close(lease->dir_fd);
}
