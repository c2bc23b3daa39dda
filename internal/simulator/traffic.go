package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
)

// SampleRequest is one request of sample traffic, as a client sends it.
type SampleRequest struct {
	Endpoint string // chat/completions or embeddings
	Body     []byte
	Header   map[string]string
	Key      int      // index of the sample key that sends the request
	Models   []string // models that the key allows; nil for all
	Leaves   bool     // whether the client disconnects after the first event
}

// Policies are the policies that apply to sample traffic only. Their condition names a sample key.
const Policies = `policies:
  - name: sample-batch-jobs
    description: Batch jobs of the sample traffic use the smallest model.
    when: request.op == "chat" && key.name == "sample batch jobs"
    pin: sim-nano
`

// Indexes of the sample keys.
const (
	webApp = iota
	supportBot
	batchJobs
)

// Traffic lists requests that fill every dashboard page with data: conversations, streams, tools, JSON, cached prompts,
// embeddings, fallbacks and failures. The requests must be sent only to the simulator. Each model fails so rarely that its
// circuit does not stay open.
func Traffic() []SampleRequest {
	var list []SampleRequest
	for i, prompt := range questions() {
		list = append(list, question(i, prompt))
	}
	// Alternate two ordinary requests and two special requests.
	special := append(specials(), failures()...)
	for i := range special {
		special[i].Key = i % batchJobs // alternate between webApp and supportBot
	}
	mixed := make([]SampleRequest, 0, len(list)+len(special))
	for len(list) > 0 || len(special) > 0 {
		mixed, list = move(mixed, list, 2)
		mixed, special = move(mixed, special, 2)
	}
	return mixed
}

func move(to, from []SampleRequest, n int) (grown, rest []SampleRequest) {
	n = min(n, len(from))
	return append(to, from[:n]...), from[n:]
}

// questions returns prompts of many kinds and lengths.
func questions() []string {
	return []string{
		"What is a fairlead on a sailing boat?",
		"Translate to French: the parcel will arrive on Tuesday.",
		"Write a haiku about load balancers.",
		"Why does my SQL query ignore the index on created_at?",
		"Summarise in two sentences: the meeting moved to Thursday, the budget was approved, and hiring starts in March.",
		"Prove that the square root of two is irrational, step by step.",
		"Name three rivers in South America.",
		"Draft a polite reminder about an unpaid invoice of 340 euros.",
		"Refactor this loop: for i := 0; i < len(xs); i++ { total += xs[i] }",
		"Classify the sentiment: the update broke my printer again.",
		"Plan a weekend in Lisbon for two people who like tiles and trams.",
		"What changed between HTTP/1.1 and HTTP/2 that matters for proxies?",
		"Give me a regular expression for ISO dates, and explain it.",
		"Compare quicksort and mergesort for linked lists.",
		"Rewrite for a child of eight: photosynthesis turns light into sugar.",
		"What should a runbook for a full disk contain?",
		"Estimate how many piano tuners there are in Chicago.",
		"Which is larger, 9.11 or 9.9, and why do people get it wrong?",
		"Explain the trade-off between latency and throughput with a coffee shop.",
		"List the ingredients of a simple lentil soup.",
		"Review this sentence for tone: send me the file now.",
		"Write the unit tests for a function that reverses a string.",
		"Outline a talk about observability in twenty minutes.",
		"Convert 75 miles per hour to kilometres per hour.",
	}
}

// question returns a request with the prompt. The model, the sample key and the options depend on i.
func question(i int, prompt string) SampleRequest {
	models := []string{"auto", "auto", "auto:cost", "auto:quality", "auto", "auto:speed", "sim-large", "sim-medium"}
	body := fields{"model": models[i%len(models)], "messages": userTurn(prompt), "stream": i%2 == 0, "user": fmt.Sprintf("user-%d", i%5+1)}
	app := []string{"checkout", "support-bot", "editor", "batch"}[i%4]
	one := chatSample(body, "X-Fairlead-Tags", "app="+app+",env=sample")
	one.Key = []int{webApp, supportBot, webApp, batchJobs}[i%4]
	return one
}

