package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// doneEvent is the end of a response with 100 input tokens (10 text, 60 audio, 30 cached) and 50 output tokens (10 text, 40 audio).
const doneEvent = `{"type":"response.done","response":{"id":"r","status":"completed","usage":{"total_tokens":150,"input_tokens":100,"output_tokens":50,` +
	`"input_token_details":{"text_tokens":20,"audio_tokens":80,"cached_tokens":30,"cached_tokens_details":{"text_tokens":10,"audio_tokens":20}},` +
	`"output_token_details":{"text_tokens":10,"audio_tokens":40}}}}`

// doneCost is the cost of doneEvent at the prices of voiceTarget.
const doneCost = money.Amount(10*4_000 + 60*32_000 + 30*400 + 10*16_000 + 40*64_000)

// voice is a provider of realtime sessions. It responds to the client events response.create, start (a response without an end), transcribe,
// large, flood, freeze, die, close and leak, and returns every other message unchanged.
type voice struct {
	mu      sync.Mutex
	status  int // status of rejected handshakes; 0 to accept handshakes
	headers []http.Header
	paths   []string
	closed  chan websocket.StatusCode // close codes of ended sessions
	events  chan string               // types of the client's events
	thaw    chan struct{}             // ends a frozen session
	writes  string                    // model that transcribes the input; empty for none
}

func newVoice() *voice {
	return &voice{closed: make(chan websocket.StatusCode, 10), events: make(chan string, 100), thaw: make(chan struct{})}
}

func (v *voice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.headers, v.paths = append(v.headers, r.Header.Clone()), append(v.paths, r.URL.RequestURI())
	status := v.status
	v.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"realtime"}})
	if err != nil {
		return
	}
	conn.SetReadLimit(-1)
	ctx := context.Background()
	send := func(texts ...string) {
		for _, text := range texts {
			_ = conn.Write(ctx, websocket.MessageText, []byte(text))
		}
	}
	described := func(model string) string {
		return `{"type":"session.created","session":{"audio":{"input":{"transcription":{"model":"` + model + `"}}}}}`
	}
	send(described(v.writes))
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			v.closed <- websocket.CloseStatus(err)
			return
		}
		event := rawjson.Get(data, "type").String()
		v.events <- event
		switch event {
		case "response.create":
			if rawjson.Get(data, "response.conversation").String() == "none" { // runs until it is cancelled, and reports no usage
				send(`{"type":"response.created","response":{}}`, `{"type":"response.output_text.delta","delta":"`+strings.Repeat("x", 398)+`"}`)
				continue
			}
			send(`{"type":"response.created","response":{}}`, `{"type":"response.output_audio.delta","delta":"AAAA"}`, doneEvent)
		case "start":
			send(`{"type":"response.created","response":{}}`)
		case "response.cancel":
			send(doneEvent)
		case "session.update":
			send(strings.Replace(described(rawjson.Get(data, "session.model").String()), "created", "updated", 1))
		case "transcribe":
			send(`{"type":"conversation.item.input_audio_transcription.completed","usage":{"type":"tokens","input_tokens":1000,"output_tokens":100,"input_token_details":{"audio_tokens":1000}}}`)
		case "large":
			send(`{"type":"x","pad":"` + strings.Repeat("x", 2<<20) + `"}`)
		case "flood":
			for conn.Write(ctx, websocket.MessageText, bytes.Repeat([]byte("x"), 64<<10)) == nil {
			}
		case "freeze":
			<-v.thaw
		case "die":
			_ = conn.CloseNow()
		case "close":
			_ = conn.Close(4001, "enough")
		case "leak":
			sent := r.Header.Get("Authorization")
			send(`{"type":"leak","message":"wrong key ` + sent + `","nested":"{\"key\":\"sk-alpha\"}"}`)
			_ = conn.Close(4002, "wrong key "+sent)
		default:
			_ = conn.Write(ctx, kind, data)
		}
	}
}

func voiceTarget(name string) *provider.Target {
	rate := func(dollars float64) *money.Rate { return new(money.PerMillion(dollars)) }
	t := target(name, 4, 16)
	t.Model.Op, t.Model.Abilities, t.Model.Context, t.Model.MaxOutput = llm.Realtime, 0, 32_000, 4_096
	t.Price.CacheRead, t.Price.AudioInput, t.Price.AudioOutput = rate(0.4), rate(32), rate(64)
	return t
}

// voiceHold is the maximum cost of one response of voiceTarget.
const voiceHold = money.Amount(32_000*32_000 + 4_096*64_000)

