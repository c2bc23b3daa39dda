package app

import (
	"encoding/json"
	"net/http"
	"time"
)

// check is a readiness check.
type check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Note string `json:"note,omitempty"` // reason for a failure or restriction, without secrets
}

// checks runs the readiness checks. A short database outage does not fail them, because cached keys keep working.
func (a *App) checks() []check {
	list := []check{
		{Name: "accepting", OK: !a.gateway.Draining(), Note: note(a.gateway.Draining(), "shutting down")},
	}
	spoolErr := a.spool.Ready()
	list = append(list, check{Name: "spool", OK: spoolErr == nil, Note: note(spoolErr != nil, "entries cannot be written to disk")})
	stale := a.keyring.Stale()
	known := stale < keysOutliveStore
	list = append(list, check{Name: "keys", OK: known, Note: note(stale > 10*time.Second, "the database has been unavailable for "+stale.Round(time.Second).String())})
	if redis, ok := a.redisCheck(); ok {
		list = append(list, redis)
	}
	usable := len(a.gateway.Targets().Targets()) > 0
	return append(list, check{Name: "providers", OK: usable, Note: note(!usable, "no provider offers a model")})
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

// serveReady reports whether a request would be served now.
func (a *App) serveReady(w http.ResponseWriter, r *http.Request) {
	checks := a.checks()
	status, word := http.StatusOK, "ready"
	for _, c := range checks {
		if !c.OK {
			status, word = http.StatusServiceUnavailable, "not ready"
		}
	}
	writeJSON(w, r, status, map[string]any{"status": word, "checks": checks})
}

// serveStarting reports that the store is not open yet.
func serveStarting(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	writeJSON(w, r, http.StatusServiceUnavailable, map[string]any{
		"status": "not ready",
		"checks": []check{{Name: "store", Note: "the database is not available yet"}},
	})
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
