package bedrock

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

var able = Dialect{
	Title: "Amazon Bedrock", Force: ForceNamed, TopK: "top_k", Cache: CacheTools, Status: true,
	ThinkingRules: ThinkingRules{Thinking: ThinkBudget, KeepThinking: true},
}

func text(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.User, Parts: parts} }

func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func call(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: name, Arguments: arguments}}
}

func result(id string, parts ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Parts: parts}}
}

func image(m llm.Media) llm.Part { return llm.Part{Kind: llm.ImagePart, Media: &m} }

func file(m llm.Media) llm.Part { return llm.Part{Kind: llm.FilePart, Media: &m} }

// render encodes a conversation and returns one member of the request and the warnings.
func render(t *testing.T, conv llm.Conversation, o RenderOptions, member string) (string, []string) {
	t.Helper()
	body, warnings, err := Render(t.Context(), &conv, o)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	return string(members[member]), warnings
}

func TestMessages(t *testing.T) {
	t.Parallel()
	png := llm.Media{Type: "image/png", Data: "iVBORw0K"}
	tests := map[string]struct {
		messages []llm.Message
		want     string
	}{
		"adjacent messages of a role are joined": {
			[]llm.Message{user(text("a")), user(text("b")), assistant(text("c")), user(text("d"))},
			`[{"role":"user","content":[{"text":"a"},{"text":"b"}]},{"role":"assistant","content":[{"text":"c"}]},{"role":"user","content":[{"text":"d"}]}]`,
		},
		"blank texts and blank turns are dropped": {
			[]llm.Message{user(text("a"), text(" \n")), assistant(text("")), user(text("b"))},
			`[{"role":"user","content":[{"text":"a"},{"text":"b"}]}]`,
		},
		"the user's turn is first": {
			[]llm.Message{assistant(text("a")), user(text("b"))},
			`[{"role":"user","content":[{"text":"…"}]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"b"}]}]`,
		},
		"results come first and together": {
			[]llm.Message{user(text("q")), assistant(call("1", "f", "{}"), call("2", "f", "")), user(text("look")), user(result("1", text("x"))), user(result("2", image(png)))},
			`[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}},{"toolUse":{"toolUseId":"2","name":"f","input":{}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"x"}]}},{"toolResult":{"toolUseId":"2","content":[{"image":{"format":"png","source":{"bytes":"iVBORw0K"}}}]}},{"text":"look"}]}]`,
		},
		"a failed result has its status": {
			[]llm.Message{user(text("q")), assistant(call("1", "f", "{}")), user(llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "1", Failed: true}})},
			`[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[],"status":"error"}}]}]`,
		},
		"a prefill is trimmed": {
			[]llm.Message{user(text("q")), assistant(text("So \n"))},
			`[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"So"}]}]`,
		},
		"the type of an image is detected": {
			[]llm.Message{user(image(llm.Media{Data: "/9j/AA=="}), image(llm.Media{Data: "R0lGAAAA"}), image(llm.Media{Data: "UklGAAAA"}))},
			`[{"role":"user","content":[{"image":{"format":"jpeg","source":{"bytes":"/9j/AA=="}}},{"image":{"format":"gif","source":{"bytes":"R0lGAAAA"}}},{"image":{"format":"webp","source":{"bytes":"UklGAAAA"}}}]}]`,
		},
		"images in S3 are sent as references": {
			[]llm.Message{user(image(llm.Media{URL: "s3://bucket/a.jpg"}))},
			`[{"role":"user","content":[{"image":{"format":"jpeg","source":{"s3Location":{"uri":"s3://bucket/a.jpg"}}}}]}]`,
		},
		"documents have valid unique names and a text block": {
			[]llm.Message{user(file(llm.Media{Type: "application/pdf", Data: "AA==", Name: "a_b/ü.pdf"}), file(llm.Media{Type: "application/pdf", Data: "AA==", Name: "a b.pdf"}), file(llm.Media{Data: "AA==", Name: ".csv"}))},
			`[{"role":"user","content":[{"text":"See the document."},{"document":{"format":"pdf","name":"a b","source":{"bytes":"AA=="}}},{"document":{"format":"pdf","name":"a b 2","source":{"bytes":"AA=="}}},{"document":{"format":"csv","name":"document","source":{"bytes":"AA=="}}}]}]`,
		},
		"an image file becomes an image": {
			[]llm.Message{user(file(png))},
			`[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"iVBORw0K"}}}]}]`,
		},
		"sounds": {
			[]llm.Message{user(llm.Part{Kind: llm.AudioPart, Media: &llm.Media{Type: "audio/mpeg", Data: "AA=="}})},
			`[{"role":"user","content":[{"audio":{"format":"mp3","source":{"bytes":"AA=="}}}]}]`,
		},
		"arguments that are not an object are wrapped": {
			[]llm.Message{user(text("q")), assistant(call("1", "f", "[1]")), user(result("1", text("x")))},
			`[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"f","input":{"input":"[1]"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"x"}]}}]}]`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := render(t, llm.Conversation{Messages: tc.messages}, RenderOptions{Dialect: able}, "messages")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnsupportedContentIsRejected(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		part llm.Part
		says string
	}{
		"an image by URL":       {image(llm.Media{URL: "https://a.test/x.png"}), "as bytes, not by URL"},
		"a file by id":          {file(llm.Media{FileID: "file-1"}), "by id"},
		"a file by URL":         {file(llm.Media{URL: "https://a.test/x.pdf"}), "as bytes, not by URL"},
		"an unknown image type": {image(llm.Media{Type: "image/tiff", Data: "AA=="}), "PNG, JPEG, GIF and WebP"},
		"an unknown file type":  {file(llm.Media{Type: "application/zip", Data: "AA=="}), "PDF"},
		"an unknown audio type": {llm.Part{Kind: llm.AudioPart, Media: &llm.Media{Type: "audio/midi", Data: "AA=="}}, "WAV"},
		"an empty image":        {image(llm.Media{Type: "image/png"}), "without content"},
		"nothing":               {text(" "), "no message"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Render(t.Context(), &llm.Conversation{Messages: []llm.Message{user(tc.part)}}, RenderOptions{Dialect: able})
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != llm.Untranslatable || e.Param != "messages" || !strings.Contains(e.Message, tc.says) {
				t.Errorf("Render: %v, want Untranslatable with %q", err, tc.says)
			}
		})
	}
}