// voiceKit returns a gateway with two providers of the model voice. Alpha also has whisper, large, and the model mute, which has
// no audio prices.
func voiceKit(t *testing.T, adjust ...func(*kit)) (k *kit, first, second *voice) {
	t.Helper()
	k = newKit(t, adjust...)
	first, second = newVoice(), newVoice()
	whisper := target("whisper", 6, 10)
	whisper.Model.Op, whisper.Upstream, whisper.Price.AudioInput = llm.Transcribe, "whisper", new(money.PerMillion(6))
	mute := voiceTarget("mute")
	mute.Price.AudioInput, mute.Price.AudioOutput = nil, nil
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{
		k.voices("alpha", first, voiceTarget("voice"), whisper, mute, target("large", 2, 8)), k.voices("beta", second, voiceTarget("voice")),
		k.vendor("gamma", first, voiceTarget("unsupported")),
	}, nil)
	k.gateway.Update(k.settings, k.snapshot)
	return k, first, second
}

// voices returns a provider whose realtime sessions are served by v.
func (k *kit) voices(name string, v *voice, targets ...*provider.Target) *provider.Provider {
	p := k.vendor(name, v, targets...)
	return compatible.New(compatible.Row{Name: name, ChatPath: "/chat/completions", RealtimePath: "/realtime"}, provider.Settings{
		BaseURL: p.BaseURL, Targets: targets, Credentials: p.Credentials,
	})
}

// talker is the client of a realtime session.
type talker struct {
	*testing.T
	conn *websocket.Conn
}

func (k *kit) dial(query string, header http.Header, protocols ...string) (*talker, *http.Response, error) {
	k.Helper()
	if header == nil {
		header = http.Header{"Authorization": {"Bearer good"}}
	}
	conn, resp, err := websocket.Dial(k.Context(), k.url+gateway.Prefix+"/realtime?"+query, &websocket.DialOptions{HTTPHeader: header, Subprotocols: protocols})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(-1)
	k.Cleanup(func() { _ = conn.CloseNow() })
	return &talker{k.T, conn}, resp, nil
}

// talk opens a session and reads its first event.
func (k *kit) talk(query string) *talker {
	k.Helper()
	c, _, err := k.dial(query, nil)
	if err != nil {
		k.Fatal(err)
	}
	c.expect("session.created")
	return c
}

func (c *talker) say(text string) {
	c.Helper()
	if err := c.conn.Write(c.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.Fatal(err)
	}
}

func (c *talker) sayType(kind string) { c.Helper(); c.say(`{"type":"` + kind + `"}`) }

// expect reads events up to the first event of the given type and returns that event.
func (c *talker) expect(kind string) rawjson.Value {
	c.Helper()
	for {
		_, data, err := c.conn.Read(c.Context())
		if err != nil {
			c.Fatalf("waiting for %s: %v", kind, err)
		}
		if v := rawjson.Parse(data); v.Get("type").String() == kind {
			return v
		}
	}
}

// end reads up to the end of the session and returns the last error event and the close code.
func (c *talker) end() (code string, status websocket.StatusCode) {
	c.Helper()
	for {
		_, data, err := c.conn.Read(c.Context())
		if err != nil {
			return code, websocket.CloseStatus(err)
		}
		if v := rawjson.Parse(data); v.Get("type").String() == "error" {
			if v.Get("error.message").String() == "" || v.Get("error.type").String() == "" || v.Get("event_id").String() == "" {
				c.Errorf("malformed error event %s", data)
			}
			code = v.Get("error.code").String()
		}
	}
}

