/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure mode user_misuse
 *
 * What a careless user hands to a program, decided before it is started and made outside of it: its
 * arguments and variables are others in the request that it is launched by, and files of its workspace are
 * hidden, denied or damaged by a layer above the workspace (runtime/launch/layer.h).  The workspace itself
 * is never changed, and nothing of it counts as the payload's change.
 *
 * Occasions, in this order, which with the seed decides all:
 *
 *   arguments      there is one of the program's own: one is left out, doubled or of another type, or an
 *                  option is added that no program has
 *   path           an argument that leads to something in the workspace: it is gone, or denied
 *   configuration  a file of the workspace that is one by its name: cut, with a bit flipped, or empty
 *   environment    a variable that the request sets: of another type, empty, or not there
 *
 * The result names what was changed and how, by place and name, and never a value: one may be a secret.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/launch/layer.h"
#include "runtime/supervise/misuse.h"
#include "runtime/supervise/state.h"

#define CONFIGURATION_MAX (1U << 20) /* bytes of one; a longer file is no occasion */
#define CONFIGURATIONS_MAX 256
#define DEPTH_MAX 8
#define LOOKED_AT_MAX \
	20000 /* names in which configurations are looked for: other runs wait meanwhile */
#define NO_OPTION "--no-such-option"

/* Which kinds are asked for: all by the name of the mode, one by a flag. */
enum {
	KIND_COUNT = 1 << 0, /* arguments left out and doubled */
	KIND_OPTION = 1 << 1,
	KIND_TYPE = 1 << 2, /* arguments and variables of another type */
	KIND_PATH = 1 << 3,
	KIND_CONFIGURATION = 1 << 4,
	KIND_ENVIRONMENT = 1 << 5, /* variables empty or not there */
	KIND_ALL = (1 << 6) - 1,
};

struct misuse {
	struct mr_run *run;
	struct mr_failure *failure;
	unsigned int kinds;
	struct mr_spec spec; /* what is launched */
	struct mr_layer layer;
	size_t layer_cap;
	int workspace; /* -1: there is none */
	size_t n_looked_at;
	bool cut; /* not everything that may be a configuration was looked at */
	json_t *told;
};

static unsigned int kinds_of(const struct mr_spec *spec)
{
	if (mr_spec_names_failure(spec, MR_FAILURE_user_misuse))
		return KIND_ALL;
	return (spec->failure_invalid_config ? KIND_CONFIGURATION : 0) |
	       (spec->failure_invalid_param_types ? KIND_TYPE : 0) |
	       (spec->failure_unexpected_api_calls ? KIND_OPTION : 0);
}

static bool fires(struct misuse *m)
{
	return mr_failure_fires(m->run, m->failure);
}

static size_t draw(struct misuse *m, size_t n)
{
	return (size_t)mr_rand_below(&m->failure->rand, n);
}

static json_t *text_json(const char *text)
{
	return mr_str_utf8_valid(text, strlen(text)) ? json_string(text) : json_null();
}

static void tell(struct misuse *m, const char *what, const char *class, const char *key,
		 json_t *value)
{
	json_t *row = json_pack("{s:s, s:s}", "what", what, "class", class);

	json_object_set_new(row, key, value);
	json_array_append_new(m->told, row);
}

static void remove_at(struct mr_strv *strv, size_t at)
{
	free(strv->v[at]);
	/* with the NULL behind the last */
	memmove(strv->v + at, strv->v + at + 1, (strv->n - at) * sizeof(*strv->v));
	strv->n--;
}

static void insert_at(struct mr_strv *strv, size_t at, const char *text)
{
	char *last;

	mr_strv_add(strv, text);
	last = strv->v[strv->n - 1];
	memmove(strv->v + at + 1, strv->v + at, (strv->n - 1 - at) * sizeof(*strv->v));
	strv->v[at] = last;
}

