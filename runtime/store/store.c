/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store
 *
 * Opening costs no schema parse beyond the header's numbers, closing no checkpoint
 * (whoever commits past a thousand pages of log makes one).  What SQLite answers
 * is translated here, once, into what it means for the user and what to do.
 */
#include "runtime/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/store/internal.h"
#include "runtime/store/place.h"
#include "runtime/store/sections.h"

#define APPLICATION_ID 1835950949 /* "mnce"; set by schema.sql */

static const struct meaning {
	int rc; /* primary result code */
	enum mr_errc code;
	int errnum;
	const char *means;
} meanings[] = {
	{ SQLITE_BUSY, MR_E_BUSY, EBUSY, "is locked by another process; try again" },
	{ SQLITE_LOCKED, MR_E_BUSY, EBUSY, "is locked; try again" },
	{ SQLITE_FULL, MR_E_KERNEL, ENOSPC, "has no room; make room on its file system" },
	{ SQLITE_READONLY, MR_E_DENIED, EROFS,
	  "cannot be written; check its rights and its file system" },
	{ SQLITE_PERM, MR_E_DENIED, EACCES, "cannot be opened; check its rights" },
	{ SQLITE_AUTH, MR_E_USAGE, EPERM, "is only read here: no such operation is allowed" },
	{ SQLITE_CANTOPEN, MR_E_DENIED, EACCES,
	  "cannot be opened; check the rights of it and its folder" },
	{ SQLITE_CORRUPT, MR_E_PROTO, EUCLEAN,
	  "is damaged and was left as it is; put a good copy in its place, or move it away" },
	{ SQLITE_NOTADB, MR_E_PROTO, EUCLEAN,
	  "is no database or is damaged, and was left as it is; put a good copy in its place, or "
	  "move it away" },
	{ SQLITE_IOERR, MR_E_SYS, EIO, "cannot be read or written" },
	{ SQLITE_NOMEM, MR_E_SYS, ENOMEM, "needs more memory than there is" },
	{ SQLITE_INTERRUPT, MR_E_BUSY, ETIME, "took too long to answer" },
	{ SQLITE_CONSTRAINT, MR_E_USAGE, EINVAL, "does not accept this" },
	{ SQLITE_MISMATCH, MR_E_USAGE, EINVAL, "does not accept this" },
	{ SQLITE_TOOBIG, MR_E_USAGE, E2BIG, "does not accept anything so large" },
	{ SQLITE_ERROR, MR_E_USAGE, EINVAL, "does not understand this" },
};

int mr_store_fail(const struct mr_store *store, int rc, const char *doing, struct mr_error *err)
{
	char detail[160];

	/* What the database says is of its last error, which may be another. */
	snprintf(detail, sizeof(detail), "%s",
		 store->db && (sqlite3_errcode(store->db) & 0xff) == (rc & 0xff)
			 ? sqlite3_errmsg(store->db)
			 : sqlite3_errstr(rc));
	for (size_t i = 0; i < N_ELEMENTS(meanings); i++)
		if (meanings[i].rc == (rc & 0xff))
			return mr_err(err, meanings[i].code, meanings[i].errnum,
				      "%s: store %s %s (%s)", doing, store->path, meanings[i].means,
				      detail);
	return mr_err(err, MR_E_SYS, EIO, "%s: store %s: %s", doing, store->path, detail);
}

int mr_store_exec(struct mr_store *store, const char *sql, const char *doing, struct mr_error *err)
{
	int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : mr_store_fail(store, rc, doing, err);
}

int mr_store_get_int(struct mr_store *store, const char *sql, sqlite3_int64 *ret,
		     struct mr_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : mr_store_fail(store, rc, "read", err);
}

