package gateway

import (
	"encoding/json"
	"net/http"
)

// dryRun answers with the decision, where the caller wants nothing but that: no provider is called, nothing is charged and
// nothing is logged.
func (x *exchange) dryRun() error {
	body, err := json.Marshal(map[string]any{"object": "fairlead.decision", "request_id": x.entry.ID, "decision": x.decision})
	if err != nil {
		return err
	}
	x.w.hush()
	h := x.w.w.Header()
	h.Set("Content-Type", "application/json")
	x.w.w.WriteHeader(http.StatusOK)
	_, _ = x.w.w.Write(body) // a client that left has nothing to be told
	return nil
}
