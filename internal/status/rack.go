package status

import "fmt"

// RackExtent says how large a rack is: "4 shelves, 24 slaves on 2 segments".
func RackExtent(shelves, slaves, segments int) string {
	s := fmt.Sprintf("%d shelves", shelves)
	if shelves == 1 {
		s = "1 shelf"
	}
	return s + ", " + count(slaves, "slave", "s") + " on " + count(segments, "segment", "s")
}
