package policystore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"fairlead/internal/policy"
)

// maxNote is how many bytes of a note are kept.
const maxNote = 500

// Save makes a text the newest version, which is in force at once here and soon at other replicas. It returns problems
// instead when the text has any, and ErrConflict when basedOn is not the number of the newest version, 0 for none. A text
// that is in force already makes no new version.
func (b *Store) Save(ctx context.Context, workspaceID, source string, basedOn int64, note, by string) (Version, []policy.Problem, error) {
	if !utf8.ValidString(source) {
		return Version{}, []policy.Problem{{Line: 1, Column: 1, Width: 1, Code: policy.Malformed, Message: "the document is not valid UTF-8"}}, nil
	}
	set, problems := policy.Parse(setName, []byte(source), b.World())
	if len(problems) > 0 {
		return Version{}, problems, nil
	}
	newest, err := b.newest(ctx, workspaceID)
	if err != nil {
		return Version{}, nil, err
	}
	if newest.Number == basedOn && basedOn > 0 && newest.Source == source {
		return newest, nil, nil
	}
	v, err := b.store.AddPolicies(ctx, workspaceID, basedOn, Version{
		Hash: set.Version(), Source: source, Note: tidy(note), CreatedBy: by, CreatedAt: b.now(),
	})
	if err != nil {
		return Version{}, nil, err
	}
	_ = b.Reload(ctx) // it is saved; a store that went away since is the next regular Reload's to report
	return v, nil, nil
}

// newest returns the version with number 0 while there is none.
func (b *Store) newest(ctx context.Context, workspaceID string) (Version, error) {
	v, err := b.store.PolicyVersion(ctx, workspaceID, 0)
	if errors.Is(err, ErrNotFound) {
		return Version{}, nil
	}
	return v, err
}

// Rollback saves the text of an earlier version as a new one. What it names must exist today.
func (b *Store) Rollback(ctx context.Context, workspaceID string, number int64, by string) (Version, []policy.Problem, error) {
	old, err := b.Version(ctx, workspaceID, number)
	if err != nil {
		return Version{}, nil, err
	}
	newest, err := b.newest(ctx, workspaceID)
	if err != nil {
		return Version{}, nil, err
	}
	return b.Save(ctx, workspaceID, old.Source, newest.Number, fmt.Sprintf("Restored version %d", number), by)
}

// Versions lists the versions of a workspace, newest first, without their text.
func (b *Store) Versions(ctx context.Context, workspaceID string) ([]Version, error) {
	return b.store.PolicyVersions(ctx, workspaceID)
}

// Version returns one version with its text, the newest for number 0, or ErrNotFound.
func (b *Store) Version(ctx context.Context, workspaceID string, number int64) (Version, error) {
	return b.store.PolicyVersion(ctx, workspaceID, number)
}

// Diff tells what changed between two versions, line by line; from 0 is from nothing.
func (b *Store) Diff(ctx context.Context, workspaceID string, from, to int64) (string, error) {
	var before Version
	if from != 0 {
		var err error
		if before, err = b.Version(ctx, workspaceID, from); err != nil {
			return "", err
		}
	}
	after, err := b.Version(ctx, workspaceID, to)
	if err != nil {
		return "", err
	}
	return policy.Diff([]byte(before.Source), []byte(after.Source)), nil
}

// tidy makes a note storable and short.
func tidy(note string) string {
	note = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(note, "�"), "\x00", ""))
	for len(note) > maxNote {
		_, last := utf8.DecodeLastRuneInString(note)
		note = note[:len(note)-last]
	}
	return note
}
