// Package modelapi defines the types that the operations of the model API share: the incoming request and its caller, the settings, and
// the running requests.
package modelapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ingress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire"
)

// Prefix is the path of the model API.
const Prefix = "/proxy/v1"

// Route is a model API path with its operation and format.
type Route struct {
	Path   string // path relative to Prefix, such as /chat/completions
	Op     llm.Op
	Format wire.Format
}

// Settings holds the settings that can change while the gateway runs.
type Settings struct {
	DefaultModel  string        // baseline model for requests that name none
	Routes        []route.Route // routes of the configuration file
	AllowBrowsers bool
	AllowUnpriced bool
	LogBodies     bool
	BodyLimit     int64 // maximum stored bytes per request and per response
	MaxConcurrent int
	Upload        upload.Limits
	Attempts      upstream.Settings
	Rescue        bool            // whether to continue interrupted streams on another target
	Hold          time.Duration   // maximum wait for the first token before headers are sent
	Ping          time.Duration   // time without output to the client after which a ping is sent
	ReadPause     time.Duration   // maximum time that a client may pause while reading a response
	Realtime      realtime.Limits // limits for realtime sessions; the gateway sets Ping and Write to the values of Ping and ReadPause above
	PublicURL     ingress.PublicURL
}

// AllowsUnpriced reports whether requests of the key may name models without a price. A budget that can reject requests excludes such
// models: their cost cannot be reserved.
func (s *Settings) AllowsUnpriced(grant *account.Grant) bool {
	return (s.AllowUnpriced || grant.Key.AllowUnpriced) && !budget.CanReject(grant)
}

// ErrorClient describes the client that gets an error. The grant is nil before authentication.
func ErrorClient(r *http.Request, grant *account.Grant) wire.ErrorClient {
	c := wire.ErrorClient{Requested: r.Header.Get("X-Fairlead-Error-Format"), UserAgent: r.UserAgent()}
	if grant != nil {
		c.KeyFormat = grant.Key.ErrorFormat
	}
	return c
}

// WriteJSON responds with v as JSON.
func WriteJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		response.WriteError(w, llm.AsError(err), llm.AsError(err).Body(w.Header().Get("X-Request-Id")))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only when the client has disconnected
	}
}
