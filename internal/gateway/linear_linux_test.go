//go:build costs

package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/bedrock"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
	messages "fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

const (
	smallList = 512 // elements added to a list
	largeList = 8 * smallList
	// maxGrowth is the maximum cost of largeList relative to smallList: 2.5 for each of three doublings.
	maxGrowth = 2.5 * 2.5 * 2.5
	// cheapElement is the cost per element below which a list of largeList elements is not compared with a small list. A step with
	// quadratic cost exceeds it.
	cheapElement = 6 * time.Microsecond
	maxTimes     = 8 // maximum memory of a request relative to its size
	confirms     = 4 // consecutive measurements above maxGrowth that fail the test
)

// ingress is one endpoint with a request that contains every list of the endpoint.
type ingress struct {
	file   string
	op     llm.Op
	format wire.Format
}

// recipient is a provider for requests of one endpoint.
type recipient struct {
	format   string
	provider *provider.Provider
}

var ingresses = []ingress{
	{"chat", llm.Chat, openai.Format{}},
	{"messages", llm.Chat, messages.Format{}},
	{"responses", llm.Chat, responses.Format{}},
	{"completions", llm.Complete, openai.Format{}},
	{"embeddings", llm.Embed, openai.Format{}},
	{"embeddings_tokens", llm.Embed, openai.Format{}},
	{"moderations", llm.Moderate, openai.Format{}},
	{"gemini", llm.Chat, gemini.Format{Model: "m"}},
}

// TestRequestCostIsLinear grows every list and every object of every request format. It runs the steps that read them, and
// the translation for a provider of every format. It runs only with -complete, as in make verify.
// With eight times as many elements, the cost may grow by at most the factor maxGrowth.
//
// The cost is the CPU time of the thread, without garbage collection, and the best of several runs: other load on the machine hardly adds
// to it. A quadratic step makes the cost 64 times as high. A single measurement may be noise, for example from CPU caches, so the test fails only
// after repeated measurements above maxGrowth.
func TestRequestCostIsLinear(t *testing.T) { //nolint:paralleltest // the test measures CPU time
	for _, in := range ingresses {
		t.Run(in.file, func(t *testing.T) {
			var recipients []recipient
			for _, out := range egresses {
				if p := singleTarget(out.vendor, out.model, in.op); len(p.Targets) > 0 && p.Exchange(in.op) != nil {
					recipients = append(recipients, recipient{out.format, p})
				}
			}
			example := readExample(t, in.file)
			if decode(in, example.json(nil)) == nil {
				t.Fatal("the example is not accepted")
			}
			example.growths(func(name string, grown func(n int) []byte) {
				large, small := grown(largeList), sync.OnceValue(func() []byte { return grown(smallList) })
				if g, cost := growth(func(body []byte) { readRequest(in, body) }, large, small); g > maxGrowth {
					t.Errorf("%s: eight times the elements cost %.1f times as much to read, %s for %d", name, g, cost, largeList)
				}
				largeRequest, smallRequest := decode(in, large), func() *llm.Request { return decode(in, small()) }
				if largeRequest == nil {
					return // the decoder rejects the body
				}
				for _, to := range recipients {
					if g, cost := growth(func(req *llm.Request) { _ = send(in, to.provider, req) }, largeRequest, smallRequest); g > maxGrowth {
						t.Errorf("%s: eight times the elements cost %.1f times as much to send to %s, %s for %d", name, g, to.format, cost, largeList)
					}
				}
			})
		})
	}
}

