//go:build conformance

package conformance

import (
	"os/exec"
	"testing"

	"cnuas/internal/simtest"
)

const (
	ex1 = "exception 1"
	ex2 = "exception 2"
	ex3 = "exception 3"
)

var pymodbusCases = []kase{
	{"serve", "c.read_coils(0, 8, slave=30)", each("0", 8)},
	{"serve", "c.write_coil(3, True, slave=30)", "written"},
	{"serve", "c.read_coils(0, 8, slave=30)", "0 0 0 1 0 0 0 0"},
	{"serve", "c.read_discrete_inputs(0, 8, slave=30)", "1 0 0 1 0 0 1 0"},
	{"serve", "c.read_holding_registers(80, 4, slave=30)", count(0x1050, 4)},
	{"serve", "c.read_holding_registers(0, 125, slave=30)", count(0x1000, 125)},
	{"serve", "c.read_input_registers(0, 10, slave=30)", count(0x2000, 10)},
	{"serve", "c.write_register(17, 4711, slave=30)", "written"},
	{"serve", "c.read_holding_registers(16, 3, slave=30)", "4112 4711 4114"},
	{"serve", "c.write_coils(8, [True, False, True, True, False, False, True, True], slave=30)", "written"},
	{"serve", "c.read_coils(8, 8, slave=30)", "1 0 1 1 0 0 1 1"},
	{"serve", "c.write_registers(100, list(range(7000, 7123)), slave=30)", "written"},
	{"serve", "c.read_holding_registers(100, 123, slave=30)", count(7000, 123)},
	{"broadcast", "c.write_register(5, 4711, slave=0)", "Broadcast write sent - no response expected"},
	{"broadcast", "c.read_holding_registers(5, 1, slave=30)", "4711"},
	{"broadcast", "c.write_registers(5, [1, 2], slave=0)", "Broadcast write sent - no response expected"},
	{"broadcast", "c.read_holding_registers(5, 2, slave=30)", "1 2"},
	{"broadcast", "c.write_coil(40, True, slave=0)", "Broadcast write sent - no response expected"},
	{"broadcast", "c.write_coils(41, [True, True], slave=0)", "Broadcast write sent - no response expected"},
	{"broadcast", "c.read_coils(40, 8, slave=30)", "1 1 1 0 0 0 0 0"},
	{"function", "c.read_exception_status(slave=30)", ex1},
	{"function", "ask(ReadFifoQueueRequest(0, unit=30))", ex1},
	{"function", "ask(WriteFileRecordRequest([FileRecord(file_number=4, record_number=7, record_data=b'\\x06\\xaf')], unit=30))", ex1},
	{"function", "ask(ReturnIopOverrunCountRequest(unit=30))", ex1},
	{"function", "ask(GetClearModbusPlusRequest(unit=30))", ex1},
	{"address", "c.read_holding_registers(299, 2, slave=30)", ex2},
	{"address", "c.read_coils(2500, 1, slave=30)", ex2},
	{"address", "c.write_register(300, 1, slave=30)", ex2},
	{"exceptions", "c.read_holding_registers(1001, 1, slave=30)", ex1},
	{"exceptions", "c.read_holding_registers(1004, 1, slave=30)", "exception 4"},
	{"exceptions", "c.read_holding_registers(1005, 1, slave=30)", "exception 5"},
	{"exceptions", "c.read_holding_registers(1006, 1, slave=30)", "exception 6"},
	{"exceptions", "c.read_holding_registers(1007, 1, slave=30)", "exception 7"},
	{"exceptions", "c.read_holding_registers(1008, 1, slave=30)", "exception 8"},
	{"exceptions", "c.read_holding_registers(1011, 1, slave=30)", "exception 11"},
	{"16", "c.write_register(4, 0x12, slave=30)", "written"},
	{"16", "c.mask_write_register(4, 0xf2, 0x25, unit=30)", "written"},
	{"16", "c.read_holding_registers(4, 1, slave=30)", "23"},
	{"17", "c.readwrite_registers(read_address=3, read_count=3, write_address=4, write_registers=[7, 8], unit=30)", "4099 7 8"},
	{"14", "ask(ReadFileRecordRequest([FileRecord(file_number=4, record_number=1, record_length=2), FileRecord(file_number=3, record_number=9, record_length=2)], unit=30))", "5:4001 4002 5:3009 300a"},
	{"14", "ask(ReadFileRecordRequest([FileRecord(file_number=4, record_number=0x270f, record_length=1)], unit=30))", "3:670f"},
	{"14", "ask(ReadFileRecordRequest([FileRecord(file_number=4, record_number=0x270f, record_length=2)], unit=30))", ex2},
	{"14", "ask(ReadFileRecordRequest([FileRecord(file_number=4, record_number=0x2710, record_length=1)], unit=30))", ex2},
	{"14", "ask(ReadFileRecordRequest([FileRecord(file_number=5, record_number=1, record_length=1)], unit=30))", ex2},
	{"14", "ask(ReadFileRecordRequest([FileRecord(file_number=4, record_number=0, record_length=122)], unit=30))", ex3},
	{"2B", "ask(ReadDeviceInformationRequest(1, 0, unit=30))", "level 83 more 00 next 00: 0=Maker 1=PSU-3 2=V1.2"},
	{"2B", "ask(ReadDeviceInformationRequest(2, 0, unit=30))", "level 83 more 00 next 00: 0=Maker 1=PSU-3 2=V1.2 3=http://maker 4=Shelf"},
	{"2B", "ask(ReadDeviceInformationRequest(3, 0, unit=30))", "level 83 more ff next 82: 0=Maker 1=PSU-3 2=V1.2 3=http://maker 4=Shelf 128=a 129=b"},
	{"2B", "ask(ReadDeviceInformationRequest(3, 0x82, unit=30))", "level 83 more 00 next 00: 130=c 131=d"},
	{"2B", "ask(ReadDeviceInformationRequest(3, 0x77, unit=30))", "level 83 more ff next 82: 0=Maker 1=PSU-3 2=V1.2 3=http://maker 4=Shelf 128=a 129=b"},
	{"2B", "ask(ReadDeviceInformationRequest(4, 3, unit=30))", "level 83 more 00 next 00: 3=http://maker"},
	{"2B", "ask(ReadDeviceInformationRequest(4, 0x77, unit=30))", ex2},
	{"2B", "ask(ReadDeviceInformationRequest(5, 0, unit=30))", ex3},
	{"0B 0C 11", "ask(ReportSlaveIdRequest(unit=30))", "42ff505355"},
	{"08", "c.diag_query_data([0xa5b6], slave=30)", "0: 42422"},
	{"08", "ask(RestartCommunicationsOptionRequest(True, unit=30))", "1: 65280"},
	{"0B 0C 11", "ask(GetCommEventLogRequest(unit=30))", "status True events 0 messages 1: 80 00"},
	{"08", "ask(ReturnDiagnosticRegisterRequest(unit=30))", "2: 0"},
	{"08", "ask(ChangeAsciiInputDelimiterRequest(0x0a00, unit=30))", "3: 2560"},
	{"08", "ask(ClearCountersRequest(unit=30))", "10: 0"},
	{"0B 0C 11", "c.write_register(17, 1, slave=30)", "written"},
	{"0B 0C 11", "ask(GetCommEventCounterRequest(unit=30))", "status True count 1"},
	{"0B 0C 11", "ask(GetCommEventCounterRequest(unit=30))", "status True count 1"},
	{"08", "ask(ReturnBusMessageCountRequest(unit=30))", "11: 4"},
	{"08", "ask(ReturnBusCommunicationErrorCountRequest(unit=30))", "12: 0"},
	{"08", "c.read_holding_registers(999, 1, slave=30)", ex2},
	{"08", "c.read_holding_registers(1006, 1, slave=30)", "exception 6"},
	{"08", "c.read_holding_registers(1007, 1, slave=30)", "exception 7"},
	{"08", "ask(ReturnBusExceptionErrorCountRequest(unit=30))", "13: 3"},
	{"08", "ask(ReturnSlaveMessageCountRequest(unit=30))", "14: 10"},
	{"08", "c.write_register(5, 4711, slave=0)", "Broadcast write sent - no response expected"},
	{"08", "ask(ReturnSlaveNoResponseCountRequest(unit=30))", "15: 1"},
	{"08", "ask(ReturnSlaveNAKCountRequest(unit=30))", "16: 1"},
	{"08", "ask(ReturnSlaveBusyCountRequest(unit=30))", "17: 1"},
	{"08", "ask(ReturnSlaveBusCharacterOverrunCountRequest(unit=30))", "18: 0"},
	{"08", "ask(ClearOverrunCountRequest(unit=30))", "20: 0"},
	{"listen only", "ask(ForceListenOnlyModeRequest(unit=30))", "silence"},
	{"listen only", "c.read_holding_registers(0, 1, slave=30)", "silence"},
	{"listen only", "c.write_register(0, 5, slave=0)", "Broadcast write sent - no response expected"},
	{"listen only", "ask(RestartCommunicationsOptionRequest(False, unit=30))", "silence"},
	{"listen only", "c.read_holding_registers(0, 1, slave=30)", "4096"},
	{"silence", "c.read_holding_registers(0, 1, slave=31)", "silence"},
}

