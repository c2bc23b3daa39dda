package gateway

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/llm"
)

func storedFiles(ids ...string) (files []llm.StoredFile) {
	for _, id := range ids {
		files = append(files, llm.StoredFile{ID: id, Param: "p"})
	}
	return files
}

func TestOwnerCacheIsBoundedAndKeepsUsedFiles(t *testing.T) {
	t.Parallel()
	var c ownerCache
	own := map[string][]batch.Owner{"used": {{WorkspaceID: "ws", ID: "used", Provider: "p", Credential: "p#1"}}}
	c.add([]string{"used", "unused"}, own, 0)
	for i := range 5 * maxOwners {
		c.add([]string{strconv.Itoa(i)}, nil, 0)
		if i%(maxOwners/2) == 0 {
			if got, missing, _ := c.find(storedFiles("used")); len(missing) > 0 || cmp.Diff(own, got) != "" {
				t.Fatalf("a used file was dropped after %d others", i)
			}
		}
	}
	if n := len(c.newer) + len(c.former); n > 2*maxOwners {
		t.Errorf("%d files are kept, want at most %d", n, 2*maxOwners)
	}
	if _, missing, _ := c.find(storedFiles("unused")); len(missing) != 1 {
		t.Error("an unused file is kept")
	}
	c.forget("used")
	if _, missing, _ := c.find(storedFiles("used")); len(missing) != 1 {
		t.Error("find returned a file after forget")
	}
}

func TestOwnerCacheDropsResultsOfReadsBeforeAChange(t *testing.T) {
	t.Parallel()
	var c ownerCache
	_, missing, state := c.find(storedFiles("f"))
	c.forget("f") // simulates that the record was added after the read
	c.add(missing, nil, state)
	_, missing, state = c.find(storedFiles("f"))
	if diff := cmp.Diff([]string{"f"}, missing); diff != "" {
		t.Error(diff)
	}
	c.add(missing, nil, state)
	if owners, missing, _ := c.find(storedFiles("f")); len(missing) > 0 || cmp.Diff(map[string][]batch.Owner{"f": nil}, owners) != "" {
		t.Errorf("owners %v, missing %v", owners, missing)
	}
}

// ownerStore has the owners of files.
type ownerStore struct {
	batch.Store // always nil; the test calls only the method below

	owners []batch.Owner
	read   [][]string // ids of each read
	err    error
}

func (s *ownerStore) FileOwners(_ context.Context, ids []string) (list []batch.Owner, err error) {
	s.read = append(s.read, ids)
	for _, id := range ids {
		for _, o := range s.owners {
			if o.ID == id {
				list = append(list, o)
			}
		}
	}
	return list, s.err
}

func (s *ownerStore) AddObject(_ context.Context, o batch.Object) error {
	s.owners = append(s.owners, batch.Owner{WorkspaceID: o.WorkspaceID, ID: o.ID, Provider: o.Provider, Credential: o.Credential})
	return nil
}

func TestOwnersAreReadInOneQuery(t *testing.T) {
	t.Parallel()
	db := &ownerStore{owners: []batch.Owner{{WorkspaceID: "a", ID: "shared"}, {WorkspaceID: "b", ID: "shared"}, {WorkspaceID: "b", ID: "one"}}}
	s := &Gateway{Parts: Parts{Objects: db, Owners: db}}
	files := storedFiles("one", "unknown", "shared", strings.Repeat("x", 300), "nul\x00", "bad\xff")
	for range 3 {
		owners, err := s.fileOwners(t.Context(), files)
		if err != nil || len(owners["shared"]) != 2 || len(owners["one"]) != 1 || len(owners["unknown"]) != 0 {
			t.Fatalf("owners %v, %v; want two for shared and one for one", owners, err)
		}
	}
	if diff := cmp.Diff([][]string{{"one", "unknown", "shared"}}, db.read); diff != "" {
		t.Error(diff)
	}
	// A new record replaces the cached result that the file has no owner.
	if err := s.addObject(t.Context(), batch.Object{WorkspaceID: "a", Kind: batch.File, ID: "unknown"}); err != nil {
		t.Fatal(err)
	}
	if owners, err := s.fileOwners(t.Context(), files); err != nil || len(owners["unknown"]) != 1 {
		t.Errorf("owners after the record was added: %v, %v", owners, err)
	}
	if diff := cmp.Diff([]string{"unknown"}, db.read[len(db.read)-1]); diff != "" {
		t.Error(diff)
	}
}

func TestOwnersNeedTheDatabase(t *testing.T) {
	t.Parallel()
	s := &Gateway{Parts: Parts{Owners: &ownerStore{err: errors.New("unreachable")}}}
	for range 2 {
		if _, err := s.fileOwners(t.Context(), storedFiles("f")); err == nil || llm.AsError(err).Kind != llm.LedgerUnavailable {
			t.Errorf("fileOwners without the database: %v, want LedgerUnavailable", err)
		}
	}
	none := &Gateway{}
	if owners, err := none.fileOwners(t.Context(), storedFiles("f")); owners != nil || err != nil {
		t.Errorf("fileOwners without owners = %v, %v; want nil, nil", owners, err)
	}
}