// TestResponseCostIsLinear writes responses with many tool calls in every format, and reads a stream that sends a signature in
// many small deltas. See TestRequestCostIsLinear for the measurement.
func TestResponseCostIsLinear(t *testing.T) { //nolint:paralleltest // the test measures CPU time
	for _, in := range append(ingresses[:3:3], ingresses[7]) {
		for _, stream := range []bool{false, true} {
			write := func(n int) {
				req := &llm.Request{Op: llm.Chat, Payload: llm.Payload{Format: in.format.Name(), Body: []byte("{}")}, ResponseOptions: llm.ResponseOptions{Stream: stream}}
				for range in.format.EncodeResponse(req, "m", func(yield func(llm.Delta, error) bool) {
					for i := range n {
						call := &llm.ToolCall{ID: "c" + strconv.Itoa(i), Name: "f"}
						if !yield(llm.Delta{Kind: llm.CallDelta, Index: i, Call: call}, nil) || !yield(llm.Delta{Kind: llm.ArgumentsDelta, Index: i, Text: "{}"}, nil) {
							return
						}
					}
					yield(llm.Delta{Kind: llm.FinishDelta, Finish: "tool_calls"}, nil)
				}) {
				}
			}
			if g, cost := growth(write, 4*largeList, func() int { return 4 * smallList }); g > maxGrowth {
				t.Errorf("%s, stream %v: eight times the calls cost %.1f times as much, %s", in.file, stream, g, cost)
			}
		}
	}
	p := singleTarget(anthropic.Vendor, "claude-sonnet-4-5", llm.Chat)
	read := func(body []byte) {
		call := &provider.Call{Target: p.Targets[0], Client: openai.Format{}, Request: &llm.Request{Op: llm.Chat, Payload: llm.Payload{Format: "chat", Body: []byte("{}")}, ResponseOptions: llm.ResponseOptions{Stream: true}}}
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body))}
		events := p.Chat.Events(call, resp)
		for range llm.All(events) {
		}
		events.Close()
	}
	signature := "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"" + strings.Repeat("s", 64) + "\"}}\n\n"
	if g, cost := growth(read, []byte(strings.Repeat(signature, 4*largeList)), func() []byte { return []byte(strings.Repeat(signature, 4*smallList)) }); g > maxGrowth {
		t.Errorf("eight times the pieces of a signature cost %.1f times as much, %s", g, cost)
	}
}

// readRequest runs the steps that read the lists of a request, up to the choice of a target.
func readRequest(in ingress, body []byte) {
	_ = redactor.Begin(func() bool { return false }).JSON(body)
	req := decode(in, body)
	if req == nil {
		return
	}
	_ = token.Model{Vendor: "OpenAI"}.Prompt(token.PromptOf(req))
	_ = promptcache.Build(req, 1000)
	if in.op == llm.Chat {
		if conv, err := req.Translate(); err == nil {
			_ = conv.Texts()
		}
	}
}

// decode returns nil for a rejected request, after encoding the error.
func decode(in ingress, body []byte) *llm.Request {
	req, err := in.format.DecodeRequest(context.Background(), in.op, body)
	if err != nil {
		_ = llm.AsError(err).Body("req_1")
		return nil
	}
	return req
}

// send encodes the request for the provider, or the error.
func send(in ingress, p *provider.Provider, req *llm.Request) error {
	call := &provider.Call{Target: p.Targets[0], Access: provider.Access{Secret: `{"access_key_id":"a","secret_access_key":"b"}`}, Request: req, Client: in.format}
	sent, err := p.Exchange(in.op).NewRequest(context.Background(), call)
	if err != nil {
		_ = llm.AsError(err).Body("req_1")
		return err
	}
	_, err = io.Copy(io.Discard, sent.Body)
	return errors.Join(err, sent.Body.Close())
}

var redactor = func() *redact.Redactor {
	r, err := redact.New(redact.Rules{Builtin: []string{"email"}})
	if err != nil {
		panic(err)
	}
	return r
}()

// growth returns the cost of a large list relative to a small one. It returns 0 for a list whose cost is too low to be quadratic.
func growth[T any](run func(T), large T, small func() T) (ratio float64, cost time.Duration) {
	if cost = cpuTime(run, large, 1); cost < largeList*cheapElement {
		return 0, cost
	}
	for range confirms {
		if ratio = float64(cost) / float64(cpuTime(run, small(), 3)); ratio <= maxGrowth {
			break
		}
		cost = cpuTime(run, large, 2)
	}
	return ratio, cost
}

// cpuTime returns the minimum CPU time of the calling thread over the given number of runs. If there are several runs, the heap
// is collected before each of them.
func cpuTime[T any](run func(T), input T, times int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	best := time.Duration(1<<63 - 1)
	for range times {
		if times > 1 {
			runtime.GC()
		}
		before := threadTime()
		run(input)
		best = min(best, threadTime()-before)
	}
	return best
}

func threadTime() time.Duration {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&now)), 0); err != 0 {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// document is a JSON value that can be encoded with one of its lists grown.
type document struct {
	raw   string // JSON text of a value that is neither a list nor an object
	list  bool
	keys  []string // names of the members of an object
	inner []*document
}

func readExample(t *testing.T, name string) *document {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "linear", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return readDocument(t, jsontext.NewDecoder(bytes.NewReader(body)))
}

func readDocument(t *testing.T, d *jsontext.Decoder) *document {
	t.Helper()
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		raw, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		return &document{raw: string(raw)}
	}
	doc := &document{list: kind == '['}
	_, _ = d.ReadToken()
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if !doc.list {
			key, err := d.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			doc.keys = append(doc.keys, key.String())
		}
		doc.inner = append(doc.inner, readDocument(t, d))
	}
	_, _ = d.ReadToken()
	return doc
}

