/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: checks across knobs
 *
 * What no single knob can tell, once every source has been applied.  One row of
 * checks[] is one rule.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/lang.h"
#include "runtime/spec/spec.h"

#define NAME_MAX_BYTES 256

static int refuse(struct mr_error *err, const char *message)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s", message);
}

static int check_program(const struct mr_spec *spec, struct mr_error *err)
{
	bool snippet = spec->snippet_path || spec->snippet_code;

	if (spec->snippet_path && spec->snippet_code)
		return refuse(err, "snippet: either a path or code, not both");
	if (snippet || (spec->argv.n > 0 && spec->argv.v[0][0] != '\0'))
		return 0;
	if (spec->argv.n > 0)
		return refuse(err, "program: the name is empty");
	return refuse(err, "no program: give PROGRAM [ARG...], a snippet FILE, -c CODE or --spec "
			   "FILE");
}

static int check_lang(const struct mr_spec *spec, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	const char *hint;

	if (!spec->lang) {
		if (spec->snippet_code &&
		    (spec->snippet_code_size < 2 || memcmp(spec->snippet_code, "#!", 2) != 0))
			return refuse(err, "lang: a snippet given as text needs a language (--lang "
					   "python), or a \"#!\" line");
		return 0;
	}
	if (mr_lang_find(spec->lang))
		return 0;
	hint = mr_lang_suggest(spec->lang);
	mr_str_quote(quoted, sizeof(quoted), spec->lang);
	if (hint)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "lang: unknown language %s; did you mean \"%s\"?", quoted, hint);
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "lang: unknown language %s; menace-run(1) lists them all", quoted);
}

static int check_level(const struct mr_spec *spec, struct mr_error *err)
{
	if (spec->sandbox_level >= 2 || spec->sandbox_unsafe)
		return 0;
	return refuse(err, "sandbox.level: level 1 keeps capabilities and is not accepted without "
			   "sandbox.unsafe (--unsafe)");
}

/* Is some component of the path "." or ".."? */
static bool has_dots(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return true;
		p += n;
		p += strspn(p, "/");
	}
	return false;
}

static int check_cwd(const struct mr_spec *spec, struct mr_error *err)
{
	const char *cwd = spec->sandbox_cwd;
	char quoted[MR_STR_QUOTE_SIZE];

	mr_str_quote(quoted, sizeof(quoted), cwd);
	if (cwd[0] != '/' || has_dots(cwd))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "sandbox.cwd: %s must be absolute and without \".\" and \"..\"",
			      quoted);
	/* A descriptor under /proc/self/fd leads out of any root. */
	cwd += strspn(cwd, "/");
	if (strncmp(cwd, "proc", 4) == 0 && (cwd[4] == '\0' || cwd[4] == '/'))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "sandbox.cwd: %s: /proc is not accepted as working directory",
			      quoted);
	return 0;
}

static int check_hostname(const struct mr_spec *spec, struct mr_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-.";
	const char *name = spec->sandbox_hostname;
	char quoted[MR_STR_QUOTE_SIZE];

	if (name[strspn(name, letters)] == '\0' && name[0] != '-' && name[0] != '.')
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "sandbox.hostname: %s; accepted: letters, digits, '-' and '.'",
		      mr_str_quote(quoted, sizeof(quoted), name));
}

static int check_workspace(const struct mr_spec *spec, struct mr_error *err)
{
	if (spec->sandbox_keep_changes[0] != '\0' && spec->sandbox_workspace[0] == '\0')
		return refuse(err,
			      "sandbox.keep_changes: there is no workspace whose changes could "
			      "be kept (--workspace DIR)");
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->sandbox_workspace[0] != '\0' &&
		    strcmp(spec->mounts[i].dest, "/work") == 0)
			return refuse(err, "mounts: /work is already taken by the workspace");
	return 0;
}

static int check_stdin(const struct mr_spec *spec, struct mr_error *err)
{
	if (spec->sandbox_tty && spec->sandbox_stdin_path[0] != '\0')
		return refuse(err, "sandbox.stdin_path: with a terminal (--tty) the input comes "
				   "from it");
	return 0;
}

static int check_name(const struct mr_spec *spec, struct mr_error *err)
{
	if (spec->name && strlen(spec->name) > NAME_MAX_BYTES)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "name: %zu bytes are too long; accepted: at most %d",
			      strlen(spec->name), NAME_MAX_BYTES);
	return 0;
}

int mr_spec_validate(const struct mr_spec *spec, struct mr_error *err)
{
	static int (*const checks[])(const struct mr_spec *, struct mr_error *) = {
		check_program,	check_lang,	 check_level, check_cwd,
		check_hostname, check_workspace, check_stdin, check_name,
	};

	for (size_t i = 0; i < N_ELEMENTS(checks); i++) {
		int r = checks[i](spec, err);

		if (r < 0)
			return r;
	}
	return 0;
}
