package bedrock

import (
	"cmp"
	"encoding/json"
	"net/http"

	"fairlead.dev/test/vendormock"
)

var converseReasons = map[vendormock.Finish]string{
	vendormock.Completed: "end_turn", vendormock.CallsTools: "tool_use", vendormock.LimitReached: "max_tokens", vendormock.StopSequence: "stop_sequence", vendormock.Rejected: "content_filtered", vendormock.Blocked: "guardrail_intervened",
}

func (b *bedrock) Whole(_ *vendormock.Request, _ *vendormock.Conversation, r vendormock.Reply) any {
	content := []vendormock.Object{}
	for _, p := range r.Parts {
		content = append(content, converseBlock(p))
	}
	return vendormock.Object{
		"output": vendormock.Object{"message": vendormock.Object{"role": "assistant", "content": content}}, "stopReason": converseReasons[r.Finish],
		"usage": converseUsage(r), "metrics": vendormock.Object{"latencyMs": 42},
	}
}

func converseUsage(r vendormock.Reply) vendormock.Object {
	input := max(r.Usage.Input-r.Usage.CacheRead-r.Usage.CacheWrite, 1)
	return vendormock.Object{
		"inputTokens": input, "outputTokens": r.Usage.Output, "cacheReadInputTokens": r.Usage.CacheRead, "cacheWriteInputTokens": r.Usage.CacheWrite,
		"totalTokens": input + r.Usage.Output + r.Usage.CacheRead + r.Usage.CacheWrite,
	}
}

func converseBlock(p vendormock.Part) vendormock.Object {
	switch p.Kind {
	case vendormock.CallPart:
		return vendormock.Object{"toolUse": vendormock.Object{"toolUseId": p.ID, "name": p.Name, "input": p.Input}}
	case vendormock.ThinkingPart:
		return vendormock.Object{"reasoningContent": vendormock.Object{"reasoningText": vendormock.Object{"text": p.Text, "signature": p.Signature}}}
	case vendormock.RedactedPart:
		return vendormock.Object{"reasoningContent": vendormock.Object{"redactedContent": p.Signature}}
	default:
		return vendormock.Object{"text": p.Text}
	}
}

// Frames returns binary events. Only tool calls have a start event, and usage follows the stop event.
func (b *bedrock) Frames(_ *vendormock.Request, _ *vendormock.Conversation, r vendormock.Reply) (contentType string, list [][]byte) {
	send := func(name string, payload vendormock.Object) {
		list = append(list, eventFrame("event", name, vendormock.Encode(payload)))
	}
	send("messageStart", vendormock.Object{"role": "assistant"})
	for i, p := range r.Parts {
		if p.Kind == vendormock.CallPart {
			send("contentBlockStart", vendormock.Object{"contentBlockIndex": i, "start": vendormock.Object{"toolUse": vendormock.Object{"toolUseId": p.ID, "name": p.Name}}})
		}
		for _, delta := range converseDeltas(p) {
			send("contentBlockDelta", vendormock.Object{"contentBlockIndex": i, "delta": delta})
		}
		send("contentBlockStop", vendormock.Object{"contentBlockIndex": i})
	}
	send("messageStop", vendormock.Object{"stopReason": converseReasons[r.Finish]})
	send("metadata", vendormock.Object{"usage": converseUsage(r), "metrics": vendormock.Object{"latencyMs": 42}})
	return "application/vnd.amazon.eventstream", list
}

func converseDeltas(p vendormock.Part) []vendormock.Object {
	var list []vendormock.Object
	switch p.Kind {
	case vendormock.CallPart:
		if string(p.Input) == "{}" {
			return nil // a call without arguments has no input deltas
		}
		for _, piece := range vendormock.Pieces(string(p.Input)) {
			list = append(list, vendormock.Object{"toolUse": vendormock.Object{"input": piece}})
		}
	case vendormock.ThinkingPart:
		for _, piece := range vendormock.Pieces(p.Text) {
			list = append(list, vendormock.Object{"reasoningContent": vendormock.Object{"text": piece}})
		}
		list = append(list, vendormock.Object{"reasoningContent": vendormock.Object{"signature": p.Signature}})
	case vendormock.RedactedPart:
		list = append(list, vendormock.Object{"reasoningContent": vendormock.Object{"redactedContent": p.Signature}})
	default:
		for _, piece := range vendormock.Pieces(p.Text) {
			list = append(list, vendormock.Object{"text": piece})
		}
	}
	return list
}

func (b *bedrock) Broken(*vendormock.Request) []byte {
	return eventFrame("exception", "throttlingException", vendormock.Encode(vendormock.Object{"message": b.Fault(http.StatusTooManyRequests).Message}))
}

// invoke handles embeddings in the formats of the embedding models.
func (b *bedrock) invoke(v *vendormock.Request, traits *bedrockTraits) {
	v.Call.Model = v.Model
	if found := b.shapes.Check(traits.invokes, v.Document); len(found) > 0 {
		p := found[0]
		message := "Malformed input request: #" + p.Path + ": " + p.Want + ", please reformat your input and try again."
		if p.Kind == vendormock.Unknown {
			message = "Malformed input request: #" + p.Path + ": extraneous key [" + p.Want + "] is not permitted, please reformat your input and try again."
		}
		v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: message})
		return
	}
	var request struct {
		InputText      string   `json:"inputText"`
		Dimensions     int      `json:"dimensions"`
		Texts          []string `json:"texts"`
		EmbeddingTypes []string `json:"embedding_types"`
		Output         int      `json:"output_dimension"`
	}
	if err := json.Unmarshal(v.Call.Body, &request); err != nil {
		v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: "Malformed input request: " + err.Error()})
		return
	}
	if traits.invokes == "titan" {
		count := vendormock.Tokens(len(request.InputText))
		v.Writer.Header().Set("X-Amzn-Bedrock-Input-Token-Count", itoa(count))
		values := vendormock.Vector(request.InputText, cmp.Or(request.Dimensions, 1024))
		vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json", vendormock.Object{"embedding": values, "embeddingsByType": vendormock.Object{"float": values}, "inputTextTokenCount": count})
		return
	}
	count, list := 0, [][]float64{}
	for _, text := range request.Texts {
		count += vendormock.Tokens(len(text))
		list = append(list, vendormock.Vector(text, cmp.Or(request.Output, 1024)))
	}
	v.Writer.Header().Set("X-Amzn-Bedrock-Input-Token-Count", itoa(count))
	answer := vendormock.Object{"id": vendormock.Digest(string(v.Call.Body))[:36], "texts": request.Texts, "response_type": "embeddings_floats", "embeddings": list}
	if len(request.EmbeddingTypes) > 0 {
		answer["response_type"], answer["embeddings"] = "embeddings_by_type", vendormock.Object{"float": list}
	}
	vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json", answer)
}
