/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disk machine
 *
 * The layers are put together here and not in any header: "backing" of the overlay is the image,
 * and of the image nothing, whatever its header says.
 */
#include "runtime/backend/qemu_disk_machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define ARGS_MAX 48
#define SMALL 96

/* Numbers of the descriptors in the process. */
#define CONSOLE "3"
#define AGENT "4"
#define IMAGE "5"
#define OVERLAY "6"

/* The two files, and the upper of the layers. */
#define IMAGE_FILE                                                                         \
	"{\"driver\":\"file\",\"node-name\":\"image-file\",\"filename\":\"/dev/fdset/1\"," \
	"\"read-only\":true}"
#define OVERLAY_FILE                                                                         \
	"{\"driver\":\"file\",\"node-name\":\"overlay-file\",\"filename\":\"/dev/fdset/2\"," \
	"\"cache\":{\"no-flush\":true}}"
#define OVERLAY_LAYER                                                                \
	"{\"driver\":\"qcow2\",\"node-name\":\"overlay\",\"file\":\"overlay-file\"," \
	"\"backing\":\"image\"}"

static const char *const fixed[] = {
	MR_MACHINE_FENCE,
	"-chardev",
	"socket,id=console,fd=" CONSOLE,
	"-serial",
	"chardev:console",
	"-chardev",
	"socket,id=agent,fd=" AGENT,
	"-serial",
	"chardev:agent",
	"-add-fd",
	"fd=" IMAGE ",set=1",
	"-add-fd",
	"fd=" OVERLAY ",set=2",
	"-blockdev",
	IMAGE_FILE,
	"-blockdev",
	OVERLAY_FILE,
};

/* After the image's, in this order. */
static const char *const layers[] = {
	"-blockdev",
	OVERLAY_LAYER,
	"-device",
	"virtio-blk-pci,drive=overlay,bootindex=1,werror=report,rerror=report",
};

struct line {
	const char *v[ARGS_MAX + 1];
	size_t n;
	char machine[SMALL], memory[SMALL], cpus[SMALL], image[2 * SMALL];
};

static void add(struct line *line, const char *text)
{
	mr_assert(line->n < ARGS_MAX);
	line->v[line->n++] = text;
}

static void add_all(struct line *line, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(line, texts[i]);
}

static void fill(struct line *line, const char *path, const struct mr_disk_machine_opts *o)
{
	const bool is_qcow2 = strcmp(o->image_format, "qcow2") == 0;

	/* Without graphics the firmware talks to the first serial port. */
	snprintf(line->machine, sizeof(line->machine), "q35,accel=%s,graphics=off",
		 mr_machine_accel_name(o->accel));
	snprintf(line->memory, sizeof(line->memory), "%" PRIu64 "M", o->memory_mib);
	snprintf(line->cpus, sizeof(line->cpus), "%u", o->cpus);
	snprintf(line->image, sizeof(line->image),
		 "{\"driver\":\"%s\",\"node-name\":\"image\",\"file\":\"image-file\","
		 "\"read-only\":true%s}",
		 o->image_format, is_qcow2 ? ",\"backing\":null" : "");
	add(line, path);
	add(line, "-machine");
	add(line, line->machine);
	add(line, "-m");
	add(line, line->memory);
	add(line, "-smp");
	add(line, line->cpus);
	add(line, "-cpu");
	add(line, o->accel == MR_ACCEL_KVM ? "host" : "qemu64");
	add_all(line, fixed, N_ELEMENTS(fixed));
	add(line, "-blockdev");
	add(line, line->image);
	add_all(line, layers, N_ELEMENTS(layers));
	add(line, "-vga");
	add(line, o->has_screen ? "std" : "none");
	line->v[line->n] = NULL;
}

int mr_disk_machine_start(const struct mr_disk_machine_opts *opts, pid_t *ret, struct mr_error *err)
{
	const int given[] = { opts->console_fd, opts->agent_fd, opts->image_fd, opts->overlay_fd };
	const char *path = mr_machine_find(err);
	struct line line = { .n = 0 };
	char *argv[ARGS_MAX + 1];
	const struct mr_machine_process process = {
		.argv = argv,
		.accel = opts->accel,
		.given = given,
		.n_given = N_ELEMENTS(given),
		.log_fd = opts->log_fd,
		.group = opts->group,
		.file_max_bytes = opts->overlay_max_bytes,
		.is_fenced = true,
	};

	if (!path)
		return -ENOENT;
	fill(&line, path, opts);
	memcpy(argv, line.v, (line.n + 1) * sizeof(argv[0])); /* execve() changes none of them */
	return mr_machine_spawn(&process, ret, err);
}
