//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/figurestore"
	"fairlead.dev/internal/store/reportstore"
	"fairlead.dev/internal/store/sqldb"
)

// Size of the traffic that -bulk generates. Six of ten requests belong to a session. A session has 12
// requests on average. Ten days are generated and copied to earlier days, so the same sessions occur in each copy.
const (
	bulkSpan     = 90 * 24 * time.Hour
	bulkDays     = 10
	bulkKeys     = 200
	bulkUsers    = 50_000
	bulkClients  = 30
	openSessions = 250 // sessions that are open at the same time
)

// bulkFill generates requests and writes only their roll-ups, in batches of an hour or a day. It then copies the roll-ups to earlier days.
// A gateway writes a batch every second instead, and the leader folds these batches into the same rows.
func (o options) bulkFill(ctx context.Context, db *store.DB, out io.Writer) error {
	var stored int
	if err := db.QueryRow(ctx, `select count(*) from report_days`).Scan(&stored); err != nil {
		return err
	}
	if stored > 0 {
		fmt.Fprintf(out, "the roll-ups are already stored\n\n")
		return nil
	}
	begun, cpu := time.Now(), cpuTime()
	var folding time.Duration
	g := newBulk(o.rows)
	var figures figurestore.Batch
	var hour time.Time
	facts := &reportstore.Batch{}
	write := func(both bool) error {
		return db.InTx(ctx, func(tx *sql.Tx) error {
			if err := db.Report.Write(ctx, tx, facts); err != nil || !both {
				return err
			}
			return db.Figures.Write(ctx, tx, figures)
		})
	}
	figures = figurestore.Batch{}
	for i := range g.rows {
		e := g.entry(i)
		if at := e.Time.Truncate(time.Hour); !at.Equal(hour) {
			midnight := at.Truncate(24 * time.Hour).Equal(at)
			if err := write(midnight); err != nil {
				return err
			}
			if hour, facts = at, (&reportstore.Batch{}); midnight {
				figures = figurestore.Batch{}
				took, err := fold(ctx, db)
				if err != nil {
					return err
				}
				folding += took
			}
		}
		facts.Add(&e)
		if now.Sub(e.Time) > 72*time.Hour { // round to the hour: minute roll-ups are not kept this long, and hourly rows are fewer
			e.Time = hour
		}
		figures.Add(&e, now)
	}
	if err := write(true); err != nil {
		return err
	}
	took, err := fold(ctx, db)
	if err != nil {
		return err
	}
	for _, table := range []string{"report_chunks", "report_samples", "report_days", "rollup_hours", "rollup_days"} {
		if err := repeat(ctx, db, table); err != nil {
			return fmt.Errorf("repeat %s: %w", table, err)
		}
	}
	size, err := db.Size(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "roll-ups written in %.0f s (%.0f s of CPU time in this process), of which report roll-ups of %d requests %.0f s; %d MiB on disk\n\n",
		time.Since(begun).Seconds(), (cpuTime() - cpu).Seconds(), g.rows, (folding + took).Seconds(), size>>20)
	return nil
}

