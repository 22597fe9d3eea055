// A program that uses /dev/infiniband/rdma_cm as librdmacm does not: signals,
// readiness, threads, forks. It prints what it finds wrong and "all right".
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int bad;

#define CHECK(what, got, want) \
	do { \
		long g = (got), w = (want); \
		if (g != w) { \
			printf("%s: %ld, want %ld\n", what, g, w); \
			bad++; \
		} \
	} while (0)

struct hdr { uint32_t cmd; uint16_t in, out; };

static int fd;

static int create(void)
{
	uint32_t id = -1;
	struct { struct hdr h; uint64_t uid, response; uint16_t ps; uint8_t type, r[5]; } c = {{0, 24, 4}, 7, (uintptr_t)&id, 0x106};
	CHECK("create", write(fd, &c, sizeof c), sizeof c);
	return id;
}

static int destroy(int id)
{
	uint32_t n = -1;
	struct { struct hdr h; uint64_t response; uint32_t id, r; } c = {{1, 16, 4}, (uintptr_t)&n, id, 0};
	CHECK("destroy", write(fd, &c, sizeof c), sizeof c);
	return n;
}

// resolve asks for a host that is not there or is, and makes an event.
static void resolve(int id, const char *host)
{
	struct { struct hdr h; struct sockaddr_in6 src, dst; uint32_t id, ms; } c = {{3, 64, 0}};
	struct sockaddr_in *d = (void *)&c.dst;
	d->sin_family = AF_INET;
	inet_pton(AF_INET, host, &d->sin_addr);
	c.id = id;
	c.ms = 2000;
	CHECK("resolve", write(fd, &c, sizeof c), sizeof c);
}

static long get_event(uint32_t *event)
{
	uint8_t resp[336];
	struct { struct hdr h; uint64_t response; } c = {{12, 8, sizeof resp}, (uintptr_t)resp};
	long n = write(fd, &c, sizeof c);
	if (event)
		memcpy(event, resp + 12, 4);
	return n;
}

static volatile int alarms;
static void on_alarm(int s) { alarms++; }

static void set_alarm(int flags, int ms)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = flags};
	struct itimerval it = {.it_value = {.tv_usec = ms * 1000}};
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void *later(void *id)
{
	usleep(300000);
	resolve((intptr_t)id, "10.0.0.2");
	return NULL;
}

static int readable(int ms)
{
	struct pollfd p = {fd, POLLIN};
	return poll(&p, 1, ms);
}

int main(int argc, char **argv)
{
	struct stat st;
	uint32_t ev = 99;
	pthread_t th;
	int a, b, n, status;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		perror("open");
		return 1;
	}
	CHECK("character device", S_ISCHR(st.st_mode), 1);
	CHECK("close on exec", fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK("not readable", readable(0), 0);
	a = create();

	// Signals.
	set_alarm(0, 50);
	CHECK("event, interrupted", get_event(NULL), -1);
	CHECK("errno", errno, EINTR);
	CHECK("alarms", alarms, 1);
	set_alarm(SA_RESTART, 50);
	pthread_create(&th, NULL, later, (void *)(intptr_t)a);
	CHECK("event, restarted", get_event(&ev), 16);
	CHECK("alarms", alarms, 2);
	CHECK("address resolved", ev, 0);
	pthread_join(th, NULL);
	CHECK("events of an identifier", destroy(a), 1);

	// Readiness.
	int ep = epoll_create1(0);
	struct epoll_event ee = {.events = EPOLLIN | EPOLLET};
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ee);
	a = create();
	b = create();
	fcntl(fd, F_SETFL, O_NONBLOCK);
	CHECK("no event", get_event(NULL), -1);
	CHECK("errno", errno, EAGAIN);
	for (n = 0; n < 50; n++) {
		resolve(a, "10.0.0.2");
		CHECK("epoll", epoll_wait(ep, &ee, 1, 2000), 1);
		CHECK("poll", readable(0), 1);
		CHECK("event", get_event(&ev), 16);
		CHECK("not readable any more", readable(0), 0);
		CHECK("no second event", get_event(NULL), -1);
		CHECK("events", destroy(a), 1);
		a = create();
	}
	resolve(a, "10.0.0.2");
	resolve(b, "10.0.0.2");
	CHECK("readable", readable(2000), 1);
	usleep(100000);
	CHECK("event", get_event(&ev), 16);
	CHECK("still readable", readable(0), 1);
	destroy(a);
	destroy(b);
	CHECK("not readable after destroying", readable(0), 0);

	// A bad address takes nothing away.
	a = create();
	resolve(a, "10.0.0.2");
	readable(2000);
	struct { struct hdr h; uint64_t response; } c = {{12, 8, 336}, 8};
	CHECK("event to nowhere", write(fd, &c, sizeof c), -1);
	CHECK("errno", errno, EFAULT);
	CHECK("event", get_event(&ev), 16);
	struct { struct hdr h; uint64_t uid, response; uint16_t ps; uint8_t type, r[5]; } cc = {{0, 24, 4}, 7, 8, 0x106};
	CHECK("create to nowhere", write(fd, &cc, sizeof cc), -1);
	CHECK("errno", errno, EFAULT);
	CHECK("short write", write(fd, &c, 7), -1);
	CHECK("errno", errno, EINVAL);
	CHECK("write of nothing", syscall(SYS_write, fd, 8L, 16L), -1);
	CHECK("errno", errno, EFAULT);
	destroy(a);

	// A child shares the file; the parent's identifiers outlive it.
	fcntl(fd, F_SETFL, 0);
	a = create();
	if ((pid = fork()) == 0) {
		resolve(a, "10.0.0.2");
		n = get_event(&ev) == 16 && ev == 0;
		_exit(n ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	CHECK("child", status, 0);
	CHECK("events of the child's look-up", destroy(a), 1);

	// A child that waits is killed.
	if ((pid = fork()) == 0) {
		get_event(NULL);
		_exit(1);
	}
	usleep(50000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	CHECK("killed", WTERMSIG(status), SIGKILL);
	a = create();
	resolve(a, "10.0.0.2");
	CHECK("event after a reader was killed", get_event(&ev), 16);
	destroy(a);

	// Many files, closed with identifiers and events pending.
	for (n = 0; n < 300; n++) {
		int f = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
		if (f < 0) {
			perror("open again");
			bad++;
			break;
		}
		int keep = fd;
		fd = f;
		resolve(create(), "10.0.0.2");
		close(f);
		fd = keep;
	}
	for (n = 0; n < 1000; n++)
		if (open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC) < 0)
			break;
	CHECK("descriptors", n > 100 && n < 128, 1);
	if (!bad)
		puts("all right");
	if (argc > 1)
		pause();
	return bad != 0;
}
