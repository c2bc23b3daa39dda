package promptcache

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	wiregemini "fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

func decode(t testing.TB, f wire.Format, body string) *llm.Request {
	t.Helper()
	req, err := f.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return req
}

// chatOf returns the fingerprint of a chat request with the given members.
func chatOf(t testing.TB, members string) Fingerprint {
	t.Helper()
	return Build(decode(t, openai.Format{}, `{"model":"auto",`+members+`}`), 0)
}

func hashes(d Fingerprint) []uint64 {
	list := make([]uint64, 0, len(d.Links))
	for _, link := range d.Links {
		list = append(list, link.Hash)
	}
	return list
}

func TestLinksRepeatInTheNextTurn(t *testing.T) {
	t.Parallel()
	var before Fingerprint
	for i, turn := range agentTurns(t, 40, 0) {
		d := turn.fingerprint
		if len(d.Links) != 3+2*i || d.Tokens() != turn.tokens {
			t.Fatalf("turn %d: %d links of %d tokens, want %d of %d", i, len(d.Links), d.Tokens(), 3+2*i, turn.tokens)
		}
		if diff := cmp.Diff(hashes(before), hashes(d)[:len(before.Links)]); diff != "" {
			t.Fatalf("turn %d does not extend the previous one:\n%s", i, diff)
		}
		if i > 0 && d.Opening != before.Opening {
			t.Fatalf("turn %d has another opening than the previous one", i)
		}
		before = d
	}
}

// Clients may change members that are not part of the prompt. The links stay the same.
func TestIgnoredMembersDoNotChangeLinks(t *testing.T) {
	t.Parallel()
	const plain = `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"user","content":"Hello"}]`
	want := hashes(chatOf(t, plain))
	if len(want) != 3 {
		t.Fatalf("%d links, want 3", len(want))
	}
	for name, members := range map[string]string{
		"other settings":            `"temperature":0.5,` + plain,
		"members in another order":  plain + `,"stream":true`,
		"white space":               strings.Replace(plain, `{"role":"user","content":"Hello"}`, "\n{ \"role\" : \"user\" ,\t\"content\" : \"Hello\" }\n", 1),
		"a mark on the last part":   strings.Replace(plain, `"text":"b"`, `"text":"b","cache_control":{"type":"ephemeral"}`, 1),
		"a mark on the first part":  strings.Replace(plain, `"text":"a"`, `"text":"a", "cache_control": {"type":"ephemeral","ttl":"1h"}`, 1),
		"a mark before the text":    strings.Replace(plain, `{"type":"text","text":"b"`, `{"cache_control":{"type":"ephemeral"},"type":"text","text":"b"`, 1),
		"a mark that needs a part":  strings.Replace(plain, `"Hello"`, `[{"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}}]`, 1),
		"a mark on the message":     strings.Replace(plain, `"content":"Hello"`, `"content":"Hello","cache_control":{"type":"ephemeral"}`, 1),
		"a text as a part":          strings.Replace(plain, `"Hello"`, `[{"type":"text","text":"Hello"}]`, 1),
		"instructions as a part":    strings.Replace(plain, `"Be brief."`, `[{"text":"Be brief.","type":"text"}]`, 1),
		"a mark for the whole":      `"cache_control":{"type":"ephemeral"},` + plain,
		"a break point of the part": strings.Replace(plain, `"text":"b"`, `"text":"b","prompt_cache_breakpoint":{"mode":"explicit"}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, hashes(chatOf(t, members))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangedContentChangesAllLaterLinks(t *testing.T) {
	t.Parallel()
	const plain = `"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user","content":"v"}]`
	want := hashes(chatOf(t, plain))
	for name, tc := range map[string]struct {
		old, new string
		same     int // number of unchanged links
	}{
		"a tool":             {`"f"`, `"g"`, 0},
		"instructions":       {`"s"`, `"z"`, 1},
		"a role":             {`{"role":"user","content":"u"}`, `{"role":"assistant","content":"u"}`, 2},
		"a message":          {`"content":"u"`, `"content":"w"`, 2},
		"the last message":   {`"content":"v"`, `"content":"w"`, 4},
		"a text about marks": {`"content":"v"`, `"content":"\"cache_control\":{}"`, 4},
		"a response schema":  {`"messages"`, `"response_format":{"type":"json_object"},"messages"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hashes(chatOf(t, strings.Replace(plain, tc.old, tc.new, 1)))
			same := 0
			for same < len(got) && got[same] == want[same] {
				same++
			}
			if same != tc.same || len(got) != len(want) {
				t.Errorf("%d of %d links unchanged, want %d of %d", same, len(got), tc.same, len(want))
			}
		})
	}
}

func TestBuildFindsMarks(t *testing.T) {
	t.Parallel()
	d := chatOf(t, `"tools":[{"type":"function","function":{"name":"f"},"cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[
		{"role":"user","content":"no mark, though \"cache_control\" is in it"},
		{"role":"assistant","content":[{"type":"text","text":"x","cache_control":null}]},
		{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y","cache_control":{"type":"ephemeral"}}]},
		{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"5m"}}]},
		{"role":"user","content":"last"}]`)
	var got []Mark
	for _, link := range d.Links {
		got = append(got, link.Mark)
	}
	if diff := cmp.Diff([]Mark{LongMark, Unmarked, Unmarked, ShortMark, ShortMark, Unmarked}, got); diff != "" {
		t.Error(diff)
	}
	whole := chatOf(t, `"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]`)
	if whole.Links[0].Mark != Unmarked || whole.Links[1].Mark != ShortMark {
		t.Errorf("links with a mark for the whole request are %v, want the mark at the last message", whole.Links)
	}
}

