/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, watch
 *
 * Which process it is the engine says by its number, which is one of the engine's own pid
 * namespace: where that is not ours all of /proc is looked through.  Either way it has to be the one:
 * in a group that is called after the container, first in its namespace and of the engine's number in
 * another, of the container's user, and with menace-init as its program.
 */
#include "runtime/backend/docker_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/backend/docker_make.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/supervise/trail.h"

#define TEXT_MAX 16384

/* --- which process it is -------------------------------------------------------------------------- */

struct search {
	const struct mr_docker_watched *watched;
	uint64_t engine_pid;
	struct stat init;
	char cgroup[TEXT_MAX]; /* of the one that was found */
};

/* The numbers of a line of /proc/PID/status: the first, the last, and whether one is wanted. */
struct numbers {
	uint64_t first, last;
	bool has_wanted;
};

static bool read_numbers(const char *status, const char *name, uint64_t wanted, struct numbers *ret)
{
	const char *line = strstr(status, name);
	char word[24];
	size_t n = 0;

	*ret = (struct numbers){ 0 };
	if (!line)
		return false;
	line += strlen(name);
	while (*line == '\t' || *line == ' ') {
		const size_t space = strspn(line, "\t "), len = strcspn(line + space, "\t \n");

		snprintf(word, sizeof(word), "%.*s", (int)len, line + space);
		line += space + len;
		if (mr_units_parse_count(word, &ret->last, NULL) < 0)
			break;
		if (n++ == 0)
			ret->first = ret->last;
		ret->has_wanted |= ret->last == wanted;
	}
	return n > 0;
}

static bool is_it(int proc_fd, struct search *s)
{
	char status[TEXT_MAX];
	struct numbers ids;
	struct stat exe;

	if (mr_read_file_at(proc_fd, "cgroup", s->cgroup, sizeof(s->cgroup)) < 0 ||
	    !strstr(s->cgroup, s->watched->container))
		return false;
	return fstatat(proc_fd, "exe", &exe, 0) == 0 && exe.st_dev == s->init.st_dev &&
	       exe.st_ino == s->init.st_ino &&
	       mr_read_file_at(proc_fd, "status", status, sizeof(status)) >= 0 &&
	       read_numbers(status, "\nUid:", 0, &ids) && ids.first == s->watched->uid &&
	       read_numbers(status, "\nNSpid:", s->engine_pid, &ids) && ids.has_wanted &&
	       ids.last == 1;
}

static bool try_process(int procs_fd, const char *pid, struct search *s)
{
	/* Of this very process: a number that is given anew leads nowhere. */
	mr_auto_close int fd = openat(procs_fd, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && is_it(fd, s);
}

static bool look_through(DIR *procs, struct search *s)
{
	struct dirent *entry;

	while ((entry = readdir(procs)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    try_process(dirfd(procs), entry->d_name, s))
			return true;
	return false;
}

static int find_process(struct search *s, struct mr_error *err)
{
	mr_auto_closedir DIR *procs = opendir("/proc");
	char pid[24];
	struct mr_str text;

	if (!procs)
		return mr_err(err, MR_E_SYS, errno, "open /proc: %m");
	if (stat(s->watched->init, &s->init) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", s->watched->init);
	mr_str_init(&text, pid, sizeof(pid));
	mr_str_printf(&text, "%ju", (uintmax_t)s->engine_pid);
	if (try_process(dirfd(procs), pid, s) || look_through(procs, s))
		return 0;
	return mr_err(err, MR_E_KERNEL, ESRCH,
		      "the container's first process is not to be seen from here");
}

static int ask_pid(struct mr_docker *docker, const char *container, uint64_t *ret,
		   struct mr_error *err)
{
	mr_auto_json json_t *shown = NULL;
	const json_t *pid;
	int r = mr_docker_make_inspect(docker, container, &shown, err);

	if (r < 0)
		return r;
	pid = mr_json_at(shown, "State", "Pid", NULL);
	if (!json_is_integer(pid) || json_integer_value(pid) <= 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the engine's answer has no State.Pid");
	*ret = (uint64_t)json_integer_value(pid);
	return 0;
}

/* --- its control group ---------------------------------------------------------------------------- */

static int find_group(struct mr_docker *docker, const struct mr_docker_watched *watched,
		      struct mr_error *err)
{
	struct search search = { .watched = watched };
	mr_auto_close int fd = -1;
	const char *v2;
	int r;

	if (!watched->init[0])
		return mr_err(err, MR_E_KERNEL, EREMOTE, "the engine is not on this host");
	r = ask_pid(docker, watched->container, &search.engine_pid, err);
	if (r == 0)
		r = find_process(&search, err);
	if (r < 0)
		return r;
	/* With v1 beside it the engine may have left it where it is itself. */
	v2 = strstr(search.cgroup, "0::");
	if (!v2 || !strstr(v2, watched->container))
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "the engine gives a container no control group of its own in the v2 "
			      "hierarchy");
	fd = mr_cgroup_open_of(search.cgroup, err);
	return fd < 0 ? fd : mr_take_fd(fd);
}

/* --- observing ------------------------------------------------------------------------------------ */

/* The descriptor of the group. */
static int find_place(struct mr_docker_watch *watch, struct mr_docker *docker,
		      const struct mr_docker_watched *watched, struct mr_telemetry_place *place,
		      struct mr_error *err)
{
	mr_auto_close int fd = find_group(docker, watched, err);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat a control group: %m");
	r = mr_loop_new(&watch->loop, err);
	if (r < 0)
		return r;
	place->loop = watch->loop;
	place->group_id = st.st_ino;
	return mr_take_fd(fd);
}

void mr_docker_watch_begin(struct mr_docker_watch *watch, struct mr_docker *docker,
			   const struct mr_docker_watched *watched)
{
	struct mr_telemetry_place place = { .group_fd = -1, .has_init = true };
	mr_auto_close int fd = -1;

	*watch = (struct mr_docker_watch){ .begun = true };
	place.host = &watch->host;
	place.why = &watch->why;
	if (watched->spec->telemetry_level != MR_TELEMETRY_OFF)
		fd = place.group_fd = find_place(watch, docker, watched, &place, &watch->why);
	mr_telemetry_begin(&watch->telemetry, &place, watched->spec);
}

int mr_docker_watch_fd(const struct mr_docker_watch *watch)
{
	return watch->loop ? mr_loop_fd(watch->loop) : -1;
}

void mr_docker_watch_read(struct mr_docker_watch *watch)
{
	struct mr_error err;

	if (watch->loop && mr_loop_run_once(watch->loop, 0, &err) < 0)
		mr_log_debug("telemetry: %s", err.msg);
}

void mr_docker_watch_end(struct mr_docker_watch *watch)
{
	if (watch->begun)
		mr_telemetry_finish(&watch->telemetry);
}

json_t *mr_docker_watch_to_json(const struct mr_docker_watch *watch, bool failed)
{
	if (!watch->begun)
		return NULL;
	if (failed)
		mr_trail_keep_last(watch->telemetry.trail);
	return mr_telemetry_to_json(&watch->telemetry);
}

void mr_docker_watch_deinit(struct mr_docker_watch *watch)
{
	if (watch->begun)
		mr_telemetry_deinit(&watch->telemetry);
	watch->host = mr_telemetry_host_free(watch->host);
	watch->loop = mr_loop_free(watch->loop);
	watch->begun = false;
}
