package overview

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/redact"
)

// Facts describes the instance and its configuration, without secrets.
type Facts struct {
	Version        string
	Simulated      bool   // whether the simulator is the only provider
	Registration   string // registration mode: "invitation" or "open"
	ConfigSource   string // path of the configuration file, or "defaults and environment"
	ConfigFile     string // path of the configuration file; empty if there is none
	Store          string // "sqlite" or "postgres"
	DefaultModel   string
	UsualModels    []string // models of the pool that a caller may be using today, suggested as the baseline
	StartedAt      time.Time
	LogBodies      bool
	EntryRetention time.Duration
	BodyRetention  time.Duration
	Redact         []string // built-in rules for workspaces without their own rules
	Limits         InstanceLimits
	Catalog        string // catalog version
	Router         string // router version
	Predictor      string // predictor version
	Policies       int    // number of instance policies
	PoliciesClosed string // reason why workspaces cannot change their policies; empty if they can
}

// InstanceLimits holds the limits of one process.
type InstanceLimits struct {
	BodyBytes   int64
	AnswerBytes int64
	Concurrent  int64
	Attempts    int64
	Total       time.Duration // maximum duration of a request
	StoredBytes int64         // maximum stored size of a body
}

// StorageUse describes the storage in use. Negative numbers mean unknown.
type StorageUse struct {
	DatabaseBytes int64
	SpoolBytes    int64
	SpoolLimit    int64
	FreeBytes     int64
	OldestEntry   time.Time
	Samples       []StorageSample // recent database sizes
	Retention     time.Duration   // longest retention of any workspace; 0 if entries are kept forever
	DiskElsewhere bool            // whether FreeBytes refers to a disk other than the one that holds the database
	Messages      MessageUse
}

// MessageUse describes the storage used by recent request bodies that are stored as messages. Requests share identical messages.
type MessageUse struct {
	Since        time.Time
	Requests     int64
	RequestBytes int64
	StoredBytes  int64
}

// SettingsView describes the instance.
type SettingsView struct {
	Version          string         `json:"version"`
	StartedAt        time.Time      `json:"started_at"`
	Simulated        bool           `json:"simulated"`
	Registration     string         `json:"registration" enum:"invitation,open"`
	ConfigSource     string         `json:"config_source" doc:"Path of the configuration file, or a note that there is none. Empty for callers who are not operators."`
	Store            string         `json:"store" doc:"sqlite or postgres."`
	DefaultModel     *string        `json:"default_model" doc:"Default baseline model."`
	UsualModels      []string       `json:"usual_models" doc:"Models of the connected providers to suggest as the baseline: the best, one of the middle and the cheapest."`
	LogBodies        bool           `json:"log_bodies" doc:"Whether the instance stores request and response bodies."`
	EntryRetentionMS *int64         `json:"entry_retention_ms" doc:"null if kept forever."`
	BodyRetentionMS  *int64         `json:"body_retention_ms" doc:"null if kept forever."`
	Redaction        RedactionFacts `json:"redaction"`
	CatalogVersion   string         `json:"catalog_version"`
	RouterVersion    string         `json:"router_version"`
	PredictorVersion string         `json:"predictor_version"`
	Policies         int            `json:"instance_policies" doc:"Number of instance policies. They are evaluated before the policies of the workspace."`
	Limits           LimitsView     `json:"limits"`
	Storage          StorageView    `json:"storage"`
}

// LimitsView holds the limits of one process.
type LimitsView struct {
	BodyBytes   int64  `json:"body_bytes"`
	AnswerBytes int64  `json:"answer_bytes"`
	StoredBytes int64  `json:"stored_bytes" doc:"Maximum stored size of a request or response body."`
	Concurrent  int64  `json:"concurrent"`
	Attempts    int64  `json:"attempts"`
	TotalMS     *int64 `json:"total_ms" doc:"Deadline of a request, including all attempts."`
}

// StorageView describes the storage in use.
type StorageView struct {
	DatabaseBytes *int64           `json:"database_bytes"`
	SpoolBytes    *int64           `json:"spool_bytes" doc:"Size of the queue in front of the database."`
	SpoolLimit    *int64           `json:"spool_limit_bytes"`
	FreeBytes     *int64           `json:"free_bytes" doc:"Free disk space."`
	OldestEntry   *time.Time       `json:"oldest_request"`
	Forecast      *StorageForecast `json:"forecast,omitempty" doc:"Absent for callers who are not operators."`
	Messages      *MessageView     `json:"messages,omitempty" doc:"How the messages of the last seven days are stored. Absent without such requests, and for callers who are not operators."`
}

