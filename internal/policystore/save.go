package policystore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/policy"
)

// maxNote is the maximum length of a note in bytes.
const maxNote = 500

// Save validates a document and saves it as the newest version. The version is active immediately on this replica, and on others
// after their next Reload. Save returns the problems of an invalid document. It returns ErrConflict if basedOn is not the number
// of the newest version (0 if there is none). Saving the active document again does not create a version.
func (s *Store) Save(ctx context.Context, workspaceID, source string, basedOn int64, note, by string) (Version, []policy.Problem, error) {
	if !utf8.ValidString(source) {
		return Version{}, []policy.Problem{{Line: 1, Column: 1, Width: 1, Code: policy.Malformed, Message: "the document is not valid UTF-8"}}, nil
	}
	set, problems := policy.Parse(setName, []byte(source), s.Inventory())
	if len(problems) > 0 {
		return Version{}, problems, nil
	}
	newest, err := s.newest(ctx, workspaceID)
	if err != nil {
		return Version{}, nil, err
	}
	if newest.Number == basedOn && basedOn > 0 && newest.Source == source {
		return newest, nil, nil
	}
	v, err := s.storage.AddPolicies(ctx, workspaceID, basedOn, Version{
		Hash: set.Version(), Source: source, Note: cleanNote(note), CreatedBy: by, CreatedAt: s.now(),
	})
	if err != nil {
		return Version{}, nil, err
	}
	_ = s.Reload(ctx) // the version is saved, so errors are ignored; the next periodic Reload reports them
	return v, nil, nil
}

// newest returns the newest version, or the zero Version if there is none.
func (s *Store) newest(ctx context.Context, workspaceID string) (Version, error) {
	v, err := s.storage.PolicyVersion(ctx, workspaceID, 0)
	if errors.Is(err, ErrNotFound) {
		return Version{}, nil
	}
	return v, err
}

// Rollback saves the document of an earlier version as a new version. All names that the document refers to must still exist.
func (s *Store) Rollback(ctx context.Context, workspaceID string, number int64, by string) (Version, []policy.Problem, error) {
	old, err := s.Version(ctx, workspaceID, number)
	if err != nil {
		return Version{}, nil, err
	}
	newest, err := s.newest(ctx, workspaceID)
	if err != nil {
		return Version{}, nil, err
	}
	return s.Save(ctx, workspaceID, old.Source, newest.Number, fmt.Sprintf("Restored version %d", number), by)
}

// Versions lists the versions of a workspace, newest first, without their source.
func (s *Store) Versions(ctx context.Context, workspaceID string) ([]Version, error) {
	return s.storage.PolicyVersions(ctx, workspaceID)
}

// Version returns a version with its source. Number 0 selects the newest version. It returns ErrNotFound if the version does not
// exist.
func (s *Store) Version(ctx context.Context, workspaceID string, number int64) (Version, error) {
	return s.storage.PolicyVersion(ctx, workspaceID, number)
}

// cleanNote returns the note as valid UTF-8, truncated to maxNote bytes.
func cleanNote(note string) string {
	note = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(note, "�"), "\x00", ""))
	for len(note) > maxNote {
		_, last := utf8.DecodeLastRuneInString(note)
		note = note[:len(note)-last]
	}
	return note
}
