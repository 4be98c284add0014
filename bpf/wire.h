/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Wire: what the programs in the kernel and we say to each other
 *
 * Plain C, compiled on both sides; the layout is asserted, and MR_WIRE_VERSION is
 * part of the name of the pinned set, so the two sides can never differ.
 *
 * Maps
 *   runs    hash       cgroup id -> struct mr_wire_run: whom to observe
 *   slots   array      one struct mr_wire_slot for each run that is observed
 *   owners  array      for each slot the cgroup id that its holder put into `runs`, 0: none
 *   rings   array of   two rings a slot: events, and the few that must not be lost
 *   calls   array of   an array of outcomes of system calls for a slot that ever wanted them
 *   control array      one struct mr_wire_control
 *   links   array      for each row that is attached while runs want it the number of the link
 *   matrix  array      one element: state of each row of probes.def; written by the loader alone
 *
 * A slot is used again by later runs.  What tells them apart is the generation, which is
 * in the slot, in the entry of `runs` and in every record.
 */
#pragma once

#include <linux/types.h>

#define MR_WIRE_VERSION 6
#define MR_WIRE_SLOTS 128
#define MR_WIRE_PROBES_MAX 64 /* rows of probes.def */
#define MR_WIRE_DEPTHS 4 /* different depths at which groups of runs can lie */
/* Of a histogram: [0] is for less than a microsecond, [i] for 2^(i-1) up to below 2^i of them. */
#define MR_WIRE_BUCKETS 32

/* Outcomes of system calls: count [nr * MR_WIRE_ERRNOS + errno]; the last nr and errno hold what is
 * beyond. */
#define MR_WIRE_SYSCALLS 512
#define MR_WIRE_ERRNOS 136
#define MR_WIRE_OUTCOMES (MR_WIRE_SYSCALLS * MR_WIRE_ERRNOS)
/* Behind the counts as many sums of nanoseconds, of those calls whose beginning was seen. */
#define MR_WIRE_CALLS (2 * MR_WIRE_OUTCOMES)

/* Rows of probes.def, each called like its program. */
enum mr_wire_row {
#define PROBE(name, object, program, ...) MR_ROW_##program,
#include "bpf/probes.def"
#undef PROBE
	MR_ROW_COUNT_,
};
_Static_assert(MR_ROW_COUNT_ <= MR_WIRE_PROBES_MAX, "room in the matrix");

enum mr_wire_counter {
#define COUNTER(name, ...) MR_COUNTER_##name,
#include "bpf/counters.def"
#undef COUNTER
	MR_COUNTER_COUNT_,
};

enum mr_wire_type {
	MR_WIRE_NONE,
	MR_WIRE_FORK,
	MR_WIRE_EXEC,
	MR_WIRE_EXIT,
	MR_WIRE_CRASH,
	MR_WIRE_SOCKET,
	MR_WIRE_CONNECT,
	MR_WIRE_BIND,
	MR_WIRE_SENDMSG,
	MR_WIRE_DNS,
	MR_WIRE_TCP,
	MR_WIRE_ATTEMPT,
	MR_WIRE_OPEN,
	MR_WIRE_TYPE_COUNT_,
};

/* rings[2 * slot + ring] */
enum mr_wire_ring { MR_RING_EVENTS, MR_RING_VITAL, MR_RING_COUNT_ };
#define MR_RING_EVENTS_BYTES (64 * 1024)
#define MR_RING_VITAL_BYTES (64 * 1024)
/* Of these, for ends alone: however many crashes nobody has read, those of init and of the main program
 * find room. */
#define MR_RING_VITAL_SPARE_BYTES (4 * 1024)

enum mr_wire_histogram {
	MR_HIST_RUN,
	MR_HIST_WAIT,
	MR_HIST_BLOCK,
	MR_HIST_CALL,
	MR_HIST_CONNECT,
	MR_HIST_RTT,
	MR_HIST_COUNT_,
};

/* Who is observed; value of `runs`. */
struct mr_wire_run {
	__u64 generation;
	__u64 rows; /* a bit for each enum mr_wire_row that is to look at it */
	__u32 slot;
	__u32 flags;
};
_Static_assert(sizeof(struct mr_wire_run) == 24, "layout");
/* The first process in it is older than the run, and is not of it: neither it nor what it does. */
#define MR_WIRE_RUN_WITHOUT_INIT 1u

