/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Place
 *
 * Only texts and folders: no database, so that menace-run can use it.  The refuge
 * is named by a hash of the store's path, for it serves any number of stores; of the
 * path as the kernel has it, since a run and who takes it in may spell it differently.
 */
#include "runtime/store/place.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/str.h"

#define ROOT_DB "/var/lib/menace/menace.db"
#define ROOT_REFUGE "/run/menace/spool"

/* A variable that holds an absolute path: others are ignored, as the XDG rules say. */
static const char *path_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static char *default_db(struct mr_error *err)
{
	const char *state = path_variable("XDG_STATE_HOME");
	const char *home = path_variable("HOME");

	if (geteuid() == 0)
		return mr_str_dup(ROOT_DB);
	if (state)
		return mr_str_format("%s/menace/menace.db", state);
	if (home)
		return mr_str_format("%s/.local/state/menace/menace.db", home);
	mr_err(err, MR_E_SYS, ENOENT,
	       "neither HOME nor XDG_STATE_HOME is set: name a store with --store, or --store "
	       "none");
	return NULL;
}

static char *make_absolute(const char *path, struct mr_error *err)
{
	char cwd[PATH_MAX];

	if (path[0] == '/')
		return mr_str_dup(path);
	if (!getcwd(cwd, sizeof(cwd))) {
		mr_err(err, MR_E_SYS, errno, "store %s: working directory: %m", path);
		return NULL;
	}
	return mr_str_format("%s/%s", cwd, path);
}

/* The path with its folder resolved, or as much of that as is there. */
static char *resolve(const char *db)
{
	mr_auto_free char *folder = mr_str_dup(db);

	for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
		mr_auto_free char *real = NULL;

		*slash = '\0';
		real = realpath(slash == folder ? "/" : folder, NULL);
		if (real)
			return mr_str_format("%s%s", strcmp(real, "/") == 0 ? "" : real,
					     db + (slash - folder));
	}
	return mr_str_dup(db);
}

static char *refuge_folder(void)
{
	const char *runtime = path_variable("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		return mr_str_dup(ROOT_REFUGE);
	return runtime ? mr_str_format("%s/menace/spool", runtime) : NULL;
}

static char *name_refuge(const char *folder, const char *db)
{
	char hex[MR_HASH_HEX_SIZE];

	mr_hash_hex(db, strlen(db), hex);
	return mr_str_format("%s/%.16s.spool", folder, hex);
}

static void set_refuge(struct mr_place *place)
{
	mr_auto_free char *folder = refuge_folder();
	mr_auto_free char *real = resolve(place->db);

	if (!folder)
		return;
	place->refuge = name_refuge(folder, real);
	if (strcmp(real, place->db) != 0)
		place->old_refuge = name_refuge(folder, place->db);
}

int mr_place_find(const char *choice, struct mr_place *ret, struct mr_error *err)
{
	char *db;

	if (!choice)
		choice = getenv("MENACE_STORE");
	if (choice && strcmp(choice, "none") == 0)
		return 1;
	if (choice && (choice[0] == '\0' || mr_str_ends_with(choice, "/")))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "the store is a file: its path, or none for no store");
	db = choice ? make_absolute(choice, err) : default_db(err);
	if (!db)
		return -ENOENT;
	*ret = (struct mr_place){ .db = db,
				  .spool = mr_str_format("%s.spool", db),
				  .aside = mr_str_format("%s.aside", db),
				  .is_default = !choice };
	set_refuge(ret);
	return 0;
}

void mr_place_deinit(struct mr_place *place)
{
	mr_freep(&place->db);
	mr_freep(&place->spool);
	mr_freep(&place->aside);
	mr_freep(&place->refuge);
	mr_freep(&place->old_refuge);
	*place = (struct mr_place){ 0 };
}

/* What others can write, others can put links, old records and a write-ahead log into; a sticky
 * bit only keeps what is there from them. */
static int judge_folder(const char *folder, struct mr_error *err)
{
	struct stat st;

	if (stat(folder, &st) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "folder %s: %m (make it, or choose another store with --store)",
			      folder);
	if (!S_ISDIR(st.st_mode))
		return mr_err(err, MR_E_SYS, ENOTDIR, "%s is not a folder", folder);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return mr_err(err, MR_E_DENIED, EPERM,
			      "folder %s belongs to user %u, who can put anything there: choose "
			      "another store with --store",
			      folder, st.st_uid);
	if ((st.st_mode & 0022) && (st.st_mode & S_ISVTX))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "folder %s can be written by others: make a folder of your own, and "
			      "choose a store in it with --store",
			      folder);
	if (st.st_mode & 0022)
		return mr_err(err, MR_E_DENIED, EPERM,
			      "folder %s can be written by others: take that right away (chmod "
			      "go-w), or choose another store with --store",
			      folder);
	return 0;
}

static char *folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash == file ? mr_str_dup("/") : mr_str_ndup(file, (size_t)(slash - file));
}

/* Those above `file` that are missing. */
static int make_folders(const char *file, struct mr_error *err)
{
	mr_auto_free char *folder = folder_of(file);
	mr_auto_free char *path = mr_str_dup(file);

	if (access(folder, F_OK) == 0)
		return 0; /* as nearly always, and each run asks */
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = mkdir(path, 0700) < 0 && errno != EEXIST
			    ? mr_err(err, MR_E_SYS, errno, "make folder %s: %m", path)
			    : 0;
		*slash = '/';
		if (r < 0 && err->errnum != EROFS) /* EROFS also where it is there already */
			return r;
	}
	return 0;
}

/* What can never be a database that is written takes no records, now or later. */
static int judge_db(const char *db, struct mr_error *err)
{
	struct stat st;

	if (lstat(db, &st) < 0)
		return errno == ENOENT ? 0 : mr_err(err, MR_E_SYS, errno, "store %s: %m", db);
	if (!S_ISREG(st.st_mode))
		return mr_err(err, MR_E_DENIED, EINVAL,
			      "store %s is not a regular file: choose another with --store", db);
	if (st.st_uid != geteuid())
		return mr_err(err, MR_E_DENIED, EPERM,
			      "store %s belongs to user %u, not to you: choose another with "
			      "--store",
			      db, st.st_uid);
	return 0;
}

int mr_place_prepare(const struct mr_place *place, struct mr_error *err)
{
	mr_auto_free char *folder = folder_of(place->db);
	int r;

	if (place->is_default) {
		r = make_folders(place->db, err);
		if (r < 0)
			return r;
	}
	r = judge_folder(folder, err);
	return r < 0 ? r : judge_db(place->db, err);
}

int mr_place_make_refuge(const struct mr_place *place, struct mr_error *err)
{
	int r;

	if (!place->refuge)
		return mr_err(err, MR_E_SYS, ENOENT, "no XDG_RUNTIME_DIR to spool to");
	r = make_folders(place->refuge, err);
	if (r < 0)
		return r;

	mr_auto_free char *folder = folder_of(place->refuge);

	return judge_folder(folder, err);
}
