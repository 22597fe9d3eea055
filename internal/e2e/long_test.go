//go:build conformance

package e2e

import "testing"

// What go test ./... has too little time for: with the short versions a million
// hostile calls and fifty kills.

func TestHostileProgramLong(t *testing.T) { abuse(t, 800000) }

func TestKill9Long(t *testing.T) { killRounds(t, 36) }
