package hca

// transition is one arrow of IBTA vol. 1 figure 124 with the attributes of
// table 91: those that must be given and those that may.
type transition struct {
	ok       bool
	req, opt AttrMask
}

const initAttrs = AttrPKeyIndex | AttrPort | AttrAccessFlags

// rcTransitions are those of the reliable connection service. Every state may
// go to Reset and, but for Reset, to Err.
var rcTransitions = [Err + 1][Err + 1]transition{
	Reset: {
		Reset: {ok: true},
		Init:  {ok: true, req: initAttrs},
	},
	Init: {
		Reset: {ok: true},
		Err:   {ok: true},
		Init:  {ok: true, opt: initAttrs},
		RTR: {ok: true,
			req: AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN | AttrMaxDestRdAtomic | AttrMinRNRTimer,
			opt: AttrAltPath | AttrAccessFlags | AttrPKeyIndex},
	},
	RTR: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS: {ok: true,
			req: AttrTimeout | AttrRetryCnt | AttrRNRRetry | AttrSQPSN | AttrMaxRdAtomic,
			opt: AttrCurState | AttrAltPath | AttrAccessFlags | AttrMinRNRTimer | AttrPathMigState},
	},
	RTS: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrAccessFlags | AttrAltPath | AttrPathMigState | AttrMinRNRTimer},
		SQD:   {ok: true, opt: AttrEnSQDAsync},
	},
	SQD: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrAltPath | AttrAccessFlags | AttrMinRNRTimer | AttrPathMigState},
		SQD: {ok: true, opt: AttrPort | AttrAV | AttrTimeout | AttrRetryCnt | AttrRNRRetry | AttrMaxRdAtomic |
			AttrMaxDestRdAtomic | AttrAltPath | AttrAccessFlags | AttrPKeyIndex | AttrMinRNRTimer | AttrPathMigState},
	},
	SQE: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrAccessFlags | AttrMinRNRTimer},
	},
	Err: {
		Reset: {ok: true},
		Err:   {ok: true},
	},
}

// ucTransitions are those of the unreliable connection service.
var ucTransitions = [Err + 1][Err + 1]transition{
	Reset: {
		Reset: {ok: true},
		Init:  {ok: true, req: initAttrs},
	},
	Init: {
		Reset: {ok: true},
		Err:   {ok: true},
		Init:  {ok: true, opt: initAttrs},
		RTR: {ok: true, req: AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN,
			opt: AttrAltPath | AttrAccessFlags | AttrPKeyIndex},
	},
	RTR: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, req: AttrSQPSN, opt: ucAttrs},
	},
	RTS: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: ucAttrs},
		SQD:   {ok: true, opt: AttrEnSQDAsync},
	},
	SQD: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: ucAttrs},
		SQD:   {ok: true, opt: AttrAV | AttrAltPath | AttrAccessFlags | AttrPKeyIndex | AttrPathMigState},
	},
	SQE: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrAccessFlags},
	},
	Err: {
		Reset: {ok: true},
		Err:   {ok: true},
	},
}

const ucAttrs = AttrCurState | AttrAltPath | AttrAccessFlags | AttrPathMigState

// udTransitions are those of the unreliable datagram service.
var udTransitions = [Err + 1][Err + 1]transition{
	Reset: {
		Reset: {ok: true},
		Init:  {ok: true, req: udInitAttrs},
	},
	Init: {
		Reset: {ok: true},
		Err:   {ok: true},
		Init:  {ok: true, opt: udInitAttrs},
		RTR:   {ok: true, opt: AttrPKeyIndex | AttrQKey},
	},
	RTR: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, req: AttrSQPSN, opt: AttrCurState | AttrQKey},
	},
	RTS: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrQKey},
		SQD:   {ok: true, opt: AttrEnSQDAsync},
	},
	SQD: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrQKey},
		SQD:   {ok: true, opt: AttrPKeyIndex | AttrQKey},
	},
	SQE: {
		Reset: {ok: true},
		Err:   {ok: true},
		RTS:   {ok: true, opt: AttrCurState | AttrQKey},
	},
	Err: {
		Reset: {ok: true},
		Err:   {ok: true},
	},
}

const udInitAttrs = AttrPKeyIndex | AttrPort | AttrQKey
