package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// mediaVendor is a provider of audio, images and reranking.
type mediaVendor struct {
	mu     sync.Mutex
	status int // error status of every response; 0 if requests succeed
	calls  []string
}

func (v *mediaVendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
	if v.status != 0 {
		w.WriteHeader(v.status)
		return
	}
	switch r.URL.Path {
	case "/v1/audio/speech":
		w.Header().Set("Content-Type", "audio/mpeg")
		_, _ = io.WriteString(w, "ID3\x00\xff")
	case "/v1/audio/transcriptions":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"Hello"}`)
	case "/v1/images/generations":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"b64_json":"AAAA"}],"usage":{"input_tokens":5,"output_tokens":100}}`)
	case "/v1/rerank":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model":"rr-2026","results":[{"index":0,"relevance_score":0.9}]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// mediaKit returns a gateway with two providers of the reranking model rr, and one provider of the other models.
func mediaKit(t *testing.T, adjust ...func(*kit)) (k *kit, first, second *mediaVendor) {
	t.Helper()
	k = newKit(t, adjust...)
	first, second = &mediaVendor{}, &mediaVendor{}
	model := func(name string, op llm.Op, price *catalog.Price) *provider.Target {
		tg := target(name, 0, 0)
		tg.Model.Op, tg.Model.Abilities, tg.Price = op, 0, price
		return tg
	}
	fee := &catalog.Price{PerRequest: money.Dollar / 100, Source: "test"}
	tokens := &catalog.Price{Input: money.PerMillion(5), Output: money.PerMillion(40), Source: "test"}
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{
		k.vendor("alpha", first, model("tts", llm.Speech, fee), model("whisper", llm.Transcribe, nil), model("img", llm.GenerateImages, tokens), model("rr", llm.Rerank, fee), target("large", 2, 8)),
		k.vendor("beta", second, model("rr", llm.Rerank, fee)),
	}, nil)
	k.gateway.Update(k.settings, k.snapshot)
	return k, first, second
}

// vendor returns a provider whose requests are served by the given handler.
func (k *kit) vendor(name string, handler http.Handler, targets ...*provider.Target) *provider.Provider {
	k.Helper()
	server := httptest.NewServer(handler)
	k.Cleanup(server.Close)
	for _, t := range targets {
		t.Provider = name
	}
	return compatible.New(compatible.Row{Name: name, ChatPath: "/chat/completions"}, provider.Settings{
		BaseURL: server.URL + "/v1", Targets: targets, Credentials: []provider.Credential{{ID: name + "#1", Secret: "sk-" + name, Source: "test"}},
	})
}

func TestMediaRequestsPass(t *testing.T) {
	t.Parallel()
	k, first, _ := mediaKit(t)
	got := k.post("/audio/speech", `{"model":"tts","input":"Hello","voice":"alloy","session_id":"s"}`)
	if got.status != http.StatusOK || got.body != "ID3\x00\xff" || got.header.Get("Content-Type") != "audio/mpeg" || got.header.Get("X-Fairlead-Model") != "tts" {
		t.Fatalf("speech: %d %v %q", got.status, got.header, got.body)
	}
	e := k.entry()
	if e.Endpoint != "audio/speech" || e.Outcome != requestlog.OK || e.BodyState != requestlog.BodyMedia || len(e.Body.Request)+len(e.Body.Response) > 0 || e.Cost == nil || *e.Cost != money.Dollar/100 {
		t.Errorf("speech: entry %+v", e)
	}
	got = k.post("/images/generations", `{"model":"img","prompt":"a boat"}`)
	if e := k.entry(); got.status != http.StatusOK || e.Usage.Output != 100 || e.Usage.Input != 5 || e.Cost == nil || *e.Cost == 0 {
		t.Errorf("images: %d %s, %+v", got.status, got.body, e)
	}
	got = k.post("/rerank", `{"model":"rr","query":"q","documents":["a"]}`)
	if e := k.entry(); got.status != http.StatusOK || rawjson.ParseString(got.body).Get("model").String() != "rr" || e.Cost == nil {
		t.Errorf("rerank: %d %s", got.status, got.body)
	}
	want := []string{
		`/v1/audio/speech application/json {"model":"tts-2026","input":"Hello","voice":"alloy"}`,
		`/v1/images/generations application/json {"model":"img-2026","prompt":"a boat"}`,
	}
	for i, call := range want {
		if first.calls[i] != call {
			t.Errorf("call %d is %s, want %s", i, first.calls[i], call)
		}
	}
}

func TestTranscriptionsAreForms(t *testing.T) {
	t.Parallel()
	k, first, _ := mediaKit(t)
	const form = "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\r\n--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--b1--\r\n"
	kind := "multipart/form-data; boundary=b1"
	if got := k.post("/audio/transcriptions", form, "Content-Type", kind); got.status != http.StatusBadRequest || got.code(t) != "NO_ROUTE" {
		t.Errorf("a model without a price: %d %s", got.status, got.body)
	}
	k.settings.AllowUnpriced = true
	k.gateway.Update(k.settings, k.snapshot)
	k.entry()
	got := k.post("/audio/transcriptions", form, "Content-Type", kind)
	if got.status != http.StatusOK || got.body != `{"text":"Hello"}` {
		t.Errorf("%d %s", got.status, got.body)
	}
	if e := k.entry(); e.Cost != nil || e.Outcome != requestlog.OK || e.Requested != "whisper" {
		t.Errorf("entry %+v", e)
	}
	_, rest, _ := strings.Cut(first.calls[0], "boundary=")
	boundary, _, _ := strings.Cut(rest, " ")
	if want := "/v1/audio/transcriptions " + kind + " " + strings.Replace(form, "whisper", "whisper-2026", 1); len(first.calls) != 1 || strings.ReplaceAll(first.calls[0], boundary, "b1") != want {
		t.Errorf("sent %q", first.calls)
	}
	k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Total}
	if got := k.post("/audio/transcriptions", form, "Content-Type", kind); got.status < 400 {
		t.Errorf("a budget does not reject a model without a price: %d", got.status)
	}
	if got := k.post("/audio/transcriptions", `{"model":"whisper"}`); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: status %d, want 415: %s", got.status, got.body)
	}
	if got := k.post("/audio/transcriptions", "--b1\r\n", "Content-Type", kind); got.status != http.StatusBadRequest || got.code(t) != "INVALID_REQUEST" {
		t.Errorf("incomplete: %d %s", got.status, got.body)
	}
}

func TestMediaRequestsFallBackToTheSameModel(t *testing.T) {
	t.Parallel()
	k, first, second := mediaKit(t)
	first.status, second.status = http.StatusServiceUnavailable, 0
	got := k.post("/rerank", `{"model":"rr","query":"q","documents":["a"]}`)
	if got.status != http.StatusOK || got.header.Get("X-Fairlead-Provider") != "beta" || len(second.calls) != 1 {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
}
