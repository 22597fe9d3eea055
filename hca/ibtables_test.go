package hca_test

import "testing"

// onlyRoCE are rows of the tables that suppose that nothing is sent before the
// test asks for it, or that are about RoCE's addresses and notifications.
var onlyRoCE = map[string]bool{
	"WRITE first, middle, last; acknowledges coalesce": true, "gap closed before the NAK has left": true,
	"duplicate READ begins in the middle": true, "more READs than agreed": true, "FetchAdd, and its duplicate": true,
	"solicited event bit and CE: completion and CNP": true,
	"to an address that is not the port's":           true, "to a group without being attached": true,
}

// TestTransportOverIB runs the tests of the transport that send between two
// devices once more, over InfiniBand.
func TestTransportOverIB(t *testing.T) {
	overIB = true
	defer func() { overIB = false }()
	for _, c := range []struct {
		name string
		f    func(*testing.T)
	}{
		{"operations", TestOperations}, {"errors", TestErrors}, {"loss", TestLoss}, {"no link", TestNoLink},
		{"loopback", TestLoopback}, {"UC loss", TestUCLoss}, {"commit order", TestCommitOrder}, {"commit by size", TestCommitBySize},
		{"scatter fails", TestScatterFails}, {"scatter fails later", TestScatterFailsLater}, {"arm", TestArm}, {"CQ overrun", TestCQOverrun},
		{"SRQ", TestSRQ}, {"hostile rings", TestHostileRings}, {"no allocations", TestZeroAllocations}, {"no allocations, unreliable", TestZeroAllocationsUnreliable}, {"same bytes", TestSameBytesAreReadOnce},
		{"overrun", TestOverrunEndsQueuePairs}, {"transitions", TestTransitions}, {"unreliable transitions", TestUnreliableTransitions},
		{"requester", TestRequesterPackets}, {"completion", TestCompletion},
		{"read responses", TestReadResponses}, {"read limit", TestReadLimit},

		{"responder", TestResponder}, {"responder after NAK", TestResponderAfterNAK}, {"RNR then receive", TestRNRThenReceive},
		{"UC requester", TestUCRequester}, {"UC responder", TestUCResponder}, {"UC local fault", TestUCLocalFault},
		{"UD requester", TestUDRequester}, {"UD responder", TestUDResponder}, {"UD bad receive", TestUDBadReceive}, {"UD memory fails", TestUDMemoryFails},
		{"UD many too long", TestUDManyTooLong}, {"last WQE", TestLastWQEIsBehindCompletions}, {"SRQ init", TestSRQInit}, {"SRQ domain", TestSRQUsesItsDomain},
		{"objects", TestObjects}, {"resize", TestResizeCQ}, {"rereg", TestRereg}, {"domains", TestDomains}, {"comm est", TestCommEst},
	} {
		t.Run(c.name, c.f)
	}
}
