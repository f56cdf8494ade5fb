/*
 * The preload shim: gives a real server a wall clock and a disk under the
 * harness's control.
 *
 *	LD_PRELOAD=shim.so LOCKPROOF_SHIM=control-file redis-server ...
 *
 * It replaces the functions by which a server reads the time (gettimeofday,
 * clock_gettime, time), writes files (write, writev, pwrite) and syncs them
 * (fsync, fdatasync). It changes only the wall clock: CLOCK_MONOTONIC is every
 * process's true clock. Each call reads the control file (control.h).
 *
 * It makes system calls itself instead of looking up the replaced functions
 * (dlsym): a look-up allocates memory, and jemalloc reads the time while it
 * starts, which would recurse. Only clock_gettime, which is ten times as slow
 * without the kernel's vDSO, is looked up, once, before the server begins;
 * earlier calls make a system call.
 *
 * It does not see msync, O_SYNC, sync_file_range, O_TRUNC of synced files,
 * writes by the C library's streams (Redis's snapshots; its append-only file
 * uses write), and syncs of a directory after a rename. Redis's persistence does
 * not depend on the first four; a rename counts as durable at once. So a power
 * cut leaves one legal state of the disk, not every one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

#ifndef __LP64__
#error "the shim is for 64-bit Linux: its system calls take 64-bit times and lengths"
#endif

#define EXPORT __attribute__((visibility("default")))

static const int64_t second = 1000000000;

/* NULL before the library is initialised, and without a control file: then the
 * library changes nothing. */
static struct control *control;

static int clock_by_system_call(clockid_t clock, struct timespec *t)
{
	return (int)syscall(SYS_clock_gettime, clock, t);
}

/* The host's clocks. */
static int (*system_clock)(clockid_t, struct timespec *) = clock_by_system_call;

/* A server that silently ignored its faults would give a wrong verdict. */
static void refuse(const char *file, const char *why)
{
	fprintf(stderr, "lockproof shim: the control file %s (LOCKPROOF_SHIM) %s\n", file, why);
	_exit(127);
}

static void map_control(void)
{
	const char *file = getenv("LOCKPROOF_SHIM");
	struct stat s;
	if (file == NULL)
		return;
	int fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) != 0)
		refuse(file, strerror(errno));
	if (s.st_size != sizeof(struct control))
		refuse(file, "has the wrong size");
	struct control *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		refuse(file, strerror(errno));
	if (c->magic != CONTROL_MAGIC)
		refuse(file, "is none, or of another version");
	close(fd);
	control = c;
}

__attribute__((constructor)) static void initialise(void)
{
	void *found = dlsym(RTLD_NEXT, "clock_gettime");
	if (found != NULL)
		memcpy(&system_clock, &found, sizeof found);
	map_control();
}

/* ---- the wall clock ---- */

static int64_t nanoseconds(clockid_t clock)
{
	struct timespec t;
	system_clock(clock, &t);
	return t.tv_sec * second + t.tv_nsec;
}

/* commanded_clock reads the commanded clock; it returns false without one. It
 * reads the true clock between the two reads of clock_turn. So a reading by the
 * old command is earlier than the new command, and a change of the rate never
 * turns time back. */
static int commanded_clock(int64_t *now)
{
	struct control *c = control;
	if (c == NULL)
		return 0;
	for (;;) {
		uint64_t turn = atomic_load_explicit(&c->clock_turn, memory_order_acquire);
		uint64_t bits = atomic_load_explicit(&c->clock_rate, memory_order_relaxed);
		int64_t since = atomic_load_explicit(&c->clock_since, memory_order_relaxed);
		int64_t reading = atomic_load_explicit(&c->clock_reading, memory_order_relaxed);
		int64_t true_now = bits != 0 ? nanoseconds(CLOCK_MONOTONIC) : 0;
		atomic_thread_fence(memory_order_acquire);
		if (turn % 2 == 0 && turn == atomic_load_explicit(&c->clock_turn, memory_order_relaxed)) {
			double rate;
			memcpy(&rate, &bits, sizeof rate);
			*now = reading + (int64_t)((double)(true_now - since) * rate);
			return bits != 0;
		}
		sched_yield();
	}
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t now;
	if ((clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) || !commanded_clock(&now))
		return system_clock(clock, t);
	t->tv_sec = now / second;
	t->tv_nsec = now % second;
	return 0;
}

EXPORT int gettimeofday(struct timeval *t, void *zone)
{
	struct timespec now;
	if (zone != NULL)
		memset(zone, 0, sizeof(struct timezone));
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

EXPORT time_t time(time_t *t)
{
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}

/* ---- the disk ---- */

enum identity { UNKNOWN, NO_FILE, REGULAR_FILE };

static enum identity identify(int fd, struct statx *s)
{
	int saved = errno;
	long failed = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME, s);
	errno = saved;
	if (failed)
		return UNKNOWN;
	return S_ISREG(s->stx_mode) ? REGULAR_FILE : NO_FILE;
}

static int64_t born(const struct statx *s)
{
	if ((s->stx_mask & STATX_BTIME) == 0)
		return 0; /* the file system does not record it */
	return s->stx_btime.tv_sec * second + s->stx_btime.tv_nsec;
}

