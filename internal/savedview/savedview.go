// Package savedview defines the saved views of the request list and of the report, which the members of a workspace share.
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
	// ErrNameTaken is returned when another view of the workspace has the name.
	ErrNameTaken = errors.New("a view with this name exists")
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
	Filters     map[string]string // parameters of the page, including the time range
	Columns     []string          // column names of the dashboard in order; empty for the default columns
	Sort        string            // sort order of the request list; empty for newest first
	CreatedBy   string            // ID of an account or a key
	CreatedAt   time.Time
}
