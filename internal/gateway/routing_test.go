package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

// ruled returns a kit with policies.
func ruled(t *testing.T, source string, adjust ...func(*kit)) *kit {
	t.Helper()
	set, problems := policy.Parse("workspace", []byte(source), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return newKit(t, append(adjust, func(k *kit) { k.policies = fixedPolicies{set} })...)
}

type fixedPolicies struct{ set *policy.Set }

func (f fixedPolicies) For(string) *policy.Set { return f.set }

func TestPolicyDisablesStoringText(t *testing.T) {
	t.Parallel()
	k := ruled(t, `policies: [{name: quiet, log_bodies: false}]`)

	k.post("/chat/completions", hello)

	if e := k.entry(); e.BodyState != requestlog.BodyDisabledByPolicy || len(e.Body.Request)+len(e.Body.Response) != 0 || e.Preview != "" {
		t.Errorf("state %s, text %q, preview %q", e.BodyState, e.Body.Request, e.Preview)
	}
}

func TestPolicyLimitsTheOutput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ limit, asked, want string }{
		"no limit":                         {"100", ``, `"max_tokens":100`},
		"higher limit":                     {"100", `"max_tokens":5000,`, `"max_tokens":100`},
		"lower limit":                      {"100", `"max_tokens":50,`, `"max_tokens":50`},
		"other member":                     {"100", `"max_completion_tokens":5000,`, `"max_completion_tokens":100`},
		"policy above the model's maximum": {"50000", ``, `"max_tokens":8000`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := ruled(t, `policies: [{name: short, max_output_tokens: `+tc.limit+`}]`)
			got := k.post("/chat/completions", strings.Replace(hello, `{`, `{`+tc.asked, 1))
			if got.status != 200 {
				t.Fatalf("status %d, want 200: %s", got.status, got.body)
			}
			if sent := string(k.alpha.Calls()[0].Body); !strings.Contains(sent, tc.want) || strings.Contains(sent, "5000") {
				t.Errorf("sent %s, want %s", sent, tc.want)
			}
		})
	}
}

func TestDryRunDecidesWithoutCallingAProvider(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/chat/completions", withModel("auto"), "X-Fairlead-Dry-Run", "true")

	body := got.json(t)
	decision, _ := body["decision"].(map[string]any)
	if got.status != 200 || body["object"] != "fairlead.decision" || decision["kind"] != "expected" || decision["candidates"] == nil {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if len(k.alpha.Calls())+len(k.beta.Calls())+len(k.log.ended)+len(k.log.begun) != 0 {
		t.Errorf("the dry run made %d calls and %d log entries", len(k.alpha.Calls())+len(k.beta.Calls()), len(k.log.ended)+len(k.log.begun))
	}
	if rejected := k.post("/chat/completions", withModel("nothing"), "X-Fairlead-Dry-Run", "true"); rejected.code(t) != "MODEL_NOT_FOUND" || len(k.log.ended) != 0 {
		t.Errorf("%d %s", rejected.status, rejected.body)
	}
}

func TestDryRunDoesNotPinAnEmbeddingModel(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/embeddings", `{"model":"auto","input":"a"}`, "X-Fairlead-Dry-Run", "true")

	if got.status != 200 || k.pins.model != "" {
		t.Errorf("%d, pinned %q", got.status, k.pins.model)
	}
}

func TestInvalidFlagsRejectTheRequestAndStoreNoText(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"X-Fairlead-Dry-Run", "X-Fairlead-Log-Body"} {
		k := newKit(t)
		got := k.post("/chat/completions", strings.Replace(hello, "hello", "canary-word", 1), header, "perhaps")
		if got.status != 400 || got.code(t) != "INVALID_REQUEST" || !strings.Contains(got.body, header) {
			t.Errorf("%s: %d %s", header, got.status, got.body)
		}
		if len(k.alpha.Calls()) != 0 {
			t.Errorf("%s: %d calls to alpha, want 0", header, len(k.alpha.Calls()))
		}
		if e := k.entry(); e.BodyState == requestlog.BodyStored || e.Preview != "" || len(e.Body.Request) != 0 {
			t.Errorf("%s: the entry holds text: %+v", header, e)
		}
	}
}

// fakeFeedback accepts every rating.
type fakeFeedback struct{ taken []feedback.Rating }

func (*fakeFeedback) For(string) *feedback.Corrections { return nil }

func (f *fakeFeedback) Rate(_ context.Context, r feedback.Rating) (feedback.Rating, error) {
	if r.RequestID == "req_unknown" {
		return r, llm.Errorf(llm.NotFound, "Request not found.")
	}
	f.taken = append(f.taken, r)
	r.ID, r.Model = "rat_1", "large"
	return r, nil
}