// specials returns requests that use the optional features of the API.
func specials() []SampleRequest {
	manual := userTurn("You answer questions about the handbook below.\n\n"+handbook(), "How many days of leave are there?")
	again := userTurn("You answer questions about the handbook below.\n\n"+handbook(), "Who approves travel?")
	third := userTurn("You answer questions about the handbook below.\n\n"+handbook(), "Where do I report a lost badge?")
	weather := []fields{{"type": "function", "function": fields{
		"name": "get_weather", "description": "The weather of a city",
		"parameters": fields{"type": "object", "properties": fields{"city": fields{"type": "string"}}, "required": []string{"city"}},
	}}}
	invoice := fields{"type": "json_schema", "json_schema": fields{"name": "invoice", "schema": fields{
		"type": "object", "additionalProperties": false, "required": []string{"number", "total"},
		"properties": fields{"number": fields{"type": "string"}, "total": fields{"type": "number"}},
	}}}
	picture := []fields{{"role": "user", "content": []fields{
		{"type": "text", "text": "What is in this picture?"},
		{"type": "image_url", "image_url": fields{"url": "data:image/png;base64,iVBORw0KGgo="}},
	}}}
	talk := append(userTurn("Help me name a ferry."), fields{"role": "assistant", "content": "How about Marigold?"}, fields{"role": "user", "content": "Something older, please."})
	return []SampleRequest{
		chatSample(fields{"model": "sim-large", "messages": manual}),
		chatSample(fields{"model": "auto", "messages": userTurn("Use get_weather for Oslo."), "tools": weather}),
		chatSample(fields{"model": "auto", "messages": userTurn("Use get_weather for Oslo and Bergen in parallel."), "tools": weather, "stream": true}),
		chatSample(fields{"model": "auto", "messages": userTurn("Read this invoice: number A-17, total 12.50."), "response_format": invoice}),
		chatSample(fields{"model": "sim-large", "messages": again}),
		embedSample("how to repair a net"),
		chatSample(fields{"model": "sim-reasoner", "messages": userTurn("A bat and a ball cost 1.10 together; the bat costs 1 more. What is the ball?"), "stream": true}),
		chatSample(fields{"model": "auto", "messages": picture}),
		chatSample(fields{"model": "sim-large", "messages": third, "stream": true}),
		chatSample(fields{"model": "auto", "messages": talk, "session_id": "sample-ferry"}),
		// This request costs more than its baseline, so that the dashboard also shows negative savings.
		chatSample(fields{"model": "sim-flagship", "messages": userTurn("Draft the opening of a novel set in a lighthouse.")}, "X-Fairlead-Baseline", "sim-small"),
		embedSample("rope", "anchor", "tide table"),
		chatSample(fields{"model": "auto", "messages": userTurn("Keep this to yourself: the surprise party is on Friday.")}, "X-Fairlead-Log-Body", "false"),
	}
}

// failures returns requests with an error in the provider, the client or the request. Some of them succeed with a fallback model.
func failures() []SampleRequest {
	gone := chatSample(fields{"model": "sim-large", "messages": userTurn("Write a very long story about a harbour."), "stream": true})
	gone.Leaves = true
	forbidden := chatSample(fields{"model": "sim-flagship", "messages": userTurn("Use the best model there is.")})
	forbidden.Models = []string{"sim-small", "sim-nano"}
	return []SampleRequest{
		broken("503@sim-small", fields{"model": "sim-small", "models": []string{"sim-medium"}, "messages": userTurn("Sort these words: pear, apple, fig.")}),
		broken("500@sim-nano", fields{"model": "sim-nano", "models": []string{"sim-small"}, "messages": userTurn("Is 91 a prime number?"), "stream": true}),
		broken("429@sim-medium", fields{"model": "sim-medium", "models": []string{"sim-small"}, "messages": userTurn("Turn this list into a table: a, b, c.")}),
		broken("500", fields{"model": "sim-vision", "provider": fields{"only": []string{Provider}, "allow_fallbacks": false}, "messages": userTurn("What went wrong last night?")}),
		broken("cut", fields{"model": "sim-large", "messages": userTurn("Read me the whole log of yesterday."), "stream": true}),
		broken("content_filter", fields{"model": "sim-small", "messages": userTurn("This prompt is refused by the provider.")}),
		gone,
		forbidden,
		chatSample(fields{"model": "sim-smal", "messages": userTurn("The name of this model is misspelt.")}),
		chatSample(fields{"model": "auto", "messages": []fields{}}),
		broken("no_usage", fields{"model": "sim-small", "messages": userTurn("How many tokens was that?")}),
	}
}

// fields is a JSON object.
type fields map[string]any

// userTurn returns a conversation with one user message, optionally preceded by a system message.
func userTurn(texts ...string) []fields {
	if len(texts) == 1 {
		return []fields{{"role": "user", "content": texts[0]}}
	}
	return []fields{{"role": "system", "content": texts[0]}, {"role": "user", "content": texts[1]}}
}

func chatSample(body fields, header ...string) SampleRequest {
	if body["provider"] == nil {
		body["provider"] = fields{"only": []string{Provider}}
	}
	s := SampleRequest{Endpoint: "chat/completions", Body: encodeSample(body), Header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		s.Header[header[i]] = header[i+1]
	}
	return s
}

// broken returns a request that makes the simulator fail with the given fault.
func broken(fault string, body fields) SampleRequest {
	body["metadata"] = fields{"simulate": fault}
	return chatSample(body)
}

func embedSample(texts ...string) SampleRequest {
	body := fields{"model": "sim-embed-small", "input": texts, "provider": fields{"only": []string{Provider}}}
	return SampleRequest{Endpoint: "embeddings", Body: encodeSample(body), Header: map[string]string{}}
}

func encodeSample(body fields) []byte {
	data, err := json.Marshal(body)
	if err != nil {
		panic("simulator: encode a sample: " + err.Error()) // unreachable: strings and numbers always encode
	}
	return data
}

// handbook returns text that is long enough for providers to cache.
func handbook() string {
	var out strings.Builder
	rules := []string{
		"Leave is 28 days a year, taken in agreement with the team.",
		"Travel is booked by the traveller and approved by the head of the department.",
		"A lost badge is reported to the front desk on the same day.",
		"Expenses are handed in within a month, with receipts.",
		"Visitors are met at the door and wear a badge.",
	}
	for i := range 120 {
		fmt.Fprintf(&out, "%d. %s\n", i+1, rules[i%len(rules)])
	}
	return out.String()
}
