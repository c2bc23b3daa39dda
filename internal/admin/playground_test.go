package admin

import (
	"fmt"
	"net/http"
	"testing"
)

// echo responds with the account, the workspace and the request body.
type echo struct{}

func (echo) ServeAs(w http.ResponseWriter, _ *http.Request, body []byte, accountID, workspaceID string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, "%s in %s: %s", accountID, workspaceID, body)
}

func TestPlaygroundForwardsBodyAndResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(p *Parts) { p.Playground.Playground = echo{} })
	r := s.call(http.MethodPost, "/playground/chat/completions", `{"model":"auto"}`, as("acc_developer"), header("Sec-Fetch-Site", "same-origin"))
	if want := `acc_developer in ws_home: {"model":"auto"}`; r.Body.String() != want {
		t.Errorf("body %s, want %s", r.Body, want)
	}
	if got := r.Header().Get("Content-Type"); r.Code != http.StatusAccepted || got != "text/event-stream" {
		t.Errorf("status %d, content type %q; want 202, text/event-stream", r.Code, got)
	}
}
