// Package orv3 is what stands on the RS-485 segments of an Open Rack v3: power
// supplies, battery and capacitor backup units, power management modules, pump
// units and valves, as register maps over a model in which energy is conserved.
//
// The maps are facts and live in registers/*.csv; what the facts leave open (the
// source of each value, units of integers, what may be written, figures of the
// model) is an assumption and lives in assume/*.csv. Code holds neither.
//
// A Plant is the electricity of one rack. It is stepped lazily on a grid of
// sim.Time when somebody reads or changes it; readings do not alter what it
// computes, so that two runs give the same registers whoever polls.
package orv3