func TestThinkingOfEarlierTurns(t *testing.T) {
	t.Parallel()
	thought := func(t llm.Thinking) llm.Message {
		return assistant(llm.Part{Kind: llm.ThinkingPart, Thinking: &t}, text("a"))
	}
	for name, tc := range map[string]struct {
		thinking llm.Thinking
		dialect  Dialect
		kept     bool
	}{
		"signed by this provider":             {llm.Thinking{Text: "x", Signature: "s", Provider: "here"}, able, true},
		"redacted by this provider":           {llm.Thinking{Redacted: "s", Provider: "here"}, able, true},
		"signed by another provider":          {llm.Thinking{Text: "x", Signature: "s", Provider: "there"}, able, false},
		"signed without a provider":           {llm.Thinking{Text: "x", Signature: "s"}, able, false},
		"not signed":                          {llm.Thinking{Text: "x", Provider: "here"}, able, false},
		"model that does not accept thinking": {llm.Thinking{Text: "x", Signature: "s", Provider: "here"}, Dialect{Title: "B"}, false},
		"redacted and truncated":              {llm.Thinking{Redacted: "s", Provider: ""}, able, false},
	} {
		conv := llm.Conversation{Messages: []llm.Message{user(text("q")), thought(tc.thinking), user(text("go on"))}}
		got, warnings := render(t, conv, RenderOptions{Dialect: tc.dialect, Signers: []string{"here"}}, "messages")
		if strings.Contains(got, "reasoningContent") != tc.kept || (len(warnings) == 0) != tc.kept {
			t.Errorf("%s: messages %s, warnings %q; want kept = %t", name, got, warnings, tc.kept)
		}
	}
}

