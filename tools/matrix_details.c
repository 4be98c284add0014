/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details of the cells of a matrix
 */
#include "tools/matrix_details.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/query.h"
#include "runtime/store/store.h"
#include "tools/flow_session.h"

struct place {
	off_t at;
	size_t size; /* 0: it is not there */
};

struct mr_matrix_details {
	const struct mr_flow_session *session;
	int fd; /* without a store: one behind the other, as they came */
	off_t end;
	struct place *places; /* in it, by cell */
	size_t n_cells;
};

static int open_file(struct mr_matrix_details *details, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/cells", details->session->folder);

	details->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (details->fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", path);
	details->places = mr_str_alloc((details->n_cells + 1) * sizeof(*details->places));
	return 0;
}

int mr_matrix_details_new(const struct mr_flow_session *session, size_t n_cells,
			  struct mr_matrix_details **ret, struct mr_error *err)
{
	struct mr_matrix_details *details = mr_str_alloc(sizeof(*details));
	int r;

	details->session = session;
	details->n_cells = n_cells;
	details->fd = -1;
	r = session->store ? 0 : open_file(details, err);
	if (r < 0) {
		mr_matrix_details_free(details);
		return r;
	}
	*ret = details;
	return 0;
}

struct mr_matrix_details *mr_matrix_details_free(struct mr_matrix_details *details)
{
	if (!details)
		return NULL;
	mr_close(details->fd);
	free(details->places);
	free(details);
	return NULL;
}

/* --- keeping --------------------------------------------------------------- */

static int write_to_file(struct mr_matrix_details *details, size_t n, const char *text,
			 struct mr_error *err)
{
	const size_t size = strlen(text);
	int r = lseek(details->fd, details->end, SEEK_SET) < 0
			? -errno
			: mr_write_full(details->fd, text, size);

	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "keep cell %zu in %s: %m", n,
			      details->session->folder);
	details->places[n] = (struct place){ .at = details->end, .size = size };
	details->end += (off_t)size;
	return 0;
}

static int write_to_store(const struct mr_matrix_details *details, const json_t *detail,
			  const char *text, struct mr_error *err)
{
	static const char *const columns[] = { "n",   "scenario", "level",  "replicate",
					       "arm", "seed",	  "verdict" };
	json_t *binds = json_pack("{s:s, s:s}", "matrix", details->session->id, "detail", text);

	for (size_t i = 0; i < N_ELEMENTS(columns); i++)
		json_object_set(binds, columns[i], json_object_get(detail, columns[i]));
	return mr_query_run(details->session->store, "matrix.cell", binds, err);
}

static int write_all(struct mr_matrix_details *details, const json_t *added, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(added); i++) {
		const json_t *detail = json_array_get(added, i);
		const size_t n = (size_t)json_integer_value(json_object_get(detail, "n"));
		mr_auto_free char *text = json_dumps(detail, JSON_COMPACT);

		mr_assert(text && n < details->n_cells);
		r = details->session->store ? write_to_store(details, detail, text, err)
					    : write_to_file(details, n, text, err);
	}
	return r;
}

int mr_matrix_details_add(struct mr_matrix_details *details, const json_t *added,
			  struct mr_error *err)
{
	struct mr_store *store = details->session->store;
	int r = store ? mr_store_begin(store, err) : 0;

	if (r < 0)
		return r;
	r = write_all(details, added, err);
	if (!store)
		return r;
	if (r == 0)
		return mr_store_commit(store, err);
	mr_store_rollback(store);
	return r;
}

/* --- reading --------------------------------------------------------------- */

static int tell_missing(const struct mr_matrix_details *details, size_t n, struct mr_error *err)
{
	return mr_err(err, MR_E_NONE, ENOENT,
		      "cell %zu of matrix %s is gone: it was removed meanwhile", n,
		      details->session->id);
}

static int read_from_file(const struct mr_matrix_details *details, size_t n, json_t **ret,
			  struct mr_error *err)
{
	const struct place *place = &details->places[n];
	mr_auto_free char *text = NULL;
	ssize_t got;

	if (place->size == 0)
		return tell_missing(details, n, err);
	text = mr_str_alloc(place->size + 1);
	got = lseek(details->fd, place->at, SEEK_SET) < 0
		      ? -errno
		      : mr_read_full(details->fd, text, place->size);
	if (got < 0)
		return mr_err(err, MR_E_SYS, (int)-got, "read cell %zu in %s: %m", n,
			      details->session->folder);
	return mr_json_parse(text, (size_t)got, "kept cell", ret, err);
}

static int read_from_store(const struct mr_matrix_details *details, size_t n, json_t **ret,
			   struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	const char *text;
	int r = mr_query_one(details->session->store, "matrix.get_cell",
			     json_pack("{s:s, s:I}", "matrix", details->session->id, "n",
				       (json_int_t)n),
			     &row, err);

	if (r > 0)
		return tell_missing(details, n, err);
	if (r < 0)
		return r;
	text = json_string_value(json_object_get(row, "detail"));
	return mr_json_parse(text, strlen(text), "cell in the store", ret, err);
}

int mr_matrix_details_get(struct mr_matrix_details *details, size_t n, json_t **ret,
			  struct mr_error *err)
{
	mr_assert(n < details->n_cells);
	return details->session->store ? read_from_store(details, n, ret, err)
				       : read_from_file(details, n, ret, err);
}