/* Everything counted of one run. */
struct mr_wire_slot {
	__u64 generation; /* of the run that has it, 0: none */
	__u64 counters[MR_COUNTER_COUNT_];
	__u64 emitted[MR_WIRE_TYPE_COUNT_]; /* events that there were */
	__u64 lost_full[MR_WIRE_TYPE_COUNT_]; /* of these: the ring had no room */
	__u64 lost_ring[MR_WIRE_TYPE_COUNT_]; /* of these: there was no ring */
	__u64 failures; /* reads that the kernel refused to our programs */
	__u64 programs_ns; /* what our programs themselves took */
	__u64 absent; /* a bit for each counter that this kernel does not keep */
	__u64 main_pid; /* of init's first child, as init numbers it; 0: there was none */
	__u64 main_fds; /* one more than it had open at its end beyond the first three; 0: not known */
	__u64 histogram[MR_HIST_COUNT_][MR_WIRE_BUCKETS];
};
_Static_assert(MR_COUNTER_COUNT_ <= 63, "bits of absent");
#define MR_ABSENT_WAITS MR_COUNTER_COUNT_ /* bit for the histogram of waits */
_Static_assert(sizeof(struct mr_wire_slot) == 8 * (6 + MR_COUNTER_COUNT_ + 3 * MR_WIRE_TYPE_COUNT_ +
						   MR_HIST_COUNT_ * MR_WIRE_BUCKETS),
	       "layout");

/* What all runs share. */
struct mr_wire_control {
	/* How far below the root the groups of runs lie, as the programs found; 0: unused. */
	__u32 depths[MR_WIRE_DEPTHS];
};
_Static_assert(sizeof(struct mr_wire_control) == 4 * MR_WIRE_DEPTHS, "layout");

/* What the loader found of one row of probes.def. */
enum mr_wire_state { MR_PROBE_UNTRIED, MR_PROBE_ON, MR_PROBE_OFF };
struct mr_wire_probe {
	__u32 state;
	__s32 errnum; /* of the refusal */
	char why[120];
};
_Static_assert(sizeof(struct mr_wire_probe) == 128, "layout");

/* Every record begins with this. */
struct mr_wire_header {
	__u16 type;
	__u16 size; /* of the whole record */
	__u32 tid;
	__u32 pid; /* process; both as the host numbers them */
	__u32 inner_pid; /* as the sandbox's init numbers it, 0: not in its namespace */
	__u64 generation;
	__u64 time_ns; /* CLOCK_BOOTTIME */
};
_Static_assert(sizeof(struct mr_wire_header) == 32, "layout");

struct mr_wire_fork {
	struct mr_wire_header h; /* of the parent */
	__u64 start_ns; /* of the child; with child_pid it names a process for good */
	__u32 child_pid;
	__u32 child_tid; /* differs from child_pid: a thread */
	__u32 child_inner_pid;
	__u32 reserved;
	char comm[16];
};
_Static_assert(sizeof(struct mr_wire_fork) == 72, "layout");

#define MR_WIRE_EXE_MAX 256
#define MR_WIRE_ARGV_MAX 4096
#define MR_WIRE_EXEC_FILELESS 1u
#define MR_WIRE_EXEC_EXE_CUT 2u /* exe was longer */
#define MR_WIRE_EXEC_NO_ARGV 4u /* the arguments could not be read */
#define MR_WIRE_EXEC_FILE_CUT 8u /* the file's path was longer; what is there is its end */
#define MR_WIRE_EXEC_CWD_CUT 16u
#define MR_WIRE_PLACE_MAX 512
/* Followed by exe_bytes of the path as it was given, with its NUL; by argv_kept bytes of the
 * arguments, each with its NUL unless cut; and by file_bytes and cwd_bytes of names, from the file that
 * was loaded and from the working directory up to the process's root, each with its NUL. */
struct mr_wire_exec {
	struct mr_wire_header h;
	__u64 start_ns;
	__u64 argv_bytes; /* of all arguments with their NULs, as they are */
	__u64 inode;
	__u32 device;
	__u32 old_tid; /* of the thread that called exec; differs from h.pid: not the leader */
	__u32 parent_pid;
	__u32 argc;
	__u32 flags;
	__u16 exe_bytes;
	__u16 argv_kept;
	__u16 file_bytes;
	__u16 cwd_bytes;
	__u32 reserved;
	char comm[16];
};
_Static_assert(sizeof(struct mr_wire_exec) == 104, "layout");
#define MR_WIRE_EXEC_TEXT_MAX (MR_WIRE_EXE_MAX + MR_WIRE_ARGV_MAX + 2 * MR_WIRE_PLACE_MAX)
#define MR_WIRE_RECORD_MAX (sizeof(struct mr_wire_exec) + MR_WIRE_EXEC_TEXT_MAX)

#define MR_WIRE_EXIT_OOM 1u
struct mr_wire_exit {
	struct mr_wire_header h;
	__u64 start_ns;
	__u32 exit_code; /* as wait() tells it */
	__u32 flags;
	__u64 rss_max_bytes;
	char comm[16];
};
_Static_assert(sizeof(struct mr_wire_exit) == 72, "layout");

#define MR_WIRE_FRAMES 32
#define MR_WIRE_MODULES 4
#define MR_WIRE_MODULE_PATH 192
#define MR_WIRE_MODULE_CUT 1u /* the path is longer */
#define MR_WIRE_MODULE_NAMELESS 2u /* a file with no name in any file system */
/* What frames of a crash lie in.  The path is in its file system, from the file up to the root: names,
 * each with its NUL, path_bytes in all. */
