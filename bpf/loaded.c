/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded
 *
 * What is pinned is asked, not what was meant to be: links lead to their programs, and programs know
 * what became of them.
 */
#include "bpf/loaded.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/pins.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int mr_loaded_entries(void (*take)(void *owner, uint64_t cgroup_id), void *owner,
		      struct mr_error *err)
{
	char root[MR_PINS_PATH_MAX], name[MR_PINS_PATH_MAX], set[MR_PINS_PATH_MAX];
	char path[MR_PINS_PATH_MAX];
	mr_auto_close int fd = -1;
	uint64_t id, *last = NULL, next;
	int r = mr_pins_root(root, err), n = 0;

	if (r != 0)
		return r < 0 ? r : 0;
	mr_pins_set_name(name);
	r = mr_pins_join(set, root, name, err);
	if (r == 0)
		r = mr_pins_join(path, set, "runs", err);
	fd = r == 0 ? bpf_obj_get(path) : -1;
	if (r == 0 && fd < 0 && errno != ENOENT)
		r = mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	while (fd >= 0 && bpf_map_get_next_key(fd, last, &next) == 0) {
		id = next;
		last = &id;
		take(owner, id);
		n++;
	}
	return r < 0 ? r : n;
}

/* The program that is pinned at path, or whose link is. */
static int open_program(const char *path, bool is_link, struct mr_error *err)
{
	struct bpf_link_info link = { 0 };
	uint32_t size = sizeof(link);
	mr_auto_close int pin = bpf_obj_get(path);
	int fd;

	if (pin < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	if (!is_link)
		return mr_take_fd(pin);
	if (bpf_obj_get_info_by_fd(pin, &link, &size) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: its program: %m", path);
	fd = bpf_prog_get_fd_by_id(link.prog_id);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "%s: its program: %m", path) : fd;
}

static int tell_program(const char *path, const char *name, bool is_link,
			const struct mr_loaded_programs *to, struct mr_error *err)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	mr_auto_close int fd = open_program(path, is_link, err);

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return mr_err(err, MR_E_SYS, errno, "ask for %s: %m", path);
	to->take(to->owner, name, info.verified_insns, info.recursion_misses);
	return 0;
}

static int tell_object(const char *set, const struct mr_probe_row *row,
		       const struct mr_loaded_programs *to, struct mr_error *err)
{
	const bool is_link = row->kind == MR_PROBE_RAW_TP || row->kind == MR_PROBE_RAW_TP_IO ||
			     row->kind == MR_PROBE_FENTRY;
	char dir_path[MR_PINS_PATH_MAX], path[MR_PINS_PATH_MAX], name[MR_PINS_PATH_MAX];
	mr_auto_closedir DIR *dir = NULL;
	struct dirent *entry;
	int r = mr_pins_join(dir_path, set, row->object, err);

	dir = r < 0 ? NULL : opendir(dir_path);
	if (r == 0 && !dir && errno != ENOENT)
		r = mr_err(err, MR_E_SYS, errno, "open %s: %m", dir_path);
	while (r == 0 && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = mr_pins_join(path, dir_path, entry->d_name, err);
		if (r == 0)
			r = mr_pins_join(name, row->object, entry->d_name, err);
		if (r == 0)
			r = tell_program(path, name, is_link, to, err);
	}
	return r;
}

int mr_loaded_programs(const struct mr_loaded_programs *to, struct mr_error *err)
{
	char root[MR_PINS_PATH_MAX], name[MR_PINS_PATH_MAX], set[MR_PINS_PATH_MAX];
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	int r = mr_pins_root(root, err);

	if (r != 0)
		return r < 0 ? r : 0;
	mr_pins_set_name(name);
	r = mr_pins_join(set, root, name, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (mr_probe_is_first_of_object(i))
			r = tell_object(set, &rows[i], to, err);
	return r;
}
