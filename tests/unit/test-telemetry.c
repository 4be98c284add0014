/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding of records, the ring's reading end over a file in memory, the trail, and what
 * becomes of facts that are not known
 */
#include <errno.h>
#include <linux/bpf.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/choice.h"
#include "bpf/decode.h"
#include "bpf/pins.h"
#include "bpf/ring.h"
#include "bpf/wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/event.h"
#include "runtime/base/json.h"
#include "runtime/supervise/dns.h"
#include "runtime/supervise/net_trail.h"
#include "runtime/supervise/telemetry.h"
#include "runtime/supervise/trail.h"

/* --- decode ---------------------------------------------------------------------------- */

static struct mr_event_module modules[MR_EVENT_MODULES_MAX];

struct exec_record {
	struct mr_wire_exec w;
	char text[64];
};

static size_t make_exec(struct exec_record *r, const char *exe, size_t exe_bytes, const char *argv,
			size_t argv_kept, uint64_t argv_bytes)
{
	size_t size = sizeof(r->w) + exe_bytes + argv_kept;

	memset(r, 0, sizeof(*r));
	r->w.h = (struct mr_wire_header){ .type = MR_WIRE_EXEC,
					  .size = (uint16_t)size,
					  .tid = 7,
					  .pid = 7,
					  .inner_pid = 2,
					  .generation = 42,
					  .time_ns = 99 };
	r->w.start_ns = 50;
	r->w.old_tid = 7;
	r->w.argc = 2;
	r->w.exe_bytes = (uint16_t)exe_bytes;
	r->w.argv_kept = (uint16_t)argv_kept;
	r->w.argv_bytes = argv_bytes;
	memcpy(r->w.comm, "0123456789abcdef", 16);
	memcpy(r->text, exe, exe_bytes);
	memcpy(r->text + exe_bytes, argv, argv_kept);
	return size;
}

static void exec_is_read_whole(void **state)
{
	struct exec_record r;
	size_t size = make_exec(&r, "/a\0", 3, "a\0\0", 3, 3);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_event e;

	(void)state;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), 0);
	assert_int_equal(e.type, MR_EVENT_exec);
	assert_int_equal(e.pid, 7);
	assert_int_equal(e.time_ns, 99);
	assert_string_equal(e.comm, "0123456789abcdef");
	assert_string_equal(e.exec.exe, "/a");
	assert_int_equal(e.exec.argv_kept, 3);
	assert_memory_equal(e.exec.argv, "a\0\0", 3);
	assert_false(e.exec.argv_truncated);
	assert_false(e.exec.from_thread);
	r.w.old_tid = 8;
	r.w.argv_bytes = 4;
	r.w.flags = MR_WIRE_EXEC_FILELESS;
	assert_int_equal(mr_decode(&r, size, 0, &e, modules, &err), 0);
	assert_true(e.exec.argv_truncated);
	assert_true(e.exec.from_thread);
	assert_true(e.exec.fileless);
	assert_int_equal(mr_decode(&r, size, 41, &e, modules, &err), 1);
}

/* The places of make_exec()'s record: names with their NULs. */
static size_t add_places(struct exec_record *r, size_t size, const char *file, size_t file_bytes,
			 const char *cwd, size_t cwd_bytes)
{
	memcpy((char *)r + size, file, file_bytes);
	memcpy((char *)r + size + file_bytes, cwd, cwd_bytes);
	r->w.file_bytes = (uint16_t)file_bytes;
	r->w.cwd_bytes = (uint16_t)cwd_bytes;
	size += file_bytes + cwd_bytes;
	r->w.h.size = (uint16_t)size;
	return size;
}

