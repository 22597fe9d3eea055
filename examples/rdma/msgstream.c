/*
 * msgstream: a stream of messages and one remote write between two nodes.
 *
 * The client sends messages that the server checks, byte by byte (two-sided:
 * each send meets a receive that the server posted). Then it writes into the
 * server's memory with the address and the key that the server published
 * (one-sided: the server posts nothing and sees no completion), and the server
 * checks that memory when one last message tells it to.
 *
 * The same program, unchanged, runs on InfiniBand and on RoCE. What differs is
 * how a peer is named, which is one branch in to_rtr().
 *
 *	msgstream -d rxe0		on one node
 *	msgstream -d rxe0 SERVER	on the other; see README.md
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum { EXIT_USAGE = 2, EXIT_MISMATCH = 3 };

enum {
	SLOTS = 32,		/* messages in flight, and receives posted */
	MAX_SIZE = 1 << 24,	/* bytes of a message, and of the write */
	TCP_SECONDS = 30,	/* that the peer may take for a part of the exchange */
};

struct options {
	const char *device, *server, *tcp_port;
	int port, gid_index;	/* gid_index -1: pick_gid() chooses */
	uint32_t messages, size, write_size;
	int patience;		/* seconds without any completion */
};

/* What each side tells the other over TCP, in network byte order. */
struct hello {
	uint32_t magic;
	uint8_t link_layer, mtu;
	uint16_t lid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
	union ibv_gid gid;
	uint32_t messages, size, write_size;	/* the client's count */
	uint32_t zero;
};
#define MAGIC 0x6d736731u	/* "msg1" */

/* The last message of the client, and the server's answer. */
struct note {
	uint32_t magic, verdict;
};

struct stream {
	struct options o;
	int tcp;
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *slots, *window;	/* SLOTS messages; what the peer may write to */
	struct ibv_mr *slots_mr, *window_mr;
	size_t slot;			/* bytes of one */
	uint32_t psn;
};

static int fail(const char *format, ...)
{
	va_list args;

	fputs("msgstream: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifndef SEED
#define SEED 0x9e3779b97f4a7c15u	/* programs with different ones find each other's data wrong */
#endif

/*
 * fill and check know what bytes message number k has: all differ, so that a
 * message in the wrong place, a part of one or an old one is noticed.
 */
static uint64_t word(uint64_t k, uint64_t i)
{
	uint64_t x = (k << 32 | i) + SEED;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return htole64(x ^ x >> 31);
}

static void fill(uint8_t *p, size_t n, uint64_t k)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = word(k, i);

		memcpy(p + i, &w, n - i < 8 ? n - i : 8);
	}
}

static bool check(const uint8_t *p, size_t n, uint64_t k)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = word(k, i);

		if (memcmp(p + i, &w, n - i < 8 ? n - i : 8))
			return false;
	}
	return true;
}

#define WRITE_PATTERN UINT32_MAX	/* the k of the remote write */

/* ---- the bootstrap channel: TCP, used until both queue pairs are ready ---- */

static void set_timeouts(int fd)
{
	struct timeval t = { .tv_sec = TCP_SECONDS };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static int tcp_connect(const struct options *o)
{
	struct addrinfo *all, *a, hints = { .ai_socktype = SOCK_STREAM };
	int err = getaddrinfo(o->server, o->tcp_port, &hints, &all), fd = -1;

	if (err)
		return fail("%s port %s: %s", o->server, o->tcp_port, gai_strerror(err));
	for (a = all, err = 0; a; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && !connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		err = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(all);
	if (fd < 0)
		return fail("connect to %s port %s: %s", o->server, o->tcp_port, strerror(err));
	return fd;
}

static int tcp_listen(const char *port, int family)
{
	struct addrinfo *a, hints = { .ai_socktype = SOCK_STREAM, .ai_family = family, .ai_flags = AI_PASSIVE };
	int err = getaddrinfo(NULL, port, &hints, &a), fd, on = 1, off = 0;

	if (err) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (family == AF_INET6) /* serves IPv4 as well */
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
		if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1)) {
			err = errno;
			close(fd);
			errno = err;
			fd = -1;
		}
	}
	freeaddrinfo(a);
	return fd;
}

