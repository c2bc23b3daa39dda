// Package config loads the configuration file, the environment and flags into one validated, immutable Config value. Only this
// package and cmd read the environment.
package config

import (
	"time"
)

// Config holds all settings. Field tags give the names used in the file. The environment variable of a field is FAIRLEAD_
// followed by its path in upper case (FAIRLEAD_TIMEOUTS_IDLE).
//
// The tags define the loader, the validation, the JSON Schema and the printed form: doc describes the field; enum, min, max
// and check restrict its value; secret:"true" hides the value and secret:"url" the password in it; reload:"true" applies a
// change without a restart, except for nested fields with reload:"false".
type Config struct {
	Listen                string        `yaml:"listen" check:"listen" doc:"Address of the public listener for the model API, the dashboard and the admin API."`
	AdminListen           string        `yaml:"admin_listen" check:"listen" doc:"Address of a second listener for metrics. Empty to disable it."`
	PublicURL             string        `yaml:"public_url" check:"url" doc:"Public URL of the gateway, used in links and for passkeys. Links use the address of the request when empty."`
	TrustProxy            bool          `yaml:"trust_proxy" doc:"Trust X-Forwarded-Proto and the last X-Forwarded-For. Enable only behind a load balancer that sets both headers and cannot be bypassed."`
	DataDir               string        `yaml:"data_dir" doc:"Directory of the database, the spool and the master key. Defaults to the first that is available of $STATE_DIRECTORY, $XDG_DATA_HOME/fairlead, ~/.local/share/fairlead and /var/lib/fairlead."`
	Store                 string        `yaml:"store" check:"store" secret:"url" doc:"sqlite, or the URL of a PostgreSQL database."`
	Redis                 string        `yaml:"redis" check:"redis" secret:"url" doc:"URL of a Redis server for limits shared by replicas. Empty for none."`
	MasterKey             string        `yaml:"master_key" doc:"Secret that protects keys and credentials, at least 32 characters. Generated in data_dir if omitted." secret:"true"`
	DefaultModel          string        `yaml:"default_model" check:"model" reload:"true" doc:"Baseline model: the model that would be used without routing."`
	Registration          string        `yaml:"registration" doc:"Who can register after the first account: invitation (only with an invitation link) or open." enum:"invitation,open"`
	Accounts              Accounts      `yaml:"accounts" doc:"Limits on what one account can create."`
	SSO                   SSO           `yaml:"sso" reload:"true" doc:"Single sign-on with an OpenID Connect identity provider."`
	AllowBrowsers         bool          `yaml:"allow_browsers" reload:"true" doc:"Accept model API requests from browsers."`
	AllowUnpriced         bool          `yaml:"allow_unpriced" reload:"true" doc:"Allow explicit requests for models with an unknown price."`
	TLS                   TLS           `yaml:"tls" doc:"Certificate of the public listener. Without one it serves plain HTTP."`
	Providers             []Provider    `yaml:"providers" reload:"true" doc:"Providers, in addition to those found in the environment."`
	Detect                bool          `yaml:"detect" doc:"Enable providers whose usual environment variables are set, and model servers on loopback."`
	Simulator             string        `yaml:"simulator" doc:"auto (only without another provider), on or off." enum:"auto,on,off"`
	Models                []Model       `yaml:"models" reload:"true" doc:"Overrides of catalog models at all providers."`
	Catalog               Catalog       `yaml:"catalog" reload:"true" doc:"Updates of models and prices."`
	Routing               Routing       `yaml:"routing" reload:"true" doc:"Routes, and how they use ratings."`
	Policies              Policies      `yaml:"policies" reload:"true" doc:"Policies for every workspace, in evaluation order, before the workspace's own policies. ${NAME} is not expanded in policies."`
	Timeouts              Timeouts      `yaml:"timeouts" reload:"true" doc:"Timeouts of provider calls."`
	Retries               Retries       `yaml:"retries" reload:"true" doc:"Retries of failed attempts."`
	Breaker               Breaker       `yaml:"breaker" reload:"true" doc:"Circuit breaker of a target."`
	Rescue                string        `yaml:"rescue" reload:"true" doc:"What to do when a stream is interrupted after its first token: continue at another target, or off." enum:"continue,off"`
	Headers               Headers       `yaml:"headers" doc:"Limits on request headers, on every listener."`
	Limits                Limits        `yaml:"limits" reload:"true" doc:"Limits on request sizes and concurrency."`
	Realtime              Realtime      `yaml:"realtime" reload:"true" doc:"Limits on WebSocket sessions of the Realtime API."`
	Log                   Log           `yaml:"log" reload:"true" doc:"The request log, and the log lines of the process."`
	Spool                 Spool         `yaml:"spool" doc:"Local queue in front of the database."`
	ResponseCache         ResponseCache `yaml:"response_cache" doc:"Sizes of the response cache. API keys and policies enable it."`
	Alerts                Alerts        `yaml:"alerts" reload:"true" doc:"How alerts are sent."`
	Telemetry             Telemetry     `yaml:"telemetry" doc:"Export of traces and metrics over OTLP. The standard OTEL_* variables apply where a setting has its default."`
	Export                Export        `yaml:"export" doc:"Continuous export of the audit log and the request log. Set one of file, webhook and otlp."`
	AllowPrivateUpstreams []string      `yaml:"allow_private_upstreams" check:"cidr" reload:"true" doc:"Allowed address ranges of providers and alert channels on loopback or private networks. A base_url in this file implicitly allows its own host."`
}

