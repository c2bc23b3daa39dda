// Package config turns file, environment and flags into one checked Config value that nobody changes afterwards.
// Only this package and cmd read the environment.
package config

import "time"

// Config is everything an operator can set. Field tags give the names used in the file; the variable of a field is
// FAIRLEAD_ and its path in upper case (FAIRLEAD_TIMEOUTS_IDLE).
type Config struct {
	Listen                string     `yaml:"listen" doc:"Address of the public listener: model API, dashboard, admin API."`
	AdminListen           string     `yaml:"admin_listen" doc:"Address of a second listener for metrics; empty for none."`
	PublicURL             string     `yaml:"public_url" doc:"Address under which clients reach the gateway, for links; guessed when empty."`
	DataDir               string     `yaml:"data_dir" doc:"Directory of the database, the spool and the master key."`
	Store                 string     `yaml:"store" doc:"sqlite, or the address of a PostgreSQL database."`
	Redis                 string     `yaml:"redis" doc:"Address of a Redis for shared limits; empty for none."`
	MasterKey             string     `yaml:"master_key" doc:"Secret that keys and credentials are protected with, 32 characters or more; made in data_dir when empty." secret:"true"`
	DefaultModel          string     `yaml:"default_model" doc:"The baseline: the model that would be used without routing."`
	Registration          string     `yaml:"registration" doc:"Who may register after the first account: loopback, invitation or open." enum:"loopback,invitation,open"`
	AllowBrowsers         bool       `yaml:"allow_browsers" doc:"Accept model API calls made by web pages."`
	AllowUnpriced         bool       `yaml:"allow_unpriced" doc:"Let callers name models whose price is unknown."`
	TLS                   TLS        `yaml:"tls"`
	Providers             []Provider `yaml:"providers"`
	Detect                bool       `yaml:"detect" doc:"Use providers whose usual environment variables are set, and model servers on loopback."`
	Simulator             string     `yaml:"simulator" doc:"auto: only when there is no other provider; on; off." enum:"auto,on,off"`
	Models                []Model    `yaml:"models" doc:"Overrides of catalog models, wherever they run."`
	Timeouts              Timeouts   `yaml:"timeouts"`
	Retries               Retries    `yaml:"retries"`
	Breaker               Breaker    `yaml:"breaker"`
	Rescue                string     `yaml:"rescue" doc:"What to do when a stream breaks after its first token: continue, or off." enum:"continue,off"`
	Limits                Limits     `yaml:"limits"`
	Log                   Log        `yaml:"log"`
	Spool                 Spool      `yaml:"spool"`
	AllowPrivateUpstreams []string   `yaml:"allow_private_upstreams" doc:"Address ranges of providers on loopback or private networks. base_url entries of this file allow their own host."`
}

// TLS lets the public listener speak https itself.
type TLS struct {
	Cert string `yaml:"cert" doc:"Path of the certificate chain in PEM form."`
	Key  string `yaml:"key" doc:"Path of the private key in PEM form."`
}

// Provider is one upstream in the file.
type Provider struct {
	Name       string            `yaml:"name" doc:"Name of the provider. A known vendor's name (openai, mistral, groq …) brings its address, models and prices."`
	Vendor     string            `yaml:"vendor" doc:"Known vendor to take address, models and quirks from, when the name is another."`
	Format     string            `yaml:"format" doc:"Wire format it speaks." enum:"chat,messages,gemini,converse"`
	BaseURL    string            `yaml:"base_url" doc:"Address up to and with /v1."`
	APIKeys    []string          `yaml:"api_keys" doc:"Credentials; ${NAME} reads the environment, file:/path a file." secret:"true"`
	Headers    map[string]string `yaml:"headers" doc:"More headers to send."`
	Catalog    *bool             `yaml:"catalog" doc:"Offer the catalog's models of this vendor; default true when models is empty, else false."`
	Models     []Model           `yaml:"models"`
	Concurrent int               `yaml:"concurrent" doc:"Most requests at a time; 0 for no cap."`
	Collects   bool              `yaml:"collects" doc:"The provider may keep or train on what it is sent."`
	Disabled   bool              `yaml:"disabled"`
}

