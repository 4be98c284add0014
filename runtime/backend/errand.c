/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errand
 *
 * The document comes from menace-run, which is as trusted as we are; it is read as strictly as
 * any other all the same, so that a mistake is found where it is made.
 */
#include "runtime/backend/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/document.h"
#include "runtime/backend/handover.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

#define SOURCE "errand"
#define ERRAND_MAX ((size_t)128 << 20) /* a snippet of 16 MiB, in base64, with escapes */

static int read_text(char **ret, size_t *ret_size, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(MR_HANDOVER_FD_ERRAND, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fcntl(MR_HANDOVER_FD_REPORT, F_GETFD) < 0)
		return mr_err(err, MR_E_USAGE, EBADF,
			      "is started by menace-run, which gives descriptors %d and %d",
			      MR_HANDOVER_FD_ERRAND, MR_HANDOVER_FD_REPORT);
	if ((uint64_t)st.st_size > ERRAND_MAX)
		return mr_err(err, MR_E_USAGE, EFBIG, SOURCE ": more than %zu bytes", ERRAND_MAX);
	text = mr_str_alloc((size_t)st.st_size + 1);
	n = mr_read_full(MR_HANDOVER_FD_ERRAND, text, (size_t)st.st_size);
	if (n != st.st_size)
		return mr_err(err, MR_E_SYS, n < 0 ? (int)-n : EIO, SOURCE ": read: %m");
	*ret = mr_take_ptr(text);
	*ret_size = (size_t)n;
	return 0;
}

static int take_spec(struct mr_errand *errand, const struct mr_json *member, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(member->value, JSON_COMPACT);
	int r;

	mr_assert(text);
	mr_spec_init(&errand->spec);
	r = mr_spec_parse_json(&errand->spec, text, strlen(text), SOURCE, err);
	if (r == 0)
		r = mr_spec_validate(&errand->spec, err);
	return r;
}

static int take_id(struct mr_errand *errand, const struct mr_json *member, struct mr_error *err)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	const char *id = NULL;
	int r = mr_json_get_string(member, &id, err);

	if (r < 0)
		return r;
	if (strlen(id) != MR_RUN_ID_SIZE - 1 || id[strspn(id, letters)] != '\0')
		return mr_json_err(member, err, "is no id of a run");
	memcpy(errand->run_id, id, MR_RUN_ID_SIZE);
	return 0;
}

static int take_document(struct mr_errand *errand, json_t *document, struct mr_error *err)
{
	static const char *const known[] = { "schema", "run_id", "spec", "backend", NULL };
	const struct mr_json root = mr_json_root(document, SOURCE);
	struct mr_json schema, id, spec, backend;
	const char *name = NULL;
	int r = mr_json_check_keys(&root, known, err);

	if (r < 0)
		return r;
	if (!mr_json_member(&root, "schema", &schema) || !mr_json_member(&root, "run_id", &id) ||
	    !mr_json_member(&root, "spec", &spec))
		return mr_json_err(&root, err, "schema, run_id and spec are needed");
	r = mr_json_get_string(&schema, &name, err);
	if (r == 0 && strcmp(name, MR_HANDOVER_ERRAND_SCHEMA) != 0)
		r = mr_json_err(&schema, err, "accepted: " MR_HANDOVER_ERRAND_SCHEMA);
	if (r == 0)
		r = take_id(errand, &id, err);
	if (r == 0)
		r = take_spec(errand, &spec, err);
	if (r == 0 && mr_json_member(&root, "backend", &backend))
		errand->backend = json_incref(backend.value);
	return r;
}

int mr_errand_open(int argc, char **argv, struct mr_errand *ret, struct mr_error *err)
{
	struct mr_errand errand = { .report_fd = MR_HANDOVER_FD_REPORT };
	mr_auto_json json_t *document = NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r;

	errand.probe_only = argc == 2 && strcmp(argv[1], "probe") == 0;
	if (argc != 2 || (!errand.probe_only && strcmp(argv[1], "run") != 0))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "is started by menace-run, as \"probe\" or \"run\"");
	r = read_text(&text, &size, err);
	if (r == 0)
		r = mr_json_parse(text, size, SOURCE, &document, err);
	if (r == 0)
		r = take_document(&errand, document, err);
	if (r == 0 && signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		r = mr_err(err, MR_E_SYS, errno, "signal: %m");
	if (r < 0) {
		mr_errand_deinit(&errand);
		return r;
	}
	*ret = errand;
	return 0;
}

void mr_errand_deinit(struct mr_errand *errand)
{
	mr_spec_deinit(&errand->spec);
	json_decref(errand->backend);
	errand->backend = NULL;
}

/* Steals the document. */
static int write_report(struct mr_errand *errand, json_t *document, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r;

	json_decref(document);
	mr_assert(text);
	if (strlen(text) > MR_HANDOVER_REPORT_MAX)
		return mr_err(err, MR_E_SYS, EFBIG, "the report has more than %d bytes",
			      MR_HANDOVER_REPORT_MAX);
	r = mr_write_full(errand->report_fd, text, strlen(text));
	if (r == 0 && close(errand->report_fd) < 0)
		r = -errno;
	errand->report_fd = -1;
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write the report: %m") : 0;
}

int mr_errand_report_probe(struct mr_errand *errand, bool can, const char *why, uint64_t lacks,
			   json_t *facts, struct mr_error *err)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < MR_NEED_COUNT_; i++)
		if (lacks >> i & 1)
			json_array_append_new(list, json_string(mr_backend_need_name(
							    (enum mr_backend_need)i)));
	return write_report(errand,
			    json_pack("{s:s, s:b, s:s?, s:o, s:o}", "schema",
				      MR_HANDOVER_PROBE_SCHEMA, "can", can, "why", why, "lacks",
				      list, "facts", facts ? facts : json_object()),
			    err);
}

bool mr_errand_waits_for_reader(const struct mr_errand *errand)
{
	return mr_write_full(errand->report_fd, "\n", 1) == 0;
}

int mr_errand_report(struct mr_errand *errand, json_t *result, struct mr_error *err)
{
	json_t *receipt = json_object_get(result, "receipt");

	if (errand->backend && json_is_object(receipt))
		json_object_set(receipt, "backend", errand->backend);
	return write_report(errand, result, err);
}

json_t *mr_errand_failed(const struct mr_errand *errand, const struct mr_error *why)
{
	const struct mr_document failed = {
		.spec = &errand->spec,
		.run_id = errand->run_id,
		.verdict = { .reason = MR_REASON_setup_error,
			     .exit_status = mr_errc_exit_status(why->code) },
		.error = why,
	};

	return mr_document_make(&failed);
}
