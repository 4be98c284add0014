/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols
 *
 * The files are opened only when they are, by device, inode and age, what the process
 * had mapped.  They are read by menace-symbolize in a sandbox of menace-run, since
 * whoever wrote the program may have written its debug information, too.
 */
#include "tools/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"

#define MODULES_MAX 8
#define FRAMES_MAX 64

struct module {
	uint64_t start, end, offset;
	char *path; /* on this host; NULL: why says what is wrong with it */
	char why[200];
};

struct frame {
	const struct module *module; /* NULL: in none of them */
	uint64_t offset; /* in the module's file */
	json_t *symbol; /* borrowed row of the answer */
};

struct crash {
	struct module modules[MODULES_MAX];
	struct frame frames[FRAMES_MAX];
	size_t n_modules, n_frames;
};

static void deinit_crash(struct crash *crash)
{
	for (size_t i = 0; i < crash->n_modules; i++)
		free(crash->modules[i].path);
}

/* --- files ------------------------------------------------------------------------- */

static bool is_that_file(const char *path, dev_t device, ino_t inode, struct stat *st)
{
	return lstat(path, st) == 0 && S_ISREG(st->st_mode) && st->st_dev == device &&
	       st->st_ino == inode;
}

/* Where a mount shows the path of its file system, if it does; malloc'd. */
static char *shown_at(const char *root, const char *point, const char *path)
{
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, n) != 0 || path[n] != '/')
		return NULL;
	return mr_str_format("%s%s", strcmp(point, "/") == 0 ? "" : point, path + n);
}

/* The path of a file, given as its file system has it, among the mounts of this process; or NULL. */
static char *find_file(dev_t device, ino_t inode, const char *path, struct stat *st)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	mr_auto_free char *line = NULL;
	char *found = NULL;
	size_t cap = 0;

	while (mounts && !found && getline(&line, &cap, mounts) > 0) {
		mr_auto_free char *root = NULL;
		mr_auto_free char *point = NULL;
		unsigned int a, b;

		if (sscanf(line, "%*d %*d %u:%u %ms %ms", &a, &b, &root, &point) != 4 ||
		    makedev(a, b) != device)
			continue;
		mr_str_unescape_octal(root);
		mr_str_unescape_octal(point);
		found = shown_at(root, point, path);
		if (found && !is_that_file(found, device, inode, st)) {
			free(found);
			found = NULL;
		}
	}
	if (mounts)
		fclose(mounts);
	return found;
}

/* 0 for what is no number: such a place is in no module. */
static uint64_t parse(const char *text, int base)
{
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, base);
	return errno || end == text || *end ? 0 : n;
}

static uint64_t number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	if (json_is_integer(value))
		return (uint64_t)json_integer_value(value);
	return json_is_string(value) ? parse(json_string_value(value), 16) : 0;
}

static void read_module(const json_t *row, int64_t started_us, struct module *m)
{
	const char *path = json_string_value(json_object_get(row, "path"));
	uint64_t device = number(row, "device");
	struct stat st = { 0 };

	*m = (struct module){ .start = number(row, "start"),
			      .end = number(row, "end"),
			      .offset = number(row, "offset") };
	if (!path)
		snprintf(m->why, sizeof(m->why), "memory of no file");
	else if (json_is_true(json_object_get(row, "nameless")))
		snprintf(m->why, sizeof(m->why), "a file that had no name any more");
	else if (json_is_true(json_object_get(row, "path_truncated")))
		snprintf(m->why, sizeof(m->why), "its path is too long to be recorded");
	else
		m->path = find_file(makedev(device >> 20, device & 0xfffff), number(row, "inode"),
				    path, &st);
	if (m->path && (int64_t)st.st_mtim.tv_sec > started_us / 1000000) {
		free(m->path);
		m->path = NULL;
		snprintf(m->why, sizeof(m->why), "the file was changed since");
	} else if (!m->path && !m->why[0]) {
		snprintf(m->why, sizeof(m->why), "the file is not on this host any more");
	}
}

