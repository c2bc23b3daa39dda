package app

import (
	"encoding/json"
	"net/http"
	"time"
)

// check is the result of one readiness check.
type check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Note string `json:"note,omitempty"` // reason for a failure or restriction, without secrets
}

func note(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}

// serveHealth reports that the process is running.
func serveHealth(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, r, http.StatusOK, map[string]any{"status": "ok"})
}

// serveReady reports whether a request would be served now. A short database outage does not fail the checks, because cached keys
// keep working.
func (a *App) serveReady(w http.ResponseWriter, r *http.Request) {
	draining, spoolErr, stale := a.gateway.Draining(), a.spool.Ready(), a.keyring.Stale()
	checks := []check{
		{Name: "accepting", OK: !draining, Note: note(draining, "shutting down")},
		{Name: "spool", OK: spoolErr == nil, Note: note(spoolErr != nil, "entries cannot be written to disk")},
		{Name: "keys", OK: stale < keysOutliveStore, Note: note(stale > 10*time.Second, "the database has been unavailable for "+stale.Round(time.Second).String())},
	}
	if a.cluster != nil { // readiness does not depend on Redis, because requests are served without it
		checks = append(checks, check{Name: "redis", OK: true, Note: note(!a.cluster.client.State().Ready, "unavailable, using per-replica limits")})
	}
	usable := len(a.gateway.Targets().Targets()) > 0
	checks = append(checks, check{Name: "providers", OK: usable, Note: note(!usable, "no provider offers a model")})
	status, word := http.StatusOK, "ready"
	for _, c := range checks {
		if !c.OK {
			status, word = http.StatusServiceUnavailable, "not ready"
		}
	}
	writeJSON(w, r, status, map[string]any{"status": word, "checks": checks})
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		data, status = []byte(`{}`), http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(data, '\n')) // the client may have disconnected
	}
}