// growths calls yield with each way to grow each list and object of the document.
func (d *document) growths(yield func(name string, grown func(n int) []byte)) {
	d.walk("", func(path string, at *document) {
		try := func(how string, more func(w *writer, n int)) {
			yield(path+" "+how, func(n int) []byte {
				return d.json(map[*document]func(w *writer){at: func(w *writer) { more(w, n) }})
			})
		}
		if !at.list {
			try("unknown members", func(w *writer, n int) {
				for i := range n {
					w.member("x"+strconv.Itoa(i), &document{raw: "1"})
				}
			})
			if len(at.inner) > 0 {
				try("members like the first", func(w *writer, n int) {
					for i := range n {
						w.member(at.keys[0]+strconv.Itoa(i), at.inner[0])
					}
				})
			}
			return
		}
		if len(at.inner) == 0 {
			return
		}
		try("copies", func(w *writer, n int) { w.cycle(at.inner, n) })
		try("distinct elements", func(w *writer, n int) {
			w.distinct = true
			w.cycle(at.inner, n)
			w.distinct = false
		})
		for i, first := range at.inner {
			for k, second := range at.inner {
				if i != k {
					try(fmt.Sprintf("[%d] then [%d]", i, k), func(w *writer, n int) {
						w.cycle([]*document{first}, n/2)
						w.cycle([]*document{second}, n/2)
					})
				}
			}
		}
	})
}

func (d *document) walk(path string, visit func(path string, at *document)) {
	if d.raw != "" {
		return
	}
	visit(path, d)
	for i, inner := range d.inner {
		if d.list {
			inner.walk(path+"["+strconv.Itoa(i)+"]", visit)
		} else {
			inner.walk(path+"."+d.keys[i], visit)
		}
	}
}

// json writes the document. more adds members or elements to some of its values.
func (d *document) json(more map[*document]func(w *writer)) []byte {
	w := writer{more: more}
	w.value(d, "")
	return w.out
}

type writer struct {
	out      []byte
	more     map[*document]func(w *writer)
	distinct bool
	count    int
}

func (w *writer) comma() {
	if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) member(key string, value *document) {
	w.comma()
	w.out = append(strconv.AppendQuote(w.out, key), ':')
	w.value(value, key)
}

func (w *writer) cycle(elements []*document, n int) {
	for i := range n {
		w.comma()
		w.count++
		w.value(elements[i%len(elements)], "")
	}
}

// words lists the members whose values have a meaning in the format. Their values stay unchanged when elements are made distinct.
var words = " type role effort mode detail media_type format status ttl encoding_format url image_url data file_data arguments filename "

func (w *writer) value(d *document, key string) {
	switch {
	case d.raw == "":
		open, closing := byte('{'), byte('}')
		if d.list {
			open, closing = '[', ']'
		}
		w.out = append(w.out, open)
		for i, inner := range d.inner {
			if d.list {
				w.comma()
				w.value(inner, "")
			} else {
				w.member(d.keys[i], inner)
			}
		}
		if more := w.more[d]; more != nil {
			more(w)
		}
		w.out = append(w.out, closing)
	case w.distinct && d.raw[0] == '"' && !strings.Contains(words, " "+key+" "):
		w.out = append(w.out, d.raw[:len(d.raw)-1]...)
		w.out = append(strconv.AppendInt(append(w.out, '-'), int64(w.count), 10), '"')
	default:
		w.out = append(w.out, d.raw...)
	}
}

// egresses lists one provider for each provider format.
var egresses = []struct {
	format string
	vendor provider.Vendor
	model  string
}{
	{"chat", compatible.Plain("plain", "Plain"), "m"},
	{"messages", anthropic.Vendor, "claude-sonnet-4-5"},
	{"gemini", gemini.Vendor, "gemini-2.5-pro"},
	{"converse", bedrock.Vendor, "anthropic.claude-sonnet-4-5"},
}

// singleTarget returns a provider with one target.
func singleTarget(vendor provider.Vendor, model string, op llm.Op) *provider.Provider {
	return vendor.New(provider.Settings{BaseURL: "http://p.invalid", Options: map[string]string{"region": "us-east-1"}, Targets: []*provider.Target{{
		Provider: vendor.Name, Upstream: model,
		Model: &catalog.Model{Name: model, Op: op, Abilities: catalog.Common, Context: 1_000_000, MaxOutput: 64_000},
	}}})
}