func TestRealtimeSessionPasses(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t)
	c, resp, err := k.dial("model=voice", http.Header{"Authorization": {"Bearer good"}, "OpenAI-Beta": {"realtime=v1"}, "Cookie": {"session=1"}}, "realtime")
	if err != nil {
		t.Fatal(err)
	}
	if c.conn.Subprotocol() != "realtime" || resp.Header.Get("X-Fairlead-Provider") != "alpha" || resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("protocol %q, headers %v", c.conn.Subprotocol(), resp.Header)
	}
	c.expect("session.created")
	for _, message := range []string{`{ "type":"odd", "a": 1.0 }`, strings.Repeat("é", 200_000), "{"} {
		c.say(message)
		if _, data, err := c.conn.Read(t.Context()); err != nil || string(data) != message {
			t.Fatalf("a message of %d bytes came back as %d bytes, %v", len(message), len(data), err)
		}
	}
	if err := c.conn.Write(t.Context(), websocket.MessageBinary, []byte{0, 255}); err != nil {
		t.Fatal(err)
	}
	if kind, data, err := c.conn.Read(t.Context()); err != nil || kind != websocket.MessageBinary || !bytes.Equal(data, []byte{0, 255}) {
		t.Errorf("binary: %v %v %v", kind, data, err)
	}
	for range 2 {
		c.sayType("response.create")
		c.expect("response.done")
	}
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	e := k.entry()
	if status := <-first.closed; status != websocket.StatusNormalClosure {
		t.Errorf("the provider received %d, want StatusNormalClosure", status)
	}
	want := llm.Usage{Input: 140, AudioInput: 120, CacheRead: 60, Output: 100, AudioOutput: 80}
	if e.Endpoint != "realtime" || e.Outcome != requestlog.OK || e.Status != 101 || e.Finish != realtime.ClientClosed || e.Usage != want || e.Model != "voice" || e.Provider != "alpha" || e.BodyState != requestlog.BodyMedia || e.Served() {
		t.Errorf("entry %+v", e)
	}
	if e.Cost == nil || *e.Cost != 2*doneCost || e.Bill.Total != *e.Cost || len(e.Bill.Rows) != 5 || len(e.Bill.Excluded) > 0 || e.BytesIn < 400_000 || e.BytesOut < 400_000 {
		t.Errorf("cost %v of %+v, %d bytes in, %d out", e.Cost, e.Bill, e.BytesIn, e.BytesOut)
	}
	if len(e.Attempts) != 1 || e.Attempts[0].Status != 101 || e.Attempts[0].Cost == nil || *e.Attempts[0].Cost != *e.Cost {
		t.Errorf("attempts %+v", e.Attempts)
	}
	h := first.headers[0]
	if first.paths[0] != "/v1/realtime?model=voice-2026" || h.Get("Authorization") != "Bearer sk-alpha" || h.Get("Openai-Beta") != "realtime=v1" || h.Get("Sec-Websocket-Protocol") != "realtime" || h.Get("Cookie") != "" {
		t.Errorf("handshake %s %v", first.paths[0], h)
	}
}

func TestRealtimeIsRejectedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	for name, tc := range map[string]struct {
		method, query string
		headers       []string
		status        int
		code          string
	}{
		"no upgrade":      {http.MethodGet, "model=voice", nil, 426, "UPGRADE_REQUIRED"},
		"wrong version":   {http.MethodGet, "model=voice", append(slices.Clone(upgrade), "Sec-WebSocket-Version", "8"), 426, "UPGRADE_REQUIRED"},
		"wrong key":       {http.MethodGet, "model=voice", append(slices.Clone(upgrade), "Sec-WebSocket-Key", "short"), 400, "INVALID_REQUEST"},
		"wrong method":    {http.MethodPost, "model=voice", upgrade, 405, "METHOD_NOT_ALLOWED"},
		"no model":        {http.MethodGet, "", upgrade, 400, "INVALID_REQUEST"},
		"auto":            {http.MethodGet, "model=auto", upgrade, 400, "INVALID_REQUEST"},
		"other parameter": {http.MethodGet, "model=voice&call_id=rtc_1", upgrade, 400, "INVALID_REQUEST"},
		"unknown model":   {http.MethodGet, "model=unknown", upgrade, 404, "MODEL_NOT_FOUND"},
		"other operation": {http.MethodGet, "model=large", upgrade, 400, "NO_ROUTE"},
		"no realtime":     {http.MethodGet, "model=unsupported", upgrade, 400, "NO_ROUTE"},
		"wrong API key":   {http.MethodGet, "model=voice", append(slices.Clone(upgrade), "Authorization", "Bearer bad"), 401, "INVALID_API_KEY"},
		"cookie":          {http.MethodGet, "model=voice", append(slices.Clone(upgrade), "Authorization", "", "Cookie", "fairlead_session=x"), 401, "MISSING_API_KEY"},
		"web page":        {http.MethodGet, "model=voice", append(slices.Clone(upgrade), "Origin", "https://example.com"), 403, "BROWSER_NOT_ALLOWED"},
	} {
		got := k.do(k.request(tc.method, "/realtime?"+tc.query, "", tc.headers...))
		if got.status != tc.status || got.code(t) != tc.code || got.json(t)["details"] == nil {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if n := k.gateway.InFlight(); n != 0 {
		t.Errorf("%d requests are running, want 0", n)
	}
}

func TestRealtimeKeyOfABrowserIsASubprotocol(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t)
	k.settings.AllowBrowsers = true
	k.gateway.Update(k.settings, k.snapshot)
	c, resp, err := k.dial("model=voice", http.Header{"Origin": {"https://example.com"}}, "realtime", "openai-insecure-api-key.good", "openai-beta.realtime-v1")
	if err != nil {
		t.Fatal(err)
	}
	c.expect("session.created")
	if h := first.headers[0]; c.conn.Subprotocol() != "realtime" || strings.Contains(resp.Header.Get("Sec-Websocket-Protocol"), "good") || h.Get("Openai-Beta") != "realtime=v1" || h.Get("Sec-Websocket-Protocol") != "realtime" {
		t.Errorf("protocol %q, sent %v", c.conn.Subprotocol(), h)
	}
	if _, resp, err := k.dial("model=voice", http.Header{}, "realtime", "openai-insecure-api-key.bad"); err == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("wrong key: got error %v, want status 401", err)
	}
	for _, protocols := range [][]string{{"openai-insecure-api-key.bad"}, {"openai-insecure-api-key.good", "openai-insecure-api-key.bad"}} {
		if _, resp, err := k.dial("model=voice", nil, protocols...); err == nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("protocols %v: got error %v, want status 400", protocols, err)
		}
	}
}

