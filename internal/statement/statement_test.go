package statement

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

var november = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// memoryLog is a log in memory, newest first. Every second page ends early, like a search that reaches its time limit.
type memoryLog struct {
	entries []requestlog.Entry
	pages   atomic.Int64
	broken  error
}

func (m *memoryLog) Entries(_ context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	slow := m.pages.Add(1)%2 == 0
	if m.broken != nil && f.From.Day() == 7 {
		return nil, m.broken
	}
	var page []requestlog.Entry
	for i := range m.entries {
		e := &m.entries[i]
		if e.ID >= p.Before && p.Before != "" || !f.Match(e) {
			continue
		}
		page = append(page, *e)
		if slow && len(page) == 10 {
			return page, &requestlog.UnfinishedError{Before: e.ID}
		}
		if len(page) == p.Limit {
			break
		}
	}
	return page, nil
}

// comparisons are samples in memory with their cost.
type comparisons []proof.Sample

func (c comparisons) Samples(_ context.Context, _ string, from, to time.Time) ([]proof.Sample, error) {
	var list []proof.Sample
	for _, s := range c {
		if !s.At.Before(from) && s.At.Before(to) {
			list = append(list, s)
		}
	}
	return list, nil
}

func (c comparisons) ComparisonCost(context.Context, string, time.Time, time.Time) (money.Amount, error) {
	return 120_000_000, nil
}

// november2026 returns a month with entries of two models and keys, and entries of other months and workspaces.
func november2026() *memoryLog {
	var all []requestlog.Entry
	for i := range 900 {
		at := november.Add(time.Duration(i) * 48 * time.Minute)
		e := requestlog.Entry{
			ID: id.Floor("req", at), Owner: requestlog.Owner{WorkspaceID: "ws_1", KeyID: "key_ci", KeyName: "ci"},
			Timing: requestlog.Timing{Time: at}, Call: requestlog.Call{Requested: "auto"},
			Routing:  requestlog.Routing{Model: "small", Provider: "east", Versions: route.Versions{Router: "utility-2", Catalog: "c1"}},
			Result:   requestlog.Result{Outcome: requestlog.OK, Status: 200},
			Charge:   requestlog.Charge{Usage: llm.Usage{Input: 100, Output: 50}, Cost: new(money.Amount(1_000_001))},
			Baseline: requestlog.Baseline{BaselineModel: "large", BaselineCost: new(money.Amount(3_000_000))},
		}
		switch {
		case i%10 == 0:
			e.KeyID, e.KeyName, e.Model = "key_web", "web", "large"
			e.Cost = new(money.Amount(5_000_000))
		case i%97 == 0:
			e.Cost = nil
		case i%89 == 0:
			e.Outcome, e.Model, e.Cost, e.BaselineCost = requestlog.UpstreamError, "", nil, nil
		case i%83 == 0:
			e.KeyID, e.KeyName = "", ""
		case i%79 == 0:
			e.Simulated = true
		}
		all = append(all, e)
	}
	for _, at := range []time.Time{november.Add(-time.Second), november.AddDate(0, 1, 0)} {
		all = append(all, requestlog.Entry{ID: id.Floor("req", at), Owner: requestlog.Owner{WorkspaceID: "ws_1"}, Timing: requestlog.Timing{Time: at}, Routing: requestlog.Routing{Model: "other"}, Charge: requestlog.Charge{Cost: new(money.Dollar)}})
	}
	slices.SortFunc(all, func(a, b requestlog.Entry) int { return strings.Compare(b.ID, a.ID) })
	return &memoryLog{entries: all}
}

func samples() comparisons {
	var list comparisons
	for i := range 400 {
		s := proof.Sample{
			Request: fmt.Sprintf("req_%03d", i), Shadow: fmt.Sprintf("req_s%03d", i), At: november.Add(time.Duration(i) * time.Hour), Key: "key_ci",
			Task: "code", Model: "small", Baseline: "large", Propensity: 0.1, Method: "judge",
		}
		if i%20 == 0 {
			s.Difference = -1
		}
		list = append(list, s)
	}
	return list
}

func sourcesOf(log *memoryLog) Sources {
	return Sources{Log: log, Samples: samples(), Costs: samples()}
}

func options() Options {
	return Options{WorkspaceID: "ws_1", Workspace: "Main", Month: november, Now: time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC), Program: "1.2.3"}
}

