package llm

import (
	"slices"
	"strings"
)

// StoredFile is a request's reference to a file that is stored in a provider account.
type StoredFile struct {
	ID    string
	Param string // request field that names the file
}

// MaxStoredFiles is the maximum number of different files that a request may name.
const MaxStoredFiles = 500

// AddStoredFile records the ID of a file that the request names in its field param. It ignores a URL such as https://example.com/a.pdf,
// because it is not a file ID. It records at most MaxStoredFiles+1 files, which is enough to detect a request with too many files.
func (s *ProviderState) AddStoredFile(id, param string) {
	known := func(f StoredFile) bool { return f.ID == id }
	if id == "" || len(s.StoredFiles) > MaxStoredFiles || strings.Contains(id, "://") || slices.ContainsFunc(s.StoredFiles, known) {
		return
	}
	s.StoredFiles = append(s.StoredFiles, StoredFile{ID: strings.Clone(id), Param: param}) // the clone does not share memory with the body
}
