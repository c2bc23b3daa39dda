package requestlog

import (
	"context"
	"time"
)

// Session summarises the requests of one session. The sums also include requests that have been deleted.
type Session struct {
	WorkspaceID string
	ID          string
	Source      string // origin of the session ID: given or derived
	FirstID     string // ID of the first request
	LastID      string // ID of the latest request
	KeyID       string // ID of the first request's API key
	EndUser     string
	Client      string
	Simulated   bool
	SessionFigures

	Models    []string // models that served a request, in sorted order
	LastModel string   // model that served the latest request; empty if the request was deleted
	Preview   string   // preview of the first request
}

// SessionFigures holds sums over the requests of a session.
type SessionFigures struct {
	Turns    int64 // number of requests
	Errors   int64
	Rejected int64
	Unpriced int64 // number of served requests without a known cost
	Spending
	Tokens
	Latency  time.Duration
	Overhead time.Duration
}

// NewSession returns the session of a single entry.
func NewSession(e *Entry) Session {
	s := Session{
		WorkspaceID: e.WorkspaceID, ID: Term(e.Session), Source: e.SessionSource, FirstID: e.ID, LastID: e.ID,
		KeyID: e.KeyID, EndUser: Term(e.EndUser), Client: e.Client,
		Simulated: e.Simulated,
		SessionFigures: SessionFigures{
			Turns: 1, Latency: e.Latency, Overhead: e.Overhead,
			Tokens: Tokens{InputTokens: e.Usage.Prompt(), CachedTokens: e.Usage.CacheRead, OutputTokens: e.Usage.Output},
		},
	}
	if s.Source == "" {
		s.Source = "given" // a request that ended early has only the session that the client named
	}
	switch {
	case e.Outcome.IsError():
		s.Errors = 1
	case e.Outcome == Rejected:
		s.Rejected = 1
	}
	if e.Model != "" {
		s.Models = []string{Term(e.Model)}
	}
	switch {
	case e.Cost != nil && e.BaselineCost != nil:
		s.Cost, s.ComparedCost, s.BaselineCost = *e.Cost, *e.Cost, *e.BaselineCost
	case e.Cost != nil:
		s.Cost = *e.Cost
	case e.Served():
		s.Unpriced = 1
	}
	return s
}

// SessionFilter selects the sessions whose latest request is between From and To. Empty fields set no condition.
type SessionFilter struct {
	WorkspaceID string
	From, To    time.Time
	ID          []string
	Key         []string
	User        []string
	Model       []string
	Source      string
	MinTurns    int64
	Simulated   *bool
	After       string // ID below which entries have expired; empty if no entries have expired
}

// SessionPage selects a page: at most Limit sessions whose latest request is older than Before, newest first.
type SessionPage struct {
	Before string
	Limit  int
}

// SessionReader reads sessions.
type SessionReader interface {
	// Sessions lists matching sessions, latest request first.
	Sessions(ctx context.Context, f SessionFilter, p SessionPage) ([]Session, error)
	// Session returns one session, or ErrNotFound.
	Session(ctx context.Context, workspaceID, id string) (Session, error)
	// TurnNumber returns the number of requests of the session up to and including the given request. Deleted requests are
	// counted if the first request of the session is among them.
	TurnNumber(ctx context.Context, workspaceID, id, requestID string) (int64, error)
}
