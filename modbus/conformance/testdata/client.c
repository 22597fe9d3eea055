/*
 * A client of libmodbus. It reads commands, one a line, "SLAVE FUNCTION
 * ARGUMENTS", and answers each with one line: the values, or the error as
 * libmodbus names it.
 *
 *	client TTY BAUD PARITY TIMEOUT_MS
 *
 * Functions: 01 02 03 04 (address, quantity), 05 06 (address, value), 0f 10
 * (address, values), 11, 16 (address, and, or), 17 (read address, quantity,
 * write address, values), raw (bytes behind the address, in hexadecimal; the
 * reply likewise).
 */
#include <errno.h>
#include <modbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static modbus_t *ctx;

static int numbers(char *s, int base, int *v, int most)
{
	int n = 0;
	for (char *w = strtok(s, " \n"); w && n < most; w = strtok(NULL, " \n"))
		v[n++] = (int)strtol(w, NULL, base);
	return n;
}

static void words(int n, const uint16_t *r)
{
	for (int i = 0; i < n; i++)
		printf(i ? " %d" : "%d", r[i]);
	puts("");
}

static void bytes(int n, const uint8_t *b, const char *format)
{
	for (int i = 0; i < n; i++) {
		if (i)
			putchar(' ');
		printf(format, b[i]);
	}
	puts("");
}

static int command(int slave, const char *f, char *rest)
{
	static int v[2100];
	static uint16_t in[2100], out[2100];
	static uint8_t b[2100], o[2100];
	int raw = !strcmp(f, "raw");
	int n = numbers(rest, raw ? 16 : 0, v, 2100), rc;

	if (modbus_set_slave(ctx, slave) < 0)
		return -1;
	for (int i = 0; i < n; i++)
		out[i] = (uint16_t)v[i], o[i] = (uint8_t)v[i];
	if (raw) {
		memmove(o + 1, o, n);
		o[0] = (uint8_t)slave;
		if (modbus_send_raw_request(ctx, o, n + 1) < 0)
			return -1;
		if ((rc = modbus_receive_confirmation(ctx, b)) < 0)
			return -1;
		bytes(rc - 2, b, "%02x");
		return 0;
	}
	switch (strtol(f, NULL, 16)) {
	case 0x01:
		if ((rc = modbus_read_bits(ctx, v[0], v[1], b)) >= 0)
			bytes(rc, b, "%d");
		break;
	case 0x02:
		if ((rc = modbus_read_input_bits(ctx, v[0], v[1], b)) >= 0)
			bytes(rc, b, "%d");
		break;
	case 0x03:
		if ((rc = modbus_read_registers(ctx, v[0], v[1], in)) >= 0)
			words(rc, in);
		break;
	case 0x04:
		if ((rc = modbus_read_input_registers(ctx, v[0], v[1], in)) >= 0)
			words(rc, in);
		break;
	case 0x05:
		if ((rc = modbus_write_bit(ctx, v[0], v[1])) >= 0)
			puts("written");
		break;
	case 0x06:
		if ((rc = modbus_write_register(ctx, v[0], v[1])) >= 0)
			puts("written");
		break;
	case 0x0f:
		if ((rc = modbus_write_bits(ctx, v[0], n - 1, o + 1)) >= 0)
			printf("%d written\n", rc);
		break;
	case 0x10:
		if ((rc = modbus_write_registers(ctx, v[0], n - 1, out + 1)) >= 0)
			printf("%d written\n", rc);
		break;
	case 0x11:
		if ((rc = modbus_report_slave_id(ctx, sizeof b, b)) >= 0)
			bytes(rc, b, "%02x");
		break;
	case 0x16:
		if ((rc = modbus_mask_write_register(ctx, v[0], v[1], v[2])) >= 0)
			puts("written");
		break;
	case 0x17:
		if ((rc = modbus_write_and_read_registers(ctx, v[2], n - 3, out + 3, v[0], v[1], in)) >= 0)
			words(rc, in);
		break;
	default:
		errno = EINVAL;
		return -1;
	}
	return rc < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	static char line[20000];

	if (argc != 5) {
		fputs("client TTY BAUD PARITY TIMEOUT_MS\n", stderr);
		return 2;
	}
	ctx = modbus_new_rtu(argv[1], atoi(argv[2]), argv[3][0], 8, 1);
	if (!ctx || modbus_connect(ctx) < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], modbus_strerror(errno));
		return 1;
	}
	int ms = atoi(argv[4]);
	modbus_set_response_timeout(ctx, ms / 1000, ms % 1000 * 1000);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		int slave, at = 0;
		char f[8];
		if (sscanf(line, "%d %7s %n", &slave, f, &at) < 2)
			return 3;
		modbus_flush(ctx);
		if (command(slave, f, line + at) < 0)
			printf("%s\n", modbus_strerror(errno));
	}
	modbus_close(ctx);
	return 0;
}