static int same(const struct synced_file *f, const struct statx *s)
{
	return f->inode == s->stx_ino && f->born == born(s) &&
	       f->device_major == s->stx_dev_major && f->device_minor == s->stx_dev_minor;
}

/* claim makes an entry for a file, of length 0; NULL if the table is full. If
 * the process dies meanwhile, the entry stays claimed. */
static struct synced_file *claim(const struct statx *s)
{
	for (int i = 0; i < CONTROL_FILES; i++) {
		struct synced_file *f = &control->files[i];
		uint32_t state = FILE_FREE;
		if (!atomic_compare_exchange_strong(&f->state, &state, FILE_CLAIMED))
			continue;
		f->device_major = s->stx_dev_major;
		f->device_minor = s->stx_dev_minor;
		f->inode = s->stx_ino;
		f->born = born(s);
		atomic_store(&f->state, FILE_READY);
		return f;
	}
	return NULL;
}

static struct synced_file *find(const struct statx *s)
{
	for (int i = 0; i < CONTROL_FILES; i++) {
		struct synced_file *f = &control->files[i];
		uint32_t state = atomic_load(&f->state);
		if (state == FILE_FREE)
			break;
		if (state == FILE_READY && same(f, s))
			return f;
	}
	return NULL;
}

/* note_synced records a file's length at the start of a sync. Data written
 * during the sync may be durable, or not. */
static void note_synced(const struct statx *before)
{
	struct synced_file *f = find(before);
	if (f == NULL)
		f = claim(before);
	if (f == NULL) {
		atomic_fetch_add(&control->syncs_lost, 1);
		return;
	}
	int64_t length = (int64_t)before->stx_size;
	int64_t known = atomic_load(&f->length);
	while (known < length && !atomic_compare_exchange_weak(&f->length, &known, length))
		;
}

/* note_cut reduces a file's synced length to its new length: later data there
 * is not synced. */
static void note_cut(const struct statx *s, int64_t length)
{
	for (int i = 0; i < CONTROL_FILES; i++) {
		struct synced_file *f = &control->files[i];
		uint32_t state = atomic_load(&f->state);
		if (state == FILE_FREE)
			break;
		if (state != FILE_READY || !same(f, s))
			continue;
		int64_t known = atomic_load(&f->length);
		while (known > length && !atomic_compare_exchange_weak(&f->length, &known, length))
			;
	}
}

/* stall waits for the harness's delay, and ends early if the harness reduces
 * it. */
static void stall(void)
{
	const int64_t step = second / 200;
	int64_t began = nanoseconds(CLOCK_MONOTONIC);
	int waiting = 0;
	for (;;) {
		int64_t left = atomic_load(&control->sync_delay) - (nanoseconds(CLOCK_MONOTONIC) - began);
		if (left <= 0)
			return;
		if (!waiting++)
			atomic_fetch_add(&control->syncs_delayed, 1);
		struct timespec nap = {0, left < step ? left : step};
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
	}
}

static int sync_by(long call, int fd)
{
	struct statx before;
	if (control == NULL)
		return (int)syscall(call, fd);
	int saved = errno;
	stall();
	errno = saved;
	int64_t error = atomic_load(&control->sync_error);
	if (error != 0) {
		atomic_fetch_add(&control->syncs_failed, 1);
		errno = (int)error;
		return -1;
	}
	enum identity what = identify(fd, &before);
	int result = (int)syscall(call, fd);
	if (result != 0)
		return result;
	if (what == REGULAR_FILE)
		note_synced(&before);
	else if (what == UNKNOWN)
		atomic_fetch_add(&control->syncs_lost, 1);
	atomic_fetch_add(&control->syncs_done, 1);
	return 0;
}

EXPORT int fsync(int fd) { return sync_by(SYS_fsync, fd); }

EXPORT int fdatasync(int fd) { return sync_by(SYS_fdatasync, fd); }

/* no_room reports whether a write fails on a full disk. Writes to pipes and
 * sockets never do. */
static int no_room(int fd, size_t length)
{
	struct statx s;
	if (control == NULL || length == 0 || atomic_load(&control->disk_full) == 0 || identify(fd, &s) != REGULAR_FILE)
		return 0;
	atomic_fetch_add(&control->writes_refused, 1);
	errno = ENOSPC;
	return 1;
}

EXPORT ssize_t write(int fd, const void *from, size_t length)
{
	return no_room(fd, length) ? -1 : syscall(SYS_write, fd, from, length);
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t length, off_t at)
{
	return no_room(fd, length) ? -1 : syscall(SYS_pwrite64, fd, from, length, at);
}

EXPORT ssize_t pwrite64(int fd, const void *from, size_t length, off_t at) { return pwrite(fd, from, length, at); }

EXPORT ssize_t writev(int fd, const struct iovec *from, int count)
{
	return no_room(fd, 1) ? -1 : syscall(SYS_writev, fd, from, count);
}

EXPORT int ftruncate(int fd, off_t length)
{
	struct statx s;
	if (control != NULL && identify(fd, &s) == REGULAR_FILE)
		note_cut(&s, length);
	return (int)syscall(SYS_ftruncate, fd, length);
}

EXPORT int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }
