/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggest: profiles for a module, by the words in its name and its text
 *
 * A name is divided into words where no letter is, between digits and letters, and
 * where small letters meet capitals; a keyword matches a whole word and nothing
 * else, so that "capital" is no "api".
 */
#include "runtime/scenario/suggest.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/profile.h"
#include "runtime/scenario/pynames.h"

#define WORD_MAX 64 /* no keyword is longer */
#define FOUND_MAX 128 /* bytes of a name that are told */
#define ROWS_MAX 100 /* matches of one keyword that are told: a text may be nothing else */

struct search {
	json_t *keywords; /* word: list of profiles, in the order of the table */
	json_t *matches;
	json_t *met; /* word: how often */
};

/* --- words ----------------------------------------------------------------- */

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of the word that begins here: "parse" of "parseHTTPHeader", then "HTTP", then "Header". */
static size_t word_length(const char *text, size_t n)
{
	size_t length = 1;

	if (is_digit(text[0])) {
		while (length < n && is_digit(text[length]))
			length++;
		return length;
	}
	while (length < n && is_upper(text[0]) && is_upper(text[length]))
		length++;
	if (length > 1) /* the last capital begins the next word if a small letter follows */
		return length < n && is_lower(text[length]) ? length - 1 : length;
	while (length < n && is_lower(text[length]))
		length++;
	return length;
}

/* --- the table ------------------------------------------------------------- */

static json_t *all_profiles(void)
{
	json_t *list = json_array();
	size_t n;
	const struct mr_profile *rows = mr_profile_rows(&n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(rows[i].name));
	return list;
}

static json_t *divide(const char *names)
{
	json_t *list = json_array();

	while (*names) {
		size_t n = strcspn(names, " ");

		json_array_append_new(list, json_stringn(names, n));
		names += n + (names[n] == ' ');
	}
	return list;
}

static json_t *builtin_keywords(void)
{
	static const struct {
		const char *word, *profiles;
	} rows[] = {
#define KEYWORD(word_, profiles_) { word_, profiles_ },
#include "runtime/scenario/keywords.def"
#undef KEYWORD
	};
	json_t *keywords = json_object();

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		json_object_set_new(keywords, rows[i].word,
				    strcmp(rows[i].profiles, "*") == 0 ? all_profiles()
								       : divide(rows[i].profiles));
	return keywords;
}

static int add_profile(json_t *list, const struct mr_json *json, struct mr_error *err)
{
	const struct mr_profile *profile = NULL;
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	r = mr_profile_find(name, &profile, err);
	if (r < 0)
		return mr_json_wrap(json, r, err);
	json_array_append_new(list, json_string(profile->name));
	return 0;
}

/* A keyword of more than one word, as names are divided, would never match. */
static int check_word(const struct mr_json *json, struct mr_error *err)
{
	const size_t n = strlen(json->key);
	bool good = n > 0 && n < WORD_MAX && (is_lower(json->key[0]) || is_digit(json->key[0]));

	if (good && word_length(json->key, n) == n)
		return 0;
	return mr_json_err(json, err,
			   "never matches; accepted: one word in small letters, or a number");
}

static int override(json_t *keywords, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_json json_t *list = json_array();
	int r = check_word(json, err);

	if (r == 0 && !json_is_array(json->value))
		r = add_profile(list, json, err);
	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);

		r = add_profile(list, &item, err);
	}
	if (r == 0)
		json_object_set(keywords, json->key, list);
	return r;
}