static void places_of_an_exec_are_paths(void **state)
{
	struct exec_record r;
	size_t size = add_places(&r, make_exec(&r, "a\0", 2, "a\0", 2, 2), "true\0bin\0usr\0", 13,
				 "\0", 1);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_event e;
	char path[32];

	(void)state;
	r.w.flags = MR_WIRE_EXEC_CWD_CUT;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), 0);
	mr_event_path(e.exec.file.names, e.exec.file.bytes, path);
	assert_string_equal(path, "/usr/bin/true");
	assert_false(e.exec.file.is_cut);
	mr_event_path(e.exec.cwd.names, e.exec.cwd.bytes, path);
	assert_string_equal(path, "/");
	assert_true(e.exec.cwd.is_cut);
	mr_event_path("", 0, path);
	assert_string_equal(path, "");

	r.w.file_bytes--; /* the sum is wrong */
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	r.w.cwd_bytes++; /* it is right, but a name has no NUL */
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	size = add_places(&r, make_exec(&r, "a\0", 2, "a\0", 2, 2), "b", 1, "c", 1);
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
}

static void what_does_not_add_up_is_refused(void **state)
{
	struct exec_record r;
	size_t size = make_exec(&r, "/a\0", 3, "a\0", 2, 2);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_event e;

	(void)state;
	assert_int_equal(mr_decode(&r, sizeof(r.w.h) - 1, 42, &e, modules, &err), -EPROTO);
	assert_string_equal(err.msg, "an event of 31 bytes");
	assert_int_equal(mr_decode(&r, size - 1, 42, &e, modules, &err), -EPROTO);
	assert_string_equal(err.msg, "an event of type 2 with 108 bytes, said 109");
	r.w.exe_bytes = 2; /* and the sum is wrong */
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	assert_string_equal(err.msg, "an event of type 2 whose parts do not add up");
	r.w.argv_kept = 3; /* now it is right, but exe has no NUL */
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	size = make_exec(&r, "/a\0", 3, "a\0", 2, 1); /* more kept than there was */
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	r.w.h.type = MR_WIRE_TYPE_COUNT_;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	assert_string_equal(err.msg, "an event of the unknown type 13");
	r.w.h.type = MR_WIRE_NONE;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
}

struct crash_record {
	struct mr_wire_crash w;
	struct mr_wire_module modules[MR_WIRE_MODULES];
};

static size_t make_crash(struct crash_record *r, uint32_t n, const char *path, uint32_t path_bytes)
{
	size_t size = sizeof(r->w) + n * sizeof(r->modules[0]);

	memset(r, 0, sizeof(*r));
	r->w.h = (struct mr_wire_header){ .type = MR_WIRE_CRASH,
					  .size = (uint16_t)size,
					  .generation = 42 };
	r->w.n_frames = 2;
	r->w.frames[1] = 0x401234;
	r->w.n_modules = n;
	for (size_t i = 0; i < MR_WIRE_MODULES; i++) {
		r->modules[i].inode = 5;
		r->modules[i].path_bytes = path_bytes;
		memcpy(r->modules[i].path, path,
		       path_bytes < MR_WIRE_MODULE_PATH ? path_bytes : MR_WIRE_MODULE_PATH);
	}
	return size;
}

static void modules_of_a_crash_have_paths(void **state)
{
	char longest[MR_WIRE_MODULE_PATH];
	struct mr_error err = MR_ERROR_INIT;
	struct crash_record r;
	struct mr_event e;
	size_t size = make_crash(&r, 4, "libc.so.6\0lib\0usr", 18);

	(void)state;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), 0);
	assert_int_equal(e.crash.n_frames, 2);
	assert_true(e.crash.frames[1] == 0x401234);
	assert_int_equal(e.crash.n_modules, 4);
	assert_string_equal(e.crash.modules[3].path, "/usr/lib/libc.so.6");
	size = make_crash(&r, 1, "", 0);
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), 0);
	assert_string_equal(e.crash.modules[0].path, "");
	memset(longest, '\0', sizeof(longest));
	size = make_crash(&r, 1, longest, sizeof(longest));
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), 0);
	assert_int_equal(strlen(e.crash.modules[0].path), MR_WIRE_MODULE_PATH);

	r.modules[0].path_bytes++;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	size = make_crash(&r, 1, "a", 1); /* no NUL */
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	size = make_crash(&r, 1, "", 0);
	r.w.n_modules = 2;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	r.w.n_modules = MR_WIRE_MODULES + 1;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
	size = make_crash(&r, 0, "", 0);
	r.w.n_frames = MR_WIRE_FRAMES + 1;
	assert_int_equal(mr_decode(&r, size, 42, &e, modules, &err), -EPROTO);
}