// MessageView describes the storage used by request bodies that are stored as messages. Each message is stored once per workspace and
// day.
type MessageView struct {
	Since           time.Time `json:"since"`
	Requests        int64     `json:"requests" doc:"Requests longer than 2 KB whose bodies are stored."`
	RequestBytes    int64     `json:"request_bytes" doc:"Length of their bodies."`
	StoredBytes     int64     `json:"stored_bytes" doc:"Stored bytes of their bodies: new messages, compressed, and references."`
	BytesPerRequest int64     `json:"stored_bytes_per_request"`
	SavedPercent    float64   `json:"saved_percent" doc:"Percentage of request_bytes that deduplication and compression save."`
}

func (a *handlers) registerSettings() {
	adminapi.Register(a.Server, account.ReadWorkspace, huma.Operation{
		OperationID: "get-settings", Method: http.MethodGet, Path: "/settings", Tags: []string{"settings"},
		Summary: "Get the configuration, retention, limits and storage use of the gateway",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[SettingsView], error) {
		f := a.Instance.Facts()
		v := SettingsView{
			Version: f.Version, StartedAt: f.StartedAt.UTC(), Simulated: f.Simulated, Registration: f.Registration,
			Store: f.Store, DefaultModel: adminapi.NonEmpty(f.DefaultModel), UsualModels: append([]string{}, f.UsualModels...), LogBodies: f.LogBodies,
			EntryRetentionMS: adminapi.Millis(f.EntryRetention), BodyRetentionMS: adminapi.Millis(f.BodyRetention),
			Redaction: RedactionFacts{Default: append([]string{}, f.Redact...), Builtin: []RedactionBuiltinRule{}}, CatalogVersion: f.Catalog, RouterVersion: f.Router,
			PredictorVersion: f.Predictor, Policies: f.Policies,
			Limits: LimitsView{
				BodyBytes: f.Limits.BodyBytes, AnswerBytes: f.Limits.AnswerBytes, StoredBytes: f.Limits.StoredBytes,
				Concurrent: f.Limits.Concurrent, Attempts: f.Limits.Attempts, TotalMS: adminapi.Millis(f.Limits.Total),
			},
		}
		for _, b := range redact.Builtins() {
			v.Redaction.Builtin = append(v.Redaction.Builtin, RedactionBuiltinRule{Name: b.Name, Description: b.Doc})
		}
		if !c.Actor.Operator {
			return adminapi.Respond(v), nil // only operators may see paths and disks
		}
		v.ConfigSource = f.ConfigSource
		use, err := a.Instance.Storage(ctx)
		if err != nil {
			return nil, err
		}
		v.Storage = StorageView{
			DatabaseBytes: known(use.DatabaseBytes), SpoolBytes: known(use.SpoolBytes), SpoolLimit: known(use.SpoolLimit),
			FreeBytes: known(use.FreeBytes), OldestEntry: adminapi.Time(use.OldestEntry), Forecast: new(forecast(use, a.Now())),
		}
		if m := use.Messages; m.Requests > 0 && m.RequestBytes > 0 {
			stored := max(m.StoredBytes, 0)
			v.Storage.Messages = &MessageView{
				Since: m.Since, Requests: m.Requests, RequestBytes: m.RequestBytes, StoredBytes: stored, BytesPerRequest: stored / m.Requests,
				SavedPercent: max(0, 100*(1-float64(stored)/float64(m.RequestBytes))),
			}
		}
		return adminapi.Respond(v), nil
	})
}

// known returns a pointer to n, or nil if n is negative, which means unknown.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// Instance describes this gateway.
type Instance interface {
	Facts() Facts
	// Storage measures the storage in use.
	Storage(ctx context.Context) (StorageUse, error)
	// Disk returns the disk use without querying the database.
	Disk() DiskUse
}

// RedactionFacts describes the redaction rules of the instance.
type RedactionFacts struct {
	Default []string               `json:"default" doc:"Built-in rules for workspaces without their own rules, from log.redact."`
	Builtin []RedactionBuiltinRule `json:"builtin" doc:"All built-in rules."`
}

// RedactionBuiltinRule is a built-in rule.
type RedactionBuiltinRule struct {
	Name        string `json:"name"`
	Description string `json:"description" doc:"What the rule matches."`
}
