/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset suggest: profiles for modules
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/scenario/settings.h"
#include "runtime/scenario/suggest.h"
#include "runtime/spec/lang.h"
#include "tools/cmd_preset.h"
#include "tools/term.h"

#define MODULE_MAX (16 << 20)
#define SETTINGS_MAX (1 << 20)
#define SETTINGS_DEFAULT "sandbox_settings.yaml"

struct suggest {
	struct mr_cmd_common common;
	const char *settings, *root;
	bool explain, user_misuse;
	struct mr_suggest_opts opts;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("explain", 'e', NULL, FLAG, suggest, explain,
		   "tell which word matched, and where"),
	MR_CMD_ROW("root", 0, "DIR", PATH, suggest, root,
		   "where modules given by a dotted name are looked for; without it in "
		   "SANDBOX_REPO_PATH of the environment, else here"),
	MR_CMD_ROW("settings", 0, "FILE", PATH, suggest, settings,
		   "take keyword_profiles of this file (JSON or YAML) instead of the built-in "
		   "profiles of the words it has; without it of SANDBOX_SETTINGS_YAML of the "
		   "environment or sandbox_settings.yaml, if that is there"),
	MR_CMD_ROW("user-misuse", 0, NULL, FLAG, suggest, user_misuse,
		   "suggest misuse, too; also by SANDBOX_INCLUDE_USER_MISUSE and "
		   "SANDBOX_PRESET_MODE of the environment"),
	MR_CMD_ROW("json", 0, NULL, FLAG, suggest, common.json, "print JSON, one line a module"),
	MR_CMD_HELP_ROW(suggest),
};

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The file of a path or of a dotted name, malloc'd; NULL: there is none. */
static char *find_module(const struct suggest *s, const char *word)
{
	const char *root = s->root ? s->root : getenv("SANDBOX_REPO_PATH");
	mr_auto_free char *relative = mr_str_dup(word);
	mr_auto_free char *module = NULL;
	mr_auto_free char *package = NULL;

	if (is_file(word))
		return mr_str_dup(word);
	if (strchr(word, '/'))
		return NULL;
	for (char *c = relative; *c; c++)
		if (*c == '.')
			*c = '/';
	root = root && root[0] ? root : ".";
	module = mr_str_format("%s/%s.py", root, relative);
	package = mr_str_format("%s/%s/__init__.py", root, relative);
	if (is_file(module))
		return mr_take_ptr(module);
	return is_file(package) ? mr_take_ptr(package) : NULL;
}

static bool is_python(const char *path)
{
	const struct mr_lang *lang = mr_lang_of_path(path);

	return lang && strcmp(lang->name, "python") == 0;
}

static void print_suggestion(const struct suggest *s, const json_t *suggestion, const char *word,
			     bool several)
{
	const json_t *profiles = json_object_get(suggestion, "profiles");
	const json_t *matches = json_object_get(suggestion, "matches");

	for (size_t i = 0; i < json_array_size(profiles); i++) {
		if (several) {
			mr_term_put(MR_TERM_PLAIN, word);
			printf(": ");
		}
		printf("%s\n", json_string_value(json_array_get(profiles, i)));
	}
	for (size_t i = 0; s->explain && i < json_array_size(matches); i++) {
		const json_t *row = json_array_get(matches, i);
		const json_t *line = json_object_get(row, "line");
		const json_t *names = json_object_get(row, "profiles");

		printf("  \"%s\" in %s ", json_string_value(json_object_get(row, "keyword")),
		       json_string_value(json_object_get(row, "where")));
		mr_term_put(MR_TERM_PLAIN, json_string_value(json_object_get(row, "found")));
		if (json_is_integer(line))
			printf(" (line %lld)", (long long)json_integer_value(line));
		printf(":");
		for (size_t k = 0; k < json_array_size(names); k++)
			printf(" %s", json_string_value(json_array_get(names, k)));
		putchar('\n');
	}
	if (s->explain && json_is_true(json_object_get(suggestion, "fallback")))
		printf("  no word matched, so all profiles are suggested\n");
}

static int suggest_one(const struct suggest *s, const char *word, bool several,
		       struct mr_error *err)
{
	mr_auto_free char *path = find_module(s, word);
	mr_auto_json json_t *suggestion = NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = 0;

	if (!path && strchr(word, '/'))
		return mr_err(err, MR_E_USAGE, ENOENT, "%s: no such file", word);
	if (!path)
		mr_log_notice("%s: there is no such module here; only its name is looked at", word);
	else if (!is_python(path))
		mr_log_notice("%s: not Python; only its name is looked at", path);
	else
		r = mr_read_whole_file(path, MODULE_MAX, &text, &size, err);
	if (r == 0)
		r = mr_suggest(word, text, size, &s->opts, &suggestion, err);
	if (r < 0)
		return r;
	if (s->common.json)
		mr_cmd_print_line(suggestion);
	else
		print_suggestion(s, suggestion, word, several);
	return 0;
}

static int read_settings(const struct suggest *s, json_t **ret, struct mr_error *err)
{
	const char *variable = getenv("SANDBOX_SETTINGS_YAML");
	const char *path = s->settings;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r;

	*ret = NULL;
	if (!path) {
		path = variable && variable[0] ? variable : SETTINGS_DEFAULT;
		if (!is_file(path))
			return 0;
	}
	r = mr_read_whole_file(path, SETTINGS_MAX, &text, &size, err);
	if (r < 0)
		err->code = MR_E_USAGE;
	return r < 0 ? r : mr_settings_keywords(text, size, path, ret, err);
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct suggest *s = values;
	mr_auto_json json_t *keywords = NULL;
	int r = read_settings(s, &keywords, err);

	if (r == 0)
		r = mr_cmd_preset_misuse(s->user_misuse, &s->opts.user_misuse, err);
	s->opts.keywords = keywords;
	for (size_t i = 0; r == 0 && words[i]; i++)
		r = suggest_one(s, words[i], words[1] != NULL, err);
	return r;
}

const struct mr_cmd mr_cmd_preset_suggest = {
	.name = "preset suggest",
	.synopsis = "FILE|MODULE...",
	.summary = "Suggest profiles for Python modules by the words in their names and texts",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct suggest),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run,
};
