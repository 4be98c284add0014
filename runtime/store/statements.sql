-- SPDX-License-Identifier: Apache-2.0
--
-- Statements by name: "--@ NAME" begins one.
--
-- project.KIND.TABLE makes rows of TABLE from the body (:body) of a link of that kind;
-- record.c runs all of a kind, in this order.  $.data is what the record said.

--@ project.run.runs
INSERT INTO runs (run_id, program, argv, argv_bytes, argv_truncated, lang, snippet_sha256, host,
	kernel, uid, batch_index, stored_boot_ns, stored_real_us, version, reason, exit_status)
SELECT :body ->> '$.run_id', :body ->> '$.data.program', :body -> '$.data.argv',
	:body ->> '$.data.argv_bytes', :body ->> '$.data.argv_truncated', :body ->> '$.data.lang',
	:body ->> '$.data.snippet_sha256', :body ->> '$.data.host', :body ->> '$.data.kernel',
	:body ->> '$.data.uid', :body ->> '$.data.batch_index', :body ->> '$.data.stored_boot_ns',
	:body ->> '$.data.stored_real_us', '', '', 0;

--@ project.result.runs
UPDATE runs SET
	name = :body ->> '$.data.name', spec_sha256 = :body ->> '$.data.spec_sha256',
	version = :body ->> '$.data.version', reason = :body ->> '$.data.reason',
	started_us = CAST(strftime('%s', :body ->> '$.data.started_at') AS INTEGER) * 1000000
		+ CAST(substr(:body ->> '$.data.started_at', 21, 6) AS INTEGER),
	exit_status = :body ->> '$.data.exit.status', exit_code = :body ->> '$.data.exit.code',
	term_signal = :body ->> '$.data.exit.signal', error_code = :body ->> '$.data.error.code',
	error_message = :body ->> '$.data.error.message', oom_kills = :body ->> '$.data.oom.kills',
	oom_level = :body ->> '$.data.oom.level', leftover_killed = :body ->> '$.data.leftover_killed',
	verified = :body ->> '$.data.receipt.verified_before_start',
	denials = :body ->> '$.data.denials.total', denials_dropped = :body ->> '$.data.denials.dropped',
	changes_left_out = :body ->> '$.data.workspace.changes.left_out',
	cgroup_us = :body ->> '$.data.timings.cgroup_us', clone_us = :body ->> '$.data.timings.clone_us',
	setup_us = :body ->> '$.data.timings.setup_us',
	teardown_us = :body ->> '$.data.timings.teardown_us',
	clock_skew_ns = :body ->> '$.data.timings.clock_skew_ns'
WHERE run_id = :body ->> '$.run_id';

--@ project.result.usage
INSERT INTO usage (run_id, wall_us, cpu_us, cpu_user_us, cpu_system_us, cpu_source, cpu_rusage_us,
	cpu_difference_us, throttled_us, memory_peak_bytes, memory_source,
	memory_largest_process_bytes, memory_limit_hits, minor_faults, major_faults,
	voluntary_switches, involuntary_switches, block_read_bytes, block_write_bytes,
	block_read_ops, block_write_ops, disk_used_bytes, disk_used_inodes, pids_peak,
	pids_limit_hits, psi_cpu_some_us, psi_memory_some_us, psi_memory_full_us, psi_io_some_us,
	psi_io_full_us, stdout_bytes, stderr_bytes, stdout_head, stderr_head,
	pids_unreaped, throttled_periods)
SELECT :body ->> '$.run_id', u ->> 'wall_us', u ->> '$.cpu.usage_us', u ->> '$.cpu.user_us',
	u ->> '$.cpu.system_us', u ->> '$.cpu.source', u ->> '$.cpu.rusage_us',
	u ->> '$.cpu.difference_us', u ->> '$.cpu.throttled_us', u ->> '$.memory.peak_bytes',
	u ->> '$.memory.source', u ->> '$.memory.largest_process_bytes',
	u ->> '$.memory.limit_hits', u ->> '$.page_faults.minor', u ->> '$.page_faults.major',
	u ->> '$.context_switches.voluntary', u ->> '$.context_switches.involuntary',
	u ->> '$.io.block_read_bytes', u ->> '$.io.block_write_bytes', u ->> '$.io.block_read_ops',
	u ->> '$.io.block_write_ops', u ->> '$.disk.used_bytes', u ->> '$.disk.used_inodes',
	u ->> '$.pids.peak', u ->> '$.pids.limit_hits', u ->> '$.pressure.cpu_some_us',
	u ->> '$.pressure.memory_some_us', u ->> '$.pressure.memory_full_us',
	u ->> '$.pressure.io_some_us', u ->> '$.pressure.io_full_us',
	:body ->> '$.data.stdout.bytes', :body ->> '$.data.stderr.bytes',
	:body ->> '$.data.stdout.head', :body ->> '$.data.stderr.head', u ->> '$.pids.unreaped',
	u ->> '$.cpu.throttled_periods'
FROM (SELECT :body -> '$.data.usage' AS u);

--@ project.result.limits
INSERT INTO limits (run_id, name, asked, kernel, kernel_file)
SELECT :body ->> '$.run_id', key, nullif(value, 'unlimited'),
	:body ->> ('$.data.receipt.cgroup.limits.' || key || '.value'),
	:body ->> ('$.data.receipt.cgroup.limits.' || key || '.file')