static sqlite3_stmt *prepare(struct mr_store *store, const char *name, struct mr_error *err)
{
	struct mr_section section;
	sqlite3_stmt *stmt = NULL;
	int rc;

	mr_assert(mr_section_find(mr_sql_statements, name, &section));
	mr_assert(store->n_cache < MR_STORE_STATEMENTS_MAX);
	rc = sqlite3_prepare_v3(store->db, section.text, (int)section.size,
				SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
	if (rc != SQLITE_OK) {
		mr_store_fail(store, rc, name, err);
		return NULL;
	}
	memcpy(store->cache[store->n_cache].name, section.name, sizeof(section.name));
	store->cache[store->n_cache++].stmt = stmt;
	return stmt;
}

sqlite3_stmt *mr_store_statement(struct mr_store *store, const char *name, struct mr_error *err)
{
	for (size_t i = 0; i < store->n_cache; i++) {
		if (strcmp(store->cache[i].name, name) != 0)
			continue;
		sqlite3_reset(store->cache[i].stmt);
		sqlite3_clear_bindings(store->cache[i].stmt);
		return store->cache[i].stmt;
	}
	return prepare(store, name, err);
}

const char *mr_store_path(const struct mr_store *store)
{
	return store->path;
}

/* --- transactions ---------------------------------------------------------- */

int mr_store_begin(struct mr_store *store, struct mr_error *err)
{
	return mr_store_exec(store, "BEGIN IMMEDIATE", "begin to write", err);
}

int mr_store_commit(struct mr_store *store, struct mr_error *err)
{
	int r = mr_store_exec(store, "COMMIT", "finish writing", err);

	if (r < 0)
		mr_store_rollback(store);
	return r;
}

void mr_store_rollback(struct mr_store *store)
{
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

int mr_store_set_durable(struct mr_store *store, bool durable, struct mr_error *err)
{
	return mr_store_exec(store,
			     durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
			     "set up", err);
}

int mr_store_spare_memory(struct mr_store *store, struct mr_error *err)
{
	return mr_store_exec(store, "PRAGMA cache_size = -256", "set up", err);
}

void mr_store_spend_memory(struct mr_store *store)
{
	sqlite3_exec(store->db, "PRAGMA cache_size = -2000", NULL, NULL, NULL); /* SQLite's own */
}

int mr_store_wipe_deleted(struct mr_store *store, struct mr_error *err)
{
	return mr_store_exec(store, "PRAGMA secure_delete = ON", "set up", err);
}

int mr_store_compact(struct mr_store *store, struct mr_error *err)
{
	return mr_store_exec(store, "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)",
			     "give space back", err);
}

/* --- schema ---------------------------------------------------------------- */

/* The name of a section of the schema is the version it leads to; any other is a bug. */
static int section_version(const struct mr_section *section)
{
	uint64_t version = 0;

	mr_assert(mr_units_parse_count(section->name, &version, NULL) == 0);
	mr_assert(version > 0 && version <= INT_MAX);
	return (int)version;
}

static int last_version(const char *sections)
{
	struct mr_section section;
	int version = 0;

	while (mr_section_next(&sections, &section))
		version = section_version(&section);
	return version;
}

/* A database without a version is ours to fill only when there is nothing in it. */
static int refuse_foreign(struct mr_store *store, struct mr_error *err)
{
	sqlite3_int64 tables = 0;
	int r = mr_store_get_int(store, "SELECT count(*) FROM sqlite_schema", &tables, err);

	if (r < 0 || tables == 0)
		return r;
	return mr_err(err, MR_E_PROTO, EEXIST,
		      "%s is a database of something else; choose another store", store->path);
}

/* In a transaction: another process may have done it meanwhile. */
static int apply_sections(struct mr_store *store, const char *sections, struct mr_error *err)
{
	sqlite3_int64 version = 0;
	struct mr_section section;
	char sql[80];
	int r = mr_store_get_int(store, "PRAGMA user_version", &version, err);

	if (r == 0 && version == 0)
		r = refuse_foreign(store, err);
	while (r == 0 && mr_section_next(&sections, &section)) {
		mr_auto_free char *text = mr_str_ndup(section.text, section.size);
		int to = section_version(&section);

		if (to <= version)
			continue;
		snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", to);
		r = mr_store_exec(store, text, "bring to the present schema", err);
		if (r == 0)
			r = mr_store_exec(store, sql, "bring to the present schema", err);
	}
	return r;
}

int mr_store_migrate(struct mr_store *store, const char *sections, struct mr_error *err)
{
	int r = mr_store_begin(store, err);

	if (r < 0)
		return r;
	r = apply_sections(store, sections, err);
	if (r < 0) {
		mr_store_rollback(store);
		return r;
	}
	return mr_store_commit(store, err);
}

/* What kind of database it is, by the numbers of its header alone. */
static int judge_version(struct mr_store *store, enum mr_store_mode mode, struct mr_error *err)
{
	sqlite3_int64 version = 0, application = 0;
	int r = mr_store_get_int(store, "PRAGMA user_version", &version, err);

	if (r == 0)
		r = mr_store_get_int(store, "PRAGMA application_id", &application, err);
	if (r < 0)
		return r;
	if (version > 0 && application != APPLICATION_ID)
		return mr_err(err, MR_E_PROTO, EEXIST,
			      "%s is a database of something else; choose another store",
			      store->path);
	if (version > last_version(mr_sql_schema))
		return mr_err(err, MR_E_PROTO, EPROTONOSUPPORT,
			      "store %s has schema version %lld, this program knows up to %d: use "
			      "a "
			      "newer one",
			      store->path, (long long)version, last_version(mr_sql_schema));
	if (version == last_version(mr_sql_schema))
		return 0;
	if (mode == MR_STORE_READ)
		return version == 0
			       ? 1
			       : mr_err(err, MR_E_PROTO, ESTALE,
					"store %s has schema version %lld and cannot be brought to "
					"%d while it is only read; menace ingest does, with the "
					"right to write it",
					store->path, (long long)version,
					last_version(mr_sql_schema));
	r = mr_store_exec(store, "PRAGMA auto_vacuum = INCREMENTAL", "make the store", err);
	return r < 0 ? r : mr_store_migrate(store, mr_sql_schema, err);
}

/* --- opening --------------------------------------------------------------- */

/* SQLite would make it readable by all. */
static int make_file(const char *path, struct mr_error *err)
{
	mr_auto_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 || errno == EEXIST)
		return 0;
	return mr_err(err, errno == ENOSPC ? MR_E_KERNEL : MR_E_DENIED, errno, "make store %s: %m",
		      path);
}

static int set_up(struct mr_store *store, unsigned int busy_ms)
{
	static const int off[] = { SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
				   SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL };
	static const int on[] = { SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, SQLITE_DBCONFIG_DEFENSIVE };
	int rc = sqlite3_busy_timeout(store->db, (int)busy_ms);

	for (size_t i = 0; i < N_ELEMENTS(off) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(store->db, off[i], 0, NULL);
	for (size_t i = 0; i < N_ELEMENTS(on) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(store->db, on[i], 1, NULL);
	return rc;
}

static bool is_empty_or_missing(const char *path, const char *suffix)
{
	mr_auto_free char *name = mr_str_format("%s%s", path, suffix);
	struct stat st;

	return stat(name, &st) < 0 || st.st_size == 0;
}

/* A path as an URI: what is not plain is escaped. */
static char *make_uri(const char *path, const char *parameters)
{
	mr_auto_free char *escaped = mr_str_alloc(strlen(path) * 3 + 1);
	char *out = escaped;

	for (; *path; path++) {
		if (strchr("%?#", *path))
			out += snprintf(out, 4, "%%%02X", (unsigned char)*path);
		else
			*out++ = *path;
	}
	return mr_str_format("file:%s%s", escaped, parameters);
}

static int connect_db(struct mr_store *store, int flags, const char *parameters,
		      unsigned int busy_ms, struct mr_error *err)
{
	mr_auto_free char *uri = make_uri(store->path, parameters);
	int rc = sqlite3_open_v2(uri, &store->db,
				 flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
					 SQLITE_OPEN_URI,
				 NULL);

	if (rc == SQLITE_OK)
		rc = set_up(store, busy_ms);
	return rc == SQLITE_OK ? 0 : mr_store_fail(store, rc, "open", err);
}

static int open_read(struct mr_store *store, unsigned int busy_ms, struct mr_error *err)
{
	struct mr_error first = MR_ERROR_INIT;
	int r = connect_db(store, SQLITE_OPEN_READONLY, "", busy_ms, err);

	if (r == 0)
		r = judge_version(store, MR_STORE_READ, err);
	if (r >= 0 || err->code != MR_E_DENIED || !is_empty_or_missing(store->path, "-wal"))
		return r;
	/* A folder that takes no -shm file: with nothing in the log the file alone is the truth. */
	first = *err;
	sqlite3_close_v2(store->db);
	store->db = NULL;
	r = connect_db(store, SQLITE_OPEN_READONLY, "?immutable=1", busy_ms, err);
	if (r == 0)
		r = judge_version(store, MR_STORE_READ, err);
	if (r < 0 && r != -ESTALE)
		*err = first;
	return r;
}

static int open_write(struct mr_store *store, const struct mr_place *place, unsigned int busy_ms,
		      struct mr_error *err)
{
	int r = mr_place_prepare(place, err);

	if (r == 0 && access(store->path, F_OK) < 0)
		r = make_file(store->path, err);
	if (r == 0)
		r = connect_db(store, SQLITE_OPEN_READWRITE, "", busy_ms, err);
	if (r == 0)
		r = judge_version(store, MR_STORE_WRITE, err);
	if (r < 0)
		return r;
	r = mr_store_exec(store, "PRAGMA journal_mode = WAL", "set up", err);
	if (r < 0 && err->code != MR_E_BUSY) /* else: it has been made this moment; next time */
		return r;
	return mr_store_set_durable(store, false, err);
}

int mr_store_open(const struct mr_place *place, enum mr_store_mode mode, unsigned int busy_ms,
		  struct mr_store **ret, struct mr_error *err)
{
	mr_auto_store struct mr_store *store = mr_str_alloc(sizeof(*store));
	struct stat st;
	int r = stat(place->db, &st);

	store->path = mr_str_dup(place->db);
	if (mode == MR_STORE_READ && r < 0 && errno == ENOENT)
		return 1;
	if (r == 0 && !S_ISREG(st.st_mode)) /* to open a fifo is to wait */
		return mr_err(err, MR_E_DENIED, EINVAL, "store %s is not a regular file",
			      place->db);
	if (mode == MR_STORE_READ)
		r = open_read(store, busy_ms, err);
	else
		r = open_write(store, place, busy_ms, err);
	if (r == 0)
		*ret = mr_take_ptr(store);
	return r;
}

int mr_store_open_memory(struct mr_store **ret, struct mr_error *err)
{
	mr_auto_store struct mr_store *store = mr_str_alloc(sizeof(*store));
	int rc, r;

	store->path = mr_str_dup("in memory");
	rc = sqlite3_open_v2(":memory:", &store->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     NULL);
	if (rc != SQLITE_OK)
		return mr_store_fail(store, rc, "open", err);
	r = mr_store_migrate(store, mr_sql_schema, err);
	if (r == 0)
		*ret = mr_take_ptr(store);
	return r;
}

struct mr_store *mr_store_close(struct mr_store *store)
{
	if (!store)
		return NULL;
	for (size_t i = 0; i < store->n_cache; i++)
		sqlite3_finalize(store->cache[i].stmt);
	if (store->db)
		mr_store_rollback(store);
	sqlite3_close_v2(store->db);
	free(store->path);
	free(store);
	return NULL;
}
