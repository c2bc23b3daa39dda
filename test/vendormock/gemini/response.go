package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"

	"fairlead.dev/test/vendormock"
)

var geminiReasons = map[vendormock.Finish]string{vendormock.Completed: "STOP", vendormock.CallsTools: "STOP", vendormock.LimitReached: "MAX_TOKENS", vendormock.StopSequence: "STOP", vendormock.Rejected: "SAFETY"}

func (g *gemini) Whole(_ *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) any {
	if r.Finish == vendormock.Blocked {
		return g.envelope(c, r, nil, true)
	}
	candidates := []vendormock.Object{}
	for i := range cmp.Or(c.Answers, 1) {
		candidate := vendormock.Object{"index": i, "finishReason": geminiReasons[r.Finish]}
		if r.Finish == vendormock.Rejected {
			candidate["safetyRatings"] = []vendormock.Object{{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}}
		} else {
			parts := []vendormock.Object{}
			for _, p := range r.Parts {
				parts = append(parts, geminiPart(c, p))
			}
			candidate["content"] = vendormock.Object{"role": "model", "parts": parts}
		}
		candidates = append(candidates, candidate)
	}
	return g.envelope(c, r, candidates, true)
}

// envelope returns the common members of a response or a chunk with the given candidates.
func (g *gemini) envelope(c *vendormock.Conversation, r vendormock.Reply, candidates []vendormock.Object, last bool) vendormock.Object {
	e := vendormock.Object{"modelVersion": c.Model, "responseId": r.ID, "usageMetadata": geminiUsage(c, r, last)}
	if r.Finish == vendormock.Blocked {
		e["promptFeedback"] = vendormock.Object{"blockReason": "PROHIBITED_CONTENT"}
		return e
	}
	e["candidates"] = candidates
	return e
}

func geminiUsage(c *vendormock.Conversation, r vendormock.Reply, last bool) vendormock.Object {
	visible := (r.Usage.Output - r.Usage.Thinking) * cmp.Or(c.Answers, 1)
	u := vendormock.Object{
		"promptTokenCount": r.Usage.Input, "totalTokenCount": r.Usage.Input + visible + r.Usage.Thinking,
		"promptTokensDetails": []vendormock.Object{{"modality": "TEXT", "tokenCount": r.Usage.Input}},
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

func geminiPart(c *vendormock.Conversation, p vendormock.Part) vendormock.Object {
	switch p.Kind {
	case vendormock.CallPart:
		call := vendormock.Object{"name": p.Name, "args": p.Input}
		if findGemini(c.Model).callIDs {
			call["id"] = p.ID
		}
		if p.Signature != "" {
			return vendormock.Object{"functionCall": call, "thoughtSignature": p.Signature}
		}
		return vendormock.Object{"functionCall": call}
	case vendormock.ThinkingPart, vendormock.RedactedPart:
		return vendormock.Object{"text": p.Text, "thought": true}
	default:
		return vendormock.Object{"text": p.Text}
	}
}

// Frames returns text in pieces and calls in one piece. Without alt=sse, the stream is one JSON array.
func (g *gemini) Frames(v *vendormock.Request, c *vendormock.Conversation, r vendormock.Reply) (contentType string, list [][]byte) {
	var events []vendormock.Object
	for i := range cmp.Or(c.Answers, 1) {
		for _, p := range r.Parts {
			for _, piece := range geminiPieces(p) {
				events = append(events, vendormock.Object{"index": i, "content": vendormock.Object{"role": "model", "parts": []vendormock.Object{geminiPart(c, piece)}}})
			}
		}
		end := vendormock.Object{"index": i, "finishReason": geminiReasons[r.Finish]}
		if r.Finish != vendormock.Rejected {
			end["content"] = vendormock.Object{"role": "model", "parts": []vendormock.Object{{"text": ""}}}
		}
		events = append(events, end)
	}
	if r.Finish == vendormock.Blocked {
		events = []vendormock.Object{nil}
	}
	var documents [][]byte
	for i, event := range events {
		documents = append(documents, vendormock.Encode(g.envelope(c, r, []vendormock.Object{event}, i == len(events)-1)))
	}
	if v.HTTP.URL.Query().Get("alt") != "sse" {
		return "application/json; charset=UTF-8", [][]byte{[]byte("["), bytes.Join(documents, []byte("\n,\r\n")), []byte("]")}
	}
	for _, document := range documents {
		list = append(list, []byte("data: "+string(document)+"\r\n\r\n"))
	}
	return "text/event-stream", list
}

func geminiPieces(p vendormock.Part) []vendormock.Part {
	if p.Kind == vendormock.CallPart {
		return []vendormock.Part{p}
	}
	var list []vendormock.Part
	for _, text := range vendormock.Pieces(p.Text) {
		list = append(list, vendormock.Part{Kind: p.Kind, Text: text})
	}
	return list
}

func (g *gemini) Broken(*vendormock.Request) []byte {
	f := g.Fault(http.StatusServiceUnavailable)
	return []byte("data: " + string(vendormock.Encode(vendormock.Object{"error": vendormock.Object{"code": f.Status, "message": f.Message, "status": f.Kind}})) + "\r\n\r\n")
}

func (g *gemini) models(v *vendormock.Request) {
	row := func(name string, methods ...string) vendormock.Object {
		return vendormock.Object{
			"name": "models/" + name, "version": "001", "displayName": name, "description": name, "inputTokenLimit": 1_048_576,
			"outputTokenLimit": 65_536, "supportedGenerationMethods": methods, "temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2,
		}
	}
	vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json; charset=UTF-8", vendormock.Object{"models": []vendormock.Object{
		row("gemini-2.5-flash", "generateContent", "countTokens"), row("gemini-3.1-pro-preview", "generateContent", "countTokens"),
		row("gemini-embedding-001", "embedContent"),
	}})
}

