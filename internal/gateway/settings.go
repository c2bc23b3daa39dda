package gateway

import (
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ingress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/realtime"
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
