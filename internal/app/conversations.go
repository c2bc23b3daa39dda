package app

import (
	"fmt"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/redaction"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/store/logstore"
)

// logParts holds the components of the request log.
type logParts struct {
	spool       *spool.Spool
	partKey     *outline.Key   // computes the addresses of request body parts
	known       *outline.Known // parts that the database has
	feed        *requestlog.Feed
	redaction   *redaction.Filter
	maintenance *databaseTasks
}

// openLog opens the spool and creates the components of the request log.
func (a *App) openLog(c config.Config) (err error) {
	if a.partKey, err = outline.NewKey(a.master); err != nil {
		return err
	}
	a.known = outline.NewKnown()
	if a.spool, err = spool.Open(settings.SpoolDir(c), spool.Options{Limit: int64(c.Spool.Limit), Strict: c.Spool.Strict, Log: a.log, Split: a.splitRequest}); err != nil {
		return fmt.Errorf("open spool: %w", err)
	}
	a.maintenance = newDatabaseTasks(a.db, func() logstore.Retention { return settings.Retention(a.loaded().Config.Log) }, a.report)
	a.feed = requestlog.NewFeed()
	a.redaction = redaction.New(a.keyring.Workspace, func() []string { return a.loaded().Config.Log.Redact }, a.log)
	return nil
}

// splitRequest returns a copy of e with the request body split into parts. It omits the parts that this process has already delivered
// to the database. Requests of a workspace share parts if the same redaction rules apply to them. The parts are appended to
// the slice memory. splitRequest returns e itself if the body is not stored or cannot be split.
func (l *logParts) splitRequest(e *requestlog.Entry, memory []byte) *requestlog.Entry {
	at, ok := id.Time(e.ID)
	if !ok || e.BodyState != requestlog.BodyStored {
		return e
	}
	body := e.Body.Request
	if e.Decision == nil && !rawjson.Valid(body) { // the body of a request with a decision is valid, because it was decoded
		return e
	}
	known := l.known.Of(outline.DayOf(at))
	if e.Decision != nil && e.Decision.Input.Needs&(llm.JSONMode|llm.JSONSchema) != 0 {
		known = func(outline.Address) bool { return false } // keep all parts: the response is checked against the schema in the request
	}
	rules := l.redaction.Version(e.WorkspaceID)
	request, parts, ok := l.partKey.Scope(e.WorkspaceID+"\x00"+rules).Split(body, memory, known)
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
