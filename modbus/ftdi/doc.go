// Package ftdi is an FT4232H: a high-speed USB device with four serial ports,
// as rack BMCs have it for their RS-485 segments. Stock drivers (Linux's
// ftdi_sio, libftdi, D2XX) take it for the chip.
//
// The chip is a usbredir.Device on the USB side. Each port has a Wire on the
// other, its place on a segment, and is a receiver of its characters. All of it
// belongs to the engine's thread; its time is the engine's.
//
// Sources: FTDI's FT4232H data sheet (FT_000060), AN_120 (baud rates), AN232B-04
// (latency timer), and what the drivers in Linux and libftdi send.
package ftdi
