package token

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// counted holds texts with their counts by the real vocabularies: o200k, cl100k, Claude 2, Gemma, Llama 3, Tekken, Qwen, DeepSeek.
var counted = []struct {
	name, text string
	want       map[Family]int64
}{
	{"prose", prose, map[Family]int64{O200K: 83, CL100K: 83, Claude: 83, Gemini: 79, Llama3: 83, Tekken: 83, Qwen: 83, DeepSeek: 83}},
	{"code", code, map[Family]int64{O200K: 102, CL100K: 102, Claude: 136, Gemini: 135, Llama3: 102, Tekken: 115, Qwen: 102, DeepSeek: 116}},
	{"Chinese", chinese, map[Family]int64{O200K: 69, CL100K: 97, Claude: 87, Gemini: 53, Llama3: 66, Tekken: 78, Qwen: 50, DeepSeek: 47}},
	{"Russian", russian, map[Family]int64{O200K: 57, CL100K: 89, Claude: 101, Gemini: 58, Llama3: 60, Tekken: 59, Qwen: 63, DeepSeek: 61}},
	{"German", german, map[Family]int64{O200K: 52, CL100K: 64, Claude: 74, Gemini: 54, Llama3: 64, Tekken: 56, Qwen: 64, DeepSeek: 59}},
	{"JSON", document, map[Family]int64{O200K: 87, CL100K: 87, Claude: 83, Gemini: 102, Llama3: 87, Tekken: 102, Qwen: 102, DeepSeek: 88}},
}

const (
	prose = `A fairlead guides a rope around an object, out of the way, or stops it from moving sideways. It may be a ring, a hook ` +
		`or a block with sheaves. On ships it keeps the mooring line from chafing on the deck's edge, and it lets one winch serve ` +
		`lines that come from several directions. Without one, a rope under load saws through whatever it touches.`
	code = "func (p *pool) take(ctx context.Context, n int) ([]byte, error) {\n\tp.mu.Lock()\n\tdefer p.mu.Unlock()\n" +
		"\tfor i := 0; i < len(p.free); i++ {\n\t\tif cap(p.free[i]) >= n {\n\t\t\tb := p.free[i][:n]\n" +
		"\t\t\tp.free = append(p.free[:i], p.free[i+1:]...)\n\t\t\treturn b, nil\n\t\t}\n\t}\n\treturn make([]byte, n), ctx.Err()\n}\n"
	chinese = `导缆器是船上用来引导缆绳方向的装置，可以防止缆绳与甲板边缘摩擦。它通常由金属制成，安装在船舷附近。如果没有它，受力的缆绳会很快磨损，甚至断裂。`
	russian = `Киповая планка направляет трос и не даёт ему тереться о край палубы. Она бывает с роульсами и без них. ` +
		`Без неё трос под нагрузкой быстро перетирается, и судно может остаться без швартова.`
	german = `Eine Klüse führt das Tau durch die Bordwand und schützt es vor dem Durchscheuern. Ohne sie würde die Festmacherleine ` +
		`unter Last über die scharfe Kante laufen und nach kurzer Zeit brechen. Größere Schiffe haben mehrere davon.`
	document = `{"id": 17, "name": "bow line", "length_m": 42.5, "tags": ["polyester", "8-strand"], "inspected": "2026-03-14T09:26:53Z", ` +
		`"owner": {"name": "Harbour Services", "phone": "+49 40 1234567"}, "notes": null, "retired": false}`
)

func textOf(s string) (t llm.Text) {
	t.Add(s)
	return t
}

// models has one model per family.
var models = map[Family]Model{
	O200K: {"OpenAI", "gpt-5"}, CL100K: {"OpenAI", "gpt-4"}, Gemini: {"Google", "gemini-2.5-pro"}, Llama3: {"Meta", "llama-3.3-70b-instruct"},
	Tekken: {"Mistral", "mistral-medium-3.1"}, Qwen: {"Alibaba", "qwen3-14b"}, DeepSeek: {"DeepSeek", "deepseek-v3.1"},
}

func TestEstimatesAreCloseToRealCounts(t *testing.T) {
	t.Parallel()
	for _, c := range counted {
		for family, want := range c.want {
			m, ok := models[family]
			if !ok {
				continue // not compared: Claude estimates include a margin for its newer vocabularies
			}
			got := m.Text(textOf(c.text))
			if off := float64(got)/float64(want) - 1; off < -0.3 || off > 0.2 { // wide limits: the texts have rare words
				t.Errorf("%s in %s: %d tokens, want about %d", c.name, family, got, want)
			}
		}
	}
}

func TestClaudeHasMoreTokensThanItsPublishedVocabulary(t *testing.T) {
	t.Parallel()
	for _, c := range counted {
		published := c.want[Claude]
		older := Model{"Anthropic", "claude-sonnet-4-5"}.Text(textOf(c.text))
		newer := Model{"Anthropic", "claude-opus-4-8"}.Text(textOf(c.text))
		if older < published*8/10 || older > published*4/3 || newer < older*5/4 {
			t.Errorf("%s: %d tokens in the published vocabulary, %d and %d estimated for older and newer models",
				c.name, published, older, newer)
		}
	}
}

// TestModelsHaveFamiliesWithWeights covers the models of the catalog and one unknown model.
func TestModelsHaveFamiliesWithWeights(t *testing.T) {
	t.Parallel()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append(c.Models(), &catalog.Model{Name: "house-model"}) {
		if v := (Model{m.Vendor, m.Name}).Vocabulary(); v.index < 0 {
			t.Errorf("%s: no weights for vocabulary %q", m.Name, v.family)
		}
	}
}