/* --- frames -------------------------------------------------------------------------- */

/* What is on the stack is where a call returns to: the call itself ends one byte before. */
static void read_frame(struct crash *crash, const char *address)
{
	struct frame *frame = &crash->frames[crash->n_frames];
	uint64_t at = parse(address, 16) - (crash->n_frames ? 1 : 0);

	*frame = (struct frame){ 0 };
	for (size_t i = 0; i < crash->n_modules; i++) {
		const struct module *m = &crash->modules[i];

		if (at < m->start || at >= m->end)
			continue;
		frame->module = m;
		frame->offset = at - m->start + m->offset;
	}
	crash->n_frames++;
}

static void read_crash(const json_t *detail, int64_t started_us, struct crash *crash)
{
	json_t *row;
	size_t i;

	*crash = (struct crash){ 0 };
	json_array_foreach (json_object_get(detail, "modules"), i, row)
		if (i < MODULES_MAX)
			read_module(row, started_us, &crash->modules[crash->n_modules++]);
	json_array_foreach (json_object_get(detail, "frames"), i, row)
		if (i < FRAMES_MAX && json_is_string(row))
			read_frame(crash, json_string_value(row));
}

/* --- the sandbox ------------------------------------------------------------------------ */

#define ARGS_MAX (24 + 2 * MODULES_MAX + FRAMES_MAX)

struct arguments {
	char *v[ARGS_MAX];
	size_t n;
};

static void add_argument(struct arguments *args, char *text)
{
	mr_assert(args->n < ARGS_MAX - 1);
	args->v[args->n++] = text;
}

static void free_arguments(struct arguments *args)
{
	for (size_t i = 0; i < args->n; i++)
		free(args->v[i]);
}

/* Modules are shown as /module/N, so that no path of theirs is ever read as an option. */
static void make_arguments(struct crash *crash, const char *symbolizer, uint64_t timeout_ms,
			   struct arguments *args)
{
	static const char *const fixed[] = { "menace-run", "-q",    "--telemetry", "off", "--store",
					     "none",	   "--net", "none",	   "-m",  "1G",
					     "--pids",	   "8",	    "-t" };

	for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
		add_argument(args, mr_str_dup(fixed[i]));
	add_argument(args, mr_str_format("%" PRIu64 "ms", timeout_ms));
	add_argument(args, mr_str_dup("--ro"));
	add_argument(args, mr_str_format("%s:/menace-symbolize", symbolizer));
	for (size_t i = 0; i < crash->n_modules; i++) {
		if (!crash->modules[i].path)
			continue;
		add_argument(args, mr_str_dup("--ro"));
		add_argument(args, mr_str_format("%s:/module/%zu", crash->modules[i].path, i));
	}
	add_argument(args, mr_str_dup("--"));
	add_argument(args, mr_str_dup("/menace-symbolize"));
	for (size_t i = 0; i < crash->n_frames; i++) {
		const struct module *m = crash->frames[i].module;

		if (m && m->path)
			add_argument(args, mr_str_format("/module/%td:%" PRIu64, m - crash->modules,
							 crash->frames[i].offset));
	}
}

/* Both streams go to files in memory: what is said is small and bounded by the deadline. */
static int run_program(const char *path, char **argv, int out, int complaints)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	posix_spawn_file_actions_init(&actions);
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, complaints, 2);
	if (r == 0)
		r = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return -r;
	return mr_wait(pid);
}

