package redaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

const address = "ann@example.com"

func newTestRedaction(own *redact.Rules, standard ...string) *Filter {
	w := &account.Workspace{ID: "ws_1", Redaction: own}
	return New(func(id string) *account.Workspace {
		if id == w.ID {
			return w
		}
		return nil
	}, func() []string { return standard }, slog.New(slog.DiscardHandler))
}

// entryWithAddress returns an entry with the address in every field that callers and providers can set.
func entryWithAddress() requestlog.Entry {
	return requestlog.Entry{
		ID: "req_1", Owner: requestlog.Owner{WorkspaceID: "ws_1"},
		Call:      requestlog.Call{Endpoint: "chat/completions", Preview: "I am " + address},
		BodyState: requestlog.BodyStored,
		Labels:    requestlog.Labels{Session: "of " + address, EndUser: address, Tags: map[string]string{"who": address, "team": "search"}, Metadata: map[string]string{"by": address}},
		Routing: requestlog.Routing{
			Warnings: []string{"dropped " + address},
			Attempts: []requestlog.Attempt{{AttemptResult: requestlog.AttemptResult{Message: "no " + address}}, {}},
			Decision: &route.Decision{
				Input: route.Input{
					Settings: route.Settings{Controls: llm.Controls{SessionID: "of " + address}}, Caller: route.Caller{
						EndUser: address, Metadata: map[string]string{"by": address},
						Tags: map[string]string{"who": address, "team": "search"}, Key: condition.Key{Tags: map[string]string{"owner": address}},
					},
				},
				Policies: []route.PolicyHit{route.NewPolicyHit("p", "workspace", false, "", `request.end_user is "`+address+`"`)},
			},
		},
		Result: requestlog.Result{Error: &requestlog.Failure{Code: "X", Message: "said " + address}},
		Body: requestlog.Body{
			Request:  []byte(`{"model":"auto","messages":[{"role":"user","content":"I am ` + address + `"}],"user":"` + address + `"}`),
			Response: []byte(`{"choices":[{"message":{"content":"Hello ann\u0040example.com"}}]}`),
		},
	}
}

func prepareOne(r *Filter, e *requestlog.Entry) {
	batch := []requestlog.Entry{*e}
	r.RedactBatch(batch)
	r.Wait()
	*e = batch[0]
}

func textOf(t *testing.T, e *requestlog.Entry) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + string(e.Body.Request) + string(e.Body.Response)
}

func TestRedactedEntriesContainNoMatch(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Filter{
		"workspace rules": newTestRedaction(&redact.Rules{Builtin: []string{"email"}}),
		"instance rules":  newTestRedaction(nil, "email"),
		"custom rule":     newTestRedaction(&redact.Rules{Custom: []redact.Custom{{Name: "email-2", Pattern: `ann@\S+\.com`}}}),
	} {
		e, before := entryWithAddress(), entryWithAddress()
		shared := e.Attempts
		prepareOne(r, &e)
		if text := textOf(t, &e); strings.Contains(text, "ann") {
			t.Errorf("%s: the entry contains the address: %s", name, text)
		}
		if !strings.HasPrefix(e.Preview, "I am [redacted: email") || e.BodyState != requestlog.BodyStored || e.Tags["team"] != "search" {
			t.Errorf("%s: entry %+v, want a redacted preview and the other tags", name, e)
		}
		for _, body := range [][]byte{e.Body.Request, e.Body.Response} {
			if !json.Valid(body) || !bytes.Contains(body, []byte("[redacted: email")) {
				t.Errorf("%s: body %s, want valid JSON with a mark", name, body)
			}
		}
		if diff := cmp.Diff(before.Attempts, shared); diff != "" {
			t.Errorf("%s: RedactBatch changed the shared attempts: %s", name, diff)
		}
	}
}

func TestWholeDecisionIsRedacted(t *testing.T) {
	t.Parallel()
	e := entryWithAddress()
	e.Decision.Candidates = []route.Candidate{{Target: "p/m"}}
	text, err := json.Marshal(e.Decision)
	if err != nil {
		t.Fatal(err)
	}
	e.Decision.Candidates = nil
	e.Recorded = requestlog.Recorded{Decision: e.Decision, JSON: text, Short: true}
	prepareOne(newTestRedaction(nil, "email"), &e)
	if text := textOf(t, &e); strings.Contains(text, "ann") || len(e.Decision.Candidates) != 1 || e.DecisionJSON() != nil {
		t.Errorf("decision with %d candidates, want 1 and no address: %s", len(e.Decision.Candidates), text)
	}
}

