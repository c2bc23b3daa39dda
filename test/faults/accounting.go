package faults

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/test/harness"
)

// accountingCases are those about money and keys at one gateway, and those that need a clock, a store or a table of their own
// and so are tests of their package.
func accountingCases() []Case {
	return []Case{
		{"F12", "the ledger against its model", ledgerModel},
		{"F15", "edits during load", editsDuringLoad},
		{"F18", "windows in every zone", windowsEverywhere},
		{"F34", "revocation against requests that end", revocationRaces},
		{"F39", "timing of key checks", keyTiming},
		{"F40", "clocks that differ and step", skewedClocks},
		{"P03c", "answers that a budget can pay", clampedAnswers},
		{"P03u", "a model without a price", unknownPrice},
	}
}

// passedTest is a line of a test that passed.
var passedTest = regexp.MustCompile(`(?m)^\s*--- PASS: (\S+) `)

// packageTest runs tests of a package and returns their output. It fails if one is missing or skipped.
func packageTest(t *testing.T, folder string, names []string, flags ...string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"test", "-v", "-count=1", "-timeout=20m", "-run", "^(" + strings.Join(names, "|") + ")$", "./" + folder}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", folder, err, out)
	}
	passed := map[string]bool{}
	for _, match := range passedTest.FindAllStringSubmatch(string(out), -1) {
		passed[match[1]] = true
	}
	for _, name := range names {
		if !passed[name] {
			t.Errorf("%s: %s did not run\n%s", folder, name, clip(out))
		}
	}
	return string(out)
}

// ledgerModel is F12: reserve, settle, cancel, fail, crash and retry in any order, beside a model; ten million smallest
// charges are exact. The ledger that replicas share does the same over a real Redis that loses answers and data.
func ledgerModel(t *testing.T, size Size) string {
	alone, shared := size.of(300, 20_000), size.of(5, 150)
	packageTest(t, "internal/ledger", []string{"TestLedgerAgainstModel", "TestSmallestChargesAreExact", "TestAbsurdAmountsNeverMakeRoom"}, fmt.Sprintf("-rapid.checks=%d", alone))
	packageTest(t, "internal/ledger", []string{"TestSharedLedgerAgainstModel", "TestLostAnswersAreCountedOnce"}, fmt.Sprintf("-rapid.checks=%d", shared))
	return fmt.Sprintf("%d histories of one ledger and %d of a shared one; 10^7 smallest charges exact", alone, shared)
}

// windowsEverywhere is F18: every window begins once, at local midnight, and a request is in exactly one.
func windowsEverywhere(t *testing.T, size Size) string {
	checks := size.of(1000, 200_000)
	packageTest(t, "internal/ledger", []string{
		"TestDaysInEveryZone", "TestWindowsAreMadeOfDays", "TestWindow", "TestChargeBelongsToTheWindowOfItsAdmission",
	}, fmt.Sprintf("-rapid.checks=%d", checks))
	return fmt.Sprintf("every zone and clock change 2024–2032; %d weeks and months", checks)
}

// keyTiming is F39: the time to reject a key does not reveal how similar it is to a valid one.
func keyTiming(t *testing.T, size Size) string {
	out := packageTest(t, "internal/account", []string{"TestTheTimeOfAKeyCheckTellsNothing"}, fmt.Sprintf("-timing.samples=%d", size.of(100_000, 1_000_000)))
	figure := regexp.MustCompile(`t = .*`).FindString(out)
	return strings.TrimSpace(figure)
}

// skewedClocks is F40: clocks of replicas that differ by five minutes, or step back by an hour, bend neither limits nor windows nor
// the ends of keys, and ids stay apart.
func skewedClocks(t *testing.T, _ Size) string {
	n := 0
	for folder, names := range map[string][]string{
		"internal/ledger":  {"TestClocksThatDifferShareAWindow", "TestClocksThatStepKeepASharedBudget", "TestChargeBelongsToTheWindowOfItsAdmission"},
		"internal/limit":   {"TestMemory", "TestRedis", "TestReplicasShareALimitByRedis"}, // the suite sets its clock back
		"internal/cluster": {"TestTheClockIsRedis"},
		"internal/account": {"TestKeysEndByTheClockThatIsGiven"},
		"internal/id":      {"TestIDsStayApartWhenTheClockStepsBack"},
	} {
		packageTest(t, folder, names)
		n += len(names)
	}
	return fmt.Sprintf("%d tests with clocks of their own", n)
}

// editsDuringLoad is F15: edits of a profile, a key, its budget and its workspace lose no deduction.
func editsDuringLoad(t *testing.T, size Size) string {
	mock, url := harness.Upstream(t)
	fee := harness.Chat("fee", 0, 0, 0.5)
	fee.PerRequest = new(0.001)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url, Models: []harness.Model{fee}}})})
	k, reader, manager := newKey(t, g, "--budget", "50", "--period", "total"), g.Key(t, "--scopes", "read"), g.Key(t, "--scopes", "manage,inference")
	w := &world{gateways: []*harness.Gateway{g, g, g}, mock: mock, client: client(t)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var c *tally
	var loading sync.WaitGroup
	loading.Go(func() { c = w.pace(ctx, t, time.Duration(size.of(10, 2))*time.Millisecond, k, short("fee")) })
	n := size.of(200, 1000)
	edit(t, n, func(int) *harness.Gateway { return g }, manager, k.ID)
	cancel()
	loading.Wait()
	if others := c.others("served"); len(others) > 0 {
		t.Errorf("also %v", others)
	}
	served := int64(c.of("served"))
	harness.Eventually(t, "every fee is counted", func() bool {
		s := spendingOf(t, g, reader, k.ID)
		return nano(t, s.Budget.Spent) == served*thousandth && nano(t, s.Budget.Held) == 0 && nano(t, s.Rollup) == served*thousandth
	})
	return fmt.Sprintf("%d edits beside %d requests: every fee counted", n, served)
}

