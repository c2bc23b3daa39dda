package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/simulator/openai"
)

// object is a JSON object in an event.
type object = map[string]any

// realtimeOptions are the session settings that a response can override.
type realtimeOptions struct {
	Instructions     string          `json:"instructions"`
	OutputModalities []string        `json:"output_modalities"`
	MaxOutputTokens  json.RawMessage `json:"max_output_tokens"` // a number or "inf"
	Tools            []any           `json:"tools"`
}

// realtimeSession is the session object of the Realtime API, as far as the simulator uses it.
type realtimeSession struct {
	Type   string `json:"type"`
	Object string `json:"object"`
	ID     string `json:"id"`
	Model  string `json:"model"`
	realtimeOptions
}

// realtimeItem is a message of a conversation.
type realtimeItem struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Type    string         `json:"type"`
	Status  string         `json:"status"`
	Role    string         `json:"role"`
	Content []realtimePart `json:"content"`
}

type realtimePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// conversation is a realtime session. A single goroutine handles client events and sends tokens, so that events are sent in a defined
// order.
type conversation struct {
	simulator *Simulator
	conn      *websocket.Conn
	profile   profile
	fault     Fault
	caller    string // identifies the caller's prompt cache
	session   realtimeSession
	items     []message
	length    int64 // number of tokens in items
	events    int   // number of events sent
	responses int
	active    *realtimeResponse // nil between responses
	timer     <-chan time.Time  // fires when the next token is due
}

// realtimeResponse is a response that is being sent.
type realtimeResponse struct {
	id, itemID string
	answer     openai.Response
	sent       int  // number of tokens sent
	stored     bool // whether the response becomes part of the conversation
	max        json.RawMessage
}

// serveRealtime serves a realtime session over a WebSocket. Sessions support text only, without tools.
func (s *Simulator) serveRealtime(w http.ResponseWriter, r *http.Request) {
	p, err := s.lookup(r.URL.Query().Get("model"), llm.Realtime)
	if err != nil {
		writeFailure(w, err)
		return
	}
	fault := s.faults.pick(p.name)
	if s.fail(w, r, fault, false) {
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"realtime"}, InsecureSkipVerify: true})
	if err != nil {
		return // websocket.Accept has sent the error
	}
	defer conn.CloseNow() //nolint:errcheck // the client may have closed it
	conn.SetReadLimit(maxBody)
	c := &conversation{simulator: s, conn: conn, profile: p, fault: fault, caller: r.Header.Get("Authorization")}
	c.session = realtimeSession{
		Type: "realtime", Object: "realtime.session", ID: "sess_sim", Model: p.name,
		realtimeOptions: realtimeOptions{OutputModalities: []string{"text"}, MaxOutputTokens: json.RawMessage(`"inf"`), Tools: []any{}},
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context())) // the context of the handshake is cancelled before the session ends
	defer stop()
	incoming := make(chan []byte, 64) // buffered, because a client may send several events before it reads the responses
	go func() {
		defer close(incoming)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			select {
			case incoming <- data:
			case <-ctx.Done():
				return
			}
		}
	}()
	for err = c.send(ctx, "session.created", object{"session": c.session}); err == nil; {
		select {
		case data, open := <-incoming:
			if !open {
				return
			}
			err = c.receive(ctx, data)
		case <-c.timer:
			err = c.advance(ctx)
		}
	}
}

// send sends an event to the client.
func (c *conversation) send(ctx context.Context, kind string, event object) error {
	c.events++
	event["type"], event["event_id"] = kind, fmt.Sprintf("event_sim%06d", c.events)
	return c.conn.Write(ctx, websocket.MessageText, openai.Encode(event))
}

// receive handles a client event. For an invalid event, it sends an error event and keeps the session open.
func (c *conversation) receive(ctx context.Context, data []byte) error {
	var event struct {
		Type     string          `json:"type"`
		EventID  string          `json:"event_id"`
		Session  json.RawMessage `json:"session"`
		Item     *realtimeItem   `json:"item"`
		Response json.RawMessage `json:"response"`
	}
	err := json.Unmarshal(data, &event)
	switch {
	case err != nil:
		err = openai.BadRequest("SIMULATED: the event is not valid: "+err.Error(), "", "invalid_event")
	case event.Type == "session.update":
		err = c.update(ctx, event.Session)
	case event.Type == "conversation.item.create" && event.Item != nil:
		err = c.add(ctx, *event.Item)
	case event.Type == "response.create":
		err = c.respond(ctx, event.Response)
	case event.Type == "response.cancel" && c.active != nil:
		err = c.finish(ctx, "cancelled", object{"type": "cancelled", "reason": "client_cancelled"})
	case event.Type == "response.cancel":
		err = openai.BadRequest("SIMULATED: cancellation failed: no active response found.", "", "response_cancel_not_active")
	default:
		err = openai.BadRequest(fmt.Sprintf("SIMULATED: the event '%s' is not supported. Simulated sessions accept session.update, conversation.item.create, response.create and response.cancel.", quote(event.Type)), "type", "invalid_value")
	}
	if e, ok := errors.AsType[openai.Error](err); ok {
		return c.send(ctx, "error", object{"error": object{
			"type": e.Type, "code": e.Code, "message": e.Message, "param": e.Param, "event_id": openai.Optional(event.EventID),
		}})
	}
	return err
}