static int tcp_accept(const struct options *o)
{
	int l = tcp_listen(o->tcp_port, AF_INET6), fd;

	if (l < 0)
		l = tcp_listen(o->tcp_port, AF_INET); /* a machine without IPv6 */
	if (l < 0)
		return fail("listen on TCP port %s: %s", o->tcp_port, strerror(errno));
	fd = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		fail("accept: %s", strerror(errno));
	close(l);
	return fd;
}

static int tcp_send(int fd, const void *p, size_t n)
{
	ssize_t k = send(fd, p, n, MSG_NOSIGNAL); /* little: it goes at once */

	if (k != (ssize_t)n)
		return fail("send to the peer: %s", k < 0 ? strerror(errno) : "cut short");
	return 0;
}

static int tcp_receive(int fd, void *p, size_t n)
{
	ssize_t k = recv(fd, p, n, MSG_WAITALL);

	if (k < 0)
		return fail("receive from the peer: %s", errno == EAGAIN ? "it said nothing for too long" : strerror(errno));
	if (k != (ssize_t)n)
		return fail("the peer closed the connection; it should say why");
	return 0;
}

static int send_hello(struct stream *s)
{
	struct hello h = {
		.magic = htobe32(MAGIC), .link_layer = s->port.link_layer, .mtu = s->port.active_mtu,
		.lid = htobe16(s->port.lid), .gid = s->gid,
		.qpn = htobe32(s->qp->qp_num), .psn = htobe32(s->psn),
		.rkey = htobe32(s->window_mr->rkey), .addr = htobe64((uintptr_t)s->window),
		.messages = htobe32(s->o.messages), .size = htobe32(s->o.size), .write_size = htobe32(s->o.write_size),
	};

	return tcp_send(s->tcp, &h, sizeof h);
}

static int receive_hello(struct stream *s, struct hello *h)
{
	if (tcp_receive(s->tcp, h, sizeof *h))
		return -1;
	h->magic = be32toh(h->magic);
	h->lid = be16toh(h->lid);
	h->qpn = be32toh(h->qpn);
	h->psn = be32toh(h->psn);
	h->rkey = be32toh(h->rkey);
	h->addr = be64toh(h->addr);
	h->messages = be32toh(h->messages);
	h->size = be32toh(h->size);
	h->write_size = be32toh(h->write_size);
	if (h->magic != MAGIC)
		return fail("who connected is not msgstream");
	if (h->link_layer != s->port.link_layer)
		return fail("this port's link layer is %s, the peer's is another: they are on different fabrics",
			    s->port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	if (h->mtu < IBV_MTU_256 || h->mtu > IBV_MTU_4096 || !h->messages || !h->size || h->size > MAX_SIZE ||
	    !h->write_size || h->write_size > MAX_SIZE)
		return fail("the peer wants %" PRIu32 " messages of %" PRIu32 " bytes and a write of %" PRIu32 ", which is out of range",
			    h->messages, h->size, h->write_size);
	return 0;
}

/* meet returns when both sides have come to this point. */
static int meet(struct stream *s)
{
	char c = '!';

	return tcp_send(s->tcp, &c, 1) || tcp_receive(s->tcp, &c, 1) ? -1 : 0;
}

/* ---- device, memory, queue pair ---- */

static int open_device(struct stream *s)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n), *dev = NULL;

	if (!list)
		return fail("list RDMA devices: %s", strerror(errno));
	for (int i = 0; i < n && !dev; i++)
		if (!s->o.device || !strcmp(ibv_get_device_name(list[i]), s->o.device))
			dev = list[i];
	if (!dev) {
		if (s->o.device && n)
			fail("no RDMA device %s; the first one here is %s", s->o.device, ibv_get_device_name(list[0]));
		else
			fail("this node has no RDMA device");
	} else {
		s->ctx = ibv_open_device(dev);
		if (!s->ctx)
			fail("open %s: %s", ibv_get_device_name(dev), strerror(errno));
	}
	ibv_free_device_list(list);
	if (!s->ctx)
		return -1;
	int err = ibv_query_port(s->ctx, s->o.port, &s->port);
	if (err)
		return fail("%s has no port %d: %s", ibv_get_device_name(s->ctx->device), s->o.port, strerror(err));
	if (s->port.state != IBV_PORT_ACTIVE)
		return fail("port %d of %s is not active but %s%s", s->o.port, ibv_get_device_name(s->ctx->device),
			    ibv_port_state_str(s->port.state),
			    s->port.state == IBV_PORT_INIT ? ": no subnet manager has brought it up" : "");
	return 0;
}