func TestBuildSupportsAllFormats(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format wire.Format
		body   string
		links  int
	}{
		"messages": {
			anthropic.Format{},
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}`, 4,
		},
		"responses": {
			responses.Format{},
			`{"model":"m","instructions":"s","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call","call_id":"2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"}]}`, 4,
		},
		"responses with a text": {responses.Format{}, `{"model":"m","input":"a"}`, 1},
		"contents":              {wiregemini.Format{}, `{"model":"m","systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"parts":[{"text":"a"}]}]}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Build(decode(t, tc.format, tc.body), 100)
			if len(d.Links) != tc.links || d.Opening == 0 {
				t.Errorf("%d links and opening %d, want %d links and an opening", len(d.Links), d.Opening, tc.links)
			}
		})
	}
}

func TestBuildReadsCacheOptionsOfTheRequest(t *testing.T) {
	t.Parallel()
	const rest = `"messages":[{"role":"user","content":"a"}]`
	for members, want := range map[string]Fingerprint{
		`"prompt_cache_retention":"24h",`:                        {Retention: 24 * time.Hour},
		`"prompt_cache_retention":"in_memory",`:                  {},
		`"prompt_cache_retention":"9000h",`:                      {Retention: 24 * time.Hour},
		`"prompt_cache_options":{"ttl":"30m"},`:                  {Retention: 30 * time.Minute},
		`"prompt_cache_options":{"mode":"explicit","ttl":"1h"},`: {Retention: time.Hour, MarksOnly: true},
		`"session_id":"s1",`:                                     {Session: "s1"},
	} {
		got := chatOf(t, members+rest)
		got.Links, got.Opening = nil, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s", members, diff)
		}
	}
}

func TestImageCountsAsFixedSize(t *testing.T) {
	t.Parallel()
	picture := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBORw0KGgo", 40_000) + `"}}`
	d := Build(decode(t, openai.Format{}, `{"model":"m","messages":[{"role":"user","content":[`+picture+`]},{"role":"user","content":"`+strings.Repeat("word ", 4000)+`"}]}`), 6000)
	if first := d.Links[0].Tokens; first < 500 || first > 1500 {
		t.Errorf("the image has %d of 6000 tokens, want about 1000", first)
	}
}

func TestLongChainsAreThinned(t *testing.T) {
	t.Parallel()
	build := func(n int) Fingerprint {
		var messages []map[string]any
		for i := range n {
			messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": fmt.Sprint("message ", i)})
		}
		messages[3]["cache_control"] = map[string]string{"type": "ephemeral"}
		body, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		return Build(decode(t, openai.Format{}, string(body)), int64(n))
	}
	before := build(2001)
	for n := 2003; n < 2063; n += 2 {
		d := build(n)
		if len(d.Links) > MaxLinks || d.Tokens() != int64(n) || !slices.ContainsFunc(d.Links, func(l Link) bool { return l.Mark == ShortMark }) {
			t.Fatalf("%d links of %d tokens, want at most %d of %d and the mark", len(d.Links), d.Tokens(), MaxLinks, n)
		}
		got := hashes(d)
		if !slices.Contains(got, before.Links[len(before.Links)-1].Hash) {
			t.Fatalf("with %d messages the link at the end of the previous turn was removed", n)
		}
		kept := 0
		for _, hash := range hashes(before) {
			if slices.Contains(got, hash) {
				kept++
			}
		}
		if kept < len(before.Links)/2 {
			t.Fatalf("%d of %d links were kept, want most of them", kept, len(before.Links))
		}
		before = d
	}
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]`), []byte(`[{"type":"function","function":{"name":"f"}}]`))
	f.Add([]byte(`[{"role":"assistant","content":"\\\""},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"x"}]}]`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, list, tools []byte) {
		build := func(list []byte) (Fingerprint, bool) {
			req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, fmt.Appendf(nil, `{"model":"m","tools":%s,"messages":%s}`, tools, list))
			if err != nil {
				return Fingerprint{}, false
			}
			return Build(req, 5000), true
		}
		short, ok := build(list)
		if !ok {
			return
		}
		if len(short.Links) > MaxLinks {
			t.Fatalf("%d links, want at most %d", len(short.Links), MaxLinks)
		}
		for i := 1; i < len(short.Links); i++ {
			if short.Links[i].Tokens < short.Links[i-1].Tokens {
				t.Fatalf("link %d has fewer tokens than the link before", i)
			}
		}
		// Another message leaves the earlier links unchanged.
		longer, err := appended(list)
		if err != nil {
			return
		}
		long, ok := build(longer)
		if n := len(short.Links); ok && n > 0 && n < MaxLinks && (len(long.Links) < n+1 || long.Links[n-1].Hash != short.Links[n-1].Hash) {
			t.Fatalf("%s: %d links became %d", list, n, len(long.Links))
		}
	})
}

// appended adds a message to a list.
func appended(list []byte) ([]byte, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("append to %q", list)
	}
	trimmed := strings.TrimRight(string(list), " \t\r\n")
	return []byte(trimmed[:len(trimmed)-1] + `,{"role":"user","content":"one more"}]`), nil
}