func TestCachePoints(t *testing.T) {
	t.Parallel()
	mark := func(p llm.Part, ttl string) llm.Part {
		p.Cache = &llm.CacheMark{TTL: ttl}
		return p
	}
	five := []llm.Message{user(mark(text("a"), ""), mark(text("b"), "5m"), mark(text("c"), ""), mark(text("d"), ""), mark(text("e"), "1h"))}
	count := func(s string) int { return strings.Count(s, "cachePoint") }

	got, warnings := render(t, llm.Conversation{Messages: five}, RenderOptions{Dialect: able}, "messages")
	if count(got) != maxCachePoints || !strings.Contains(got, `{"text":"a"},{"text":"b"},{"cachePoint"`) || strings.Contains(got, "1h") || len(warnings) != 2 {
		t.Errorf("messages %s\nwarnings %q; want the maximum of cache points and two warnings", got, warnings)
	}
	long := able
	long.LongCache = true
	if got, _ := render(t, llm.Conversation{Messages: five}, RenderOptions{Dialect: long}, "messages"); !strings.Contains(got, `{"type":"default","ttl":"1h"}`) {
		t.Errorf("messages %s, want a cache point with ttl 1h", got)
	}
	none, warnings := render(t, llm.Conversation{Messages: five}, RenderOptions{}, "messages")
	if count(none) != 0 || len(warnings) != 1 {
		t.Errorf("messages %s\nwarnings %q; want no cache points and one warning", none, warnings)
	}
	inner := []llm.Message{user(text("q")), assistant(call("1", "f", "")), user(result("1", mark(text("x"), "")))}
	if got, _ := render(t, llm.Conversation{Messages: inner}, RenderOptions{Dialect: able}, "messages"); !strings.HasSuffix(got, `}},{"cachePoint":{"type":"default"}}]}]`) {
		t.Errorf("messages %s, want a cache point after the result", got)
	}
}

func TestOnlySentCachePointsCount(t *testing.T) {
	t.Parallel()
	mark := func(p llm.Part) llm.Part {
		p.Cache = &llm.CacheMark{}
		return p
	}
	marked := llm.Tool{Name: "f", Cache: &llm.CacheMark{}}
	four := []llm.Part{mark(text("a")), mark(text("b")), mark(text("c")), mark(text("d"))}
	for name, change := range map[string]func(*llm.Conversation){
		"tool choice none": func(c *llm.Conversation) { c.Tools, c.ToolChoice.Mode = []llm.Tool{marked}, llm.ChoiceNone },
		"a tool that is not listed": func(c *llm.Conversation) {
			c.Tools, c.ToolChoice = []llm.Tool{marked, {Name: "g"}}, llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"g"}}
		},
		"a tool of another provider": func(c *llm.Conversation) { c.Tools = []llm.Tool{{Hosted: "web_search", Cache: &llm.CacheMark{}}} },
		"blank text":                 func(c *llm.Conversation) { c.Messages = append(c.Messages, user(mark(text(" ")))) },
		"a blank instruction": func(c *llm.Conversation) {
			c.Messages = append(c.Messages, llm.Message{Role: llm.System, Parts: []llm.Part{mark(text(""))}})
		},
		"audio of the model": func(c *llm.Conversation) {
			c.Messages = append(c.Messages, assistant(mark(llm.Part{Kind: llm.AudioPart, Media: &llm.Media{}})))
		},
	} {
		conv := llm.Conversation{Messages: []llm.Message{user(four...)}}
		change(&conv)
		got, warnings := render(t, conv, RenderOptions{Dialect: able}, "messages")
		if n := strings.Count(got, "cachePoint"); n != maxCachePoints || strings.Contains(strings.Join(warnings, " "), "cache marker") {
			t.Errorf("%s: messages %s\nwarnings %q; want all cache points and no warning about them", name, got, warnings)
		}
	}
	conv := llm.Conversation{Tools: []llm.Tool{marked}, Messages: []llm.Message{{Role: llm.System, Parts: []llm.Part{mark(text("s"))}}, user(four...)}}
	for member, want := range map[string]int{"toolConfig": 0, "system": 0, "messages": maxCachePoints} {
		if got, warnings := render(t, conv, RenderOptions{Dialect: able}, member); strings.Count(got, "cachePoint") != want || len(warnings) != 1 {
			t.Errorf("%s %s\nwarnings %q; want %d cache points and one warning", member, got, warnings, want)
		}
	}
}