// repeat copies the rows of the generated days to the days before them.
func repeat(ctx context.Context, db *store.DB, table string) (err error) {
	rows, err := db.Query(ctx, `select * from `+table+` limit 0`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err := errors.Join(err, rows.Err()); err != nil {
		return err
	}
	today := now.Truncate(24 * time.Hour)
	pad := "printf('%%014d', start - %d)"
	if db.Dialect() == sqldb.Postgres {
		pad = "lpad((start - %d)::text, 14, '0')"
	}
	for shift := bulkDays * 24 * time.Hour; shift < bulkSpan; shift += bulkDays * 24 * time.Hour {
		values := slices.Clone(columns)
		for i, name := range values {
			switch name {
			case "start":
				values[i] = fmt.Sprintf("start - %d", shift.Milliseconds())
			case "id": // the ID begins with the start time, padded with zeros
				values[i] = fmt.Sprintf(pad, shift.Milliseconds()) + " || substr(id, 15)"
			}
		}
		if _, err := db.Exec(ctx, fmt.Sprintf(`insert into %s (%s) select %s from %s where start >= $1 and start < $2`, table, strings.Join(columns, ","), strings.Join(values, ","), table),
			today.Add(-bulkDays*24*time.Hour).UnixMilli(), today.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// fold folds all queued batches into the roll-ups. It returns the time that the report roll-ups took.
func fold(ctx context.Context, db *store.DB) (time.Duration, error) {
	for more := true; more; { // the gateway calls Figures.Fold every second
		var err error
		if more, err = db.Figures.Fold(ctx); err != nil {
			return 0, err
		}
	}
	begun := time.Now()
	for more := true; more; { // the gateway calls Report.Fold every 15 seconds
		var err error
		if more, err = db.Report.Fold(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}

// bulk generates requests for roll-ups. They depend only on the number of rows.
type bulk struct {
	generator
	targets  []target
	users    *rand.Zipf
	keys     []string
	open     []bulkSession
	sessions int
}

type bulkSession struct{ name, user string }

func newBulk(rows int) *bulk {
	span := now.Sub(now.Truncate(24*time.Hour)) + bulkDays*24*time.Hour
	g := &bulk{generator: *newGenerator(int(float64(rows) * float64(span) / float64(span-bulkDays*24*time.Hour+bulkSpan))), targets: targets, open: make([]bulkSession, openSessions)}
	g.span = span
	for i := range 9 { // 20 models at 9 providers
		t := targets[i]
		t.model += "-preview"
		g.targets = append(g.targets, t)
	}
	g.users = rand.NewZipf(g.rnd, 1.07, 20, bulkUsers-1)
	for i := range bulkKeys {
		g.keys = append(g.keys, fmt.Sprintf("key_01JCX5T4M5D9X0Q3W8Z6F2V%03d", i))
	}
	return g
}

// user returns a random end user. A few end users send most of the requests.
func (g *bulk) user() string { return "u-" + strconv.FormatUint(100_000+g.users.Uint64(), 10)[1:] }

// entry generates request i. Each end user belongs to one key, and each key to one team and one client. A key mostly
// uses three targets.
func (g *bulk) entry(i int) requestlog.Entry {
	s := &bulkSession{}
	if g.chance(0.6) {
		s = &g.open[g.rnd.IntN(openSessions)]
		if s.name == "" || g.chance(1.0/12) {
			g.sessions++
			*s = bulkSession{"s-" + strconv.Itoa(1_000_000 + g.sessions)[1:], g.user()}
		}
	} else {
		s.user = g.user()
	}
	number, _ := strconv.Atoi(s.user[2:])                  // the ID of the user contains a number
	key := int(math.Sqrt(float64(number * 7919 % 40_000))) // keys with high numbers have more users
	t := g.targets[(key*5+g.rnd.IntN(3))%len(g.targets)]
	if g.chance(0.02) {
		t = pick(g.rnd, g.targets)
	}
	e := requestlog.Entry{
		ID: "req_" + strconv.Itoa(i), Owner: requestlog.Owner{WorkspaceID: workspaceID, KeyID: g.keys[key]},
		Timing:  requestlog.Timing{Time: g.moment(i), TTFT: time.Duration(t.quick*g.spread(0.4)*1000) * time.Microsecond},
		Routing: requestlog.Routing{Model: t.model, Provider: t.provider, DecisionKind: route.Expected},
		Result:  requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Labels: requestlog.Labels{
			Session: s.name, EndUser: s.user,
			Tags: map[string]string{"team": teams[key%len(teams)], "stage": pick(g.rnd, stages), "feature": "f-" + strconv.Itoa(number%40)},
		},
		Connection: requestlog.Connection{Client: "client/" + strconv.Itoa(key%bulkClients)},
		Charge:     requestlog.Charge{Usage: llm.Usage{Input: int64(600 * g.spread(1.1)), Output: int64(220 * g.spread(0.9))}},
	}
	e.Latency = e.TTFT + time.Duration(e.Usage.Output)*9*time.Millisecond
	e.Cost, e.BaselineCost = new(price(e.Usage, t)), new(price(e.Usage, targets[0]))
	switch n := g.rnd.IntN(1000); {
	case n < 50:
		e.DecisionKind, e.Policy = route.Policy, pick(g.rnd, policies)
	case n < 60:
		e.Outcome, e.Status, e.Usage, e.Cost, e.BaselineCost = requestlog.UpstreamError, 502, llm.Usage{}, nil, nil
	case n < 65:
		e.Cost = (*money.Amount)(nil)
	}
	return e
}
