package gateway

import (
	"time"

	"fairlead/internal/health"
	"fairlead/internal/route"
)

// Health knows how targets and credentials fare.
type Health interface {
	// States says of each target what routing should know of it at a moment.
	States(now time.Time) func(target string) route.State
	// Admit asks whether a call to the target may be made now, which may be the last that could serve the request, and with
	// which of its provider's credentials.
	Admit(target string, credentials []string, last bool) (health.Pass, bool)
	// Closed reports whether a pass with a delay can be used after the delay.
	Closed(target string, p health.Pass) bool
	// HasOtherCredential reports whether the target may be tried at once with another credential than the one that failed.
	HasOtherCredential(target string, credentials []string, failed string) bool
	// Wait returns how long the target backs off with every one of the credentials.
	Wait(target string, credentials []string) time.Duration
	// AllowRepeat reports whether the target may be called once more for a request that failed there, and counts the repeat.
	AllowRepeat(target string) bool
	// FirstToken is how long the target's first tokens have taken of late, all but the slowest twentieth; 0 when not known.
	FirstToken(target string) time.Duration
	// Report tells how a call went.
	Report(r health.Report)
}
