package topology

// Automatic GUIDs have the form of an EUI-64 of local administration (the bit
// 02 of the first byte):
//
//	02 00 0b 00 NN NN NN DD   HCA: NN number of the node from 1, DD 4 x number of its device from 0
//	                          port: that of its HCA plus the port number
//	02 00 0b 01 NN NN NN 00   switch: NN its number from 1; port 0 has the same
//	02 00 0b 02 NN NN NN 00   HCA of an imported fabric that gives no GUIDs: NN its number from 1
const (
	guidHCA      GUID = 0x02000b00 << 32
	guidSwitch   GUID = 0x02000b01 << 32
	guidImported GUID = 0x02000b02 << 32
)

func hcaGUID(node, device int) GUID { return guidHCA | GUID(node+1)<<8 | GUID(device)<<2 }

// guidOwner is who has a GUID.
type guidOwner struct {
	device string // "h1 rxe0", "s1"
	who    string // the device or its port
	port   bool
}

// guid notes whose a GUID is, and reports one that another port or device has.
// A device and one port of its own may share one, as those of mlx5 do.
func (b *builder) guid(g GUID, key string, o guidOwner) GUID {
	if b.guids == nil {
		b.guids = map[GUID]guidOwner{}
	}
	if old, dup := b.guids[g]; !dup {
		b.guids[g] = o
	} else if old.device != o.device || old.port || !o.port {
		b.r.errorf(key, "choose another, or leave guid out", "%s and %s have the same GUID %v", old.who, o.who, g)
	} else {
		b.guids[g] = o
	}
	return g
}

// switchGUID sets what a switch says of itself.
func (b *builder) switchGUID(w *buildSwitch, s *IBSwitch) {
	if f := w.file.self; f != nil {
		ports := s.NumPorts
		s.IBNode, s.EnhancedPort0 = *f, w.file.enhanced
		s.NumPorts = max(s.NumPorts, ports)
	}
	key := w.key
	switch g := w.file.guid; {
	case g.set:
		s.GUID, key = g.v, g.key
	case s.GUID == 0:
		s.GUID = guidSwitch | GUID(w.index+1)<<8
	}
	b.guid(s.GUID, key, guidOwner{device: w.name, who: w.name})
	if s.SystemGUID == 0 {
		s.SystemGUID = s.GUID
	}
}
