//go:build unix

package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
)

// Maximum durations of page queries on the server.
const (
	overviewBound = 300 * time.Millisecond
	pageBound     = 150 * time.Millisecond
	filterBound   = time.Second
)

// Limits of the admin API: the number up to which results are counted, and the time after which a search returns incomplete results.
const (
	countLimit = 100_000
	searchTime = 600 * time.Millisecond
)

// question is a query that a dashboard page makes.
type question struct {
	name  string
	bound time.Duration
	ask   func(context.Context, *store.DB) (int, error) // returns the number of rows found
}

// questions lists all measured queries.
func questions() []question {
	var all []question
	for _, r := range []struct {
		name string
		span time.Duration
		step time.Duration
	}{{"15 minutes", 15 * time.Minute, time.Minute}, {"24 hours", 24 * time.Hour, time.Hour}, {"7 days", 7 * 24 * time.Hour, time.Hour}, {"30 days", span, 24 * time.Hour}} {
		f := requestlog.RollupFilter{WorkspaceID: workspaceID, From: now.Add(-r.span), To: now, Simulated: new(false)}
		all = append(all, question{"overview, " + r.name, overviewBound, overview(f, r.step)})
		f.Key = []string{keyID(1)}
		all = append(all, question{"overview of a key, " + r.name, overviewBound, overview(f, r.step)})
	}
	all = append(
		all,
		question{"requests, first page", pageBound, list(requestlog.Filter{}, requestlog.Page{})},
		question{"requests, first page of 200", pageBound, list(requestlog.Filter{}, requestlog.Page{Limit: 200})},
		question{"requests, page in the middle", pageBound, list(requestlog.Filter{}, requestlog.Page{Before: id.Floor("req", now.Add(-span/2))})},
		question{"requests, tail", pageBound, list(requestlog.Filter{}, requestlog.Page{After: id.Floor("req", now.Add(-time.Minute))})},
		question{"requests, count", filterBound, count(requestlog.Filter{})},
		question{"spent by a key in 30 days", filterBound, spent},
		question{"spent by each key in 30 days", filterBound, spending},
	)
	all = append(all, reports()...)
	for _, f := range filters() {
		all = append(all, question{"list " + f.name, filterBound, list(f.filter, requestlog.Page{})})
		all = append(all, question{"count " + f.name, filterBound, count(f.filter)})
	}
	for _, by := range []string{"cost", "latency"} {
		all = append(all, question{"sort by " + by, filterBound, list(requestlog.Filter{}, requestlog.Page{Sort: by})})
		all = append(all, question{"sort by " + by + ", 24 hours", filterBound, list(requestlog.Filter{From: now.Add(-24 * time.Hour)}, requestlog.Page{Sort: by})})
		all = append(all, question{"sort by " + by + ", a model", filterBound, list(requestlog.Filter{Lists: requestlog.Lists{Model: []string{"text-embedding-3-small"}}}, requestlog.Page{Sort: by})})
		all = append(all, question{"sort by " + by + ", text", filterBound, list(requestlog.Filter{Q: "contract"}, requestlog.Page{Sort: by})})
	}
	alike := money.Amount(4_000_000) // close to the cost of many requests
	all = append(all, question{"sort by cost, many alike", filterBound, list(requestlog.Filter{Ranges: requestlog.Ranges{MaxCost: &alike}}, requestlog.Page{Sort: "cost"})})
	return all
}

func keyID(n int) string { return fmt.Sprintf("key_01JCX5T4M5D9X0Q3W8Z6F2V7%02d", n) }

// named is a filter with its description.
type named struct {
	name   string
	filter requestlog.Filter
}

