package mad

import (
	"fmt"
	"strings"
)

// LinkWidth is a set of link widths, or the one that is active (IBTA vol. 1
// §14.2.5.6).
type LinkWidth uint8

// Link widths. Width2X is announced by CapMask2 bit 4.
const (
	Width1X  LinkWidth = 1
	Width4X  LinkWidth = 2
	Width8X  LinkWidth = 4
	Width12X LinkWidth = 8
	Width2X  LinkWidth = 16

	// WidthAllSupported in LinkWidthEnabled sets it to LinkWidthSupported.
	WidthAllSupported LinkWidth = 255
)

// Lanes of one width; 0 for none or a set of several.
func (w LinkWidth) Lanes() int {
	switch w {
	case Width1X:
		return 1
	case Width2X:
		return 2
	case Width4X:
		return 4
	case Width8X:
		return 8
	case Width12X:
		return 12
	}
	return 0
}

// String lists the widths.
func (w LinkWidth) String() string {
	return set(uint32(w), []string{"1X", "4X", "8X", "12X", "2X"})
}

// LinkSpeed is a set of lane speeds, or the active one, as LinkSpeedSupported,
// LinkSpeedEnabled and LinkSpeedActive have it (IBTA vol. 1 §14.2.5.6).
type LinkSpeed uint8

// Lane speeds. While an extended speed is active, LinkSpeedActive stays QDR.
const (
	SpeedSDR LinkSpeed = 1 // 2.5 Gb/s
	SpeedDDR LinkSpeed = 2 // 5
	SpeedQDR LinkSpeed = 4 // 10

	// SpeedAllSupported in LinkSpeedEnabled sets it to LinkSpeedSupported.
	SpeedAllSupported LinkSpeed = 15
)

// String lists the speeds.
func (s LinkSpeed) String() string { return set(uint32(s), []string{"SDR", "DDR", "QDR"}) }

// LinkSpeedExt is a set of extended lane speeds, or the active one, as
// LinkSpeedExtActive and its companions have it (IBTA vol. 1 §14.2.5.6).
type LinkSpeedExt uint8

// Extended lane speeds.
const (
	SpeedFDR LinkSpeedExt = 1 // 14.0625 Gb/s
	SpeedEDR LinkSpeedExt = 2 // 25.78125
	SpeedHDR LinkSpeedExt = 4 // 53.125
	SpeedNDR LinkSpeedExt = 8 // 106.25

	// SpeedExtAllSupported in LinkSpeedExtEnabled sets it to what is supported,
	// SpeedExtNone switches extended speeds off.
	SpeedExtAllSupported LinkSpeedExt = 31
	SpeedExtNone         LinkSpeedExt = 30
)

// String lists the speeds.
func (s LinkSpeedExt) String() string { return set(uint32(s), []string{"FDR", "EDR", "HDR", "NDR"}) }

func set(v uint32, names []string) string {
	var l []string
	for i, n := range names {
		if v&(1<<i) != 0 {
			l = append(l, n)
		}
	}
	if rest := v >> len(names) << len(names); rest != 0 {
		l = append(l, fmt.Sprintf("%#x", rest))
	}
	if len(l) == 0 {
		return "none"
	}
	return strings.Join(l, "|")
}

// Lane is the signalling rate of one lane in Mb/s, rounded down, and what is
// left of it for data after coding: 8b/10b up to QDR, 64b/66b for FDR and EDR,
// 256b/257b with RS-FEC from HDR on (IBTA vol. 2 chapter 5).
func Lane(s LinkSpeed, ext LinkSpeedExt) (signal, data int) {
	switch ext {
	case SpeedFDR:
		return 14062, 13636
	case SpeedEDR:
		return 25781, 25000
	case SpeedHDR:
		return 53125, 50000
	case SpeedNDR:
		return 106250, 100000
	}
	switch s {
	case SpeedSDR:
		return 2500, 2000
	case SpeedDDR:
		return 5000, 4000
	case SpeedQDR:
		return 10000, 8000
	}
	return 0, 0
}
