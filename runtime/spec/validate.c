/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: checks of texts, and across knobs
 *
 * What no single knob can tell, once every source has been applied.  One row of
 * checks[] is one rule.
 */
#include <errno.h>
#include <string.h>

#include "bpf/choice.h"
#include "netns/rules.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/hostile.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/spec.h"

#define NAME_MAX_BYTES 256

static int refuse(struct mr_error *err, const char *message)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s", message);
}

const char *mr_spec_label(const struct mr_spec_labels *labels, enum mr_field_id id)
{
	const char *name = labels ? labels->name(labels->owner, id) : NULL;

	return name ? name : mr_spec_fields()[id].key;
}

static int check_program(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			 struct mr_error *err)
{
	bool snippet = spec->snippet_path || spec->snippet_code;

	(void)labels;
	if (spec->snippet_path && spec->snippet_code)
		return refuse(err, "snippet: either a path or code, not both");
	if (snippet || (spec->argv.n > 0 && spec->argv.v[0][0] != '\0'))
		return 0;
	if (spec->argv.n > 0)
		return refuse(err, "program: the name is empty");
	return refuse(err, "no program: give PROGRAM [ARG...], a snippet FILE, -c CODE or --spec "
			   "FILE");
}

/* Does the kernel find out how it is run? */
static bool starts_itself(const char *code, size_t size)
{
	static const char elf[] = "\177ELF";

	return (size >= 2 && memcmp(code, "#!", 2) == 0) ||
	       (size >= strlen(elf) && memcmp(code, elf, strlen(elf)) == 0);
}

static int check_lang(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		      struct mr_error *err)
{
	(void)labels;
	if (spec->lang || !spec->snippet_code ||
	    starts_itself(spec->snippet_code, spec->snippet_code_size))
		return 0;
	return refuse(err,
		      "snippet: a text needs a language (--lang NAME; \"lang\" in a document), "
		      "or a first line that begins with \"#!\"");
}

static int check_level(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		       struct mr_error *err)
{
	if (spec->sandbox_level >= 2 || spec->sandbox_unsafe)
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "%s: level 1 keeps capabilities; accepted: 2 to 5, or 1 with sandbox.unsafe "
		      "(--unsafe)",
		      mr_spec_label(labels, MR_FIELD_sandbox_level));
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

static int check_cwd(const char *cwd, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	mr_str_quote(quoted, sizeof(quoted), cwd);
	if (cwd[0] != '/' || has_dots(cwd))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s must be absolute and without \".\" and \"..\"", quoted);
	/* A descriptor under /proc/self/fd leads out of any root. */
	cwd += strspn(cwd, "/");
	if (strncmp(cwd, "proc", 4) == 0 && (cwd[4] == '\0' || cwd[4] == '/'))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: /proc is not accepted as working directory", quoted);
	return 0;
}

static int check_hostname(const char *name, struct mr_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-.";
	char quoted[MR_STR_QUOTE_SIZE];

	if (name[strspn(name, letters)] == '\0' && name[0] != '-' && name[0] != '.')
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "%s; accepted: letters, digits, '-' and '.', the first a letter or a digit",
		      mr_str_quote(quoted, sizeof(quoted), name));
}

/* One server or more, with commas between; empty: the host's. */
static int check_resolver(const char *text, struct mr_error *err)
{
	while (text[0] != '\0') {
		size_t n = strcspn(text, ",");
		mr_auto_free char *server = mr_str_ndup(text, n);
		struct in6_addr address;
		uint16_t port;
		int r = mr_rule_parse_endpoint(server, 53, &address, &port, err);

		if (r < 0)
			return r;
		if (text[n] == ',' && text[n + 1] == '\0')
			return refuse(err, "nothing is behind the last comma");
		text += n + (text[n] == ',');
	}
	return 0;
}

static int check_hostile(const char *text, struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];
	size_t n;
	const struct mr_hostile *rows = mr_hostile_rows(&n);

	mr_str_nearest_init(&nearest, text);
	for (size_t i = 0; i < n; i++) {
		if (mr_hostile_is(&rows[i], text))
			return 0;
		mr_str_nearest_offer(&nearest, rows[i].id);
		mr_str_nearest_offer(&nearest, rows[i].class);
	}
	mr_str_quote(quoted, sizeof(quoted), text);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown input %s; did you mean \"%s\"?",
			      quoted, nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown input %s; menace-spec(5) lists them all",
		      quoted);
}

