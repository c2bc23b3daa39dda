package requests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Turn is one request of a session.
type Turn struct {
	RequestRow
	Number int64        `json:"number" doc:"Position in the session, from 1."`
	GapMS  *int64       `json:"gap_ms" doc:"Time since the previous turn ended: the client ran tools or waited for its user. null for the first turn."`
	Change *ModelChange `json:"model_change,omitempty" doc:"Set if another model served the previous turn."`
	Notes  []TurnNote   `json:"notes" doc:"What affected the choice of the model."`
}

// ModelChange is a change of the model between two turns.
type ModelChange struct {
	From string `json:"from" doc:"Model of the previous turn."`
	To   string `json:"to"`
}

// TurnNote is a reason for the model choice in a turn.
type TurnNote struct {
	Code   string `json:"code" doc:"requested, policy, fallback, kept, or the code of an adjustment such as escalated or downgraded."`
	Reason string `json:"reason"`
}

// TurnPage is one page of turns.
type TurnPage struct {
	Turns []Turn  `json:"turns"`
	Gone  int64   `json:"gone" doc:"Number of earlier turns of the session that are no longer in the log, because they expired or were deleted. 0 on later pages."`
	After *string `json:"after" doc:"Cursor of the next page. null on the last page."`
}

type listTurnsInput struct {
	SessionPath
	After string `query:"after" maxLength:"64" doc:"Request ID. Lists the turns after it."`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"50"`
}

// Turns returns the turns of a session that follow the request with the given ID, oldest first. If the ID is empty, it starts
// with the first turn.
func Turns(ctx context.Context, log requestlog.Reader, sessions requestlog.SessionReader, by account.Actor, workspace, session, after string, limit int) ([]Turn, error) {
	var previous *requestlog.Entry
	if after != "" {
		e, err := log.Entry(ctx, workspace, after)
		if err != nil {
			return nil, err
		}
		previous = &e
	} else {
		after = "req_" // every request ID sorts after this prefix
	}
	entries, err := log.Entries(ctx, requestlog.Filter{WorkspaceID: workspace, Lists: requestlog.Lists{Session: []string{session}}}, requestlog.Page{After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	turns := make([]Turn, 0, len(entries))
	first := int64(0)
	if len(entries) > 0 {
		if first, err = sessions.TurnNumber(ctx, workspace, session, entries[0].ID); err != nil {
			return nil, err
		}
	}
	for i := range entries {
		e := &entries[i]
		turn := Turn{RequestRow: requestRow(e, by), Number: first + int64(i), Notes: []TurnNote{}}
		changed := previous != nil && previous.Model != "" && e.Model != "" && previous.Model != e.Model
		if changed {
			turn.Change = &ModelChange{From: previous.Model, To: e.Model}
		}
		if previous != nil {
			gap := max(e.Time.Sub(previous.Time.Add(previous.Latency)), 0).Milliseconds()
			turn.GapMS = &gap
		}
		if changed || e.Policy != "" || e.DecisionKind == route.Fallback || e.Requested != e.Model || len(e.Warnings) > 0 {
			if turn.Notes, err = notes(ctx, log, e, previous); err != nil {
				return nil, err
			}
		}
		turns = append(turns, turn)
		if e.Model != "" || previous == nil {
			previous = e
		}
	}
	return turns, nil
}

// notes returns the reasons for the model choice. They are read from the entry and the stored decision.
func notes(ctx context.Context, log requestlog.Reader, e, previous *requestlog.Entry) ([]TurnNote, error) {
	list := []TurnNote{}
	if previous != nil && previous.Requested != e.Requested {
		list = append(list, TurnNote{"requested", "The client requested " + e.Requested + " instead of " + previous.Requested + "."})
	}
	if e.Policy != "" {
		list = append(list, TurnNote{"policy", "Policy " + e.Policy + " changed the choice."})
	}
	if reason := fallbackReason(e); reason != "" {
		list = append(list, TurnNote{"fallback", reason})
	}
	whole, err := log.Entry(ctx, e.WorkspaceID, e.ID)
	if errors.Is(err, requestlog.ErrNotFound) { // the entry was deleted in the meantime
		return list, nil
	}
	if err != nil || whole.Decision == nil {
		return list, err
	}
	for _, adjustment := range whole.Decision.Adjustments {
		list = append(list, TurnNote{string(adjustment.Code), adjustment.Reason})
	}
	if stay := whole.Decision.Stay; stay != nil {
		list = append(list, TurnNote{"kept", "Kept " + stay.Target + ": switching to " + stay.Alternative + " would cost " + stay.Switch.Display() + " more."})
	}
	return list, nil
}

// TurnMessages holds the messages that are new in a turn, in the chat format.
type TurnMessages struct {
	RequestBody
	Known    int    `json:"known" doc:"Number of messages that earlier turns contain. 0 if the previous turn is not available: all messages are listed."`
	Previous string `json:"previous" enum:"stored,disabled,disabled_for_key,disabled_by_policy,disabled_by_request,expired,too_large,redaction_timeout,none,deleted,first" doc:"Whether the body of the previous turn is available: its state, deleted if the log no longer contains that turn, or first for the first turn."`
}

type turnPath struct {
	SessionPath
	Request string `path:"request" maxLength:"64" doc:"Request ID."`
}

func (a *handlers) getTurnMessages(ctx context.Context, c *adminapi.Call, in *turnPath) (*adminapi.Output[TurnMessages], error) {
	entry, err := a.entry(ctx, c.WorkspaceID, in.Request)
	if err != nil {
		return nil, err
	}
	if requestlog.Term(entry.Session) != requestlog.Term(in.ID) {
		return nil, requestlog.ErrNotFound
	}
	request, response, absent, err := a.chatBody(ctx, &entry)
	if err != nil {
		return nil, err
	}
	if absent != nil {
		return adminapi.Respond(TurnMessages{RequestBody: *absent, Previous: "none"}), nil
	}
	earlier, err := a.Requests.Entries(ctx, requestlog.Filter{WorkspaceID: c.WorkspaceID, Lists: requestlog.Lists{Session: []string{entry.Session}}}, requestlog.Page{Before: entry.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	var before []byte
	previous := string(requestlog.BodyStored)
	if len(earlier) > 0 {
		var lost *RequestBody
		if before, _, lost, err = a.chatBody(ctx, &earlier[0]); err != nil {
			return nil, err
		}
		if lost != nil {
			previous = lost.State
		}
	} else {
		number, err := a.Sessions.TurnNumber(ctx, c.WorkspaceID, entry.Session, entry.ID)
		if err != nil {
			return nil, err
		}
		if previous = "first"; number > 1 {
			previous = "deleted"
		}
	}
	fresh, known := newMessages(before, request)
	body := storedBody(response)
	body.Request = bodyText(fresh)
	return adminapi.Respond(TurnMessages{RequestBody: body, Known: known, Previous: previous}), nil
}

// chatBody returns the stored bodies of an entry in the chat format, or why they are not available.
func (a *handlers) chatBody(ctx context.Context, e *requestlog.Entry) (request []byte, response requestlog.Body, absent *RequestBody, err error) {
	state := e.BodyState
	if state == requestlog.BodyStored {
		response, err = a.Requests.EntryBody(ctx, e.WorkspaceID, e.ID)
		if errors.Is(err, requestlog.ErrNotFound) {
			state, err = requestlog.BodyExpired, nil
		}
	}
	if err != nil || state != requestlog.BodyStored {
		return nil, response, &absentBody(state).Body, err
	}
	request = response.Request
	if translated, answer := a.Transcript(e.Format, response); translated != nil {
		request, response.Response, response.Streamed = translated, answer, false
	}
	return request, response, nil, nil
}

// newMessages returns the body of a chat request without the messages that the previous request contains, and the number of removed
// messages. It also removes the response of the previous turn, because the client sends that response again as an assistant message.
func newMessages(before, request []byte) (fresh []byte, known int) {
	type body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	var old, now body
	if json.Unmarshal(request, &now) != nil {
		return request, 0
	}
	if before != nil && json.Unmarshal(before, &old) == nil {
		for known < min(len(old.Messages), len(now.Messages)) {
			a, b := old.Messages[known], now.Messages[known]
			if !bytes.Equal(a, b) && !bytes.Equal(withoutMarks(a), withoutMarks(b)) { // clients move cache_control between turns
				break
			}
			known++
		}
		for known > 0 && known < len(now.Messages) && roleOf(now.Messages[known]) == "assistant" {
			known++
		}
	}
	now.Messages = now.Messages[known:]
	if now.Messages == nil {
		now.Messages = []json.RawMessage{}
	}
	fresh, err := json.Marshal(now)
	if err != nil {
		return request, 0
	}
	return fresh, known
}

func roleOf(message json.RawMessage) string {
	var m struct {
		Role string `json:"role"`
	}
	_ = json.Unmarshal(message, &m) // the error is ignored: a message without a role gives an empty result
	return m.Role
}

func withoutMarks(message json.RawMessage) []byte {
	var v any
	if json.Unmarshal(message, &v) != nil {
		return message
	}
	text, err := json.Marshal(stripMarks(v))
	if err != nil {
		return message
	}
	return text
}

// stripMarks removes cache_control fields and reduces a list that contains only one text part to the text.
func stripMarks(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for name, value := range v {
			v[name] = stripMarks(value)
		}
	case []any:
		for i := range v {
			v[i] = stripMarks(v[i])
		}
		if len(v) == 1 {
			if part, ok := v[0].(map[string]any); ok && len(part) == 2 && part["type"] == "text" {
				return part["text"]
			}
		}
	}
	return v
}
