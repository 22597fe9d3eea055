"""A client of pymodbus. It reads expressions, one a line, and answers each with
one line: what the response has, or the error as pymodbus names it.

    client.py TTY BAUD PARITY TIMEOUT_S [inpck]

inpck sets that flag, which pyserial does not: a pseudo terminal has no other
sign of parity. strict would set the port a second time, which the C library
refuses where the terminal has dropped the parity bit.
"""
import logging
import sys
import termios

from pymodbus.client import ModbusSerialClient
from pymodbus.diag_message import *
from pymodbus.file_message import *
from pymodbus.mei_message import *
from pymodbus.other_message import *
from pymodbus.pdu import ExceptionResponse

logging.disable(logging.CRITICAL)

tty, baud, parity, timeout = sys.argv[1:5]
inpck = sys.argv[5:] == ["inpck"]
c = ModbusSerialClient(port=tty, baudrate=int(baud), parity=parity, timeout=int(timeout), retries=1, broadcast_enable=True, strict=not inpck)
if inpck:
    c.connect()
    t = termios.tcgetattr(c.socket.fd)
    t[0] |= termios.INPCK
    termios.tcsetattr(c.socket.fd, termios.TCSANOW, t)


def words(data):
    return " ".join("%04x" % int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))


def show(r):
    if isinstance(r, bytes):
        return r.decode()
    if isinstance(r, Exception):
        return "silence" if "No" in str(r) or "Incomplete" in str(r) else str(r)
    if isinstance(r, ExceptionResponse):
        return "exception %d" % r.exception_code
    if isinstance(r, ReadDeviceInformationResponse):
        o = " ".join("%d=%s" % (k, r.information[k].decode().replace("\0", "")) for k in sorted(r.information))
        return "level %02x more %02x next %02x: %s" % (r.conformity, r.more_follows, r.next_object_id, o)
    if isinstance(r, ReadFileRecordResponse):
        return " ".join("%d:%s" % (x.response_length, words(x.record_data)) for x in r.records)
    if isinstance(r, GetCommEventLogResponse):
        return "status %s events %d messages %d: %s" % (r.status, r.event_count, r.message_count, " ".join("%02x" % e for e in r.events))
    if isinstance(r, GetCommEventCounterResponse):
        return "status %s count %d" % (r.status, r.count)
    if isinstance(r, ReportSlaveIdResponse):
        return r.identifier.hex()
    if isinstance(r, DiagnosticStatusResponse):
        return "%d: %s" % (r.sub_function_code, " ".join(str(x) for x in r.message))
    if hasattr(r, "bits"):
        return " ".join(str(int(b)) for b in r.bits)
    if hasattr(r, "registers"):
        return " ".join(str(x) for x in r.registers)
    return "written"


def ask(what):
    return c.execute(what)


for line in sys.stdin:
    try:
        r = show(eval(line))
    except Exception as e:  # what pymodbus itself refuses to send, or cannot parse
        r = "%s: %s" % (type(e).__name__, e)
    print(r.replace("\n", " "), flush=True)
