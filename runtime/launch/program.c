/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program: what is executed
 *
 * A command is looked up in the sandbox's PATH, inside.  A snippet is copied to
 * /run/snippet (read-only, not in the workspace, so it is no change of it) and
 * started by its "#!" line, else by the interpreter of its language, else as it is.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/lang.h"
#include "runtime/spec/spec.h"

#define SNIPPET_MAX (16 * 1024 * 1024)
#define SNIPPET_DIR "/run/snippet/"
#define NAME_LEN_MAX 255

static int load_snippet(struct mr_child *c, struct mr_error *err)
{
	const struct mr_spec *spec = c->spec;
	const char *slash;
	char *text;
	int r;

	if (!spec->snippet_path) {
		const struct mr_lang *lang = spec->lang ? mr_lang_find(spec->lang) : NULL;
		char *name;

		mr_assert(asprintf(&name, "snippet%.*s",
				   lang ? (int)strcspn(lang->extensions, " ") : 0,
				   lang ? lang->extensions : "") >= 0);
		c->snippet_name = name;
		c->snippet_text = spec->snippet_code;
		c->snippet_size = spec->snippet_code_size;
		return 0;
	}
	r = mr_read_whole_file(spec->snippet_path, SNIPPET_MAX, &text, &c->snippet_size, err);
	if (r < 0)
		return r;
	slash = strrchr(spec->snippet_path, '/');
	c->snippet_name = slash ? slash + 1 : spec->snippet_path;
	c->snippet_text = text;
	if (!*c->snippet_name || strlen(c->snippet_name) > NAME_LEN_MAX)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: no usable file name",
			      spec->snippet_path);
	return 0;
}

/* By the caller's word (checked with the spec), the "#!" line (NULL: the kernel reads it), or the
 * extension. */
static const struct mr_lang *pick_interpreter(const struct mr_child *c)
{
	if (c->spec->lang)
		return mr_lang_find(c->spec->lang);
	if (c->snippet_size >= 2 && memcmp(c->snippet_text, "#!", 2) == 0)
		return NULL;
	return mr_lang_of_path(c->snippet_name);
}

int mr_program_resolve(struct mr_child *c, struct mr_error *err)
{
	const struct mr_spec *spec = c->spec;
	const struct mr_lang *lang;
	size_t n = 0;
	char *path;
	int r;

	if (!spec->snippet_path && !spec->snippet_code) {
		c->argv = spec->argv.v;
		return 0;
	}
	r = load_snippet(c, err);
	if (r < 0)
		return r;
	lang = pick_interpreter(c);
	c->argv = calloc(MR_LANG_ARGV_MAX + spec->argv.n + 2, sizeof(char *));
	mr_assert(c->argv);
	mr_assert(asprintf(&path, SNIPPET_DIR "%s", c->snippet_name) >= 0);
	for (size_t i = 0; lang && lang->argv[i]; i++) {
		c->argv[n] = strdup(lang->argv[i]);
		mr_assert(c->argv[n++]);
	}
	c->argv[n++] = path;
	for (size_t i = 0; i < spec->argv.n; i++)
		c->argv[n++] = spec->argv.v[i];
	return 0;
}

void mr_program_release(struct mr_child *c)
{
	const struct mr_spec *spec = c->spec;

	if (!c->snippet_name)
		return;
	/* The file's text and the copied words are ours; the arguments are the spec's. */
	for (size_t i = 0;
	     c->argv && c->argv[i] && (spec->argv.n == 0 || c->argv[i] != spec->argv.v[0]); i++)
		free(c->argv[i]);
	free(c->argv);
	if (spec->snippet_path)
		free((char *)(uintptr_t)c->snippet_text);
	else
		free((char *)(uintptr_t)c->snippet_name);
}

static const char *env_path(char **envp)
{
	for (size_t i = 0; envp && envp[i]; i++) {
		if (strncmp(envp[i], "PATH=", 5) == 0)
			return envp[i] + 5;
	}
	return "/usr/bin:/bin";
}

static int exec_error(const char *name, int errnum, struct mr_error *err)
{
	if (errnum == ENOENT || errnum == ENOTDIR)
		return mr_err(err, MR_E_NOENT, errnum, "%s: not found in the sandbox", name);
	return mr_err(err, MR_E_NOEXEC, errnum, "%s: cannot be executed: %m%s", name,
		      errnum == ENOEXEC ? " (neither a program of this machine nor a \"#!\" script)"
		      : errnum == EACCES ? " (no execute permission?)"
					 : "");
}

