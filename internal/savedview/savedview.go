// Package savedview defines saved views of the request list and the report. The members of a workspace share them.
package savedview

import (
	"errors"
	"time"
)

// Max is the maximum number of views in a workspace.
const Max = 100

var (
	// ErrNotFound is returned when the workspace has no view with the ID.
	ErrNotFound = errors.New("saved view not found")
	// ErrNameTaken is returned when another view in the workspace has the same name.
	ErrNameTaken = errors.New("a view with this name already exists")
	// ErrTooMany is returned when the workspace has Max views.
	ErrTooMany = errors.New("too many saved views")
)

// The pages that have views.
const (
	Requests = ""
	Report   = "report"
)

// View is a named selection of requests: filters, order and columns.
type View struct {
	ID          string
	WorkspaceID string
	Name        string
	Page        string            // Requests or Report
	Filters     map[string]string // query parameters of the page, including the time range
	Columns     []string          // dashboard columns in display order; empty for the default columns
	Sort        string            // sort order of the request list; empty for newest first
	CreatedBy   string            // ID of the account or key that created the view
	CreatedAt   time.Time
}