/* --- ring ------------------------------------------------------------------------------- */

#define RING 4096u

struct fake {
	struct mr_ring ring;
	uint64_t *producer;
	uint8_t *data;
	size_t got[64], n;
	uint8_t last[256];
};

static void make_ring(struct fake *f)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct mr_error err;
	uint8_t *shared;

	memset(f, 0, sizeof(*f));
	assert_true(fd >= 0 && ftruncate(fd, 2 * 4096 + RING) == 0);
	shared = mmap(NULL, 2 * 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(shared != MAP_FAILED);
	f->producer = (void *)(shared + 4096);
	f->data = shared + 2 * 4096;
	assert_int_equal(mr_ring_open(&f->ring, fd, RING, &err), 0);
}

static void free_ring(struct fake *f)
{
	munmap((uint8_t *)f->producer - 4096, 2 * 4096 + RING);
	mr_ring_close(&f->ring);
}

/* As the kernel does. */
static void put(struct fake *f, uint32_t size, uint32_t flags, uint8_t fill)
{
	uint64_t at = *f->producer;
	uint32_t len = size | flags;

	memcpy(f->data + at % RING, &len, sizeof(len));
	for (uint32_t i = 0; i < size; i++)
		f->data[(at + 8 + i) % RING] = (uint8_t)(fill + i);
	*f->producer = at + (size + 8 + 7) / 8 * 8;
}

static void take(void *owner, const void *record, size_t size)
{
	struct fake *f = owner;

	f->got[f->n++] = size;
	memcpy(f->last, record, size < sizeof(f->last) ? size : sizeof(f->last));
}

static void records_come_in_order_and_whole(void **state)
{
	struct fake f;

	(void)state;
	make_ring(&f);
	put(&f, 3, 0, 1);
	put(&f, 8, BPF_RINGBUF_DISCARD_BIT, 1);
	put(&f, 17, 0, 1);
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 2);
	assert_int_equal(f.got[0], 3);
	assert_int_equal(f.got[1], 17);
	assert_int_equal(*f.ring.consumer, *f.producer);
	/* Up to 40 bytes before the end, then one of 100 that goes round. */
	put(&f, RING - 40 - (uint32_t)*f.producer - 8, 0, 0);
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 1);
	put(&f, 100, 0, 9);
	f.n = 0;
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 1);
	assert_int_equal(f.got[0], 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(f.last[i], 9 + i);
	free_ring(&f);
}

static void what_is_being_written_is_waited_for(void **state)
{
	struct fake f;

	(void)state;
	make_ring(&f);
	put(&f, 8, 0, 1);
	put(&f, 8, BPF_RINGBUF_BUSY_BIT, 1);
	put(&f, 8, 0, 1);
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 1);
	f.data[16 + 3] = 0; /* done */
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 2);
	/* A length that no ring has ends the reading instead of leaving the data. */
	put(&f, 8, 0, 1);
	memcpy(f.data + 48, &(uint32_t){ RING + 1 }, 4);
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 0);
	mr_ring_skip(&f.ring);
	assert_int_equal(mr_ring_read(&f.ring, take, &f), 0);
	assert_int_equal(*f.ring.consumer, *f.producer);
	free_ring(&f);
}

