/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procs
 *
 * Walks /proc/PID/task/TID/children from init down.
 */
#include "runtime/supervise/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define TREE_MAX 4096 /* tasks looked at */

struct walk {
	pid_t pids[TREE_MAX];
	size_t n;
	uint64_t ticks, rss_pages;
	unsigned int threads;
};

/* Fields of /proc/PID/stat after the name, which may hold anything. */
static void add_stat(struct walk *w, pid_t pid)
{
	uint64_t utime, stime;
	int64_t cutime, cstime, threads, rss;
	char path[48], text[1024];
	const char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (mr_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0 || !(p = strrchr(text, ')')))
		return; /* it has just ended */
	if (sscanf(p + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNd64
		   " %" SCNd64 " %*d %*d %" SCNd64 " %*d %*u %*u %" SCNd64,
		   &utime, &stime, &cutime, &cstime, &threads, &rss) != 6)
		return;
	w->ticks += utime + stime + (uint64_t)cutime + (uint64_t)cstime;
	w->threads += (unsigned int)threads;
	w->rss_pages += rss > 0 ? (uint64_t)rss : 0;
}

static void add_children(struct walk *w, pid_t pid, const char *tid)
{
	char path[80], text[8192];
	char *p = text, *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, tid);
	if (mr_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return;
	while (w->n < TREE_MAX) {
		long child = strtol(p, &end, 10);

		if (end == p || child > INT_MAX) /* the end, or no pid: the text was cut */
			return;
		if (child > 0)
			w->pids[w->n++] = (pid_t)child;
		p = end;
	}
}

static void add_tasks(struct walk *w, pid_t pid)
{
	mr_auto_closedir DIR *dir = NULL;
	struct dirent *entry;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			add_children(w, pid, entry->d_name);
	}
}

int mr_procs_look(struct mr_procs *procs, pid_t init_pid, struct mr_error *err)
{
	mr_auto_free struct walk *w = calloc(1, sizeof(*w));
	uint64_t cpu_us;

	if (!w)
		return mr_err(err, MR_E_SYS, ENOMEM, "look at the process tree: %m");
	w->pids[w->n++] = init_pid;
	for (size_t i = 0; i < w->n; i++) {
		add_stat(w, w->pids[i]);
		add_tasks(w, w->pids[i]);
	}
	cpu_us = w->ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	if (cpu_us > procs->cpu_us)
		procs->cpu_us = cpu_us;
	procs->rss_bytes = w->rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (procs->rss_bytes > procs->rss_peak_bytes)
		procs->rss_peak_bytes = procs->rss_bytes;
	procs->n = w->threads ? w->threads - 1 : 0;
	if (procs->n > procs->n_peak)
		procs->n_peak = procs->n;
	return 0;
}