func TestRealtimeFallsBackBeforeTheSession(t *testing.T) {
	t.Parallel()
	k, first, second := voiceKit(t)
	first.status = http.StatusServiceUnavailable
	c, resp, err := k.dial("model=voice", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.expect("session.created")
	if resp.Header.Get("X-Fairlead-Provider") != "beta" || resp.Header.Get("X-Fairlead-Decision") != "fallback" || resp.Header.Get("X-Fairlead-Attempts") != "2" {
		t.Errorf("headers %v", resp.Header)
	}
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	if e := k.entry(); len(e.Attempts) != 2 || e.Attempts[0].Status != 503 || e.Attempts[0].Class != llm.UpstreamOverloaded || e.Provider != "beta" {
		t.Errorf("attempts %+v", e.Attempts)
	}
	second.mu.Lock()
	second.status = http.StatusUnauthorized
	second.mu.Unlock()
	_, resp, err = k.dial("model=voice", nil)
	if err == nil || resp.StatusCode != http.StatusBadGateway || resp.Header.Get("X-Fairlead-Error-Code") != "PROVIDER_UPSTREAM_ERROR" {
		t.Errorf("got %v, %v; want status 502 PROVIDER_UPSTREAM_ERROR", resp, err)
	}
	if e := k.entry(); e.Outcome != requestlog.UpstreamError || e.Cost != nil && *e.Cost != 0 {
		t.Errorf("entry %+v", e)
	}
}

func TestRealtimeSessionEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: voiceHold + doneCost, Period: account.Total}
	c := k.talk("model=voice")
	c.sayType("response.create")
	c.expect("response.done")
	c.sayType("response.create")
	if code, status := c.end(); code != "BUDGET_EXCEEDED" || status != websocket.StatusPolicyViolation {
		t.Errorf("the session ended with %q and %d", code, status)
	}
	e := k.entry()
	if e.Outcome != requestlog.Partial || e.Error == nil || e.Error.Code != "BUDGET_EXCEEDED" || *e.Cost != 2*doneCost || e.Finish != realtime.Ended {
		t.Errorf("entry %+v, error %+v", e, e.Error)
	}
	<-first.closed
	s := k.ledger.Status(budget.Applied(k.keys.grant)[0])
	if s.Spent != 2*doneCost || s.Held != 0 {
		t.Errorf("spent %s, held %s", s.Spent, s.Held)
	}
	if _, resp, err := k.dial("model=voice", nil); err == nil || resp.StatusCode != http.StatusPaymentRequired {
		t.Errorf("new session: got error %v, want status 402", err)
	}
}

// Responses can run at the same time, and each one is held before the provider receives it. Responses without usage are estimated.
func TestRealtimeParallelResponsesAreHeld(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: 2 * voiceHold, Period: account.Total}
	c := k.talk("model=voice")
	const create = `{"type":"response.create","response":{"conversation":"none"}}`
	for _, text := range []string{create, create, create, `{"type":"response.create","type":"x"}`, `{"pad":"` + strings.Repeat("x", 100_000) + `","type":"response\u002ecreate"}`} {
		c.say(text)
	}
	for range 3 {
		if code := c.expect("error").Get("error.code").String(); code != "RATE_LIMITED" {
			t.Errorf("error %s, want RATE_LIMITED", code)
		}
	}
	c.sayType("ping")
	c.expect("ping") // the session continues
	if s := k.ledger.Status(budget.Applied(k.keys.grant)[0]); s.Held != 2*voiceHold {
		t.Errorf("held %s, want %s", s.Held, 2*voiceHold)
	}
	_ = c.conn.CloseNow()
	e := k.entry()
	<-first.closed
	// The reported response costs doneCost. The other one is estimated: its input is three messages and the other output.
	input := int64(2*len(create)+len(`{"type":"ping"}`)+2*400+3) / 4
	s := k.ledger.Status(budget.Applied(k.keys.grant)[0])
	if want := doneCost + money.Amount(input*4_000); *e.Cost != want || s.Spent != want || s.Held != 0 || !e.Usage.Estimated {
		t.Errorf("cost %s, spent %s, held %s, usage %+v; want %s", e.Cost, s.Spent, s.Held, e.Usage, want)
	}
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "for 1 responses, whose cost is estimated") {
		t.Errorf("warnings %q", e.Warnings)
	}
	for range 3 {
		<-first.events
	}
	if event := <-first.events; event != "response.cancel" {
		t.Errorf("the provider received %s, want two responses, one ping and the cancellation", event)
	}
}

