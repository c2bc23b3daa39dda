package statement

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
)

//go:embed statement.html
var source string

// scriptStart is the tag that precedes the statement's JSON in the page.
const scriptStart = `<script type="application/json" id="statement">`

var page = template.Must(template.New("statement").Funcs(template.FuncMap{
	"usd":        func(a money.Amount) string { return a.Display() },
	"net":        func(s *Statement) money.Amount { return s.Total.Saved.Sub(*s.ComparisonCost) },
	"count":      grouped,
	"number":     func(n int) string { return grouped(int64(n)) },
	"share":      share,
	"points":     points,
	"lineTable":  func(title string, lines []Line) table { return table{Title: title, Lines: lines} },
	"groupTable": func(title string, groups []proof.QualityGroup) table { return table{Title: title, Groups: groups} },
	"date":       func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
}).Parse(source))

// HTML writes the statement as a page for reading and printing. The page contains the statement as JSON, so that Parse can read it.
func (s *Statement) HTML(w io.Writer) error {
	if err := page.Execute(w, s); err != nil {
		return fmt.Errorf("write statement: %w", err)
	}
	return nil
}

// grouped formats a number with thousands separators.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// share formats part/whole as a percentage.
func share(part, whole money.Amount) string {
	if whole <= 0 {
		return "—"
	}
	return strconv.FormatFloat(100*part.Dollars()/whole.Dollars(), 'f', 1, 64) + " %"
}

// points formats an estimated difference in percentage points with its interval.
func points(e *proof.Estimate) string {
	if e == nil {
		return "too few comparisons"
	}
	return fmt.Sprintf("%+.1f points (95 %% interval %+.1f to %+.1f)", 100*e.Value, 100*e.Low, 100*e.High)
}

// table holds the data of a table in the page.
type table struct {
	Title  string
	Lines  []Line
	Groups []proof.QualityGroup
}
