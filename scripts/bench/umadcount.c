/* Counts the SMPs that a program sends by umad, by attribute; prints them at
 * the end to the file that UMADCOUNT names. Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { header = 64 };
static unsigned long sent[256][2];

int umad_send(int fd, int agent, void *umad, int length, int timeout, int retries)
{
	static int (*next)(int, int, void *, int, int, int);
	const unsigned char *m = (const unsigned char *)umad + header;
	if (!next)
		next = (int (*)(int, int, void *, int, int, int))dlsym(RTLD_NEXT, "umad_send");
	if ((m[1] == 0x81 || m[1] == 0x01) && m[16] == 0 && (m[3] == 1 || m[3] == 2))
		sent[m[17]][m[3] - 1]++; /* Get, Set */
	return next(fd, agent, umad, length, timeout, retries);
}

__attribute__((destructor)) static void print(void)
{
	const char *name = getenv("UMADCOUNT");
	FILE *f = name ? fopen(name, "w") : NULL;
	if (!f)
		return;
	for (int i = 0; i < 256; i++)
		if (sent[i][0] + sent[i][1])
			fprintf(f, "%04x %lu %lu\n", i, sent[i][0], sent[i][1]);
	fclose(f);
}
