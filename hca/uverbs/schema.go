package uverbs

// Read include/uapi/rdma/ib_user_ioctl_cmds.h and, for sizes and what is
// mandatory, drivers/infiniband/core/uverbs_std_types*.c of Linux before
// editing.

// attrKind is what an attribute carries.
type attrKind uint8

const (
	attrIn     attrKind = iota // bytes; up to 8 lie in the attribute itself
	attrOut                    // a place for bytes
	attrConst                  // a number of 4 or 8 bytes
	attrObject                 // handle of an object
	attrNew                    // handle of an object to be made
	attrFD                     // descriptor of an event channel
	attrNewFD                  // descriptor to be made
)

// attrSpec describes one attribute of a method.
type attrSpec struct {
	id       uint16
	kind     attrKind
	min, max uint16 // bytes of attrIn and attrOut; longer is accepted if the rest is zero (in) or left alone (out)
	optional bool
	object   kind
}

// Namespace of driver data, UVERBS_ATTR_UHW_IN and _OUT.
const (
	uhwIn  = 0x1000
	uhwOut = 0x1001
)

// method is one (object, method) of the ioctl interface.
type method struct {
	object kind
	id     uint16
	name   string
	attrs  []attrSpec

	// slow tells that the call may wait for the network and must not hold up
	// other programs; prepare is then where it waits.
	slow    func(*call) bool
	prepare func(*call) error
	run     func(*call) error
}

func in(id, size uint16) attrSpec       { return attrSpec{id: id, kind: attrIn, min: size, max: size} }
func out(id, min, max uint16) attrSpec  { return attrSpec{id: id, kind: attrOut, min: min, max: max} }
func constant(id uint16) attrSpec       { return attrSpec{id: id, kind: attrConst, min: 4, max: 8} }
func use(id uint16, k kind) attrSpec    { return attrSpec{id: id, kind: attrObject, object: k} }
func create(id uint16, k kind) attrSpec { return attrSpec{id: id, kind: attrNew, object: k} }
func fd(id uint16) attrSpec             { return attrSpec{id: id, kind: attrFD} }
func createFD(id uint16) attrSpec       { return attrSpec{id: id, kind: attrNewFD} }
func optional(a attrSpec) attrSpec      { a.optional = true; return a }
func uhw(inMax, outMax uint16) []attrSpec {
	return []attrSpec{{id: uhwIn, kind: attrIn, max: inMax, optional: true}, {id: uhwOut, kind: attrOut, max: outMax, optional: true}}
}

// methods is the interface. What is not in it gives EPROTONOSUPPORT, which
// makes the library try an older command or do without.
var methods = []method{
	{object: kindDevice, id: 0, name: "INVOKE_WRITE", slow: writeSlow, prepare: writePrepare, run: invokeWrite, attrs: append([]attrSpec{
		{id: 0, kind: attrIn, min: 4, max: maxWriteIn, optional: true},
		{id: 1, kind: attrOut, max: maxWriteOut, optional: true},
		constant(2),
	}, uhw(64, 64)...)},
	{object: kindDevice, id: 2, name: "QUERY_PORT", run: queryPort, attrs: []attrSpec{in(0, 1), out(1, 40, 48)}},
	{object: kindDevice, id: 3, name: "GET_CONTEXT", run: getContext, attrs: append([]attrSpec{
		optional(out(0, 4, 4)), optional(out(1, 8, 8)),
	}, uhw(64, 64)...)},
	{object: kindDevice, id: 5, name: "QUERY_GID_TABLE", run: queryGIDTable, attrs: []attrSpec{
		constant(0), optional(constant(1)), out(2, 0, 0xffff), out(3, 8, 8),
	}},
	{object: kindDevice, id: 6, name: "QUERY_GID_ENTRY", run: queryGIDEntry, attrs: []attrSpec{
		in(0, 4), in(1, 4), optional(constant(2)), out(3, 32, 32),
	}},
	{object: kindPD, id: 0, name: "PD_DESTROY", run: destroyPlain, attrs: []attrSpec{use(0, kindPD)}},
	{object: kindCQ, id: 0, name: "CQ_CREATE", run: createCQ, attrs: append([]attrSpec{
		create(0, kindCQ), in(1, 4), in(2, 8), optional(fd(3)), in(4, 4), optional(constant(5)), out(6, 4, 4), optional(fd(7)),
	}, uhw(64, 16)...)},
	{object: kindCQ, id: 1, name: "CQ_DESTROY", run: destroyCQ, attrs: []attrSpec{use(0, kindCQ), out(1, 8, 8)}},
	{object: kindQP, id: 0, name: "QP_CREATE", run: createQP, attrs: append([]attrSpec{
		create(0, kindQP), optional(use(2, kindPD)), optional(use(3, kindSRQ)),
		optional(use(4, kindCQ)), optional(use(5, kindCQ)), in(7, 8), in(8, 20), constant(9),
		optional(constant(10)), optional(in(11, 4)), optional(fd(12)), out(13, 20, 20), out(14, 4, 4),
	}, uhw(64, 32)...)},
	{object: kindQP, id: 1, name: "QP_DESTROY", run: destroyQP, attrs: []attrSpec{use(0, kindQP), out(1, 4, 4)}},
	{object: kindSRQ, id: 0, name: "SRQ_CREATE", run: createSRQ, attrs: append([]attrSpec{
		create(0, kindSRQ), use(1, kindPD), optional(use(3, kindCQ)), in(4, 8), in(5, 4), in(6, 4), in(7, 4),
		optional(in(8, 4)), constant(9), optional(fd(10)), out(11, 4, 4), out(12, 4, 4), optional(out(13, 4, 4)),
	}, uhw(64, 24)...)},
	{object: kindSRQ, id: 1, name: "SRQ_DESTROY", run: destroyQP, attrs: []attrSpec{use(0, kindSRQ), out(1, 4, 4)}},
	{object: kindAH, id: 0, name: "AH_DESTROY", run: destroyPlain, attrs: []attrSpec{use(0, kindAH)}},
	{object: kindMR, id: 1, name: "MR_DESTROY", run: destroyPlain, attrs: []attrSpec{use(0, kindMR)}},
	{object: kindAsync, id: 0, name: "ASYNC_EVENT_ALLOC", run: allocAsync, attrs: []attrSpec{createFD(0)}},
}

// methodOf finds a method, or nil.
func methodOf(object kind, id uint16) *method {
	for i := range methods {
		if m := &methods[i]; m.object == object && m.id == id {
			return m
		}
	}
	return nil
}

func (m *method) spec(id uint16) *attrSpec {
	for i := range m.attrs {
		if m.attrs[i].id == id {
			return &m.attrs[i]
		}
	}
	return nil
}
