package requests

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire/show"
)

const (
	exportPage = 200
	// exportStall is the time limit for a client to read a page.
	exportStall = time.Minute
	// exportSearch is the time limit for the search for a page. The next page continues the search.
	exportSearch = 2 * time.Second
)

type exportInput struct {
	Filters
	Format  string `query:"format" enum:"csv,jsonl" default:"csv"`
	Columns string `query:"columns" maxLength:"1000" doc:"Comma-separated columns. Defaults to the most common ones." example:"id,time,model,cost_usd"`
	Zone    string `query:"zone" maxLength:"100" doc:"IANA time zone for times in the export. Defaults to UTC." example:"Europe/Paris"`
}

func (a *handlers) registerExport() {
	adminapi.Register(a.Server, account.ReadRequests, huma.Operation{
		OperationID: "export-requests", Method: http.MethodGet, Path: "/requests/export", Tags: []string{"requests"},
		Summary: "Export matching requests as CSV or JSON lines, newest first",
		Description: "The response is a stream of unlimited length. It is complete only if the connection closes normally. Columns: " + strings.Join(columnNames(), ", ") +
			". In CSV, values that a spreadsheet would interpret as a formula are prefixed with an apostrophe.",
		Responses: map[string]*huma.Response{"200": {Description: "The export.", Content: map[string]*huma.MediaType{
			"text/csv":             {Schema: &huma.Schema{Type: huma.TypeString}},
			"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}, func(ctx context.Context, c *adminapi.Call, in *exportInput) (*huma.StreamResponse, error) {
		f, _, err := ParseFilter(c, a.Now())
		if err != nil {
			return nil, err
		}
		chosen, err := chooseColumns(in.Columns)
		if err != nil {
			return nil, err
		}
		zone, err := ZoneChoice{in.Zone}.Location()
		if err != nil {
			return nil, err
		}
		if f.To.IsZero() {
			f.To = a.Now() // exclude requests that arrive during the export
		}
		first, next, err := a.exportPage(ctx, f, "")
		if err != nil {
			return nil, err // the response has not started, so the client receives the error
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			out.SetHeader("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}[in.Format])
			out.SetHeader("Content-Disposition", `attachment; filename="requests.`+in.Format+`"`)
			out.SetStatus(http.StatusOK)
			rows := newSheet(in.Format, out.BodyWriter(), chosen)
			if zone != nil {
				rows = zonedSheet{rows, zone}
			}
			if err := a.export(ctx, c.Actor, f, first, next, rows); err != nil {
				a.Log.WarnContext(ctx, "export ended early", "request_id", c.RequestID, "error", err)
				panic(http.ErrAbortHandler) // abort the connection, so that the partial export is not mistaken for a complete one
			}
		}}, nil
	})
}

// exportPage returns a page and the cursor of the next page, which is empty on the last page. A search that reaches its time
// limit returns a partial page, and the next page continues the search.
func (a *handlers) exportPage(ctx context.Context, f requestlog.Filter, before string) (page []requestlog.Entry, next string, err error) {
	page, err = a.Requests.Entries(ctx, f, requestlog.Page{Before: before, Limit: exportPage, Within: exportSearch})
	if unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err); partial {
		return page, unfinished.Before, nil
	}
	if err == nil && len(page) == exportPage {
		next = page[len(page)-1].ID
	}
	return page, next, err
}

// export writes all pages. It loads each page after sending the previous one.
func (a *handlers) export(ctx context.Context, by account.Actor, f requestlog.Filter, page []requestlog.Entry, next string, out sheet) error {
	if err := out.begin(); err != nil {
		return err
	}
	for {
		for i := range page {
			row := exportRow{requestRow(&page[i], by), &page[i]}
			if err := out.row(&row); err != nil {
				return err
			}
		}
		if err := out.flush(); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		var err error
		if page, next, err = a.exportPage(ctx, f, next); err != nil {
			return err
		}
	}
}

// sheet is an export format.
type sheet interface {
	begin() error
	row(r *exportRow) error
	flush() error // sends buffered rows
}

func newSheet(format string, w io.Writer, columns []column) sheet {
	if format == "jsonl" {
		return &lineSheet{w: w, columns: columns}
	}
	return &csvSheet{out: w, w: csv.NewWriter(w), columns: columns}
}

// zonedSheet writes times in a time zone instead of UTC.
type zonedSheet struct {
	sheet
	zone *time.Location
}

func (s zonedSheet) row(r *exportRow) error {
	r.Time = r.Time.In(s.zone)
	return s.sheet.row(r)
}

// csvSheet writes CSV with a header.
type csvSheet struct {
	out     io.Writer
	w       *csv.Writer
	columns []column
}

func (s *csvSheet) begin() error {
	names := []string{}
	for _, c := range s.columns {
		names = append(names, c.name)
	}
	return s.w.Write(names)
}

func (s *csvSheet) row(r *exportRow) error {
	cells := []string{}
	for _, c := range s.columns {
		switch v := c.value(r).(type) {
		case nil:
			cells = append(cells, "")
		case string:
			cells = append(cells, Neutral(v)) // only strings are changed, so that negative numbers stay numbers
		default:
			cells = append(cells, fmt.Sprint(v))
		}
	}
	return s.w.Write(cells)
}

func (s *csvSheet) flush() error {
	s.w.Flush()
	if err := s.w.Error(); err != nil {
		return err
	}
	return adminapi.Flush(s.out, exportStall)
}

// Neutral returns s in a form that a spreadsheet does not interpret as a formula. Spreadsheets in many locales split a
// comma-separated file at semicolons, even within quotes, so formulas after a semicolon are neutralised as well. Control
// characters are escaped, because they could end a row or control a terminal.
func Neutral(s string) string {
	var b strings.Builder
	starts := true // whether the next character is at the start of a cell
	for _, r := range s {
		if starts && strings.ContainsRune("=+-@\t\r\n＝＋－＠", r) {
			b.WriteByte('\'')
		}
		starts = r == ';' || starts && (r == ' ' || r == '"' || r == '\u00a0')
		writePrintable(&b, r)
	}
	return b.String()
}

func writePrintable(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case show.Harmful(r):
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		b.WriteRune(r)
	}
}

// lineSheet writes one JSON object per line, with fields in column order.
type lineSheet struct {
	w       io.Writer
	columns []column
}

func (s *lineSheet) begin() error { return nil }

func (s *lineSheet) row(r *exportRow) error {
	line := []byte{'{'}
	for i, c := range s.columns {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, '"')
		line = append(line, c.name...)
		line = append(line, '"', ':')
		value, err := json.Marshal(c.value(r))
		if err != nil {
			return err
		}
		line = append(line, show.EscapeJSON(value)...)
	}
	_, err := s.w.Write(append(line, '}', '\n'))
	return err
}

func (s *lineSheet) flush() error { return adminapi.Flush(s.w, exportStall) }