// Alerts configures how alerts are sent.
type Alerts struct {
	SMTP SMTP `yaml:"smtp" doc:"Mail server of e-mail channels. Without one, workspaces can use webhooks only."`
}

// SMTP configures the mail server that sends alerts.
type SMTP struct {
	Server   string `yaml:"server" check:"server" doc:"Mail server as host:port, such as smtp.example.com:587. Empty for none."`
	TLS      string `yaml:"tls" doc:"starttls, tls for a connection that begins with TLS (port 465), or none for a server on the same machine." enum:"starttls,tls,none"`
	Username string `yaml:"username" doc:"User name. Empty for a server without authentication."`
	Password string `yaml:"password" secret:"true" doc:"Password. ${NAME} reads an environment variable, file:/path reads a file."`
	From     string `yaml:"from" doc:"Sender address, such as alerts@example.com."`
}

// TLS configures the certificate of the public listener.
type TLS struct {
	Cert string `yaml:"cert" doc:"Path of the certificate chain in PEM format."`
	Key  string `yaml:"key" doc:"Path of the private key in PEM format."`
}

// Accounts limits the objects that one account can create.
type Accounts struct {
	WorkspaceBudget float64 `yaml:"workspace_budget_usd" min:"0" max:"1000000" doc:"Monthly budget in US dollars of a new workspace, unless an operator creates it."`
	MaxWorkspaces   int     `yaml:"max_workspaces" min:"1" max:"1000000" doc:"Maximum number of workspaces owned by one account."`
	MaxKeys         int     `yaml:"max_keys" min:"1" max:"1000000" doc:"Maximum number of active API keys created by one account in all workspaces."`
}

// SSO configures single sign-on.
type SSO struct {
	Issuer         string            `yaml:"issuer" check:"issuer" doc:"Issuer URL of the identity provider. Its metadata is read from /.well-known/openid-configuration below this URL. Empty disables single sign-on. The host may be on a private network; other hosts that the metadata names must be public or in allow_private_upstreams."`
	Name           string            `yaml:"name" doc:"Name of the identity provider on the sign-in page."`
	ClientID       string            `yaml:"client_id" doc:"Client ID that is registered at the identity provider."`
	ClientSecret   string            `yaml:"client_secret" check:"credential" secret:"true" doc:"Client secret. ${NAME} reads an environment variable, file:/path reads a file. Empty for a public client."`
	Scopes         []string          `yaml:"scopes" doc:"Requested scopes. The identity provider must return a refresh token, for which most require offline_access."`
	GroupsClaim    string            `yaml:"groups_claim" doc:"Claim with the groups of a user. A path such as realm_access.roles selects a nested claim."`
	AllowedDomains []string          `yaml:"allowed_domains" check:"domain" doc:"Domains of the email addresses that can sign in. Empty for all."`
	Groups         []Group           `yaml:"groups" doc:"Workspaces and roles of the groups. A user without a mapped group cannot sign in."`
	SignIn         string            `yaml:"sign_in" enum:"any,sso_only" doc:"any also accepts passwords. sso_only rejects passwords, except for the accounts in break_glass."`
	BreakGlass     []string          `yaml:"break_glass" check:"email" doc:"Email addresses of accounts that can sign in with a password when sign_in is sso_only."`
	LinkByEmail    bool              `yaml:"link_by_email" doc:"Link an existing account to the identity with the same verified email address at its first sign-in. This ends the sessions of the account and removes its password, passkeys, second factors and API keys. Otherwise such a sign-in is rejected. Cannot be used with trust_email."`
	TrustEmail     bool              `yaml:"trust_email" doc:"Accept email addresses without the claim email_verified, for identity providers that do not send it. An address with email_verified: false is always rejected."`
	Recheck        time.Duration     `yaml:"recheck" check:"positive" doc:"Interval at which the identity provider confirms active users, from 5s to 1h. A session that was not confirmed for twice as long is rejected until the identity provider confirms it."`
	Params         map[string]string `yaml:"params" doc:"Additional parameters of the authorization request, such as access_type: offline."`
}

