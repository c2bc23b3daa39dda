// Package config turns file, environment and flags into one checked Config value that nobody changes afterwards.
// Only this package and cmd read the environment.
package config

import "time"

// Config is everything an operator can set. Field tags give the names used in the file; the variable of a field is
// FAIRLEAD_ and its path in upper case (FAIRLEAD_TIMEOUTS_IDLE).
//
// The tags are the single source of the loader, the checks, the JSON Schema and the printed form: doc says what the
// field does, enum, min, max and check say what it may hold, secret:"true" that its value is never shown, secret:"url"
// that the password inside it is not, and reload:"true" that a change takes effect without a restart, but for what says
// reload:"false" inside.
type Config struct {
	Listen                string     `yaml:"listen" check:"listen" doc:"Address of the public listener: model API, dashboard, admin API."`
	AdminListen           string     `yaml:"admin_listen" check:"listen" doc:"Address of a second listener for metrics; empty for none."`
	PublicURL             string     `yaml:"public_url" check:"url" doc:"Address under which clients reach the gateway, for links; guessed when empty."`
	TrustProxy            bool       `yaml:"trust_proxy" doc:"Believe X-Forwarded-Proto and the last X-Forwarded-For. Only behind a balancer that sets both itself and that nobody can go around."`
	DataDir               string     `yaml:"data_dir" doc:"Directory of the database, the spool and the master key. When empty: $STATE_DIRECTORY, $XDG_DATA_HOME/fairlead, ~/.local/share/fairlead or /var/lib/fairlead, the first that the environment allows."`
	Store                 string     `yaml:"store" check:"store" secret:"url" doc:"sqlite, or the address of a PostgreSQL database."`
	Redis                 string     `yaml:"redis" check:"redis" secret:"url" doc:"Address of a Redis for shared limits; empty for none."`
	MasterKey             string     `yaml:"master_key" doc:"Secret that keys and credentials are protected with, 32 characters or more; made in data_dir when left out." secret:"true"`
	DefaultModel          string     `yaml:"default_model" check:"model" reload:"true" doc:"The baseline: the model that would be used without routing."`
	Registration          string     `yaml:"registration" doc:"Who may register after the first account: invitation (only with an invitation link) or open." enum:"invitation,open"`
	Accounts              Accounts   `yaml:"accounts" doc:"Bounds on what one account may create."`
	AllowBrowsers         bool       `yaml:"allow_browsers" reload:"true" doc:"Accept model API calls made by web pages."`
	AllowUnpriced         bool       `yaml:"allow_unpriced" reload:"true" doc:"Let callers name models whose price is unknown."`
	TLS                   TLS        `yaml:"tls" doc:"Certificate of the public listener; without one it speaks plain http."`
	Providers             []Provider `yaml:"providers" reload:"true" doc:"The upstreams that requests may be sent to, besides those found in the environment."`
	Detect                bool       `yaml:"detect" doc:"Use providers whose usual environment variables are set, and model servers on loopback."`
	Simulator             string     `yaml:"simulator" doc:"auto: only when there is no other provider; on; off." enum:"auto,on,off"`
	Models                []Model    `yaml:"models" reload:"true" doc:"Overrides of catalog models, wherever they run."`
	Catalog               Catalog    `yaml:"catalog" reload:"true" doc:"Keeping prices current from a list that others publish."`
	Routing               Routing    `yaml:"routing" reload:"true" doc:"What auto learns from ratings."`
	Policies              Policies   `yaml:"policies" reload:"true" doc:"Rules that hold for every workspace, in order, before its own: what to refuse, pin, allow, exclude or prefer, and when. Taken as they are written: ${NAME} is not replaced in them."`
	Timeouts              Timeouts   `yaml:"timeouts" reload:"true" doc:"How long to wait for a provider."`
	Hedging               Hedging    `yaml:"hedging" reload:"true" doc:"Asking a second target when the first keeps silent."`
	Retries               Retries    `yaml:"retries" reload:"true" doc:"How often a request is tried."`
	Breaker               Breaker    `yaml:"breaker" reload:"true" doc:"When a failing target is left alone."`
	Rescue                string     `yaml:"rescue" reload:"true" doc:"What to do when a stream breaks after its first token: continue, or off." enum:"continue,off"`
	Headers               Headers    `yaml:"headers" doc:"Bounds on the headers of a request, on every listener."`
	Limits                Limits     `yaml:"limits" reload:"true" doc:"Bounds on what clients may send and on what is done at once."`
	Log                   Log        `yaml:"log" reload:"true" doc:"What is kept of requests, and how the process writes its own lines."`
	Spool                 Spool      `yaml:"spool" doc:"The local queue in front of the database."`
	AllowPrivateUpstreams []string   `yaml:"allow_private_upstreams" check:"cidr" reload:"true" doc:"Address ranges of providers on loopback or private networks. base_url entries of this file allow their own host."`
}

