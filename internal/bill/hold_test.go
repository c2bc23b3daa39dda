package bill

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// piece is a message part in one of the formats.
type piece struct {
	json    string
	text    int  // bytes that the provider reads as text
	unsized bool // whether only the provider can count the tokens of the part
}

// clientFormat is a wire format with an example part of every kind.
type clientFormat struct {
	format wire.Format
	body   func(parts, members string) string
	limit  string // name of the member that limits the output
	pieces map[string]func(text string) piece
}

func textPiece(kind string) func(string) piece {
	return func(s string) piece {
		return piece{json: `{"type":"` + kind + `","text":` + quote(s) + `}`, text: len(s)}
	}
}

func unsizedPiece(format string) func(string) piece {
	return func(s string) piece { return piece{json: strings.Replace(format, "TEXT", s, 1), unsized: true} }
}

func imagePiece(format string) func(string) piece {
	return func(string) piece { return piece{json: format} }
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const inline = "AAAABBBBCCCCDDDD"

var clientFormats = map[string]clientFormat{
	"chat": {
		openai.Format{}, func(parts, members string) string {
			return `{"model":"m","messages":[{"role":"user","content":[` + parts + `]}]` + members + `}`
		}, "max_tokens", map[string]func(string) piece{
			"text":               textPiece("text"),
			"image by URL":       imagePiece(`{"type":"image_url","image_url":{"url":"https://a.test/b.png"}}`),
			"inline image":       imagePiece(`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + inline + `"}}`),
			"video as image":     unsizedPiece(`{"type":"image_url","image_url":{"url":"data:video/mp4;base64,` + inline + `"}}`),
			"inline audio":       unsizedPiece(`{"type":"input_audio","input_audio":{"data":"` + inline + `","format":"wav"}}`),
			"audio by URL":       unsizedPiece(`{"type":"audio_url","audio_url":{"url":"https://a.test/b.mp3"}}`),
			"video by URL":       unsizedPiece(`{"type":"video_url","video_url":{"url":"https://a.test/b.mp4"}}`),
			"inline video":       unsizedPiece(`{"type":"video_url","video_url":{"url":"data:video/mp4;base64,` + inline + `"}}`),
			"file by id":         unsizedPiece(`{"type":"file","file":{"file_id":"file-1"}}`),
			"inline file":        unsizedPiece(`{"type":"file","file":{"file_data":"data:application/pdf;base64,` + inline + `"}}`),
			"unknown, by URL":    unsizedPiece(`{"type":"hologram","hologram":{"url":"https://a.test/b"}}`),
			"unknown, inline":    unsizedPiece(`{"type":"hologram","hologram":["data:x/y;base64,` + inline + `"]}`),
			"unknown, with text": func(s string) piece { return piece{`{"type":"text","notes":` + quote(s) + `}`, len(s), false} },
		},
	},
	"messages": {
		anthropic.Format{}, func(parts, members string) string {
			return `{"model":"m","messages":[{"role":"user","content":[` + parts + `]}]` + members + `}`
		}, "max_tokens", map[string]func(string) piece{
			"text": textPiece("text"),
			"text in a result": func(s string) piece {
				return piece{`{"type":"tool_result","tool_use_id":"1","content":` + quote(s) + `}`, len(s), false}
			},
			"image by URL":        imagePiece(`{"type":"image","source":{"type":"url","url":"https://a.test/b.png"}}`),
			"inline image":        imagePiece(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + inline + `"}}`),
			"document by URL":     unsizedPiece(`{"type":"document","source":{"type":"url","url":"https://a.test/b.pdf"}}`),
			"document by id":      unsizedPiece(`{"type":"document","source":{"type":"file","file_id":"file-1"}}`),
			"inline document":     unsizedPiece(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + inline + `"}}`),
			"uploaded file":       unsizedPiece(`{"type":"container_upload","file_id":"file-1"}`),
			"unknown, by URL":     unsizedPiece(`{"type":"video","source":{"type":"url","url":"https://a.test/b.mp4"}}`),
			"unknown, inline":     unsizedPiece(`{"type":"video","source":{"type":"base64","data":"` + inline + `"}}`),
			"document in results": unsizedPiece(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"document","source":{"type":"url","url":"https://a.test/b.pdf"}}]}`),
		},
	},
	"responses": {
		responses.Format{}, func(parts, members string) string {
			return `{"model":"m","input":[{"role":"user","content":[` + parts + `]}]` + members + `}`
		}, "max_output_tokens", map[string]func(string) piece{
			"text":           textPiece("input_text"),
			"image by URL":   imagePiece(`{"type":"input_image","image_url":"https://a.test/b.png"}`),
			"inline image":   imagePiece(`{"type":"input_image","image_url":"data:image/png;base64,` + inline + `"}`),
			"plain image":    imagePiece(`{"type":"input_image","image_url":"data:image/svg+xml,` + inline + `"}`),
			"video as image": unsizedPiece(`{"type":"input_image","image_url":"data:video/mp4;base64,` + inline + `"}`),
			"inline audio":   unsizedPiece(`{"type":"input_audio","input_audio":{"data":"` + inline + `","format":"wav"}}`),
			"file by URL":    unsizedPiece(`{"type":"input_file","file_url":"https://a.test/b.pdf"}`),
			"file by id":     unsizedPiece(`{"type":"input_file","file_id":"file-1"}`),
			"inline file":    unsizedPiece(`{"type":"input_file","filename":"a.pdf","file_data":"` + inline + `"}`),
		},
	},
}

func TestLimitOfSearchesIsRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format wire.Format
		body   string
		want   int64
	}{
		"messages":         {anthropic.Format{}, `{"model":"m","max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3}],"messages":[{"role":"user","content":"q"}]}`, 3},
		"messages, none":   {anthropic.Format{}, `{"model":"m","max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"q"}]}`, 0},
		"responses":        {responses.Format{}, `{"model":"m","max_tool_calls":4,"tools":[{"type":"web_search"}],"input":"q"}`, 4},
		"responses, none":  {responses.Format{}, `{"model":"m","tools":[{"type":"web_search"}],"input":"q"}`, 0},
		"responses, other": {responses.Format{}, `{"model":"m","max_tool_calls":4,"input":"q"}`, 0},
		"chat":             {openai.Format{}, `{"model":"m","tools":[{"type":"web_search","max_uses":5}],"messages":[{"role":"user","content":"q"}]}`, 5},
		"chat, options":    {openai.Format{}, `{"model":"m","web_search_options":{},"messages":[{"role":"user","content":"q"}]}`, 0},
	} {
		req, err := tc.format.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
		if err != nil || req.MaxSearches != tc.want {
			t.Errorf("%s: %d searches, %v; want %d", name, req.MaxSearches, err, tc.want)
		}
	}
}

// holding returns terms for a body with one target that has a price for every billing class.
func holding(t testing.TB, in clientFormat, body string, budgeted bool) (Terms, *provider.Target) {
	t.Helper()
	req, err := in.format.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	rate := func(dollars float64) *money.Rate { return new(money.PerMillion(dollars)) }
	target := &provider.Target{
		Provider: "p", Upstream: "m", Model: &catalog.Model{Name: "m", Op: llm.Chat, Context: 50_000, MaxOutput: 4_000},
		Price: &catalog.Price{
			Input: money.PerMillion(2), Output: money.PerMillion(8), CacheRead: rate(0.2), CacheWrite: rate(2.5), CacheWriteLong: rate(4),
			AudioInput: rate(20), AudioOutput: rate(40), Source: "test",
		},
	}
	terms := Terms{Request: req, At: time.Now(), Budgeted: budgeted}
	terms.Held = new(terms.MaxCost([]*provider.Target{target}))
	return terms, target
}

// The hold covers text by its length in bytes, and media of unknown size by the context window.
func TestHoldCoversEveryKindOfPart(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"text": strings.Repeat("All hands. ", 900), "text that looks like media": "data:image/png;base64," + strings.Repeat("QUJD", 2500),
	}
	for name, in := range clientFormats {
		for kind, build := range in.pieces {
			for words, text := range texts {
				p := build(text)
				x, target := holding(t, in, in.body(p.json, `,"`+in.limit+`":10`), true)
				read := int64(p.text)
				if p.unsized {
					read = target.Model.Context
				}
				for _, u := range inputs(read, p.unsized) {
					u.Output = 10
					if cost := target.Price.Cost(u); cost > *x.Held {
						t.Errorf("%s, %s, %s: %+v costs %s, %s is held", name, kind, words, u, cost, *x.Held)
					}
				}
				if estimated := token.PromptOf(x.Request).Estimate(); p.text > 0 && x.Request.Unsized == 0 && estimated < read/8 {
					t.Errorf("%s, %s, %s: %d bytes are estimated as %d tokens", name, kind, words, read, estimated)
				}
			}
		}
	}
}

// inputs returns one usage for each billing class in which a prompt can be charged.
func inputs(tokens int64, audio bool) []llm.Usage {
	all := []llm.Usage{{Input: tokens}, {CacheRead: tokens}, {CacheWrite: tokens}, {CacheWrite: tokens, CacheWriteLong: tokens}}
	if audio {
		all = append(all, llm.Usage{Input: tokens, AudioInput: tokens})
	}
	return all
}

func TestHoldCoversUnknownMembers(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("xq", 10_000)
	for _, name := range []string{"chat", "messages"} {
		in := clientFormats[name]
		base, target := holding(t, in, in.body(`{"type":"text","text":"hi"}`, `,"max_tokens":10`), true)
		x, _ := holding(t, in, in.body(`{"type":"text","text":"hi"}`, `,"max_tokens":10,"documents":[{"body":"`+text+`"}]`), true)
		if more := *x.Held - *base.Held; more < target.Price.Cost(llm.Usage{CacheWrite: 20_000, CacheWriteLong: 20_000}) {
			t.Errorf("%s: the hold grows by %s, too little for an unknown member", name, more)
		}
		if more := token.PromptOf(x.Request).Estimate() - token.PromptOf(base.Request).Estimate(); more < 20_000/8 {
			t.Errorf("%s: the estimate grows by %d tokens, too few for an unknown member", name, more)
		}
	}
}

// A prediction that the model rejects is billed as output.
func TestHoldCoversAPrediction(t *testing.T) {
	t.Parallel()
	in := clientFormats["chat"]
	x, target := holding(t, in, in.body(`{"type":"text","text":"hi"}`, `,"max_tokens":10,"prediction":{"type":"content","content":"`+strings.Repeat("a", 5000)+`"}`), true)
	if cost := target.Price.Cost(llm.Usage{Input: 10, Output: 5010}); cost > *x.Held {
		t.Errorf("a rejected prediction costs %s, %s is held", cost, *x.Held)
	}
}

// For any request and any reported usage, the charge is at most the hold, and the hold covers every byte of the prompt
// and the maximum requested output.
func TestChargeIsAtMostTheHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := clientFormats[rapid.SampledFrom([]string{"chat", "messages", "responses"}).Draw(rt, "format")]
		kinds := slices.Sorted(maps.Keys(in.pieces))
		var parts []string
		var text int64
		var unsized bool
		for range rapid.IntRange(1, 4).Draw(rt, "parts") {
			words := rapid.SampledFrom([]string{"", "data:", "data:image/png;base64,"}).Draw(rt, "start") +
				strings.Repeat(rapid.StringN(1, 8, -1).Draw(rt, "words"), rapid.IntRange(1, 600).Draw(rt, "repeated"))
			p := in.pieces[rapid.SampledFrom(kinds).Draw(rt, "kind")](strings.ToValidUTF8(words, "?"))
			parts, text, unsized = append(parts, p.json), text+int64(p.text), unsized || p.unsized
		}
		bound := rapid.SampledFrom([]int64{0, 1, 5, 1000, 100_000}).Draw(rt, "limit")
		if _, required := in.format.(anthropic.Format); required {
			bound = max(bound, 1)
		}
		members := ""
		if bound > 0 {
			members = `,"` + in.limit + `":` + strconv.FormatInt(bound, 10)
		}
		budgeted := rapid.Bool().Draw(rt, "budgeted")
		x, target := holding(t, in, in.body(strings.Join(parts, ","), members), budgeted)
		if budgeted && bound == 0 && rapid.Bool().Draw(rt, "capped") {
			x.Cap = new(x.OutputCost(target, rapid.Int64Range(1, 4000).Draw(rt, "affordable")))
			x.Held = new(x.MaxCost([]*provider.Target{target}))
			if *x.Held > *x.Cap {
				rt.Fatalf("%s is held with a cap of %s", x.Held, x.Cap)
			}
		}
		sent := x.OutputLimit(target)
		if budgeted && bound == 0 && sent == 0 {
			rt.Fatal("no output limit is sent although a budget applies")
		}
		longest := maxOutputOf(x.Request, sent, target.Model)
		read := min(text, target.Model.Context)
		if unsized {
			read = target.Model.Context
		}
		for _, u := range inputs(read, unsized) {
			if u.Output = longest; target.Price.Cost(u) > *x.Held {
				rt.Fatalf("%+v costs %s, %s is held", u, target.Price.Cost(u), *x.Held)
			}
		}

		count := rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(0, 100_000), rapid.Int64Range(0, llm.MaxTokenCount))
		u := llm.Usage{
			Input: count.Draw(rt, "input"), CacheRead: count.Draw(rt, "read"), CacheWrite: count.Draw(rt, "write"), CacheWriteLong: count.Draw(rt, "long"),
			Output: count.Draw(rt, "output"), Reasoning: count.Draw(rt, "reasoning"), AudioInput: count.Draw(rt, "audio input"), AudioOutput: count.Draw(rt, "audio output"),
		}
		call := &provider.Call{Target: target, Request: x.Request, MaxOutput: sent}
		received := UsageCounter{Reported: &u, ASCII: rapid.Int64Range(0, 1<<20).Draw(rt, "received")}
		charged := u
		valid := received.Valid(call)
		if !valid {
			charged = x.Estimate(target, x.OutputTokens(target, received.ASCII, received.NonASCII))
		}
		c := x.Charge(target, charged, 0, Spent{}, Baseline{})

		if c.Bill.Total > *x.Held {
			rt.Fatalf("%+v is charged as %s, %s was held", u, c.Bill.Total, *x.Held)
		}
		if u.Output > longest+1 && valid && c.Flag == "" {
			rt.Fatalf("%d output tokens of %d are not flagged", u.Output, longest)
		}
		if target.Price.Cost(c.Usage) > *x.Held && c.Flag != requestlog.UsageAboveHold {
			rt.Fatalf("%+v costs more than %s and is flagged %q", c.Usage, *x.Held, c.Flag)
		}
		var sum money.Amount
		for _, row := range c.Bill.Rows {
			sum = sum.Add(row.Amount)
		}
		if sum != c.Bill.Total {
			rt.Fatalf("the rows sum to %s, the cost is %s", sum, c.Bill.Total)
		}
	})
}