// python is Debian's, which has the package.
const python = "/usr/bin/python3"

func needPymodbus(t testing.TB) {
	t.Helper()
	simtest.Need(t, python)
	if out, err := exec.Command(python, "-c", "import pymodbus.client, serial").CombinedOutput(); err != nil {
		simtest.Missing(t, "pymodbus does not load: "+string(out), "apt-get install python3-pymodbus python3-serial python3-serial-asyncio")
	}
}

func TestPymodbus(t *testing.T) {
	t.Parallel()
	needPymodbus(t)
	g := newRig(t)
	a := startAsker(t, exec.Command(python, "testdata/client.py", g.TTY("bus0"), "115200", "N", "1"))
	play(t, "pymodbus", pymodbusCases, a.ask)
}

// TestPymodbusParity: what docs/MODBUS.md tells users of pyserial to do where
// devices have parity.
func TestPymodbusParity(t *testing.T) {
	t.Parallel()
	needPymodbus(t)
	g := newRig(t)
	a := startAsker(t, exec.Command(python, "testdata/client.py", g.TTY("bus0"), "115200", "E", "1", "inpck"))
	for range 2 {
		if got := a.ask("c.read_holding_registers(80, 2, slave=20)"); got != "4176 4177" {
			t.Error(got)
		}
	}
}
