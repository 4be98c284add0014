/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the kernel's rings, and the trail made of them
 *
 * The input is a row of records, each with its length in two bytes before it.  What
 * is decoded must lie inside of the record, and must come out as JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/decode.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/event.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/supervise/net_trail.h"
#include "runtime/supervise/trail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(const struct mr_event_place *place, const char *begin, const char *end)
{
	mr_auto_free char *path = malloc(place->bytes + 1);

	mr_assert(path && place->names >= begin && place->bytes <= (size_t)(end - place->names));
	mr_event_path(place->names, place->bytes, path);
	mr_assert(strlen(path) <= place->bytes);
}

static void check_inside(const struct mr_event *e, const uint8_t *record, size_t size)
{
	const char *begin = (const char *)record, *end = begin + size;

	if (e->type == MR_EVENT_dns)
		mr_assert(e->dns.question >= record &&
			  e->dns.question + e->dns.kept <= record + size);
	if (e->type == MR_EVENT_open)
		mr_assert(!e->open.path[0] ||
			  (e->open.path >= begin && e->open.path + strlen(e->open.path) < end));
	if (e->type != MR_EVENT_exec)
		return;
	mr_assert(e->exec.argv >= begin && e->exec.argv_kept <= (size_t)(end - e->exec.argv));
	mr_assert(!e->exec.exe[0] ||
		  (e->exec.exe >= begin && e->exec.exe + strlen(e->exec.exe) < end));
	check_place(&e->exec.file, begin, end);
	check_place(&e->exec.cwd, begin, end);
}

static void take(struct mr_trail *trail, struct mr_net_trail *net, const uint8_t *bytes,
		 size_t size)
{
	/* Exactly as long as the record, so that a read beyond it is seen. */
	mr_auto_free uint8_t *record = malloc(size ? size : 1);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_event_module modules[MR_EVENT_MODULES_MAX];
	struct mr_event event;

	mr_assert(record);
	memcpy(record, bytes, size);
	if (mr_decode(record, size, 0, &event, modules, &err) != 0) {
		mr_assert(err.msg[0] != '\0');
		return;
	}
	mr_assert(event.comm[16] == '\0');
	check_inside(&event, record, size);
	mr_trail_add(trail, &event);
	if (event.type == MR_EVENT_dns || event.type == MR_EVENT_tcp)
		mr_net_trail_add(net, &event, mr_trail_start_of(trail, event.pid));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mr_trail *trail = mr_trail_new();
	struct mr_net_trail *net = mr_net_trail_new();
	mr_auto_json json_t *processes = NULL;
	mr_auto_json json_t *events = NULL;
	mr_auto_json json_t *names = NULL;
	mr_auto_json json_t *connections = NULL;
	mr_auto_free char *text = NULL;

	while (size >= 2) {
		size_t n = data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		take(trail, net, data, n);
		data += n;
		size -= n;
	}
	processes = mr_trail_processes(trail);
	events = mr_trail_events(trail);
	names = mr_net_trail_names(net);
	connections = mr_net_trail_connections(net);
	text = json_dumps(processes, 0);
	mr_assert(text);
	free(text);
	text = json_dumps(events, 0);
	mr_assert(text);
	free(text);
	text = json_dumps(names, 0);
	mr_assert(text);
	free(text);
	text = json_dumps(connections, 0);
	mr_assert(text);
	mr_net_trail_free(net);
	mr_trail_free(trail);
	return 0;
}
