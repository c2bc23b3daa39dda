package suite

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
)

func TestEveryVendorRespondsWithAndWithoutStreaming(t *testing.T) {
	t.Parallel()
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, a.make(vendormock.Options{}))
			want := `You said "Hello <&>". ` + vendormock.Greeting
			whole := a.ask(t, url, "Hello <&>", false)
			body := read(t, whole)
			var value any
			if err := json.Unmarshal([]byte(body), &value); err != nil || whole.StatusCode != http.StatusOK {
				t.Fatalf("got status %d (%v), want 200 and JSON: %s", whole.StatusCode, err, body)
			}
			var text strings.Builder
			collect(value, &text)
			if diff := cmp.Diff(want, text.String()); diff != "" {
				t.Errorf("response without streaming (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, texts(t, read(t, a.ask(t, url, "Hello <&>", true)))); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryVendorFailsOnRequest(t *testing.T) {
	t.Parallel()
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			mock := a.make(vendormock.Options{Slow: 50 * time.Millisecond})
			url := serve(t, mock)
			for prompt, want := range map[string]int{
				"[error 429]": 429, "[error 500]": 500, "[error 404]": 404, "[overloaded]": mock.Dialect.Overloaded(), "[error in stream]": 500, "fine": 200,
			} {
				if got := a.ask(t, url, prompt, false).StatusCode; got != want {
					t.Errorf("prompt %q: status %d, want %d", prompt, got, want)
				}
			}
			once := []int{a.ask(t, url, "[error 503 once]", true).StatusCode, a.ask(t, url, "[error 503 once]", true).StatusCode}
			if diff := cmp.Diff([]int{503, 200}, once); diff != "" {
				t.Errorf("statuses of [error 503 once], sent twice (-want +got):\n%s", diff)
			}
			broken := read(t, a.ask(t, url, "Hello [error in stream]", true))
			if !strings.Contains(broken, "error") && !strings.Contains(broken, "xception") {
				t.Errorf("the stream of [error in stream] contains no error: %s", broken)
			}
			for _, stream := range []bool{true, false} {
				if _, err := io.ReadAll(a.ask(t, url, "Hello [cut]", stream).Body); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("read the response to [cut]: error %v, want %v", err, io.ErrUnexpectedEOF)
				}
				began := time.Now()
				read(t, a.ask(t, url, "Hello [slow]", stream))
				if took := time.Since(began); took < 50*time.Millisecond {
					t.Errorf("the response to [slow] took %s, want at least 50ms", took)
				}
			}
		})
	}
}

func TestNextAppliesToOneRequest(t *testing.T) {
	t.Parallel()
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			mock := a.make(vendormock.Options{})
			url := serve(t, mock)
			mock.Next("[error 429]")
			a.send(t, url+"/_next", "[error 500]")
			var got []int
			for range 3 {
				got = append(got, a.ask(t, url, "Hello", false).StatusCode)
			}
			if diff := cmp.Diff([]int{429, 500, 200}, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
			calls := mock.Calls()
			if len(calls) != 3 || calls[0].Status != 429 || calls[2].Refuse != "" || !strings.Contains(string(calls[2].Body), "Hello") {
				t.Errorf("calls are %+v, want three, of which the first has status 429 and the last was accepted", calls)
			}
		})
	}
}

func TestInvalidCredentialsAreRejected(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"anthropic": 401, "gemini": 400, "bedrock": 403, "openai": 401, "openai-responses": 401, "azure": 401} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := apiOf(t, name)
			url := serve(t, a.make(vendormock.Options{Key: "another"}))
			if got := a.ask(t, url, "Hello", false).StatusCode; got != want {
				t.Errorf("request with a wrong key: status %d, want %d", got, want)
			}
		})
	}
}