/* --- trail ------------------------------------------------------------------------------- */

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct mr_trail *trail = mr_trail_new();
	struct mr_event e = { .type = MR_EVENT_fork, .pid = 1, .comm = "sh" };
	json_t *list;

	(void)state;
	e.fork.child_pid = 5;
	e.fork.start_ns = 200;
	mr_trail_add(trail, &e);
	e.fork.start_ns = 100; /* came later, began earlier */
	mr_trail_add(trail, &e);
	e.fork.start_ns = 250;
	mr_trail_add(trail, &e);
	e = (struct mr_event){ .type = MR_EVENT_exit, .pid = 5, .time_ns = 300 };
	e.exit.start_ns = 100;
	e.exit.wait_status = 3 << 8;
	mr_trail_add(trail, &e);
	list = mr_trail_processes(trail);
	assert_int_equal(json_array_size(list), 3); /* the end is that of the first, not a fourth */
	assert_int_equal(json_integer_value(
				 json_object_get(json_array_get(list, 0), "start_boot_ns")),
			 100);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "exit_code")),
			 3);
	assert_true(json_is_null(json_object_get(json_array_get(list, 1), "exit_code")));
	json_decref(list);
	mr_trail_free(trail);
}

/* Records of several CPUs come in the order in which those were written, not made: what is listed is by time. */
static void events_of_several_cpus_are_told_by_time(void **state)
{
	static const uint64_t times[] = { 40, 10, 30, 20, 50 };
	struct mr_trail *trail = mr_trail_new();
	json_t *list, *event;
	int64_t last = 0;
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(times); i++) {
		struct mr_event e = {
			.type = MR_EVENT_crash, .pid = 5, .time_ns = times[i], .comm = "sh"
		};

		e.crash.signal = 11;
		mr_trail_add(trail, &e);
	}
	list = mr_trail_events(trail);
	assert_int_equal(json_array_size(list), N_ELEMENTS(times));
	json_array_foreach (list, i, event) {
		int64_t now = json_integer_value(json_object_get(event, "boot_ns"));

		assert_int_equal(now, last + 10);
		last = now;
	}
	json_decref(list);
	mr_trail_free(trail);
}

static void what_there_is_no_room_for_is_counted(void **state)
{
	struct mr_trail *trail = mr_trail_new();
	struct mr_event e = { .type = MR_EVENT_fork, .pid = 1 };
	json_t *list;

	(void)state;
	for (uint32_t i = 0; i < MR_TRAIL_PROCESSES_MAX + 3; i++) {
		e.fork.child_pid = i + 2;
		e.fork.start_ns = i + 1;
		mr_trail_add(trail, &e);
	}
	assert_int_equal(mr_trail_processes_left_out(trail), 3);
	list = mr_trail_processes(trail);
	assert_int_equal(json_array_size(list), MR_TRAIL_PROCESSES_MAX);
	json_decref(list);
	e = (struct mr_event){ .type = MR_EVENT_connect, .pid = 2 };
	for (uint32_t i = 0; i < MR_TRAIL_EVENTS_MAX + 2; i++)
		mr_trail_add(trail, &e);
	assert_int_equal(mr_trail_events_left_out(trail), 2);
	mr_trail_free(trail);
}

static uint64_t boot_ns_of(const json_t *list, size_t i)
{
	return (uint64_t)json_integer_value(json_object_get(json_array_get(list, i), "boot_ns"));
}