// Group maps a group of the identity provider to a role in a workspace.
type Group struct {
	Name      string `yaml:"name" doc:"Name of the group as in the claim. * for all users who can sign in."`
	Workspace string `yaml:"workspace" doc:"Workspace ID (ws_…), or operator for the workspace whose members operate the gateway."`
	Role      string `yaml:"role" enum:"owner,admin,developer,viewer" doc:"Role in the workspace. If several groups of a user name one workspace, the highest role applies."`
}

// Provider configures one provider.
type Provider struct {
	Name          string            `yaml:"name" check:"name" doc:"Name of the provider. The name of a known vendor (openai, mistral, groq …) sets its address, models and prices."`
	Vendor        string            `yaml:"vendor" check:"name" doc:"Known vendor whose address, models and behaviour to use, if different from name."`
	Format        string            `yaml:"format" doc:"Wire format of the provider. Defaults to the vendor's format, or chat." enum:"chat,responses,messages,gemini,converse"`
	BaseURL       string            `yaml:"base_url" check:"url" doc:"Base URL, including /v1."`
	APIKeys       []string          `yaml:"api_keys" check:"credential" doc:"API keys of the provider. ${NAME} reads an environment variable, file:/path reads a file." secret:"true"`
	Options       map[string]string `yaml:"options" doc:"Vendor-specific options: region, aws_profile, role_arn and external_id (bedrock); project, location, service_account and token_url (vertex); api_version, tenant, client_id and federated_token_file (azure); auth: identity uses the machine's cloud identity at another base_url."`
	Headers       map[string]string `yaml:"headers" doc:"Additional request headers." secret:"true"`
	Catalog       *bool             `yaml:"catalog" doc:"Offer the vendor's models from the catalog. Defaults to true if models is empty, otherwise to false."`
	Models        []Model           `yaml:"models" doc:"Models of the provider, with data that is not in the catalog."`
	Timeouts      Timeouts          `yaml:"timeouts" doc:"Timeouts of this provider. Omitted values are inherited."`
	Concurrent    int               `yaml:"concurrent" min:"0" max:"1000000" doc:"Maximum number of concurrent requests, shared fairly between keys. 0 for three quarters of limits.concurrent, so that a slow provider cannot block the others."`
	Collects      bool              `yaml:"collects" doc:"Whether the provider may store prompts or train on them."`
	ZeroRetention bool              `yaml:"zero_retention" doc:"Whether the provider stores nothing (zero data retention)."`
	Tags          []string          `yaml:"tags" check:"tag" doc:"Tags for policies, such as eu or internal. zdr, collects, local, simulated and open_weights are set automatically."`
	Disabled      bool              `yaml:"disabled" doc:"Disable the provider without deleting its section."`
}