func TestPromptIncludesNonText(t *testing.T) {
	t.Parallel()
	gpt, claude := models[O200K], Model{"Anthropic", "claude-sonnet-4-5"}
	for name, tc := range map[string]struct {
		model  Model
		prompt Prompt
		want   int64
	}{
		"an empty prompt has one token": {gpt, Prompt{}, 1},
		"messages":                      {gpt, Prompt{Messages: 3}, 15},
		"token ids":                     {gpt, Prompt{TokenIDs: 50}, 50},
		"tools of Claude":               {claude, Prompt{Messages: 1, Tools: true}, 7 + 346},
		"tools of others":               {gpt, Prompt{Messages: 1, Tools: true}, 7},
		"two images, one of known size": {
			gpt, Prompt{Images: 2, Sizes: []llm.Image{{Width: 400, Height: 400, Detail: "low"}}}, 70 + (70 + 4*140),
		},
	} {
		if got := tc.model.Prompt(tc.prompt); got != tc.want {
			t.Errorf("%s: Prompt = %d, want %d", name, got, tc.want)
		}
	}
}

// Longer input never has fewer tokens. Budget holds and context checks depend on this property.
func TestEstimatesAreMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom([]Model{models[O200K], models[Gemini], models[Qwen], {"Anthropic", "claude-opus-5-5"}}).Draw(t, "model")
		var less llm.Text
		for i := range less.Counts {
			less.Counts[i] = rapid.Int32Range(0, 1<<20).Draw(t, "count")
		}
		more := less
		for i := range more.Counts {
			if llm.Class(i) != llm.Letters && llm.Class(i) != llm.Words { // not increased: more of these make a text look less like base64, which can lower the estimate
				more.Counts[i] += rapid.Int32Range(0, 1<<20).Draw(t, "more")
			}
		}
		if m.Text(less) < 0 || m.Text(more) < m.Text(less) {
			t.Fatalf("%d tokens for a text, %d for a longer one", m.Text(less), m.Text(more))
		}
	})
}

func TestBoundCountsEveryByte(t *testing.T) {
	t.Parallel()
	for _, m := range models {
		if got := m.Bound(Prompt{Body: 1000}); got < 1000 || got > 1000+boundFraming {
			t.Errorf("%v: Bound of 1000 bytes = %d, want 1000 to %d", m, got, 1000+boundFraming)
		}
	}
}

func TestBoundOfAnImageCoversEverySizeAndDetail(t *testing.T) {
	t.Parallel()
	names := []Model{
		{"OpenAI", "gpt-4o-mini"},
		{"OpenAI", "gpt-4.1-nano"},
		{"OpenAI", "gpt-5.5"},
		{"Anthropic", "claude-opus-4-8"},
		{"Anthropic", "claude-3-haiku"},
		{"Google", "gemini-2.5-pro"},
		{"Google", "gemini-3-pro"},
		{"Alibaba", "qwen3"},
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(names).Draw(t, "model")
		i := llm.Image{
			Width: rapid.IntRange(1, 16384).Draw(t, "width"), Height: rapid.IntRange(1, 16384).Draw(t, "height"),
			Detail: rapid.SampledFrom([]string{"", "low", "high", "original"}).Draw(t, "detail"),
		}
		seen := i
		if rapid.Bool().Draw(t, "unknown size") {
			seen = llm.Image{}
		}
		p := Prompt{Images: 1}
		if seen != (llm.Image{}) {
			p.Sizes = []llm.Image{{Width: i.Width, Height: i.Height, Detail: "low"}}
			i.Detail = rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "real detail")
		}
		if got, want := m.Bound(p), m.Image(i); got < want {
			t.Fatalf("%v: %+v has %d tokens, more than the bound %d", m, i, want, got)
		}
	})
}

func TestOutputUsesScriptsOfThePrompt(t *testing.T) {
	t.Parallel()
	m := models[O200K]
	if got := m.Output(0, 0, llm.Text{}); got != 0 {
		t.Errorf("Output of an empty text = %d, want 0", got)
	}
	if got := m.Output(1, 0, llm.Text{}); got != 1 {
		t.Errorf("Output of one letter = %d, want 1", got)
	}
	for _, c := range counted {
		ascii := int64(0)
		for i := range len(c.text) {
			if c.text[i] < 0x80 {
				ascii++
			}
		}
		got := m.Output(ascii, int64(len(c.text))-ascii, textOf(c.text))
		if off := float64(got)/float64(c.want[O200K]) - 1; off < -0.4 || off > 0.4 {
			t.Errorf("%s: %d tokens, want about %d", c.name, got, c.want[O200K])
		}
	}
	if thai, unknown := m.Output(0, 300, textOf("ภาษา")), m.Output(0, 300, llm.Text{}); thai == unknown {
		t.Errorf("Output is the same for a Thai prompt and an unknown prompt: %d", thai)
	}
}

// A prompt of 100 KB adds at most a millisecond to a request, for all candidate models together.
func BenchmarkPrompt100KB(b *testing.B) {
	const line = prose + "\n" + code + german
	texts := slices.Repeat([]string{line}, 100_000/len(line)+1)
	candidates := make([]Model, 0, 200)
	for range cap(candidates) / 4 {
		candidates = append(candidates, models[O200K], models[Gemini], models[Qwen], Model{"Anthropic", "claude-opus-4-8"})
	}
	b.SetBytes(int64(len(texts) * len(line)))
	b.ReportAllocs()
	for b.Loop() {
		req := llm.Request{Payload: llm.Payload{Body: make([]byte, 100_000)}, Prompt: llm.Prompt{Messages: len(texts)}}
		req.CountText(texts...)
		prompt := PromptOf(&req)
		for _, m := range candidates {
			if m.Prompt(prompt) < 1000 {
				b.Fatal("Prompt of 100 KB has fewer than 1000 tokens")
			}
		}
	}
}
