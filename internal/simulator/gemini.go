package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
)

// modelInPath returns the model in a path such as /v1beta/models/MODEL:generateContent.
func modelInPath(path string) (model, method string) {
	_, rest, _ := strings.Cut(path, "/models/")
	model, method, _ = strings.Cut(rest, ":")
	return model, method
}

func readGemini(call *Call) *Conversation {
	root := call.document()
	config, calling := root.get("generationConfig"), root.get("toolConfig", "functionCallingConfig")
	c := &Conversation{
		Model: call.Model, Limit: config.get("maxOutputTokens").number(), Count: config.get("candidateCount").number(), callID: "call_",
		Think:  config.get("thinkingConfig", "includeThoughts").isTrue(),
		Must:   calling.get("mode").text() == "ANY",
		Never:  calling.get("mode").text() == "NONE",
		JSON:   config.get("responseMimeType").text() == "application/json",
		Schema: geminiSchema(config.get("responseSchema"), config.get("responseJsonSchema")),
		Stops:  config.get("stopSequences").texts(),
	}
	if names := calling.get("allowedFunctionNames").texts(); c.Must && len(names) == 1 {
		c.Only = names[0]
	}
	c.addSystem(geminiParts(root.get("systemInstruction")))
	for _, t := range root.get("tools").list() {
		for _, d := range t.get("functionDeclarations").list() {
			c.Tools = append(c.Tools, Tool{Name: d.get("name").text(), Schema: geminiSchema(d.get("parameters"), d.get("parametersJsonSchema"))})
		}
	}
	for _, content := range root.get("contents").list() {
		c.add(content.get("role").text() == "model", false, geminiParts(content)...)
	}
	return c
}

var typeWord = regexp.MustCompile(`"type":"[A-Z]+"`)

// geminiSchema returns a schema as JSON Schema. The request contains either own, in the vendor's format, or plain, which is already
// JSON Schema.
func geminiSchema(own, plain node) json.RawMessage {
	if plain.exists() {
		return plain.raw()
	}
	return typeWord.ReplaceAllFunc(own.raw(), bytes.ToLower)
}

func geminiParts(content node) []Part {
	var list []Part
	for _, p := range content.get("parts").list() {
		part := Part{Kind: TextPart, Text: p.get("text").text(), Signature: p.get("thoughtSignature").text()}
		call, result, data := p.get("functionCall"), p.get("functionResponse"), p.get("inlineData")
		switch {
		case call.exists():
			part.Kind, part.ID, part.Name, part.Input = CallPart, call.get("id").text(), call.get("name").text(), call.get("args").raw()
			if part.Input == nil {
				part.Input = json.RawMessage("{}")
			}
		case result.exists():
			part.Kind, part.ID, part.Name = ResultPart, result.get("id").text(), result.get("name").text()
			part.Text, part.Failed = geminiResult(result.get("response")), result.get("response", "error").exists()
		case data.exists():
			part = inlineMedia(data.get("mimeType").text(), StandardBase64(data.get("data").text()))
		case p.get("fileData").exists():
			part = Part{Kind: MediaPart, MediaType: p.get("fileData", "mimeType").text()}
		case p.get("thought").isTrue():
			part.Kind = ThinkingPart
		}
		list = append(list, part)
	}
	return list
}

// StandardBase64 converts base64 to the standard alphabet. The vendor accepts both, and its clients send the URL-safe one.
func StandardBase64(text string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(text) }

// geminiResult returns the text of a tool's response: its only member if that has a common name, otherwise the complete JSON.
func geminiResult(response node) string {
	members, _ := response.value.(map[string]any)
	for _, name := range []string{"output", "result", "error", "content"} {
		if text := response.get(name).text(); text != "" && len(members) == 1 {
			return text
		}
	}
	return string(response.raw())
}

var geminiKinds = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
	503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func geminiError(status int, message, _ string) Object {
	return Object{"error": Object{"code": status, "message": message, "status": kindOf(status, geminiKinds, "UNKNOWN")}}
}

var geminiReasons = map[Finish]string{
	Completed: "STOP", CallsTools: "STOP", LimitReached: "MAX_TOKENS", StopSequence: "STOP", Rejected: "SAFETY",
}

