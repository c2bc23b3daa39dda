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
// Parts are shared by the requests of one workspace that are redacted by the same rules.
func (a *App) splitRequest(e *requestlog.Entry) *requestlog.Entry {
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
	request, parts, ok := a.partKey.Scope(e.WorkspaceID+"\x00"+rules).Split(body, known)
	if !ok {
		return e
	}
	split := *e
	split.Body.Split, split.Body.Request, split.Body.Parts, split.Body.Whole = true, request, parts, len(body)
	if rules != "" {
		split.Preview = redaction.PreviewSource(e)
	}
	return &split
}

// rememberParts records which parts of requests the database has.
func (a *App) rememberParts(entries []requestlog.Entry) {
	for i := range entries {
		e := &entries[i]
		at, ok := id.Time(e.ID)
		if !ok || !e.Body.Split {
			continue
		}
		if len(e.Body.Missing) > 0 { // another replica deleted requests that had these parts
			a.known.Clear()
			continue
		}
		a.known.Add(outline.DayOf(at), e.Body.Parts)
	}
}
