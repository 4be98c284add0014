/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program: what is executed
 *
 * A command is looked up in the sandbox's PATH, inside.  A snippet is copied to
 * /run/snippet (read-only, not in the workspace, so it is no change of it) and
 * started by its "#!" line, else by the interpreter of its language, else as it is.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
