package providers

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/llm"
)

// ProviderView is a configured provider with its health.
type ProviderView struct {
	Name         string             `json:"name"`
	Title        string             `json:"title"`
	BaseURL      string             `json:"base_url" doc:"Empty for callers who are not operators."`
	Source       string             `json:"source" doc:"Where the provider is configured: env, file, detected, dashboard or simulator."`
	ManagedBy    string             `json:"managed_by" enum:"file,environment,dashboard" doc:"Where the provider is changed or deleted. Only providers of the dashboard can be changed with this API."`
	Simulated    bool               `json:"simulated"`
	Enabled      bool               `json:"enabled"`
	Health       string             `json:"health" enum:"ok,degraded,recovering,down,unknown" doc:"down: no target is available. degraded: some targets are unavailable. recovering: failed targets are being probed."`
	Credentials  []CredentialView   `json:"credentials"`
	Targets      []TargetView       `json:"targets"`
	Available    int                `json:"available" doc:"Models with a target that the provider's credentials may use."`
	Catalog      int                `json:"catalog" doc:"Models that the catalog has for the provider."`
	Headroom     *HeadroomView      `json:"headroom,omitempty" doc:"Remaining rate limits as last reported by the provider."`
	Traffic      requests.FigureSet `json:"traffic" doc:"This workspace's traffic in the last 24 hours."`
	SharePercent *float64           `json:"share_percent"`
}

// CredentialView describes a credential without its secret.
type CredentialView struct {
	ID              string     `json:"id"`
	Hint            string     `json:"hint" doc:"Last four characters."`
	Source          string     `json:"source" doc:"Environment variable, file or dashboard."`
	Removable       bool       `json:"removable" doc:"Whether remove-credential can remove it. Only credentials added in the dashboard can be removed."`
	BackingOffUntil *time.Time `json:"backing_off_until"`
	Reason          *string    `json:"reason" doc:"Failure class that caused the backoff."`
	ReasonText      *string    `json:"reason_text" doc:"Readable description."`
}

// HeadroomView is the remaining rate limit of a provider.
type HeadroomView struct {
	Requests *int64    `json:"requests"`
	Tokens   *int64    `json:"tokens"`
	At       time.Time `json:"at"`
}

// ProviderList holds all providers.
type ProviderList struct {
	Providers []ProviderView `json:"providers"`
}

// ProviderTest is the result of a test.
type ProviderTest struct {
	OK        bool     `json:"ok"`
	Tested    bool     `json:"tested" doc:"false if the provider has no free endpoint to call. This is not a failure."`
	LatencyMS *int64   `json:"latency_ms"`
	Status    *int     `json:"status" doc:"HTTP status of the provider. null if no response was received."`
	Models    []string `json:"models" doc:"Models reported by the provider."`
	Error     *string  `json:"error" doc:"Error message."`
}

// ProviderPath is a provider name in a path. It is exported because huma requires it for embedded fields.
type ProviderPath struct {
	Name string `path:"name" maxLength:"100" doc:"Provider name."`
}

