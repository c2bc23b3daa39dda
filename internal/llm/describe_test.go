package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDescribeDerivesProperties(t *testing.T) {
	t.Parallel()
	text := func(s string) Part { return Part{Kind: TextPart, Text: s} }
	media := func(kind PartKind, m Media) Part { return Part{Kind: kind, Media: &m} }
	for name, tc := range map[string]struct {
		conv Conversation
		want Request
	}{
		"messages": {
			Conversation{Messages: []Message{
				{Role: System, Parts: []Part{text("Be brief.")}},
				{Role: User, Parts: []Part{text("héllo")}},
				{Role: Assistant, Parts: []Part{text("x")}},
				{Role: User, Parts: []Part{{Kind: ResultPart, Result: &ToolResult{ID: "c1", Parts: []Part{text("ok")}}}}},
			}},
			Request{Prompt: Prompt{Messages: 4, Answers: 1, Asked: "héllo", Plain: true}, PromptSize: PromptSize{ASCIIBytes: 18, NonASCIIBytes: 2}},
		},
		"attachments": {
			Conversation{Messages: []Message{{Role: User, Parts: []Part{
				media(ImagePart, Media{Type: "image/png", Data: "AAAA"}), media(ImagePart, Media{URL: "https://x", Detail: "low"}), media(ImagePart, Media{FileID: "f"}),
				media(ImagePart, Media{Type: "video/mp4", Data: "AAAA"}), media(AudioPart, Media{Data: "AAAAAAAA"}), media(FilePart, Media{FileID: "f"}),
			}}}},
			Request{
				Needs: Vision | AudioIn | Files, Prompt: Prompt{Messages: 1, Plain: true},
				Attachments: Attachments{Images: 4, ImageURLs: 1, ImageBytes: 4, ImageSizes: []Image{{Detail: "low"}}, Unsized: 3, AttachedBytes: 12},
			},
		},
		"tools": {
			Conversation{
				Tools: []Tool{
					{Name: "f", Description: "d", Schema: json.RawMessage(`{"a\u0062":["c"]}`)},
					{Hosted: "web_search", Search: &Search{MaxUses: 3}, Raw: json.RawMessage(`{"type":"web_search"}`)},
				},
				ParallelTools: new(true),
			},
			Request{
				Needs: Tools | ParallelTools | WebSearch, ResponseOptions: ResponseOptions{Hosted: true, MaxSearches: 3}, Prompt: Prompt{Plain: true},
				PromptSize: PromptSize{ASCIIBytes: len("typefunctionfunctionnamefdescriptiondparametersabctypeweb_search")},
			},
		},
		"calls and signatures": {
			Conversation{Messages: []Message{{Role: Assistant, Parts: []Part{
				{Kind: ThinkingPart, Thinking: &Thinking{Text: "hm", Signature: "s"}}, {Kind: CallPart, Call: &ToolCall{ID: "c1", Name: "f", Arguments: "{}"}},
			}}}},
			Request{
				Prompt:     Prompt{Messages: 1, Answers: 1, HasSignatures: true},
				PromptSize: PromptSize{ASCIIBytes: len("hmidtypefunctionfunctionnameargumentsc1f{}")},
			},
		},
		"free text": {
			Conversation{Tools: []Tool{{Name: "f", Custom: true}}},
			Request{Needs: Tools, PromptSize: PromptSize{ASCIIBytes: len("typefunctionfunctionnamef")}},
		},
		"a system turn": {
			Conversation{Messages: []Message{{Role: User}, {Role: System}}}, Request{Prompt: Prompt{Messages: 2}},
		},
		"settings": {
			Conversation{Output: Output{Kind: OutputSchema, Name: "n", Schema: json.RawMessage(`{"z":1}`)}, Effort: Effort{Budget: 5}, Sampling: Sampling{Logprobs: true}},
			Request{Needs: JSONSchema | Reasoning | Logprobs, ResponseOptions: ResponseOptions{Effort: CustomEffort}, Prompt: Prompt{Plain: true}, PromptSize: PromptSize{ASCIIBytes: 6}},
		},
		"effort": {Conversation{Effort: Effort{Level: "none"}}, Request{ResponseOptions: ResponseOptions{Effort: "none"}, Prompt: Prompt{Plain: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Request{Conversation: &tc.conv}
			got.Describe()
			got.Conversation = nil
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(PromptSize{}, "Text")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountTextCountsShortTextCompletely(t *testing.T) {
	t.Parallel()
	var got PromptSize
	got.CountText("two\nwords", "", "Käse")
	var want Text
	want.Add("two\nwords")
	want.Add("Käse")
	if diff := cmp.Diff(PromptSize{Text: want, ASCIIBytes: 12, NonASCIIBytes: 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCountTextSamplesLongText(t *testing.T) {
	t.Parallel()
	const sentence = "The harbour master asked why the line chafed, and 12 others did. "
	for name, texts := range map[string][]string{
		"one text":    {strings.Repeat(sentence, 2000)},
		"many texts":  strings.Split(strings.Repeat(sentence+"|", 2000), "|"),
		"short texts": strings.SplitAfter(strings.Repeat(sentence, 2000), " "),
	} {
		var got, want PromptSize
		got.CountText(texts...)
		for _, text := range texts {
			want.Text.measure(text, false)
		}
		for _, class := range []Class{Words, Letters, Digits, Signs} {
			if n, exact := float64(got.Text.Counts[class]), float64(want.Text.Counts[class]); n < .85*exact || n > 1.15*exact {
				t.Errorf("%s: %v of class %d, want %v within 15 %%", name, n, class, exact)
			}
		}
	}
}

func FuzzCountJSON(f *testing.F) {
	f.Add([]byte(`{"a":["b\n\u00e9",{"\"":"\\"}]}`))
	f.Add([]byte(`"open`))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s PromptSize
		if n := s.CountJSON(raw); n < 0 || n > 2*len(raw) || n != s.ASCIIBytes+s.NonASCIIBytes {
			t.Errorf("CountJSON = %d for %d bytes: %+v", n, len(raw), s)
		}
	})
}
