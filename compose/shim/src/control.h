/*
 * The control file, mapped by the shim and the harness. The harness writes
 * commands, the shim writes counts. The harness's package shim mirrors this
 * layout, and a test compares the two.
 *
 * All numbers are in the machine's own byte order; all times in nanoseconds.
 */
#ifndef LOCKPROOF_CONTROL_H
#define LOCKPROOF_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#define CONTROL_MAGIC 0x31504d4948534b4cULL /* "LKSHIMP1" */
#define CONTROL_FILES 1024

/* A synced file, with the length that survives a power cut. */
struct synced_file {
	_Atomic uint32_t state; /* one of the below */
	uint32_t reserved;
	/* The file's identity. Inode numbers are reused, so it includes the time of
	 * creation. */
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
	 * writes. A reader reads it before and after, and retries if it was odd or
	 * has changed (a seqlock). */
	_Atomic uint64_t clock_turn;
	_Atomic int64_t clock_since;
	_Atomic int64_t clock_reading;
	_Atomic uint64_t clock_rate; /* the bits of a double */

	/* fsync and fdatasync: the delay, and the errno of the failure after it.
	 * 0: none. */
	_Atomic int64_t sync_delay;
	_Atomic int64_t sync_error;

	/* Counts since the file was created. */
	_Atomic uint64_t syncs_done;    /* succeeded */
	_Atomic uint64_t syncs_delayed; /* began to wait */
	_Atomic uint64_t syncs_failed;  /* failed because of sync_error */
	_Atomic uint64_t syncs_lost;    /* succeeded, but could not be recorded below */

	/* Whether the disk is full: each write then fails with ENOSPC. */
	_Atomic uint64_t disk_full;
	_Atomic uint64_t writes_refused;

	uint64_t reserved[3];

	/* Unordered; the first free entry ends the list. One file may have two
	 * entries, if two threads synced it first at the same time: the longest
	 * counts. */
	struct synced_file files[CONTROL_FILES];
};

#endif
