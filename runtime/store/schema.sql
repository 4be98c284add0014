-- SPDX-License-Identifier: Apache-2.0
--
-- The tables of a store
--
-- A section "--@ N" brings a database from version N-1 (PRAGMA user_version) to N;
-- a released section is never edited, a new one is added.
--
-- What is said behind a column, or in front of a table, goes to menace-store(5).
-- Times are microseconds (_us) or nanoseconds (_ns); boot_ns counts from the start of
-- the host (CLOCK_BOOTTIME), started_us from 1970.  Sizes are bytes.  NULL is "nobody
-- measured it" or "does not apply", never 0.
--
-- Truth is in chain and links: the exact bytes that were hashed.  All other tables
-- with a run_id are made from them by statements.sql and can be made again;
-- "menace audit verify" does so and compares.

--@ 1

--- Facts about the store itself
CREATE TABLE store_info (
	name TEXT PRIMARY KEY, -- id: 128 random bits that name this store in checkpoints
	value TEXT NOT NULL -- as text
) STRICT, WITHOUT ROWID;
INSERT INTO store_info VALUES ('id', lower(hex(randomblob(16))));
PRAGMA application_id = 1835950949;

--- The store's chain: one row for each run taken in, and each act on the store
CREATE TABLE chain (
	seq INTEGER PRIMARY KEY CHECK (seq > 0), -- 1, 2, 3 and so on, without a gap
	kind TEXT NOT NULL CHECK (kind IN ('run', 'loss', 'hold', 'release', 'purge')), -- what happened
	subject TEXT NOT NULL, -- run id; for a loss the place it happened at; for a purge its reason
	body TEXT NOT NULL, -- canonical JSON (RFC 8785) that was hashed: seq, kind, subject, time_us, prev, data
	hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64) -- SHA-256 of body
) STRICT;
CREATE INDEX chain_subject ON chain (subject, kind);

