package mad

import "fmt"

// Rate is a static rate as PathRecord and MCMemberRecord have it (IBTA vol. 1
// §15.2.5.16). Its codes are not in the order of the rates: use Compare.
type Rate uint8

// Rates.
const (
	Rate2_5G  Rate = 2
	Rate10G   Rate = 3
	Rate30G   Rate = 4
	Rate5G    Rate = 5
	Rate20G   Rate = 6
	Rate40G   Rate = 7
	Rate60G   Rate = 8
	Rate80G   Rate = 9
	Rate120G  Rate = 10
	Rate14G   Rate = 11
	Rate56G   Rate = 12
	Rate112G  Rate = 13
	Rate168G  Rate = 14
	Rate25G   Rate = 15
	Rate100G  Rate = 16
	Rate200G  Rate = 17
	Rate300G  Rate = 18
	Rate28G   Rate = 19
	Rate50G   Rate = 20
	Rate400G  Rate = 21
	Rate600G  Rate = 22
	Rate800G  Rate = 23
	Rate1200G Rate = 24
)

// rateMbps is the nominal rate by code, in Mb/s.
var rateMbps = [...]int{0, 0, 2500, 10000, 30000, 5000, 20000, 40000, 60000, 80000, 120000, 14000, 56000, 112000, 168000,
	25000, 100000, 200000, 300000, 28000, 50000, 400000, 600000, 800000, 1200000}

// Mbps is the nominal rate in Mb/s, 0 for a code that is not defined.
func (r Rate) Mbps() int {
	if int(r) < len(rateMbps) {
		return rateMbps[r]
	}
	return 0
}

// Compare orders rates by what they are: negative if r is the slower.
func (r Rate) Compare(o Rate) int { return r.Mbps() - o.Mbps() }

// String prints the rate.
func (r Rate) String() string {
	if n := r.Mbps(); n == 2500 {
		return "2.5 Gb/s"
	} else if n != 0 {
		return fmt.Sprintf("%d Gb/s", n/1000)
	}
	return fmt.Sprintf("rate %d", uint8(r))
}

// RateOf is the rate of a link of one width and speed, 0 if it has none.
func RateOf(w LinkWidth, s LinkSpeed, ext LinkSpeedExt) Rate {
	lane := 0 // nominal Mb/s of one lane
	switch ext {
	case SpeedFDR:
		lane = 14000
	case SpeedEDR:
		lane = 25000
	case SpeedHDR:
		lane = 50000
	case SpeedNDR:
		lane = 100000
	default:
		lane, _ = Lane(s, 0)
	}
	for i, n := range rateMbps {
		if n != 0 && n == lane*w.Lanes() {
			return Rate(i)
		}
	}
	return 0
}
