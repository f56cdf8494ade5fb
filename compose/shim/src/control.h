/*
 * The control file: the shim and the harness both map it, the harness to say
 * what is to happen, the shim to tell what did. package shim of the harness
 * mirrors this layout, and a test there holds the two together.
 *
 * All numbers are in the machine's own byte order; all times in nanoseconds.
 */
#ifndef LOCKPROOF_CONTROL_H
#define LOCKPROOF_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#define CONTROL_MAGIC 0x31504d4948534b4cULL /* "LKSHIMP1" */
#define CONTROL_FILES 1024

/* A file that was synced: how much of it a power cut leaves. */
struct synced_file {
	_Atomic uint32_t state; /* one of the below */
	uint32_t reserved;
	/* Which file it is. An inode's number is used again once its file is gone,
	 * so the time of its birth is part of its name. */
	uint64_t device_major;
	uint64_t device_minor;
	uint64_t inode;
	int64_t born;
	_Atomic int64_t length; /* the file's length when its last good sync began */
	uint64_t reserved2[2];
};

enum { FILE_FREE = 0, FILE_CLAIMED = 1, FILE_READY = 2 };

struct control {
	uint64_t magic;

	/* The wall clock: it showed clock_reading (since 1970) when CLOCK_MONOTONIC
	 * was clock_since, and clock_rate of its nanoseconds pass in a true one. A
	 * rate of 0 means the host's own clock. clock_turn is odd while the harness
	 * writes: who reads takes it before and after, and reads again if it was odd
	 * or has changed (a seqlock). */
	_Atomic uint64_t clock_turn;
	_Atomic int64_t clock_since;
	_Atomic int64_t clock_reading;
	_Atomic uint64_t clock_rate; /* the bits of a double */

	/* fsync and fdatasync: how long each waits, and with which errno it then
	 * fails. 0: it does not. */
	_Atomic int64_t sync_delay;
	_Atomic int64_t sync_error;

	/* What became of them since the file was made. */
	_Atomic uint64_t syncs_done;    /* succeeded */
	_Atomic uint64_t syncs_delayed; /* began to wait */
	_Atomic uint64_t syncs_failed;  /* failed because sync_error says so */
	_Atomic uint64_t syncs_lost;    /* succeeded, and could not be noted below */

	/* Whether the disk is full: each write then fails with ENOSPC. */
	_Atomic uint64_t disk_full;
	_Atomic uint64_t writes_refused; /* so many found no room, on a disk that is full of itself, too */

	uint64_t reserved[3];

	/* In no order; the first free entry ends the list. One file may have two
	 * entries, if two threads synced it for the first time at once: the longest
	 * counts. */
	struct synced_file files[CONTROL_FILES];
};

#endif