FROM json_each(:body, '$.data.limits');

--@ project.result.limits_hit
INSERT OR IGNORE INTO limits_hit (run_id, name)
SELECT :body ->> '$.run_id', value FROM json_each(:body, '$.data.limits_hit');

--@ project.result.steps
INSERT INTO steps (run_id, n, name, took_ns)
SELECT :body ->> '$.run_id', key, value ->> 'name', value ->> 'took_ns'
FROM json_each(:body, '$.data.timings.steps');

--@ project.result.receipts
INSERT INTO receipts (run_id, layer, state, proof)
SELECT :body ->> '$.run_id', key, value ->> 'state', value
FROM json_each(:body, '$.data.receipt') WHERE type = 'object' AND value ->> 'state' IS NOT NULL;

--@ project.result.degraded
INSERT INTO degraded (run_id, n, item, why)
SELECT :body ->> '$.run_id', key, value ->> 'item', value ->> 'why'
FROM json_each(:body, '$.data.receipt.degraded');

--@ project.result.denials
INSERT INTO denials (run_id, n, layer, what, object, errno, errno_name, pid, comm, rule, reason,
	allow, count, first_ns)
SELECT :body ->> '$.run_id', key, value ->> 'layer', value ->> 'what', value ->> 'object',
	value ->> '$.errno.number', value ->> '$.errno.name', value ->> 'pid', value ->> 'comm',
	value ->> 'rule', value ->> 'reason', value ->> 'allow', value ->> 'count',
	value ->> 'first_ns'
FROM json_each(:body, '$.data.denials.rows');

--@ project.result.changes
INSERT INTO changes (run_id, n, kind, path, type, size_bytes, sha256)
SELECT :body ->> '$.run_id', key, value ->> 'kind', value ->> 'path', value ->> 'type',
	value ->> 'size', value ->> 'sha256'
FROM json_each(:body, '$.data.workspace.changes.entries');

--@ project.telemetry.runs
UPDATE runs SET complete = :body ->> '$.data.complete' WHERE run_id = :body ->> '$.run_id';

--@ project.telemetry.usage
UPDATE usage SET cpu_bpf_us = :body ->> '$.data.usage.cpu_us',
	vfs_read_bytes = :body ->> '$.data.usage.vfs_read_bytes',
	vfs_write_bytes = :body ->> '$.data.usage.vfs_write_bytes',
	own_cpu_ns = :body ->> '$.data.usage.own_cpu_ns'
WHERE run_id = :body ->> '$.run_id';

--@ project.telemetry.processes
INSERT INTO processes (run_id, tgid, start_boot_ns, parent_tgid, parent_start_boot_ns, comm, exe,
	argv, argv_bytes, argv_truncated, cwd, fileless, uid, execs, threads, exit_boot_ns,
	exit_code, exit_signal, core_dumped, cpu_user_us, cpu_system_us, rss_peak_bytes,
	minor_faults, major_faults, voluntary_switches, involuntary_switches, read_bytes,
	write_bytes)
SELECT :body ->> '$.run_id', value ->> 'tgid', value ->> 'start_boot_ns', value ->> 'parent_tgid',
	value ->> 'parent_start_boot_ns', value ->> 'comm', value ->> 'exe', value -> 'argv',
	value ->> 'argv_bytes', value ->> 'argv_truncated', value ->> 'cwd', value ->> 'fileless',
	value ->> 'uid', value ->> 'execs', value ->> 'threads', value ->> 'exit_boot_ns',
	value ->> 'exit_code', value ->> 'exit_signal', value ->> 'core_dumped',
	value ->> 'cpu_user_us', value ->> 'cpu_system_us', value ->> 'rss_peak_bytes',
	value ->> 'minor_faults', value ->> 'major_faults', value ->> 'voluntary_switches',
	value ->> 'involuntary_switches', value ->> 'read_bytes', value ->> 'write_bytes'
FROM json_each(:body, '$.data.processes');

--@ project.telemetry.events
INSERT INTO events (run_id, n, boot_ns, type, tgid, start_boot_ns, tid, comm, object, result, detail)
SELECT :body ->> '$.run_id', key, value ->> 'boot_ns', value ->> 'type', value ->> 'tgid',
	value ->> 'start_boot_ns', value ->> 'tid', value ->> 'comm', value ->> 'object',
	value ->> 'result', value -> 'detail'
FROM json_each(:body, '$.data.events');

--@ project.telemetry.counters
INSERT INTO counters (run_id, name, value)
SELECT :body ->> '$.run_id', key, value FROM json_each(:body, '$.data.counters');

--@ project.telemetry.histograms
INSERT INTO histograms (run_id, name, unit, bucket, count)
SELECT :body ->> '$.run_id', h.value ->> 'name', h.value ->> 'unit', b.value ->> 'bucket',
	b.value ->> 'count'
FROM json_each(:body, '$.data.histograms') AS h, json_each(h.value, '$.buckets') AS b;

--@ project.telemetry.syscalls
INSERT INTO syscalls (run_id, name, errno, count, total_ns)
SELECT :body ->> '$.run_id', value ->> 'name', value ->> 'errno', value ->> 'count',
	value ->> 'total_ns'
FROM json_each(:body, '$.data.syscalls');

--@ project.telemetry.connections
INSERT INTO connections (run_id, n, boot_ns, tgid, start_boot_ns, family, protocol, direction,
	local, local_port, remote, remote_port, verdict, errno, tx_bytes, rx_bytes, tx_packets,
	rx_packets, retransmits, rtt_us, closed)
SELECT :body ->> '$.run_id', key, value ->> 'boot_ns', value ->> 'tgid', value ->> 'start_boot_ns',
	value ->> 'family', value ->> 'protocol', value ->> 'direction', value ->> 'local',
	value ->> 'local_port', value ->> 'remote', value ->> 'remote_port', value ->> 'verdict',
	value ->> 'errno', value ->> 'tx_bytes', value ->> 'rx_bytes', value ->> 'tx_packets',
	value ->> 'rx_packets', value ->> 'retransmits', value ->> 'rtt_us', value ->> 'closed'
FROM json_each(:body, '$.data.connections');

--@ project.telemetry.dns
INSERT INTO dns (run_id, n, boot_ns, tgid, start_boot_ns, name, type, transport, server, questions,
	malformed)
SELECT :body ->> '$.run_id', key, value ->> 'boot_ns', value ->> 'tgid', value ->> 'start_boot_ns',
	value ->> 'name', value ->> 'type', value ->> 'transport', value ->> 'server',
	value ->> 'questions', value ->> 'malformed'
FROM json_each(:body, '$.data.dns');

--@ project.telemetry.probes
INSERT INTO probes (run_id, name, state, errno, consequence)
SELECT :body ->> '$.run_id', value ->> 'name', value ->> 'state', value ->> 'errno',
	value ->> 'consequence'
FROM json_each(:body, '$.data.probes');

--@ project.telemetry.losses
INSERT INTO losses (run_id, type, reason, count)
SELECT :body ->> '$.run_id', value ->> 'type', value ->> 'reason', value ->> 'count'
FROM json_each(:body, '$.data.losses');

--@ link.insert
INSERT INTO links (run_id, n, kind, body, hash) VALUES (:run_id, :n, :kind, :body, :hash);

--@ link.list
SELECT n, kind, body, hash FROM links WHERE run_id = :run_id ORDER BY n;

--@ link.head
SELECT hash FROM links WHERE run_id = :run_id ORDER BY n DESC LIMIT 1;

--@ chain.head
SELECT seq, hash FROM (SELECT seq, hash FROM chain UNION ALL SELECT last_seq, head FROM segments)
ORDER BY seq DESC LIMIT 1;

--@ chain.insert
INSERT INTO chain (seq, kind, subject, body, hash) VALUES (:seq, :kind, :subject, :body, :hash);

--@ chain.list
SELECT seq, kind, subject, body, hash FROM chain ORDER BY seq;

--@ chain.at
SELECT hash FROM (SELECT seq, hash FROM chain UNION ALL SELECT last_seq, head FROM segments)
WHERE seq = :seq;

--@ chain.run
SELECT body ->> '$.data.head' AS head FROM chain WHERE subject = :run_id AND kind = 'run';

--@ segment.list
SELECT first_seq, last_seq, head, document FROM segments ORDER BY first_seq;

--@ segment.insert
INSERT INTO segments (first_seq, last_seq, head, document)
VALUES (:first_seq, :last_seq, :head, :document);

--@ seal.range
WITH stop(seq) AS (
	SELECT min(seq) FROM chain WHERE seq = (SELECT max(seq) FROM chain) OR kind = 'loss'
		OR (kind = 'run' AND subject NOT IN (SELECT run_id FROM purged))
		OR (kind = 'hold' AND subject IN (SELECT run_id FROM holds))),
range(first_seq, last_seq) AS (
	SELECT min(seq), max(seq) FROM chain WHERE seq < (SELECT seq FROM stop))
SELECT first_seq, last_seq, (SELECT hash FROM chain WHERE seq = last_seq) AS head
FROM range WHERE last_seq IS NOT NULL;

--@ seal.delete
DELETE FROM chain WHERE seq <= :last_seq;

--@ info.get
SELECT value FROM store_info WHERE name = :name;

--@ loss.insert
INSERT INTO store_losses (seq, source, reason, bytes) VALUES (:seq, :source, :reason, :bytes);

--@ loss.list
SELECT seq, source, reason, bytes FROM store_losses ORDER BY seq;

--@ loss.find
SELECT seq FROM store_losses WHERE source = :source;

--@ loss.total
SELECT count(*) AS pieces, coalesce(sum(bytes), 0) AS bytes FROM store_losses;

--@ hold.set
INSERT OR REPLACE INTO holds (run_id, seq, reason) VALUES (:run_id, :seq, :reason);

--@ hold.release
DELETE FROM holds WHERE run_id = :run_id;

--@ hold.list
SELECT run_id, seq, reason FROM holds ORDER BY run_id;

--@ hold.get
SELECT reason FROM holds WHERE run_id = :run_id;

--@ purge.candidates
SELECT run_id FROM runs
WHERE (:before_us IS NULL OR coalesce(started_us, stored_real_us) < :before_us)
	AND (:run_id IS NULL OR run_id = :run_id)
	AND run_id NOT IN (SELECT run_id FROM holds)
