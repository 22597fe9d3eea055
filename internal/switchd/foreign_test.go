package switchd

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"
	"testing"
	"time"
)

// foreign is a neighbour written from docs/TUNNEL.md alone, with nothing of
// ours: an HCA port of somebody else.
type foreign struct {
	*testing.T
	c        *net.UDPConn
	to, from uint16
	session  uint32
	seq      uint32
	heard    uint32 // session of the switch
	next     uint32 // its next sequence number
	phys     byte
}

// crc is the CRC of VCRC, LPCRC and Check, a bit at a time.
func crc(b []byte) uint16 {
	c := uint16(0xffff)
	for _, x := range b {
		c ^= uint16(x)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xd008
			} else {
				c >>= 1
			}
		}
	}
	return ^c
}

func (f *foreign) send(typ, vl byte, payload []byte) {
	b := make([]byte, 20, 20+len(payload))
	b[0], b[1], b[2], b[3], b[4] = 'I', 'B', 1, typ, vl
	binary.BigEndian.PutUint16(b[6:], f.to)
	binary.BigEndian.PutUint16(b[8:], f.from)
	binary.BigEndian.PutUint32(b[12:], f.session)
	binary.BigEndian.PutUint32(b[16:], f.seq)
	f.seq++
	b = append(b, payload...)
	check := crc(b[:20])
	if typ == 3 {
		check = crc(b)
	}
	binary.LittleEndian.PutUint16(b[10:], check)
	if _, err := f.c.Write(b); err != nil {
		f.Fatal(err)
	}
}

func (f *foreign) state(phys byte) {
	f.phys = phys
	b := make([]byte, 20)
	b[0], b[1], b[2], b[3] = phys, 3, 7, 3 // 1X, 4X; SDR, DDR, QDR; FDR, EDR
	binary.BigEndian.PutUint32(b[4:], f.heard)
	binary.BigEndian.PutUint16(b[8:], 100)
	binary.BigEndian.PutUint64(b[12:], 0x1234)
	f.send(3, 0, b)
}

// receive waits for a datagram of a type and returns what is behind its header.
func (f *foreign) receive(typ byte) []byte {
	f.Helper()
	b := make([]byte, 5000)
	for end := time.Now().Add(5 * time.Second); ; {
		f.c.SetReadDeadline(end)
		n, err := f.c.Read(b)
		if err != nil {
			f.Fatalf("no datagram of type %d: %v", typ, err)
		}
		check := binary.LittleEndian.Uint16(b[10:])
		b[10], b[11] = 0, 0
		covered := b[:20]
		if b[3] == 3 {
			covered = b[:n]
		}
		if n < 20 || string(b[:3]) != "IB\x01" || crc(covered) != check || binary.BigEndian.Uint16(b[6:]) != f.from || binary.BigEndian.Uint16(b[8:]) != f.to {
			f.Fatalf("bad datagram %x", b[:n])
		}
		session, seq := binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[16:])
		if f.heard != 0 && (session != f.heard || seq != f.next) {
			f.Fatalf("session %#x, sequence %d, want %#x and %d", session, seq, f.heard, f.next)
		}
		f.heard, f.next = session, seq+1
		if b[3] == typ {
			return b[20:n]
		}
	}
}

// A neighbour written from the document trains with a switch, gets credits, and
// asks it for its NodeInfo by directed route.
func TestForeignNeighbour(t *testing.T) {
	at, log, end := run(t, Config{Name: "s1", GUID: 0x0002c90300a1b2c4, Ports: 3, Listen: netip.MustParseAddrPort("127.0.0.1:0")})
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := &foreign{T: t, c: c, to: 2, from: 9, session: 77, seq: 0xfffffffe}
	f.state(2) // Polling
	if s := f.receive(3); s[0] != 2 || binary.BigEndian.Uint32(s[4:]) != 77 {
		t.Fatalf("answer %x", s)
	}
	f.state(2)
	for f.receive(3)[0] != 4 { // Training
	}
	f.state(4)
	for f.receive(3)[0] != 5 { // LinkUp
	}
	f.state(5)
	flow := f.receive(2)
	if len(flow) != 6 || crc(flow[:4]) != binary.LittleEndian.Uint16(flow[4:]) || flow[0]>>4 != 1 || binary.BigEndian.Uint16(flow[2:])&0xfff != 2048 {
		t.Errorf("flow control packet %x", flow)
	}
	log.await(t, "port 2 is Init at 100Gbps", 1)

	p := make([]byte, 8+12+8+256, 8+12+8+256+6)
	copy(p, []byte{0xf0, 0x02, 0xff, 0xff, 0, byte((len(p) + 4) / 4), 0xff, 0xff}) // LRH: VL15, BTH follows, permissive LIDs
	copy(p[8:], []byte{0x64, 0, 0xff, 0xff})                                       // BTH: UD SEND Only, to QP0
	mad := p[28:]
	copy(mad, []byte{1, 0x81, 1, 1})   // directed route, Get
	mad[6], mad[7], mad[129] = 1, 1, 1 // one hop, done, out of port 1
	mad[15], mad[17] = 42, 0x11        // TID, NodeInfo
	binary.BigEndian.PutUint32(mad[32:], 0xffffffff)
	m := append([]byte(nil), p...)
	m[0] |= 0xf0 // what the ICRC takes as ones
	m[12] = 0xff
	p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(m))
	p = binary.LittleEndian.AppendUint16(p, crc(p))
	f.send(1, 15, p)
	r := f.receive(1)
	if len(r) != len(p) || crc(r[:len(r)-2]) != binary.LittleEndian.Uint16(r[len(r)-2:]) {
		t.Fatalf("answer %x", r)
	}
	if mad = r[28:]; mad[3] != 0x81 || mad[15] != 42 || mad[64+2] != 2 || mad[64+3] != 3 || binary.BigEndian.Uint64(mad[64+12:]) != 0x0002c90300a1b2c4 || mad[64+36] != 2 {
		t.Errorf("NodeInfo %x", mad[:128])
	}

	f.state(0) // goodbye
	log.await(t, "port 2 is Down", 1)
	if err := end(); err != nil {
		t.Error(err)
	}
}
