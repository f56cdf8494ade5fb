/*
 * A program for tests with the preloaded shim. It answers each line on stdin
 * with one line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

static long long ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void offsets(void)
{
#define AT(field) printf("%zu ", offsetof(struct control, field))
#define FILE_AT(field) printf("%zu ", offsetof(struct synced_file, field))
	AT(magic), AT(clock_turn), AT(clock_since), AT(clock_reading), AT(clock_rate), AT(sync_delay), AT(sync_error);
	AT(syncs_done), AT(syncs_delayed), AT(syncs_failed), AT(syncs_lost);
	AT(disk_full), AT(writes_refused), AT(files);
	FILE_AT(state), FILE_AT(device_major), FILE_AT(device_minor), FILE_AT(inode), FILE_AT(born), FILE_AT(length);
	printf("%zu %zu %llu %d\n", sizeof(struct synced_file), sizeof(struct control), CONTROL_MAGIC, FILE_READY);
}

static void clocks(void)
{
	struct timeval v;
	long long before = ns(CLOCK_MONOTONIC);
	gettimeofday(&v, NULL);
	long long day = v.tv_sec * 1000000LL + v.tv_usec;
	long long real = ns(CLOCK_REALTIME), coarse = ns(CLOCK_REALTIME_COARSE), seconds = time(NULL);
	printf("%lld %lld %lld %lld %lld %lld\n", before, day, real, coarse, seconds, ns(CLOCK_MONOTONIC));
}

/* Readers read the clock until they must stop. */
static volatile int stop;
static long long torn, backward, readings;
static long long line_a, line_b; /* the first readings on two lines */

static void count(long long *counter, long long by) { __atomic_fetch_add(counter, by, __ATOMIC_RELAXED); }

static void *read_lines(void *unused)
{
	(void)unused;
	while (!stop) {
		long long before = ns(CLOCK_MONOTONIC), now = ns(CLOCK_REALTIME), after = ns(CLOCK_MONOTONIC);
		int on_a = line_a + before <= now && now <= line_a + after;
		int on_b = line_b + 2 * before - 4 <= now && now <= line_b + 2 * after + 4;
		count(&torn, !on_a && !on_b);
		count(&readings, 1);
	}
	return NULL;
}

static void *read_forward(void *unused)
{
	(void)unused;
	for (long long last = 0, now; !stop; last = now) {
		now = ns(CLOCK_REALTIME);
		count(&backward, now < last);
		count(&readings, 1);
	}
	return NULL;
}

#define READERS 3
static pthread_t readers[READERS];

static void begin(void *(*reader)(void *))
{
	stop = 0;
	torn = backward = readings = 0;
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, reader, NULL);
	puts("ok");
}

static void finish(void)
{
	stop = 1;
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	printf("%lld %lld %lld\n", readings, torn, backward);
}

static void answer(int failed)
{
	if (failed)
		printf("%s\n", strerrorname_np(errno));
	else
		puts("ok");
}

enum writer { WRITE, WRITEV, PWRITE };

static void append(const char *name, int length, enum writer by)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
	char *bytes = calloc(1, length + 1);
	struct iovec one = {bytes, length};
	ssize_t done = by == WRITE ? write(fd, bytes, length) : by == WRITEV ? writev(fd, &one, 1) : pwrite(fd, bytes, length, 0);
	answer(fd < 0 || done != length);
	free(bytes);
	close(fd);
}

static void with_file(const char *name, int flags, int (*f)(int, off_t), off_t argument)
{
	int fd = open(name, flags);
	answer(fd < 0 || f(fd, argument) != 0);
	close(fd);
}

static int do_fsync(int fd, off_t unused) { (void)unused; return fsync(fd); }
static int do_fdatasync(int fd, off_t unused) { (void)unused; return fdatasync(fd); }

int main(void)
{
	char line[4096], verb[32], a[2000], b[2000];
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin) != NULL) {
		sscanf(line, "%31s %1999s %1999s", verb, a, b);
		if (!strcmp(verb, "offsets")) offsets();
		else if (!strcmp(verb, "clocks")) clocks();
		else if (!strcmp(verb, "lines")) line_a = atoll(a), line_b = atoll(b), begin(read_lines);
		else if (!strcmp(verb, "forward")) begin(read_forward);
		else if (!strcmp(verb, "finish")) finish();
		else if (!strcmp(verb, "append")) append(a, atoi(b), WRITE);
		else if (!strcmp(verb, "appendv")) append(a, atoi(b), WRITEV);
		else if (!strcmp(verb, "pappend")) append(a, atoi(b), PWRITE);
		else if (!strcmp(verb, "fsync")) with_file(a, O_RDWR, do_fsync, 0);
		else if (!strcmp(verb, "fdatasync")) with_file(a, O_RDWR, do_fdatasync, 0);
		else if (!strcmp(verb, "truncate")) with_file(a, O_RDWR, ftruncate, atoi(b));
		else if (!strcmp(verb, "syncdir")) with_file(a, O_RDONLY | O_DIRECTORY, do_fsync, 0);
		else if (!strcmp(verb, "rename")) answer(rename(a, b) != 0);
		else if (!strcmp(verb, "remove")) answer(unlink(a) != 0);
		else puts("what?");
	}
	return 0;
}