ORDER BY run_id;

--@ purge.mark
INSERT INTO purged (run_id, seq) VALUES (:run_id, :seq);

--@ purge.list
SELECT run_id, seq FROM purged ORDER BY run_id;

--@ purge.get
SELECT seq FROM purged WHERE run_id = :run_id;

--@ purge.links
DELETE FROM links WHERE run_id IN (SELECT run_id FROM purged);

--@ checkpoint.insert
INSERT INTO checkpoints (seq, time_us, public_key, document)
VALUES (:seq, :time_us, :public_key, :document);

--@ run.find
SELECT run_id FROM runs WHERE run_id >= :prefix AND run_id < :prefix || '~' ORDER BY run_id LIMIT 3;

--@ run.get
SELECT *, (SELECT reason FROM holds WHERE holds.run_id = runs.run_id) AS held_for
FROM runs LEFT JOIN usage USING (run_id)
WHERE runs.run_id = :run_id;

--@ run.limits
SELECT name, asked, kernel, kernel_file FROM limits WHERE run_id = :run_id ORDER BY name;

--@ run.limits_hit
SELECT name FROM limits_hit WHERE run_id = :run_id ORDER BY name;

--@ run.steps
SELECT name, took_ns FROM steps WHERE run_id = :run_id ORDER BY n;

--@ run.receipts
SELECT layer, state, proof FROM receipts WHERE run_id = :run_id ORDER BY layer;

--@ run.degraded
SELECT item, why FROM degraded WHERE run_id = :run_id ORDER BY n;

--@ run.denials
SELECT layer, what, object, errno, errno_name, pid, comm, rule, reason, allow, count, first_ns
FROM denials WHERE run_id = :run_id ORDER BY n;

--@ run.changes
SELECT kind, path, type, size_bytes, sha256 FROM changes WHERE run_id = :run_id ORDER BY path;

--@ run.processes
SELECT * FROM processes WHERE run_id = :run_id ORDER BY start_boot_ns, tgid;

--@ export.events
SELECT boot_ns, events.type, tgid, start_boot_ns, tid, comm, object, result, detail
FROM events WHERE run_id = :run_id ORDER BY n;

--@ export.dns
SELECT * FROM dns WHERE run_id = :run_id ORDER BY n;

--@ run.connections
SELECT * FROM connections WHERE run_id = :run_id ORDER BY n;

--@ run.crashes
SELECT n, boot_ns, tgid, tid, comm, object, detail FROM events
	WHERE run_id = :run_id AND type = 'crash' ORDER BY n LIMIT 16;

--@ run.events
-- Who made a process may have had another name when it did than before and later: only the record
-- has it, and an older one has none.
SELECT boot_ns, type, tgid, start_boot_ns, comm, object, detail FROM (
	SELECT boot_ns, 1 AS rank, type, tgid, start_boot_ns, comm, object, detail
	FROM events WHERE run_id = :run_id
	UNION ALL SELECT p.start_boot_ns, 0, 'fork', p.parent_tgid, p.parent_start_boot_ns, made.comm,
		NULL, json_object('child_tgid', p.tgid)
	FROM processes AS p LEFT JOIN (SELECT CAST(value ->> 'tgid' AS INTEGER) AS tgid,
			CAST(value ->> 'start_boot_ns' AS INTEGER) AS start_boot_ns,
			value ->> 'parent_comm' AS comm
		FROM links, json_each(links.body, '$.data.processes')
		WHERE run_id = :run_id AND kind = 'telemetry') AS made
		ON made.tgid = p.tgid AND made.start_boot_ns = p.start_boot_ns
	WHERE p.run_id = :run_id AND p.parent_tgid IS NOT NULL
	UNION ALL SELECT exit_boot_ns, 3, 'exit', tgid, start_boot_ns, comm, NULL,
		json_object('exit_code', exit_code, 'exit_signal', exit_signal,
			'core_dumped', core_dumped, 'rss_peak_bytes', rss_peak_bytes)
	FROM processes WHERE run_id = :run_id AND exit_boot_ns IS NOT NULL
	UNION ALL SELECT value ->> 'exit_boot_ns', 2, 'oom', value ->> 'tgid',
		value ->> 'start_boot_ns', value ->> 'comm', NULL,
		json_object('rss_peak_bytes', value ->> 'rss_peak_bytes')
	FROM links, json_each(links.body, '$.data.processes')
	WHERE run_id = :run_id AND kind = 'telemetry' AND value ->> 'oom_victim'
	UNION ALL SELECT boot_ns, 1, 'dns', tgid, start_boot_ns, NULL, name, json_object('type', type,
		'transport', transport, 'server', server, 'questions', questions, 'malformed', malformed)
	FROM dns WHERE run_id = :run_id
	UNION ALL SELECT boot_ns, 1, protocol, tgid, start_boot_ns, NULL, remote || ':' || remote_port,
		json_object('direction', direction, 'local', local, 'local_port', local_port,
			'remote', remote, 'remote_port', remote_port, 'verdict', verdict,
			'errno', errno, 'tx_bytes', tx_bytes, 'rx_bytes', rx_bytes)
	FROM connections WHERE run_id = :run_id
	UNION ALL SELECT first_ns, 1, 'denial', pid, NULL, comm, object,
		json_object('layer', layer, 'what', what, 'errno', errno, 'errno_name', errno_name,
			'rule', rule, 'reason', reason, 'allow', allow, 'count', count)
	FROM denials WHERE run_id = :run_id)
