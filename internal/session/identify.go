// Package session identifies the session of a request: the conversation or agent run that it belongs to. A client names the session in a
// header or in the body. Otherwise the session is derived from the beginning of the conversation. The package also applies session
// limits, and derives the ledger names for the spending of sessions and end users.
package session

import (
	"cmp"
	"net/http"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
)

// Source states how a session was identified.
type Source string

// The sources of a session.
const (
	Given   Source = "given"   // named by the client
	Derived Source = "derived" // computed from the beginning of the conversation
)

// maxID bounds the length of an id in bytes.
const maxID = 80

// FromHeader returns the session that the headers of a request name, or "".
func FromHeader(h http.Header) string {
	for _, name := range wire.SessionHeaders() {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Named returns the session that the client names, or "" if it names none. The field session_id has precedence, then the session
// from the headers, then fields that other APIs use for the same purpose.
func Named(req *llm.Request, fromHeader string) string {
	if id := cmp.Or(req.Controls.SessionID, fromHeader); id != "" {
		return shorten(id)
	}
	var byField [len(bodyFields)]string
	for _, f := range req.Fields {
		for i, member := range bodyFields {
			if f.Name == member.name && f.Value >= 0 && f.Value <= f.End && f.End <= len(req.Body) && f.End-f.Value <= maxField {
				byField[i] = member.read(rawjson.Parse(req.Body[f.Value:f.End]))
			}
		}
	}
	for _, id := range byField {
		if id != "" {
			return shorten(id)
		}
	}
	return ""
}

// maxField bounds the length of a field that is searched for a session.
const maxField = 16 << 10

// bodyFields are the fields that name a session, in order of precedence.
var bodyFields = [...]struct {
	name string
	read func(rawjson.Value) string
}{
	{"metadata", func(v rawjson.Value) string { // session_id, or user_id if it contains a Claude Code session
		if id := text(v.Get("session_id")); id != "" {
			return id
		}
		_, id := splitUser(text(v.Get("user_id")))
		return id
	}},
	{"conversation", func(v rawjson.Value) string { // a conversation stored by a provider: a string, or an object with an id
		if v.IsObject() {
			v = v.Get("id")
		}
		return text(v)
	}},
	{"prompt_cache_key", text},
}

func text(v rawjson.Value) string {
	if v.Kind != rawjson.Text {
		return ""
	}
	return v.String()
}

// EndUser returns the end user contained in a name that a client sent. It removes the session ID that Claude Code adds to the name.
func EndUser(name string) string {
	user, _ := splitUser(name)
	return user
}

// splitUser separates the user and the session in a Claude Code user id, which is either user_…_account_…_session_… or a JSON
// object. Any other name is a user without a session.
func splitUser(name string) (user, session string) {
	if strings.HasPrefix(name, "user_") {
		if at := strings.LastIndex(name, "_session_"); at > 0 {
			return name[:at], name[at+len("_session_"):]
		}
		return name, ""
	}
	if !strings.HasPrefix(name, "{") || !rawjson.Valid([]byte(name)) {
		return name, ""
	}
	v := rawjson.ParseString(name)
	if session = text(v.Get("session_id")); session == "" {
		return name, ""
	}
	if user = text(v.Get("account_uuid")); user == "" {
		user = text(v.Get("device_id"))
	}
	return user, session
}

func shorten(id string) string {
	if len(id) <= maxID {
		return id
	}
	return strings.ToValidUTF8(id[:maxID], "") + "…"
}
