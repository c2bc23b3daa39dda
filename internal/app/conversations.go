package app

import (
	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/outline"
	"fairlead/internal/rawjson"
	"fairlead/internal/redaction"
	"fairlead/internal/requestlog"
)

// splitRequest returns an entry whose request body is split, without the parts that this process has delivered to the database before.
// Parts are shared by the requests of one workspace that are redacted by the same rules. The parts use the given memory.
func (a *App) splitRequest(e *requestlog.Entry, memory []byte) *requestlog.Entry {
	at, ok := id.Time(e.ID)
	if !ok || e.BodyState != requestlog.BodyStored {
		return e
	}
	body := e.Body.Request
	if e.Decision == nil && !rawjson.Valid(body) { // a request with a decision was decoded
		return e
	}
	known := a.known.Of(outline.DayOf(at))
	if e.Decision != nil && e.Decision.Input.Needs&(llm.JSONMode|llm.JSONSchema) != 0 {
		known = func(outline.Address) bool { return false } // the response is compared with the schema in the request
	}
	rules := a.redaction.Version(e.WorkspaceID)
	request, parts, ok := a.partKey.Scope(e.WorkspaceID+"\x00"+rules).SplitTurn(body, e.Body.Turn, memory, known)
	if !ok {
		return e
	}
	split := *e
	split.Body.Turn, split.Body.Split, split.Body.Request, split.Body.Parts, split.Body.Whole = nil, true, request, parts, len(body)
	if rules != "" {
		split.Preview = redaction.PreviewSource(e)
	}
	return &split
}
