/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Box
 */
#include "runtime/section/box.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/flow/confine.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/folder.h"
#include "runtime/spec/spec.h"

#define SEEN_AS "/opt/menace-section.py"
#define HEAD_MAX (16u << 20)
#define PIDS_MAX 64

static int write_files(const struct mr_section_box *box, const struct mr_section_box_opts *opts,
		       struct mr_error *err)
{
	mr_auto_close int fd = -1;
	int r = mr_fixture_folder(box->folder, &fd, err);

	if (r == 0)
		r = mr_confine_write(fd, "script", opts->script, strlen(opts->script), 0644, err);
	if (r == 0)
		r = mr_confine_write(fd, "input", opts->input, opts->input_size, 0644, err);
	return r;
}

static json_t *make_spec(const struct mr_section_box *box, const struct mr_section_box_opts *opts)
{
	const json_int_t head = opts->output_bytes < HEAD_MAX ? (json_int_t)opts->output_bytes
							      : (json_int_t)HEAD_MAX;
	mr_auto_free char *script = mr_str_format("%s/script", box->folder);
	/* -B: no files of its own beside those that it looks at. */
	json_t *spec =
		json_pack("{s:s, s:s, s:[s,s,s,s], s:{s:b, s:I}, s:{s:I, s:I, s:I, s:I}, s:{s:s}}",
			  "schema", MR_SPEC_SCHEMA, "name", opts->name, "program", "python3", "-I",
			  "-B", SEEN_AS, "output", "forward", 0, "head_bytes", head, "limits",
			  "wall_ms", (json_int_t)opts->wall_ms, "memory_max_bytes",
			  (json_int_t)opts->memory_bytes, "output_bytes",
			  (json_int_t)opts->output_bytes, "pids_max", (json_int_t)PIDS_MAX, "net",
			  "mode", "none");

	mr_assert(spec);
	json_object_set_new(mr_fixture_sandbox(spec), "stdin_path",
			    json_sprintf("%s/input", box->folder));
	if (opts->workspace)
		json_object_set_new(mr_fixture_sandbox(spec), "workspace",
				    json_string(opts->workspace));
	mr_fixture_mount(spec, script, SEEN_AS);
	return spec;
}

static void on_end(struct mr_child *child, void *owner)
{
	struct mr_section_box *box = owner;

	(void)child;
	box->ended = true;
}

int mr_section_box_start(struct mr_section_box *box, const struct mr_section_box_opts *opts,
			 struct mr_error *err)
{
	mr_auto_json json_t *spec = NULL;
	struct mr_child_opts child = { .loop = opts->loop,
				       .program = opts->program,
				       .store = opts->store,
				       .on_end = on_end,
				       .owner = box };
	int r = mr_folder_temporary("section", &box->folder, err);

	if (r == 0)
		r = write_files(box, opts, err);
	if (r < 0)
		return r;
	spec = make_spec(box, opts);
	child.spec = spec;
	return mr_child_start(&child, &box->child, err);
}

int mr_section_box_result(struct mr_section_box *box, const json_t **ret, struct mr_error *err)
{
	return mr_child_result(box->child, ret, err);
}

void mr_section_box_deinit(struct mr_section_box *box)
{
	struct mr_error err = MR_ERROR_INIT;

	mr_child_free(box->child);
	if (box->folder && mr_folder_remove(AT_FDCWD, box->folder, &err) < 0)
		mr_log_warn("%s is left: %s", box->folder, err.msg);
	free(box->folder);
	*box = (struct mr_section_box){ 0 };
}