--- The chain of each run: its record in parts
CREATE TABLE links (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL CHECK (n >= 0), -- 0, 1, 2 and so on, without a gap
	kind TEXT NOT NULL CHECK (kind IN ('run', 'result', 'telemetry')), -- what data holds
	body TEXT NOT NULL, -- canonical JSON that was hashed: run_id, n, kind, prev, data
	hash TEXT NOT NULL CHECK (length(hash) = 64), -- SHA-256 of body
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- Parts of the chain that were sealed: their rows are gone, head, count and signature stay
CREATE TABLE segments (
	first_seq INTEGER PRIMARY KEY, -- first row that was sealed
	last_seq INTEGER NOT NULL, -- last row that was sealed
	head TEXT NOT NULL, -- hash of the last row
	document TEXT NOT NULL -- the seal, signed
) STRICT;

--- Signed checkpoints made of this store; copies, what proves is kept elsewhere
CREATE TABLE checkpoints (
	seq INTEGER NOT NULL, -- last row of the chain that is covered
	time_us INTEGER NOT NULL, -- when it was made
	public_key TEXT NOT NULL, -- Ed25519, 64 hex digits
	document TEXT NOT NULL, -- the whole checkpoint
	PRIMARY KEY (seq, public_key, time_us)
) STRICT, WITHOUT ROWID;

--- Runs that retention must leave alone
CREATE TABLE holds (
	run_id TEXT PRIMARY KEY, -- the run
	seq INTEGER NOT NULL, -- row of the chain that says so
	reason TEXT NOT NULL -- why
) STRICT, WITHOUT ROWID;

--- Runs that were purged: their rows are gone, chain keeps their head
CREATE TABLE purged (
	run_id TEXT PRIMARY KEY, -- the run
	seq INTEGER NOT NULL -- row of the chain that says so
) STRICT, WITHOUT ROWID;

--- What could not be taken into the store, and is kept in the file PATH.aside
CREATE TABLE store_losses (
	seq INTEGER PRIMARY KEY, -- row of the chain that says so
	source TEXT NOT NULL UNIQUE, -- spool file and the place in it
	reason TEXT NOT NULL, -- what was wrong with it
	bytes INTEGER NOT NULL -- size of what was kept aside
) STRICT;

--- One row for each run
CREATE TABLE runs (
	run_id TEXT PRIMARY KEY, -- 26 digits and letters that sort by time
	name TEXT, -- label the caller gave
	program TEXT NOT NULL, -- argv[0], or the snippet's path or language
	argv TEXT NOT NULL, -- JSON list; what looks like a secret is replaced
	argv_bytes INTEGER NOT NULL, -- size of all arguments before any was cut off
	argv_truncated INTEGER NOT NULL, -- 1: some were
	lang TEXT, -- language of a snippet
	snippet_sha256 TEXT, -- of a snippet given as text
	spec_sha256 TEXT, -- of the canonical request
	version TEXT NOT NULL, -- of menace-run
	host TEXT, -- node name
	kernel TEXT, -- release
	uid INTEGER, -- of the caller
	batch_index INTEGER, -- place in the input of --batch
	stored_boot_ns INTEGER, -- boot time of one instant at the run's end ...
	stored_real_us INTEGER, -- ... and the same on the clock
	started_us INTEGER, -- start, since 1970
	reason TEXT NOT NULL, -- why it ended, see menace-run(1)
	exit_status INTEGER NOT NULL, -- of menace-run
	exit_code INTEGER, -- of the program
	term_signal INTEGER, -- that ended it
	error_code TEXT, -- of a sandbox that could not be made
	error_message TEXT, -- in words
	oom_kills INTEGER, -- processes killed for memory
	oom_level TEXT, -- whose limit it was
	leftover_killed INTEGER, -- processes left when the main one ended
	verified INTEGER, -- 1: the receipt was read back before the start
	denials INTEGER, -- operations denied in all
	denials_dropped INTEGER, -- not recorded one by one
	changes_left_out INTEGER, -- changed files that the record had no room for
	cgroup_us INTEGER, -- time to make the control group
	clone_us INTEGER, -- in clone3
	setup_us INTEGER, -- from the beginning to the program's first instruction
	teardown_us INTEGER, -- from the end until nothing was left
	complete INTEGER -- 1: no telemetry event was lost; NULL: there was no telemetry
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_started ON runs (started_us);

--- What a run used; each with its source where there may be several
CREATE TABLE usage (
	run_id TEXT PRIMARY KEY, -- the run
	wall_us INTEGER, -- from the first instruction to the end
	cpu_us INTEGER, -- whole tree
	cpu_user_us INTEGER, -- of it in user mode
	cpu_system_us INTEGER, -- of it in the kernel
	cpu_source TEXT, -- who says so
	cpu_rusage_us INTEGER, -- the same as wait4(2) gives it
	cpu_difference_us INTEGER, -- cpu_us less cpu_rusage_us
	cpu_bpf_us INTEGER, -- the same by the scheduler's events
	throttled_us INTEGER, -- held back by the CPU limit
	memory_peak_bytes INTEGER, -- whole tree
	memory_source TEXT, -- who says so
	memory_largest_process_bytes INTEGER, -- resident
	memory_limit_hits INTEGER, -- times the limit was met
	minor_faults INTEGER, -- pages without input
	major_faults INTEGER, -- pages with input
	voluntary_switches INTEGER, -- waits
	involuntary_switches INTEGER, -- preemptions
	block_read_bytes INTEGER, -- from devices
	block_write_bytes INTEGER, -- to devices
	block_read_ops INTEGER, -- requests
	block_write_ops INTEGER, -- requests
	vfs_read_bytes INTEGER, -- by read calls
	vfs_write_bytes INTEGER, -- by write calls
	disk_used_bytes INTEGER, -- in the writable places at the end
	disk_used_inodes INTEGER, -- files there
	pids_peak INTEGER, -- processes and threads at once
	pids_limit_hits INTEGER, -- forks refused
	psi_cpu_some_us INTEGER, -- some waited for a CPU
	psi_memory_some_us INTEGER, -- some waited for memory
	psi_memory_full_us INTEGER, -- all did
	psi_io_some_us INTEGER, -- some waited for devices
	psi_io_full_us INTEGER, -- all did
	stdout_bytes INTEGER, -- written by the program
	stderr_bytes INTEGER, -- written by the program
	stdout_head TEXT, -- its beginning, at most 1 KiB
	stderr_head TEXT, -- its beginning, at most 1 KiB
	own_cpu_ns INTEGER -- spent by the observing programs
) STRICT, WITHOUT ROWID;

--- Limits: asked for, and what the kernel showed
CREATE TABLE limits (
	run_id TEXT NOT NULL, -- the run
	name TEXT NOT NULL, -- knob of menace-spec(5), section limits
	asked ANY, -- number in the knob's unit; NULL: unlimited
	kernel ANY, -- read back; NULL: not a limit of the control group
	kernel_file TEXT, -- where it was read
	PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

--- Limits that were met
CREATE TABLE limits_hit (
	run_id TEXT NOT NULL, -- the run
	name TEXT NOT NULL, -- wall, cpu_time, idle, memory, pids, disk, output
	PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

--- Set-up steps in their order
CREATE TABLE steps (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	name TEXT NOT NULL, -- of the step
	took_ns INTEGER NOT NULL, -- duration
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- The receipt: what was enforced
CREATE TABLE receipts (
	run_id TEXT NOT NULL, -- the run
	layer TEXT NOT NULL, -- namespaces, cgroup, identity, mounts, landlock, seccomp, network
	state TEXT NOT NULL, -- enforced, degraded, not requested
	proof TEXT NOT NULL, -- JSON: what was read back
	PRIMARY KEY (run_id, layer)
) STRICT, WITHOUT ROWID;

--- What was given up by --best-effort
CREATE TABLE degraded (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	item TEXT NOT NULL, -- which
	why TEXT, -- what is missing
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- What was refused to the program, equal ones together
CREATE TABLE denials (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	layer TEXT NOT NULL, -- seccomp, landlock, mount, network, limits
	what TEXT NOT NULL, -- system call or operation
	object TEXT, -- path, address
	errno INTEGER, -- the program saw
	errno_name TEXT, -- by name
	pid INTEGER, -- on the host
	comm TEXT, -- process name
	rule TEXT, -- that refused
	reason TEXT, -- in words
	allow TEXT, -- what would allow it
	count INTEGER NOT NULL, -- how often
	first_ns INTEGER, -- boot time of the first
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- What changed in the workspace
CREATE TABLE changes (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	kind TEXT NOT NULL, -- added, modified, deleted, type_changed, metadata, unreadable
	path TEXT NOT NULL, -- in the workspace
	type TEXT, -- file, directory and so on
	size_bytes INTEGER, -- of a file
	sha256 TEXT, -- of a file
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- Processes; (tgid, start_boot_ns) is the identity, pids are used again
CREATE TABLE processes (
	run_id TEXT NOT NULL, -- the run
	tgid INTEGER NOT NULL, -- process id on the host
	start_boot_ns INTEGER NOT NULL, -- boot time of the fork
	parent_tgid INTEGER, -- who forked it
	parent_start_boot_ns INTEGER, -- and when that one began
	comm TEXT, -- last name
	exe TEXT, -- last program
	argv TEXT, -- JSON list
	argv_bytes INTEGER, -- true size
	argv_truncated INTEGER, -- 1: argv is cut off
	cwd TEXT, -- at the last exec
	fileless INTEGER, -- 1: the program had no name in any file system
	uid INTEGER, -- host user id
	execs INTEGER, -- number of
	threads INTEGER, -- made in all
	exit_boot_ns INTEGER, -- boot time of the last thread's end
	exit_code INTEGER, -- status
	exit_signal INTEGER, -- that ended it
	core_dumped INTEGER, -- 1: it did
	cpu_user_us INTEGER, -- in user mode
	cpu_system_us INTEGER, -- in the kernel
	rss_peak_bytes INTEGER, -- resident
	minor_faults INTEGER, -- pages without input
	major_faults INTEGER, -- pages with input
	voluntary_switches INTEGER, -- waits
	involuntary_switches INTEGER, -- preemptions
	read_bytes INTEGER, -- by read calls
	write_bytes INTEGER, -- by write calls
	PRIMARY KEY (run_id, tgid, start_boot_ns)
) STRICT, WITHOUT ROWID;

--- What happened, in order
CREATE TABLE events (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	boot_ns INTEGER NOT NULL, -- when
	type TEXT NOT NULL, -- fork, exec, exit, signal, oom, open, connect and so on
	tgid INTEGER, -- process
	start_boot_ns INTEGER, -- of that process
	tid INTEGER, -- thread
	comm TEXT, -- its name
	object TEXT, -- path, address, signal
	result INTEGER, -- 0, or the negative errno
	detail TEXT, -- JSON: what else this type has
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_type ON events (type, object);

--- Counters kept by the kernel side: exact even where events were lost
CREATE TABLE counters (
	run_id TEXT NOT NULL, -- the run
	name TEXT NOT NULL, -- fork, exec, exit, connect and so on
	value INTEGER NOT NULL, -- how many
	PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

--- Distributions in powers of two
CREATE TABLE histograms (
	run_id TEXT NOT NULL, -- the run
	name TEXT NOT NULL, -- what is counted
	unit TEXT NOT NULL, -- of the bounds
	bucket INTEGER NOT NULL, -- k: values from 2^k to below 2^(k+1); -1: the value 0
	count INTEGER NOT NULL, -- values in it
	PRIMARY KEY (run_id, name, bucket)
) STRICT, WITHOUT ROWID;

--- System calls, where they were asked for
CREATE TABLE syscalls (
	run_id TEXT NOT NULL, -- the run
	name TEXT NOT NULL, -- of the call
	errno INTEGER NOT NULL, -- 0: it succeeded
	count INTEGER NOT NULL, -- calls
	total_ns INTEGER, -- time in them
	PRIMARY KEY (run_id, name, errno)
) STRICT, WITHOUT ROWID;

--- Sockets that spoke, or wanted to
CREATE TABLE connections (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	boot_ns INTEGER, -- when it began
	tgid INTEGER, -- process
	start_boot_ns INTEGER, -- of that process
	family TEXT, -- inet, inet6, unix and so on
	protocol TEXT, -- tcp, udp and so on
	direction TEXT, -- out, in
	local TEXT, -- address
	local_port INTEGER, -- number
	remote TEXT, -- address
	remote_port INTEGER, -- number
	verdict TEXT, -- allowed, denied, failed
	errno INTEGER, -- of a failure
	tx_bytes INTEGER, -- sent
	rx_bytes INTEGER, -- received
	tx_packets INTEGER, -- sent
	rx_packets INTEGER, -- received
	retransmits INTEGER, -- segments sent again
	rtt_us INTEGER, -- smoothed, at the end
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- Names that were asked of DNS
CREATE TABLE dns (
	run_id TEXT NOT NULL, -- the run
	n INTEGER NOT NULL, -- 0, 1, 2 and so on
	boot_ns INTEGER, -- when
	tgid INTEGER, -- process
	name TEXT NOT NULL, -- asked for
	type TEXT, -- A, AAAA and so on
	transport TEXT, -- udp, tcp
	PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

--- Which probes were there
CREATE TABLE probes (
	run_id TEXT NOT NULL, -- the run
	name TEXT NOT NULL, -- of the probe
	state TEXT NOT NULL, -- attached, off, failed
	errno INTEGER, -- of a failure
	consequence TEXT, -- which facts are missing
	PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

--- The loss ledger: events that were seen and not delivered
CREATE TABLE losses (
	run_id TEXT NOT NULL, -- the run
	type TEXT NOT NULL, -- of the event
	reason TEXT NOT NULL, -- ring full, scratch too small and so on
	count INTEGER NOT NULL, -- how many
	PRIMARY KEY (run_id, type, reason)
) STRICT, WITHOUT ROWID;

--@ 2

ALTER TABLE dns ADD COLUMN start_boot_ns INTEGER; -- of that process
ALTER TABLE dns ADD COLUMN server TEXT; -- address that was asked
ALTER TABLE dns ADD COLUMN questions INTEGER; -- number of them in the message; name is the first
ALTER TABLE dns ADD COLUMN malformed INTEGER; -- 1: name is what could be read before it made no sense
ALTER TABLE connections ADD COLUMN closed INTEGER; -- 1: it is, and the amounts are final

--@ 3

--- Workflows: the database of menace flow add, list, show and rm
CREATE TABLE flows (
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- what menace flow run takes; never given twice
	name TEXT NOT NULL, -- of the workflow
	folder TEXT NOT NULL, -- where its source folder is looked for
	document TEXT NOT NULL, -- menace-flow(5), with the contents of files in it
	sha256 TEXT NOT NULL UNIQUE, -- of folder and document: the same is kept once
	added_us INTEGER NOT NULL -- when
) STRICT;

--- Runs of workflows
CREATE TABLE flow_runs (
	flow_run TEXT PRIMARY KEY, -- 16 hex digits; menace flow run --resume takes them
	name TEXT NOT NULL, -- of the workflow
	folder TEXT NOT NULL, -- of its source folder
	document TEXT NOT NULL, -- as in flows
	jobs INTEGER NOT NULL, -- steps at once
	started_us INTEGER NOT NULL, -- when
	ended_us INTEGER, -- when; NULL: it is going on, or waits to be resumed
	passed INTEGER -- 1: every step ended well
) STRICT, WITHOUT ROWID;
CREATE INDEX flow_runs_started ON flow_runs (started_us);

--- Steps of these that are done: each is there once, whatever ended the program meanwhile
CREATE TABLE flow_steps (
	flow_run TEXT NOT NULL, -- the run of the workflow
	n INTEGER NOT NULL, -- place of the step in the workflow; the run of all together comes last
	name TEXT NOT NULL, -- of the step
	state TEXT NOT NULL CHECK (state IN ('done', 'skipped')), -- skipped: what it needs did not end well
	passed INTEGER NOT NULL, -- 1: it ended well
	run TEXT, -- which of runs its sandbox was
	detail TEXT NOT NULL, -- JSON: numbers, limits, end of the output
	PRIMARY KEY (flow_run, n)
) STRICT, WITHOUT ROWID;

--- Matrices: menace scenario run
CREATE TABLE matrices (
	matrix TEXT PRIMARY KEY, -- 16 hex digits; menace scenario run --resume takes them
	name TEXT NOT NULL, -- of the workflow or program
	folder TEXT NOT NULL, -- of its source folder
	document TEXT NOT NULL, -- the workflow
	options TEXT NOT NULL, -- JSON: what decides which cells there are, with all presets
	started_us INTEGER NOT NULL, -- when
	ended_us INTEGER -- when all cells were there; NULL: it is going on, or waits to be resumed
) STRICT, WITHOUT ROWID;
CREATE INDEX matrices_started ON matrices (started_us);

--- Cells of these that are done: each is there once
CREATE TABLE cells (
	matrix TEXT NOT NULL, -- the matrix
	n INTEGER NOT NULL, -- place of the cell in it
	scenario TEXT NOT NULL, -- its name
	level TEXT NOT NULL, -- low, high, or - for a scenario without levels
	replicate INTEGER NOT NULL, -- 0, 1, 2 and so on
	arm TEXT NOT NULL CHECK (arm IN ('on', 'off')), -- with the conditions, or without them
	seed INTEGER NOT NULL, -- of what is random in it; the same in both arms
	verdict TEXT NOT NULL CHECK (verdict IN ('passed', 'failed', 'inconclusive', 'error')), -- of it
	detail TEXT NOT NULL, -- JSON: why, what was in force, numbers of each copy
	PRIMARY KEY (matrix, n)
) STRICT, WITHOUT ROWID;

--@ 4

--- Values of stubs that were seen, and how it went: what the strategies history and failures take from; no presets, no variables of an environment, and nothing that has the name of a secret; at most 10,000, none older than 90 days
CREATE TABLE inputs (
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of the first time
	flow TEXT NOT NULL, -- workflow or program
	step TEXT NOT NULL, -- of it, the last one that had the value
	stub TEXT NOT NULL, -- name of the stub
	scenario TEXT, -- of a matrix, the last one; NULL: a run without conditions
	strategy TEXT NOT NULL, -- how it was made up first
	seed INTEGER NOT NULL, -- that decided it first
	class TEXT, -- of a payload or a change; NULL: an ordinary value
	payload TEXT, -- which of that class
	raw INTEGER NOT NULL, -- 1: value is bytes that stand for themselves, as a content of menace-flow(5); 2: it is a marker of one that was secret, or made from a secret: class, strategy and size
	value TEXT NOT NULL, -- JSON
	sha256 TEXT NOT NULL, -- of value
	seen INTEGER NOT NULL, -- how often
	failed INTEGER NOT NULL, -- in how many of these the step failed
	first_us INTEGER NOT NULL, -- when
	last_us INTEGER NOT NULL, -- when
	UNIQUE (flow, stub, sha256)
) STRICT;
CREATE INDEX inputs_last ON inputs (last_us);

--@ 5

ALTER TABLE runs ADD COLUMN clock_skew_ns INTEGER; -- by how much the clock was set forward during the run
ALTER TABLE usage ADD COLUMN pids_unreaped INTEGER; -- processes that had ended by the end of the main one, and nobody waited for them
ALTER TABLE usage ADD COLUMN throttled_periods INTEGER; -- in how many periods the CPU limit held it back
-- Records of a newer program may be here already, with what there was no column for.
UPDATE runs SET clock_skew_ns = (SELECT body ->> '$.data.timings.clock_skew_ns' FROM links
	WHERE links.run_id = runs.run_id AND kind = 'result');
UPDATE usage SET (pids_unreaped, throttled_periods) =
	(SELECT body ->> '$.data.usage.pids.unreaped', body ->> '$.data.usage.cpu.throttled_periods' FROM links
	WHERE links.run_id = usage.run_id AND kind = 'result');
