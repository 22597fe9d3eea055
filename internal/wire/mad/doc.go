// Package mad holds management datagrams (IBTA vol. 1 chapters 13 to 16, 12 and
// annex A10): views of their headers, their attributes as structs, and the
// numbers and encodings in them.
//
// A Packet is a view over the 256 bytes of a MAD; SMP, SA, RMPP, CC and Vendor
// are views over the same bytes. An attribute is a struct whose layout method is
// the one place that says where its fields are: Decode, Encode, Fields and Text
// follow it. Decode reports false for data that is too short and cannot panic;
// Encode writes all bytes of the attribute, reserved ones as 0:
//
//	var ni mad.NodeInfo
//	if !mad.Decode(&ni, smp.Data()) { ... }
//	mad.Encode(&ni, smp.Data())
//
// Nothing here has a clock: what depends on time takes it as an argument.
package mad
