package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// simulated returns a gateway in front of a simulator without delays and of a provider that must not be called.
func simulated(t *testing.T) *kit {
	t.Helper()
	k := newKit(t)
	sim := simulator.NewSimulator(simulator.Options{})
	models := sim.Models()
	var targets []*provider.Target
	for i, o := range sim.Offers() {
		targets = append(targets, &provider.Target{Provider: simulator.Provider, Model: &models[i], Upstream: o.Upstream, Price: o.Price, Simulated: true, FirstToken: 10 * time.Second})
	}
	p := compatible.New(
		compatible.Row{Name: simulator.Provider, ChatPath: "/chat/completions", EmbedPath: "/embeddings", ModelsPath: "/models"},
		provider.Settings{BaseURL: "http://simulator.invalid/v1", Targets: targets},
	)
	p.Simulated, p.Transport = true, simulator.Transport(sim)
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{k.provider("alpha", k.alpha, target("large", 2, 8)), p}, nil)
	k.gateway.Update(k.settings, k.snapshot)
	return k
}

// samplePolicies returns the policies that apply to sample traffic.
func samplePolicies(t *testing.T) *policy.Set {
	t.Helper()
	set, problems := policy.Parse("sample", []byte(simulator.Policies), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// sample sends one sample and returns its entry.
func (k *kit) sample(one simulator.SampleRequest, workspace *account.Workspace) *requestlog.Entry {
	k.Helper()
	ctx, leave := context.WithCancel(k.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway.invalid"+modelapi.Prefix+"/"+one.Endpoint, bytes.NewReader(one.Body))
	if err != nil {
		k.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range one.Header {
		req.Header.Set(name, value)
	}
	resp, err := simulator.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.gateway.ServeSampleRequest(w, r, workspace, gateway.SampleRequest{Endpoint: one.Endpoint, Key: requestlog.SampleKeys()[one.Key], Models: one.Models, Policies: samplePolicies(k.T)})
	})).RoundTrip(req)
	if err != nil {
		k.Fatal(err)
	}
	defer resp.Body.Close()
	if one.Leaves {
		_, _ = resp.Body.Read(make([]byte, 1))
		leave()
	} else {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	return k.entry()
}

func TestSampleTrafficIsCompleteAndChargesNoBudget(t *testing.T) {
	t.Parallel()
	k := simulated(t)
	broke := &account.Workspace{ID: "ws_1", Name: "Home", LogBodies: true, Budget: &account.Budget{Amount: 0, Period: account.Monthly}}
	seen := map[string]int{}
	note := func(what string, is bool) {
		if is {
			seen[what]++
		}
	}
	samples := simulator.Traffic()
	for _, one := range samples {
		e := k.sample(one, broke)
		if !e.Simulated || !requestlog.IsSampleKey(e.KeyID) || e.WorkspaceID != "ws_1" {
			t.Errorf("%s is not marked: %+v", one.Body, e)
		}
		saved, compared := e.Saved()
		seen[string(e.Outcome)]++
		note("decision "+string(e.DecisionKind), true)
		note(e.KeyName, true)
		note("stream", e.Stream)
		note("tool calls", e.Finish == "tool_calls")
		note("cached tokens", e.Usage.CacheRead > 0)
		note("reasoning", e.Usage.Reasoning > 0)
		note("saved", compared && saved > 0)
		note("expensive", compared && saved < 0)
		note("text not stored", e.BodyState == requestlog.BodyDisabledByRequest)
		note("text stored", e.BodyState == requestlog.BodyStored)
		note("session", e.Session != "")
		note("tags", len(e.Tags) > 0)
		note("embeddings", e.Endpoint == "embeddings")
		note("estimated usage", e.Usage.Estimated)
	}
	for _, what := range []string{
		"ok", "client_error", "upstream_error", "rejected", "cancelled", "partial", "decision expected", "decision fallback", "decision policy",
		"sample web app", "sample support bot", "sample batch jobs",
		"stream", "tool calls", "cached tokens", "reasoning", "saved", "expensive", "text not stored", "text stored", "session", "tags",
		"embeddings", "estimated usage",
	} {
		if seen[what] == 0 {
			t.Errorf("no sample shows %s: %v", what, seen)
		}
	}
	if seen["ok"] < len(samples)*2/3 {
		t.Errorf("only %d of %d samples were served", seen["ok"], len(samples))
	}
	if calls := k.alpha.Calls(); len(calls) > 0 {
		t.Errorf("a provider was called: %s", calls[0].Body)
	}
	if broke.Budget == nil || broke.Budget.Amount != money.Amount(0) {
		t.Errorf("budget of the workspace = %+v, want an unchanged amount of 0", broke.Budget)
	}
}

func TestSampleTrafficUsesOnlyItsModels(t *testing.T) {
	t.Parallel()
	k := simulated(t)
	one := simulator.Traffic()[0]
	one.Models = []string{"sim-nano"}
	one.Body = bytes.Replace(one.Body, []byte(`"auto"`), []byte(`"sim-large"`), 1)
	e := k.sample(one, &account.Workspace{ID: "ws_1"})
	if e.Outcome != requestlog.Rejected || e.Model != "" || !slices.Equal(e.Decision.Input.AllowedModels, one.Models) {
		t.Errorf("%+v", e)
	}
}