int mr_program_exec(char **argv, char **envp, struct mr_error *err)
{
	const char *path = env_path(envp);
	int denied = 0;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, envp);
		return exec_error(argv[0], errno, err);
	}
	while (*argv[0] && *path) {
		size_t len = strcspn(path, ":");
		char full[4096];

		if ((size_t)snprintf(full, sizeof(full), "%.*s%s%s", (int)len, path,
				     len ? "/" : "./", argv[0]) < sizeof(full))
			execve(full, argv, envp);
		if (errno == EACCES || errno == ENOEXEC || errno == EPERM)
			denied = errno; /* keep looking, as shells do */
		path += len + (path[len] == ':');
	}
	return exec_error(argv[0], denied ? denied : ENOENT, err);
}

/* --- what else runs when a file is run ------------------------------------------ */

/* "#!/bin/sh -e": the path alone. */
static bool read_shebang(const char *head, size_t size, char ret[MR_PROGRAM_PATH_MAX])
{
	size_t at = 2, n;

	while (at < size && (head[at] == ' ' || head[at] == '\t'))
		at++;
	for (n = at; n < size && head[n] && !strchr(" \t\n", head[n]);)
		n++;
	if (n == at || n == size || n - at >= MR_PROGRAM_PATH_MAX)
		return false;
	memcpy(ret, head + at, n - at);
	ret[n - at] = '\0';
	return true;
}

/* PT_INTERP of a 64-bit program: the dynamic loader.  Nothing of the file is believed. */
static bool read_loader(int fd, const char *head, size_t size, char ret[MR_PROGRAM_PATH_MAX])
{
	Elf64_Ehdr elf;
	Elf64_Phdr segment;
	ssize_t n;

	if (size < sizeof(elf))
		return false;
	memcpy(&elf, head, sizeof(elf));
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(segment) ||
	    elf.e_phoff > INT64_MAX - UINT16_MAX * sizeof(segment))
		return false;
	for (unsigned int i = 0; i < elf.e_phnum; i++) {
		off_t at = (off_t)(elf.e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < 2 || segment.p_filesz > MR_PROGRAM_PATH_MAX ||
		    segment.p_offset > INT64_MAX)
			return false;
		n = pread(fd, ret, segment.p_filesz, (off_t)segment.p_offset);
		return n == (ssize_t)segment.p_filesz && ret[n - 1] == '\0' && ret[0] == '/';
	}
	return false;
}

enum mr_program_next mr_program_interpreter(int fd, char ret[MR_PROGRAM_PATH_MAX])
{
	char path[40], head[256];
	mr_auto_close int file = -1;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return MR_PROGRAM_NOTHING;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Its owner may hold a lease on it, and we must not wait for that to be broken. */
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n = file < 0 ? -1 : pread(file, head, sizeof(head), 0);
	if (n > 2 && memcmp(head, "#!", 2) == 0 && read_shebang(head, (size_t)n, ret))
		return MR_PROGRAM_INTERPRETER;
	if (n > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0 &&
	    read_loader(file, head, (size_t)n, ret))
		return MR_PROGRAM_LOADER;
	return MR_PROGRAM_NOTHING;
}

/* The file that mr_program_exec() runs. */
static bool find_program(char **argv, char **envp, char ret[MR_PROGRAM_PATH_MAX])
{
	const char *path = env_path(envp);

	if (strchr(argv[0], '/'))
		return (size_t)snprintf(ret, MR_PROGRAM_PATH_MAX, "%s", argv[0]) <
		       MR_PROGRAM_PATH_MAX;
	while (*path) {
		size_t len = strcspn(path, ":");
		struct stat st;

		if ((size_t)snprintf(ret, MR_PROGRAM_PATH_MAX, "%.*s%s%s", (int)len, path,
				     len ? "/" : "./", argv[0]) < MR_PROGRAM_PATH_MAX &&
		    stat(ret, &st) == 0 && S_ISREG(st.st_mode) && access(ret, X_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* What cannot be run is not: the program's word alone must not open a file to it. */
static int open_executable(const char *path)
{
	mr_auto_close int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -1;
	return mr_take_fd(fd);
}

size_t mr_program_files(char **argv, char **envp, char ret[MR_PROGRAM_FILES][MR_PROGRAM_PATH_MAX])
{
	enum mr_program_next next = MR_PROGRAM_INTERPRETER;
	size_t n = 0;

	if (!find_program(argv, envp, ret[0]))
		return 0;
	while (next != MR_PROGRAM_NOTHING && n < MR_PROGRAM_FILES) {
		mr_auto_close int fd = open_executable(ret[n]);

		if (fd < 0)
			return n;
		n++;
		/* A loader's own interpreter is not asked for. */
		if (next == MR_PROGRAM_LOADER || n == MR_PROGRAM_FILES)
			return n;
		next = mr_program_interpreter(fd, ret[n]);
	}
	return n;
}