struct mr_wire_module {
	__u64 start, end; /* where it is mapped */
	__u64 offset; /* in the file, of start */
	__u64 inode; /* 0: memory of no file */
	__u32 device;
	__u32 flags;
	__u32 path_bytes;
	__u32 reserved;
	char path[MR_WIRE_MODULE_PATH];
};
_Static_assert(sizeof(struct mr_wire_module) == 48 + MR_WIRE_MODULE_PATH, "layout");

/* Followed by n_modules structs mr_wire_module. */
struct mr_wire_crash {
	struct mr_wire_header h;
	__u64 address; /* si_addr */
	__u32 signal;
	__s32 code; /* si_code */
	__u32 n_frames;
	__u32 n_modules;
	char comm[16];
	__u64 frames[MR_WIRE_FRAMES]; /* n_frames addresses, innermost first; the rest is 0 */
};
_Static_assert(sizeof(struct mr_wire_crash) == 72 + 8 * MR_WIRE_FRAMES, "layout");
#define MR_WIRE_CRASH_MAX \
	(sizeof(struct mr_wire_crash) + MR_WIRE_MODULES * sizeof(struct mr_wire_module))
_Static_assert(MR_WIRE_CRASH_MAX <= MR_WIRE_RECORD_MAX, "a reader has room for it");

/* SOCKET, CONNECT, BIND and SENDMSG */
struct mr_wire_net {
	struct mr_wire_header h;
	__u32 family; /* AF_ */
	__u32 kind; /* SOCK_ */
	__u32 protocol; /* IPPROTO_ */
	__u32 port; /* host order; 0 for SOCKET */
	__u8 address[16]; /* network order; the first four bytes of AF_INET */
	char comm[16];
};
_Static_assert(sizeof(struct mr_wire_net) == 80, "layout");

#define MR_WIRE_DNS_HEADER 12 /* bytes before the questions of a message */
#define MR_WIRE_DNS_MAX 259 /* of a question: a name, type and class */
struct mr_wire_dns {
	struct mr_wire_header h; /* pid, tid and inner_pid 0: nobody knows who */
	__u16 transport; /* IPPROTO_ */
	__u16 family; /* AF_ */
	__u16 questions; /* as the message says */
	__u16 kept; /* bytes of question */
	__u8 address[16]; /* of the server; network order */
	char comm[16];
	__u8 question[MR_WIRE_DNS_MAX]; /* the first one, as it was sent */
	__u8 reserved[5];
};
_Static_assert(sizeof(struct mr_wire_dns) == 336, "layout");

enum mr_wire_tcp_what {
	MR_WIRE_TCP_ASKED,
	MR_WIRE_TCP_ACCEPTED,
	MR_WIRE_TCP_CLOSING, /* by us: amounts so far */
	MR_WIRE_TCP_CLOSED,
	MR_WIRE_TCP_FAILED, /* it was never open */
	MR_WIRE_TCP_WHAT_COUNT_,
};
struct mr_wire_tcp {
	struct mr_wire_header h; /* pid, tid and inner_pid 0: nobody knows who */
	__u64 cookie; /* names the socket since the host's start */
	__u64 sent_bytes, received_bytes; /* payload; none is counted twice */
	__u32 what;
	__u32 family; /* AF_ */
	__u32 local_port, remote_port; /* host order */
	__u32 segments_out, segments_in, retransmits;
	__u32 rtt_us; /* smoothed; 0: none was measured */
	__u32 error; /* of the socket */
	__u32 reserved;
	__u8 local[16], remote[16]; /* network order */
	char comm[16];
};
_Static_assert(sizeof(struct mr_wire_tcp) == 144, "layout");

#define MR_WIRE_ATTEMPTS_TOLD 64 /* of each counter; more are only counted */
struct mr_wire_attempt {
	struct mr_wire_header h;
	__u64 args[3];
	__u32 nr; /* of the system call */
	__u32 reserved;
	char comm[16];
};
_Static_assert(sizeof(struct mr_wire_attempt) == 80, "layout");

#define MR_WIRE_PATH_MAX 256
#define MR_WIRE_OPEN_WRITE 1u
#define MR_WIRE_OPEN_SECRET 2u /* a file that is somebody's secret */
#define MR_WIRE_OPENS_TOLD 256 /* likewise */
struct mr_wire_open {
	struct mr_wire_header h;
	__u64 inode;
	__u32 device;
	__u32 flags;
	__u32 path_bytes; /* with the NUL; 0: longer than there is room, or not to be had */
	__u32 reserved;
	char comm[16];
	char path[MR_WIRE_PATH_MAX]; /* as the sandbox sees it */
};
_Static_assert(sizeof(struct mr_wire_open) == 328, "layout");