// clone returns a copy that shares no memory with o, so that decoding JSON into the copy does not change o.
func (o realtimeOptions) clone() realtimeOptions {
	o.OutputModalities, o.MaxOutputTokens, o.Tools = slices.Clone(o.OutputModalities), slices.Clone(o.MaxOutputTokens), slices.Clone(o.Tools)
	return o
}

// check rejects settings that simulated sessions do not support. It returns the maximum number of output tokens.
func (o realtimeOptions) check(p profile) (int64, error) {
	limit := p.maxOutput
	if text := string(o.MaxOutputTokens); text != `"inf"` {
		if err := json.Unmarshal(o.MaxOutputTokens, &limit); err != nil || limit < 1 || limit > p.maxOutput {
			return 0, openai.BadRequest(fmt.Sprintf("SIMULATED: 'max_output_tokens' must be \"inf\" or a number from 1 to %d.", p.maxOutput), "max_output_tokens", "invalid_value")
		}
	}
	switch {
	case !slices.Equal(o.OutputModalities, []string{"text"}):
		return 0, openai.BadRequest(`SIMULATED: simulated sessions have no audio. Set 'output_modalities' to ["text"].`, "output_modalities", "invalid_value")
	case len(o.Tools) > 0:
		return 0, openai.BadRequest("SIMULATED: simulated sessions have no tools.", "tools", "invalid_value")
	}
	return limit, nil
}

// update changes the settings of the session.
func (c *conversation) update(ctx context.Context, data json.RawMessage) error {
	next := c.session
	next.realtimeOptions = c.session.clone()
	if err := json.Unmarshal(data, &next); err != nil {
		return openai.BadRequest("SIMULATED: 'session' must be a session object.", "session", "invalid_value")
	}
	if next.Model != c.session.Model || next.Type != c.session.Type {
		return openai.BadRequest("SIMULATED: the model and the type of a session cannot be changed.", "session", "invalid_value")
	}
	if _, err := next.check(c.profile); err != nil {
		return err
	}
	c.session.realtimeOptions = next.realtimeOptions
	return c.send(ctx, "session.updated", object{"session": c.session})
}

// read converts an item to a message. It joins the text of the parts.
func (i realtimeItem) read() (message, error) {
	m := message{Role: i.Role}
	if i.Type != "message" || !slices.Contains([]string{"system", "user", "assistant"}, i.Role) {
		return m, openai.BadRequest("SIMULATED: simulated sessions accept items of the type message with the role system, user or assistant.", "item.type", "invalid_value")
	}
	for _, part := range i.Content {
		if part.Type != "input_text" && part.Type != "output_text" {
			return m, openai.BadRequest("SIMULATED: simulated sessions accept text only.", "item.content", "invalid_value")
		}
		m.Content.Text += part.Text
	}
	return m, nil
}

// add appends an item to the conversation.
func (c *conversation) add(ctx context.Context, item realtimeItem) error {
	m, err := item.read()
	if err != nil {
		return err
	}
	tokens := openai.CountTokens(m.Content.Text) + 4
	if c.length+tokens > c.profile.context {
		return openai.BadRequest(fmt.Sprintf("SIMULATED: the conversation is longer than %d tokens.", c.profile.context), "item", "context_length_exceeded")
	}
	c.items, c.length = append(c.items, m), c.length+tokens
	if item.ID == "" {
		item.ID = fmt.Sprintf("item_sim%06d", len(c.items))
	}
	item.Object, item.Status = "realtime.item", "completed"
	if err := c.send(ctx, "conversation.item.added", object{"item": item}); err != nil {
		return err
	}
	return c.send(ctx, "conversation.item.done", object{"item": item})
}