func geminiBody(_ *Call, c *Conversation, r *Reply) Object {
	candidates := []Object{}
	for i := range max(c.Count, 1) {
		candidate := Object{"index": i, "finishReason": geminiReasons[r.Finish]}
		if r.Finish == Rejected {
			candidate["safetyRatings"] = []Object{{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}}
		} else {
			parts := []Object{}
			for _, p := range r.Parts {
				parts = append(parts, geminiPart(p))
			}
			candidate["content"] = Object{"role": "model", "parts": parts}
		}
		candidates = append(candidates, candidate)
	}
	return geminiEnvelope(c, r, true, candidates...)
}

// geminiEnvelope returns the common members of a response or a chunk with the given candidates.
func geminiEnvelope(c *Conversation, r *Reply, last bool, candidates ...Object) Object {
	e := Object{"modelVersion": r.model, "responseId": r.ID}
	r.setUsage(e, "usageMetadata", geminiUsage(c, r, last))
	if r.Finish == Blocked {
		e["promptFeedback"] = Object{"blockReason": "PROHIBITED_CONTENT"}
		return e
	}
	e["candidates"] = candidates
	return e
}

func geminiUsage(c *Conversation, r *Reply, last bool) Object {
	visible := (r.Usage.Output - r.Usage.Thinking) * max(c.Count, 1)
	u := Object{
		"promptTokenCount": r.Usage.Input, "totalTokenCount": r.Usage.Input + visible + r.Usage.Thinking,
		"promptTokensDetails": []Object{{"modality": "TEXT", "tokenCount": r.Usage.Input}},
	}
	if r.Usage.Thinking > 0 {
		u["thoughtsTokenCount"] = r.Usage.Thinking
	}
	if r.Usage.CacheRead > 0 {
		u["cachedContentTokenCount"] = r.Usage.CacheRead
	}
	if last && visible > 0 {
		u["candidatesTokenCount"] = visible
	}
	return u
}

func geminiPart(p Part) Object {
	o := Object{"text": p.Text}
	switch p.Kind {
	case CallPart:
		call := Object{"name": p.Name, "args": p.Input}
		if p.ID != "" {
			call["id"] = p.ID
		}
		o = Object{"functionCall": call}
		if p.Signature != "" {
			o["thoughtSignature"] = p.Signature
		}
	case ThinkingPart, RedactedPart:
		o["thought"] = true
	default:
	}
	return o
}

// geminiFrames returns text in pieces and calls in one piece. Without alt=sse, the stream is one JSON array.
func geminiFrames(call *Call, c *Conversation, r *Reply) [][]byte {
	var events []Object
	for i := range max(c.Count, 1) {
		for _, p := range r.Parts {
			split := []Part{p}
			if p.Kind != CallPart {
				split = nil
				for _, text := range p.pieces() {
					split = append(split, Part{Kind: p.Kind, Text: text})
				}
			}
			for _, piece := range split {
				events = append(events, Object{"index": i, "content": Object{"role": "model", "parts": []Object{geminiPart(piece)}}})
			}
		}
		end := Object{"index": i, "finishReason": geminiReasons[r.Finish]}
		if r.Finish != Rejected {
			end["content"] = Object{"role": "model", "parts": []Object{{"text": ""}}}
		}
		events = append(events, end)
	}
	if r.Finish == Blocked {
		events = []Object{nil}
	}
	var documents [][]byte
	for i, event := range events {
		documents = append(documents, Encode(geminiEnvelope(c, r, i == len(events)-1, event)))
	}
	if !strings.Contains(call.Query, "alt=sse") {
		return [][]byte{[]byte("["), bytes.Join(documents, []byte("\n,\r\n")), []byte("]")}
	}
	for i, document := range documents {
		documents[i] = []byte("data: " + string(document) + "\r\n\r\n")
	}
	return documents
}

// geminiOther answers the methods that do not generate text.
func geminiOther(call *Call, method string, dimensions int) Object {
	root := call.document()
	embed := func(request node) Object {
		text := request.get("content", "parts", "0", "text").text()
		return Object{"values": vector(text, cmp.Or(request.get("outputDimensionality").number(), dimensions))}
	}
	switch method {
	case "embedContent":
		return Object{"embedding": embed(root)}
	case "batchEmbedContents":
		list := []Object{}
		for _, request := range root.get("requests").list() {
			list = append(list, embed(request))
		}
		return Object{"embeddings": list}
	case "countTokens":
		return Object{"totalTokens": readGemini(call).Length()}
	}
	return nil
}
