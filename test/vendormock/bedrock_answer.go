package vendormock

import (
	"encoding/json"
	"net/http"
)

var converseReasons = map[finish]string{
	ended: "end_turn", calling: "tool_use", cutShort: "max_tokens", stopped: "stop_sequence", refused: "content_filtered", blocked: "guardrail_intervened",
}

func (b *bedrock) whole(_ *visit, _ *conversation, r reply) any {
	content := []obj{}
	for _, p := range r.parts {
		content = append(content, converseBlock(p))
	}
	return obj{
		"output": obj{"message": obj{"role": "assistant", "content": content}}, "stopReason": converseReasons[r.finish],
		"usage": converseUsage(r), "metrics": obj{"latencyMs": 42},
	}
}

func converseUsage(r reply) obj {
	input := max(r.usage.input-r.usage.cacheRead-r.usage.cacheWrite, 1)
	return obj{
		"inputTokens": input, "outputTokens": r.usage.output, "cacheReadInputTokens": r.usage.cacheRead, "cacheWriteInputTokens": r.usage.cacheWrite,
		"totalTokens": input + r.usage.output + r.usage.cacheRead + r.usage.cacheWrite,
	}
}

func converseBlock(p part) obj {
	switch p.kind {
	case called:
		return obj{"toolUse": obj{"toolUseId": p.id, "name": p.name, "input": p.input}}
	case thought:
		return obj{"reasoningContent": obj{"reasoningText": obj{"text": p.text, "signature": p.signature}}}
	case hidden:
		return obj{"reasoningContent": obj{"redactedContent": p.signature}}
	default:
		return obj{"text": p.text}
	}
}

// frames writes binary events: only tool calls have a start event of their own, and usage follows
// the stop.
func (b *bedrock) frames(_ *visit, _ *conversation, r reply) (contentType string, list [][]byte) {
	send := func(name string, payload obj) { list = append(list, eventFrame("event", name, encode(payload))) }
	send("messageStart", obj{"role": "assistant"})
	for i, p := range r.parts {
		if p.kind == called {
			send("contentBlockStart", obj{"contentBlockIndex": i, "start": obj{"toolUse": obj{"toolUseId": p.id, "name": p.name}}})
		}
		for _, delta := range converseDeltas(p) {
			send("contentBlockDelta", obj{"contentBlockIndex": i, "delta": delta})
		}
		send("contentBlockStop", obj{"contentBlockIndex": i})
	}
	send("messageStop", obj{"stopReason": converseReasons[r.finish]})
	send("metadata", obj{"usage": converseUsage(r), "metrics": obj{"latencyMs": 42}})
	return "application/vnd.amazon.eventstream", list
}

func converseDeltas(p part) []obj {
	var list []obj
	switch p.kind {
	case called:
		if string(p.input) == "{}" {
			return nil // a tool without arguments gets none
		}
		for _, piece := range pieces(string(p.input)) {
			list = append(list, obj{"toolUse": obj{"input": piece}})
		}
	case thought:
		for _, piece := range pieces(p.text) {
			list = append(list, obj{"reasoningContent": obj{"text": piece}})
		}
		list = append(list, obj{"reasoningContent": obj{"signature": p.signature}})
	case hidden:
		list = append(list, obj{"reasoningContent": obj{"redactedContent": p.signature}})
	default:
		for _, piece := range pieces(p.text) {
			list = append(list, obj{"text": piece})
		}
	}
	return list
}

func (b *bedrock) broken() []byte {
	return eventFrame("exception", "throttlingException", encode(obj{"message": b.fault(http.StatusTooManyRequests).message}))
}

// invoke embeds texts in the formats of the models that do so.
func (b *bedrock) invoke(v *visit, traits *bedrockTraits) {
	v.call.Model = v.model
	if found := b.shapes.check(traits.invokes, v.document); len(found) > 0 {
		p := found[0]
		message := "Malformed input request: #" + p.path + ": " + p.want + ", please reformat your input and try again."
		if p.kind == unknown {
			message = "Malformed input request: #" + p.path + ": extraneous key [" + p.want + "] is not permitted, please reformat your input and try again."
		}
		v.refuse(refusal{status: http.StatusBadRequest, message: message})
		return
	}
	var request struct {
		InputText      string   `json:"inputText"`
		Dimensions     int      `json:"dimensions"`
		Texts          []string `json:"texts"`
		EmbeddingTypes []string `json:"embedding_types"`
		Output         int      `json:"output_dimension"`
	}
	if err := json.Unmarshal(v.call.Body, &request); err != nil {
		v.refuse(refusal{status: http.StatusBadRequest, message: "Malformed input request: " + err.Error()})
		return
	}
	if traits.invokes == "titan" {
		count := tokens(len(request.InputText))
		v.w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", itoa(count))
		values := vector(request.InputText, or(request.Dimensions, 1024))
		writeJSON(v.w, http.StatusOK, "application/json", obj{"embedding": values, "embeddingsByType": obj{"float": values}, "inputTextTokenCount": count})
		return
	}
	count, list := 0, [][]float64{}
	for _, text := range request.Texts {
		count += tokens(len(text))
		list = append(list, vector(text, or(request.Output, 1024)))
	}
	v.w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", itoa(count))
	answer := obj{"id": digest(string(v.call.Body))[:36], "texts": request.Texts, "response_type": "embeddings_floats", "embeddings": list}
	if len(request.EmbeddingTypes) > 0 {
		answer["response_type"], answer["embeddings"] = "embeddings_by_type", obj{"float": list}
	}
	writeJSON(v.w, http.StatusOK, "application/json", answer)
}
