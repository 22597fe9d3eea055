package topology

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Import of fabrics in the text that ibnetdiscover prints and ibsim reads. It
// becomes a document as a TOML file does, so that addresses, the subnet
// manager and all checks are those of other topologies. Kept are GUIDs, system
// image GUIDs, vendor and device, descriptions, numbers of ports, widths and
// speeds; not LIDs, which the subnet manager gives anew.

// IBNetExt is the extension of files that are read as ibnetdiscover text
// whatever is in them; in others it is recognised by its first line.
const IBNetExt = ".ibnet"

// maxIBNet bounds such a file in bytes: 27648 hosts have 14 MB.
const maxIBNet = 32 << 20

// maxIBNetProblems ends the search for more.
const maxIBNetProblems = 20

var ibnetStart = regexp.MustCompile(`^(?:(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=|(?:Switch|Ca|Hca|Rt|Router)\s+\d+\s+")`)

// isIBNet tells whether data is ibnetdiscover text.
func isIBNet(name string, data []byte) bool {
	if filepath.Ext(name) == IBNetExt {
		return true
	}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return ibnetStart.Match(line)
		}
	}
	return false
}

// ibnetBlock is a device with its ports.
type ibnetBlock struct {
	line     int
	kind     byte // 'S', 'H' or 'R'
	id       string
	self     IBNode
	enhanced bool
	ports    []*ibnetPort       // as listed
	at       map[int]*ibnetPort // by number
	name     string             // of the node or switch
	first    int                // number of the first port: ib0
	guids    []GUID             // of the ports of an HCA
}

// ibnetPort is a line with what a port is connected to.
type ibnetPort struct {
	line       int
	of         *ibnetBlock
	num        int
	guid       GUID // 0: not given
	peer       string
	peerNum    int
	peerGUID   GUID
	width      int // 0: not given
	speed      Speed
	other      *ibnetPort // the line of the other end
	inDocument bool
}

// ibnet reads the file; nil if it is not worth going on.
type ibnet struct {
	r      *reader
	blocks []*ibnetBlock
	byID   map[string]*ibnetBlock
}

func (r *reader) ibnet(data []byte) *document {
	if len(data) > maxIBNet {
		r.errorf("", "import a part", "the file has %d bytes, more than %d", len(data), maxIBNet)
		return nil
	}
	r.lines = lines{}
	n := &ibnet{r: r, byID: map[string]*ibnetBlock{}}
	n.scan(string(data))
	if len(n.blocks) == 0 && len(r.problems) == 0 {
		r.errorf("", `write Switch 8 "S-0000000000000001", or TOML in a file called .toml`, "the file describes no switch and no host")
	}
	if len(r.problems.Errors()) == 0 {
		n.join()
	}
	if len(r.problems.Errors()) > 0 {
		return nil
	}
	n.fillGUIDs()
	return n.document()
}

// key names a line in problems.
func (n *ibnet) key(line int) string {
	k := fmt.Sprintf("%c%d", lineKey, line)
	n.r.lines[k] = line
	return k
}

// lineKey begins a key that is not one of the file but the number of a line.
const lineKey = '@'

func (n *ibnet) errorf(line int, remedy, format string, args ...any) {
	n.r.errorf(n.key(line), remedy, format, args...)
}

// document is the file in the form of a TOML file. Switches come first and
// links in the order of their switches' ports, whatever the order of the file,
// so that what is exported and read again is the same.
func (n *ibnet) document() *document {
	d := &document{profiles: n.r.profiles(nil)}
	n.nameAll(d)
	for _, kind := range []string{"S", "HR"} {
		for _, b := range n.blocks {
			if strings.IndexByte(kind, b.kind) < 0 {
				continue
			}
			for num := 1; num <= b.self.NumPorts; num++ {
				p := b.at[num]
				if p == nil || p.inDocument {
					continue
				}
				p.inDocument, p.other.inDocument = true, true
				x, y := p, p.other
				if x.of.kind == 'S' && y.of.kind != 'S' {
					x, y = y, x
				}
				l := &fileLink{key: n.key(p.line), a: x.end(n), b: y.end(n)}
				if p.width > 0 {
					l.ib.width = attr[int64]{v: int64(p.width), set: true, key: l.key}
					l.ib.speed = attr[Speed]{v: p.speed, set: true, key: l.key}
				}
				d.links = append(d.links, l)
			}
		}
	}
	return d
}

// end is how a TOML file would write the port.
func (p *ibnetPort) end(n *ibnet) attr[string] {
	text := fmt.Sprintf("%s:%d", p.of.name, p.num)
	if p.of.kind != 'S' {
		text = fmt.Sprintf("%s:ib%d", p.of.name, p.of.first+p.num-1)
	}
	return attr[string]{v: text, set: true, key: n.key(p.line)}
}
