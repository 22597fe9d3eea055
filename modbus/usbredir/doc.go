// Package usbredir speaks the USB network redirection protocol, version 0.7,
// in the role of the usb-host: the side that has a USB device. QEMU's device
// usb-redir is the other side, the usb-guest, in whose virtual machine the
// device appears.
//
// A Device says what it is by the descriptors of USB 2.0, chapter 9, and
// answers control and bulk transfers. A Session plays one for one peer; Keep
// runs sessions one after the other for as long as the peer may come back.
//
// The protocol: github.com/SPICE/usbredir, docs/usb-redirection-protocol.md.
// All its integers are little endian.
package usbredir
