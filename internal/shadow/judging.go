package shadow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/transcript"
	"fairlead.dev/internal/wire/openai"
)

// judge compares the responses: checks first, then the hook, then the judge model.
func (c *comparison) judge(ctx context.Context, x *judge.Exchange) {
	r := &c.record
	r.State, r.Reason = proof.Unjudged, "No check applies, and no hook or judge model is configured."
	verdict, ok := judge.Check(ctx, x)
	if !ok && c.settings.Hook != "" && c.served.Stored {
		v, err := c.askHook(ctx, x)
		if verdict, ok = v, err == nil; err != nil {
			r.Reason = "The hook failed: " + err.Error()
		}
	}
	if !ok && c.settings.Judge != "" {
		v, err := c.askJudge(ctx, x)
		if verdict, ok = v, err == nil; err != nil {
			r.Reason = "The judge model gave no verdict: " + err.Error()
		}
	}
	if ok {
		r.State, r.Difference, r.Method, r.Reason = proof.Compared, verdict.Difference, verdict.Method, verdict.Reason
	}
}

const (
	hookTime  = 30 * time.Second
	hookBytes = 64 << 10 // maximum size of a hook's response
)

// hookRequest is the body that a hook receives.
type hookRequest struct {
	RequestID string          `json:"request_id"`
	Task      string          `json:"task"`
	Request   json.RawMessage `json:"request"` // original request in the chat format
	Routed    judge.Response  `json:"routed"`
	Baseline  judge.Response  `json:"baseline"`
}