func made(t *testing.T, sources Sources, o Options) *Statement {
	t.Helper()
	s, err := New(t.Context(), sources, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTotalsAreExact(t *testing.T) {
	t.Parallel()
	log := november2026()
	s := made(t, sourcesOf(log), options())
	var requests, unpriced, compared int64
	var cost, saved money.Amount
	for i := range log.entries {
		e := &log.entries[i]
		if e.Simulated || e.Time.Before(november) || !e.Time.Before(november.AddDate(0, 1, 0)) {
			continue
		}
		requests++
		if e.Cost == nil && e.Model != "" {
			unpriced++
		}
		if e.Cost != nil {
			cost += *e.Cost
			compared++
			saved += *e.BaselineCost - *e.Cost
		}
	}
	if s.Total.Requests != requests || s.Total.Unpriced != unpriced || s.Total.Cost != cost || s.Total.WithBaseline != compared || s.Total.Saved != saved {
		t.Errorf("total %+v, want %d requests, %d unpriced, cost %s, %d with baseline, saved %s", s.Total, requests, unpriced, cost, compared, saved)
	}
	if unpriced == 0 || saved == 0 || s.Total.Errors == 0 {
		t.Errorf("the log lacks unpriced, cheaper or failed requests: %d unpriced, saved %s, %d errors", unpriced, saved, s.Total.Errors)
	}
	for name, lines := range map[string][]Line{"models": s.Models, "keys": s.Keys, "days": s.Days} {
		var sum Line
		for _, l := range lines {
			sum.Requests += l.Requests
			sum.Cost = sum.Cost.Add(l.Cost)
			sum.Saved = sum.Saved.Add(l.Saved)
		}
		if sum.Requests != s.Total.Requests || sum.Cost != s.Total.Cost || sum.Saved != s.Total.Saved {
			t.Errorf("%s sum to %d requests, cost %s, saved %s", name, sum.Requests, sum.Cost, sum.Saved)
		}
	}
	if len(s.Days) != 30 || s.Keys[0].Label == "" || !slices.ContainsFunc(s.Keys, func(l Line) bool { return l.Name == playground }) ||
		!slices.ContainsFunc(s.Models, func(l Line) bool { return l.Name == notServed }) {
		t.Errorf("%d days, keys %+v, models %+v", len(s.Days), s.Keys, s.Models)
	}
	if s.Quality == nil || s.Quality.Samples != 400 || s.Quality.Difference == nil || *s.ComparisonCost != 120_000_000 {
		t.Errorf("quality %+v, cost %v", s.Quality, s.ComparisonCost)
	}
	if len(s.Versions) != 2 || s.Versions[1] != (Version{"router", "utility-2", requests}) {
		t.Errorf("versions %+v, want two, the second is the router of all requests", s.Versions)
	}
}

func TestSimulatedRequestsAreOptional(t *testing.T) {
	t.Parallel()
	o := options()
	without := made(t, sourcesOf(november2026()), o)
	o.Simulated = true
	with := made(t, sourcesOf(november2026()), o)
	if with.Total.Requests <= without.Total.Requests {
		t.Errorf("%d requests with simulated ones, %d without", with.Total.Requests, without.Total.Requests)
	}
}

func TestCurrentMonthEndsNow(t *testing.T) {
	t.Parallel()
	o := options()
	o.Now = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	s := made(t, sourcesOf(november2026()), o)
	if s.Complete || !s.To.Equal(o.Now) || len(s.Days) != 10 {
		t.Errorf("complete %t, to %s, %d days; want false, now, 10", s.Complete, s.To, len(s.Days))
	}
	o.Now = november
	if _, err := New(t.Context(), sourcesOf(november2026()), o); err == nil {
		t.Error("New of a future month returned no error")
	}
}

// TestVerifyReportsChanges reads the statement from JSON and from HTML, changes the log or the file, and verifies the statement.
func TestVerifyReportsChanges(t *testing.T) {
	t.Parallel()
	original := made(t, sourcesOf(november2026()), options())
	text, err := original.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := original.HTML(&page); err != nil {
		t.Fatal(err)
	}
	at := func(log *memoryLog, day int) *requestlog.Entry {
		i := slices.IndexFunc(log.entries, func(e requestlog.Entry) bool {
			return e.Time.Day() == day && e.Time.Month() == time.November && e.KeyID == "key_ci" && e.Cost != nil
		})
		return &log.entries[i]
	}
	for _, c := range []struct {
		name     string
		log      func(*memoryLog)
		file     func(string) string
		compared func(comparisons)
		want     []string
	}{
		{name: "unchanged"},
		{name: "cost", log: func(l *memoryLog) { at(l, 14).Cost = new(money.Amount(1_000_002)) }, want: []string{
			"days 2026-11-14: cost_usd is", "days 2026-11-14: checksum is", "models small: cost_usd is", "keys key_ci: saved_usd is", "total: cost_usd is",
		}},
		{name: "provider", log: func(l *memoryLog) { at(l, 20).Provider = "west" }, want: []string{"days 2026-11-20: checksum is", "total: checksum is"}},
		{name: "deleted", log: func(l *memoryLog) {
			l.entries = slices.DeleteFunc(l.entries, func(e requestlog.Entry) bool { return e.Time.Day() == 3 && e.Time.Month() == time.November })
		}, want: []string{"days 2026-11-03: requests is 29 in the statement, absent in the log"}},
		{name: "added", log: func(l *memoryLog) {
			e := *at(l, 5)
			e.ID = e.ID[:len(e.ID)-1] + "Z"
			l.entries = append(l.entries, e)
			slices.SortFunc(l.entries, func(a, b requestlog.Entry) int { return strings.Compare(b.ID, a.ID) })
		}, want: []string{"days 2026-11-05: requests is"}},
		{name: "comparison", compared: func(c comparisons) { c[7].Difference = -1 }, want: []string{"quality: checksum is", "quality: difference.value is", "quality tasks code: losses.value is"}},
		{name: "file", file: func(s string) string { return strings.Replace(s, `"workspace": "Main"`, `"workspace": "Mine"`, 1) }, want: []string{"statement: checksum is"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for form, content := range map[string]string{"json": string(text), "html": page.String()} {
				if c.file != nil && form == "html" {
					continue
				}
				if c.file != nil {
					changed := c.file(content)
					if changed == content {
						t.Fatal("the file was not changed")
					}
					content = changed
				}
				s, err := Parse([]byte(content))
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				log, measured := november2026(), samples()
				if c.log != nil {
					c.log(log)
				}
				if c.compared != nil {
					c.compared(measured)
				}
				found, err := Verify(t.Context(), Sources{Log: log, Samples: measured, Costs: measured}, s)
				if err != nil {
					t.Fatal(err)
				}
				var lines []string
				for _, d := range found {
					lines = append(lines, d.String())
				}
				for _, want := range c.want {
					if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
						t.Errorf("%s: difference %q is not reported:\n%s", form, want, strings.Join(lines, "\n"))
					}
				}
				if len(c.want) == 0 && len(lines) > 0 {
					t.Errorf("%s: unexpected differences:\n%s", form, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// TestVerifyReportsForgedFiles changes a file and corrects its checksum.
func TestVerifyReportsForgedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	written := func(s *Statement, page bool) string {
		var out bytes.Buffer
		err := s.HTML(&out)
		if !page {
			var text []byte
			text, err = s.JSON()
			out = *bytes.NewBuffer(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for name, c := range map[string]struct {
		forge func(*Statement)
		page  func(string) string
		want  string
	}{
		"repeated line":   {forge: func(s *Statement) { s.Days = append([]Line{{Name: s.Days[0].Name, Cost: 1}}, s.Days...) }, want: "days 2026-11-01 (2): cost_usd is"},
		"other month":     {forge: func(s *Statement) { s.Month = "2026-10" }, want: "statement: from is"},
		"shorter period":  {forge: func(s *Statement) { s.To = s.From.AddDate(0, 0, 3) }, want: "statement: to is"},
		"incomplete":      {forge: func(s *Statement) { s.Complete = false }, want: "statement: complete is"},
		"visible figures": {page: func(s string) string { return strings.Replace(s, "<td", "<td data-x", 1) }, want: "statement: page is"},
		"second data":     {page: func(s string) string { return strings.Replace(s, "</body>", scriptStart+"{}</script></body>", 1) }, want: "statement: page is"},
	} {
		s := made(t, sourcesOf(november2026()), options())
		if c.forge != nil {
			c.forge(s)
			s.Checksum = s.sum()
		}
		for _, page := range []bool{false, true} {
			content := written(s, page)
			if c.page != nil {
				if content = c.page(content); !page {
					continue
				}
			}
			read, err := Parse([]byte(content))
			if err != nil {
				t.Fatal(err)
			}
			found, err := Verify(t.Context(), sourcesOf(november2026()), read)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found, func(d Difference) bool { return strings.HasPrefix(d.String(), c.want) }) {
				t.Errorf("%s (page %t): differences %v, want %q", name, page, found, c.want)
			}
		}
	}
}

func TestPageEscapesNames(t *testing.T) {
	t.Parallel()
	log := november2026()
	for i := range log.entries {
		log.entries[i].KeyName = `</script><script>alert(1)</script>`
	}
	s := made(t, Sources{Log: log}, options())
	var page bytes.Buffer
	if err := s.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script>alert") {
		t.Error("the page contains the unescaped name of a key")
	}
	for _, want := range []string{"Quality was not measured.", "By API key", "2026-11-30", s.Checksum} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	back, err := Parse(page.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(s)
	other, _ := json.Marshal(back)
	if !bytes.Equal(one, other) {
		t.Error("the statement parsed from the page differs")
	}
}

func TestReadErrorIsReturned(t *testing.T) {
	t.Parallel()
	log := november2026()
	log.broken = errors.New("disk failed")
	if _, err := New(t.Context(), sourcesOf(log), options()); !errors.Is(err, log.broken) {
		t.Errorf("New with a failing log: %v, want the read error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, sourcesOf(november2026()), options()); !errors.Is(err, context.Canceled) {
		t.Errorf("New with a cancelled context: %v, want context.Canceled", err)
	}
}

func TestInvalidFilesAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"format": 99}`, "<html></html>", scriptStart + `{"format"`, `{"format": 1, "other": 1}`, `{"format": 1, "total": {}, "total": {}}`, `{"format": 1, "Total": {}}`, `{"format": 1} {}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%q) succeeded, want an error", text)
		}
	}
	if _, err := ParseMonth("2026-13"); err == nil {
		t.Error("ParseMonth accepted month 13")
	}
}
