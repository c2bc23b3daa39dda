package requests

import (
	"io"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/requestlog"
)

// The functions below return request data for the command line. They omit nothing, because command-line users are operators.

// RowOf returns the row of an entry.
func RowOf(e *requestlog.Entry) RequestRow { return requestRow(e, account.CommandLine(e.WorkspaceID)) }

// DetailOf returns the details of an entry.
func DetailOf(e *requestlog.Entry) RequestDetail {
	return requestDetail(e, account.CommandLine(e.WorkspaceID))
}

// ExportOf returns the details of an entry for export. Without bodies, it omits the text that the permission read_bodies protects.
func ExportOf(e *requestlog.Entry, bodies bool) RequestDetail {
	d := DetailOf(e)
	if bodies {
		return d
	}
	d.RequestRow = requestRow(e, account.Actor{Role: account.Viewer})
	for i := range d.Tries {
		d.Tries[i].Message = nil
	}
	return d
}

// BodyOf returns the bodies of a request, or why they are not available.
func BodyOf(state requestlog.BodyState, body requestlog.Body) RequestBody {
	if state != requestlog.BodyStored {
		return absentBody(state).Body
	}
	return storedBody(body)
}

// Sheet writes entries in an export format.
type Sheet struct{ sheet sheet }

// NewSheet returns a Sheet in the format csv or jsonl. columns is a comma-separated list, or empty for the default columns.
func NewSheet(w io.Writer, format, columns string) (*Sheet, error) {
	chosen, err := chooseColumns(columns)
	if err != nil {
		return nil, err
	}
	return &Sheet{newSheet(format, w, chosen)}, nil
}

// Columns lists all columns in default order.
func Columns() []string { return columnNames() }

// Begin writes the header.
func (s *Sheet) Begin() error { return s.sheet.begin() }

// Write writes the row of an entry.
func (s *Sheet) Write(e *requestlog.Entry) error {
	return s.sheet.row(&exportRow{RowOf(e), e})
}

// Flush writes buffered entries.
func (s *Sheet) Flush() error { return s.sheet.flush() }