func TestFeedbackIsValidatedAndStored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body   string
		status int
		code   string
		score  float64
	}{
		"a score":               {`{"request_id":"req_1","score":0.25}`, 200, "", 0.25},
		"a label":               {`{"request_id":"req_1","label":"good","comment":"nice"}`, 200, "", 1},
		"neither":               {`{"request_id":"req_1"}`, 400, "INVALID_REQUEST", 0},
		"unknown label":         {`{"request_id":"req_1","label":"meh?"}`, 400, "INVALID_REQUEST", 0},
		"no JSON":               {`{"request_id":`, 400, "INVALID_JSON", 0},
		"unknown member":        {`{"request_id":"req_1","score":1,"stars":5}`, 400, "INVALID_REQUEST", 0},
		"wrong type":            {`{"request_id":"req_1","score":"1"}`, 400, "INVALID_REQUEST", 0},
		"repeated key":          {`{"request_id":"req_1","score":1,"score":0}`, 400, "INVALID_REQUEST", 0},
		"escaped repeat":        {`{"request_id":"req_1","score":1,"\u0073core":0}`, 400, "INVALID_REQUEST", 0},
		"confusable key":        {`{"request_id":"req_1","score":1,"Score":0}`, 400, "INVALID_REQUEST", 0},
		"only a confusable key": {`{"request_id":"req_1","SCORE":0}`, 400, "INVALID_REQUEST", 0},
		"trailing data":         {`{"request_id":"req_1","score":1}{"score":0}`, 400, "INVALID_JSON", 0},
		"a list":                {`[1]`, 400, "INVALID_REQUEST", 0},
		"too large":             {`{"request_id":"req_1","comment":"` + strings.Repeat("x", 9<<10) + `"}`, 413, "PAYLOAD_TOO_LARGE", 0},
		"unknown request":       {`{"request_id":"req_unknown","score":1}`, 404, "NOT_FOUND", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := &fakeFeedback{}
			k := newKit(t, func(k *kit) { k.feedback = book })
			got := k.post("/feedback", tc.body)
			if got.status != tc.status {
				t.Fatalf("status %d, want %d: %s", got.status, tc.status, got.body)
			}
			if tc.code != "" {
				if got.code(t) != tc.code {
					t.Errorf("code %s, want %s", got.code(t), tc.code)
				}
				return
			}
			if len(book.taken) != 1 || book.taken[0].Score != tc.score || book.taken[0].WorkspaceID != "ws_1" || book.taken[0].KeyID != "key_1" {
				t.Errorf("stored ratings %+v, want one with score %v", book.taken, tc.score)
			}
		})
	}
	k := newKit(t)
	if got := k.post("/feedback", `{}`, "Authorization", "Bearer bad"); got.status != 401 {
		t.Errorf("wrong key: status %d, want 401", got.status)
	}
}

// talk returns a conversation with the given number of turns and a long first message.
func talk(model string, turns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"messages":[{"role":"system","content":%q}`, model, strings.Repeat("Always answer in full sentences. ", 400))
	for i := range turns {
		if i > 0 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":"answer %d"}`, i)
		}
		fmt.Fprintf(&b, `,{"role":"user","content":"question %d"}`, i+1)
	}
	return b.String() + `]}`
}

func TestConversationStaysWhereItsPromptIsCached(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.prefixes = promptcache.NewMemory(1000) })
	for _, target := range k.snapshot.Targets() {
		if target.Price != nil {
			cached := target.Price.Input / 10
			target.Price.CacheRead, target.Vendor = &cached, "openai"
		}
	}
	first := k.post("/chat/completions", talk("large", 1))
	if first.status != 200 {
		t.Fatal(first.body)
	}
	before := k.entry()
	k.post("/chat/completions", talk("large", 2))
	after := k.entry()

	served := before.Provider + "/" + before.Model
	if after.Decision.Input.Last != served || after.Decision.Input.Turns != 1 {
		t.Errorf("turns %d, last %q; want 1 and %s", after.Decision.Input.Turns, after.Decision.Input.Last, served)
	}
	req, err := k.decode(talk("large", 2))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := k.gateway.Explain(t.Context(), gateway.Call{Grant: k.keys.grant}, req, nil); err != nil || d.Input.Last != served {
		t.Errorf("explained with the last target %q, %v; want %s", d.Input.Last, err, served)
	}
	for _, c := range after.Decision.Candidates {
		if (c.Cache.Read > 1000) != (c.Target == served) {
			t.Errorf("%s has %d cached tokens, the first turn was served by %s", c.Target, c.Cache.Read, served)
		}
	}
	if cold := before.Decision.Candidates[0].Price; *after.Decision.Candidates[0].Price >= *cold {
		t.Errorf("expected cost of the second turn %s, of the first %s; want it lower", after.Decision.Candidates[0].Price, cold)
	}
}

func TestBaselineHasItsOwnCacheEstimate(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) {
		k.prefixes = promptcache.NewMemory(1000)
		k.settings.DefaultModel = "large"
	})
	cached := k.snapshot.Targets()[0].Price.Input / 10
	for _, target := range k.snapshot.Targets() {
		if target.Model.Name == "large" {
			target.Price.CacheRead, target.Vendor = &cached, "openai"
		}
	}
	k.alpha.Always(simulator.Behaviour{Usage: `{"prompt_tokens":3000,"completion_tokens":10,"total_tokens":3010}`})
	k.post("/chat/completions", talk("auto:cost", 1))
	first := k.entry()
	k.post("/chat/completions", talk("auto:cost", 2))
	second := k.entry()
	if first.Model != "small" || second.Model != "small" {
		t.Fatalf("served by %s and %s", first.Model, second.Model)
	}
	if *second.BaselineCost >= *first.BaselineCost {
		t.Errorf("baseline cost %s with a cached prompt, %s without; want it lower", second.BaselineCost, first.BaselineCost)
	}
	if saved, _ := second.Saved(); saved != second.BaselineCost.Sub(*second.Cost) {
		t.Errorf("Saved = %s, want the baseline cost minus the cost", saved)
	}
}