// rejectedRows lists requests that a vendor rejects, with its error.
var rejectedRows = []struct{ vendor, body, want string }{
	{"anthropic", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"a"}]}`, "max_tokens: Field required"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":"9","messages":[{"role":"user","content":"a"}]}`, "max_tokens: Input should be a valid integer"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"system","content":"a"}]}`, "messages.0.role"},
	{"anthropic", `{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"system","content":"a"}]}`, "must follow a 'user' message"},
	{"anthropic", `{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":"a"}],"context_management":{"edits":[]}}`, "context_management: Extra inputs are not permitted"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text"}]}]}`, "messages.0.content.0.text: Field required"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages.0.content.0.type"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"data:image/png;base64,AAAA"}}]}]}`, "base64"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"temperature":1.5,"messages":[{"role":"user","content":"a"}]}`, "less than or equal to 1"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"}],"thinking":{"type":"enabled","budget_tokens":1000}}`, "greater than or equal to 1024"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"call.1","name":"a","input":{}}]}]}`, "should match pattern"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"a","input":"{}"}]}]}`, "valid dictionary"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}`, "additionalProperties"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"integer","minimum":1}}}}`, "'minimum' is not supported"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]}`, "must be unique"},
	{"anthropic", `{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"a","input":{}}]},{"role":"user","content":[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"c"}]}]}`, "immediately after"},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a","inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`, "must have one initialized field"},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":""}]}]}`, "must have one initialized field"},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"generationConfig":{"n":2}}`, `Unknown name \"n\" at 'generation_config'`},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]}]}`, "end with a user role"},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":"{}"}}]}]}`, "Invalid value at 'contents[1].parts[0].function_call.args'"},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":["STRING","NULL"]}}}}]}]}`, "Invalid value"},
	{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"toolConfig":{"functionCallingConfig":{"mode":"required"}}}`, "Invalid value"},
	{"bedrock", `{"messages":[{"role":"user","content":"a"}]}`, "Member must be list"},
	{"bedrock", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, "extraneous key [type]"},
	{"bedrock", `{"messages":[{"role":"user","content":[{"image":{"format":"jpg","source":{"bytes":"AAAA"}}}]}]}`, "enum value set: [png, jpeg, gif, webp]"},
	{"bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]}],"toolConfig":{"tools":[]}}`, "greater than or equal to 1"},
	{"bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"a","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"none":{}}}}`, "extraneous key [none]"},
	{"bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]}],"system":[{"text":""}]}`, "at least 1 character"},
	{"bedrock", `{"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"a","source":{"bytes":"AAAA"}}}]}]}`, "must include a text field"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"user","content":"a"}],"top_k":3}`, "Unknown parameter: 'top_k'"},
	{"openai", `{"model":"gpt-5","messages":[{"role":"user","content":"a"}],"max_tokens":3}`, "'max_tokens' is not supported"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"tool","tool_call_id":"x","content":"a"}]}`, "must be a response to a preceding message"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"a"}]}`, "must be followed by tool messages"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"user","content":"a"}],"stream_options":{"include_usage":true}}`, "only allowed when 'stream' is enabled"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"user","content":"a"}],"stop":["1","2","3","4","5"]}`, "less than or equal to 4"},
	{"openai", `{"model":"gpt-5.4","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, "Function tools with reasoning_effort are not supported"},
	{"openai", `{"model":"gpt-6-sol","messages":[{"role":"user","content":"a"}],"reasoning_effort":"low","tools":[{"type":"function","function":{"name":"f"}}]}`, "Function tools with reasoning_effort are not supported"},
	{"openai", `{"model":"gpt-5","messages":[{"role":"user","content":"a"}],"reasoning_effort":"none"}`, "does not support 'none' with this model"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"user","content":"a"}],"verbosity":"low"}`, "is not supported with the 'gpt-4.1' model"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"user","content":"a","cache_control":{"type":"ephemeral"}}]}`, "Unknown parameter: 'messages[0].cache_control'"},
	{"openai", `{"model":"gpt-4.1","messages":[{"role":"user","content":"a"}],"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"grammar","syntax":"lark","definition":"a"}}}]}`, "Unknown parameter: 'tools[0].custom.format.definition'"},
	{"openai-responses", `{"input":"a"}`, "Missing required parameter: 'model'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","messages":[]}`, "Unknown parameter: 'messages'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","seed":1}`, "Unknown parameter: 'seed'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","max_output_tokens":5}`, "Invalid 'max_output_tokens'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","reasoning":{"effort":"low"}}`, "'reasoning.effort' is not supported with this model"},
	{"openai-responses", `{"model":"gpt-5","input":"a","reasoning":{"effort":"xhigh"}}`, "does not support 'xhigh' with this model"},
	{"openai-responses", `{"model":"gpt-5.4","input":"a","reasoning":{"effort":"minimal"}}`, "does not support 'minimal' with this model"},
	{"openai-responses", `{"model":"gpt-5.4","input":"a","temperature":0.5}`, "'temperature' is not supported with this model"},
	{"openai-responses", `{"model":"gpt-5.4","input":"a","include":["message.output_text.logprobs"]}`, "logprobs are not supported"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","include":["reasoning.encrypted_content"]}`, "Encrypted content is not supported"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"message","role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]}`, "Invalid value at 'input[0].content[0].type'"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"message","role":"user","content":[{"type":"output_text","text":"a"}]}]}`, "input[0].content[0].type"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"message","role":"assistant","content":[{"type":"input_text","text":"a"}]}]}`, "'input_text'"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"tool_use","id":"a"}]}`, "Invalid value at 'input[0].type'"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`, "No tool output found for function call c"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"function_call_output","call_id":"c","output":"a"}]}`, "No tool call found"},
	{"openai-responses", `{"model":"gpt-4.1","input":[{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"},{"type":"function_call_output","call_id":"c","output":"a"}]}`, "No tool call found"},
	{"openai-responses", `{"model":"gpt-5","input":[{"type":"reasoning","summary":[],"encrypted_content":"other"}]}`, "could not be verified"},
	{"openai-responses", `{"model":"gpt-5","store":false,"input":[{"type":"reasoning","id":"rs_1","summary":[]}]}`, "Item with id 'rs_1' not found"},
	{"openai-responses", `{"model":"gpt-5","input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"a"}]}`, "without its required following item"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tools":[{"type":"function","function":{"name":"f"}}]}`, "tools[0]"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{}}}]}`, "additionalProperties"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tools":[{"type":"custom","name":"f","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"a"}}}]}`, "tools[0].format"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tools":[{"type":"web_search","domains":["a"]}]}`, "Unknown parameter: 'tools[0].domains'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tools":[{"type":"file_search"}]}`, "Missing required parameter: 'tools[0].vector_store_ids'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tool_choice":{"type":"function","function":{"name":"f"}},"tools":[{"type":"function","name":"f"}]}`, "tool_choice"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","tool_choice":{"type":"function","name":"g"},"tools":[{"type":"function","name":"f"}]}`, "Tool choice 'g' not found"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","text":{"format":{"type":"json_schema","json_schema":{"name":"a","schema":{}}}}}`, "text.format"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","text":{"format":{"type":"json_object"}}}`, "must contain the word 'json'"},
	{"openai-responses", `{"model":"gpt-4.1","input":"a","response_format":{"type":"json_object"}}`, "Unknown parameter: 'response_format'"},
	{"openai-responses", `{"model":"gpt-5","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}`, "'prompt_cache_breakpoint' is not supported"},
	{"azure", `{"messages":[{"role":"user","content":"a [block]"}]}`, "ResponsibleAIPolicyViolation"},
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	urls := map[string]string{}
	for _, a := range apis {
		urls[a.name] = serve(t, a.make(vendormock.Options{}))
	}
	for _, row := range rejectedRows {
		a := apiOf(t, row.vendor)
		resp := a.send(t, urls[row.vendor]+a.whole, row.body)
		body := read(t, resp)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, row.want) {
			t.Errorf("%s: request %s\ngot status %d, want 400: %s\nwant the message to contain %q",
				row.vendor, row.body, resp.StatusCode, body, row.want)
		}
	}
}