// filters returns filters for every condition: with common values, and with rare, old and absent values, for which an index might
// not help.
func filters() []named {
	dollars := func(s string) *money.Amount {
		a, err := money.Parse(s)
		if err != nil {
			panic(err) // unreachable: the values are constants
		}
		return &a
	}
	return []named{
		{"last hour", requestlog.Filter{From: now.Add(-time.Hour)}},
		{"one old day", requestlog.Filter{From: now.Add(-20 * 24 * time.Hour), To: now.Add(-19 * 24 * time.Hour)}},
		{"decision=expected", requestlog.Filter{Lists: requestlog.Lists{Decision: []string{"expected"}}}},
		{"decision=fallback", requestlog.Filter{Lists: requestlog.Lists{Decision: []string{"fallback"}}}},
		{"decision=expected,policy", requestlog.Filter{Lists: requestlog.Lists{Decision: []string{"expected", "policy"}}}},
		{"outcome=ok", requestlog.Filter{Lists: requestlog.Lists{Outcome: []string{"ok"}}}},
		{"outcome=gateway_error", requestlog.Filter{Lists: requestlog.Lists{Outcome: []string{"gateway_error"}}}},
		{"outcome=interrupted", requestlog.Filter{Lists: requestlog.Lists{Outcome: []string{"interrupted"}}}},
		{"status=200", requestlog.Filter{Lists: requestlog.Lists{Status: []int{200}}}},
		{"status=201", requestlog.Filter{Lists: requestlog.Lists{Status: []int{201}}}},
		{"status=429,502", requestlog.Filter{Lists: requestlog.Lists{Status: []int{429, 502}}}},
		{"model, usual", requestlog.Filter{Lists: requestlog.Lists{Model: []string{"gpt-4.1-mini"}}}},
		{"model, retired", requestlog.Filter{Lists: requestlog.Lists{Model: []string{retired}}}},
		{"model, unknown", requestlog.Filter{Lists: requestlog.Lists{Model: []string{"none"}}}},
		{"requested=auto", requestlog.Filter{Lists: requestlog.Lists{Requested: []string{"auto"}}}},
		{"provider, two", requestlog.Filter{Lists: requestlog.Lists{Provider: []string{"openai", "groq"}}}},
		{"policy", requestlog.Filter{Lists: requestlog.Lists{Policy: []string{"eu-only"}}}},
		{"key", requestlog.Filter{Lists: requestlog.Lists{Key: []string{keyID(2)}}}},
		{"key, rare", requestlog.Filter{Lists: requestlog.Lists{Key: []string{keyID(17)}}}},
		{"tag team", requestlog.Filter{Lists: requestlog.Lists{Tag: []string{"team"}}}},
		{"tag team=search", requestlog.Filter{Lists: requestlog.Lists{Tag: []string{"team=search"}}}},
		{"tag, rare and old", requestlog.Filter{Lists: requestlog.Lists{Tag: []string{"campaign=old"}}}},
		{"session", requestlog.Filter{Lists: requestlog.Lists{Session: []string{"s-060000"}}}},
		{"session, unknown", requestlog.Filter{Lists: requestlog.Lists{Session: []string{"none"}}}},
		{"user", requestlog.Filter{Lists: requestlog.Lists{User: []string{"u-00042"}}}},
		{"stream=true", requestlog.Filter{Stream: new(true)}},
		{"stream=false", requestlog.Filter{Stream: new(false)}},
		{"min_cost=0.0001", requestlog.Filter{Ranges: requestlog.Ranges{MinCost: dollars("0.0001")}}},
		{"min_cost=0.1", requestlog.Filter{Ranges: requestlog.Ranges{MinCost: dollars("0.1")}}},
		{"min_cost=1000", requestlog.Filter{Ranges: requestlog.Ranges{MinCost: dollars("1000")}}},
		{"max_cost=0.001", requestlog.Filter{Ranges: requestlog.Ranges{MaxCost: dollars("0.001")}}},
		{"max_cost=0", requestlog.Filter{Ranges: requestlog.Ranges{MaxCost: dollars("0")}}},
		{"min_latency=1s", requestlog.Filter{Ranges: requestlog.Ranges{MinLatency: time.Second}}},
		{"min_latency=1m", requestlog.Filter{Ranges: requestlog.Ranges{MinLatency: time.Minute}}},
		{"max_latency=200ms", requestlog.Filter{Ranges: requestlog.Ranges{MaxLatency: 200 * time.Millisecond}}},
		{"max_latency=1ms", requestlog.Filter{Ranges: requestlog.Ranges{MaxLatency: time.Millisecond}}},
		{"min_saved=0.001", requestlog.Filter{Ranges: requestlog.Ranges{MinSaved: dollars("0.001")}}},
		{"max_saved=-0.01", requestlog.Filter{Ranges: requestlog.Ranges{MaxSaved: dollars("-0.01")}}},
		{"unpriced", requestlog.Filter{Unpriced: true}},
		{"simulated=true", requestlog.Filter{Simulated: new(true)}},
		{"simulated=false", requestlog.Filter{Simulated: new(false)}},
		{"id", requestlog.Filter{Lists: requestlog.Lists{ID: []string{id.Floor("req", now)}}}},
		{"q, usual", requestlog.Filter{Q: "contract"}},
		{"q, rare and old", requestlog.Filter{Q: "zanzibar"}},
		{"q, in errors", requestlog.Filter{Q: "RATE_LIMITED"}},
		{"q, absent", requestlog.Filter{Q: "no such words"}},
		{"q, two letters", requestlog.Filter{Q: "zq"}},
		{"q, absent, 24 hours", requestlog.Filter{Q: "no such words", From: now.Add(-24 * time.Hour)}},
		{"model and outcome=ok and status=200", requestlog.Filter{Lists: requestlog.Lists{Model: []string{retired}, Outcome: []string{"ok"}, Status: []int{200}}}},
		{"key and stream and min_cost", requestlog.Filter{Lists: requestlog.Lists{Key: []string{keyID(2)}}, Stream: new(true), Ranges: requestlog.Ranges{MinCost: dollars("0.05")}}},
		{"outcome=cancelled and user", requestlog.Filter{Lists: requestlog.Lists{Outcome: []string{"cancelled"}, User: []string{"u-00042"}}}},
	}
}