static void replace_at(struct mr_strv *strv, size_t at, const char *text)
{
	free(strv->v[at]);
	strv->v[at] = mr_str_dup(text);
}

/* --- arguments ----------------------------------------------------------------------------- */

static bool is_interpreter(const char *program)
{
	static const char *const names[] = { "python", "perl", "ruby", "node", "php", "lua",
					     "bash",   "dash", "zsh",  "ksh",  "sh",  "java" };
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		const size_t n = strlen(names[i]);

		if (strncmp(name, names[i], n) == 0 &&
		    name[n + strspn(name + n, "0123456789.")] == '\0')
			return true;
	}
	return false;
}

/* The word behind the commands of "sh -c" is a name and no argument. */
static bool is_shell(const char *program)
{
	return mr_str_ends_with(program, "sh");
}

/* Without the file that it runs an interpreter is another program, and not the same one misused. */
size_t mr_misuse_first_own(const struct mr_spec *spec)
{
	static const char *const programs[] = { "-c", "-m", "-e", "-jar" };
	static const char *const taking[] = { "-W", "-X", "-r", "-I", "-o", "-cp" };
	const struct mr_strv *argv = &spec->argv;
	size_t i = 1;

	if (spec->snippet_path || spec->snippet_code)
		return 0;
	if (argv->n == 0 || !is_interpreter(argv->v[0]))
		return 1;
	while (i < argv->n && argv->v[i][0] == '-' && argv->v[i][1] != '\0') {
		for (size_t j = 0; j < N_ELEMENTS(programs); j++)
			if (strcmp(argv->v[i], programs[j]) == 0)
				return i + 2 + (j == 0 && is_shell(argv->v[0]));
		for (size_t j = 0; j < N_ELEMENTS(taking); j++)
			if (strcmp(argv->v[i], taking[j]) == 0) {
				i++;
				break;
			}
		i++;
	}
	return i + 1;
}

const char *mr_misuse_wrong_value(const char *text)
{
	const char *digits = text + (text[0] == '-' || text[0] == '+');
	const bool is_number = digits[0] && digits[strspn(digits, "0123456789.")] == '\0';

	return is_number ? "not_a_number" : "123";
}

static void change_arguments(struct misuse *m)
{
	enum class { LEFT_OUT, DOUBLED, OPTION, TYPE };
	static const char *const names[] = { "left-out", "doubled", "unknown-option",
					     "wrong-type" };
	struct mr_strv *argv = &m->spec.argv;
	const size_t first = mr_misuse_first_own(&m->spec);
	enum class classes[4];
	size_t n = 0, at;

	if (m->kinds & KIND_COUNT) {
		classes[n++] = LEFT_OUT;
		classes[n++] = DOUBLED;
	}
	if (m->kinds & KIND_OPTION)
		classes[n++] = OPTION;
	if (m->kinds & KIND_TYPE)
		classes[n++] = TYPE;
	if (n == 0 || argv->n <= first || !fires(m))
		return;
	n = draw(m, n);
	at = first + draw(m, argv->n - first);
	tell(m, "arguments", names[classes[n]], "argument",
	     json_integer((json_int_t)at - (json_int_t)first + 1));
	switch (classes[n]) {
	case LEFT_OUT:
		remove_at(argv, at);
		break;
	case DOUBLED:
		insert_at(argv, at, argv->v[at]);
		break;
	case OPTION:
		insert_at(argv, at, NO_OPTION);
		break;
	case TYPE:
		replace_at(argv, at, mr_misuse_wrong_value(argv->v[at]));
		break;
	}
}

/* --- files of the workspace -------------------------------------------------------------- */

static int open_beneath(const struct misuse *m, const char *path, int flags)
{
	const struct open_how how = { .flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
						 RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, m->workspace, path, &how, sizeof(how));
}

