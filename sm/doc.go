// Package sm is a subnet manager of InfiniBand (IBTA vol. 1 chapter 14): it
// finds what a subnet is made of, gives LIDs, programs forwarding, partitions
// and virtual lanes, brings links up and keeps them so.
//
// It sees the subnet only through management datagrams: a Port sends them, and
// Manager.Receive is given those that arrive. Time comes from a sim.Proc. What
// outlives a manager, the LID of each GUID, is data that its owner gives and
// takes back.
//
// A heavy sweep goes through phases, each of which begins when the last SMP of
// the one before was answered or given up:
//
//	discover  NodeInfo, NodeDescription, SwitchInfo, PortInfo, P_KeyTable, breadth first
//	verify    routes to what seems to be in two places
//	elect     SMInfo of other subnet managers
//	prepare   PortStateChange cleared, P_Key tables, LIDs and settings of ports
//	route     SwitchInfo, forwarding tables, SL2VL and VL arbitration, multicast
//	arm       ports to Armed
//	activate  ports to Active
//
// A light sweep reads SwitchInfo of all switches and leads to a heavy one if
// something changed. Subnet administration is package sa.
package sm
