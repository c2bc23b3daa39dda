package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the current time in all tests.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

const predictor = "predictor-1"

// fakeStore is an in-memory Archive and Keeper.
type fakeStore map[string][]byte

func (s fakeStore) KeepVersion(_ context.Context, kind, version string, body []byte) error {
	if _, kept := s[kind+version]; !kept {
		s[kind+version] = slices.Clone(body)
	}
	return nil
}

var errNotKept = errors.New("this version is not kept")

func (s fakeStore) KeptVersion(_ context.Context, kind, version string) ([]byte, error) {
	body, ok := s[kind+version]
	if !ok {
		return nil, errNotKept
	}
	return body, nil
}

// defaults loads the catalog once for all tests.
var defaults = sync.OnceValues(catalog.Default)

func knownModels(t testing.TB) *catalog.Catalog {
	t.Helper()
	known, err := defaults()
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// maker generates random decision inputs from a seed.
type maker struct {
	*rand.Rand
	catalog *catalog.Catalog
}

func newMaker(t testing.TB, seed uint64) maker {
	t.Helper()
	return maker{rand.New(rand.NewPCG(seed, 7)), knownModels(t)}
}

func (m maker) chance(share float64) bool { return m.Float64() < share }

func pick[T any](m maker, list ...T) T { return list[m.IntN(len(list))] }

// some returns a random selection of up to limit elements of a list.
func some[T any](m maker, list []T, limit int) []T {
	var out []T
	for range 1 + m.IntN(limit) {
		out = append(out, pick(m, list...))
	}
	return out
}

// abilities holds the abilities of models.
type abilities map[string]predict.Ability

func (a abilities) Ability(m *catalog.Model) predict.Ability { return a[m.Name] }

// snapshot returns random targets. No provider has all models.
func (m maker) snapshot(models, providers int) *route.Snapshot {
	rows := abilities{}
	var known []*catalog.Model
	for i := range models {
		model := &catalog.Model{
			Name: fmt.Sprintf("model-%02d", i), Op: llm.Chat, Vendor: pick(m, "openai", "anthropic", "mistral"),
			Context: pick[int64](m, 0, 8_000, 128_000, 1_000_000), MaxOutput: pick[int64](m, 0, 4096, 64_000),
			Abilities: llm.Abilities(m.Uint32N(1<<11)) | llm.Tools, Quality: m.Float64(), Deprecated: m.chance(0.05),
		}
		if m.chance(0.1) {
			model.Op, model.Dimensions = llm.Embed, []int64{1536}
		}
		if m.chance(0.3) {
			model.Aliases = []string{model.Name + "-latest"}
		}
		known = append(known, model)
		rows[model.Name] = m.ability()
	}
	var list []*provider.Provider
	for i := range providers {
		p := &provider.Provider{Name: fmt.Sprintf("provider-%d", i)}
		for j, model := range known {
			if m.chance(0.6) || i == j%providers {
				p.Targets = append(p.Targets, m.target(p.Name, model))
			}
		}
		list = append(list, p)
	}
	return route.NewSnapshot(m.catalog, list, rows)
}

func (m maker) ability() predict.Ability {
	a := predict.Ability{Source: predict.FromTable, Efforts: map[string]float64{"low": -m.Float64(), "high": m.Float64()}}
	for i := range a.Levels {
		a.Levels[i], a.Spreads[i] = m.NormFloat64(), m.Float64()
	}
	return a
}

func (m maker) target(providerName string, model *catalog.Model) *provider.Target {
	t := &provider.Target{
		Provider: providerName, Model: model, Upstream: model.Name, Retention: provider.Retention{Collects: m.chance(0.2), ZeroRetention: m.chance(0.5)},
		Traits: provider.Traits{InlineMedia: m.chance(0.2), Completes: m.chance(0.5)},
	}
	if m.chance(0.3) {
		t.Tags = []string{pick(m, "eu", "us")}
	}
	if m.chance(0.05) {
		return t
	}
	price := &catalog.Price{Input: m.rate(20), Output: m.rate(80), Source: "list"}
	if m.chance(0.5) {
		price.CacheRead, price.CacheWrite = new(price.Input/10), new(price.Input*5/4)
	}
	if m.chance(0.2) {
		price.Hours = []catalog.Hours{{Name: "off-peak", Factor: 500, Windows: []catalog.Window{{Last: time.Saturday, End: 720}}}}
	}
	if m.chance(0.2) {
		price.Tiers = []catalog.Tier{{Above: 10_000, Input: 2 * price.Input, Output: 2 * price.Output}}
	}
	t.Price = price
	return t
}

// rate returns a random price in dollars per million tokens, skewed toward small values.
func (m maker) rate(most float64) money.Rate {
	share := m.Float64()
	return money.PerMillion(most * share * share)
}

// policies returns random policies of an instance and a workspace, joined.
func (m maker) policies(snap *route.Snapshot) *policy.Set {
	names := NamesOf(snap, nil)
	part := func(name string) *policy.Set {
		if m.chance(0.3) {
			return nil
		}
		var list []policy.Policy
		for i := range 1 + m.IntN(5) {
			list = append(list, m.policy(fmt.Sprintf("rule-%d", i), names))
		}
		set, problems := policy.Parse(name, policy.Format(list), names)
		if len(problems) > 0 {
			panic(fmt.Sprintf("%v\n%s", problems, policy.Format(list)))
		}
		return set
	}
	return policy.Join(part("instance"), part("workspace"))
}

func (m maker) policy(name string, names policy.Inventory) policy.Policy {
	p := policy.Policy{Name: name, When: pick(m, "", "", `request.task == "code"`, `request.tokens > 2000 && request.stream`,
		`key.tags["team"] == "infra"`, `time.hour < 8`, `request.metadata["tier"] == "free"`, `request.language == "de" || request.tools`)}
	if m.chance(0.1) {
		p.Enabled = new(false)
	}
	if m.chance(0.05) {
		p.Deny = "Not here."
		return p
	}
	switch m.IntN(8) {
	case 0:
		p.Pin = pick(m, pick(m, names.Models...), pick(m, names.Targets...))
	case 1:
		p.Allow = &policy.Selector{Models: append(some(m, names.Models, 6), "model-0*")}
	case 2:
		p.Exclude = &policy.Selector{Providers: some(m, names.Providers, 1)}
	case 3:
		p.Exclude = &policy.Selector{Models: some(m, names.Models, 3)}
	case 4:
		p.Prefer = slices.Compact(slices.Sorted(slices.Values(some(m, names.Targets, 3))))
	case 5:
		p.Objective = pick(m, "cost", "quality", "speed", "0.7")
	case 6:
		p.MaxCost = money.Amount(1 + m.Int64N(int64(money.Dollar)/20))
	case 7:
		p.Baseline, p.MaxOutput, p.LogBodies = pick(m, names.Models...), 500, new(false)
	}
	return p
}

// corrections returns random corrections.
func (m maker) corrections(snap *route.Snapshot) *feedback.Corrections {
	shifts := map[string]map[predict.Family]float64{}
	for _, t := range snap.Targets() {
		if m.chance(0.3) {
			shifts[t.Model.Name] = map[predict.Family]float64{predict.Code: m.Float64(), predict.Chat: -0.3}
		}
	}
	body, err := json.Marshal(shifts)
	if err != nil {
		panic(err)
	}
	c, err := feedback.Decode(body)
	if err != nil {
		panic(err)
	}
	return c
}

// conditions returns random states of the targets.
func (m maker) conditions(snap *route.Snapshot) route.Conditions {
	states, warm := map[string]route.State{}, map[string]route.CacheHit{}
	for _, t := range snap.Targets() {
		var s route.State
		if m.chance(0.7) {
			s.Latency, s.TokensPS = time.Duration(m.Int64N(int64(5*time.Second))), 200*m.Float64()
		}
		s.Open = m.chance(0.1)
		if m.chance(0.05) {
			s.BackingOff = time.Duration(m.Int64N(int64(time.Minute)))
		}
		states[t.ID()] = s
		if m.chance(0.3) {
			warm[t.ID()] = route.CacheHit{Read: m.Int64N(30_000), Write: m.Int64N(2) * m.Int64N(5000), Long: m.chance(0.1), Caches: m.chance(0.7)}
		}
	}
	return route.Conditions{
		State: func(target string) route.State { return states[target] },
		CacheHit: func(t *provider.Target, prompt int64, _ bool) route.CacheHit {
			w := warm[t.ID()]
			w.Read = min(w.Read, prompt)
			return w
		},
	}
}

// input returns a random request.
func (m maker) input(snap *route.Snapshot) route.Input {
	in := route.Input{
		Op: llm.Chat, Format: "chat", Model: "auto", Objective: route.Objective{Name: "auto", Tradeoff: 0.5}, Prediction: route.Prediction{Predictor: predictor, Features: m.features()},
		PromptSize: route.PromptSize{InputTokens: m.Int64N(20_000)}, ResponseOptions: route.ResponseOptions{Choices: 1 + m.IntN(2)*m.IntN(2), Stream: m.chance(0.5)}, PromptParts: route.PromptParts{Messages: 1 + m.IntN(9)},
		At: noon.Add(-time.Duration(m.Int64N(int64(90 * 24 * time.Hour)))).Truncate(time.Second), History: route.History{Turns: m.IntN(2) * m.IntN(12)},
		Caller: route.Caller{Workspace: condition.Workspace{ID: "ws_1", Name: "one"}},
	}
	if m.chance(0.3) {
		in.Text.Add(fmt.Sprintf("Please translate these %d words into German: Ärger, größer, schön.", m.IntN(1000)))
	}
	if m.chance(0.2) {
		in.Objective = route.Objective{Name: "number", Tradeoff: m.Float64()}
	}
	if m.chance(0.2) {
		in.MaxOutput = m.Int64N(9000)
	}
	if m.chance(0.3) {
		in.Needs = llm.Abilities(1 << m.IntN(11))
	}
	if m.chance(0.6) {
		in.Key = condition.Key{ID: "key_1", Name: "ci", Tags: map[string]string{"team": pick(m, "infra", "web")}}
		in.Metadata = map[string]string{"tier": pick(m, "free", "paid")}
	}
	if in.Turns > 0 && m.chance(0.5) {
		in.Last, in.Conversation.Loop = pick(m, snap.Targets()...).ID(), m.chance(0.3)
	}
	m.controls(&in, snap)
	return in
}

func (m maker) controls(in *route.Input, snap *route.Snapshot) {
	target := pick(m, snap.Targets()...)
	switch m.IntN(12) {
	case 0:
		in.Model = target.Model.Name
	case 1:
		in.Model, in.Op = target.ID(), target.Model.Op
	case 2:
		in.Controls.Models = []string{target.Model.Name, pick(m, snap.Targets()...).Model.Name}
	case 3:
		in.Controls.Provider.Order = []string{target.Provider}
		in.Controls.Provider.NoFallbacks = m.chance(0.5)
	case 4:
		in.Controls.Provider.Sort = pick(m, "price", "latency")
	case 5:
		in.Controls.Provider.MaxPrice = &llm.MaxPrice{Prompt: new(20 * m.Float64())}
	case 6:
		in.AllowedModels = []string{target.Model.Name, "model-0*"}
	case 7:
		in.Baseline = route.Baseline{Model: target.Model.Name, Source: pick(m, route.BaselineHeader, route.BaselineKey, route.BaselineDefault)}
	case 8:
		in.Op, in.PinnedEmbed = llm.Embed, pick(m, "", target.Model.Name)
	}
}

func (m maker) features() predict.Features {
	return predict.Features{
		Task: pick(m, predict.Families()...), Difficulty: 3 * m.Float64(), Output: m.Int64N(2000), Language: pick(m, "", "en", "de"), Known: m.Float64(),
	}
}

// stored encodes and decodes the decision.
func stored(t testing.TB, d *route.Decision) *route.Decision {
	t.Helper()
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back route.Decision
	if err := json.Unmarshal(body, &back); err != nil {
		t.Fatal(err)
	}
	return &back
}

// entry returns the log entry of a request that was served by its first choice.
func (m maker) entry(n int, d *route.Decision, snap *route.Snapshot) requestlog.Entry {
	at := noon.Add(-time.Duration(n) * time.Second)
	e := requestlog.Entry{ID: id.Floor("req", at), Owner: requestlog.Owner{WorkspaceID: "ws_1"}, Timing: requestlog.Timing{Time: at}, Call: requestlog.Call{Requested: d.Input.Model}, Routing: requestlog.Routing{Decision: d, Versions: d.Versions}, Result: requestlog.Result{Outcome: requestlog.OK}}
	if len(d.Plan) == 0 {
		e.Outcome = requestlog.Rejected
		return e
	}
	first := d.Plan[0]
	e.Model, e.Provider = first.Model.Name, first.Provider
	e.Usage = llm.Usage{Input: 1 + m.Int64N(5000), CacheRead: m.Int64N(2) * m.Int64N(5000), Output: 1 + m.Int64N(900)}
	if first.Price != nil {
		e.Cost = new(first.Price.At(d.Input.At).Cost(e.Usage))
	}
	if d.Baseline != nil {
		if price := snap.Price(d.Baseline.Model); price != nil {
			e.BaselineCost = new(price.Cost(e.Usage))
		}
	}
	return e
}

// row converts an entry to the row that the store would return for it.
func row(t testing.TB, e *requestlog.Entry) Row {
	t.Helper()
	summary := *e
	summary.Decision = nil
	text, err := json.Marshal(&summary)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := json.Marshal(map[string]any{"trace": e.Decision, "bill": nil})
	if err != nil {
		t.Fatal(err)
	}
	return Row{ID: e.ID, Summary: text, Trace: func(room []byte) ([]byte, error) { return append(room, trace...), nil }}
}

// traffic is an in-memory Source.
type traffic []Row

func (s traffic) Traced(ctx context.Context, _ requestlog.Filter, before string, limit int) ([]Row, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	start := 0
	if before != "" {
		start = slices.IndexFunc(s, func(r Row) bool { return r.ID == before }) + 1
	}
	end := min(start+limit, len(s))
	next := ""
	if end < len(s) {
		next = s[end-1].ID
	}
	return s[start:end], next, nil
}

// parse parses valid policies.
func parse(t testing.TB, snap *route.Snapshot, source string) *policy.Set {
	t.Helper()
	set, problems := policy.Parse("workspace", []byte(source), NamesOf(snap, nil))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}