// A provider may start a response without a request. If it cannot be held, the session ends.
func TestRealtimeResponseOfTheProviderIsHeld(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: voiceHold, Period: account.Total}
	c := k.talk("model=voice")
	for range 2 {
		c.sayType("start")
	}
	if code, _ := c.end(); code != "RATE_LIMITED" {
		t.Errorf("the session ended with %q, want RATE_LIMITED", code)
	}
	e := k.entry()
	if s := k.ledger.Status(budget.Applied(k.keys.grant)[0]); s.Spent != *e.Cost || s.Held != 0 || *e.Cost < doneCost {
		t.Errorf("cost %s, spent %s, held %s", e.Cost, s.Spent, s.Held)
	}
}

func TestRealtimeSessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t, func(k *kit) { k.settings.Ping = time.Second })
	c := k.talk("model=voice")
	k.gateway.Revoke("key_1")
	if code, status := c.end(); code != "REVOKED_API_KEY" || status != websocket.StatusPolicyViolation {
		t.Errorf("revoked: %q and %d", code, status)
	}
	if e := k.entry(); e.Outcome != requestlog.Partial || e.Error.Code != "REVOKED_API_KEY" {
		t.Errorf("entry %+v", e)
	}
	if status := <-first.closed; status != websocket.StatusNormalClosure {
		t.Errorf("the provider received %d, want StatusNormalClosure", status)
	}
	c = k.talk("model=voice")
	k.keys.ended.Store(true)
	if code, status := c.end(); code != "EXPIRED_API_KEY" || status != websocket.StatusPolicyViolation {
		t.Errorf("expired: %q and %d", code, status)
	}
}

func TestRealtimeSessionCountsOnTheLimitsOfItsKey(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	k.keys.grant.Key.Limits = account.Limits{Concurrent: 1, TokensPerMinute: 300}
	c := k.talk("model=voice")
	if _, resp, err := k.dial("model=voice", nil); err == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("second session: got error %v, want status 429", err)
	}
	k.entry()
	c.sayType("response.create")
	c.expect("response.done")
	c.sayType("response.create")
	if code, status := c.end(); code != "RATE_LIMITED" || status != websocket.StatusPolicyViolation {
		t.Errorf("the session ended with %q and %d", code, status)
	}
	if e := k.entry(); e.Usage.Total() != 300 {
		t.Errorf("entry %+v, want 300 tokens", e)
	}
}

func TestRealtimeSessionEndsWithTheProvider(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	for event, want := range map[string]struct {
		code   string
		status websocket.StatusCode
		finish string
		class  llm.Kind
	}{
		"die":   {"PROVIDER_UPSTREAM_ERROR", websocket.StatusInternalError, realtime.ProviderFailed, llm.StreamInterrupted},
		"close": {"", 4001, realtime.ProviderClosed, llm.UpstreamRejected},
		"large": {"", websocket.StatusMessageTooBig, realtime.MessageTooLarge, llm.UpstreamMalformed},
	} {
		c := k.talk("model=alpha/voice")
		c.sayType("response.create")
		c.expect("response.done")
		c.sayType("start")
		c.expect("response.created")
		c.sayType(event)
		if code, status := c.end(); code != want.code || status != want.status {
			t.Errorf("%s: the session ended with %q and %d", event, code, status)
		}
		e := k.entry()
		if e.Outcome != requestlog.Partial || e.Finish != want.finish || *e.Cost <= doneCost || !e.Usage.Estimated || e.Attempts[0].Class != want.class || len(e.Warnings) != 1 {
			t.Errorf("%s: entry %+v with %+v, warnings %v", event, e, e.Attempts, e.Warnings)
		}
	}
}