// A client that sends the item ID of a call must send the reasoning before the call.
func TestResponsesCallRequiresItsReasoning(t *testing.T) {
	t.Parallel()
	a := apiOf(t, "openai-responses")
	url := serve(t, a.make(vendormock.Options{})) + a.whole
	const begin = `{"model":"gpt-5","store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}],"input":[{"role":"user","content":"Count in /tmp/a.txt [edit loop]"}`
	output := gjson.Get(read(t, a.send(t, url, begin+`]}`)), "output")
	var reasoning, rest string
	for _, item := range output.Array() {
		switch item.Get("type").String() {
		case "reasoning":
			reasoning = "," + item.Raw
		case "function_call":
			rest += "," + item.Raw + `,{"type":"function_call_output","call_id":"` + item.Get("call_id").String() + `","output":"count: 0"}`
		}
	}
	if body := read(t, a.send(t, url, begin+rest+`]}`)); !strings.Contains(body, "was provided without its required 'reasoning' item") {
		t.Errorf("call without its reasoning: got %s, want an error", body)
	}
	if resp := a.send(t, url, begin+reasoning+rest+`]}`); resp.StatusCode != http.StatusOK {
		t.Errorf("call with its reasoning: status %d, want 200: %s", resp.StatusCode, read(t, resp))
	}
}