static void of_a_bad_end_the_last_events_are_kept(void **state)
{
	const uint64_t n = MR_TRAIL_EVENTS_MAX + 3 * MR_TRAIL_LAST_MAX + 5;
	struct mr_trail *trail = mr_trail_new();
	struct mr_event e = { .type = MR_EVENT_exec, .pid = 2 };
	json_t *list;

	(void)state;
	e.exec.exe = "/bin/true";
	e.exec.argv = "true";
	e.exec.argv_kept = 5;
	for (uint64_t i = 1; i <= n; i++) {
		e.time_ns = i;
		mr_trail_add(trail, &e);
	}
	list = mr_trail_events(trail);
	assert_int_equal(json_array_size(list), MR_TRAIL_EVENTS_MAX);
	assert_int_equal(mr_trail_events_left_out(trail), n - MR_TRAIL_EVENTS_MAX);
	assert_int_equal(mr_trail_last_kept(trail), 0);
	json_decref(list);

	mr_trail_keep_last(trail);
	list = mr_trail_events(trail);
	assert_int_equal(json_array_size(list), MR_TRAIL_EVENTS_MAX + MR_TRAIL_LAST_MAX);
	assert_int_equal(mr_trail_last_kept(trail), MR_TRAIL_LAST_MAX);
	assert_int_equal(mr_trail_events_left_out(trail),
			 n - MR_TRAIL_EVENTS_MAX - MR_TRAIL_LAST_MAX);
	assert_true(boot_ns_of(list, MR_TRAIL_EVENTS_MAX - 1) == MR_TRAIL_EVENTS_MAX);
	assert_true(boot_ns_of(list, MR_TRAIL_EVENTS_MAX) == n - MR_TRAIL_LAST_MAX + 1);
	assert_true(boot_ns_of(list, MR_TRAIL_EVENTS_MAX + MR_TRAIL_LAST_MAX - 1) == n);
	json_decref(list);
	mr_trail_free(trail);
}

static void few_events_take_little_memory(void **state)
{
	size_t before = mallinfo2().uordblks;
	struct mr_trail *trail = mr_trail_new();
	struct mr_event e = { .type = MR_EVENT_fork, .pid = 1 };

	(void)state;
	e.fork.child_pid = 2;
	e.fork.start_ns = 1;
	mr_trail_add(trail, &e);
	e = (struct mr_event){ .type = MR_EVENT_connect, .pid = 2 };
	mr_trail_add(trail, &e);
	assert_true(mallinfo2().uordblks - before < 32768);
	mr_trail_free(trail);
}

/* --- facts -------------------------------------------------------------------------------- */

static void assert_histogram(const json_t *doc, size_t i, const char *name, const char *buckets)
{
	const json_t *row = json_array_get(json_object_get(doc, "histograms"), i);
	mr_auto_free char *text = json_dumps(json_object_get(row, "buckets"), 0);

	assert_string_equal(json_string_value(json_object_get(row, "name")), name);
	assert_string_equal(text, buckets);
}

static void what_the_kernel_does_not_keep_is_null(void **state)
{
	struct mr_telemetry t = { .has_counts = true, .knows_sched = true, .all_known = true };
	json_t *doc, *counters;

	(void)state;
	t.trail = mr_trail_new();
	t.net = mr_net_trail_new();
	t.probes = json_array();
	for (int i = 0; i < MR_COUNTER_COUNT_; i++)
		t.known[i] = i != MR_COUNTER_sockets;
	t.counts.counters[MR_COUNTER_run_delay_ns] = 7;
	t.counts.absent = 1ULL << MR_COUNTER_read_bytes | 1ULL << MR_ABSENT_WAITS;
	doc = mr_telemetry_to_json(&t);
	counters = json_object_get(doc, "counters");
	assert_true(json_is_null(json_object_get(counters, "read_bytes")));
	assert_true(json_is_null(json_object_get(counters, "sockets")));
	assert_int_equal(json_integer_value(json_object_get(counters, "run_delay_ns")), 7);
	assert_true(json_is_integer(json_object_get(counters, "written_bytes")));
	assert_true(json_is_null(json_object_get(json_object_get(doc, "usage"), "vfs_read_bytes")));
	assert_int_equal(json_array_size(json_object_get(doc, "histograms")), 1);
	json_decref(doc);
	t.knows_sched = false;
	doc = mr_telemetry_to_json(&t);
	assert_true(json_is_null(json_object_get(doc, "histograms")));
	json_decref(doc);
	t.knows_tcp = true;
	t.counts.histogram[MR_HIST_CONNECT][16] = 3;
	doc = mr_telemetry_to_json(&t);
	assert_histogram(doc, 0, "connect", "[{\"bucket\": 15, \"count\": 3}]");
	assert_histogram(doc, 1, "srtt", "[]");
	json_decref(doc);
	mr_telemetry_deinit(&t);
}

