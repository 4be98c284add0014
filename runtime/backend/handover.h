/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handover: how menace-run gives a run to the program of another backend
 *
 * The program is a sibling (runtime/base/sibling.h) named menace-BACKEND.  deputy.[ch] is
 * menace-run's side of this, errand.[ch] the program's.
 *
 *   menace-BACKEND probe     can you do this run here?  Makes nothing that stays.
 *   menace-BACKEND run       do it.
 *
 * Descriptors; others are closed:
 *
 *   0  run: the caller's input, of which nothing was read; /dev/null where there is none
 *   1  run: where the payload's output goes; /dev/null where nobody wants it
 *   2  messages of the program, as of menace-run itself
 *   3  the errand: a sealed memfd with one document, schema menace.errand/1
 *   4  the report: a pipe, into which one document is written; then it is closed.  Its other end
 *      is menace-run's: when that is gone (POLLERR) nobody wants the run any more, and the
 *      program takes back all it made and ends
 *   5  run: where the payload's error output goes; /dev/null where nobody wants it
 *
 * The errand:
 *
 *   {"schema": "menace.errand/1", "run_id": ..., "spec": {menace.spec/1 with every knob},
 *    "backend": {"name", "why", "losses"}}       the last for receipt.backend, as it is
 *
 * The report of a probe:
 *
 *   {"schema": "menace.probe/1", "can": true | false, "why": "one line, where it cannot",
 *    "lacks": ["need of backends.def", ...], "facts": {anything that helps to understand it}}
 *
 * The report of a run is a whole result, schema menace.result/1, with all of its members; what
 * was not measured is null.  exit.status is what menace-run ends with.  Nothing of the
 * input is read before it is certain that the payload starts: a result of reason setup_error whose
 * error.code is "kernel" says that this backend cannot, and that another may be tried as if
 * nothing had been.  So a run is its own probe, and the verb is for those who only ask.  The program
 * keeps the payload's output by itself (output.head_bytes, output.tail_bytes), and passes
 * it on to 1 and 5 as it comes unless output.forward is off.
 *
 * Signals are the same as between a caller and menace-run: SIGINT, SIGTERM, SIGHUP and SIGQUIT are
 * forwarded to the payload, and after limits.grace_ms, or with the second, all of it is
 * killed (reason killed_by_user); SIGUSR1 and SIGUSR2 are forwarded.  The program has a session of
 * its own, so a key on the terminal reaches it through menace-run only.  All limits of time
 * are the program's; menace-run kills it when it is HANDOVER_SLACK late (patience.def), which no program
 * should ever meet, and what it leaves is swept by its next start.  Who reads the output may take as
 * long as he likes: a program that waits for nothing else says so by a line break before its
 * report, and is never late from there on.
 *
 * The environment is menace-run's.  Exit status: 0 when a report was written, whatever it says.
 */
#pragma once

#define MR_HANDOVER_FD_ERRAND 3
#define MR_HANDOVER_FD_REPORT 4
#define MR_HANDOVER_FD_STDERR 5

#define MR_HANDOVER_ERRAND_SCHEMA "menace.errand/1"
#define MR_HANDOVER_PROBE_SCHEMA "menace.probe/1"

#define MR_HANDOVER_REPORT_MAX (64 << 20) /* bytes; a longer report is an error of the program */
