package turncache_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	read "fairlead.dev/internal/conversation"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/turncache"
	"fairlead.dev/internal/wire/chat"
	"fairlead.dev/internal/wire/messages"
	"fairlead.dev/internal/wire/responses"
)

// turnFormat is a wire format with sample members and messages. %s in an element is replaced by a text.
type turnFormat struct {
	decode interface {
		DecodeTurn(context.Context, llm.Op, []byte, *turncache.Turn) (*llm.Request, error)
		DecodeRequest(context.Context, llm.Op, []byte) (*llm.Request, error)
	}
	before, after []string // members before and after the list, with the comma that separates them from the list
	list          string
	elements      []string
	broken        []string // elements and endings that the decoder rejects
}

const picture = `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4`

func turnFormats() map[string]turnFormat {
	tool := `{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object","properties":{}}}}`
	return map[string]turnFormat{
		"chat": {
			decode: chat.Format{}, list: "messages",
			before: []string{`"model":"auto",`, `"model" : "auto", "stream":true , "metadata":{"a":"b"},"temperature":1,`, `"user":"u","model":"auto","tools":[` + tool + `],`, `"model":"auto","tools":[{"type":"custom","custom":{"name":"c"}}],`},
			after:  []string{``, `,"tool_choice":{"type":"custom","custom":{"name":"c"}}`, `,"max_tokens":5`, `,"tools":[{"type":"web_search"}],"seed":1`, `,"tools":[{"type":"code_interpreter","container":{"file_ids":["f1"]}}]`, ` , "extra":{"text":"abc"}`},
			elements: []string{
				`{"role":"user","content":%s}`, `{"role":"system","content":%s}`, `{"role":"developer","content":[{"type":"text","text":%s}]}`,
				`{"role":"assistant","content":%s,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{}}}]}`,
				`{"role":"assistant","content":%s,"tool_calls":[{"id":"2","type":"custom","custom":{"name":"g","input":"i"}}]}`,
				`{"role":"tool","tool_call_id":"1","content":%s}`, `{"role":"assistant","content":null,"refusal":%s}`,
				`{"role":"user","content":[{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}},{"type":"image_url","image_url":{"url":"` + picture + `","detail":"low"}}]}`,
				`{"role":"user","content":[{"type":"text","text":%s},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"input_audio","input_audio":{"data":"AAAA"}}]}`,
				`{"role":"user","name":"x","unknown":{"nested":[1,2,{"a":%s}]}}`, `{"role":"user","content":[{"type":"file","file":{"file_id":%s}}]}`,
			},
			broken: []string{`{"content":%s}`, `{"role":"user","role":"user","content":%s}`, `7`, `{"Role":"user","content":%s}`, `{"role":"user","content":%s`, `{"role":"user","content":"` + "\x01" + `"}`},
		},
		"messages": {
			decode: messages.Format{}, list: "messages",
			before: []string{
				`"model":"auto","max_tokens":9,`, `"model" : "auto" ,"max_tokens":9,"system":[{"type":"text","text":"be brief\u00e9"}],`, `"max_tokens":1,"metadata":{"user_id":"u"},"model":"m","stream":true,"top_k":3,`,
			},
			after: []string{``, `,"system":"be kind"`, `,"tools":[{"name":"t","description":"d","input_schema":{}}]`, ` , "thinking":{"type":"enabled","budget_tokens":1024}`, `,"other":{"a":"text"}`},
			elements: []string{
				`{"role":"user","content":%s}`, `{"role":"assistant","content":[{"type":"text","text":%s},{"type":"tool_use","id":"1","name":"n","input":{"a":1}}]}`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":%s},{"type":"text","text":"next"}]}`, `{"role":"assistant","content":[{"type":"thinking","thinking":%s,"signature":"s"}]}`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":%s}]}]}`, `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":""},{"type":"text","text":%s}]}`,
				`{"role":"assistant","content":[{"type":"redacted_thinking","data":"fairlead.e30"},{"type":"text","text":%s,"citations":[]}]}`,
				`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}}]}`, `{"role":"system","content":%s}`,
				`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4"}},{"type":"document","source":{"type":"base64","data":"AAAA"},"title":%s}]}`,
				`{"role":"user","content":[{"type":"text","text":"   "}],"extra":%s}`, `{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":%s}}]}`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"document","source":{"type":"file","file_id":%s}}]},{"type":"container_upload","file_id":"f1"}]}`,
			},
			broken: []string{`{"role":"tool","content":%s}`, `{"role":"user","content":[{"type":"text","text":7}]}`, `{"role":"user","content":%s,"content":1}`, `null`, `{"role":"user","content":[{"text":%s}]}`},
		},
		"responses": {
			decode: responses.Format{}, list: "input",
			before: []string{
				`"model":"auto",`, `"instructions":"be brief","model":"auto","store":false,`, `"model":"auto","tools":[{"type":"function","name":"t","parameters":{}}],"stream":true,`,
				`"model":"auto","text":{"format":{"type":"json_schema","name":"né","schema":{"type":"object"}}},"tools":[{"type":"web_search","max_uses":3},{"type":"mcp"},{"type":"code_interpreter","container":{"file_ids":["f1"]}}],`, `"reasoning":{"effort":"high"},"parallel_tool_calls":true,"model":"auto",`,
			},
			after: []string{``, `,"text":{"format":{"type":"json_object"}},"reasoning":{"effort":"low"}`, `,"max_tool_calls":4`, `,"instructions":"be kind"`, `,"max_output_tokens":7,"temperature":0.5`, ` ,"tools":[{"type":"web_search"}]`, `,"previous_response_id":"resp_1"`},
			elements: []string{
				`{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}`, `{"role":"user","content":%s}`, `{"role":"developer","content":%s}`,
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`,
				`{"type":"function_call","call_id":"c","name":"n","arguments":%s}`, `{"type":"function_call_output","call_id":"c","output":%s}`,
				`{"type":"reasoning","summary":[{"type":"summary_text","text":%s}]}`, `{"type":"reasoning","summary":[],"encrypted_content":"fairlead.eyJ0IjoidCJ9"}`, `{"type":"custom_tool_call","call_id":"d","name":"n","input":%s}`, `{"type":"web_search_call","id":"w","status":%s}`,
				`{"role":"user","content":[{"type":"input_image","image_url":"` + picture + `"},{"type":"input_text","text":%s}]}`,
				`{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"},{"type":"refusal","refusal":%s}]}`,
				`{"role":"user","content":[{"type":"input_file","file_id":%s},{"type":"input_image","file_id":"f1"}]}`, `{"type":"computer_call_output","call_id":"c","output":{"file_id":%s}}`,
				`{"type":"item_reference","id":"i"}`, `{"type":"computer_call_output","call_id":"c","output":%s}`,
			},
			broken: []string{`{"role":"stranger","content":%s}`, `null`, `{"type":"function_call","name":"n","arguments":%s}`, `{"role":"user","content":[{"type":"hologram"}]}`, `{"Type":"message","role":"user","content":%s}`},
		},
	}
}

