package health

import "time"

// Configure sets the number of failures that open a circuit and the wait before a probe. Circuits that are already open keep
// their wait.
func (t *Tracker) Configure(failures int, probeAfter time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.o.Failures, t.o.ProbeAfter = failures, probeAfter
	t.o = t.o.withDefaults()
}

// ResetCredential ends the backoff of a credential at all targets and clears its alert.
func (t *Tracker) ResetCredential(credentialID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.credentials, credentialID)
	for _, tg := range t.targets {
		delete(tg.backoffs, credentialID)
	}
}