/*
 * pick_gid chooses the GID by which a RoCE peer reaches us: that of the address
 * which the TCP connection has here, so that both sides choose one of the same
 * family; else the first of IPv4, as a peer with the same configuration will.
 */
static int pick_gid(struct stream *s)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof sa;
	struct ibv_gid_entry e;
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t own[16] = { 0 };
	int best = 0, found = -1;

	if (getsockname(s->tcp, (struct sockaddr *)&sa, &len))
		return fail("own address: %s", strerror(errno));
	if (sa.ss_family == AF_INET6) {
		memcpy(own, &((struct sockaddr_in6 *)&sa)->sin6_addr, 16);
	} else {
		memcpy(own, v4, 12);
		memcpy(own + 12, &((struct sockaddr_in *)&sa)->sin_addr, 4);
	}
	for (int i = 0; i < s->port.gid_tbl_len; i++) {
		int score;

		if (ibv_query_gid_ex(s->ctx, s->o.port, i, &e, 0) || e.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		score = !memcmp(e.gid.raw, own, 16) ? 3 : !memcmp(e.gid.raw, v4, 12) ? 2 : 1;
		if (score > best) {
			best = score;
			found = i;
		}
	}
	if (found < 0)
		return fail("%s has no RoCE v2 GID: give its interface an IP address", ibv_get_device_name(s->ctx->device));
	s->o.gid_index = found;
	return 0;
}

static int make_buffers(struct stream *s)
{
	s->slot = s->o.size < sizeof(struct note) ? sizeof(struct note) : s->o.size;
	s->slots = calloc(SLOTS, s->slot);
	s->window = calloc(1, s->o.write_size);
	if (!s->slots || !s->window)
		return fail("out of memory");
	/* The peer may write to the window, and to nothing else. */
	s->slots_mr = ibv_reg_mr(s->pd, s->slots, SLOTS * s->slot, IBV_ACCESS_LOCAL_WRITE);
	s->window_mr = ibv_reg_mr(s->pd, s->window, s->o.write_size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!s->slots_mr || !s->window_mr)
		return fail("register memory: %s%s", strerror(errno), errno == ENOMEM ? " (see ulimit -l)" : "");
	return 0;
}

static int make_queue_pair(struct stream *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SLOTS, .max_recv_wr = SLOTS, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = s->o.port, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	int err;

	s->pd = ibv_alloc_pd(s->ctx);
	if (!s->pd)
		return fail("allocate a protection domain: %s", strerror(errno));
	s->cq = ibv_create_cq(s->ctx, 2 * SLOTS, NULL, NULL, 0);
	if (!s->cq)
		return fail("create a completion queue: %s", strerror(errno));
	init.send_cq = init.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &init);
	if (!s->qp)
		return fail("create a queue pair: %s", strerror(errno));
	err = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (err)
		return fail("queue pair to INIT: %s", strerror(err));
	if (getrandom(&s->psn, sizeof s->psn, 0) != sizeof s->psn)
		return fail("random PSN: %s", strerror(errno));
	s->psn &= 0xffffff;
	return 0;
}

/* to_rtr names the peer. Here, and only here, the two fabrics differ. */
static int to_rtr(struct stream *s, const struct hello *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = peer->mtu < s->port.active_mtu ? (enum ibv_mtu)peer->mtu : s->port.active_mtu,
		.dest_qp_num = peer->qpn, .rq_psn = peer->psn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12, /* 0.64 ms */
		.ah_attr.port_num = s->o.port,
	};
	int err;

	if (s->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.dgid = peer->gid;
		attr.ah_attr.grh.sgid_index = s->o.gid_index;
		attr.ah_attr.grh.hop_limit = 255;
	} else {
		attr.ah_attr.is_global = 0;
		attr.ah_attr.dlid = peer->lid;
	}
	err = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	return err ? fail("queue pair to RTR: %s", strerror(err)) : 0;
}

static int to_rts(struct stream *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = s->psn, .max_rd_atomic = 1,
		.timeout = 14 /* 67 ms */, .retry_cnt = 7, .rnr_retry = 7 /* for ever */,
	};
	int err = ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
				IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);

	return err ? fail("queue pair to RTS: %s", strerror(err)) : 0;
}