// TLS lets the public listener speak https itself.
type TLS struct {
	Cert string `yaml:"cert" doc:"Path of the certificate chain in PEM form."`
	Key  string `yaml:"key" doc:"Path of the private key in PEM form."`
}

// Accounts bounds what one account may create.
type Accounts struct {
	WorkspaceBudget float64 `yaml:"workspace_budget_usd" min:"0" max:"1000000" doc:"Monthly budget in dollars of a new workspace, unless an account that manages the instance creates it."`
	MaxWorkspaces   int     `yaml:"max_workspaces" min:"1" max:"1000000" doc:"Maximum number of workspaces that one account owns."`
	MaxKeys         int     `yaml:"max_keys" min:"1" max:"1000000" doc:"Maximum number of active API keys that one account has created, in all workspaces."`
}

// Provider is one upstream in the file.
type Provider struct {
	Name          string            `yaml:"name" check:"name" doc:"Name of the provider. A known vendor's name (openai, mistral, groq …) brings its address, models and prices."`
	Vendor        string            `yaml:"vendor" check:"name" doc:"Known vendor to take address, models and quirks from, when the name is another."`
	Format        string            `yaml:"format" doc:"Wire format it speaks; the vendor's own, else chat, when empty." enum:"chat,messages,gemini,converse"`
	BaseURL       string            `yaml:"base_url" check:"url" doc:"Address up to and with /v1."`
	APIKeys       []string          `yaml:"api_keys" check:"credential" doc:"Credentials; ${NAME} reads the environment, file:/path a file." secret:"true"`
	Options       map[string]string `yaml:"options" doc:"What this vendor alone needs: region (bedrock), project and location (vertex), api_version (azure)."`
	Headers       map[string]string `yaml:"headers" doc:"More headers to send." secret:"true"`
	Catalog       *bool             `yaml:"catalog" doc:"Offer the catalog's models of this vendor; default true when models is empty, else false."`
	Models        []Model           `yaml:"models" doc:"Models it offers, with what the catalog does not know of them."`
	Timeouts      Timeouts          `yaml:"timeouts" doc:"Waiting times for this provider's models; what is left out is inherited."`
	Concurrent    int               `yaml:"concurrent" min:"0" max:"1000000" doc:"Most requests at a time, shared out fairly among the keys; 0 for three quarters of limits.concurrent, so that a slow provider leaves room for the others."`
	Collects      bool              `yaml:"collects" doc:"The provider may keep or train on what it is sent."`
	ZeroRetention bool              `yaml:"zero_retention" doc:"The provider keeps nothing of what it is sent."`
	Tags          []string          `yaml:"tags" check:"tag" doc:"What policies may select its targets by, such as eu or internal; zdr, collects, local, simulated and open_weights come by themselves."`
	Disabled      bool              `yaml:"disabled" doc:"Leave the provider out without deleting its section."`
}