/* From the beginning, as text, malloc'd. */
static char *text_of(int fd)
{
	const size_t max = 128 * 1024;
	char *text = mr_str_alloc(max + 1);
	ssize_t n = lseek(fd, 0, SEEK_SET) < 0 ? -1 : mr_read_full(fd, text, max);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* What the sandboxed reader says of all places, or NULL and why. */
static char *ask(struct crash *crash, uint64_t until_ns, char why[200])
{
	uint64_t now = mr_now_ns(), left_ms = until_ns > now ? (until_ns - now) / 1000000 : 0;
	mr_auto_close int out = memfd_create("names", MFD_CLOEXEC);
	mr_auto_close int complaints = memfd_create("complaints", MFD_CLOEXEC);
	char menace_run[MR_SIBLING_MAX], symbolizer[MR_SIBLING_MAX];
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_free char *said = NULL;
	struct arguments args = { 0 };
	int status;

	if (left_ms < MR_PATIENCE_MS(SYMBOLS_READER_LEAST)) {
		snprintf(why, 200, "the readers of symbols took too long before");
		return NULL;
	}
	if (out < 0 || complaints < 0 || mr_sibling_find("menace-run", menace_run, &err) < 0 ||
	    mr_sibling_find("menace-symbolize", symbolizer, &err) < 0) {
		snprintf(why, 200, "%.199s", err.code ? err.msg : strerror(errno));
		return NULL;
	}
	make_arguments(crash, symbolizer,
		       left_ms < MR_PATIENCE_MS(SYMBOLS_READER) ? left_ms
								: MR_PATIENCE_MS(SYMBOLS_READER),
		       &args);
	status = run_program(menace_run, args.v, out, complaints);
	free_arguments(&args);
	if (status == 0)
		return text_of(out);
	said = text_of(complaints);
	snprintf(why, 200, "the reader of symbols failed (%d): %.150s", status,
		 said[0] ? said : "it said nothing");
	why[strcspn(why, "\n")] = '\0';
	return NULL;
}

/* --- the answer --------------------------------------------------------------------------- */

/* "NAME\tOFFSET\tSOURCE\tLINE"; what is no such line is no answer. */
static void add_names(json_t *row, char *line)
{
	char *columns[4] = { 0 }, *rest = line;

	for (size_t i = 0; i < N_ELEMENTS(columns) && rest; i++)
		columns[i] = strsep(&rest, "\t");
	if (!columns[3])
		return;
	if (columns[0][0]) {
		mr_text_set(row, "symbol", columns[0], strlen(columns[0]));
		json_object_set_new(row, "symbol_offset",
				    json_integer((json_int_t)parse(columns[1], 10)));
	}
	if (columns[2][0]) {
		mr_text_set(row, "source", columns[2], strlen(columns[2]));
		json_object_set_new(row, "line", json_integer((json_int_t)parse(columns[3], 10)));
	}
}

static json_t *frame_json(const struct frame *frame, char **answer, const char *why)
{
	const struct module *m = frame->module;
	json_t *row = json_pack("{s:n, s:o, s:n, s:n, s:n, s:n, s:n}", "module", "module_offset",
				m ? json_integer((json_int_t)frame->offset) : json_null(), "symbol",
				"symbol_offset", "source", "line", "reason");
	const char *reason = NULL;

	if (m && m->path)
		mr_text_set(row, "module", m->path, strlen(m->path));
	if (!m)
		reason = "in no file that was recorded";
	else if (!m->path)
		reason = m->why;
	else if (!*answer)
		reason = why[0] ? why : "the reader of symbols said too little";
	else
		add_names(row, strsep(answer, "\n"));
	if (m && m->path && !reason && json_is_null(json_object_get(row, "symbol")))
		reason = "the file has no symbol there";
	if (reason)
		mr_text_set(row, "reason", reason, strlen(reason));
	return row;
}

void mr_symbols_add(json_t *detail, int64_t started_us, uint64_t until_ns)
{
	mr_auto_free char *answer = NULL;
	json_t *symbols = json_array();
	struct crash crash;
	char why[200] = "", *rest;
	bool any = false;

	read_crash(detail, started_us, &crash);
	for (size_t i = 0; i < crash.n_modules; i++)
		any |= crash.modules[i].path != NULL;
	if (any)
		answer = ask(&crash, until_ns, why);
	rest = answer;
	for (size_t i = 0; i < crash.n_frames; i++)
		json_array_append_new(symbols, frame_json(&crash.frames[i], &rest, why));
	json_object_set_new(detail, "symbols", symbols);
	deinit_crash(&crash);
}
