package host

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// Marker tells whose a namespace is. It is the alias of the namespace's
// loopback interface, set before the namespace gets its name, and the content
// of the file under the mount. The token is random for each run of a fabric: a
// later namespace of the same name cannot be taken for ours.
type Marker struct {
	Fabric string `json:"fabric"`
	Token  string `json:"token"`
}

// NewMarker returns a marker with a fresh token.
func NewMarker(fabric string) Marker {
	var b [12]byte
	rand.Read(b[:])
	return Marker{Fabric: fabric, Token: hex.EncodeToString(b[:])}
}

const markWord = "cnuas"

// String is the form in which the marker is stored, at most 100 bytes (an
// interface alias has room for 255).
func (m Marker) String() string { return fmt.Sprintf("%s %s %s", markWord, m.Fabric, m.Token) }

// ParseMarker reads a stored marker; false if s is none.
func ParseMarker(s string) (Marker, bool) {
	f := strings.Fields(s)
	if len(f) != 3 || f[0] != markWord || ValidName(f[1]) != nil || f[2] == "" {
		return Marker{}, false
	}
	return Marker{Fabric: f[1], Token: f[2]}, true
}
