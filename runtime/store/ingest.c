/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingest
 *
 * Each batch is one transaction, each record a savepoint in it.  A record that the
 * database refuses for what it says is put aside like a torn one; a database that
 * fails (full, damaged, locked) ends the whole and leaves the files.
 */
#include "runtime/store/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/chain.h"
#include "runtime/store/internal.h"
#include "runtime/store/place.h"
#include "runtime/store/query.h"
#include "runtime/store/record.h"
#include "runtime/store/rows.h"
#include "runtime/store/spool.h"
#include "runtime/store/store.h"

#define BATCH 256
#define READ_MAX (128 << 10) /* bytes of the file that stay in memory once they are taken in */

struct ingest {
	const struct mr_place *place;
	struct mr_store *store;
	struct mr_ingest_stats *stats;
	const struct mr_ingest_watch *watch; /* or NULL */
	const char *path; /* present file */
	char *buf;
	size_t size, dropped; /* bytes at its beginning that are no more in memory */
	struct mr_error unread; /* of the first file that is passed over */
};

static int write_aside(const char *path, const char *source, const struct mr_spool_piece *piece,
		       const char *why, struct mr_error *err)
{
	mr_auto_close int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		     0600);
	mr_auto_free char *head = mr_str_format("# %s: %s, %zu bytes\n", source, why, piece->size);
	int r = fd < 0 ? -errno : mr_write_full(fd, head, strlen(head));

	if (r == 0)
		r = mr_write_full(fd, piece->text, piece->size);
	if (r == 0)
		r = mr_write_full(fd, "\n", 1);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r == 0 ? 0 : mr_err(err, MR_E_SYS, -r, "keep aside in %s: %m", path);
}

/* Kept for people and counted in the chain; once, however often the file is begun. */
static int put_aside(struct ingest *in, const struct mr_spool_piece *piece, const char *why,
		     struct mr_error *err)
{
	mr_auto_free char *place = mr_str_format("%s:%zu", strrchr(in->path, '/') + 1,
						 (size_t)(piece->text - in->buf));
	mr_auto_json json_t *source = mr_rows_text(place, strlen(place));
	mr_auto_json json_t *reason = mr_rows_text(why, strlen(why));
	mr_auto_json json_t *data = json_pack("{s:O, s:O, s:I}", "source", source, "reason", reason,
					      "bytes", (json_int_t)piece->size);
	mr_auto_json json_t *known = NULL;
	int64_t seq = 0;
	int r = mr_query_one(in->store, "loss.find", json_pack("{s:O}", "source", source), &known,
			     err);

	if (r <= 0)
		return r;
	r = write_aside(in->place->aside, place, piece, why, err);
	if (r == 0)
		r = mr_chain_append(in->store, "loss", json_string_value(source), data, &seq, err);
	if (r < 0)
		return r;
	in->stats->aside++;
	return mr_query_run(in->store, "loss.insert",
			    json_pack("{s:I, s:O, s:O, s:I}", "seq", (json_int_t)seq, "source",
				      source, "reason", reason, "bytes", (json_int_t)piece->size),
			    err);
}

static int insert_text(struct ingest *in, const struct mr_spool_piece *piece, struct mr_error *err)
{
	mr_auto_json json_t *record = NULL;
	int r = mr_json_parse(piece->text, piece->size, "record", &record, err);

	return r < 0 ? r : mr_record_insert(in->store, record, err);
}

static int take_piece(struct ingest *in, const struct mr_spool_piece *piece, struct mr_error *err)
{
	struct mr_error why = MR_ERROR_INIT;
	int r;

	if (piece->why)
		return put_aside(in, piece, piece->why, err);
	r = mr_store_exec(in->store, "SAVEPOINT record", "take in", err);
	if (r < 0)
		return r;
	r = insert_text(in, piece, &why);
	if (r >= 0) {
		in->stats->records += r == 0;
		in->stats->known += r == 1;
		return mr_store_exec(in->store, "RELEASE record", "take in", err);
	}
	if (why.code != MR_E_USAGE) {
		*err = why;
		return r;
	}
	r = mr_store_exec(in->store, "ROLLBACK TO record; RELEASE record", "take in", err);
	return r < 0 ? r : put_aside(in, piece, why.msg, err);
}

