package route

// LinkRate is the data rate of a link in Mb/s from the active fields of
// PortInfo: LinkWidthActive (1: 1X, 2: 4X, 4: 8X, 8: 12X, 16: 2X),
// LinkSpeedActive (1: SDR, 2: DDR, 4: QDR) and LinkSpeedExtActive (1: FDR, 2:
// EDR, 4: HDR, 8: NDR), which counts if it is not 0 (IBTA Vol 1 §14.2.5.6). It
// is 0 for values that are not assigned.
func LinkRate(width, speed, ext uint8) uint32 {
	lanes := uint32(0)
	switch width {
	case 1:
		lanes = 1
	case 2:
		lanes = 4
	case 4:
		lanes = 8
	case 8:
		lanes = 12
	case 16:
		lanes = 2
	}
	switch {
	case ext == 1:
		return lanes * 150_000 / 11
	case ext == 2:
		return lanes * 25_000
	case ext == 4:
		return lanes * 50_000
	case ext == 8:
		return lanes * 100_000
	case ext != 0:
		return 0
	case speed == 1, speed == 2, speed == 4:
		return lanes * 2_000 * uint32(speed)
	}
	return 0
}
