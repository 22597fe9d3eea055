// Package route holds the routing engines of an InfiniBand subnet manager as
// pure functions: from a Subnet, which says what was discovered and which LIDs
// were given, to Tables (linear forwarding tables, service levels, warnings)
// and to multicast trees. No clock, no I/O, no map: the same Subnet gives the
// same tables, and the order in which it was built does not matter, since ties
// are broken by GUID and port number.
//
// Read before editing: IBTA Vol 1 §14.2.5 (SwitchInfo, LinearForwardingTable,
// MulticastForwardingTable), §4.1.1 (LIDs), §7.11 (LMC), §7.6 (SL and VL).
//
// The engines are those of opensm by name and by what they promise. Minhop
// balances minimal paths; updn allows no turn from down to up; ftree routes
// fat trees so that every destination has a tree of its own; dfsssp balances
// minimal paths by weight and breaks credit loops by virtual lanes. Check and
// CreditLoop verify what an engine, or anything else, made.
package route
