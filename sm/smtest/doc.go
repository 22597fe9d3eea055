// Package smtest is a small InfiniBand fabric for tests of subnet managers: a
// subnet management agent at every node, directed and LID-routed forwarding of
// management datagrams, link states, traps, cables that can be pulled, and
// datagrams that get lost. It moves nothing but management datagrams.
//
// A datagram goes through the fabric in one event: what forwards it is looked
// up when it is sent, and it arrives after the delay of its hops.
package smtest