// respond starts a response. advance sends its tokens.
func (c *conversation) respond(ctx context.Context, data json.RawMessage) error {
	settings := struct {
		realtimeOptions
		Conversation string         `json:"conversation"`
		Input        []realtimeItem `json:"input"`
	}{realtimeOptions: c.session.clone()}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &settings); err != nil {
			return openai.BadRequest("SIMULATED: 'response' must be an object.", "response", "invalid_value")
		}
	}
	limit, err := settings.check(c.profile)
	if err != nil {
		return err
	}
	if c.active != nil {
		return openai.BadRequest("SIMULATED: the conversation already has an active response. Wait for response.done or send response.cancel.", "", "conversation_already_has_active_response")
	}
	q := chatRequest{Model: c.profile.name, MaxTokens: &limit}
	if settings.Instructions != "" {
		q.Messages = append(q.Messages, message{Role: "system", Content: openai.Content{Text: settings.Instructions}})
	}
	if settings.Input == nil {
		q.Messages = append(q.Messages, c.items...)
	}
	for _, item := range settings.Input {
		m, err := item.read()
		if err != nil {
			return err
		}
		q.Messages = append(q.Messages, m)
	}
	if len(q.Messages) == 0 {
		return openai.BadRequest("SIMULATED: the conversation has no items. Send conversation.item.create first.", "", "invalid_value")
	}
	prompt := q.meter(c.caller)
	if prompt.tokens > c.profile.context {
		return openai.BadRequest(fmt.Sprintf("SIMULATED: the prompt is longer than %d tokens.", c.profile.context), "", "context_length_exceeded")
	}
	c.responses++
	c.active = &realtimeResponse{
		id: fmt.Sprintf("resp_sim%06d", c.responses), itemID: fmt.Sprintf("item_sim_r%06d", c.responses),
		answer: q.compose(c.profile, prompt.tokens, c.simulator.cache.visit(prompt.steps)), stored: settings.Conversation != "none", max: settings.MaxOutputTokens,
	}
	if err := c.send(ctx, "response.created", object{"response": c.describe("in_progress", nil)}); err != nil {
		return err
	}
	part := object{"item_id": c.active.itemID, "output_index": 0, "content_index": 0, "part": realtimePart{Type: "output_text"}}
	if err := c.sendPart(ctx, "response.output_item.added", object{"output_index": 0, "item": c.active.item("in_progress")}); err != nil {
		return err
	}
	c.timer = time.After(time.Duration(float64(c.profile.firstToken) * c.simulator.options.Latency))
	return c.sendPart(ctx, "response.content_part.added", part)
}

// sendPart sends an event of the active response.
func (c *conversation) sendPart(ctx context.Context, kind string, event object) error {
	event["response_id"] = c.active.id
	return c.send(ctx, kind, event)
}

// item returns the message of the response, with the tokens sent so far. The message of a cancelled response is incomplete.
func (a *realtimeResponse) item(status string) realtimeItem {
	if status == "cancelled" {
		status = "incomplete"
	}
	item := realtimeItem{ID: a.itemID, Object: "realtime.item", Type: "message", Status: status, Role: "assistant", Content: []realtimePart{}}
	if text := strings.Join(a.answer.Choices[0].Text[:a.sent], ""); text != "" {
		item.Content = append(item.Content, realtimePart{Type: "output_text", Text: text})
	}
	return item
}

// describe returns the JSON object of the active response. A response in progress has neither output nor usage.
func (c *conversation) describe(status string, details object) object {
	a := c.active
	response := object{
		"id": a.id, "object": "realtime.response", "status": status, "status_details": details, "output": []any{}, "conversation_id": "conv_sim",
		"output_modalities": []string{"text"}, "max_output_tokens": a.max, "usage": nil, "metadata": nil,
	}
	if status == "in_progress" {
		return response
	}
	response["output"] = []any{a.item(status)}
	if c.fault != FaultNoUsage {
		prompt, cached := a.answer.Usage.PromptTokens, a.answer.Usage.PromptDetails.CachedTokens
		response["usage"] = object{
			"total_tokens": prompt + int64(a.sent), "input_tokens": prompt, "output_tokens": a.sent,
			"input_token_details": object{
				"text_tokens": prompt, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": cached,
				"cached_tokens_details": object{"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
			},
			"output_token_details": object{"text_tokens": a.sent, "audio_tokens": 0},
		}
	}
	return response
}

// advance sends the next token of the active response, or ends the response after the last token.
func (c *conversation) advance(ctx context.Context) error {
	choice := c.active.answer.Choices[0]
	if c.fault == FaultCut && c.active.sent >= len(choice.Text)/2 {
		return errors.New("simulated fault: cut")
	}
	if c.active.sent == len(choice.Text) {
		if choice.Finish == "length" {
			return c.finish(ctx, "incomplete", object{"type": "incomplete", "reason": "max_output_tokens"})
		}
		return c.finish(ctx, "completed", nil)
	}
	c.active.sent++
	c.timer = time.After(time.Duration(float64(pace(c.profile, 1)) * c.simulator.options.Latency))
	return c.sendPart(ctx, "response.output_text.delta", object{
		"item_id": c.active.itemID, "output_index": 0, "content_index": 0, "delta": choice.Text[c.active.sent-1],
	})
}

// finish ends the active response. The usage of a cancelled response covers the tokens sent so far.
func (c *conversation) finish(ctx context.Context, status string, details object) error {
	a := c.active
	text := strings.Join(a.answer.Choices[0].Text[:a.sent], "")
	place := func(more object) object {
		more["item_id"], more["output_index"], more["content_index"] = a.itemID, 0, 0
		return more
	}
	err := errors.Join(
		c.sendPart(ctx, "response.output_text.done", place(object{"text": text})),
		c.sendPart(ctx, "response.content_part.done", place(object{"part": realtimePart{Type: "output_text", Text: text}})),
		c.sendPart(ctx, "response.output_item.done", object{"output_index": 0, "item": a.item(status)}),
		c.send(ctx, "response.done", object{"response": c.describe(status, details)}),
	)
	if a.stored {
		c.items, c.length = append(c.items, message{Role: "assistant", Content: openai.Content{Text: text}}), c.length+int64(a.sent)+4
	}
	c.active, c.timer = nil, nil
	return err
}