ORDER BY boot_ns, rank, tgid;

--@ run.unseen
SELECT (SELECT total(count) FROM losses WHERE run_id = :run_id)
	+ (SELECT total((body ->> '$.data.books.events_not_listed')
		+ (body ->> '$.data.books.processes_not_listed')
		+ coalesce(body ->> '$.data.books.names_not_listed', 0)
		+ coalesce(body ->> '$.data.books.connections_not_listed', 0))
		FROM links WHERE run_id = :run_id AND kind = 'telemetry')
	+ coalesce(denials_dropped, 0) AS count,
	(SELECT max(body ->> '$.data.reason') FROM links
		WHERE run_id = :run_id AND kind = 'telemetry') AS unknown,
	-- The clock may have been set meanwhile: that much of the span is no time.
	stored_boot_ns - (stored_real_us - started_us) * 1000 + coalesce(clock_skew_ns, 0) AS begin_ns
FROM runs WHERE run_id = :run_id;

--@ run.dns
SELECT name, type, transport, server, malformed, count(*) AS count FROM dns WHERE run_id = :run_id
GROUP BY name, type, transport, server, malformed ORDER BY min(n);

--@ run.counters
SELECT name, value FROM counters WHERE run_id = :run_id AND value > 0 ORDER BY name;

--@ run.histograms
SELECT name, unit, bucket, count FROM histograms WHERE run_id = :run_id ORDER BY name, bucket;

--@ run.syscalls
SELECT name, errno, count, total_ns FROM syscalls WHERE run_id = :run_id
ORDER BY total_ns DESC, count DESC, name, errno;

--@ run.opens
SELECT object AS path, detail ->> '$.secret' AS secret, detail ->> '$.to_write' AS to_write,
	count(*) AS count
FROM events WHERE run_id = :run_id AND type = 'open' GROUP BY path, secret, to_write ORDER BY min(n);

--@ run.losses
SELECT type, reason, count FROM losses WHERE run_id = :run_id ORDER BY type, reason;

--@ run.probes
SELECT name, state, errno, consequence FROM probes WHERE run_id = :run_id ORDER BY name;

--@ run.list
SELECT run_id, name, program, started_us, runs.reason, exit_status, exit_code, term_signal, denials,
	wall_us, cpu_us, memory_peak_bytes, holds.run_id IS NOT NULL AS held
FROM runs LEFT JOIN usage USING (run_id) LEFT JOIN holds USING (run_id)
WHERE (:reason IS NULL OR runs.reason = :reason)
	AND (:since_us IS NULL OR started_us >= :since_us)
	AND (:until_us IS NULL OR started_us < :until_us)
	AND (:program IS NULL OR program GLOB :program OR name GLOB :program)
ORDER BY CASE :sort WHEN 'cpu' THEN -cpu_us WHEN 'memory' THEN -memory_peak_bytes
	WHEN 'wall' THEN -wall_us WHEN 'denials' THEN -denials WHEN 'oldest' THEN started_us
	ELSE -started_us END NULLS LAST, run_id
LIMIT coalesce(:limit, -1);

--@ learn.runs
SELECT run_id, json_array(program, argv, lang, snippet_sha256) AS history, reason, exit_status,
	wall_us, cpu_us, memory_peak_bytes,
	(SELECT asked FROM limits WHERE limits.run_id = runs.run_id AND name = 'cpus') AS cpus,
	(SELECT asked FROM limits WHERE limits.run_id = runs.run_id AND name = 'memory_max_bytes')
		AS memory_max_bytes,
	(SELECT proof ->> '$.shaping.applied.rate' FROM receipts
		WHERE receipts.run_id = runs.run_id AND layer = 'network') AS rate
FROM runs LEFT JOIN usage USING (run_id)
WHERE reason NOT IN ('setup_error', 'killed_by_user', 'supervisor_lost', 'skipped')
	AND (:since_us IS NULL OR started_us >= :since_us)
	AND (:until_us IS NULL OR started_us < :until_us)
	AND (:program IS NULL OR program GLOB :program OR name GLOB :program)
ORDER BY history, started_us, run_id;

--@ verify.tables
SELECT m.name FROM sqlite_schema AS m
WHERE m.type = 'table' AND m.name NOT IN ('links', 'holds', 'purged')
	AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) AS c WHERE c.name = 'run_id')
ORDER BY m.name;

--@ verify.strangers
SELECT run_id FROM runs WHERE run_id NOT IN (SELECT subject FROM chain WHERE kind = 'run')
UNION SELECT run_id FROM links WHERE run_id NOT IN (SELECT subject FROM chain WHERE kind = 'run')
ORDER BY run_id LIMIT 1;

--@ verify.unchained
SELECT (SELECT count(*) FROM flows) + (SELECT count(*) FROM flow_runs) + (SELECT count(*) FROM flow_steps)
	+ (SELECT count(*) FROM matrices) + (SELECT count(*) FROM cells) + (SELECT count(*) FROM inputs) AS n;

--@ adhoc.databases
SELECT name FROM pragma_database_list WHERE name <> 'temp' OR file <> '';