// conversation returns the bodies of a random conversation. Later turns may change the last messages, like clients that move a
// prompt-cache breakpoint or edit a message. They may also add elements that are rejected.
func conversation(f turnFormat, r *rand.Rand, turns int) (bodies [][]byte) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	element := func(of string) string {
		if !strings.Contains(of, "%s") {
			return of
		}
		texts := []string{
			`"short"`, `"héllo \u4e16\ud83d\ude00 \\n \"quoted\""`, `""`, `"` + strings.Repeat(`word\n `, r.IntN(700)) + `"`, `"` + strings.Repeat("x", r.IntN(9000)) + `"`,
			`"Error: cannot find module number ` + fmt.Sprint(r.IntN(3)) + `"`, `"12 tests passed, 0 failed"`, `"yes, go ahead"`, `"exit code 1"`,
		}
		return fmt.Sprintf(of, pick(texts))
	}
	before, after := pick(f.before), pick(f.after)
	var list []string
	for range turns {
		if n := len(list); n > 2 && r.IntN(3) == 0 {
			list[n-1-r.IntN(2)] = element(pick(f.elements))
		}
		if n := len(list); n > 4 {
			at := r.IntN(n - 1)
			switch r.IntN(12) {
			case 0: // swap two elements
				list[at], list[at+1] = list[at+1], list[at]
			case 1: // replace a text with another one of the same length
				list[at] = strings.Replace(list[at], "xx", "xy", 1)
			case 2:
				list = list[:at+1]
			}
		}
		for range 1 + r.IntN(4) {
			list = append(list, element(pick(f.elements)))
		}
		sent := list
		if r.IntN(6) == 0 {
			sent = append(append([]string{}, list...), element(pick(f.broken)))
		}
		if r.IntN(5) == 0 {
			after = pick(f.after)
		}
		separator := pick([]string{",", ",", " , ", ",\n"})
		bodies = append(bodies, fmt.Appendf(nil, `{%s"%s":[%s]%s}`, before, f.list, strings.Join(sent, separator), after))
	}
	return bodies
}

// TestDecodingAfterAnEarlierTurnGivesTheSameResult compares requests that were decoded with a cache with requests decoded without
// one, over random conversations in every format.
func TestDecodingAfterAnEarlierTurnGivesTheSameResult(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	for name, f := range turnFormats() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache, found, valid := turncache.New(8<<20), 0, 0
			for seed := range uint64(60) {
				for n, body := range conversation(f, rand.New(rand.NewPCG(seed, 3)), 12) {
					fresh, freshErr := f.decode.DecodeRequest(t.Context(), llm.Chat, bytes.Clone(body))
					turn := cache.Turn("ws", name, body)
					if end, _ := turn.Find(turncache.Decoding); end > 0 {
						found++
					}
					cached, err := f.decode.DecodeTurn(t.Context(), llm.Chat, body, turn)
					if fmt.Sprint(err) != fmt.Sprint(freshErr) {
						t.Fatalf("seed %d, turn %d: error %v, without a cache %v\n%s", seed, n, err, freshErr, body)
					}
					if err != nil {
						continue
					}
					valid++
					fresh.Measure()
					cached.Measure()
					if !bytes.Equal(cached.Body, body) {
						t.Fatalf("seed %d, turn %d: the decoded request has another body", seed, n)
					}
					reading, _ := read.ReadTurn(cached, turn)
					if diff := cmp.Diff(read.Read(fresh), reading); diff != "" {
						t.Fatalf("seed %d, turn %d: reading (-without +with a cache):\n%s\n%s", seed, n, diff, body)
					}
					if diff := cmp.Diff(promptcache.Build(fresh, 1000), promptcache.BuildTurn(cached, 1000, turn)); diff != "" {
						t.Fatalf("seed %d, turn %d: fingerprint (-without +with a cache):\n%s\n%s", seed, n, diff, body)
					}
					fresh.Body, cached.Body = nil, nil // comparing them byte by byte takes long
					if diff := cmp.Diff(fresh, cached); diff != "" {
						t.Fatalf("seed %d, turn %d (-without +with a cache):\n%s\n%s", seed, n, diff, body)
					}
				}
			}
			if found < 40 || valid < 300 {
				t.Errorf("%d turns continued an earlier one, %d were valid; want at least 40 and 300", found, valid)
			}
		})
	}
}