func (g *gemini) embedOne(v *vendormock.Request) {
	if why := g.checkShape(v, "embed"); why != nil {
		v.Refuse(*why)
		return
	}
	values, why := g.embedding(v, v.Document.(map[string]any))
	if why != nil {
		v.Refuse(*why)
		return
	}
	vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json; charset=UTF-8", vendormock.Object{"embedding": values})
}

func (g *gemini) embedMany(v *vendormock.Request) {
	if why := g.checkShape(v, "batchEmbed"); why != nil {
		v.Refuse(*why)
		return
	}
	requests, _ := v.Document.(map[string]any)["requests"].([]any)
	list := []any{}
	for _, request := range requests {
		single := request.(map[string]any)
		if single["model"] != "models/"+v.Model {
			v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: "* BatchEmbedContentsRequest.requests: requests[].model must match the model of the request\n"})
			return
		}
		values, why := g.embedding(v, single)
		if why != nil {
			v.Refuse(*why)
			return
		}
		list = append(list, values)
	}
	if len(list) == 0 || len(list) > 100 {
		v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: "* BatchEmbedContentsRequest.requests: at least one and at most 100 requests can be in one batch\n"})
		return
	}
	vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json; charset=UTF-8", vendormock.Object{"embeddings": list})
}

func (g *gemini) embedding(v *vendormock.Request, request map[string]any) (values vendormock.Object, why *vendormock.Rejection) {
	v.Call.Model = v.Model
	var content struct {
		Content struct{ Parts []struct{ Text string } }
		Size    int `json:"outputDimensionality"`
	}
	if err := json.Unmarshal(vendormock.Encode(request), &content); err != nil || len(content.Content.Parts) == 0 || content.Content.Parts[0].Text == "" {
		return nil, &vendormock.Rejection{Status: http.StatusBadRequest, Message: "* EmbedContentRequest.content: content is empty\n"}
	}
	return vendormock.Object{"values": vendormock.Vector(content.Content.Parts[0].Text, cmp.Or(content.Size, 3072))}, nil
}
