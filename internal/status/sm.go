package status

import (
	"fmt"
	"io"
)

// SM is a subnet manager that runs in a node.
type SM struct {
	Port       string `json:"port"` // "h1:ib0"
	GUID       string `json:"port_guid"`
	LID        uint16 `json:"lid"`
	State      string `json:"state"` // "NotActive", "Discovering", "Standby", "Master"
	Priority   uint8  `json:"priority"`
	MasterGUID string `json:"master_guid,omitempty"`
	MasterLID  uint16 `json:"master_lid,omitempty"`
	Phase      string `json:"phase"` // of the sweep that runs, "idle" without one

	Wanted   string `json:"engine_wanted"`
	Engine   string `json:"engine,omitempty"`   // that made the routes
	Fallback string `json:"fallback,omitempty"` // why it is another one
	Nodes    int    `json:"nodes"`
	Switches int    `json:"switches"`
	MaxLID   uint16 `json:"max_lid"`

	HeavySweeps uint64  `json:"heavy_sweeps"`
	LightSweeps uint64  `json:"light_sweeps"`
	SweepErrors int     `json:"sweep_errors"` // of the last heavy one
	LastHeavyMS float64 `json:"last_heavy_ms"`
	FirstUpMS   float64 `json:"first_up_ms"` // simulated time; 0: not yet

	SMPs       uint64            `json:"smps"` // requests, without repetitions
	Retries    uint64            `json:"smp_retries"`
	Timeouts   uint64            `json:"smp_timeouts"`
	GaveUp     uint64            `json:"smps_given_up"`
	Attributes []SMAttribute     `json:"attributes"`
	Traps      uint64            `json:"traps"`
	TrapCounts map[string]uint64 `json:"traps_by_number"`
	Takeovers  uint64            `json:"takeovers"`
	SA         map[string]uint64 `json:"subnet_administration"` // counters; only those above zero
	Notes      []string          `json:"notes"`                 // errors and what else is worth telling, the oldest first
	Lines      []string          `json:"text"`                  // all of it for a reader
}

// SMAttribute counts the SMPs of an attribute.
type SMAttribute struct {
	Name string `json:"name"`
	Get  uint64 `json:"get"`
	Set  uint64 `json:"set"`
}

// Print writes the state of the manager for a terminal.
func (s *SM) Print(w io.Writer) {
	fmt.Fprintf(w, "subnet manager at %s\n", s.Port)
	for _, l := range s.Lines {
		fmt.Fprintf(w, "  %s\n", l)
	}
}

// line is the manager in one line.
func (s *SM) line() string {
	l := fmt.Sprintf("sm: %s: %s, priority %d", s.Port, s.State, s.Priority)
	if s.Engine != "" {
		l += fmt.Sprintf(", %s, %d nodes, %d switches, LIDs to %d", s.Engine, s.Nodes, s.Switches, s.MaxLID)
	}
	return l + fmt.Sprintf(", %d sweeps, %d SMPs, %d traps", s.HeavySweeps+s.LightSweeps, s.SMPs, s.Traps)
}