// overview returns a function that makes the queries of the Overview page.
func overview(f requestlog.RollupFilter, step time.Duration) func(context.Context, *store.DB) (int, error) {
	before := f
	before.From, before.To = f.From.Add(-f.To.Sub(f.From)), f.From
	return func(ctx context.Context, db *store.DB) (int, error) {
		for _, total := range []requestlog.RollupFilter{f, before} {
			if _, err := db.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: total, Limit: 1}); err != nil {
				return 0, err
			}
		}
		buckets, err := db.Figures.Series(ctx, requestlog.SeriesQuery{RollupFilter: f, Step: step})
		if err != nil {
			return 0, err
		}
		for _, by := range []string{"model", "provider", "key", "policy"} {
			if _, err := db.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, By: by, Limit: 50}); err != nil {
				return 0, err
			}
		}
		return len(buckets), nil
	}
}

func list(f requestlog.Filter, p requestlog.Page) func(context.Context, *store.DB) (int, error) {
	f.WorkspaceID, p.Within = workspaceID, searchTime
	return func(ctx context.Context, db *store.DB) (int, error) {
		entries, err := db.Log.Entries(ctx, f, p)
		return len(entries), err
	}
}

func count(f requestlog.Filter) func(context.Context, *store.DB) (int, error) {
	f.WorkspaceID = workspaceID
	return func(ctx context.Context, db *store.DB) (int, error) { return db.Log.Count(ctx, f, countLimit) }
}

func spent(ctx context.Context, db *store.DB) (int, error) {
	_, err := db.Figures.Spent(ctx, "key", keyID(1), now.Add(-span))
	return 1, err
}

func spending(ctx context.Context, db *store.DB) (int, error) {
	keys, err := db.Figures.Spending(ctx, workspaceID, now.Add(-span))
	return len(keys), err
}

// reports lists queries of the Report page. They group by one or two dimensions with few or many values, and some have filters. The time
// ranges do not end at a full hour.
func reports() []question {
	var all []question
	for _, r := range []struct {
		name string
		span time.Duration
	}{{"24 hours", 24 * time.Hour}, {"7 days", 7 * 24 * time.Hour}, {"30 days", span}} {
		for _, text := range []string{
			"by=model", "by=model&then=key", "by=provider&then=policy", "by=client", "by=user", "by=session", "by=tag:team", "by=tag:team&then=model",
			"by=tag:team&then=tag:stage", "by=user&then=model", "by=session&then=client", "by=member&then=model", "by=model&tag=team=search",
			"by=session&user=u-00042",
		} {
			all = append(all, question{"report " + text + ", " + r.name, overviewBound, reported(text, r.span)})
		}
	}
	return append(all, question{"report by=user&then=model&key=…, 7 days", overviewBound, reported("by=user&then=model&key="+keyID(1), 7*24*time.Hour)})
}

// bulkReports lists queries of the Report page for -bulk. They group by every dimension and by common pairs of dimensions, and some
// filter on other dimensions.
func bulkReports() []question {
	var all []question
	for _, r := range []struct {
		name string
		days time.Duration
	}{{"1 day", 1}, {"7 days", 7}, {"30 days", 30}, {"90 days", 90}} {
		for _, text := range []string{
			"by=model", "by=provider", "by=key", "by=policy", "by=member", "by=user", "by=session", "by=client", "by=tag:team", "by=tag:feature",
			"by=model&then=provider", "by=model&then=key", "by=key&then=model", "by=provider&then=policy", "by=member&then=model", "by=user&then=model",
			"by=session&then=model", "by=user&then=session", "by=key&then=user", "by=client&then=model", "by=tag:team&then=model",
			"by=tag:team&then=tag:feature", "by=tag:team&then=user", "by=user&measure=latency", "by=user&then=model&measure=errors",
			"by=model&user=u-00000", "by=model&user=u-43210", "by=session&user=u-00007", "by=model&session=s-000900", "by=user&model=gpt-4.1",
			"by=user&tag=team=search", "by=model&tag=team=search", "by=model&model=gpt-4.1&key=K", "by=model&user=u-00007&client=client/3", "by=user&then=model&key=K",
			"by=model&then=provider&key=K", "by=tag:team&then=model&provider=openai", "by=session&then=model&user=u-00007",
		} {
			filter := strings.ReplaceAll(text, "=K", "=key_01JCX5T4M5D9X0Q3W8Z6F2V150")
			all = append(all, question{text + ", " + r.name, overviewBound, reported(filter, r.days*24*time.Hour)})
		}
	}
	return all
}

func reported(text string, span time.Duration) func(context.Context, *store.DB) (int, error) {
	return func(ctx context.Context, db *store.DB) (int, error) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return 0, err
		}
		q, err := report.Parse(values, now)
		if err != nil {
			return 0, err
		}
		q.WorkspaceID, q.From, q.To = workspaceID, now.Add(-span), now
		source := report.Source{Figures: db.Figures, Facts: db.Report}
		r, err := source.Run(ctx, q, now)
		if err != nil {
			return 0, err
		}
		rows := len(r.Groups)
		for i := range r.Groups {
			rows += len(r.Groups[i].Groups)
		}
		return rows, nil
	}
}