int mr_spec_check_text(enum mr_field_id id, const char *text, struct mr_error *err)
{
	struct mr_probe_choice choice;

	uint32_t modes;

	if (id == MR_FIELD_failure_hostile)
		return check_hostile(text, err);
	if (id == MR_FIELD_failure_modes)
		return mr_failures_parse(text, &modes, err);
	if (id == MR_FIELD_net_resolver)
		return check_resolver(text, err);
	if (id == MR_FIELD_sandbox_cwd)
		return check_cwd(text, err);
	if (id == MR_FIELD_telemetry_probes)
		return mr_probe_choose(MR_PROBE_LEVEL_OFF, text, &choice, err);
	return id == MR_FIELD_sandbox_hostname ? check_hostname(text, err) : 0;
}

static int check_workspace(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			   struct mr_error *err)
{
	if (spec->sandbox_workspace[0] == '\0')
		return spec->sandbox_keep_changes[0] == '\0'
			       ? 0
			       : mr_err(err, MR_E_USAGE, EINVAL,
					"%s: there is no workspace whose changes could be kept "
					"(--workspace DIR)",
					mr_spec_label(labels, MR_FIELD_sandbox_keep_changes));
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (strcmp(spec->mounts[i].dest, "/work") == 0)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "%s: its place /work is taken by a mount of type %s (--%s); "
				      "give that another place",
				      mr_spec_label(labels, MR_FIELD_sandbox_workspace),
				      mr_spec_mount_kind_name(spec->mounts[i].kind),
				      mr_spec_mount_kind_name(spec->mounts[i].kind));
	return 0;
}

static int check_stdin(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		       struct mr_error *err)
{
	if (spec->sandbox_tty && spec->sandbox_stdin_path[0] != '\0')
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: with a terminal (--tty) the input comes from it",
			      mr_spec_label(labels, MR_FIELD_sandbox_stdin_path));
	return 0;
}

/* What the mode makes no use of is no silent part of a request. */
static int check_allow(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		       struct mr_error *err)
{
	if (spec->net_mode == MR_NET_ALLOWLIST)
		return 0;
	if (spec->net_allow.n > 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "net.allow: rules are for %s=allowlist alone",
			      mr_spec_label(labels, MR_FIELD_net_mode));
	if (spec->net_resolver[0] != '\0')
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: is for %s=allowlist alone",
			      mr_spec_fields()[MR_FIELD_net_resolver].key,
			      mr_spec_label(labels, MR_FIELD_net_mode));
	return 0;
}

static int check_name(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		      struct mr_error *err)
{
	(void)labels;
	if (spec->name && strlen(spec->name) > NAME_MAX_BYTES)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "name: %zu bytes are too long; accepted: at most %d",
			      strlen(spec->name), NAME_MAX_BYTES);
	return 0;
}

static int check_pull(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		      struct mr_error *err)
{
	if (!spec->sandbox_pull || spec->sandbox_image[0])
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL, "%s: there is no image to fetch (%s)",
		      mr_spec_label(labels, MR_FIELD_sandbox_pull),
		      mr_spec_label(labels, MR_FIELD_sandbox_image));
}

int mr_spec_validate_labelled(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			      struct mr_error *err)
{
	static int (*const checks[])(const struct mr_spec *, const struct mr_spec_labels *,
				     struct mr_error *) = {
		check_program,	      check_lang,  check_level,
		check_workspace,      check_stdin, check_allow,
		mr_spec_check_mocks,  check_name,  mr_spec_check_net,
		mr_spec_check_faults, check_pull,  mr_spec_check_failures,
		mr_spec_check_vm,
	};

	for (size_t i = 0; i < N_ELEMENTS(checks); i++) {
		int r = checks[i](spec, labels, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int mr_spec_validate(const struct mr_spec *spec, struct mr_error *err)
{
	return mr_spec_validate_labelled(spec, NULL, err);
}
