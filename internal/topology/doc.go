// Package topology reads a fabric's description (TOML) and turns it into a
// Spec: pure data in which every default is filled in, every address given and
// every number in its base unit, so that package fabric only has to build.
//
// The steps are: parse (keys with their lines, or ibnetdiscover's text),
// generate (leaf-spine, star, fat-tree, ib-fat-tree), check (all problems at
// once, each with its line and a remedy), resolve (QoS numbers, subnets,
// addresses, GUIDs). Docs: docs/TOPOLOGY.md.
package topology