func TestRealtimeCredentialOfTheProviderIsMasked(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	c := k.talk("model=alpha/voice")
	c.sayType("leak")
	got := c.expect("leak")
	if text := got.Get("message").String() + got.Get("nested").String(); text != `wrong key Bearer ********{"key":"********"}` {
		t.Errorf("the client received %s, want %s", text, `wrong key Bearer ********{"key":"********"}`)
	}
	_, _, err := c.conn.Read(t.Context())
	if closed, ok := errors.AsType[websocket.CloseError](err); !ok || closed.Code != 4002 || closed.Reason != "wrong key Bearer ********" {
		t.Errorf("the session ended with %v", err)
	}
}

func TestRealtimeResponseOfADisconnectedClientIsCharged(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t)
	c := k.talk("model=voice")
	c.sayType("start")
	c.expect("response.created")
	_ = c.conn.CloseNow()
	e := k.entry()
	if e.Outcome != requestlog.Cancelled || e.Finish != realtime.ClientDisconnected || *e.Cost != doneCost || len(e.Warnings) > 0 {
		t.Errorf("entry %+v", e)
	}
	if status := <-first.closed; status != websocket.StatusGoingAway {
		t.Errorf("the provider received %d, want StatusGoingAway", status)
	}
	if a, b := <-first.events, <-first.events; a != "start" || b != "response.cancel" {
		t.Errorf("events %s, %s", a, b)
	}
}

func TestRealtimeMessageOfAClientIsLimited(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t, func(k *kit) { k.settings.Realtime.Message = 100_000 })
	for _, size := range []int{100_000, 100_001} {
		c := k.talk("model=voice")
		message := strings.Repeat("x", size)
		err := c.conn.Write(t.Context(), websocket.MessageText, []byte(message))
		_, data, read := c.conn.Read(t.Context())
		if size == 100_000 {
			if err != nil || read != nil || string(data) != message {
				t.Errorf("%d bytes came back as %d, %v", size, len(data), read)
			}
			continue
		}
		if status := websocket.CloseStatus(read); status != websocket.StatusMessageTooBig {
			t.Errorf("%d bytes: got %v, want close status StatusMessageTooBig", size, read)
		}
		if e := k.entry(); e.Error == nil || e.Error.Code != "PAYLOAD_TOO_LARGE" || e.Finish != realtime.MessageTooLarge {
			t.Errorf("entry %+v", e)
		}
		if status := <-first.closed; status != websocket.StatusGoingAway {
			t.Errorf("the provider received %d, want StatusGoingAway", status)
		}
	}
}

func TestRealtimeSessionIsDrained(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	c := k.talk("model=voice")
	over, stop := context.WithCancel(t.Context())
	drained := make(chan struct{})
	go func() { k.gateway.Drain(over); close(drained) }()
	c.sayType("response.create")
	c.expect("response.done") // the session continues during the drain time
	stop()
	if code, status := c.end(); code != "SERVER_SHUTDOWN" || status != websocket.StatusGoingAway {
		t.Errorf("the session ended with %q and %d", code, status)
	}
	<-drained
	if e := k.entry(); *e.Cost != doneCost || e.Error.Code != "SERVER_SHUTDOWN" {
		t.Errorf("entry %+v", e)
	}
}

func TestRealtimeSessionIsLimitedInTime(t *testing.T) {
	t.Parallel()
	for finish, limits := range map[string]realtime.Limits{
		realtime.IdleTimeout:  {Message: 1 << 20, Idle: 200 * time.Millisecond, Total: time.Hour},
		realtime.TotalTimeout: {Message: 1 << 20, Idle: time.Hour, Total: 200 * time.Millisecond},
	} {
		k, _, _ := voiceKit(t, func(k *kit) { k.settings.Realtime = limits })
		c := k.talk("model=voice")
		if code, status := c.end(); code != "session_expired" || status != websocket.StatusGoingAway {
			t.Errorf("%s: the session ended with %q and %d", finish, code, status)
		}
		if e := k.entry(); e.Outcome != requestlog.OK || e.Finish != finish || *e.Cost != 0 {
			t.Errorf("%s: entry %+v", finish, e)
		}
	}
}

// A client that does not read does not answer pings.
func TestRealtimeSilentClientIsDisconnected(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t, func(k *kit) { k.settings.Ping = time.Second })
	k.talk("model=voice")
	if e := k.entry(); e.Outcome != requestlog.Cancelled || e.Finish != realtime.ClientDisconnected {
		t.Errorf("entry %+v", e)
	}
	if status := <-first.closed; status != websocket.StatusGoingAway {
		t.Errorf("the provider received %d, want StatusGoingAway", status)
	}
}