// Model sets what is known about a model, or about a model at one provider. Prices are dollars per million tokens.
type Model struct {
	Name              string   `yaml:"name" doc:"Canonical name that callers use."`
	Upstream          string   `yaml:"upstream" doc:"Name the provider knows it by; the same when empty."`
	Kind              string   `yaml:"kind" doc:"chat or embedding." enum:"chat,embedding"`
	Aliases           []string `yaml:"aliases"`
	InputPerMtok      *float64 `yaml:"input_per_mtok"`
	OutputPerMtok     *float64 `yaml:"output_per_mtok"`
	CacheReadPerMtok  *float64 `yaml:"cache_read_per_mtok"`
	CacheWritePerMtok *float64 `yaml:"cache_write_per_mtok"`
	PerRequest        *float64 `yaml:"per_request" doc:"Dollars per request."`
	Context           int64    `yaml:"context" doc:"Window in tokens."`
	MaxOutput         int64    `yaml:"max_output"`
	Quality           *float64 `yaml:"quality" doc:"Prior chance of a good answer, 0 to 1."`
	Abilities         []string `yaml:"abilities" doc:"tools, vision, json_schema …; for a model that the catalog does not know, everything common is assumed."`
	Dimensions        int64    `yaml:"dimensions" doc:"Vector size of an embedding model."`
	Timeouts          Timeouts `yaml:"timeouts"`
}

// Timeouts bound the waiting for a provider. In a model, zero inherits.
type Timeouts struct {
	Connect             time.Duration `yaml:"connect"`
	FirstToken          time.Duration `yaml:"first_token" doc:"While another target remains; the last one has the whole deadline."`
	FirstTokenReasoning time.Duration `yaml:"first_token_reasoning" doc:"The same for reasoning models."`
	Idle                time.Duration `yaml:"idle" doc:"Longest silence within a stream."`
	Total               time.Duration `yaml:"total" doc:"Deadline over all attempts."`
}

// Retries bound how often a request is tried.
type Retries struct {
	Attempts int           `yaml:"attempts" doc:"Most attempts for one request."`
	Backoff  time.Duration `yaml:"backoff" doc:"First wait before the same target is tried again; doubled and jittered after that."`
}

// Breaker says when a failing target is left alone.
type Breaker struct {
	Failures   int           `yaml:"failures" doc:"Consecutive failures that open the circuit."`
	ProbeAfter time.Duration `yaml:"probe_after" doc:"How long an open circuit waits before one probe."`
}

// Limits bound what a client may send and how much is done at once.
type Limits struct {
	Body       Size `yaml:"body" doc:"Largest request body."`
	Buffered   Size `yaml:"buffered" doc:"Request bodies held at a time, in all."`
	Answer     Size `yaml:"answer" doc:"Largest provider answer."`
	EventLine  Size `yaml:"event_line" doc:"Longest line of an event stream."`
	Concurrent int  `yaml:"concurrent" doc:"Most model requests at a time; beyond that OVERLOADED."`
}

// Log says what is kept of requests.
type Log struct {
	Bodies         bool          `yaml:"bodies" doc:"Store request and answer text, so that requests can be reviewed."`
	BodyLimit      Size          `yaml:"body_limit" doc:"Longest text stored per request and per answer."`
	EntryRetention time.Duration `yaml:"entry_retention"`
	BodyRetention  time.Duration `yaml:"body_retention"`
}

// Spool is the local queue in front of the database.
type Spool struct {
	Limit  Size `yaml:"limit" doc:"Largest backlog; beyond it requests are refused with LEDGER_UNAVAILABLE."`
	Strict bool `yaml:"strict" doc:"Sync to disk before answering, so that a power cut loses nothing acknowledged."`
}

// Size is a number of bytes, written as 512, 64KiB, 32MiB or 1GiB.
type Size int64
