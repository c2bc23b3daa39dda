//go:build unix

package store_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/storetest"
)

// benchEntry returns an entry of typical size, as the spool delivers it, with a recorded decision that compares a dozen
// targets, and two kilobytes of body.
func benchEntry(b *testing.B, i int, at time.Time) requestlog.Entry {
	b.Helper()
	cost, baseline := money.Amount(310_000+i%977*1000), money.Amount(941_000)
	decision := &route.Decision{Kind: route.Expected}
	for c := range 12 {
		decision.Candidates = append(decision.Candidates, route.Candidate{
			Target: fmt.Sprintf("provider-%d/model-%d", c%4, c), Model: fmt.Sprintf("model-%d", c), Provider: fmt.Sprintf("provider-%d", c%4),
			Rank: c + 1, Scores: route.Scores{Score: 0.9 - float64(c)/100, Quality: 0.71, Cost: 0.42, Speed: 0.3}, ExpectedCost: route.ExpectedCost{Price: &cost}, Latency: 420,
		})
	}
	recorded, err := json.Marshal(decision)
	if err != nil {
		b.Fatal(err)
	}
	return requestlog.Entry{
		Routing: requestlog.Routing{
			Recorded: requestlog.Recorded{Decision: decision, JSON: recorded}, Model: fmt.Sprintf("model-%d", i%5), Provider: fmt.Sprintf("provider-%d", i%3),
			DecisionKind: route.Expected, Decision: decision, Attempts: []requestlog.Attempt{{Target: requestlog.Target{Provider: "provider-1", Model: "model-1"}, AttemptResult: requestlog.AttemptResult{Status: 200}}},
		},
		ID:     id.New("req", at),
		Owner:  requestlog.Owner{WorkspaceID: "ws_01JCX5T4M5D9X0Q3W8Z6F2V7RB", KeyID: fmt.Sprintf("key_01JCX5T4M5D9X0Q3W8Z6F2V7%02d", i%10), KeyName: "ci"},
		Timing: requestlog.Timing{Time: at, Latency: time.Duration(300+i%1000) * time.Millisecond, TTFT: time.Duration(100+i%300) * time.Millisecond},
		Call: requestlog.Call{
			Endpoint: "chat/completions", Format: "chat", Requested: "auto",
			Preview: fmt.Sprintf("Please summarise document %d for me, and be brief", i),
		},
		Result: requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Charge: requestlog.Charge{
			Usage: llm.Usage{Input: 500, Output: 200}, Cost: &cost,
			Bill: &catalog.Bill{Rows: []catalog.Row{{Class: "input", Tokens: 500, Rate: 3, Amount: cost}}, Total: cost},
		},
		Baseline: requestlog.Baseline{BaselineCost: &baseline, BaselineModel: "large-a"},
		Labels: requestlog.Labels{
			Session: fmt.Sprintf("s-%d", i/8), EndUser: fmt.Sprintf("u-%d", i%500),
			Tags: map[string]string{"team": "search"},
		},
		Connection: requestlog.Connection{Client: "openai-python/2"}, BodyState: requestlog.BodyStored,
		Body: requestlog.Body{
			Request:  []byte(strings.Repeat(fmt.Sprintf(`{"role":"user","content":"text number %d"}`, i), 30)),
			Response: []byte(strings.Repeat(fmt.Sprintf(`{"content":"answer %d"}`, i), 30)),
		},
	}
}

// prose returns a function that generates text from the documentation. Natural text compresses far less than repeated
// text.
func prose(b *testing.B) func(n int) []byte {
	b.Helper()
	files, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(files) == 0 {
		b.Fatalf("no documentation: %v", err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, text...)
	}
	at := 0
	return func(n int) []byte {
		text := make([]byte, 0, n)
		for len(text) < n {
			part := all[at:min(at+n-len(text), len(all))]
			text, at = append(text, part...), (at+len(part))%len(all)
		}
		return text
	}
}

