package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cnuas/internal/sim"
)

// GUID is an EUI-64 that names an InfiniBand node or port (IBTA Vol 1 §4.1).
type GUID uint64

// String prints 0x and 16 digits.
func (g GUID) String() string { return fmt.Sprintf("0x%016x", uint64(g)) }

// ParseGUID reads a GUID as "0x0002c90300a1b2c4" or "0002:c903:00a1:b2c4". Zero
// and all ones are not GUIDs of anything.
func ParseGUID(s string) (GUID, error) {
	digits, hex := strings.CutPrefix(s, "0x")
	if !hex {
		f := strings.Split(s, ":")
		if len(f) != 4 || slices.ContainsFunc(f, func(x string) bool { return len(x) != 4 }) {
			return 0, fmt.Errorf("%q is not a GUID of the form 0x0002c90300a1b2c4", s)
		}
		digits = strings.Join(f, "")
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a GUID of the form 0x0002c90300a1b2c4", s)
	case v == 0 || v == 1<<64-1:
		return 0, fmt.Errorf("%q is no device's GUID", s)
	}
	return GUID(v), nil
}

// MarshalText implements encoding.TextMarshaler.
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *GUID) UnmarshalText(b []byte) (err error) {
	*g, err = ParseGUID(string(b))
	return err
}

// Speed is the speed of one lane of an InfiniBand link.
type Speed string

// Speeds.
const (
	SDR   Speed = "SDR"
	DDR   Speed = "DDR"
	QDR   Speed = "QDR"
	FDR10 Speed = "FDR10"
	FDR   Speed = "FDR"
	EDR   Speed = "EDR"
	HDR   Speed = "HDR"
	NDR   Speed = "NDR"
)

// speeds in ascending order, per lane: signalling rate, and data rate as the
// fraction data/div in bits per second. Coding is 8b/10b to QDR, 64b/66b to
// EDR, then 256b/257b with RS(544,514) (IBTA Vol 2 §5, Vol 1 §14.2.5.6).
var speeds = []struct {
	name              Speed
	signal, data, div int64
}{
	{SDR, 2_500_000_000, 2_000_000_000, 1},
	{DDR, 5_000_000_000, 4_000_000_000, 1},
	{QDR, 10_000_000_000, 8_000_000_000, 1},
	{FDR10, 10_312_500_000, 10_000_000_000, 1},
	{FDR, 14_062_500_000, 150_000_000_000, 11},
	{EDR, 25_781_250_000, 25_000_000_000, 1},
	{HDR, 53_125_000_000, 50_000_000_000, 1},
	{NDR, 106_250_000_000, 100_000_000_000, 1},
}

// SignalRate is the signalling rate of a lane in bits per second; 0 for a speed
// that does not exist.
func (s Speed) SignalRate() int64 {
	for _, x := range speeds {
		if x.name == s {
			return x.signal
		}
	}
	return 0
}

func (s Speed) dataRate(lanes int) int64 {
	for _, x := range speeds {
		if x.name == s {
			return x.data * int64(lanes) / x.div
		}
	}
	return 0
}

const speedNames = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR"

func parseSpeed(s string) (Speed, error) {
	if v := Speed(strings.ToUpper(s)); v.SignalRate() > 0 {
		return v, nil
	}
	return "", fmt.Errorf("unknown speed %q", s)
}

// What the links and subnet managers of InfiniBand can have.
var (
	ibWidths  = []int64{1, 2, 4, 8, 12}
	ibMTUs    = []int64{256, 512, 1024, 2048, 4096}
	ibVLs     = []int64{1, 2, 4, 8, 15}
	ibEngines = []Engine{MinHop, UpDown, FatTree, DFSSSP}
)

// Defaults and limits of InfiniBand.
const (
	DefaultIBWidth   = 4
	DefaultIBSpeed   = EDR
	DefaultIBMTU     = 4096
	DefaultIBVLs     = 4                    // VL0-3, what HCAs of the ConnectX line offer
	DefaultIBLatency = 100 * sim.Nanosecond // of a switch, cut-through
	DefaultLFTCap    = 49152                // all unicast LIDs, 0x0001-0xBFFF
	DefaultMCastCap  = 4096
	DefaultSweep     = 10 // seconds, as opensm has it
	DefaultPriority  = 8  // in the middle: opensm in a node goes below (its default is 0) or above

	MaxIBPorts     = 254    // of a switch: port 0 is its own, 255 means all
	MaxUnicastLIDs = 0xBFFF // IBTA Vol 1 §4.1.1
	minLFTCap      = 64     // one block of the table
	maxMCastCap    = 0x3FFF // multicast LIDs 0xC000-0xFFFE
)