func TestRealtimeSilentProviderFails(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t, func(k *kit) { k.settings.Ping = time.Second })
	defer close(first.thaw)
	c := k.talk("model=voice")
	c.sayType("freeze")
	if code, status := c.end(); code != "PROVIDER_UPSTREAM_ERROR" || status != websocket.StatusInternalError {
		t.Errorf("the session ended with %q and %d", code, status)
	}
	if e := k.entry(); e.Outcome != requestlog.Partial || e.Finish != realtime.ProviderFailed {
		t.Errorf("entry %+v", e)
	}
}

// While the client does not read, the gateway does not read from the provider either. The session then ends.
func TestRealtimeClientThatDoesNotReadIsDisconnected(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t, func(k *kit) { k.settings.ReadPause = 50 * time.Millisecond })
	k.talk("model=voice").sayType("flood")
	if e := k.entry(); e.Outcome != requestlog.Cancelled || e.Finish != realtime.ClientDisconnected || e.BytesOut > 256<<20 {
		t.Errorf("entry %+v", e)
	}
}

func TestRealtimeAudioWithoutAPriceIsExcluded(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	c := k.talk("model=mute")
	c.sayType("response.create")
	c.expect("response.done")
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	if e := k.entry(); e.Cost == nil || *e.Cost != 10*4_000+30*400+10*16_000 || !slices.Equal(e.Bill.Excluded, []string{"input_audio", "output_audio"}) || e.Usage.AudioInput != 60 {
		t.Errorf("cost %v, bill %+v", e.Cost, e.Bill)
	}
	k.keys.grant.Key.Budget = &account.Budget{Amount: 100 * money.Dollar, Period: account.Total}
	if _, resp, err := k.dial("model=mute", nil); err == nil || resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-Fairlead-Error-Code") != "NO_ROUTE" {
		t.Errorf("with a budget: got error %v, want status 400 NO_ROUTE", err)
	}
}

func TestRealtimeTranscriptionsAreCharged(t *testing.T) {
	t.Parallel()
	k, first, _ := voiceKit(t)
	first.writes = "whisper"
	c := k.talk("model=voice")
	c.sayType("transcribe")
	c.expect("conversation.item.input_audio_transcription.completed")
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	if e := k.entry(); *e.Cost != 1000*6_000+100*10_000 || e.Usage.Output != 100 || len(e.Bill.Excluded) > 0 {
		t.Errorf("cost %s of %+v", e.Cost, e.Bill)
	}
	// A transcription that has begun when the client disconnects is estimated; one that has failed is free.
	c = k.talk("model=voice")
	for range 2 {
		c.say(`{"type":"input_audio_buffer.append","audio":"` + strings.Repeat("A", 3*6400) + `"}`)
		c.sayType("input_audio_buffer.committed")
		c.expect("input_audio_buffer.committed")
	}
	c.sayType("conversation.item.input_audio_transcription.failed")
	c.expect("conversation.item.input_audio_transcription.failed")
	_ = c.conn.CloseNow()
	if e := k.entry(); *e.Cost != 4*6_000 || !e.Usage.Estimated {
		t.Errorf("cost %s of %+v, want that of four tokens", e.Cost, e.Bill)
	}
	k.settings.AllowUnpriced = true
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{k.voices("alpha", first, voiceTarget("voice"))}, nil)
	k.gateway.Update(k.settings, k.snapshot)
	c = k.talk("model=voice")
	c.sayType("transcribe")
	c.expect("conversation.item.input_audio_transcription.completed")
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	if e := k.entry(); *e.Cost != 0 || !slices.Equal(e.Bill.Excluded, []string{"transcription"}) {
		t.Errorf("without a price: %+v", e.Bill)
	}
}