/* ---- work requests and completions ---- */

static int post_receive(struct stream *s, unsigned slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)(s->slots + slot * s->slot), .length = s->slot, .lkey = s->slots_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(s->qp, &wr, &bad);

	return err ? fail("post a receive: %s", strerror(err)) : 0;
}

static int post(struct stream *s, struct ibv_send_wr *wr, const void *p, uint32_t n, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p, .length = n, .lkey = mr->lkey };
	struct ibv_send_wr *bad;
	int err;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	err = ibv_post_send(s->qp, wr, &bad);
	return err ? fail("post a send: %s", strerror(err)) : 0;
}

static int post_send(struct stream *s, unsigned slot, uint32_t n)
{
	struct ibv_send_wr wr = { .wr_id = slot, .opcode = IBV_WR_SEND };

	return post(s, &wr, s->slots + slot * s->slot, n, s->slots_mr);
}

static const char *hint(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
		return ": the peer does not answer; does it run, is its address reachable from this port?";
	case IBV_WC_REM_ACCESS_ERR:
		return ": the peer's adapter refused the key or the address";
	case IBV_WC_WR_FLUSH_ERR:
		return ": the queue pair is in the error state";
	default:
		return "";
	}
}

/* gone tells whether the peer closed the bootstrap connection: it has ended. */
static bool gone(const struct stream *s)
{
	struct pollfd p = { .fd = s->tcp, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

/* complete waits for one completion. */
static int complete(struct stream *s, struct ibv_wc *wc)
{
	double begin = now(), t = begin;

	for (unsigned turn = 0;; turn++) {
		int n = ibv_poll_cq(s->cq, 1, wc);

		if (n < 0)
			return fail("poll the completion queue: %s", strerror(errno));
		if (n > 0)
			break;
		if (turn % 1024)
			continue;
		/* Closing is the last that a peer does: what it sent has arrived before. */
		if (now() - t > 0.1 && gone(s) && !ibv_poll_cq(s->cq, 1, wc))
			return fail("the peer ended before the stream did");
		if (now() - t > 0.1)
			t = now();
		if (t - begin > s->o.patience)
			return fail("no completion for %d s", s->o.patience);
	}
	if (wc->status != IBV_WC_SUCCESS)
		return fail("completion with error: %s (status %d)%s", ibv_wc_status_str(wc->status), wc->status, hint(wc->status));
	return 0;
}

/* expect waits for one completion of that kind. */
static int expect(struct stream *s, struct ibv_wc *wc, enum ibv_wc_opcode op)
{
	if (complete(s, wc))
		return -1;
	return wc->opcode == op ? 0 : fail("completion of kind %d, expected %d", wc->opcode, op);
}

/* ---- the two sides ---- */

static int client(struct stream *s, const struct hello *peer)
{
	struct ibv_wc wc;
	uint32_t sent, acked;
	struct note n = { .magic = htobe32(MAGIC) };
	struct ibv_send_wr write = {
		.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = { .remote_addr = peer->addr, .rkey = peer->rkey },
	};
	double begin, seconds;

	/* The last slot receives the server's verdict, the others send. */
	if (post_receive(s, SLOTS - 1) || meet(s))
		return -1;
	begin = now();
	for (sent = acked = 0; acked < s->o.messages;) {
		if (sent < s->o.messages && sent - acked < SLOTS - 1) {
			unsigned slot = sent % (SLOTS - 1);

			fill(s->slots + slot * s->slot, s->o.size, sent++);
			if (post_send(s, slot, s->o.size))
				return -1;
			continue;
		}
		if (expect(s, &wc, IBV_WC_SEND))
			return -1;
		acked++;
	}
	seconds = now() - begin;
	printf("sent %" PRIu32 " messages of %" PRIu32 " bytes in %.6f s, %.3f Gb/s\n", sent, s->o.size, seconds,
	       8e-9 * sent * s->o.size / seconds);

	/* The window has served its purpose as an address; now it is the source. */
	fill(s->window, s->o.write_size, WRITE_PATTERN);
	if (post(s, &write, s->window, s->o.write_size, s->window_mr) || expect(s, &wc, IBV_WC_RDMA_WRITE))
		return -1;
	printf("wrote %" PRIu32 " bytes to 0x%" PRIx64 " with rkey 0x%" PRIx32 "\n", s->o.write_size, peer->addr, peer->rkey);

	memcpy(s->slots, &n, sizeof n);
	if (post_send(s, 0, sizeof n) || complete(s, &wc))
		return -1;
	/* The answer may complete before the send that it answers does. */
	if (wc.opcode == IBV_WC_SEND ? expect(s, &wc, IBV_WC_RECV) : wc.opcode != IBV_WC_RECV)
		return -1;
	memcpy(&n, s->slots + (SLOTS - 1) * s->slot, sizeof n);
	if (wc.byte_len != sizeof n || be32toh(n.magic) != MAGIC)
		return fail("the peer's verdict is not readable");
	if (n.verdict) {
		fail("the peer did not find what was sent");
		return EXIT_MISMATCH;
	}
	printf("the peer has verified both\n");
	return 0;
}

static int server(struct stream *s)
{
	struct ibv_wc wc;
	struct note n;
	uint32_t wrong = 0;
	bool written;

	for (unsigned i = 0; i < SLOTS; i++)
		if (post_receive(s, i))
			return -1;
	if (meet(s))
		return -1;
	for (uint32_t k = 0; k < s->o.messages; k++) {
		if (expect(s, &wc, IBV_WC_RECV))
			return -1;
		if (wc.byte_len != s->o.size || !check(s->slots + wc.wr_id * s->slot, s->o.size, k))
			if (!wrong++)
				fail("message %" PRIu32 " has %" PRIu32 " bytes, and not those that were sent", k, wc.byte_len);
		if (post_receive(s, wc.wr_id))
			return -1;
	}
	printf("received %" PRIu32 " messages of %" PRIu32 " bytes, %" PRIu32 " of them wrong\n", s->o.messages, s->o.size, wrong);

	/* The write was before this message, and the adapter keeps the order. */
	if (expect(s, &wc, IBV_WC_RECV))
		return -1;
	memcpy(&n, s->slots + wc.wr_id * s->slot, sizeof n);
	if (wc.byte_len != sizeof n || be32toh(n.magic) != MAGIC)
		return fail("the message after the stream is not readable");
	written = check(s->window, s->o.write_size, WRITE_PATTERN);
	if (written)
		printf("%" PRIu32 " bytes at %p were written by the peer, as expected\n", s->o.write_size, (void *)s->window);
	else
		fail("the peer's write is not in the window");
	n.verdict = htobe32(wrong || !written);
	memcpy(s->slots + wc.wr_id * s->slot, &n, sizeof n);
	if (post_send(s, wc.wr_id, sizeof n) || expect(s, &wc, IBV_WC_SEND))
		return -1;
	return wrong || !written ? EXIT_MISMATCH : 0;
}

static void describe(const struct stream *s, const struct hello *peer)
{
	char own[INET6_ADDRSTRLEN] = "", other[INET6_ADDRSTRLEN] = "";

	if (s->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		inet_ntop(AF_INET6, s->gid.raw, own, sizeof own);
		inet_ntop(AF_INET6, peer->gid.raw, other, sizeof other);
		printf("%s port %d, Ethernet: QP 0x%06x at GID %s (index %d) to QP 0x%06x at GID %s\n",
		       ibv_get_device_name(s->ctx->device), s->o.port, s->qp->qp_num, own, s->o.gid_index, peer->qpn, other);
	} else {
		printf("%s port %d, InfiniBand: QP 0x%06x at LID %u to QP 0x%06x at LID %u\n",
		       ibv_get_device_name(s->ctx->device), s->o.port, s->qp->qp_num, s->port.lid, peer->qpn, peer->lid);
	}
}

static int run(struct stream *s)
{
	bool serving = !s->o.server;
	struct hello peer;
	int err;

	if (open_device(s))
		return -1;
	s->tcp = serving ? tcp_accept(&s->o) : tcp_connect(&s->o);
	if (s->tcp < 0)
		return -1;
	set_timeouts(s->tcp);
	if (s->o.gid_index < 0) {
		s->o.gid_index = 0;
		if (s->port.link_layer == IBV_LINK_LAYER_ETHERNET && pick_gid(s))
			return -1;
	}
	if (ibv_query_gid(s->ctx, s->o.port, s->o.gid_index, &s->gid))
		return fail("%s has no GID with index %d", ibv_get_device_name(s->ctx->device), s->o.gid_index);
	if (serving) { /* the client's numbers count */
		if (receive_hello(s, &peer))
			return -1;
		s->o.messages = peer.messages;
		s->o.size = peer.size;
		s->o.write_size = peer.write_size;
	}
	if (make_queue_pair(s) || make_buffers(s) || send_hello(s))
		return -1;
	if (!serving && receive_hello(s, &peer))
		return -1;
	if (to_rtr(s, &peer) || to_rts(s))
		return -1;
	describe(s, &peer);
	err = serving ? server(s) : client(s, &peer);
	fflush(stdout);
	return err;
}

static void release(struct stream *s)
{
	if (s->qp)
		ibv_destroy_qp(s->qp);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (s->slots_mr)
		ibv_dereg_mr(s->slots_mr);
	if (s->window_mr)
		ibv_dereg_mr(s->window_mr);
	if (s->pd)
		ibv_dealloc_pd(s->pd);
	if (s->ctx)
		ibv_close_device(s->ctx);
	free(s->slots);
	free(s->window);
	if (s->tcp >= 0)
		close(s->tcp); /* last: it tells the peer that we ended */
}

static void usage(FILE *f)
{
	fputs("usage: msgstream [options]          waits for a client\n"
	      "       msgstream [options] SERVER   sends to the server of that name or address\n"
	      "  -d DEVICE   RDMA device (the first one)\n"
	      "  -i PORT     its port (1)\n"
	      "  -g INDEX    GID index, used on Ethernet (that of the address the TCP connection has here)\n"
	      "  -p PORT     TCP port of the bootstrap connection (18520)\n"
	      "  -n COUNT    messages to send (1000); the client's counts, as do -s and -w\n"
	      "  -s BYTES    of each message (4096)\n"
	      "  -w BYTES    of the remote write (65536)\n"
	      "  -t SECONDS  to wait for a completion (30)\n"
	      "exit status: 0 all verified, 1 error, 2 usage, 3 data differs\n", f);
}

static bool number(const char *text, long low, long high, long *v)
{
	char *end;

	errno = 0;
	*v = strtol(text, &end, 0);
	return !errno && end != text && !*end && *v >= low && *v <= high;
}

static bool parse(int argc, char **argv, struct options *o)
{
	int c;
	long v = 0;
	bool good;

	while ((c = getopt(argc, argv, "d:i:g:p:n:s:w:t:h")) != -1) {
		switch (c) {
		case 'd': o->device = optarg; good = true; break;
		case 'i': good = number(optarg, 1, 255, &v); o->port = (int)v; break;
		case 'g': good = number(optarg, 0, 255, &v); o->gid_index = (int)v; break;
		case 'p': good = number(optarg, 1, 65535, &v); o->tcp_port = optarg; break;
		case 'n': good = number(optarg, 1, UINT32_MAX - 1L, &v); o->messages = (uint32_t)v; break;
		case 's': good = number(optarg, 1, MAX_SIZE, &v); o->size = (uint32_t)v; break;
		case 'w': good = number(optarg, 1, MAX_SIZE, &v); o->write_size = (uint32_t)v; break;
		case 't': good = number(optarg, 1, 1 << 20, &v); o->patience = (int)v; break;
		case 'h': usage(stdout); exit(EXIT_SUCCESS);
		default: return false; /* getopt has said what is wrong */
		}
		if (!good) {
			fail("-%c %s: not a number in range", c, optarg);
			return false;
		}
	}
	if (argc - optind > 1) {
		fail("one server, not %d", argc - optind);
		return false;
	}
	o->server = argv[optind];
	return true;
}

int main(int argc, char **argv)
{
	struct stream s = {
		.o = { .tcp_port = "18520", .port = 1, .gid_index = -1, .messages = 1000, .size = 4096, .write_size = 65536, .patience = 30 },
		.tcp = -1,
	};
	int err;

	if (!parse(argc, argv, &s.o)) {
		usage(stderr);
		return EXIT_USAGE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	err = run(&s);
	release(&s);
	return err < 0 ? EXIT_FAILURE : err;
}
