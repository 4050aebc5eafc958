/* Puts the time of day of a process DPPROXY_AHEAD seconds ahead, for "make ahead". Timers stay as they are: under
   libfaketime no statement_timeout and no lock_timeout of Postgres ends anything. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead;

__attribute__((constructor)) static void read_ahead(void)
{
	const char *text = getenv("DPPROXY_AHEAD");
	ahead = text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int failed = syscall(SYS_clock_gettime, clock, t);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += ahead;
	return failed;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
