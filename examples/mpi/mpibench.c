/*
 * mpibench: what MPI programs do most, measured and checked.
 *
 * Ping-pong between the first and the last rank, an exchange in which every
 * rank sends to every other, and an allreduce, over a range of sizes. Every
 * byte that arrives is checked.
 *
 *	mpibench [ITERATIONS [MAX_BYTES]]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, iterations = 100;
static long max_bytes = 1 << 20;

static void wrong(const char *what, long bytes, long at)
{
	fprintf(stderr, "mpibench: rank %d: %s of %ld bytes: byte %ld is not what was sent\n", rank, what, bytes, at);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

/* pattern is byte i of what rank `from` sends to rank `to` in turn k. */
static uint8_t pattern(int from, int to, int k, long i)
{
	uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)(from * 31 + to) * 0xbf58476d1ce4e5b9u + (uint64_t)k;

	return (uint8_t)(x >> 56 ^ x >> 32 ^ (uint64_t)k);
}

static void fill(uint8_t *p, long n, int from, int to, int k)
{
	for (long i = 0; i < n; i++)
		p[i] = pattern(from, to, k, i);
}

static void check(const char *what, const uint8_t *p, long n, int from, int to, int k)
{
	for (long i = 0; i < n; i++)
		if (p[i] != pattern(from, to, k, i))
			wrong(what, n, i);
}

/* turns is how often a size is exchanged: large ones less often. */
static int turns(long bytes)
{
	int n = bytes > 65536 ? iterations / 10 : iterations;

	return n > 0 ? n : 1;
}

static void pingpong(uint8_t *buf, long bytes)
{
	int n = turns(bytes), last = ranks - 1;
	double begin, half;

	/* Checked once, with new contents each time; then measured. */
	for (int k = 0; k < 3; k++) {
		if (rank == 0) {
			fill(buf, bytes, 0, last, k);
			MPI_Send(buf, (int)bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD);
			MPI_Recv(buf, (int)bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			check("ping-pong", buf, bytes, last, 0, k);
		} else if (rank == last) {
			MPI_Recv(buf, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			check("ping-pong", buf, bytes, 0, last, k);
			fill(buf, bytes, last, 0, k);
			MPI_Send(buf, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
		}
	}
	begin = MPI_Wtime();
	for (int k = 0; k < n; k++) {
		if (rank == 0) {
			MPI_Send(buf, (int)bytes, MPI_BYTE, last, 2, MPI_COMM_WORLD);
			MPI_Recv(buf, (int)bytes, MPI_BYTE, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (rank == last) {
			MPI_Recv(buf, (int)bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(buf, (int)bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
		}
	}
	half = (MPI_Wtime() - begin) / n / 2;
	if (rank == 0)
		printf("pingpong   %8ld bytes %10.2f us %10.2f MB/s\n", bytes, 1e6 * half, 1e-6 * (double)bytes / half);
}

static void alltoall(uint8_t *out, uint8_t *in, long bytes)
{
	double begin;

	for (int to = 0; to < ranks; to++)
		fill(out + to * bytes, bytes, rank, to, 7);
	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	MPI_Alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	if (rank == 0)
		printf("alltoall   %8ld bytes %10.2f us\n", bytes, 1e6 * (MPI_Wtime() - begin));
	for (int from = 0; from < ranks; from++)
		check("alltoall", in + from * bytes, bytes, from, rank, 7);
}

static void allreduce(int64_t *out, int64_t *in, long bytes)
{
	long n = bytes / 8;
	int t = turns(bytes);
	double begin;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int k = 0; k < t; k++) {
		for (long i = 0; i < n; i++)
			out[i] = (rank + 1) * (i + k);
		MPI_Allreduce(out, in, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
		for (long i = 0; i < n; i++)
			if (in[i] != (int64_t)ranks * (ranks + 1) / 2 * (i + k))
				wrong("allreduce", bytes, 8 * i);
	}
	if (rank == 0)
		printf("allreduce  %8ld bytes %10.2f us\n", bytes, 1e6 * (MPI_Wtime() - begin) / t);
}

int main(int argc, char **argv)
{
	char name[MPI_MAX_PROCESSOR_NAME];
	int len;
	uint8_t *a, *b;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Get_processor_name(name, &len);
	if (argc > 1)
		iterations = atoi(argv[1]);
	if (argc > 2)
		max_bytes = atol(argv[2]);
	if (ranks < 2 || iterations < 1 || max_bytes < 8 || max_bytes > 1 << 26) {
		if (rank == 0)
			fprintf(stderr, "usage: mpibench [ITERATIONS [MAX_BYTES]], with two ranks or more\n");
		MPI_Finalize();
		return 2;
	}
	printf("rank %d of %d on %s\n", rank, ranks, name);
	fflush(stdout);
	a = malloc((size_t)max_bytes * (size_t)ranks);
	b = malloc((size_t)max_bytes * (size_t)ranks);
	if (!a || !b) {
		fprintf(stderr, "mpibench: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (long n = 8; n <= max_bytes; n *= 8)
		pingpong(a, n);
	for (long n = 8; n <= max_bytes; n *= 8)
		alltoall(a, b, n);
	for (long n = 8; n <= max_bytes; n *= 8)
		allreduce((int64_t *)a, (int64_t *)b, n);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("all data was right\n");
	free(a);
	free(b);
	return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