/* What a program would have told that was not run is missing, whoever it was for; and so may be what
 * nobody knows of. */
static void programs_passed_over_are_in_the_books(void **state)
{
	const struct {
		bool knows;
		uint64_t missed;
		const char *told; /* as JSON */
		bool complete;
	} rows[] = {
		{ true, 0, "0", true },
		{ true, 3, "3", false },
		{ false, 0, "null", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mr_telemetry t = { .has_counts = true,
					  .all_known = true,
					  .knows_missed = rows[i].knows,
					  .missed = rows[i].missed };
		json_t *doc;
		char *told;

		t.trail = mr_trail_new();
		t.net = mr_net_trail_new();
		t.probes = json_array();
		doc = mr_telemetry_to_json(&t);
		told = json_dumps(json_object_get(json_object_get(doc, "books"),
						  "programs_passed_over"),
				  JSON_ENCODE_ANY);
		assert_non_null(told);
		assert_string_equal(told, rows[i].told);
		assert_int_equal(json_is_true(json_object_get(doc, "complete")), rows[i].complete);
		free(told);
		json_decref(doc);
		mr_telemetry_deinit(&t);
	}
}

/* --- names and connections ------------------------------------------------------------------ */

static void assert_question(const char *bytes, size_t size, const char *name, int type)
{
	struct mr_dns_question q;

	mr_dns_read_question((const uint8_t *)bytes, size, &q);
	assert_string_equal(q.name, name);
	assert_int_equal(q.malformed, type < 0);
	assert_int_equal(q.type, type < 0 ? 0 : type);
}
#define QUESTION(bytes, name, type) assert_question(bytes, sizeof(bytes) - 1, name, type)

static void names_are_read_as_zone_files_write_them(void **state)
{
	static const uint8_t end[] = { 0, 0, 1, 0, 1 };
	char longest[260], text[MR_DNS_TYPE_SIZE];
	struct mr_dns_question q;

	(void)state;
	QUESTION("\3www\7example\0\0\1\0\1", "www.example", 1);
	QUESTION("\0\0\2\0\1", ".", 2);
	QUESTION("\3a.b\2\\\x1b\0\xff\xfe\0\1", "a\\.b.\\\\\\027", 65534);
	QUESTION("\2\xff \0\0\x1c\0\1", "\\255\\032", 28);
	QUESTION("", "", -1);
	QUESTION("\3www\0\0\1\0", "www", -1); /* one byte is missing */
	QUESTION("\3ww", "", -1);
	QUESTION("\3www\xc0\x0c\0\1\0\1", "www", -1);
	QUESTION("\100x", "", -1);
	/* 255 bytes with the end are a name, 256 are not. */
	memset(longest, 'x', sizeof(longest));
	for (size_t i = 0; i < 3; i++)
		longest[i * 64] = 63;
	longest[192] = 61;
	memcpy(longest + 254, end, 5);
	mr_dns_read_question((const uint8_t *)longest, 259, &q);
	assert_false(q.malformed);
	assert_int_equal(strlen(q.name), 253);
	longest[192] = 62;
	longest[254] = 'x';
	memcpy(longest + 255, end, 4);
	mr_dns_read_question((const uint8_t *)longest, 259, &q);
	assert_true(q.malformed);
	assert_string_equal(mr_dns_type_name(65, text), "HTTPS");
	assert_string_equal(mr_dns_type_name(65535, text), "TYPE65535");
}

static void a_connection_is_one_row(void **state)
{
	struct mr_net_trail *net = mr_net_trail_new();
	struct mr_event e = { .type = MR_EVENT_tcp, .pid = 5, .time_ns = 10 };
	json_t *list, *row;

	(void)state;
	e.tcp.cookie = 1;
	e.tcp.family = 2;
	mr_net_trail_add(net, &e, 3);
	e.pid = 0;
	e.tcp.what = MR_EVENT_TCP_CLOSING;
	e.tcp.sent_bytes = 7;
	mr_net_trail_add(net, &e, 0);
	list = mr_net_trail_connections(net);
	row = json_array_get(list, 0);
	assert_int_equal(json_integer_value(json_object_get(row, "tx_bytes")), 7);
	assert_int_equal(json_integer_value(json_object_get(row, "closed")), 0);
	assert_true(json_is_null(json_object_get(row, "verdict")));
	json_decref(list);
	e.tcp.what = MR_EVENT_TCP_CLOSED;
	e.tcp.sent_bytes = 9;
	mr_net_trail_add(net, &e, 0);
	e.tcp.what = MR_EVENT_TCP_CLOSING; /* came late */
	e.tcp.sent_bytes = 8;
	mr_net_trail_add(net, &e, 0);
	list = mr_net_trail_connections(net);
	row = json_array_get(list, 0);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(json_integer_value(json_object_get(row, "tgid")), 5);
	assert_int_equal(json_integer_value(json_object_get(row, "start_boot_ns")), 3);
	assert_int_equal(json_integer_value(json_object_get(row, "tx_bytes")), 9);
	assert_int_equal(json_integer_value(json_object_get(row, "closed")), 1);
	assert_string_equal(json_string_value(json_object_get(row, "direction")), "out");
	assert_string_equal(json_string_value(json_object_get(row, "verdict")), "allowed");
	json_decref(list);
	e.tcp.what = MR_EVENT_TCP_ASKED;
	for (uint64_t i = 0; i < MR_NET_TRAIL_CONNECTIONS_MAX + 4; i++) {
		e.tcp.cookie = 10 + i;
		mr_net_trail_add(net, &e, 0);
	}
	assert_int_equal(mr_net_trail_connections_left_out(net), 5);
	mr_net_trail_free(net);
}

/* What a follower is told of an event is what the trail keeps of it. */
static void assert_told_as_kept(const struct mr_event *e, const char *const *keys, size_t n)
{
	struct mr_net_trail *net = mr_net_trail_new();
	json_t *told = mr_net_trail_show(e, 3), *rows, *kept;

	mr_net_trail_add(net, e, 3);
	rows = mr_net_trail_rows(net);
	kept = json_object_get(json_array_get(rows, 0), "detail");
	for (size_t i = 0; i < n; i++) {
		assert_non_null(json_object_get(kept, keys[i]));
		assert_true(json_equal(json_object_get(json_object_get(told, "detail"), keys[i]),
				       json_object_get(kept, keys[i])));
	}
	json_decref(told);
	json_decref(rows);
	mr_net_trail_free(net);
}

static void followers_are_told_what_is_kept(void **state)
{
	static const char *const of_name[] = { "type", "questions", "malformed", "server" };
	static const char *const of_end[] = { "tx_packets", "rx_packets", "retransmits", "rtt_us",
					      "tx_bytes",   "errno",	  "verdict",	 "closed" };
	static const uint8_t question[] = { 1, 'a', 0, 0, 1, 0, 1 };
	struct mr_event e = { .type = MR_EVENT_dns, .pid = 5, .time_ns = 10 };
	json_t *told;

	(void)state;
	e.dns.family = 2;
	e.dns.question = question;
	e.dns.kept = sizeof(question);
	e.dns.questions = 1;
	assert_told_as_kept(&e, of_name, N_ELEMENTS(of_name));
	e.dns.questions = 0; /* it says that it asks nothing */
	assert_told_as_kept(&e, of_name, N_ELEMENTS(of_name));
	told = mr_net_trail_show(&e, 3);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(told, "detail"), "malformed")),
			 1);
	json_decref(told);
	e = (struct mr_event){ .type = MR_EVENT_tcp, .time_ns = 10 };
	e.tcp.what = MR_EVENT_TCP_FAILED;
	e.tcp.family = 2;
	e.tcp.segments_out = 3;
	e.tcp.error = 111;
	assert_told_as_kept(&e, of_end, N_ELEMENTS(of_end));
}

