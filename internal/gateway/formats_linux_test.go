package gateway_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkFormats compares clients of the chat format with clients of the Responses format. Both get the same text, 50 deltas in a
// stream, in the provider's own format.
func BenchmarkFormats(b *testing.B) {
	for _, stream := range []bool{false, true} {
		kind := map[bool]string{false: "whole", true: "stream"}[stream]
		b.Run(kind+"/chat", func(b *testing.B) { benchmarkAsk(b, asker(b, stream)) })
		b.Run(kind+"/responses", func(b *testing.B) { benchmarkAsk(b, responsesAsker(b, stream)) })
	}
	for _, size := range []int{1 << 10, 100 << 10} {
		for _, format := range []string{"chat", "responses"} {
			b.Run(fmt.Sprintf("conversation/%dKB/%s", size>>10, format), func(b *testing.B) { benchmarkAsk(b, conversationAsker(b, format, size)) })
		}
	}
}

// conversationAsker returns a function that sends a tool loop of about size bytes. The response is a text of an eighth of that size.
func conversationAsker(t testing.TB, format string, size int) func() {
	t.Helper()
	const (
		schema = `{"type":"object","properties":{"path":{"type":"string","description":"Path of the file"}},"required":["path"],"additionalProperties":false}`
		line   = `Heave the \"line\", all hands.\n`
	)
	turns := max(1, size/(4<<10))
	text := strings.Repeat(line, max(1, size/turns/2/len(line)))
	var list []string
	for n := range turns {
		switch format {
		case "chat":
			list = append(list,
				`{"role":"user","content":"`+text+`"}`,
				fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}]}`, n),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, n, text))
		default:
			list = append(list,
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"`+text+`"}]}`,
				fmt.Sprintf(`{"type":"function_call","call_id":"call_%d","name":"read","arguments":"{\"path\":\"a.txt\"}"}`, n),
				fmt.Sprintf(`{"type":"function_call_output","call_id":"call_%d","output":"%s"}`, n, text))
		}
	}
	reply := strings.Repeat(line, max(1, size/8/len(line)))
	if format == "chat" {
		return askerOf(t, "/chat/completions", `{"model":"auto","messages":[`+strings.Join(list, ",")+`],"tools":[{"type":"function","function":{"name":"read","parameters":`+schema+`}}]}`,
			canned{`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + reply + `"},"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":250,"completion_tokens":3,"total_tokens":253,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`, "application/json"})
	}
	return askerOf(t, "/responses", `{"model":"auto","store":false,"input":[`+strings.Join(list, ",")+`],"tools":[{"type":"function","name":"read","parameters":`+schema+`}]}`,
		canned{`{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant",` +
			`"content":[{"type":"output_text","annotations":[],"text":"` + reply + `"}]}],` +
			`"usage":{"input_tokens":250,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":253}}`, "application/json"})
}

func benchmarkAsk(b *testing.B, ask func()) {
	b.Helper()
	b.ReportAllocs()
	began := processTime(b)
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64(processTime(b)-began)/float64(b.N), "cpu-ns/op") // unlike ns/op, independent of other processes
}

// processTime returns the processor time of this process.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// responsesAsker is like asker but uses the Responses format. The events have the members that OpenAI sends.
func responsesAsker(t testing.TB, stream bool) func() {
	t.Helper()
	text := "Aye."
	if stream {
		text = strings.Repeat("Aye. ", 50)
	}
	object := func(status, output, usage string) string {
		return `{"id":"resp_68a1c0f2d0a88190a7c9f1e0b5d4c3a2","object":"response","created_at":1755431154,"status":"` + status + `","background":false,"error":null,"incomplete_details":null,` +
			`"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":"m","output":[` + output + `],"parallel_tool_calls":true,"previous_response_id":null,` +
			`"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"auto","store":true,"temperature":1.0,` +
			`"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":` + usage + `,"user":null,"metadata":{}}`
	}
	const item = "msg_68a1c0f3a5d48190b1c2d3e4f5a6b7c8"
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":"` + text + `"}`
	message := `{"id":"` + item + `","type":"message","status":"completed","content":[` + part + `],"role":"assistant"}`
	whole := object("completed", message, `{"input_tokens":250,"input_tokens_details":{"cached_tokens":0},"output_tokens":60,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":310}`)
	body := `{"model":"auto","input":"` + strings.Repeat("Heave the line, all hands. ", 40) + `"}`
	if !stream {
		return askerOf(t, "/responses", body, canned{whole, "application/json"})
	}
	var events strings.Builder
	n := 0
	add := func(kind, members string) {
		fmt.Fprintf(&events, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,%s}\n\n", kind, kind, n, members)
		n++
	}
	at := `"item_id":"` + item + `","output_index":0,"content_index":0`
	add("response.created", `"response":`+object("in_progress", "", "null"))
	add("response.in_progress", `"response":`+object("in_progress", "", "null"))
	add("response.output_item.added", `"output_index":0,"item":{"id":"`+item+`","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	add("response.content_part.added", at+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	for range 50 {
		add("response.output_text.delta", at+`,"delta":"Aye. ","logprobs":[],"obfuscation":"qXzT0p5KdL1"`)
	}
	add("response.output_text.done", at+`,"text":"`+text+`","logprobs":[]`)
	add("response.content_part.done", at+`,"part":`+part)
	add("response.output_item.done", `"output_index":0,"item":`+message)
	add("response.completed", `"response":`+whole)
	return askerOf(t, "/responses", strings.Replace(body, `"model"`, `"stream":true,"model"`, 1), canned{events.String(), "text/event-stream"})
}
