package llm

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStoredFilesAreDifferentIDs(t *testing.T) {
	t.Parallel()
	var s ProviderState
	for _, id := range []string{"file-1", "file-2", "file-1", "", "https://example.com/a.pdf", "gs://bucket/a.pdf", "files/a", "HTTPS://generativelanguage.googleapis.com/v1beta/files/b"} {
		s.AddStoredFile(id, "p")
	}
	if diff := cmp.Diff([]StoredFile{{"file-1", "p"}, {"file-2", "p"}, {"files/a", "p"}}, s.StoredFiles); diff != "" {
		t.Error(diff)
	}
}

func TestStoredFilesAreBounded(t *testing.T) {
	t.Parallel()
	var s ProviderState
	for i := range 3 * MaxStoredFiles {
		s.AddStoredFile("file-"+strconv.Itoa(i), "p")
	}
	if len(s.StoredFiles) != MaxStoredFiles+1 {
		t.Errorf("%d files, want %d", len(s.StoredFiles), MaxStoredFiles+1)
	}
}
