/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Place: where a store and its spool are
 *
 * PATH              the database
 * PATH.spool        records that wait to be taken in; PATH.spool.N... sealed pieces of it
 * PATH.aside        pieces that are no record, kept for people
 * REFUGE            the spool of last resort, on another file system: for a store whose own is
 *                   full or read-only; goes with the next boot
 */
#pragma once

#include <stdbool.h>

struct mr_error;

/* Owns its texts; all are absolute paths. */
struct mr_place {
	char *db;
	char *spool;
	char *aside;
	char *refuge; /* a spool like the other; NULL: there is no such folder for this user */
	char *old_refuge; /* where early versions wrote, and nobody does now; NULL: nowhere else */
	bool is_default; /* nobody chose it: folders are made when missing */
};

/* The store that is meant: choice (--store), else the environment's MENACE_STORE, else
 * /var/lib/menace/menace.db for root and menace/menace.db in $XDG_STATE_HOME or
 * ~/.local/state for others.  "none" as the choice or in the variable returns 1: no store, *ret
 * untouched.  MR_E_USAGE when the choice is empty, MR_E_SYS when there is no default. */
int mr_place_find(const char *choice, struct mr_place *ret, struct mr_error *err);
void mr_place_deinit(struct mr_place *place);
/* Make the folder of a default place (0700, with the ones above it); refuse a folder that others
 * than root can write, sticky or not, and a database that is no regular file of the caller's.  One
 * that is not there yet is not made. */
int mr_place_prepare(const struct mr_place *place, struct mr_error *err);
/* The same for the refuge, which is always ours to make. */
int mr_place_make_refuge(const struct mr_place *place, struct mr_error *err);