// Model overrides the data of a model, or of a model at one provider. Prices are US dollars per million tokens.
type Model struct {
	Name                string   `yaml:"name" check:"model" doc:"Model name used by clients."`
	Upstream            string   `yaml:"upstream" check:"model" doc:"Model name used by the provider. Defaults to name."`
	Kind                string   `yaml:"kind" doc:"chat, embedding, moderation, speech, transcription, image, rerank, realtime, or completion for models that only accept plain prompts." enum:"chat,embedding,moderation,completion,speech,transcription,image,rerank,realtime"`
	Aliases             []string `yaml:"aliases" check:"model" doc:"Alternative names for clients."`
	InputPerMtok        *float64 `yaml:"input_per_mtok" min:"0" max:"1000000" doc:"US dollars per million input tokens."`
	OutputPerMtok       *float64 `yaml:"output_per_mtok" min:"0" max:"1000000" doc:"US dollars per million output tokens."`
	CacheReadPerMtok    *float64 `yaml:"cache_read_per_mtok" min:"0" max:"1000000" doc:"US dollars per million input tokens read from the prompt cache. Defaults to the input price."`
	CacheWritePerMtok   *float64 `yaml:"cache_write_per_mtok" min:"0" max:"1000000" doc:"US dollars per million input tokens written to the prompt cache. Defaults to the input price."`
	CacheWrite1hPerMtok *float64 `yaml:"cache_write_1h_per_mtok" min:"0" max:"1000000" doc:"US dollars per million input tokens written to the prompt cache for one hour. Defaults to the cache write price."`
	AudioInputPerMtok   *float64 `yaml:"audio_input_per_mtok" min:"0" max:"1000000" doc:"US dollars per million audio input tokens. Defaults to the input price."`
	AudioOutputPerMtok  *float64 `yaml:"audio_output_per_mtok" min:"0" max:"1000000" doc:"US dollars per million audio output tokens. Defaults to the output price."`
	PerRequest          *float64 `yaml:"per_request" min:"0" max:"1000000" doc:"US dollars per request."`
	Per1kSearches       *float64 `yaml:"per_1k_searches" min:"0" max:"1000000" doc:"US dollars per 1,000 web searches that the provider runs. Defaults to the published fee."`
	Context             int64    `yaml:"context" min:"0" max:"1000000000" doc:"Context window in tokens."`
	MaxOutput           int64    `yaml:"max_output" min:"0" max:"1000000000" doc:"Maximum number of output tokens."`
	Quality             *float64 `yaml:"quality" min:"0" max:"1" doc:"Assumed success probability before any traffic, from 0 to 1."`
	Abilities           []string `yaml:"abilities" check:"ability" doc:"Capabilities such as tools, vision or json_schema. Models that are not in the catalog are assumed to have all common capabilities."`
	Dimensions          int64    `yaml:"dimensions" min:"0" max:"1000000" doc:"Vector size of an embedding model."`
	Timeouts            Timeouts `yaml:"timeouts" doc:"Timeouts of this model. Omitted values are inherited."`
}

// Catalog configures updates of models and prices.
type Catalog struct {
	Refresh  string        `yaml:"refresh" doc:"Updates of prices, windows and abilities: daily reads models.dev and OpenRouter's list once a day, off reads nothing, and a path reads a file in one of these formats whenever it changes. Empty leaves the decision to the dashboard; without one, nothing is read."`
	URL      string        `yaml:"url" check:"url" doc:"URL of a mirror of models.dev, which is then the only list that is read. Defaults to https://models.dev/api.json and OpenRouter's list."`
	Discover time.Duration `yaml:"discover" doc:"Interval at which the model lists of the providers are read to find new models. 0 reads only the lists that requests depend on: the lists of providers without known models, and all lists if unpriced models are allowed."`
}

// Routing configures the routes and how they use ratings.
type Routing struct {
	Routes   []Route       `yaml:"routes" doc:"Routes for every workspace. A request asks for a route instead of a model. An entry named auto configures auto itself."`
	HalfLife time.Duration `yaml:"half_life" check:"positive" doc:"Half-life of the weight of a rating."`
}

// Route configures a route.
type Route struct {
	Name      string   `yaml:"name" doc:"Name of the route, such as support. It must not be the name of a model."`
	Pool      []string `yaml:"pool" doc:"Models that the route chooses among, at most 8. Empty for the default pool. A listed pool never changes by itself."`
	Tradeoff  *float64 `yaml:"tradeoff" min:"0" max:"1" doc:"Place on the dial from 0 (cheapest) to 1 (best). Defaults to 0.5."`
	MinEffort string   `yaml:"min_effort" doc:"Lowest reasoning effort that the route chooses: none, minimal, low, medium, high, xhigh or max."`
	MaxEffort string   `yaml:"max_effort" doc:"Highest reasoning effort that the route chooses."`
	Shares    []Share  `yaml:"shares" doc:"Fixed parts of the sessions that go to a model."`
}