func TestUnsupportedFieldsAreDropped(t *testing.T) {
	t.Parallel()
	no := false
	conv := llm.Conversation{
		Messages: []llm.Message{{Role: llm.User, Name: "Ann", Parts: []llm.Part{text("q")}}}, Choices: 2, Verbosity: "low", EndUser: "u",
		ServiceTier: "scale", ParallelTools: &no, Tools: []llm.Tool{{Name: "f"}}, Dropped: []string{"x_future", "evil\nname"},
		Sampling: llm.Sampling{TopK: "3", FrequencyPenalty: "1", PresencePenalty: "1", Seed: "1", Logprobs: true}, Stop: []string{" "},
	}
	_, warnings := render(t, conv, RenderOptions{Dialect: Dialect{Title: "B"}}, "messages")
	want := []string{
		"messages.name was dropped: B does not support it.", "top_k was dropped: B does not support it.",
		"a stop sequence was dropped: B does not accept a blank one.", "service_tier was dropped: B does not support scale.",
		"n was dropped: B does not support it.",
		"frequency_penalty was dropped: B does not support it.", "presence_penalty was dropped: B does not support it.",
		"seed was dropped: B does not support it.", "logprobs was dropped: B does not support it.",
		"parallel_tool_calls was dropped: B does not support it.", "x_future was dropped: B does not support it.",
		`"evil name" was dropped: B does not support it.`,
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestInstructionsMoveToTheFirstMessage(t *testing.T) {
	t.Parallel()
	conv := llm.Conversation{Messages: []llm.Message{{Role: llm.System, Parts: []llm.Part{text("Be brief.")}}, user(text("q"))}}
	got, _ := render(t, conv, RenderOptions{Dialect: Dialect{NoSystem: true}}, "messages")
	if want := `[{"role":"user","content":[{"text":"Be brief."},{"text":"q"}]}]`; got != want {
		t.Errorf("messages %s, want %s", got, want)
	}
	if system, _ := render(t, conv, RenderOptions{Dialect: able}, "system"); system != `[{"text":"Be brief."}]` {
		t.Errorf("system %s, want the instructions", system)
	}
}

func TestInstructionsAloneGetAUserMessage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		dialect          Dialect
		system, messages string
	}{
		"system messages":    {able, `[{"text":"Write a haiku."}]`, `[{"role":"user","content":[{"text":"…"}]}]`},
		"no system messages": {Dialect{NoSystem: true}, "", `[{"role":"user","content":[{"text":"Write a haiku."}]}]`},
	} {
		conv := llm.Conversation{Messages: []llm.Message{{Role: llm.System, Parts: []llm.Part{text("Write a haiku.")}}, user(text(" "))}}
		system, _ := render(t, conv, RenderOptions{Dialect: tc.dialect}, "system")
		messages, warnings := render(t, conv, RenderOptions{Dialect: tc.dialect}, "messages")
		if diff := cmp.Diff([]string{tc.system, tc.messages}, []string{system, messages}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(warnings) != 1 {
			t.Errorf("%s: warnings %q, want one", name, warnings)
		}
	}
}

func TestThinkingComesFirstAndIsNeverEmpty(t *testing.T) {
	t.Parallel()
	thought := func(t llm.Thinking) llm.Part {
		t.Provider = "bedrock"
		return llm.Part{Kind: llm.ThinkingPart, Thinking: &t}
	}
	signed := thought(llm.Thinking{Text: "hm", Signature: "sig"})
	const block = `{"reasoningContent":{"reasoningText":{"text":"hm","signature":"sig"}}}`
	for name, tc := range map[string]struct {
		messages []llm.Message
		want     string
	}{
		"before text and calls": {
			[]llm.Message{user(text("a")), assistant(text("b"), call("1", "f", ""), signed)},
			`[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[` + block + `,{"text":"b"},{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]}]`,
		},
		"in joined turns": {
			[]llm.Message{user(text("a")), assistant(text("b")), user(text(" ")), assistant(signed, text("c"))},
			`[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[` + block + `,{"text":"b"},{"text":"c"}]}]`,
		},
		"empty": {
			[]llm.Message{user(text("a")), assistant(thought(llm.Thinking{}), text("b"))},
			`[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"text":"b"}]}]`,
		},
	} {
		got, _ := render(t, llm.Conversation{Messages: tc.messages}, RenderOptions{Dialect: able, Signers: []string{"bedrock"}}, "messages")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
