/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace image: images of a Docker Engine that are ours
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "tools/cmd.h"
#include "tools/engine.h"
#include "tools/term.h"

struct image {
	struct mr_cmd_common common;
	const char *tag;
};

static const struct mr_cmd_row build_rows[] = {
	MR_CMD_ROW("tag", 't', "NAME[:TAG]", TEXT, image, tag,
		   "its name; by default menace/image and the hash of its files"),
	MR_CMD_JSON_ROWS(image),
};
static const struct mr_cmd_row rows[] = { MR_CMD_JSON_ROWS(image) };

/* --- build ----------------------------------------------------------------- */

static int run_build(void *values, char **words, struct mr_error *err)
{
	const struct image *image = values;
	const char *const task[] = { "image-build", words[0], image->tag, NULL };
	mr_auto_json json_t *built = NULL;
	int r = mr_engine_ask(task, &built, err);

	if (r < 0)
		return r;
	if (image->common.json)
		mr_cmd_print_json(built);
	else
		printf("%s %s\n", mr_json_text_or_empty(built, "name"),
		       mr_json_text_or_empty(built, "id"));
	return 0;
}

static const struct mr_cmd build = {
	.name = "image build",
	.synopsis = "FOLDER|TAR",
	.summary = "Make an image of a tree of files, which --image takes; print its name and id",
	.options = MR_OPTABLE(build_rows),
	.size = sizeof(struct image),
	.min_words = 1,
	.max_words = 1,
	.run = run_build,
};

/* --- list ------------------------------------------------------------------ */

static void print_image(const json_t *image)
{
	const json_t *names = json_object_get(image, "names");
	const char *name = json_string_value(json_array_get(names, 0));
	char id[20];

	/* The engine's words, which are anything. */
	mr_term_cell(MR_TERM_PLAIN, name ? name : "-", 40);
	putchar(' ');
	mr_term_cell(MR_TERM_PLAIN, mr_json_text_or_empty(image, "kind"), 9);
	printf(" %9.1f MiB  ",
	       (double)json_integer_value(json_object_get(image, "bytes")) / 1048576);
	snprintf(id, sizeof(id), "%.19s", mr_json_text_or_empty(image, "id"));
	mr_term_put(MR_TERM_PLAIN, id);
	putchar('\n');
}

static int run_list(void *values, char **words, struct mr_error *err)
{
	const struct image *image = values;
	const char *const task[] = { "image-list", NULL };
	mr_auto_json json_t *list = NULL;
	int r = mr_engine_ask(task, &list, err);

	(void)words;
	if (r < 0)
		return r;
	if (image->common.json)
		mr_cmd_print_json(list);
	else
		for (size_t i = 0; i < json_array_size(list); i++)
			print_image(json_array_get(list, i));
	return 0;
}

static const struct mr_cmd list = {
	.name = "image list",
	.synopsis = "",
	.summary = "List the images of the engine that menace made",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct image),
	.run = run_list,
};

/* --- rm -------------------------------------------------------------------- */

static int run_rm(void *values, char **words, struct mr_error *err)
{
	const struct image *image = values;
	mr_auto_free const char **task = NULL;
	mr_auto_json json_t *removed = NULL;
	size_t n = 0;
	int r;

	while (words[n])
		n++;
	task = mr_str_alloc((n + 2) * sizeof(*task));
	task[0] = "image-rm";
	for (size_t i = 0; i < n; i++)
		task[i + 1] = words[i];
	r = mr_engine_ask(task, &removed, err);
	if (r < 0)
		return r;
	if (image->common.json)
		mr_cmd_print_json(removed);
	return 0;
}

static const struct mr_cmd rm = {
	.name = "image rm",
	.synopsis = "IMAGE...",
	.summary = "Remove images that menace made, and no others",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct image),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run_rm,
};

static const struct mr_cmd *const verbs[] = { &build, &list, &rm, NULL };

const struct mr_cmd mr_cmd_image = {
	.name = "image",
	.synopsis = "VERB",
	.summary = "Make images for the backend docker of trees of files, and keep them",
	.verbs = verbs,
};