// Model sets what is known about a model, or about a model at one provider. Prices are dollars per million tokens.
type Model struct {
	Name                string   `yaml:"name" check:"model" doc:"Canonical name that callers use."`
	Upstream            string   `yaml:"upstream" check:"model" doc:"Name the provider knows it by; the same when empty."`
	Kind                string   `yaml:"kind" doc:"chat, embedding, moderation, or completion for one that takes bare prompts only." enum:"chat,embedding,moderation,completion"`
	Aliases             []string `yaml:"aliases" check:"model" doc:"Other names that callers may use for it."`
	InputPerMtok        *float64 `yaml:"input_per_mtok" min:"0" max:"1000000" doc:"Dollars per million input tokens."`
	OutputPerMtok       *float64 `yaml:"output_per_mtok" min:"0" max:"1000000" doc:"Dollars per million output tokens."`
	CacheReadPerMtok    *float64 `yaml:"cache_read_per_mtok" min:"0" max:"1000000" doc:"Dollars per million input tokens read from the provider's cache; the input price when left out."`
	CacheWritePerMtok   *float64 `yaml:"cache_write_per_mtok" min:"0" max:"1000000" doc:"Dollars per million input tokens written to the provider's cache; the input price when left out."`
	CacheWrite1hPerMtok *float64 `yaml:"cache_write_1h_per_mtok" min:"0" max:"1000000" doc:"The same for what the cache keeps for an hour; the price of writing when left out."`
	AudioInputPerMtok   *float64 `yaml:"audio_input_per_mtok" min:"0" max:"1000000" doc:"Dollars per million input tokens of sound; the input price when left out."`
	AudioOutputPerMtok  *float64 `yaml:"audio_output_per_mtok" min:"0" max:"1000000" doc:"Dollars per million output tokens of sound; the output price when left out."`
	PerRequest          *float64 `yaml:"per_request" min:"0" max:"1000000" doc:"Dollars per request."`
	Context             int64    `yaml:"context" min:"0" max:"1000000000" doc:"Window in tokens."`
	MaxOutput           int64    `yaml:"max_output" min:"0" max:"1000000000" doc:"Most tokens it writes in one answer."`
	Quality             *float64 `yaml:"quality" min:"0" max:"1" doc:"Prior chance of a good answer, 0 to 1."`
	Abilities           []string `yaml:"abilities" check:"ability" doc:"tools, vision, json_schema …; for a model that the catalog does not know, everything common is assumed."`
	Dimensions          int64    `yaml:"dimensions" min:"0" max:"1000000" doc:"Vector size of an embedding model."`
	Timeouts            Timeouts `yaml:"timeouts" doc:"Waiting times for this model; what is left out is inherited."`
}

// Catalog says whether prices are kept current from a published list.
type Catalog struct {
	Refresh time.Duration `yaml:"refresh" doc:"How often the list is read, such as 24h; 0 for never."`
	From    string        `yaml:"from" doc:"Which list." enum:"models.dev,litellm"`
	URL     string        `yaml:"url" check:"url" doc:"Where it is; where it is published when left out."`
}

// Routing says how auto makes use of ratings.
type Routing struct {
	Explore  float64       `yaml:"explore" min:"0" max:"0.5" doc:"Share of auto requests that try another model than the best, so that ratings come to cover it too; 0 for none."`
	HalfLife time.Duration `yaml:"half_life" check:"positive" doc:"After how long a rating counts half."`
}

// Timeouts bound the waiting for a provider. In a provider or a model, zero inherits.
type Timeouts struct {
	Connect             time.Duration `yaml:"connect" doc:"Until the connection is ready."`
	Headers             time.Duration `yaml:"headers" doc:"Until a stream's status; 0 for as long as the first token may take."`
	FirstToken          time.Duration `yaml:"first_token" doc:"While another target remains; the last one has the whole deadline."`
	FirstTokenReasoning time.Duration `yaml:"first_token_reasoning" doc:"The same for reasoning models."`
	Idle                time.Duration `yaml:"idle" doc:"Longest silence within a stream."`
	Total               time.Duration `yaml:"total" doc:"Deadline over all attempts; of a model, for requests that it is the first choice for."`
}

