package route

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
)

var update = flag.Bool("update", false, "rewrite the plans of the scenarios")

// TestScenarios runs the files of testdata: targets, their health, a request, and the expected plan.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runScenario(t, file)
		})
	}
}

func runScenario(t *testing.T, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var snap *Snapshot
	states := map[string]State{}
	var in Input
	cached := map[string]CacheHit{}
	var policies *policy.Set
	changed := false
	for i, part := range archive.Files {
		text := string(part.Data)
		switch part.Name {
		case "targets":
			snap = readTargets(t, text)
		case "health":
			states = readHealth(t, text)
		case "cached":
			cached = readCached(t, text)
		case "policies":
			policies = readPolicies(t, part.Data)
		case "request":
			in = readRequest(t, text)
		case "plan":
			d, err := Decide(&in, snap, Conditions{
				State: func(id string) State { return states[id] }, CacheHit: func(t *provider.Target, _ int64, _ bool) CacheHit { return cached[t.ID()] },
				Policies: policies,
			})
			got := plan(d, err)
			if *update && got != text {
				archive.Files[i].Data, changed = []byte(got), true
				continue
			}
			if diff := cmp.Diff(text, got); diff != "" {
				t.Errorf("%splan (-want +got):\n%s", archive.Comment, diff)
			}
		default:
			t.Fatalf("unknown part %q", part.Name)
		}
	}
	if changed {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// readTargets reads lines such as "alpha/big in=5 out=15 quality=0.9 context=200000 can=tools+vision".
func readTargets(t *testing.T, text string) *Snapshot {
	t.Helper()
	models := map[string]*catalog.Model{}
	providers := map[string]*provider.Provider{}
	var order []*provider.Provider
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		providerName, modelName, _ := strings.Cut(words[0], "/")
		m := models[modelName]
		if m == nil {
			m = &catalog.Model{Name: modelName, Op: llm.Chat}
			models[modelName] = m
		}
		target := &provider.Target{Provider: providerName, Model: m, Upstream: modelName}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			readTargetWord(t, target, name, value)
		}
		p := providers[providerName]
		if p == nil {
			p = &provider.Provider{Name: providerName}
			providers[providerName] = p
			order = append(order, p)
		}
		p.Targets = append(p.Targets, target)
	}
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return NewSnapshot(cat, order, nil)
}

func readTargetWord(t *testing.T, target *provider.Target, name, value string) {
	t.Helper()
	m := target.Model
	price := func() *catalog.Price {
		if target.Price == nil {
			target.Price = &catalog.Price{}
		}
		return target.Price
	}
	switch name {
	case "in":
		price().Input = money.PerMillion(number(t, value))
	case "out":
		price().Output = money.PerMillion(number(t, value))
	case "cache_read":
		rate := money.PerMillion(number(t, value))
		price().CacheRead = &rate
	case "cache_write":
		rate := money.PerMillion(number(t, value))
		price().CacheWrite = &rate
	case "tags":
		target.Tags = strings.Split(value, "+")
	case "quality":
		m.Quality = number(t, value)
	case "context":
		m.Context = int64(number(t, value))
	case "max_output":
		m.MaxOutput = int64(number(t, value))
	case "dimensions":
		m.Dimensions = []int64{int64(number(t, value))}
	case "embedding":
		m.Op = llm.Embed
	case "moderation":
		m.Op = llm.Moderate
	case "fixed_sampling":
		m.FixedSampling = true
	case "deprecated":
		m.Deprecated = true
	case "collects":
		target.Collects = true
	case "inline_media":
		target.InlineMedia = true
	case "completes":
		target.Completes = true
	case "can":
		m.Abilities |= abilitySet(t, value)
	case "cannot_carry":
		target.Lacks |= abilitySet(t, value)
	default:
		t.Fatalf("unknown word %q of a target", name)
	}
}

func abilitySet(t *testing.T, value string) llm.Abilities {
	t.Helper()
	var set llm.Abilities
	for ability := range strings.SplitSeq(value, "+") {
		one, err := llm.ParseAbility(ability)
		if err != nil {
			t.Fatal(err)
		}
		set |= one
	}
	return set
}

// readHealth reads lines such as "alpha/big open", "alpha/big backing_off 20s", "alpha/big latency 300ms".
func readHealth(t *testing.T, text string) map[string]State {
	t.Helper()
	states := map[string]State{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		s := states[words[0]]
		switch words[1] {
		case "open":
			s.Open = true
		case "backing_off":
			s.BackingOff = duration(t, words[2])
		case "rejected":
			s.BackingOff, s.Rejected = duration(t, words[2]), true
		case "denied":
			s.BackingOff, s.Rejected, s.Denied = duration(t, words[2]), true, true
		case "quota_wait":
			s.QuotaWait = duration(t, words[2])
		case "latency":
			s.Latency = duration(t, words[2])
		case "tokens_per_second":
			s.TokensPS = number(t, words[2])
		default:
			t.Fatalf("unknown state %q", words[1])
		}
		states[words[0]] = s
	}
	return states
}

// readCached reads lines such as "alpha/big read=8000 caches".
func readCached(t *testing.T, text string) map[string]CacheHit {
	t.Helper()
	all := map[string]CacheHit{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var w CacheHit
		for _, word := range words[1:] {
			switch name, value, _ := strings.Cut(word, "="); name {
			case "read":
				w.Read = int64(number(t, value))
			case "write":
				w.Write = int64(number(t, value))
			case "caches":
				w.Caches = true
			default:
				t.Fatalf("unknown cache property %q", word)
			}
		}
		all[words[0]] = w
	}
	return all
}

