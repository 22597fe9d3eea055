// Package conformance holds the serial segments against programs that others
// have written: mbpoll, libmodbus, pymodbus and tshark as Debian ships them, on
// the pseudo terminals of a rack that runs. It has tests only. Those that need
// these programs or real time have the build tag conformance; the rest runs in
// virtual time. docs/MODBUS.md has the table of what is checked, by whom.
package conformance