// Retries bound how often a request is tried.
type Retries struct {
	Attempts int           `yaml:"attempts" min:"1" max:"10" doc:"Most attempts for one request."`
	Backoff  time.Duration `yaml:"backoff" check:"positive" doc:"First wait before the same target is tried again; doubled and jittered after that."`
}

// Hedging says whether and when a second target is asked while the first keeps silent.
type Hedging struct {
	Enabled bool          `yaml:"enabled" doc:"Ask a second target when the first keeps silent; whoever has content first answers. The other call is ended, and paid for by whoever runs the gateway."`
	After   time.Duration `yaml:"after" doc:"How long the first may keep silent; 0 for streams as long as 95 % of its recent first tokens took, and for whole answers no second target."`
}

// Breaker says when a failing target is left alone.
type Breaker struct {
	Failures   int           `yaml:"failures" min:"1" max:"1000" doc:"Consecutive failures that open the circuit."`
	ProbeAfter time.Duration `yaml:"probe_after" check:"positive" doc:"How long an open circuit waits before one probe."`
}

// Headers bound the headers of a request.
type Headers struct {
	Size Size          `yaml:"size" min:"4096" max:"16777216" doc:"Most bytes of headers, at least 4KiB."`
	Time time.Duration `yaml:"time" check:"positive" doc:"How long a client may take to send them."`
}

// Limits bound what a client may send and how much is done at once.
type Limits struct {
	Body       Size          `yaml:"body" min:"1" doc:"Largest request body."`
	Buffered   Size          `yaml:"buffered" min:"1" doc:"Request bodies held at a time, in all; one workspace may hold half of it, and always one body."`
	Answer     Size          `yaml:"answer" min:"1" doc:"Largest provider answer."`
	EventLine  Size          `yaml:"event_line" min:"1" doc:"Longest line of an event stream."`
	Concurrent int           `yaml:"concurrent" min:"1" max:"1000000" doc:"Most model requests at a time; beyond that OVERLOADED. One key alone has three quarters of them, so that others find room."`
	Wait       time.Duration `yaml:"wait" doc:"How long a request waits for a place at a provider that is at its cap, where it has no other target."`
	ShedAfter  time.Duration `yaml:"shed_after" doc:"Under overload requests of the busiest keys are refused with OVERLOADED where they would wait longer than this for a processor; 0 for never."`
	BodyPause  time.Duration `yaml:"body_pause" check:"positive" doc:"How long a client may pause while it sends a body."`
	ReadPause  time.Duration `yaml:"read_pause" check:"positive" doc:"How long a client may stop reading an answer before it is cut off."`
}

// Log says what is kept of requests, and how the process writes its own lines.
type Log struct {
	Bodies         bool          `yaml:"bodies" doc:"Store request and answer text, so that requests can be reviewed."`
	BodyLimit      Size          `yaml:"body_limit" min:"1" doc:"Longest text stored per request and per answer."`
	EntryRetention time.Duration `yaml:"entry_retention" check:"positive" doc:"How long entries are kept."`
	BodyRetention  time.Duration `yaml:"body_retention" check:"positive" doc:"How long the text of requests and answers is kept."`
	Redact         []string      `yaml:"redact" check:"redact" doc:"What is taken out of stored texts where a workspace sets nothing: names of built-in rules."`
	Level          string        `yaml:"level" doc:"Least severity of the process's own log lines." enum:"debug,info,warn,error"`
	Format         string        `yaml:"format" reload:"false" doc:"Form of the process's own log lines; auto is text on a terminal, else json." enum:"auto,text,json"`
}

// Spool is the local queue in front of the database.
type Spool struct {
	Limit  Size `yaml:"limit" min:"1048576" doc:"Largest backlog, at least 1MiB; beyond it requests are refused with LEDGER_UNAVAILABLE."`
	Strict bool `yaml:"strict" doc:"Sync to disk before answering, so that a power cut loses nothing acknowledged."`
}

// Size is a number of bytes, written as 512, 64KiB, 32MiB or 1GiB.
type Size int64

// The units of a Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)