static int make_keywords(const struct mr_suggest_opts *opts, json_t *keywords, struct mr_error *err)
{
	const struct mr_json root = mr_json_root(opts->keywords, "keyword_profiles");
	const char *word;
	json_t *value;
	int r = root.value ? mr_json_want_object(&root, err) : 0;

	if (r < 0)
		return r;
	json_object_foreach (root.value, word, value) {
		struct mr_json member;

		mr_json_member(&root, word, &member);
		r = override(keywords, &member, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- matches ---------------------------------------------------------------- */

static void match_word(struct search *s, const char *word, size_t n, json_t *match)
{
	char lower[WORD_MAX];
	json_t *profiles, *row;
	json_int_t times;

	if (n >= sizeof(lower))
		return;
	for (size_t i = 0; i < n; i++)
		lower[i] = is_upper(word[i]) ? (char)(word[i] - 'A' + 'a') : word[i];
	lower[n] = '\0';
	profiles = json_object_get(s->keywords, lower);
	if (!profiles)
		return;
	times = json_integer_value(json_object_get(s->met, lower));
	json_object_set_new(s->met, lower, json_integer(times + 1));
	if (times >= ROWS_MAX)
		return;
	row = json_pack("{s:s, s:O}", "keyword", lower, "profiles", profiles);
	json_object_update(row, match);
	json_array_append_new(s->matches, row);
}

static void match_name(struct search *s, const char *where, const char *name, size_t n, size_t line)
{
	mr_auto_free char *found = mr_str_ndup(name, n < FOUND_MAX ? n : FOUND_MAX);
	char quoted[MR_STR_QUOTE_SIZE];
	mr_auto_json json_t *match =
		json_pack("{s:s, s:s, s:o}", "where", where, "found",
			  mr_str_utf8_valid(found, strlen(found))
				  ? found
				  : mr_str_quote(quoted, sizeof(quoted), found),
			  "line", line ? json_integer((json_int_t)line) : json_null());

	for (size_t i = 0; i < n;) {
		size_t length = 1;

		if (is_lower(name[i]) || is_upper(name[i]) || is_digit(name[i])) {
			length = word_length(name + i, n - i);
			match_word(s, name + i, length, match);
		}
		i += length;
	}
}

static void on_name(enum mr_pynames_kind kind, const char *name, size_t n, size_t line, void *owner)
{
	static const char *const wheres[] = {
		[MR_PYNAMES_IMPORT] = "import",
		[MR_PYNAMES_DECORATOR] = "decorator",
		[MR_PYNAMES_CONSTANT] = "constant",
	};

	match_name(owner, wheres[kind], name, n, line);
}

/* --- the whole ------------------------------------------------------------- */

static bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			return true;
	return false;
}

static void add_profiles(json_t *list, const json_t *profiles, const struct mr_suggest_opts *opts)
{
	for (size_t i = 0; i < json_array_size(profiles); i++) {
		const char *name = json_string_value(json_array_get(profiles, i));

		if (!has_text(list, name) &&
		    (opts->user_misuse || strcmp(name, MR_PROFILE_MISUSE) != 0))
			json_array_append_new(list, json_string(name));
	}
}

int mr_suggest(const char *name, const char *text, size_t size, const struct mr_suggest_opts *opts,
	       json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *keywords = builtin_keywords();
	mr_auto_json json_t *matches = json_array();
	mr_auto_json json_t *profiles = json_array();
	mr_auto_json json_t *met = json_object();
	struct search s = { keywords, matches, met };
	char quoted[MR_STR_QUOTE_SIZE];
	const char *word;
	json_t *value;
	int r = make_keywords(opts, keywords, err);

	if (r < 0)
		return r;
	match_name(&s, "path", name, strlen(name), 0);
	if (text)
		mr_pynames_each(text, size, on_name, &s);
	json_object_foreach (keywords, word, value)
		if (json_object_get(met, word))
			add_profiles(profiles, value, opts);
	if (json_array_size(matches) == 0) {
		mr_auto_json json_t *all = all_profiles();

		add_profiles(profiles, all, opts);
	}
	if (!mr_str_utf8_valid(name, strlen(name)))
		name = mr_str_quote(quoted, sizeof(quoted), name);
	*ret = json_pack("{s:s, s:O, s:O, s:b}", "name", name, "profiles", profiles, "matches",
			 matches, "fallback", json_array_size(matches) == 0);
	mr_assert(*ret);
	return 0;
}