--@ adhoc.connect
SELECT 1 FROM json_each('[]'), json_tree('[]');

--@ adhoc.modules
SELECT name FROM pragma_module_list;

--@ adhoc.tables
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
UNION SELECT 'sqlite_schema' UNION SELECT 'sqlite_master';

--@ diff.items
SELECT 'denial' AS kind, layer || ' ' || what || ' ' || coalesce(object, '') AS item
FROM denials WHERE run_id = :run_id
UNION SELECT 'change', kind || ' ' || path FROM changes WHERE run_id = :run_id
UNION SELECT 'program', coalesce(exe, comm) FROM processes
WHERE run_id = :run_id AND coalesce(exe, comm) IS NOT NULL
UNION SELECT 'host', coalesce(protocol, '?') || ' ' || remote || ' ' || coalesce(remote_port, '')
FROM connections WHERE run_id = :run_id AND remote IS NOT NULL
UNION SELECT 'name', name FROM dns WHERE run_id = :run_id
UNION SELECT 'syscall', name FROM syscalls WHERE run_id = :run_id
UNION SELECT 'limit', name FROM limits_hit WHERE run_id = :run_id
ORDER BY kind, item;

--@ diff.cut
-- Kinds of which a run had more than its records list, or than was seen of it.  A process whose
-- last program had no room among the events has a name and no file.
SELECT 'change' AS kind FROM runs WHERE run_id = :run_id AND changes_left_out > 0
UNION SELECT 'denial' FROM runs WHERE run_id = :run_id AND denials_dropped > 0
UNION SELECT 'program' FROM links WHERE run_id = :run_id AND kind = 'telemetry'
	AND body ->> '$.data.books.processes_not_listed' > 0
UNION SELECT 'host' FROM links WHERE run_id = :run_id AND kind = 'telemetry'
	AND body ->> '$.data.books.connections_not_listed' > 0
UNION SELECT 'name' FROM links WHERE run_id = :run_id AND kind = 'telemetry'
	AND body ->> '$.data.books.names_not_listed' > 0
UNION SELECT 'program' FROM processes WHERE run_id = :run_id AND execs > 0 AND exe IS NULL
UNION SELECT CASE type WHEN 'tcp' THEN 'host' WHEN 'dns' THEN 'name' ELSE 'program' END
FROM losses WHERE run_id = :run_id AND type IN ('fork', 'exec', 'exit', 'tcp', 'dns')
ORDER BY kind;

--@ export.runs
-- CROSS: in the order of the chain, page by page, without sorting.
SELECT chain.seq, chain.hash, runs.run_id, chain.body ->> '$.prev' AS prev,
	chain.body ->> '$.time_us' AS time_us
FROM chain CROSS JOIN runs ON runs.run_id = chain.subject
WHERE chain.kind = 'run' AND chain.seq > :after
	AND (:run_id IS NULL OR runs.run_id = :run_id)
	AND (:reason IS NULL OR runs.reason = :reason)
	AND (:since_us IS NULL OR started_us >= :since_us)
	AND (:until_us IS NULL OR started_us < :until_us)
	AND (:program IS NULL OR program GLOB :program OR name GLOB :program)
ORDER BY chain.seq LIMIT :page;

--@ export.count
SELECT count(*) AS n FROM runs
WHERE (:run_id IS NULL OR runs.run_id = :run_id)
	AND (:reason IS NULL OR runs.reason = :reason)
	AND (:since_us IS NULL OR started_us >= :since_us)
	AND (:until_us IS NULL OR started_us < :until_us)
	AND (:program IS NULL OR program GLOB :program OR name GLOB :program);

--@ export.run
SELECT *, (SELECT reason FROM holds WHERE holds.run_id = runs.run_id) AS held_for,
	(SELECT sum(count) FROM losses WHERE losses.run_id = runs.run_id) AS events_lost
FROM runs LEFT JOIN usage USING (run_id)
WHERE runs.run_id = :run_id;

--@ export.values
SELECT cpu_us, memory_peak_bytes, setup_us, wall_us FROM runs LEFT JOIN usage USING (run_id)
WHERE (:run_id IS NULL OR runs.run_id = :run_id)
	AND (:reason IS NULL OR runs.reason = :reason)
	AND (:since_us IS NULL OR started_us >= :since_us)
	AND (:until_us IS NULL OR started_us < :until_us)
	AND (:program IS NULL OR program GLOB :program OR name GLOB :program);

--@ export.totals
-- A row a series.  Real numbers: a sum of whole ones can be too large, and that would be an error.
WITH chosen AS MATERIALIZED (
	SELECT run_id FROM runs
	WHERE (:run_id IS NULL OR runs.run_id = :run_id)
		AND (:reason IS NULL OR runs.reason = :reason)
		AND (:since_us IS NULL OR started_us >= :since_us)
		AND (:until_us IS NULL OR started_us < :until_us)
		AND (:program IS NULL OR program GLOB :program OR name GLOB :program)),
used AS MATERIALIZED (SELECT usage.* FROM usage JOIN chosen USING (run_id)),
counted AS MATERIALIZED (SELECT name, sum(value * 1.0) AS value
	FROM counters JOIN chosen USING (run_id) GROUP BY name),