// askHook requests a score from the workspace's hook.
func (c *comparison) askHook(ctx context.Context, x *judge.Exchange) (judge.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	body, err := json.Marshal(hookRequest{c.served.Call.ID, x.Task, x.Request, x.Routed, x.Baseline})
	if err != nil {
		return judge.Verdict{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.Hook, bytes.NewReader(body))
	if err != nil {
		return judge.Verdict{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead")
	resp, err := c.o.Hooks.Do(req)
	if err != nil {
		return judge.Verdict{}, err
	}
	defer func() { _ = resp.Body.Close() }() // the error is ignored, because the response has been read
	if resp.StatusCode != http.StatusOK {
		return judge.Verdict{}, fmt.Errorf("status %d", resp.StatusCode)
	}
	var answer struct {
		Score  *float64 `json:"score"`
		Reason string   `json:"reason"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, hookBytes)).Decode(&answer); err != nil {
		return judge.Verdict{}, errors.New("the response is not JSON")
	}
	if answer.Score == nil || !(*answer.Score >= -1 && *answer.Score <= 1) {
		return judge.Verdict{}, errors.New("the response has no score between -1 and 1")
	}
	return judge.Verdict{Difference: *answer.Score, Method: judge.Hook, Reason: answer.Reason}, nil
}

// askJudge calls the workspace's judge model with the responses in both orders.
func (c *comparison) askJudge(ctx context.Context, x *judge.Exchange) (judge.Verdict, error) {
	if err := CheckVendor(c.o.Caller.Targets(), c.settings.Judge, c.record.Model, c.record.Baseline); err != nil {
		return judge.Verdict{}, err
	}
	bias, err := c.measured(ctx)
	if err != nil {
		return judge.Verdict{}, err
	}
	if bias.Refused != "" {
		return judge.Verdict{}, fmt.Errorf("the judge failed the bias measurement: %s", bias.Refused)
	}
	c.record.Versions = judge.PromptVersion
	return judge.Compare(ctx, c.ask, x, gateway.UniformHash("order "+c.served.Call.ID) < 0.5)
}

// CheckVendor returns an error if the judge and one of the models are from the same vendor, because a judge may prefer responses from its
// own vendor. Simulated models have no such preference.
func CheckVendor(snap *route.Snapshot, judging string, models ...string) error {
	vendor, simulated := vendorOf(snap, judging)
	for _, m := range models {
		if v, _ := vendorOf(snap, m); v == vendor && vendor != "" && !simulated {
			return fmt.Errorf("judge %s and model %s are both from %s", judging, m, vendor)
		}
	}
	return nil
}

func vendorOf(snap *route.Snapshot, model string) (vendor string, simulated bool) {
	if targets := snap.Named(model); len(targets) > 0 {
		return targets[0].Model.Vendor, targets[0].Simulated
	}
	if m, ok := snap.Catalog.Model(model); ok {
		return m.Vendor, false
	}
	return "", false
}

// dataRules are the exclusions that also apply to a judge: they limit which providers receive the request text.
var dataRules = []route.Reason{route.ExcludedByPolicy, route.ProviderIgnored, route.DataCollection, route.DataRetention, route.NotRequested}

// ask sends a prompt to the judge model and returns its response.
func (c *comparison) ask(ctx context.Context, p judge.Prompt) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": c.settings.Judge, "provider": dataPreferences(c.served.Decision.Input.Controls.Provider),
		"messages": []map[string]string{{"role": "system", "content": p.System}, {"role": "user", "content": p.User}},
	})
	if err != nil {
		return "", err
	}
	key := *c.grant.Key
	key.AllowedModels = nil // the key's list does not apply, because the workspace chose the judge
	call := gateway.Call{
		Route: gateway.Route{Path: "/chat/completions", Op: llm.Chat, Format: openai.Format{}}, Grant: &account.Grant{Key: &key, Workspace: c.grant.Workspace},
		Tags: c.served.Call.Tags, Body: body, // policies may match on tags
	}
	entry, err := c.call(ctx, call, gateway.ShadowTerms{
		Model: c.settings.Judge, MaxOutput: judgeOutput,
		Excluded: func(t *provider.Target) bool { return slices.Contains(dataRules, c.excluded[t.ID()]) },
	})
	if err != nil {
		return "", errors.New(failureOf(entry, err, c.served.Stored))
	}
	_, response := transcript.AsChat(entry.Format, entry.Body) //nolint:contextcheck // AsChat only converts data in memory
	parsed, ok := judge.ParseResponse(response)
	if !ok {
		return "", judge.ErrAnswer
	}
	return parsed.Text, nil
}

// dataPreferences returns the preferences of a request that limit which providers may receive its text.
func dataPreferences(p llm.ProviderPreferences) map[string]any {
	preferences := map[string]any{}
	if len(p.Only) > 0 {
		preferences["only"] = p.Only
	}
	if len(p.Ignore) > 0 {
		preferences["ignore"] = p.Ignore
	}
	if p.DenyCollection {
		preferences["data_collection"] = "deny"
	}
	if p.ZeroRetention {
		preferences["zdr"] = true
	}
	return preferences
}

// judgeState is the measured bias of a judge in a workspace.
type judgeState struct {
	mu    sync.Mutex
	known bool
	bias  judge.Bias
	err   error // error of the last measurement; nil if it succeeded
	retry time.Time
}

// errMeasuring is returned while the judge's bias is being measured.
var errMeasuring = errors.New("the bias of the judge is still being measured")

// measurePause is the minimum time between two attempts to measure a judge's bias.
const measurePause = 5 * time.Minute

// measured returns the bias of the judge. It measures the bias before the first use of a judge.
func (c *comparison) measured(ctx context.Context) (judge.Bias, error) {
	key := c.record.Workspace + "\x00" + c.settings.Judge
	c.mu.Lock()
	state := c.judges[key]
	if state == nil {
		state = &judgeState{}
		c.judges[key] = state
	}
	c.mu.Unlock()
	if !state.mu.TryLock() { // waiting would delay the comparisons of other workspaces
		return judge.Bias{}, errMeasuring
	}
	defer state.mu.Unlock()
	if state.known || time.Now().Before(state.retry) {
		return state.bias, state.err
	}
	bias, _, ok, err := c.o.Store.Bias(ctx, c.record.Workspace, c.settings.Judge, judge.PromptVersion)
	if err == nil && !ok {
		bias, err = c.measure(ctx)
	}
	state.bias, state.err, state.known = bias, err, err == nil
	if err != nil {
		state.retry = time.Now().Add(measurePause)
	}
	return bias, err
}

// measure measures and stores the bias of the judge.
func (c *comparison) measure(ctx context.Context) (judge.Bias, error) {
	bias, err := judge.Measure(ctx, c.ask)
	if err != nil {
		return bias, err
	}
	return bias, c.o.Store.SaveBias(ctx, c.record.Workspace, c.settings.Judge, judge.PromptVersion, bias, time.Now())
}

// Measure measures the bias of a judge for a workspace, and stores it. The calls are charged to the comparison budget in s.
func (c *Comparer) Measure(ctx context.Context, workspace *account.Workspace, s *account.Comparison) (judge.Bias, error) {
	if err := CheckVendor(c.o.Caller.Targets(), s.Judge, s.Baseline); err != nil {
		return judge.Bias{}, err
	}
	key := &account.Key{ID: "comparison", WorkspaceID: workspace.ID, KeySettings: account.KeySettings{Name: "comparison", Scopes: []account.Scope{account.Inference}}}
	grant := shadowGrant(&account.Grant{Key: key, Workspace: workspace}, s)
	run := &comparison{Comparer: c, settings: s, grant: grant, served: &gateway.Served{Decision: &route.Decision{}}}
	run.record.Workspace = workspace.ID
	bias, err := run.measure(ctx)
	if err != nil {
		return bias, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.judges[workspace.ID+"\x00"+s.Judge] = &judgeState{known: true, bias: bias}
	return bias, nil
}
