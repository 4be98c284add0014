/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset: where presets come from and go to
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/scenario/profile.h"
#include "runtime/spec/spec.h"
#include "tools/cmd_preset.h"
#include "runtime/base/outfile.h"

#define DOCUMENT_MAX (16 << 20)

int mr_cmd_preset_write(const char *path, const json_t *document, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(document, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	struct mr_outfile file = MR_OUTFILE_INIT;
	int r;

	mr_assert(text);
	if (!path || strcmp(path, "-") == 0)
		return puts(text) < 0 ? mr_cmd_lost_output(errno, err) : 0;
	r = mr_outfile_open(path, 0644, &file, err);
	if (r == 0 && fprintf(file.stream, "%s\n", text) < 0)
		r = mr_err(err, MR_E_SYS, errno, "write %s: %m", path);
	if (r == 0)
		r = mr_outfile_commit(&file, err);
	mr_outfile_deinit(&file);
	return r;
}

static int read_stdin(json_t **ret, struct mr_error *err)
{
	mr_auto_free char *text = mr_str_alloc(DOCUMENT_MAX + 1);
	ssize_t n = mr_read_full(STDIN_FILENO, text, DOCUMENT_MAX + 1);

	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read standard input: %m");
	if (n > DOCUMENT_MAX)
		return mr_err(err, MR_E_USAGE, EFBIG, "standard input has more than 16 MiB");
	return mr_json_parse(text, (size_t)n, "standard input", ret, err);
}

static int read_file(const char *path, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_read_whole_file(path, DOCUMENT_MAX, &text, &size, err);

	if (r < 0 && err)
		err->code = MR_E_USAGE;
	return r < 0 ? r : mr_json_parse(text, size, path, ret, err);
}

static const char *find_builtin(const char *name)
{
	size_t n;
	const struct mr_spec_item *builtins = mr_preset_builtins(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(builtins[i].name, name) == 0)
			return builtins[i].text;
	return NULL;
}

/* "NAME" or "NAME:LEVEL" */
static int read_profile(const char *word, json_t **ret, struct mr_error *err)
{
	const size_t length = strcspn(word, ":");
	mr_auto_free char *name = mr_str_ndup(word, length);
	enum mr_profile_level level = MR_PROFILE_HIGH;
	const struct mr_profile *profile = NULL;
	int r = mr_profile_find(name, &profile, err);

	if (r == 0 && word[length])
		r = mr_profile_parse_level(word + length + 1, &level, err);
	if (r == 0)
		*ret = mr_profile_preset(profile, level);
	return r;
}

int mr_cmd_preset_read(const char *word, json_t **ret, const char **ret_source,
		       struct mr_error *err)
{
	const char *first = word + strspn(word, " \t\r\n");
	const char *builtin = find_builtin(word);
	int r;

	*ret_source = word;
	if (strcmp(word, "-") == 0) {
		*ret_source = "standard input";
		return read_stdin(ret, err);
	}
	if (*first && strchr("{[", *first)) {
		*ret_source = "text";
		return mr_json_parse(word, strlen(word), "text", ret, err);
	}
	if (builtin)
		return mr_json_parse(builtin, strlen(builtin), word, ret, err);
	if (strchr(word, '/') || access(word, F_OK) == 0)
		return read_file(word, ret, err);
	r = read_profile(word, ret, err);
	return r < 0 ? mr_err_wrap(err, r, "neither a file nor a built-in preset") : 0;
}

static int read_flag(const char *name, bool *ret, struct mr_error *err)
{
	const char *text = getenv(name);
	int r;

	if (!text || text[0] == '\0')
		return 0;
	r = mr_units_parse_flag(text, ret, err);
	return r < 0 ? mr_err_wrap(err, r, "%s", name) : 0;
}

int mr_cmd_preset_misuse(bool asked, bool *ret, struct mr_error *err)
{
	static const char *const admit[] = { "canonical", "chaos", "robustness" };
	const char *mode = getenv("SANDBOX_PRESET_MODE");
	int r;

	*ret = asked;
	if (asked)
		return 0;
	r = read_flag("SANDBOX_INCLUDE_USER_MISUSE", ret, err);
	for (size_t i = 0; mode && i < N_ELEMENTS(admit); i++)
		if (mr_str_equal_nocase(mode, admit[i]))
			*ret = true;
	return r;
}
