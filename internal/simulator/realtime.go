package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/llm"
)

// realtimeSession is a realtime session. A single goroutine handles client events and sends text, so that events are sent in a defined
// order.
type realtimeSession struct {
	simulator *Simulator
	conn      *websocket.Conn
	profile   profile
	settings  Object
	items     []Turn
	events    int // number of events sent
	responses int
	active    *realtimeResponse // nil between responses
	timer     <-chan time.Time  // fires when the next piece is due
}

// realtimeResponse is a response that is being sent.
type realtimeResponse struct {
	id, itemID string
	reply      *Reply
	pieces     []string
	sent       string // text sent so far
	stored     bool   // whether the response becomes part of the conversation
}

// eventError is an error event for the client. The session stays open.
type eventError struct{ message, code string }

func (e eventError) Error() string { return e.message }

func invalidEvent(message string) error { return eventError{"SIMULATED: " + message, "invalid_value"} }

// serveRealtime serves a realtime session over a WebSocket. Sessions support text only, without tools.
func (s *Simulator) serveRealtime(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("model")
	i := slices.IndexFunc(s.profiles, func(p profile) bool { return p.name == name && p.op == llm.Realtime })
	if i < 0 {
		writeBody(w, http.StatusNotFound, "application/json", Encode(openAIError(http.StatusNotFound, "The model `"+name+"` does not exist.", "model_not_found")))
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"realtime"}, InsecureSkipVerify: true})
	if err != nil {
		return // websocket.Accept has sent the error
	}
	defer conn.CloseNow() //nolint:errcheck // the client may have closed it
	conn.SetReadLimit(16 << 20)
	c := &realtimeSession{simulator: s, conn: conn, profile: s.profiles[i]}
	c.settings = Object{
		"type": "realtime", "object": "realtime.session", "id": "sess_sim", "model": name, "instructions": "", "output_modalities": []any{"text"},
		"max_output_tokens": "inf", "tools": []any{},
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
	for err = c.send(ctx, "session.created", Object{"session": c.settings}); err == nil; {
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
func (c *realtimeSession) send(ctx context.Context, kind string, event Object) error {
	c.events++
	event["type"], event["event_id"] = kind, fmt.Sprintf("event_sim%06d", c.events)
	return c.conn.Write(ctx, websocket.MessageText, Encode(event))
}

// receive handles a client event. For an invalid event, it sends an error event.
func (c *realtimeSession) receive(ctx context.Context, data []byte) error {
	event := parseNode(data)
	var err error
	switch kind := event.get("type").text(); {
	case kind == "session.update":
		err = c.update(ctx, event.get("session"))
	case kind == "conversation.item.create":
		err = c.addItem(ctx, event.get("item"))
	case kind == "response.create":
		err = c.respond(ctx, event.get("response"))
	case kind == "response.cancel" && c.active != nil:
		err = c.finish(ctx, "cancelled", "client_cancelled")
	default:
		err = invalidEvent("the event '" + quote(kind) + "' is not supported now. Simulated sessions accept session.update, conversation.item.create, response.create and response.cancel.")
	}
	if e, ok := errors.AsType[eventError](err); ok {
		return c.send(ctx, "error", Object{"error": Object{
			"type": "invalid_request_error", "code": e.code, "message": e.message, "param": nil, "event_id": event.get("event_id").value,
		}})
	}
	return err
}

// outputLimit checks the settings of a session or a response and returns its output limit in tokens.
func (c *realtimeSession) outputLimit(settings Object) (int, error) {
	n := node{settings}
	limit := c.profile.maxOutput
	if tokens := n.get("max_output_tokens"); tokens.text() != "inf" {
		limit = int64(tokens.number())
	}
	switch {
	case limit < 1 || limit > c.profile.maxOutput:
		return 0, invalidEvent(fmt.Sprintf("'max_output_tokens' must be \"inf\" or a number from 1 to %d.", c.profile.maxOutput))
	case !slices.Equal(n.get("output_modalities").texts(), []string{"text"}):
		return 0, invalidEvent(`simulated sessions have no audio. Set 'output_modalities' to ["text"].`)
	case len(n.get("tools").list()) > 0:
		return 0, invalidEvent("simulated sessions have no tools.")
	}
	return int(limit), nil
}

// update changes the settings of the session.
func (c *realtimeSession) update(ctx context.Context, changes node) error {
	next := maps.Clone(c.settings)
	for _, name := range []string{"instructions", "output_modalities", "max_output_tokens", "tools"} {
		if value := changes.get(name); value.exists() {
			next[name] = value.value
		}
	}
	if _, err := c.outputLimit(next); err != nil {
		return err
	}
	c.settings = next
	return c.send(ctx, "session.updated", Object{"session": c.settings})
}

// readMessage reads an item with text.
func readMessage(item node) (Turn, error) {
	if item.get("type").text() != "message" {
		return Turn{}, invalidEvent("simulated sessions accept items of the type message.")
	}
	turn := Turn{Assistant: item.get("role").text() == "assistant"}
	for _, part := range item.get("content").list() {
		if kind := part.get("type").text(); kind != "input_text" && kind != "output_text" {
			return Turn{}, invalidEvent("simulated sessions accept text only.")
		}
		turn.Parts = append(turn.Parts, Part{Kind: TextPart, Text: part.get("text").text()})
	}
	return turn, nil
}

// addItem appends an item to the conversation.
func (c *realtimeSession) addItem(ctx context.Context, item node) error {
	turn, err := readMessage(item)
	if err != nil {
		return err
	}
	c.items = append(c.items, turn)
	added := maps.Clone(item.value.(map[string]any))
	if item.get("id").text() == "" {
		added["id"] = fmt.Sprintf("item_sim%06d", len(c.items))
	}
	added["object"], added["status"] = "realtime.item", "completed"
	if err := c.send(ctx, "conversation.item.added", Object{"item": added}); err != nil {
		return err
	}
	return c.send(ctx, "conversation.item.done", Object{"item": added})
}

// respond starts a response. advance sends its text.
func (c *realtimeSession) respond(ctx context.Context, changes node) error {
	settings := maps.Clone(c.settings)
	if given, ok := changes.value.(map[string]any); ok {
		maps.Copy(settings, given)
	}
	limit, err := c.outputLimit(settings)
	if err != nil {
		return err
	}
	if c.active != nil {
		return eventError{"SIMULATED: the conversation already has an active response.", "conversation_already_has_active_response"}
	}
	q := &Conversation{Model: c.profile.name, Limit: limit, System: node{settings}.get("instructions").text(), Turns: c.items}
	if input := changes.get("input"); input.exists() {
		q.Turns = nil
		for _, item := range input.list() {
			turn, err := readMessage(item)
			if err != nil {
				return err
			}
			q.Turns = append(q.Turns, turn)
		}
	}
	if len(q.Turns) == 0 {
		return invalidEvent("the conversation has no items. Send conversation.item.create first.")
	}
	c.responses++
	reply := c.simulator.reply(q, c.profile)
	c.active = &realtimeResponse{
		id: fmt.Sprintf("resp_sim%06d", c.responses), itemID: fmt.Sprintf("item_sim_r%06d", c.responses), reply: reply,
		pieces: pieces(reply.text()), stored: changes.get("conversation").text() != "none",
	}
	c.timer = time.After(c.simulator.scaled(c.profile.firstToken))
	return errors.Join(
		c.send(ctx, "response.created", Object{"response": c.describe("in_progress", "")}),
		c.sendPart(ctx, "response.output_item.added", Object{"item": c.active.item("in_progress")}),
		c.sendPart(ctx, "response.content_part.added", Object{"content_index": 0, "part": Object{"type": "output_text", "text": ""}}),
	)
}

// sendPart sends an event about the item of the active response.
func (c *realtimeSession) sendPart(ctx context.Context, kind string, event Object) error {
	event["response_id"], event["item_id"], event["output_index"] = c.active.id, c.active.itemID, 0
	return c.send(ctx, kind, event)
}

// item returns the message of the response with the text sent so far.
func (a *realtimeResponse) item(status string) Object {
	content := []Object{}
	if a.sent != "" {
		content = append(content, Object{"type": "output_text", "text": a.sent})
	}
	if status == "cancelled" {
		status = "incomplete"
	}
	return Object{"id": a.itemID, "object": "realtime.item", "type": "message", "status": status, "role": "assistant", "content": content}
}

// describe returns the active response. A response in progress has neither output nor usage.
func (c *realtimeSession) describe(status, reason string) Object {
	a := c.active
	response := Object{
		"id": a.id, "object": "realtime.response", "status": status, "status_details": nil, "output": []any{}, "conversation_id": "conv_sim",
		"output_modalities": []string{"text"}, "usage": nil, "metadata": nil,
	}
	if status == "in_progress" {
		return response
	}
	if reason != "" {
		response["status_details"] = Object{"type": status, "reason": reason}
	}
	u, output := a.reply.Usage, Tokens(len(a.sent))
	response["output"] = []any{a.item(status)}
	response["usage"] = Object{
		"total_tokens": u.Input + output, "input_tokens": u.Input, "output_tokens": output,
		"input_token_details": Object{
			"text_tokens": u.Input, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": u.CacheRead,
			"cached_tokens_details": Object{"text_tokens": u.CacheRead, "audio_tokens": 0, "image_tokens": 0},
		},
		"output_token_details": Object{"text_tokens": output, "audio_tokens": 0},
	}
	return response
}

// advance sends the next piece of the active response, or ends the response after the last one.
func (c *realtimeSession) advance(ctx context.Context) error {
	a := c.active
	if len(a.pieces) == 0 {
		if a.reply.Finish == LimitReached {
			return c.finish(ctx, "incomplete", "max_output_tokens")
		}
		return c.finish(ctx, "completed", "")
	}
	piece := a.pieces[0]
	a.sent, a.pieces = a.sent+piece, a.pieces[1:]
	c.timer = time.After(c.simulator.scaled(c.profile.pace()))
	return c.sendPart(ctx, "response.output_text.delta", Object{"content_index": 0, "delta": piece})
}

// finish ends the active response. The usage of a cancelled response covers the text sent so far.
func (c *realtimeSession) finish(ctx context.Context, status, reason string) error {
	a := c.active
	err := errors.Join(
		c.sendPart(ctx, "response.output_text.done", Object{"content_index": 0, "text": a.sent}),
		c.sendPart(ctx, "response.content_part.done", Object{"content_index": 0, "part": Object{"type": "output_text", "text": a.sent}}),
		c.sendPart(ctx, "response.output_item.done", Object{"item": a.item(status)}),
		c.send(ctx, "response.done", Object{"response": c.describe(status, reason)}),
	)
	if a.stored {
		c.items = append(c.items, Turn{Assistant: true, Parts: []Part{{Kind: TextPart, Text: a.sent}}})
	}
	c.active, c.timer = nil, nil
	return err
}