func (a *handlers) registerProviders() {
	tags := []string{"providers"}
	adminapi.Register(a.Server, account.ReadProviders, huma.Operation{
		OperationID: "list-providers", Method: http.MethodGet, Path: "/providers", Tags: tags,
		Summary: "List providers with credentials, health and traffic",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[ProviderList], error) {
		traffic, requests, err := a.traffic(ctx, c.WorkspaceID, "provider", trafficSpan)
		if err != nil {
			return nil, err
		}
		providers := a.Fleet.Providers()
		list := ProviderList{Providers: make([]ProviderView, 0, len(providers))}
		for i := range providers {
			list.Providers = append(list.Providers, shownTo(c, &providers[i], traffic[providers[i].Name], requests))
		}
		return adminapi.Respond(list), nil
	})
	adminapi.Register(a.Server, account.ReadProviders, huma.Operation{
		OperationID: "get-provider", Method: http.MethodGet, Path: "/providers/{name}", Tags: tags,
		Summary:     "Get a provider with its backoffs",
		Description: "The status of a day is computed from this workspace's calls: failing if at least 25 % of the calls failed, degraded if at least 5 % failed or if one hour with five or more calls was failing, otherwise ok.",
	}, a.getProvider)
	adminapi.Register(a.Server, account.ManageProviders, huma.Operation{
		OperationID: "update-provider", Method: http.MethodPatch, Path: "/providers/{name}", Tags: tags,
		Summary:     "Enable, disable or change a provider",
		Description: "Only enabled can be set for a provider that the configuration file or the environment manages. Other fields also need the permission connect_providers. A base URL with another host needs a new key, because a key is sent only to the host that it was entered for. A new key replaces all keys that were added in the dashboard.",
	}, a.updateProvider)
	adminapi.Register(a.Server, account.ManageProviders, huma.Operation{
		OperationID: "test-provider", Method: http.MethodPost, Path: "/providers/{name}/test", Tags: tags,
		Summary: "Test the connection to a provider",
	}, func(ctx context.Context, _ *adminapi.Call, in *ProviderPath) (*adminapi.Output[ProviderTest], error) {
		result, err := a.Prober.Test(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(testView(result)), nil
	})
	adminapi.Register(a.Server, account.ManageProviders, huma.Operation{
		OperationID: "reset-provider", Method: http.MethodPost, Path: "/providers/{name}/reset", Tags: tags,
		Summary: "Close the circuits of a provider and end the backoff of its credentials", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, c *adminapi.Call, in *ProviderPath) (*adminapi.NoContent, error) {
		if err := a.Prober.ResetCircuits(ctx, in.Name); err != nil {
			return nil, err
		}
		return nil, a.Record(ctx, c.Actor, "provider.reset", in.Name, nil, nil)
	})
}

// shownTo returns a provider as the caller may see it: only operators see connection details.
func shownTo(c *adminapi.Call, s *ProviderState, traffic requests.FigureSet, total int64) ProviderView {
	v := providerView(s)
	if !c.Actor.Operator {
		v.BaseURL, v.Credentials, v.Headroom = "", []CredentialView{}, nil
		hideCalls(v.Targets)
		if v.Health == "ok" && traffic.Attempts == 0 {
			v.Health = "unknown" // only other workspaces have called the provider
		}
	}
	v.Traffic = traffic
	v.SharePercent = adminapi.Share(traffic.Requests, total)
	return v
}

type updateProviderInput struct {
	ProviderPath
	Body struct {
		Enabled *bool             `json:"enabled,omitempty"`
		BaseURL *string           `json:"base_url,omitempty" maxLength:"2000" doc:"Empty for the vendor's base URL."`
		Options map[string]string `json:"options,omitempty" doc:"Replaces all options."`
		Free    *bool             `json:"free,omitempty"`
		Key     *string           `json:"key,omitempty" minLength:"1" maxLength:"16384" writeOnly:"true"`
	}
}

func (a *handlers) updateProvider(ctx context.Context, c *adminapi.Call, in *updateProviderInput) (*adminapi.Output[ProviderView], error) {
	before, err := a.provider(in.Name)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if b.BaseURL != nil || b.Options != nil || b.Free != nil || b.Key != nil {
		if err := a.changeProvider(ctx, c, before, in); err != nil {
			return nil, err
		}
	}
	if b.Enabled != nil {
		if err := a.switchProvider(ctx, c, before, *b.Enabled); err != nil {
			return nil, err
		}
	}
	after, err := a.provider(in.Name)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(providerView(after)), nil
}

// changeProvider changes the settings of a stored provider.
func (a *handlers) changeProvider(ctx context.Context, c *adminapi.Call, before *ProviderState, in *updateProviderInput) error {
	if !c.Actor.May(account.ConnectProviders) {
		return adminapi.Denied(c.Actor, account.ConnectProviders)
	}
	if a.Connector == nil {
		return errFixed()
	}
	b := &in.Body
	change := ConnectionChange{BaseURL: b.BaseURL, Options: b.Options, Free: b.Free, Key: b.Key}
	if err := a.Connector.Change(ctx, in.Name, change, c.Actor.AccountID); err != nil {
		return err
	}
	after, err := a.provider(in.Name)
	if err != nil {
		return err
	}
	note := connectionNote{BaseURL: after.BaseURL, Options: b.Options}
	if b.Key != nil {
		note.Key = "replaced"
	}
	return a.Record(ctx, c.Actor, "provider.update", in.Name, connectionNote{BaseURL: before.BaseURL}, note)
}

func (a *handlers) switchProvider(ctx context.Context, c *adminapi.Call, before *ProviderState, enabled bool) error {
	if a.Switch == nil {
		return llm.Errorf(llm.Conflict, "On this instance, providers can be enabled or disabled only in the configuration.")
	}
	if err := a.Switch.SetEnabled(ctx, before.Name, enabled); err != nil {
		return err
	}
	return a.Record(ctx, c.Actor, "provider.update", before.Name, switched{before.Enabled}, switched{enabled})
}

type switched struct {
	Enabled bool `json:"enabled"`
}

func testView(r ProbeResult) ProviderTest {
	return ProviderTest{
		OK: r.OK, Tested: !r.Untested, LatencyMS: adminapi.Millis(r.Latency), Status: adminapi.Positive(r.Status), Models: r.Models, Error: adminapi.NonEmpty(r.Error),
	}
}

// provider looks up a provider.
func (a *handlers) provider(name string) (*ProviderState, error) {
	providers := a.Fleet.Providers()
	for i := range providers {
		if providers[i].Name == name {
			return &providers[i], nil
		}
	}
	return nil, account.ErrNotFound
}

func providerView(s *ProviderState) ProviderView {
	v := ProviderView{
		Name: s.Name, Title: s.Title, BaseURL: s.BaseURL, Source: s.Source, ManagedBy: s.ManagedBy, Simulated: s.Simulated, Enabled: s.Enabled,
		Health: providerHealth(s), Credentials: make([]CredentialView, 0, len(s.Credentials)), Targets: targetViews(s.Targets), Catalog: s.CatalogModels,
	}
	for _, t := range s.Targets {
		if !t.Health.Denied && !t.Target.Listed {
			v.Available++
		}
	}
	for _, c := range s.Credentials {
		v.Credentials = append(v.Credentials, credentialView(c))
	}
	if s.Headroom != nil {
		v.Headroom = &HeadroomView{Requests: s.Headroom.Requests, Tokens: s.Headroom.Tokens, At: s.Headroom.At.UTC()}
	}
	return v
}

// providerHealth returns a summary of the health of a provider's targets.
func providerHealth(s *ProviderState) string {
	open, recovering, calls := 0, 0, int64(0)
	for _, t := range s.Targets {
		calls += t.Health.Calls
		switch t.Health.Circuit {
		case CircuitOpen:
			open++
		case CircuitHalfOpen:
			recovering++
		}
	}
	switch {
	case len(s.Targets) > 0 && open == len(s.Targets):
		return "down"
	case open > 0 && open+recovering < len(s.Targets):
		return "degraded"
	case recovering > 0:
		return "recovering"
	case calls == 0:
		return "unknown"
	}
	return "ok"
}
