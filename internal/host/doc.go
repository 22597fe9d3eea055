// Package host is where the fabric meets this machine's network: named network
// namespaces, TAP interfaces in them, the neighbour tables that give the HCA its
// destination addresses, and a journal that lets everything be removed after
// the daemon was killed at any moment.
//
// It wraps vishvananda/netns, vishvananda/netlink and songgao/water; nothing
// else in the program imports those.
package host