totals(metric, a, b, value) AS (
	SELECT 'menace_runs_total', reason, '', count(*) * 1.0
	FROM runs JOIN chosen USING (run_id) GROUP BY reason
	UNION ALL SELECT 'menace_oom_kills_total', '', '', sum(oom_kills * 1.0)
	FROM runs JOIN chosen USING (run_id)
	UNION ALL SELECT 'menace_processes_killed_at_end_total', '', '', sum(leftover_killed * 1.0)
	FROM runs JOIN chosen USING (run_id)
	UNION ALL SELECT 'menace_newest_run_start_timestamp_seconds', '', '', max(started_us) * 1.0
	FROM runs JOIN chosen USING (run_id)
	UNION ALL SELECT 'menace_cpu_seconds_total', 'user', '', sum(cpu_user_us * 1.0) FROM used
	UNION ALL SELECT 'menace_cpu_seconds_total', 'system', '', sum(cpu_system_us * 1.0) FROM used
	UNION ALL SELECT 'menace_cpu_throttled_seconds_total', '', '', sum(throttled_us * 1.0) FROM used
	UNION ALL SELECT 'menace_page_faults_total', 'minor', '', sum(minor_faults * 1.0) FROM used
	UNION ALL SELECT 'menace_page_faults_total', 'major', '', sum(major_faults * 1.0) FROM used
	UNION ALL SELECT 'menace_context_switches_total', 'voluntary', '',
		sum(voluntary_switches * 1.0) FROM used
	UNION ALL SELECT 'menace_context_switches_total', 'involuntary', '',
		sum(involuntary_switches * 1.0) FROM used
	UNION ALL SELECT 'menace_block_io_bytes_total', 'read', '', sum(block_read_bytes * 1.0) FROM used
	UNION ALL SELECT 'menace_block_io_bytes_total', 'write', '', sum(block_write_bytes * 1.0) FROM used
	UNION ALL SELECT 'menace_output_bytes_total', 'stdout', '', sum(stdout_bytes * 1.0) FROM used
	UNION ALL SELECT 'menace_output_bytes_total', 'stderr', '', sum(stderr_bytes * 1.0) FROM used
	UNION ALL SELECT 'menace_limits_hit_total', limits_hit.name, '', count(*) * 1.0
	FROM limits_hit JOIN chosen USING (run_id) GROUP BY limits_hit.name
	UNION ALL SELECT 'menace_denials_total', layer, '', sum(count * 1.0)
	FROM denials JOIN chosen USING (run_id) GROUP BY layer
	UNION ALL SELECT 'menace_layers_total', layer, state, count(*) * 1.0
	FROM receipts JOIN chosen USING (run_id) GROUP BY layer, state
	UNION ALL SELECT 'menace_degraded_total', item, '', count(*) * 1.0
	FROM degraded JOIN chosen USING (run_id) GROUP BY item
	UNION ALL SELECT 'menace_workspace_changes_total', kind, '', count(*) * 1.0
	FROM changes JOIN chosen USING (run_id) GROUP BY kind
	UNION ALL SELECT 'menace_connections_total', coalesce(protocol, ''), coalesce(verdict, ''),
		count(*) * 1.0
	FROM connections JOIN chosen USING (run_id) GROUP BY coalesce(protocol, ''), coalesce(verdict, '')
	UNION ALL SELECT 'menace_telemetry_lost_events_total', type, reason, sum(count * 1.0)
	FROM losses JOIN chosen USING (run_id) GROUP BY type, reason
	UNION ALL SELECT 'menace_events_total', name, '', value FROM counted
	WHERE name IN ('forks', 'execs', 'exits', 'crashes', 'sockets', 'connects', 'binds', 'datagrams')
	UNION ALL SELECT 'menace_network_packets_total', substr(name, 9), '', value FROM counted
	WHERE name IN ('packets_in', 'packets_out')
	UNION ALL SELECT 'menace_network_bytes_total', substr(name, 14), '', value FROM counted
	WHERE name IN ('packet_bytes_in', 'packet_bytes_out')
	UNION ALL SELECT 'menace_store_held_runs', '', '', count(*) * 1.0 FROM holds
	UNION ALL SELECT 'menace_store_lost_records_total', '', '', count(*) * 1.0 FROM store_losses)
SELECT metric, a, b, value FROM totals WHERE value IS NOT NULL
ORDER BY metric, value DESC, a, b;

--@ replay.access
SELECT body -> '$.data.access' AS access FROM links
WHERE run_id = :run_id AND kind = 'result' AND body -> '$.data.access' IS NOT NULL;

--@ replay.syscalls
SELECT name FROM syscalls WHERE run_id = :run_id AND errno <> 38 GROUP BY name ORDER BY name;

--@ replay.execs
SELECT CASE WHEN coalesce(json_extract(detail, '$.file_truncated'), 0) THEN NULL
	ELSE coalesce(json_extract(detail, '$.file'), object) END AS object
FROM events WHERE run_id = :run_id AND type = 'exec' GROUP BY 1 ORDER BY min(n);

--@ replay.connects
SELECT object, detail ->> 'protocol' AS protocol, max(detail ->> 'kind') AS kind FROM events
WHERE run_id = :run_id AND type IN ('connect', 'sendmsg')
GROUP BY object, detail ->> 'protocol' ORDER BY object;