// The price of a transcription model must be known unless the key may use models without a price. A key with a budget may not.
func TestRealtimeTranscriptionWithoutAPriceIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		allowed bool
		budget  *account.Budget
		refused bool
	}{
		"default":            {refused: true},
		"allowed":            {allowed: true},
		"budget":             {budget: &account.Budget{Amount: 100 * money.Dollar, Period: account.Total}, refused: true},
		"allowed and budget": {allowed: true, budget: &account.Budget{Amount: 100 * money.Dollar, Period: account.Total}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, first, _ := voiceKit(t)
			k.keys.grant.Key.AllowUnpriced, k.keys.grant.Key.Budget = tc.allowed, tc.budget
			for _, created := range []bool{true, false} {
				if first.writes = ""; created {
					first.writes = "unknown"
				}
				c := k.talk("model=voice")
				if !created {
					c.say(`{"type":"session.update","session":{"model":"whisper"}}`)
					c.expect("session.updated")
					c.say(`{"type":"session.update","session":{"model":"large"}}`) // large is not a transcription model
				}
				if !tc.refused {
					c.sayType("response.create")
					c.expect("response.done")
					_ = c.conn.Close(websocket.StatusNormalClosure, "")
				} else if code, status := c.end(); code != "NO_ROUTE" || status != websocket.StatusPolicyViolation {
					t.Errorf("created %t: the session ended with %q and %d", created, code, status)
				}
				if e := k.entry(); tc.refused != (e.Error != nil) {
					t.Errorf("created %t: entry %+v, want an error: %t", created, e, tc.refused)
				}
			}
			for _, b := range budget.Applied(k.keys.grant) {
				if s := k.ledger.Status(b); s.Held != 0 || s.Spent != 0 {
					t.Errorf("held %s, spent %s", s.Held, s.Spent)
				}
			}
		})
	}
}

func TestRealtimeTranscriptionsAreHeld(t *testing.T) {
	t.Parallel()
	const cost = money.Amount(1000*6_000 + 100*10_000) // cost of the transcribe event
	k, first, _ := voiceKit(t)
	first.writes = "whisper"
	whisper := k.snapshot.Named("alpha/whisper")[0]
	held := whisper.Price.Cost(llm.Usage{Input: whisper.Model.Context, AudioInput: whisper.Model.Context, Output: whisper.Model.MaxOutput})
	k.keys.grant.Key.Budget = &account.Budget{Amount: voiceHold + held + cost, Period: account.Total}
	c := k.talk("model=voice")
	c.sayType("transcribe")
	c.expect("conversation.item.input_audio_transcription.completed")
	c.sayType("transcribe")
	if code, _ := c.end(); code != "BUDGET_EXCEEDED" {
		t.Errorf("the session ended with %q, want BUDGET_EXCEEDED", code)
	}
	e := k.entry()
	<-first.closed
	s := k.ledger.Status(budget.Applied(k.keys.grant)[0])
	if *e.Cost != 2*cost || s.Spent != 2*cost || s.Held != 0 {
		t.Errorf("cost %s, spent %s, held %s", e.Cost, s.Spent, s.Held)
	}
	k.keys.grant.Key.Budget.Amount = 2*cost + voiceHold // enough for a response, not for a transcription
	if code, _ := k.talk("model=voice").end(); code != "BUDGET_EXCEEDED" {
		t.Errorf("the next session ended with %q, want BUDGET_EXCEEDED", code)
	}
}

// Responses and transcriptions count towards the spending limit per minute of the session.
func TestRealtimeCountsOnTheSpendPerMinuteOfItsSession(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event, done string
		cost        money.Amount
	}{
		"responses":      {"response.create", "response.done", doneCost},
		"transcriptions": {"transcribe", "conversation.item.input_audio_transcription.completed", 1000*6_000 + 100*10_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, first, _ := voiceKit(t, func(k *kit) { k.sessions = newNamer(t) })
			first.writes = "whisper"
			k.keys.grant.Key.Sessions = &account.SessionLimits{SpendPerMinute: 3 * tc.cost}
			header := http.Header{"Authorization": {"Bearer good"}, "X-Fairlead-Session": {"s"}}
			c, _, err := k.dial("model=voice", header)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				c.sayType(tc.event)
				c.expect(tc.done)
			}
			c.sayType(tc.event)
			if code, _ := c.end(); code != "RATE_LIMITED" {
				t.Errorf("the session ended with %q, want RATE_LIMITED", code)
			}
			if e := k.entry(); *e.Cost != 3*tc.cost || e.Session != "s" {
				t.Errorf("cost %s, want %s, session %q", e.Cost, 3*tc.cost, e.Session)
			}
			if _, resp, err := k.dial("model=voice", header); err == nil || resp.StatusCode != http.StatusTooManyRequests {
				t.Errorf("next connection of the session: got error %v, want status 429", err)
			}
		})
	}
}

func TestRealtimeWithoutAPriceHasNoCost(t *testing.T) {
	t.Parallel()
	k, _, _ := voiceKit(t)
	free := voiceTarget("unpriced")
	free.Price = (*catalog.Price)(nil)
	k.settings.AllowUnpriced = true
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{k.voices("alpha", newVoice(), free)}, nil)
	k.gateway.Update(k.settings, k.snapshot)
	c := k.talk("model=unpriced")
	c.sayType("response.create")
	c.expect("response.done")
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	if e := k.entry(); e.Cost != nil || e.Usage.Total() != 150 {
		t.Errorf("entry %+v", e)
	}
}