static void open_workspace(struct misuse *m)
{
	if (m->spec.sandbox_workspace[0])
		m->workspace = open(m->spec.sandbox_workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Of "a//./b" what is "a/b"; NULL: it goes up, or is the workspace itself. */
static char *plain_path(const char *path)
{
	char *plain = mr_str_alloc(strlen(path) + 2);
	size_t n = 0;

	while (*path) {
		const size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			free(plain);
			return NULL;
		}
		if (len > 0 && !(len == 1 && path[0] == '.')) {
			if (n > 0)
				plain[n++] = '/';
			memcpy(plain + n, path, len);
			n += len;
		}
		path += len + (path[len] == '/');
	}
	plain[n] = '\0';
	if (n > 0)
		return plain;
	free(plain);
	return NULL;
}

char *mr_misuse_path(const struct mr_spec *spec, const char *argument)
{
	static const char work[] = "/work";
	const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
	const char *text = equals ? equals + 1 : argument;
	mr_auto_free char *whole = NULL;

	if (text[0] == '\0' || (argument[0] == '-' && !equals))
		return NULL;
	whole = text[0] == '/' ? mr_str_dup(text) : mr_str_format("%s/%s", spec->sandbox_cwd, text);
	return mr_str_is_under(whole, work) ? plain_path(whole + strlen(work)) : NULL;
}

static bool touches(const char *a, const char *b)
{
	return mr_str_is_under(a, b) || mr_str_is_under(b, a);
}

/* Of two changes of one file only the first could be seen. */
static bool is_changed(const struct misuse *m, const char *path)
{
	for (size_t i = 0; i < m->layer.n; i++)
		if (touches(m->layer.v[i].path, path))
			return true;
	return false;
}

/* What the program is, and not what it is given. */
static bool is_program(const struct misuse *m, const char *path)
{
	const size_t first = mr_misuse_first_own(&m->spec);

	for (size_t i = 0; i < first && i < m->spec.argv.n; i++) {
		mr_auto_free char *word = mr_misuse_path(&m->spec, m->spec.argv.v[i]);

		if (word && touches(word, path))
			return true;
	}
	return false;
}

static struct mr_layer_file *add_file(struct misuse *m, const char *path, enum mr_layer_kind kind)
{
	struct mr_layer_file *file;

	m->layer.v = mr_str_grow(m->layer.v, m->layer.n, &m->layer_cap, sizeof(*m->layer.v));
	file = &m->layer.v[m->layer.n++];
	*file = (struct mr_layer_file){ .path = mr_str_dup(path), .kind = kind };
	return file;
}

static json_t *path_json(const char *path)
{
	mr_auto_free char *inside = mr_str_format("/work/%s", path);

	return text_json(inside);
}

static bool is_there(const struct misuse *m, const char *path)
{
	mr_auto_close int fd = open_beneath(m, path, O_PATH);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static void hide_path(struct misuse *m, const char *path)
{
	/* Level 1 keeps the capability that opens what is denied. */
	const bool denied = draw(m, 2) == 1 && m->spec.sandbox_level > 1;

	add_file(m, path, denied ? MR_LAYER_DENIED : MR_LAYER_GONE);
	tell(m, "path", denied ? "denied" : "missing", "path", path_json(path));
}

static bool is_asked_before(const struct misuse *m, size_t before, const char *path)
{
	for (size_t i = mr_misuse_first_own(&m->spec); i < before; i++) {
		mr_auto_free char *other = mr_misuse_path(&m->spec, m->spec.argv.v[i]);

		if (other && strcmp(other, path) == 0)
			return true;
	}
	return false;
}

static void change_paths(struct misuse *m)
{
	const struct mr_strv *argv = &m->spec.argv;

	if (!(m->kinds & KIND_PATH) || m->workspace < 0)
		return;
	for (size_t i = mr_misuse_first_own(&m->spec); i < argv->n; i++) {
		mr_auto_free char *path = mr_misuse_path(&m->spec, argv->v[i]);

		if (path && !is_asked_before(m, i, path) && !is_changed(m, path) &&
		    !is_program(m, path) && is_there(m, path) && fires(m))
			hide_path(m, path);
	}
}

/* --- configuration ------------------------------------------------------------------------- */

bool mr_misuse_is_configuration(const char *name)
{
	static const char *const ends[] = { ".json", ".yaml", ".yml", ".toml",	     ".ini",
					    ".conf", ".cfg",  ".env", ".properties", ".xml" };

	if (strcmp(name, ".env") == 0)
		return true;
	if (name[0] == '.')
		return false;
	for (size_t i = 0; i < N_ELEMENTS(ends); i++)
		if (mr_str_ends_with(name, ends[i]))
			return true;
	return false;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_configuration(const struct misuse *m, const char *path, char **ret,
			       size_t *ret_size)
{
	mr_auto_close int fd = open_beneath(m, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	*ret = NULL;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > CONFIGURATION_MAX)
		return;
	*ret = mr_str_alloc((size_t)st.st_size);
	n = mr_read_full(fd, *ret, (size_t)st.st_size);
	if (n <= 0)
		mr_freep(ret);
	*ret_size = n > 0 ? (size_t)n : 0;
}

/* Names of one folder, sorted, since a folder's own order is no order; those that begin with a dot are
 * nobody's configuration of a program, but for ".env". */
static void list_names(struct misuse *m, const char *folder, struct mr_strv *ret)
{
	mr_auto_close int fd = open_beneath(m, folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir)
		return;
	fd = -1; /* the stream's */
	while ((entry = readdir(dir)) && ret->n <= LOOKED_AT_MAX)
		if (entry->d_name[0] != '.' || strcmp(entry->d_name, ".env") == 0)
			mr_strv_add(ret, entry->d_name);
	closedir(dir);
	if (ret->n > LOOKED_AT_MAX) { /* the first of so many would be others each time */
		mr_strv_clear(ret);
		m->cut = true;
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_texts);
}

/* At one more name.  They come in order, so that the same workspace is cut at the same place. */
static bool may_look(struct misuse *m, const struct mr_strv *found)
{
	const bool may = m->n_looked_at < LOOKED_AT_MAX && found->n < CONFIGURATIONS_MAX;

	m->n_looked_at += may;
	m->cut |= !may;
	return may;
}

/* Everything that is one by its name, below a folder ("": all). */
static void find_configurations(struct misuse *m, const char *folder, unsigned int depth,
				struct mr_strv *ret)
{
	struct mr_strv names = { 0 };

	list_names(m, folder, &names);
	for (size_t i = 0; i < names.n && may_look(m, ret); i++) {
		mr_auto_free char *path =
			mr_str_format("%s%s%s", folder, folder[0] ? "/" : "", names.v[i]);
		mr_auto_close int fd = open_beneath(m, path, O_PATH);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			find_configurations(m, path, depth + 1, ret);
		else if (S_ISREG(st.st_mode) && mr_misuse_is_configuration(names.v[i]))
			mr_strv_add(ret, path);
	}
	mr_strv_clear(&names);
}

static void damage(struct misuse *m, const char *path, char *bytes, size_t size)
{
	static const char *const names[] = { "cut", "flipped", "empty" };
	const size_t class = draw(m, N_ELEMENTS(names)), at = draw(m, size);
	const unsigned int bit = (unsigned int)draw(m, 8);
	struct mr_layer_file *file = add_file(m, path, MR_LAYER_BYTES);

	file->size = class == 0 ? at : class == 1 ? size : 0;
	if (class == 1)
		bytes[at] = (char)((unsigned char)bytes[at] ^ (1U << bit));
	file->bytes = bytes;
	tell(m, "configuration", names[class], "path", path_json(path));
}

static void change_configuration(struct misuse *m)
{
	struct mr_strv paths = { 0 };
	size_t left = MR_LAYER_BYTES_MAX;

	if (!(m->kinds & KIND_CONFIGURATION) || m->workspace < 0)
		return;
	find_configurations(m, "", 0, &paths);
	for (size_t i = 0; i < paths.n; i++) {
		mr_auto_free char *bytes = NULL;
		size_t size = 0;

		if (is_changed(m, paths.v[i]) || is_program(m, paths.v[i]))
			continue;
		read_configuration(m, paths.v[i], &bytes, &size);
		if (!bytes || size > left || !fires(m))
			continue;
		left -= size;
		damage(m, paths.v[i], mr_take_ptr(bytes), size);
	}
	mr_strv_clear(&paths);
}

/* --- environment ----------------------------------------------------------------------------- */

/* What the program is found and started by is not the user's to get wrong. */
static bool is_of_the_system(const char *assignment)
{
	static const char *const names[] = { "PATH=",	 "HOME=", "TMPDIR=", "SHELL=",
					     "USER=",	 "TERM=", "LANG=",   "LC_",
					     "LOGNAME=", "LD_",	  "PYTHON" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (mr_str_starts_with(assignment, names[i]))
			return true;
	return false;
}

/* True: it is gone. */
static bool change_variable(struct misuse *m, size_t at)
{
	enum class { TYPE, EMPTY, UNSET };
	static const char *const names[] = { "wrong-type", "empty", "unset" };
	struct mr_strv *env = &m->spec.env;
	const size_t n = strcspn(env->v[at], "=");
	mr_auto_free char *name = mr_str_ndup(env->v[at], n);
	mr_auto_free char *wrong =
		mr_str_format("%s=%s", name, mr_misuse_wrong_value(env->v[at] + n + 1));
	mr_auto_free char *empty = mr_str_format("%s=", name);
	const enum class class =
		(m->kinds & KIND_ENVIRONMENT) ? (enum class)draw(m, N_ELEMENTS(names)) : TYPE;

	tell(m, "environment", names[class], "name", text_json(name));
	if (class == UNSET)
		remove_at(env, at);
	else
		replace_at(env, at, class == TYPE ? wrong : empty);
	return class == UNSET;
}

static void change_environment(struct misuse *m)
{
	size_t i = 0;

	if (!(m->kinds & (KIND_ENVIRONMENT | KIND_TYPE)))
		return;
	while (i < m->spec.env.n)
		if (is_of_the_system(m->spec.env.v[i]) || !fires(m) || !change_variable(m, i))
			i++;
}

/* --- the mode -------------------------------------------------------------------------------- */

void mr_inject_misuse(struct mr_run *run, struct mr_launch_opts *opts)
{
	struct mr_failure *f = mr_failures_find(run, MR_FAILURE_user_misuse);
	struct misuse *m;

	if (!f)
		return;
	m = mr_str_alloc(sizeof(*m));
	f->state = m;
	*m = (struct misuse){ .run = run, .failure = f, .workspace = -1, .told = json_array() };
	mr_spec_copy(&m->spec, run->spec);
	m->kinds = kinds_of(run->spec);
	open_workspace(m);
	change_arguments(m);
	change_paths(m);
	change_configuration(m);
	change_environment(m);
	opts->spec = &m->spec;
	opts->layer = &m->layer;
}

static void tell_misuse(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct misuse *m = f->state;

	(void)run;
	json_object_set(object, "changes", m->told);
	if (m->cut)
		json_object_set_new(object, "cut", json_true());
}

static void free_misuse(struct mr_run *run, struct mr_failure *f)
{
	struct misuse *m = f->state;

	(void)run;
	mr_close(m->workspace);
	for (size_t i = 0; i < m->layer.n; i++) {
		free(m->layer.v[i].path);
		free(m->layer.v[i].bytes);
	}
	free(m->layer.v);
	mr_spec_deinit(&m->spec);
	json_decref(m->told);
	free(m);
}

const struct mr_injector mr_inject_user_misuse = {
	.mode = MR_FAILURE_user_misuse,
	.tell = tell_misuse,
	.free = free_misuse,
};
