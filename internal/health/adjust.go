package health

import "time"

// Configure changes when circuits open and how long they wait. Circuits that are open stay as they are.
func (t *Tracker) Configure(failures int, probeAfter time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.o.Failures, t.o.ProbeAfter = failures, probeAfter
	t.o = t.o.withDefaults()
}

// ResetCredential ends the backoff of a credential, also at single targets, and clears its alert.
func (t *Tracker) ResetCredential(credentialID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.credentials, credentialID)
	for _, tg := range t.targets {
		delete(tg.backoffs, credentialID)
	}
}