--@ replay.knows
-- What tells of hosts is four probes.
SELECT (SELECT state FROM probes WHERE run_id = :run_id AND name = 'exec') AS exec,
	(SELECT iif(count(*) = 4, 'attached', NULL) FROM probes
		WHERE run_id = :run_id AND state = 'attached'
		AND name IN ('connect', 'connect6', 'sendmsg', 'sendmsg6')) AS connect,
	(SELECT proof ->> 'mode' FROM receipts WHERE run_id = :run_id AND layer = 'network') AS net,
	(SELECT sum(body ->> '$.data.books.events_not_listed') FROM links
		WHERE run_id = :run_id AND kind = 'telemetry') AS events_not_listed;

--@ flow.add
INSERT INTO flows (name, folder, document, sha256, added_us)
VALUES (:name, :folder, :document, :sha256, :added_us) ON CONFLICT (sha256) DO NOTHING;

--@ flow.find
SELECT id FROM flows WHERE sha256 = :sha256;

--@ flow.get
SELECT * FROM flows WHERE id = :id;

--@ flow.list
SELECT id, name, folder, json_array_length(document, '$.steps') AS steps, added_us FROM flows
ORDER BY id;

--@ flow.remove
DELETE FROM flows WHERE id = :id RETURNING id;

--@ flow_run.begin
INSERT INTO flow_runs (flow_run, name, folder, document, jobs, started_us)
VALUES (:flow_run, :name, :folder, :document, :jobs, :started_us);

--@ flow_run.get
SELECT * FROM flow_runs WHERE flow_run = :flow_run;

--@ flow_run.list
SELECT flow_run, name, started_us, ended_us, passed,
	(SELECT count(*) FROM flow_steps WHERE flow_steps.flow_run = flow_runs.flow_run) AS steps
FROM flow_runs ORDER BY started_us DESC, flow_run LIMIT :limit;

--@ flow_run.step
INSERT INTO flow_steps (flow_run, n, name, state, passed, run, detail)
VALUES (:flow_run, :n, :name, :state, :passed, :run, :detail);

--@ flow_run.steps
SELECT detail FROM flow_steps WHERE flow_run = :flow_run ORDER BY n;

--@ flow_run.end
UPDATE flow_runs SET ended_us = :ended_us, passed = :passed WHERE flow_run = :flow_run;

--@ matrix.begin
INSERT INTO matrices (matrix, name, folder, document, options, started_us)
VALUES (:matrix, :name, :folder, :document, :options, :started_us);

--@ matrix.get
SELECT * FROM matrices WHERE matrix = :matrix;

--@ matrix.end
UPDATE matrices SET ended_us = :ended_us WHERE matrix = :matrix;

--@ matrix.cell
INSERT INTO cells (matrix, n, scenario, level, replicate, arm, seed, verdict, detail)
VALUES (:matrix, :n, :scenario, :level, :replicate, :arm, :seed, :verdict, :detail);

--@ matrix.get_cell
SELECT detail FROM cells WHERE matrix = :matrix AND n = :n;

--@ matrix.cells
SELECT n, detail FROM cells WHERE matrix = :matrix ORDER BY n;

--@ unfinished.list
SELECT 'flow' AS kind, flow_run AS id, name, started_us, EXISTS (
	SELECT 1 FROM flow_steps JOIN holds ON run_id = run
	WHERE flow_steps.flow_run = flow_runs.flow_run) AS held
FROM flow_runs WHERE ended_us IS NULL AND (:id IS NULL OR flow_run = :id)
UNION ALL
SELECT 'matrix', matrix, name, started_us, EXISTS (
	SELECT 1 FROM cells, json_each(cells.detail, '$.per_copy') AS copy,
		json_each(copy.value, '$.runs') AS run JOIN holds ON run_id = run.value
	WHERE cells.matrix = matrices.matrix)
FROM matrices WHERE ended_us IS NULL AND (:id IS NULL OR matrix = :id)
ORDER BY started_us, id;

--@ unfinished.forget_steps
DELETE FROM flow_steps WHERE flow_run = :id;

--@ unfinished.forget_flow_run
DELETE FROM flow_runs WHERE flow_run = :id;

--@ unfinished.forget_cells
DELETE FROM cells WHERE matrix = :id;

--@ unfinished.forget_matrix
DELETE FROM matrices WHERE matrix = :id;

--@ input.add
INSERT INTO inputs (flow, step, stub, scenario, strategy, seed, class, payload, raw, value, sha256, seen,
	failed, first_us, last_us)
VALUES (:flow, :step, :stub, :scenario, :strategy, :seed, :class, :payload, :raw, :value, :sha256, 1,
	:failed, :now_us, :now_us)
ON CONFLICT (flow, stub, sha256) DO UPDATE SET seen = seen + 1, failed = failed + excluded.failed,
	step = excluded.step, scenario = excluded.scenario, last_us = excluded.last_us;

--@ input.recent
SELECT stub, raw, value, class, payload, failed FROM inputs WHERE flow = :flow AND raw < 2
ORDER BY last_us DESC, id DESC LIMIT 1000;

--@ input.trim
DELETE FROM inputs WHERE last_us < :oldest_us OR id NOT IN
	(SELECT id FROM inputs ORDER BY last_us DESC, id DESC LIMIT :max);
