/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event: the one record that flows
 *
 * What happened in a run, from whoever saw it to whoever keeps it.  A sink is handed
 * events one at a time; text in them is borrowed for the length of the call.  Text
 * comes from the program under test: it may hold any byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mr_event_type {
#define EVENT(name, help) MR_EVENT_##name,
#include "runtime/base/events.def"
#undef EVENT
	MR_EVENT_COUNT_,
};
/* "fork", "exec", ... */
const char *mr_event_name(enum mr_event_type type);
const char *mr_event_help(enum mr_event_type type);

#define MR_EVENT_FRAMES_MAX 32
#define MR_EVENT_MODULES_MAX 4
#define MR_EVENT_PATH_MAX 193

/* A mapped piece of memory that frames of a crash lie in. */
struct mr_event_module {
	uint64_t start, end;
	uint64_t offset; /* in the file, of start */
	uint64_t inode; /* 0: memory of no file */
	uint32_t device; /* as the kernel numbers them: major << 20 | minor */
	bool is_cut; /* path is only its last part */
	bool is_nameless; /* path is none: the file is in no file system any more */
	char path[MR_EVENT_PATH_MAX]; /* in its file system, not in the sandbox; "": none */
};

/* Names from an entry of a folder up to the root, each with its NUL; none: not known. */
struct mr_event_place {
	const char *names;
	size_t bytes;
	bool is_cut; /* there are more above */
};
/* They become a path, from "/" on also where it is cut; ret has room for bytes + 1. */
void mr_event_path(const char *names, size_t bytes, char *ret);

enum mr_event_tcp_what {
	MR_EVENT_TCP_ASKED,
	MR_EVENT_TCP_ACCEPTED,
	MR_EVENT_TCP_CLOSING, /* from this side: what was sent and received so far */
	MR_EVENT_TCP_CLOSED,
	MR_EVENT_TCP_FAILED,
};

struct mr_event {
	enum mr_event_type type;
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	uint32_t pid, tid; /* process and thread, as the host numbers them; 0: not known */
	uint32_t inner_pid; /* as the sandbox numbers it; 0: it has no number there */
	char comm[17];
	union {
		struct {
			uint32_t child_pid, child_inner_pid;
			uint64_t start_ns; /* of the child; with child_pid unique since boot */
		} fork; /* pid is the parent */
		struct {
			uint64_t start_ns;
			const char *exe; /* as it was given to exec; terminated */
			bool exe_truncated;
			bool fileless; /* no name in any file system */
			bool from_thread; /* called by another thread than the first */
			uint32_t parent_pid;
			uint32_t argc;
			uint32_t device;
			uint64_t inode;
			const char *argv; /* argv_kept bytes: arguments, each with its NUL */
			size_t argv_kept;
			uint64_t argv_bytes; /* of all arguments with their NULs, as they were */
			bool argv_truncated;
			bool argv_unreadable;
			/* Seen from the process's root, at that moment: what was loaded (of a
			 * script its interpreter), all links followed, and where it works. */
			struct mr_event_place file, cwd;
		} exec;
		struct {
			uint64_t start_ns;
			uint32_t wait_status; /* as wait() tells it */
			bool oom_victim; /* chosen by the kernel for want of memory */
			uint64_t rss_max_bytes;
		} exit;
		struct {
			int signal, code; /* code: si_code */
			uint64_t address; /* of the access; 0 where the signal has none */
			size_t n_frames;
			uint64_t frames[MR_EVENT_FRAMES_MAX]; /* innermost first */
			size_t n_modules;
			struct mr_event_module *modules; /* n_modules */
		} crash;
		struct {
			uint32_t family, kind, protocol,
				port; /* AF_, SOCK_, IPPROTO_, host order */
			uint8_t address[16]; /* network order; four bytes for AF_INET */
		} net;
		struct {
			bool by_tcp;
			uint32_t family; /* AF_ of the server */
			uint32_t questions; /* as the message says */
			uint8_t address[16]; /* of the server */
			const uint8_t *question; /* the first one, as it was sent */
			size_t kept; /* bytes of it */
		} dns;
		struct {
			enum mr_event_tcp_what what;
			uint64_t cookie; /* names the socket since the host's start */
			uint64_t sent_bytes, received_bytes; /* payload */
			uint32_t family, local_port, remote_port;
			uint32_t segments_out, segments_in, retransmits;
			uint32_t rtt_us; /* smoothed; 0: none was measured */
			uint32_t error; /* errno of the socket */
			uint8_t local[16], remote[16];
		} tcp;
		struct {
			uint32_t nr; /* of the system call */
			uint64_t args[3];
		} attempt;
		struct {
			const char *path; /* as the sandbox sees it; terminated; "": not known */
			bool to_write; /* a regular file */
			bool secret; /* somebody's: keys, passwords, what is in another's home */
			uint32_t device;
			uint64_t inode;
		} open;
	};
};

struct mr_sink {
	/* 0, or a negative errno: the event was not kept. */
	int (*event)(struct mr_sink *sink, const struct mr_event *event);
};
