/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixture
 */
#include "runtime/flow/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/confine.h"
#include "runtime/flow/folder.h"
#include "runtime/flow/workflow.h"

#define KEYS(object) ((json_t *)(uintptr_t)(object)) /* json_object_foreach takes no const */

int mr_fixture_folder(const char *path, int *ret, struct mr_error *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", path);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? mr_err(err, MR_E_SYS, errno, "open %s: %m", path) : 0;
}

static int write_content(int folder_fd, const char *path, const json_t *content,
			 struct mr_error *err)
{
	mr_auto_free char *data = NULL;
	size_t size = 0;
	int r = mr_flow_content(content, &data, &size, err);

	return r < 0 ? r : mr_confine_write(folder_fd, path, data, size, 0644, err);
}

int mr_fixture_write(const json_t *files, int folder_fd, struct mr_error *err)
{
	const char *path;
	json_t *content;
	int r = 0;

	json_object_foreach (KEYS(files), path, content) {
		r = write_content(folder_fd, path, content, err);
		if (r < 0)
			return r;
	}
	return r;
}

/* --- staging --------------------------------------------------------------- */

static bool has_workspace(const struct mr_flow *flow, const struct mr_flow_step *step)
{
	return !flow->shared && json_object_size(step->data) + json_object_size(step->files) > 0;
}

static int copy_source(const struct mr_flow *flow, int folder_fd, struct mr_error *err)
{
	mr_auto_close int source = -1;

	if (!flow->source)
		return 0;
	source = open(flow->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source < 0)
		return mr_err(err, MR_E_SYS, errno, "source %s: %m", flow->source);
	return mr_folder_copy(source, folder_fd, NULL, err);
}

static int stage_workspace(const struct mr_flow *flow, const struct mr_flow_step *step,
			   const char *folder, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s", folder, flow->shared ? "files" : "work");
	mr_auto_close int fd = -1;
	int r = mr_fixture_folder(path, &fd, err);

	if (r == 0 && !flow->shared)
		r = copy_source(flow, fd, err);
	if (r == 0 && !flow->shared)
		r = mr_fixture_write(step->data, fd, err);
	return r < 0 ? r : mr_fixture_write(step->files, fd, err);
}

static int stage_mocks(const struct mr_flow_step *step, int folder_fd, struct mr_error *err)
{
	const char *path;
	json_t *content;
	size_t k = 0;
	int r = 0;

	json_object_foreach (KEYS(step->fs_mocks), path, content) {
		char name[32];

		snprintf(name, sizeof(name), "mock.%zu", k++);
		if (!json_object_get(content, "hide"))
			r = write_content(folder_fd, name, content, err);
		if (r < 0)
			return r;
	}
	return r;
}

static int stage_step(const struct mr_flow *flow, size_t n, const char *stage, struct mr_error *err)
{
	const struct mr_flow_step *step = &flow->steps[n];
	const json_t *snippet = json_object_get(json_object_get(step->spec, "snippet"), "code");
	mr_auto_free char *folder = mr_str_format("%s/%zu", stage, n);
	mr_auto_close int fd = -1;
	int r = mr_fixture_folder(folder, &fd, err);

	if (r == 0 && (has_workspace(flow, step) || json_object_size(step->files) > 0))
		r = stage_workspace(flow, step, folder, err);
	if (r == 0)
		r = stage_mocks(step, fd, err);
	if (r == 0 && step->stdin_content)
		r = write_content(fd, "stdin", step->stdin_content, err);
	if (r == 0 && snippet)
		r = write_content(fd, "snippet", snippet, err);
	return r < 0 ? mr_err_wrap(err, r, "step \"%s\"", step->name) : 0;
}

static int stage_base(const struct mr_flow *flow, const char *stage, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/base", stage);
	mr_auto_close int fd = -1;
	int r = mr_fixture_folder(path, &fd, err);

	if (r == 0)
		r = copy_source(flow, fd, err);
	return r < 0 ? r : mr_fixture_write(flow->steps[0].data, fd, err);
}

int mr_fixture_stage(const struct mr_flow *flow, const char *stage, struct mr_error *err)
{
	int r = 0;

	if (flow->shared || flow->combined)
		r = stage_base(flow, stage, err);
	for (size_t i = 0; r == 0 && i < flow->n_steps; i++)
		r = stage_step(flow, i, stage, err);
	return r < 0 ? mr_err_wrap(err, r, "fixtures of \"%s\"", flow->name) : 0;
}

/* --- showing --------------------------------------------------------------- */

json_t *mr_fixture_sandbox(json_t *spec)
{
	json_t *sandbox = json_object_get(spec, "sandbox");

	if (!sandbox) {
		sandbox = json_object();
		json_object_set_new(spec, "sandbox", sandbox);
	}
	return sandbox;
}

static json_t *mounts_of(json_t *spec)
{
	json_t *mounts = json_object_get(spec, "mounts");

	if (!mounts) {
		mounts = json_array();
		json_object_set_new(spec, "mounts", mounts);
	}
	return mounts;
}

void mr_fixture_mount(json_t *spec, const char *source, const char *dest)
{
	json_array_append_new(mounts_of(spec), json_pack("{s:s, s:s, s:s}", "type", "ro", "source",
							 source, "dest", dest));
}

static void show_mocks(const struct mr_flow_step *step, const char *folder, json_t *spec)
{
	const char *path;
	json_t *content;
	size_t k = 0;

	json_object_foreach (KEYS(step->fs_mocks), path, content) {
		mr_auto_free char *source = mr_str_format("%s/mock.%zu", folder, k++);

		if (json_object_get(content, "hide"))
			json_array_append_new(mounts_of(spec), json_pack("{s:s, s:s}", "type",
									 "hide", "dest", path));
		else
			mr_fixture_mount(spec, source, path);
	}
}

void mr_fixture_show(const struct mr_flow *flow, size_t n, const char *stage, json_t *spec)
{
	const struct mr_flow_step *step = &flow->steps[n];
	mr_auto_free char *folder = mr_str_format("%s/%zu", stage, n);
	mr_auto_free char *input = mr_str_format("%s/stdin", folder);
	mr_auto_free char *work = mr_str_format("%s/work", folder);

	show_mocks(step, folder, spec);
	if (step->stdin_content)
		json_object_set_new(mr_fixture_sandbox(spec), "stdin_path", json_string(input));
	if (has_workspace(flow, step))
		json_object_set_new(mr_fixture_sandbox(spec), "workspace", json_string(work));
	else if (!flow->shared && flow->source)
		json_object_set_new(mr_fixture_sandbox(spec), "workspace",
				    json_string(flow->source));
}