// Share sends a fixed part of the sessions of a route to a model.
type Share struct {
	Model   string  `yaml:"model" doc:"Model that serves these sessions."`
	Percent float64 `yaml:"percent" min:"0" max:"100" doc:"Part of the sessions in percent."`
}

// Timeouts configures the timeouts of provider calls. In a provider or a model, a zero value inherits the timeout of the enclosing level.
type Timeouts struct {
	Connect             time.Duration `yaml:"connect" doc:"Maximum time to connect."`
	Headers             time.Duration `yaml:"headers" doc:"Maximum time to the response headers of a stream. 0 to use the first-token timeout."`
	FirstToken          time.Duration `yaml:"first_token" doc:"Maximum time to the first token while another target remains. The last target can use the whole deadline."`
	FirstTokenReasoning time.Duration `yaml:"first_token_reasoning" doc:"Maximum time to the first token of a reasoning model."`
	Idle                time.Duration `yaml:"idle" doc:"Maximum time between two events of a stream."`
	Total               time.Duration `yaml:"total" doc:"Deadline of a request, including all attempts. For a model, applies to requests for which it is the first choice."`
}

// ResponseCache limits the size of the response cache.
type ResponseCache struct {
	Memory Size `yaml:"memory" min:"0" doc:"Maximum size of the cached responses in memory. 0 disables the response cache."`
	Redis  Size `yaml:"redis" min:"0" doc:"Maximum size of the cached responses in Redis, which the replicas share. 0 keeps them in memory only."`
	Entry  Size `yaml:"entry" min:"1" doc:"Maximum size of one response. Larger responses are not cached."`
}

// Retries configures retries of provider calls.
type Retries struct {
	Attempts int           `yaml:"attempts" min:"1" max:"10" doc:"Maximum number of attempts per request."`
	Backoff  time.Duration `yaml:"backoff" check:"positive" doc:"Initial delay before a retry of the same target. Doubled with jitter for each further retry."`
}

// Breaker configures the circuit breaker of targets.
type Breaker struct {
	Failures   int           `yaml:"failures" min:"1" max:"1000" doc:"Number of consecutive failures that open the circuit."`
	ProbeAfter time.Duration `yaml:"probe_after" check:"positive" doc:"Delay before an open circuit is probed."`
}

// Headers configures limits on request headers.
type Headers struct {
	Size Size          `yaml:"size" min:"4096" max:"16777216" doc:"Maximum size of the headers, at least 4KiB."`
	Time time.Duration `yaml:"time" check:"positive" doc:"Maximum time to receive the headers."`
}

// Limits configures limits on request sizes and concurrency.
type Limits struct {
	Body       Size          `yaml:"body" min:"1" doc:"Maximum size of a request body."`
	Buffered   Size          `yaml:"buffered" min:"1" doc:"Maximum total size of buffered request bodies. One workspace can use half of it, and at least one body."`
	Answer     Size          `yaml:"answer" min:"1" doc:"Maximum size of a provider response."`
	EventLine  Size          `yaml:"event_line" min:"1" doc:"Maximum length of a line of an event stream."`
	Concurrent int           `yaml:"concurrent" min:"1" max:"1000000" doc:"Maximum number of concurrent model requests. Further requests are rejected with OVERLOADED. One key can use three quarters of it."`
	Wait       time.Duration `yaml:"wait" doc:"How long a request waits for a slot at a provider at its concurrency limit if no other target is available."`
	ShedAfter  time.Duration `yaml:"shed_after" doc:"Maximum time that a request waits for a CPU. Under overload, requests of the busiest keys that would wait longer are rejected with OVERLOADED. 0 disables load shedding."`
	BodyPause  time.Duration `yaml:"body_pause" check:"positive" doc:"Maximum pause while receiving a request body."`
	ReadPause  time.Duration `yaml:"read_pause" check:"positive" doc:"Maximum time for which a client can stop reading a response before it is disconnected."`
}

// Realtime configures limits on WebSocket sessions.
type Realtime struct {
	Message Size          `yaml:"message" min:"1024" max:"268435456" doc:"Maximum size of a message."`
	Idle    time.Duration `yaml:"idle" check:"positive" doc:"Maximum time without a message. The session is then closed."`
	Total   time.Duration `yaml:"total" check:"positive" doc:"Maximum duration of a session."`
}