// revocationRaces is F34: a key that is revoked while requests of it end is never revived, and its neighbours, which begin with
// the same characters as shown, are not confused with it.
func revocationRaces(t *testing.T, size Size) string {
	packageTest(t, "internal/account", []string{"TestRevokedKeysAreNeverRevived", "TestKeysThatBeginAlikeAreNotConfused"})
	g, _ := single(t)
	manager, neighbour := g.Key(t, "--scopes", "manage,inference"), newKey(t, g)
	c := client(t)
	rounds := size.of(20, 1000)
	var revoked []string
	for round := range rounds {
		k := makeKey(t, g, manager, round)
		revoked = append(revoked, k.Text)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				req, err := post(t.Context(), g, k.Text, chat("m"))
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusUnauthorized {
					t.Errorf("round %d: %d", round, resp.StatusCode)
				}
			})
		}
		all.Go(func() {
			if a := g.Call(t, harness.Request{Method: http.MethodDelete, Path: "/api/v1/keys/" + k.ID, Key: manager}); a.Status >= 300 {
				t.Errorf("round %d: revoke: %d %s", round, a.Status, clip(a.Body))
			}
		})
		all.Wait()
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text}); a.Status != http.StatusUnauthorized {
			t.Fatalf("round %d: the revoked key answers %d", round, a.Status)
		}
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: neighbour.Text}); a.Status != http.StatusOK {
			t.Fatalf("round %d: its neighbour answers %d", round, a.Status)
		}
	}
	g.Restart(t)
	for _, text := range revoked {
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: text}); a.Status != http.StatusUnauthorized {
			t.Fatalf("a revoked key answers %d after a restart", a.Status)
		}
	}
	return fmt.Sprintf("%d rounds: never revived, not by a restart either", rounds)
}

// makeKey makes a key by the admin API, which is quicker than a command.
func makeKey(t *testing.T, g *harness.Gateway, manager string, number int) key {
	t.Helper()
	a := g.Call(t, harness.Request{Path: "/api/v1/keys", Key: manager, Body: fmt.Sprintf(`{"name":"round %d"}`, number)})
	if a.Status >= 300 {
		t.Fatalf("make a key: %d %s", a.Status, clip(a.Body))
	}
	var made struct{ ID, Secret string }
	harness.Decode(t, a.Body, &made)
	return key{ID: made.ID, Text: made.Secret}
}

// clampedAnswers: without an output limit, the remaining budget limits the output sent to the provider. A larger limit of the
// caller is rejected.
func clampedAnswers(t *testing.T, _ Size) string {
	g, mock := single(t)
	const dollars, most = "0.005", 3125 // tokens of answer that it pays for at the price of m
	k := newKey(t, g, "--budget", dollars, "--period", "total")
	wantError(t, "too long an answer", g.Call(t, harness.Request{Key: k.Text, Body: chat("m", `"max_tokens":4000`)}), http.StatusPaymentRequired, "BUDGET_EXCEEDED")
	if a := g.Call(t, harness.Request{Key: k.Text, Body: chat("m")}); a.Status != http.StatusOK {
		t.Fatalf("an answer without a bound: %d %s", a.Status, clip(a.Body))
	}
	calls := mock.Calls()
	if len(calls) != 1 {
		t.Fatalf("%d calls", len(calls))
	}
	var sent struct {
		Most  int64 `json:"max_tokens"`
		Other int64 `json:"max_completion_tokens"`
	}
	harness.Decode(t, calls[0].Body, &sent)
	if got := max(sent.Most, sent.Other); got == 0 || got > most || got < most*9/10 {
		t.Errorf("the provider received %s, the budget pays for %d tokens", clip(calls[0].Body), most)
	}
	return fmt.Sprintf("$%s left: the provider received a limit of %d tokens", dollars, max(sent.Most, sent.Other))
}

// unknownPrice: a model without a price is never served on a budget, and otherwise only to callers that name it.
func unknownPrice(t *testing.T, _ Size) string {
	mock, url := harness.Upstream(t)
	models := []harness.Model{{Name: "unpriced", Kind: "chat", Context: 128_000}, {Name: "vectors", Kind: "embedding", Context: 8000, Dimensions: 2}}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url, Models: models}}, "allow_unpriced: true")})
	free, bound := newKey(t, g), newKey(t, g, "--budget", "1", "--period", "month")
	tried := 0
	for name, r := range map[string]harness.Request{
		"named, on a budget":       {Key: bound.Text, Body: chat("unpriced")},
		"streamed, on a budget":    {Key: bound.Text, Body: chat("unpriced", streaming)},
		"as fallback":              {Key: bound.Text, Body: chat("unpriced", `"models":["unpriced"]`)},
		"vectors, on a budget":     {Key: bound.Text, Path: "/proxy/v1/embeddings", Body: `{"model":"vectors","input":"x"}`},
		"auto, on a budget":        {Key: bound.Text, Body: chat("auto")},
		"auto, without a budget":   {Key: free.Text, Body: chat("auto")},
		"cheapest, without either": {Key: free.Text, Body: chat("auto:cost")},
	} {
		tried++
		wantError(t, name, g.Call(t, r), http.StatusBadRequest, "NO_ROUTE")
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d calls were made at an unknown price", n)
	}
	if a := g.Call(t, harness.Request{Key: free.Text, Body: chat("unpriced")}); a.Status != http.StatusOK {
		t.Errorf("named, without a budget, where that is allowed: %d %s", a.Status, clip(a.Body))
	}
	return fmt.Sprintf("%d ways refused, 0 provider calls", tried)
}