/* A large file is read through, not kept: what is before `at` goes from memory, though not from the map. */
static void drop_read(struct ingest *in, size_t at)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (at - in->dropped < READ_MAX)
		return;
	at -= at % page;
	madvise(in->buf + in->dropped, at - in->dropped, MADV_DONTNEED);
	in->dropped = at;
}

/* One transaction; 1 when the file is at its end. */
static int take_batch(struct ingest *in, size_t *at, struct mr_error *err)
{
	struct mr_spool_piece piece;
	int r = mr_store_begin(in->store, err);

	for (size_t n = 0; n < BATCH && r == 0; n++) {
		if (!mr_spool_next(in->buf, in->size, at, &piece)) {
			r = mr_store_commit(in->store, err);
			return r < 0 ? r : 1;
		}
		r = take_piece(in, &piece, err);
		drop_read(in, *at);
		if (in->watch)
			in->watch->progress(in->stats, in->watch->owner);
	}
	if (r == 0)
		return mr_store_commit(in->store, err);
	mr_store_rollback(in->store);
	return r;
}

static int take_mapped(struct ingest *in, struct mr_error *err)
{
	size_t at = 0;
	int r = 0;

	while (r == 0)
		r = take_batch(in, &at, err);
	if (r < 0)
		return r;
	if (unlink(in->path) < 0 && errno != ENOENT)
		return mr_err(err, MR_E_SYS, errno, "remove %s: %m", in->path);
	return 0;
}

static int map_file(struct ingest *in, int fd, struct mr_error *err)
{
	struct stat st;
	void *map = NULL;

	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "look at %s: %m", in->path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return mr_err(err, MR_E_DENIED, EPERM, "%s is not a file of ours", in->path);
	in->size = (size_t)st.st_size;
	if (in->size > 0)
		map = mmap(NULL, in->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "read %s: %m", in->path);
	in->buf = map;
	in->dropped = 0;
	return 0;
}

/* A file that cannot be read keeps nobody else's records out: the first is told at the end. */
static int pass_over(struct ingest *in, const struct mr_error *why)
{
	if (in->unread.errnum == 0)
		in->unread = *why;
	return 0;
}

static int take_file(struct ingest *in, struct mr_error *err)
{
	mr_auto_close int fd = open(in->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct mr_error why = MR_ERROR_INIT;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0; /* another process was faster */
	if (fd < 0) {
		mr_err(&why, MR_E_SYS, errno, "open %s: %m", in->path);
		return pass_over(in, &why);
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		in->stats->busy++;
		return 0;
	}
	r = map_file(in, fd, &why);
	if (r < 0)
		return pass_over(in, &why);
	r = take_mapped(in, err);
	if (in->buf)
		munmap(in->buf, in->size);
	return r;
}

int mr_ingest_watched(const struct mr_place *place, struct mr_store *store,
		      const struct mr_ingest_watch *watch, struct mr_ingest_stats *stats,
		      struct mr_error *err)
{
	struct ingest in = { .place = place,
			     .store = store,
			     .stats = stats,
			     .watch = watch,
			     .unread = MR_ERROR_INIT };
	char **paths = NULL;
	int r;

	*stats = (struct mr_ingest_stats){ 0 };
	r = mr_store_set_durable(store, true, err);
	if (r == 0) /* rows go in and are not looked at again */
		r = mr_store_spare_memory(store, err);
	if (r == 0)
		r = mr_spool_seal(place, &paths, &stats->busy, err);
	for (size_t i = 0; r == 0 && paths && paths[i]; i++) {
		in.path = paths[i];
		r = take_file(&in, err);
	}
	mr_spool_free_paths(paths);
	mr_store_spend_memory(store);
	if (r < 0 || in.unread.errnum == 0)
		return r;
	*err = in.unread;
	return -in.unread.errnum;
}

int mr_ingest(const struct mr_place *place, struct mr_store *store, struct mr_ingest_stats *stats,
	      struct mr_error *err)
{
	return mr_ingest_watched(place, store, NULL, stats, err);
}
