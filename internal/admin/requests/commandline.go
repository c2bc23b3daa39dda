package requests

import (
	"io"

	"fairlead/internal/account"
	"fairlead/internal/requestlog"
)

// What follows lets the command line show requests in the API's own words. Its user is the operator, who may read
// everything on the machine.

// RowOf is an entry as the API lists it.
func RowOf(e *requestlog.Entry) RequestRow { return requestRow(e, account.CommandLine(e.WorkspaceID)) }

// DetailOf is a whole entry as the API shows it.
func DetailOf(e *requestlog.Entry) RequestDetail {
	return requestDetail(e, account.CommandLine(e.WorkspaceID))
}

// BodyOf is the texts of a request as the API shows them, or why they are not there.
func BodyOf(state requestlog.BodyState, body requestlog.Body) RequestBody {
	if state != requestlog.BodyStored {
		return absentBody(state).Body
	}
	return RequestBody{
		State: string(state), Request: bodyText(body.Request), Response: bodyText(body.Response), Streamed: body.Streamed,
	}
}

// Sheet writes entries as the API exports them.
type Sheet struct{ sheet sheet }

// NewSheet writes the format csv or jsonl with these columns, joined by commas; empty for the usual ones.
func NewSheet(w io.Writer, format, columns string) (*Sheet, error) {
	chosen, err := chooseColumns(columns)
	if err != nil {
		return nil, err
	}
	return &Sheet{newSheet(format, w, chosen)}, nil
}

// Columns lists the names of all columns in their usual order.
func Columns() []string { return columnNames() }

// Begin writes what comes before the first entry.
func (s *Sheet) Begin() error { return s.sheet.begin() }

// Write adds one entry.
func (s *Sheet) Write(e *requestlog.Entry) error {
	row := RowOf(e)
	return s.sheet.row(&row)
}

// Flush sends what was written.
func (s *Sheet) Flush() error { return s.sheet.flush() }