func readPolicies(t *testing.T, text []byte) *policy.Set {
	t.Helper()
	set, problems := policy.Parse("test", text, policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// readRequest reads words such as model=auto tokens=1000 needs=tools only=alpha,beta.
func readRequest(t *testing.T, text string) Input {
	t.Helper()
	in := Input{Op: llm.Chat, Model: "auto", PromptSize: PromptSize{InputTokens: 1000}, ResponseOptions: ResponseOptions{Choices: 1}}
	in.Features = predict.Features{Task: predict.Chat, Difficulty: middling, Output: 350} // at this difficulty, the quality of a model is its success probability
	tradeoff := ""
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		list := strings.Split(value, ",")
		controls := &in.Controls.Provider
		switch name {
		case "model":
			in.Model = value
		case "task":
			in.Features.Task = predict.Family(value)
		case "difficulty":
			in.Features.Difficulty = number(t, value)
		case "turns":
			in.Turns = int(number(t, value))
		case "last":
			in.Last = value
		case "loop":
			in.Conversation.Loop = true
		case "purpose":
			in.Conversation.Purpose = predict.Purpose(value)
		case "inherited":
			in.Conversation.Inherited = int(number(t, value))
		case "trouble":
			in.Conversation.Trouble.Level = int(number(t, value))
		case "same_errors":
			in.Conversation.Trouble.SameErrors = int(number(t, value))
		case "failing":
			in.Conversation.Trouble.Failing = int(number(t, value))
		case "recovered":
			in.Conversation.Trouble.Recovered = true
		case "team":
			in.Key = condition.Key{ID: "key_1", Name: "ci", Tags: map[string]string{"team": value}}
		case "image_urls":
			in.ImageURLs = int(number(t, value))
		case "best_effort":
			controls.BestEffort = true
		case "completion":
			in.Op = llm.Complete
		case "moderations":
			in.Op = llm.Moderate
		case "models":
			in.Controls.Models = list
		case "tokens":
			in.InputTokens = int64(number(t, value))
		case "max_output":
			in.MaxOutput = int64(number(t, value))
		case "needs":
			for ability := range strings.SplitSeq(value, "+") {
				one, err := llm.ParseAbility(ability)
				if err != nil {
					t.Fatal(err)
				}
				in.Needs |= one
			}
		case "sampling":
			in.Sampling = list
		case "tradeoff":
			tradeoff = value
		case "embeddings":
			in.Op = llm.Embed
		case "pinned":
			in.PinnedEmbed = value
		case "dimensions":
			in.Dimensions = int64(number(t, value))
		case "longest":
			in.Longest = number(t, value)
		case "allowed":
			in.AllowedModels = list
		case "allow_unpriced":
			in.AllowUnpriced = true
		case "baseline":
			in.Baseline = Baseline{Model: value, Source: "key"}
		case "only":
			controls.Only = list
		case "ignore":
			controls.Ignore = list
		case "order":
			controls.Order = list
		case "sort":
			controls.Sort = value
		case "no_fallbacks":
			controls.NoFallbacks = true
		case "require_parameters":
			controls.RequireParameters = true
		case "deny_collection":
			controls.DenyCollection = true
		case "max_prompt_price":
			limit := number(t, value)
			controls.MaxPrice = &llm.MaxPrice{Prompt: &limit}
		default:
			t.Fatalf("unknown word %q of a request", name)
		}
	}
	objective, err := ParseObjective(in.Model, in.Routed(), tradeoff)
	if err != nil {
		t.Fatal(err)
	}
	in.Objective = objective
	return in
}

// plan formats a decision for the scenario files.
func plan(d *Decision, err error) string {
	var b strings.Builder
	for _, c := range d.Candidates {
		if c.Excluded == nil {
			fmt.Fprintf(&b, "%d. %s\n", c.Rank, c.Target)
		}
	}
	for _, c := range d.Candidates {
		if c.Excluded != nil {
			fmt.Fprintf(&b, "excluded %s: %s, %s\n", c.Target, c.Excluded.Code, c.Excluded.Reason())
		}
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		fmt.Fprintf(&b, "refused %s: %s\n", e.Kind.Code(), e.Message)
		return b.String()
	}
	fmt.Fprintf(&b, "decision %s\n", d.Kind)
	switch {
	case d.Alone != "":
		fmt.Fprintf(&b, "policy %s instead of %s\n", d.Policy, d.Alone)
	case d.Policy != "":
		fmt.Fprintf(&b, "policy %s instead of a refusal\n", d.Policy)
	}
	for i := range d.Policies {
		if hit := &d.Policies[i]; hit.Matched {
			fmt.Fprintf(&b, "matched %s: %s\n", hit.Name, hit.Effect())
		} else {
			fmt.Fprintf(&b, "skipped %s: %s\n", hit.Name, hit.Reason())
		}
	}
	for _, a := range d.Adjustments {
		fmt.Fprintf(&b, "adjusted %s: %s\n", a.Code, a.Reason)
	}
	fmt.Fprintf(&b, "because: %s\n", d.Because)
	if d.Stay != nil {
		fmt.Fprintf(&b, "stayed at %s (%s): switching to %s would cost $%s\n", d.Stay.Target, d.Stay.Reason, d.Stay.Alternative, d.Stay.Switch)
	}
	if d.Baseline != nil {
		fmt.Fprintf(&b, "baseline %s (%s)\n", d.Baseline.Model, d.Baseline.Source)
	}
	return b.String()
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
