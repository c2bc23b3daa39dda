package upload

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
)

func TestBudgetReservesMemoryForOtherWorkspaces(t *testing.T) {
	t.Parallel()
	var b Budget
	for i, step := range []struct {
		workspace string
		n, mine   int64
		taken     bool
	}{
		{"a", 60, 0, true},  // a single body is always allowed
		{"a", 30, 60, true}, // the single body may grow
		{"a", 1, 0, false},  // a second body would exceed half of the total
		{"b", 11, 0, false}, // exceeds the total
		{"b", 10, 0, true},  // other workspaces get the rest
		{"a", 1, 90, false}, // the budget is used up
		{"a", -90, 0, true}, // the first body is released
		{"b", 40, 0, true},  // half for one workspace, in several bodies
		{"b", 1, 0, false},
		{"c", 50, 0, true}, // the other half is for the other workspaces
		{"c", -50, 0, true},
		{"b", -50, 0, true},
		{"b", 100, 0, true}, // one body may use the whole budget
		{"b", -100, 0, true},
	} {
		if step.n < 0 {
			b.release(step.workspace, -step.n)
			continue
		}
		if got := b.take(step.workspace, step.n, step.mine, 100); got != step.taken {
			t.Errorf("step %d: take = %t, want %t", i, got, step.taken)
		}
	}
	if b.held != 0 || len(b.byWorkspace) != 0 {
		t.Errorf("%d bytes still held, by %v; want none", b.held, b.byWorkspace)
	}
}

func TestLargeBodiesReserveMemoryForDecoding(t *testing.T) {
	t.Parallel()
	body := func(inside string) []byte { return []byte(`{"model":"m","input":[` + inside + `1]}`) }
	messages, tokens, dense := body(strings.Repeat(`{"a":1},`, 1000)), body(strings.Repeat(`1,`, 1000)), body(strings.Repeat(`1,`, strict.MaxElements))
	for name, tc := range map[string]struct {
		op     llm.Op
		body   []byte
		total  int64
		others int64 // bytes that another workspace holds
		held   int64
		kind   llm.Kind
	}{
		"messages":            {llm.Chat, messages, 1 << 30, 0, 4*int64(len(messages)) + 400*2003, ""},
		"token ids":           {llm.Embed, tokens, 1 << 30, 0, 4*int64(len(tokens)) + 400*2, ""},
		"very many token ids": {llm.Embed, dense, 1 << 30, 0, 4*int64(len(dense)) + 400*2, ""},
		"too many elements":   {llm.Chat, dense, 1 << 30, 0, 0, llm.InvalidRequest},
		"whole budget":        {llm.Chat, messages, int64(len(messages)) + 9, 0, int64(len(messages)) + 9, ""},
		"budget partly used":  {llm.Chat, messages, int64(len(messages)) + 9, 1, 0, llm.Overloaded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget := &Budget{}
			budget.take("other", tc.others, 0, tc.total)
			b := Body{budget: budget, workspace: "a", total: tc.total, Bytes: tc.body}
			if err := b.take(int64(len(tc.body))); err != nil {
				t.Fatal(err)
			}
			err := b.reserveDecoding(tc.op)
			if tc.kind != "" {
				if err == nil || llm.AsError(err).Kind != tc.kind {
					t.Errorf("reserveDecoding: %v, want %s", err, tc.kind)
				}
				return
			}
			if err != nil || b.held != tc.held {
				t.Errorf("%d bytes held, want %d: %v", b.held, tc.held, err)
			}
			b.ReleaseDecoding()
			if b.held != int64(len(tc.body)) || budget.held != b.held+tc.others {
				t.Errorf("%d bytes held after decoding, %d in total; want %d and %d", b.held, budget.held, len(tc.body), b.held+tc.others)
			}
			b.Release()
			if budget.held != tc.others {
				t.Errorf("%d bytes held after Release, want %d", budget.held, tc.others)
			}
		})
	}
}

// discardConn is a client connection that discards all data.
type discardConn struct{ header http.Header }

func (d discardConn) Header() http.Header           { return d.header }
func (discardConn) Write(p []byte) (int, error)     { return len(p), nil }
func (discardConn) WriteHeader(int)                 {}
func (discardConn) SetReadDeadline(time.Time) error { return nil }

func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	compress := func(w io.WriteCloser, text string) {
		_, _ = io.WriteString(w, text)
		_ = w.Close()
	}
	var zipped, bomb, zstandard bytes.Buffer
	compress(gzip.NewWriter(&zipped), `{"a":1}`)
	compress(gzip.NewWriter(&bomb), strings.Repeat("x", 4096))
	z, err := zstd.NewWriter(&zstandard)
	if err != nil {
		t.Fatal(err)
	}
	compress(z, `{"a":1}`)
	for name, c := range map[string]struct {
		encoding string
		body     []byte
		want     llm.Kind // empty if the body is accepted
	}{
		"gzip":           {"gzip", zipped.Bytes(), ""},
		"zstd":           {"zstd", zstandard.Bytes(), ""},
		"too large":      {"gzip", bomb.Bytes(), llm.PayloadTooLarge},
		"too large zstd": {"zstd", zstd.EncodeTo(nil, make([]byte, 4096)), llm.PayloadTooLarge},
		"malformed gzip": {"gzip", []byte("{}"), llm.InvalidRequest},
		"truncated gzip": {"gzip", zipped.Bytes()[:20], llm.InvalidRequest},
		"malformed zstd": {"zstd", []byte("{}"), llm.InvalidRequest},
		"brotli":         {"br", []byte("{}"), llm.UnsupportedMediaType},
	} {
		r := &http.Request{
			Header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {c.encoding}}, ContentLength: int64(len(c.body)),
			Body: io.NopCloser(bytes.NewReader(c.body)),
		}
		budget := &Budget{}
		body, err := budget.Read(discardConn{http.Header{}}, r, llm.Chat, "w", Limits{Body: 1 << 10, Total: 32 << 20, Pause: time.Minute})
		switch {
		case c.want != "":
			if err == nil || llm.AsError(err).Kind != c.want {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		case err != nil || string(body.Bytes) != `{"a":1}`:
			t.Errorf("%s: %v, want the decoded body", name, err)
		default:
			body.Release()
		}
		if budget.held != 0 {
			t.Errorf("%s: %d bytes are still reserved", name, budget.held)
		}
	}
}

// BenchmarkRead reads requests of 1 KiB and 100 KiB.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10} {
		b.Run(fmt.Sprint(size>>10, "KB"), func(b *testing.B) {
			budget, text := &Budget{}, bytes.Repeat([]byte("x"), size)
			w, limits := discardConn{http.Header{}}, Limits{Body: 1 << 20, Total: 8 << 20, Pause: time.Minute}
			r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(text))}
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(bytes.NewReader(text))
				body, err := budget.Read(w, r, llm.Chat, "w", limits)
				if err != nil {
					b.Fatal(err)
				}
				body.Release()
			}
		})
	}
}