func TestEntriesWithoutRulesAreUnchanged(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Filter{
		"no rules":                  newTestRedaction(nil),
		"disabled in the workspace": newTestRedaction(&redact.Rules{}, "email"),
		"no match":                  newTestRedaction(&redact.Rules{Builtin: []string{"iban"}}),
	} {
		e := entryWithAddress()
		prepareOne(r, &e)
		if diff := cmp.Diff(entryWithAddress(), e); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLiveViewContainsNoMatch(t *testing.T) {
	t.Parallel()
	r := newTestRedaction(&redact.Rules{Builtin: []string{"email"}})
	e := entryWithAddress()
	long := strings.Repeat("x", llm.PreviewBytes-5) + " "
	e.Body.Request = []byte(`{"model":"auto","messages":[{"role":"user","content":"` + long + address + `"}]}`)
	e.Preview = (long + address)[:llm.PreviewBytes]
	before := textOf(t, &e)
	got := r.RedactRow(&e)
	if text := textOf(t, got); strings.Contains(text, "ann") {
		t.Errorf("the row contains the address: %s",
			text) // the beginning of the address must not remain either, as it would in the old preview
	}
	if !strings.HasPrefix(got.Preview, long+"[red") || len(got.Preview) > llm.PreviewBytes {
		t.Errorf("preview %q, want it cut after %d bytes", got.Preview, llm.PreviewBytes)
	}
	if after := textOf(t, &e); after != before {
		t.Error("RedactRow changed the entry")
	}
}

func TestPreviewsWithoutTheirRequest(t *testing.T) {
	t.Parallel()
	r := newTestRedaction(&redact.Rules{Builtin: []string{"email"}})
	for preview, want := range map[string]string{
		"I am " + address: "I am [redacted: email]",
		(strings.Repeat("x", 150) + " " + address)[:llm.PreviewBytes]: "", // truncated in the middle of the address
	} {
		e := requestlog.Entry{Owner: requestlog.Owner{WorkspaceID: "ws_1"}, Call: requestlog.Call{Preview: preview}, BodyState: requestlog.BodyNone, Routing: requestlog.Routing{Attempts: []requestlog.Attempt{}}}
		if prepareOne(r, &e); e.Preview != want {
			t.Errorf("preview %q was redacted to %q, want %q", preview, e.Preview, want)
		}
	}
}

func TestPreviewIsKeptWhenARuleMatchesJSONNames(t *testing.T) {
	t.Parallel()
	r := newTestRedaction(&redact.Rules{Builtin: []string{"email"}, Custom: []redact.Custom{{Name: "x", Pattern: `auto|user`}}})
	e := entryWithAddress()
	if prepareOne(r, &e); !strings.HasPrefix(e.Preview, "I am [redacted: email]") || !json.Valid(e.Body.Request) {
		t.Errorf("preview %q, request %s; want a redacted preview and valid JSON", e.Preview, e.Body.Request)
	}
}

func TestEventsWithoutAResponseAreRemoved(t *testing.T) {
	t.Parallel()
	e := entryWithAddress()
	e.Body.Response, e.Body.Streamed = []byte("{\"a\":\"ann@exa\"}\n{\"a\":\"mple.com\"}"), true
	prepareOne(newTestRedaction(&redact.Rules{Builtin: []string{"email"}}), &e)
	if e.Body.Response != nil || e.Body.Streamed {
		t.Errorf("response %s, streamed %t; want none", e.Body.Response, e.Body.Streamed)
	}
}

// clock advances with every reading, so that every step takes time.
type clock struct {
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time {
	c.at = c.at.Add(c.step)
	return c.at
}

func TestTextsAreRemovedWhileRulesAreSlow(t *testing.T) {
	t.Parallel()
	r := newTestRedaction(&redact.Rules{Builtin: []string{"email"}})
	c := &clock{at: time.Unix(1_700_000_000, 0), step: redactEntryTime}
	r.now = c.now
	e := entryWithAddress()
	prepareOne(r, &e)
	if text := textOf(t, &e); strings.Contains(text, "ann") || e.BodyState != requestlog.BodyRedactionTimeout || e.Body.Request != nil || e.Error.Code != "X" {
		t.Errorf("body state %s, want %s without texts: %s", e.BodyState, requestlog.BodyRedactionTimeout, text)
	}
	c.step = 0
	c.at = c.at.Add(-time.Second) // setting the clock back does not add to the allowance
	r.of("ws_1").usage.spend(5 * time.Second)
	e = entryWithAddress()
	prepareOne(r, &e)
	if e.BodyState != requestlog.BodyRedactionTimeout {
		t.Errorf("body state %s after the workspace used its time, want %s", e.BodyState, requestlog.BodyRedactionTimeout)
	}
	c.at = c.at.Add(time.Hour)
	e = entryWithAddress()
	prepareOne(r, &e)
	if e.BodyState != requestlog.BodyStored || strings.Contains(textOf(t, &e), "ann") {
		t.Errorf("body state %s after an hour, want %s without the address: %s", e.BodyState, requestlog.BodyStored, textOf(t, &e))
	}
}

func TestTextsAreRemovedWhenRulesAreInvalid(t *testing.T) {
	t.Parallel()
	r := newTestRedaction(&redact.Rules{Builtin: []string{"of a newer version"}})
	e := entryWithAddress()
	prepareOne(r, &e)
	shown := entryWithAddress()
	for _, e := range []*requestlog.Entry{&e, r.RedactRow(&shown)} {
		if text := textOf(t, e); strings.Contains(text, "ann") || e.BodyState != requestlog.BodyRedactionTimeout {
			t.Errorf("body state %s, want %s without the address: %s", e.BodyState, requestlog.BodyRedactionTimeout, text)
		}
	}
}

func TestRulesFollowTheWorkspaceAndTheConfiguration(t *testing.T) {
	t.Parallel()
	w := &account.Workspace{ID: "ws_1"}
	var standard []string
	r := New(func(string) *account.Workspace { return w }, func() []string { return standard }, slog.New(slog.DiscardHandler))
	stored := func() string {
		e := entryWithAddress()
		prepareOne(r, &e)
		return e.EndUser
	}
	got := []string{stored()}
	standard = []string{"email"}
	got = append(got, stored())
	w = &account.Workspace{ID: "ws_1", Redaction: &redact.Rules{Custom: []redact.Custom{{Name: "n", Pattern: "ann"}}}}
	got = append(got, stored())
	w = &account.Workspace{ID: "ws_1", Redaction: &redact.Rules{}}
	got = append(got, stored())
	want := []string{address, "[redacted: email]", "[redacted: n]@example.com", address}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// slowRules take quadratic time on the text of slowEntry: minutes for the whole text.
var slowRules = &redact.Rules{Custom: []redact.Custom{{Name: "slow", Pattern: "a.*b|a"}}}

func slowEntry(workspace string) requestlog.Entry {
	e := entryWithAddress()
	e.ID, e.WorkspaceID = "req_slow", workspace
	e.Body.Request = []byte(`{"model":"auto","messages":[{"role":"user","content":"` + strings.Repeat("a", 256<<10) + `"}]}`)
	return e
}

const slowTenants = 4

// newSlowRedaction returns a filter with one workspace that has a fast rule, and others that have slow rules.
func newSlowRedaction() *Filter {
	workspaces := map[string]*account.Workspace{"ws_1": {ID: "ws_1", Redaction: &redact.Rules{Builtin: []string{"email"}}}}
	for i := range slowTenants {
		id := fmt.Sprintf("ws_slow_%d", i)
		workspaces[id] = &account.Workspace{ID: id, Redaction: slowRules}
	}
	return New(func(id string) *account.Workspace { return workspaces[id] }, func() []string { return nil }, slog.New(slog.DiscardHandler))
}

// prepareSlowBatches returns how long the batches took and the last entry of each batch, which belongs to the workspace with the
// fast rule. It fails the test if a text is stored that was not redacted in time.
func prepareSlowBatches(t *testing.T, r *Filter, batches int) (took time.Duration, quick []requestlog.Entry) {
	t.Helper()
	began := time.Now()
	for range batches {
		batch := []requestlog.Entry{}
		for i := range slowTenants {
			batch = append(batch, slowEntry(fmt.Sprintf("ws_slow_%d", i)), slowEntry(fmt.Sprintf("ws_slow_%d", i)))
		}
		batch = append(batch, entryWithAddress())
		r.RedactBatch(batch)
		for _, e := range batch[:2*slowTenants] {
			if text := textOf(t, &e); strings.Contains(text, "aaa") || strings.Contains(text, address) || e.BodyState != requestlog.BodyRedactionTimeout {
				t.Fatalf("%s: body state %s with %d bytes, want %s without texts",
					e.WorkspaceID, e.BodyState, len(text), requestlog.BodyRedactionTimeout)
			}
		}
		quick = append(quick, batch[2*slowTenants])
	}
	took = time.Since(began)
	r.Wait()
	return took, quick
}

// longest is an upper bound for a busy machine. Without the time limit, the rules would run for minutes.
const longest = 30 * time.Second

func TestSlowRulesDoNotAffectOtherWorkspaces(t *testing.T) {
	t.Parallel()
	r := newSlowRedaction()
	r.waiting = newAllowance(time.Hour, 1, time.Now()) // the slow workspaces use up their own time
	took, quick := prepareSlowBatches(t, r, 5)
	if took > longest {
		t.Errorf("took %s, want at most %s", took, longest)
	}
	for _, e := range quick {
		if e.BodyState != requestlog.BodyStored || strings.Contains(textOf(t, &e), address) {
			t.Errorf("body state %s, want %s without the address: %s", e.BodyState, requestlog.BodyStored, textOf(t, &e))
		}
	}
}

func TestWaitingForSlowRulesIsBounded(t *testing.T) {
	t.Parallel()
	r := newSlowRedaction()
	for i := range slowTenants {
		r.of(fmt.Sprintf("ws_slow_%d", i)).usage.allowance = newAllowance(time.Hour, 1, time.Now())
	}
	// Ten batches with two entries per workspace, two seconds each, would take at least 40 s. The allowance limits the wait to about
	// two seconds, plus redactBatchTime per batch.
	if took, _ := prepareSlowBatches(t, r, 10); took > longest {
		t.Errorf("took %s, want at most %s", took, longest)
	}
}
