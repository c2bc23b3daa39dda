package logstore

import (
	"context"

	"fairlead.dev/internal/requestlog"
)

// Sessions implements requestlog.SessionReader. It hides sessions and prompts past their retention.
func (s *Store) Sessions(ctx context.Context, f requestlog.SessionFilter, p requestlog.SessionPage) ([]requestlog.Session, error) {
	f.After = s.query().EntriesFrom
	found, err := s.sessions.Sessions(ctx, f, p)
	for i := range found {
		s.hidePrompt(&found[i])
	}
	return found, err
}

// Session implements requestlog.SessionReader.
func (s *Store) Session(ctx context.Context, workspaceID, id string) (requestlog.Session, error) {
	found, err := s.sessions.Session(ctx, workspaceID, id)
	if err == nil && found.LastID < s.query().EntriesFrom {
		return requestlog.Session{}, requestlog.ErrNotFound
	}
	s.hidePrompt(&found)
	return found, err
}

// TurnNumber implements requestlog.SessionReader.
func (s *Store) TurnNumber(ctx context.Context, workspaceID, id, requestID string) (int64, error) {
	return s.sessions.TurnNumber(ctx, workspaceID, id, requestID)
}

func (s *Store) hidePrompt(one *requestlog.Session) {
	if one.FirstID < s.query().BodiesFrom {
		one.Preview = ""
	}
}