/* --- probes ------------------------------------------------------------------------------- */

static void rows_of_probes_are_sound(void **state)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	(void)state;
	assert_true(n > 0 && n <= MR_WIRE_PROBES_MAX);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j + 1 < i; j++)
			if (strcmp(rows[i].name, rows[j].name) ==
			    0) /* ways to one fact: together */
				assert_string_equal(rows[i - 1].name, rows[j].name);
	assert_string_equal(mr_probe_level_name(MR_PROBE_LEVEL_SYSCALLS), "syscalls");
}

static void probes_are_chosen_by_level_and_by_name(void **state)
{
	static const struct {
		const char *switches, *message;
	} bad[] = {
		{ "fork", "\"fork\"; accepted: +PROBE and -PROBE with commas between" },
		{ "+frok", "unknown probe \"frok\"; did you mean fork?" },
		{ "+fork,-fork", "probe fork is switched twice" },
		{ "+fork,", "nothing is behind the last comma" },
		{ "+", "unknown probe \"\"; menace-run(1) lists them" },
		{ "+zzzzzzzzzz\n", "unknown probe \"zzzzzzzzzz\\n\"; menace-run(1) lists them" },
		{ ",+fork", "\"\"; accepted: +PROBE and -PROBE with commas between" },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct mr_probe_choice c;

	(void)state;
	assert_int_equal(mr_probe_choose(MR_PROBE_LEVEL_BASIC, "", &c, &err), 0);
	assert_int_equal(c.rows, 1ULL << MR_ROW_on_fork | 1ULL << MR_ROW_on_exec |
					 1ULL << MR_ROW_on_exit_told | 1ULL << MR_ROW_on_exit |
					 1ULL << MR_ROW_on_signal);
	assert_int_equal(c.on, 0);
	assert_int_equal(mr_probe_choose(MR_PROBE_LEVEL_OFF, "+exit,-fork", &c, &err), 0);
	assert_int_equal(c.rows, 1ULL << MR_ROW_on_exit_told | 1ULL << MR_ROW_on_exit);
	assert_int_equal(c.off, 1ULL << MR_ROW_on_fork);
	assert_int_equal(c.on, c.rows);
	assert_int_equal(mr_probe_choose(MR_PROBE_LEVEL_BASIC, "-exit", &c, &err), 0);
	assert_int_equal(c.rows, 1ULL << MR_ROW_on_fork | 1ULL << MR_ROW_on_exec |
					 1ULL << MR_ROW_on_signal);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		assert_int_equal(mr_probe_choose(MR_PROBE_LEVEL_BASIC, bad[i].switches, &c, &err),
				 -EINVAL);
		assert_string_equal(err.msg, bad[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exec_is_read_whole),
		cmocka_unit_test(places_of_an_exec_are_paths),
		cmocka_unit_test(what_does_not_add_up_is_refused),
		cmocka_unit_test(modules_of_a_crash_have_paths),
		cmocka_unit_test(records_come_in_order_and_whole),
		cmocka_unit_test(what_is_being_written_is_waited_for),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(events_of_several_cpus_are_told_by_time),
		cmocka_unit_test(what_there_is_no_room_for_is_counted),
		cmocka_unit_test(of_a_bad_end_the_last_events_are_kept),
		cmocka_unit_test(few_events_take_little_memory),
		cmocka_unit_test(what_the_kernel_does_not_keep_is_null),
		cmocka_unit_test(programs_passed_over_are_in_the_books),
		cmocka_unit_test(names_are_read_as_zone_files_write_them),
		cmocka_unit_test(a_connection_is_one_row),
		cmocka_unit_test(followers_are_told_what_is_kept),
		cmocka_unit_test(rows_of_probes_are_sound),
		cmocka_unit_test(probes_are_chosen_by_level_and_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
