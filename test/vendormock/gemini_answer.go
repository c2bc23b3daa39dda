package vendormock

import (
	"bytes"
	"encoding/json"
	"net/http"
)

var geminiReasons = map[finish]string{ended: "STOP", calling: "STOP", cutShort: "MAX_TOKENS", stopped: "STOP", refused: "SAFETY"}

func (g *gemini) whole(_ *visit, c *conversation, r reply) any {
	if r.finish == blocked {
		return g.envelope(c, r, nil, true)
	}
	candidates := []obj{}
	for i := range or(c.answers, 1) {
		candidate := obj{"index": i, "finishReason": geminiReasons[r.finish]}
		if r.finish == refused {
			candidate["safetyRatings"] = []obj{{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}}
		} else {
			parts := []obj{}
			for _, p := range r.parts {
				parts = append(parts, geminiPart(c, p))
			}
			candidate["content"] = obj{"role": "model", "parts": parts}
		}
		candidates = append(candidates, candidate)
	}
	return g.envelope(c, r, candidates, true)
}

// envelope is what stands around every answer and every piece of one.
func (g *gemini) envelope(c *conversation, r reply, candidates []obj, last bool) obj {
	e := obj{"modelVersion": c.model, "responseId": r.id, "usageMetadata": geminiUsage(c, r, last)}
	if r.finish == blocked {
		e["promptFeedback"] = obj{"blockReason": "PROHIBITED_CONTENT"}
		return e
	}
	e["candidates"] = candidates
	return e
}

func geminiUsage(c *conversation, r reply, last bool) obj {
	said := (r.usage.output - r.usage.thinking) * or(c.answers, 1)
	u := obj{
		"promptTokenCount": r.usage.input, "totalTokenCount": r.usage.input + said + r.usage.thinking,
		"promptTokensDetails": []obj{{"modality": "TEXT", "tokenCount": r.usage.input}},
	}
	if r.usage.thinking > 0 {
		u["thoughtsTokenCount"] = r.usage.thinking
	}
	if r.usage.cacheRead > 0 {
		u["cachedContentTokenCount"] = r.usage.cacheRead
	}
	if last && said > 0 {
		u["candidatesTokenCount"] = said
	}
	return u
}

func geminiPart(c *conversation, p part) obj {
	switch p.kind {
	case called:
		call := obj{"name": p.name, "args": p.input}
		if findGemini(c.model).callIDs {
			call["id"] = p.id
		}
		if p.signature != "" {
			return obj{"functionCall": call, "thoughtSignature": p.signature}
		}
		return obj{"functionCall": call}
	case thought, hidden:
		return obj{"text": p.text, "thought": true}
	default:
		return obj{"text": p.text}
	}
}

// frames sends text in pieces and calls whole. Without alt=sse the stream is one JSON array.
func (g *gemini) frames(v *visit, c *conversation, r reply) (contentType string, list [][]byte) {
	var events []obj
	for i := range or(c.answers, 1) {
		for _, p := range r.parts {
			for _, piece := range geminiPieces(p) {
				events = append(events, obj{"index": i, "content": obj{"role": "model", "parts": []obj{geminiPart(c, piece)}}})
			}
		}
		end := obj{"index": i, "finishReason": geminiReasons[r.finish]}
		if r.finish != refused {
			end["content"] = obj{"role": "model", "parts": []obj{{"text": ""}}}
		}
		events = append(events, end)
	}
	if r.finish == blocked {
		events = []obj{nil}
	}
	var documents [][]byte
	for i, event := range events {
		documents = append(documents, encode(g.envelope(c, r, []obj{event}, i == len(events)-1)))
	}
	if v.r.URL.Query().Get("alt") != "sse" {
		return "application/json; charset=UTF-8", [][]byte{[]byte("["), bytes.Join(documents, []byte("\n,\r\n")), []byte("]")}
	}
	for _, document := range documents {
		list = append(list, []byte("data: "+string(document)+"\r\n\r\n"))
	}
	return "text/event-stream", list
}

func geminiPieces(p part) []part {
	if p.kind == called {
		return []part{p}
	}
	var list []part
	for _, text := range pieces(p.text) {
		list = append(list, part{kind: p.kind, text: text})
	}
	return list
}

func (g *gemini) broken() []byte {
	f := g.fault(http.StatusServiceUnavailable)
	return []byte("data: " + string(encode(obj{"error": obj{"code": f.status, "message": f.message, "status": f.kind}})) + "\r\n\r\n")
}

func (g *gemini) models(v *visit) {
	row := func(name string, methods ...string) obj {
		return obj{
			"name": "models/" + name, "version": "001", "displayName": name, "description": name, "inputTokenLimit": 1_048_576,
			"outputTokenLimit": 65_536, "supportedGenerationMethods": methods, "temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2,
		}
	}
	writeJSON(v.w, http.StatusOK, "application/json; charset=UTF-8", obj{"models": []obj{
		row("gemini-2.5-flash", "generateContent", "countTokens"), row("gemini-3.1-pro-preview", "generateContent", "countTokens"),
		row("gemini-embedding-001", "embedContent"),
	}})
}

func (g *gemini) embedOne(v *visit) {
	if why := g.checkShape(v, "embed"); why != nil {
		v.refuse(*why)
		return
	}
	values, why := g.embedding(v, v.document.(map[string]any))
	if why != nil {
		v.refuse(*why)
		return
	}
	writeJSON(v.w, http.StatusOK, "application/json; charset=UTF-8", obj{"embedding": values})
}

func (g *gemini) embedMany(v *visit) {
	if why := g.checkShape(v, "batchEmbed"); why != nil {
		v.refuse(*why)
		return
	}
	requests, _ := v.document.(map[string]any)["requests"].([]any)
	list := []any{}
	for _, request := range requests {
		single := request.(map[string]any)
		if single["model"] != "models/"+v.model {
			v.refuse(refusal{status: http.StatusBadRequest, message: "* BatchEmbedContentsRequest.requests: requests[].model must match the model of the request\n"})
			return
		}
		values, why := g.embedding(v, single)
		if why != nil {
			v.refuse(*why)
			return
		}
		list = append(list, values)
	}
	if len(list) == 0 || len(list) > 100 {
		v.refuse(refusal{status: http.StatusBadRequest, message: "* BatchEmbedContentsRequest.requests: at least one and at most 100 requests can be in one batch\n"})
		return
	}
	writeJSON(v.w, http.StatusOK, "application/json; charset=UTF-8", obj{"embeddings": list})
}

func (g *gemini) embedding(v *visit, request map[string]any) (values obj, why *refusal) {
	v.call.Model = v.model
	var content struct {
		Content struct{ Parts []struct{ Text string } }
		Size    int `json:"outputDimensionality"`
	}
	if err := json.Unmarshal(encode(request), &content); err != nil || len(content.Content.Parts) == 0 || content.Content.Parts[0].Text == "" {
		return nil, &refusal{status: http.StatusBadRequest, message: "* EmbedContentRequest.content: content is empty\n"}
	}
	return obj{"values": vector(content.Content.Parts[0].Text, or(content.Size, 3072))}, nil
}