// Log configures the request log and the process log.
type Log struct {
	Bodies         bool          `yaml:"bodies" doc:"Store request and response bodies."`
	BodyLimit      Size          `yaml:"body_limit" min:"1" doc:"Maximum stored size of a request or response body."`
	EntryRetention time.Duration `yaml:"entry_retention" check:"positive" doc:"Retention of log entries."`
	BodyRetention  time.Duration `yaml:"body_retention" check:"positive" doc:"Retention of request and response bodies."`
	Redact         []string      `yaml:"redact" check:"redact" doc:"Built-in redaction rules for workspaces without their own rules."`
	Level          string        `yaml:"level" doc:"Minimum level of the process log." enum:"debug,info,warn,error"`
	Format         string        `yaml:"format" reload:"false" doc:"Format of the process log. auto is text on a terminal, otherwise json." enum:"auto,text,json"`
}

// Spool configures the local queue in front of the database.
type Spool struct {
	Limit  Size `yaml:"limit" min:"1048576" doc:"Maximum size of the queue, at least 1MiB. When it is full, requests are rejected with LEDGER_UNAVAILABLE."`
	Strict bool `yaml:"strict" doc:"Sync to disk before the response is sent, so that a power failure loses no completed request."`
}

// Telemetry configures the export of traces and metrics through OTLP.
type Telemetry struct {
	Endpoint           string            `yaml:"endpoint" check:"url" doc:"URL of an OTLP receiver, such as http://localhost:4318. For HTTP, /v1/traces and /v1/metrics are appended. Without it and without OTEL_EXPORTER_OTLP_ENDPOINT, nothing is exported."`
	Protocol           string            `yaml:"protocol" doc:"Protocol of the export. auto uses OTEL_EXPORTER_OTLP_PROTOCOL, or http/protobuf without it." enum:"auto,http/protobuf,grpc"`
	Headers            map[string]string `yaml:"headers" secret:"true" doc:"Headers of the export, such as an API key of the receiver."`
	ServiceName        string            `yaml:"service_name" doc:"Name of the service in traces and metrics. Empty for OTEL_SERVICE_NAME, or fairlead without it."`
	ResourceAttributes map[string]string `yaml:"resource_attributes" doc:"Further attributes of the service, such as deployment.environment.name."`
	Traces             bool              `yaml:"traces" doc:"Export a trace of every request in the log."`
	Metrics            bool              `yaml:"metrics" doc:"Export the metrics that /metrics serves."`
	SampleRatio        float64           `yaml:"sample_ratio" min:"0" max:"1" doc:"Share of traces to export. A trace that the client started is exported if the client samples it. 1 uses OTEL_TRACES_SAMPLER."`
	Content            bool              `yaml:"content" doc:"Include prompts and responses in traces, after redaction. Only for requests whose bodies are stored."`
	Propagate          []string          `yaml:"propagate" check:"name" doc:"Names of providers that receive the trace context (traceparent and tracestate). Empty for none."`
}

// Export configures the continuous export of the audit log and the request log.
type Export struct {
	File    string            `yaml:"file" doc:"Path of a file to which JSON lines are appended. Use it with one replica, or on storage that all replicas share."`
	Webhook string            `yaml:"webhook" check:"url" doc:"URL that receives batches of JSON lines by POST."`
	OTLP    string            `yaml:"otlp" check:"url" doc:"URL of an OTLP receiver over HTTP, such as http://localhost:4318. /v1/logs is appended."`
	Secret  string            `yaml:"secret" check:"signing" secret:"true" doc:"Key that signs webhooks: whsec_ and at least 24 bytes in base64. ${NAME} reads an environment variable, file:/path reads a file."`
	Headers map[string]string `yaml:"headers" secret:"true" doc:"Additional headers of the webhook or of OTLP, such as an API key of the receiver."`
	Bodies  bool              `yaml:"bodies" doc:"Include prompts, responses and messages that can quote them, as the request log stores them after redaction."`
}

// Enabled reports whether anything is exported.
func (e Export) Enabled() bool { return e.File != "" || e.Webhook != "" || e.OTLP != "" }