// benchmarkWrite writes batches like the spool under load. body is the length of generated bodies; 0 selects the bodies of
// benchEntry.
func benchmarkWrite(b *testing.B, db *store.DB, body int) {
	b.Helper()
	const entriesAtMost, bytesAtMost, answer = 1000, 8 << 20, 1 << 10
	text := prose(b)
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	var n int
	var busy time.Duration
	for b.Loop() {
		b.StopTimer()
		entries := make([]requestlog.Entry, min(entriesAtMost, bytesAtMost/(body+answer)))
		for i := range entries {
			at = at.Add(time.Millisecond)
			entries[i] = benchEntry(b, n, at)
			if body > 0 {
				entries[i].Body = requestlog.Body{Request: text(body), Response: text(answer)}
			}
			n++
		}
		before := cpuTime(b)
		b.StartTimer()
		if err := db.Log.WriteEntries(b.Context(), entries); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		busy += cpuTime(b) - before
		b.StartTimer()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(n)/busy.Seconds(), "entries/cpu-s") // throughput of one core
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func BenchmarkWriteEntriesSQLite(b *testing.B)   { benchmarkWrite(b, openSQLite(b), 0) }
func BenchmarkWriteEntriesPostgres(b *testing.B) { benchmarkWrite(b, openPostgres(b), 0) }

// BenchmarkWriteBodiesSQLite measures the cost of long bodies.
func BenchmarkWriteBodiesSQLite(b *testing.B) {
	for _, size := range []int{10 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) { benchmarkWrite(b, openSQLite(b), size) })
	}
}

// BenchmarkWriteTurnsSQLite compares the CPU time of storing sessions of 40 turns whole and split. The time includes the splitting.
func BenchmarkWriteTurnsSQLite(b *testing.B) {
	turns := outlinetest.Session{Format: "chat", Turns: 40, Growth: 3200, Seed: 1}.Make()
	for _, split := range []bool{false, true} {
		b.Run(fmt.Sprintf("split=%v", split), func(b *testing.B) {
			db, session := openSQLite(b), 0
			began, n := cpuTime(b), 0
			for b.Loop() {
				session++
				workspace := fmt.Sprintf("ws_%026d", session)
				writers := make([]*storetest.Writer, 16) // concurrent sessions whose texts are not shared
				for i := range writers {
					writers[i] = storetest.NewWriter(b, fmt.Sprint(workspace, i))
				}
				for i, turn := range turns {
					at := time.Date(2026, 11, 15, 0, 0, i, 0, time.UTC)
					var batch []requestlog.Entry
					for _, w := range writers {
						e := benchEntry(b, i, at)
						e.WorkspaceID, e.Body = workspace, requestlog.Body{Request: turn.Body, Response: turn.Answer}
						if split {
							e.Body = w.Entry(b, workspace, at, turn).Body
						}
						batch = append(batch, e)
					}
					if err := db.Log.WriteEntries(b.Context(), batch); err != nil {
						b.Fatal(err)
					}
					for j, w := range writers {
						w.Remember(&batch[j])
					}
					n += len(batch)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(n), "cpu-us/turn")
		})
	}
}

// BenchmarkWriteNew measures storing requests of 100 KB whose messages are all new. Splitting the requests is not measured. It also reports
// how much the database grows for each byte of the requests and responses.
func BenchmarkWriteNew(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": openSQLite, "postgres": openPostgres} {
		b.Run(name, func(b *testing.B) {
			const batch, messages = 40, 40
			db, text, w := open(b), prose(b), storetest.NewWriter(b, "ws")
			at, n, fresh := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), 0, 0
			size := databaseSize(b, db)
			var busy time.Duration
			for b.Loop() {
				entries := make([]requestlog.Entry, batch)
				for i := range entries {
					var list []map[string]string
					for m := range messages {
						list = append(list, map[string]string{"role": "user", "content": strings.ToValidUTF8(fmt.Sprintf("%d/%d %s", n, m, text(2500)), "")})
					}
					body, err := json.Marshal(map[string]any{"model": "auto", "messages": list})
					if err != nil {
						b.Fatal(err)
					}
					at = at.Add(time.Millisecond)
					answer := text(1 << 10)
					entries[i] = w.Entry(b, "ws", at, outlinetest.Turn{Body: body, Answer: answer})
					n, fresh = n+1, fresh+len(body)+len(answer)
				}
				before := cpuTime(b)
				if err := db.Log.WriteEntries(b.Context(), entries); err != nil {
					b.Fatal(err)
				}
				busy += cpuTime(b) - before
			}
			b.ReportMetric(float64(busy.Microseconds())/float64(n), "cpu-us/entry")
			b.ReportMetric(float64(databaseSize(b, db)-size)/float64(fresh), "bytes/byte")
		})
	}
}
