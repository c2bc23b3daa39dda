package admin

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/requestlog"
)

// exportPage is the number of entries that an export reads at a time.
const exportPage = 200

func TestCSVNeutralizesFormulas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, nasty := range []string{"=1+1", "+1", "-1", "@x", "\tx", "\rx", "a=b", `he said "x", then`, "two\nlines"} {
		e := entry(numbered(i), home)
		e.EndUser, e.Tags, e.Cost = nasty, map[string]string{nasty: "1"}, e.BaselineCost
		e.BaselineCost = new(*e.Cost / 3)
		s.log.entries = append(s.log.entries, e)
	}
	got := s.call("GET", "/requests/export?columns=id,end_user,saved_usd,tags", "", as("acc_viewer")).want(200)
	if ct := got.Header().Get("Content-Type"); ct != "text/csv; charset=utf-8" || !strings.Contains(got.Header().Get("Content-Disposition"), "requests.csv") {
		t.Errorf("headers: %v", got.Header())
	}
	rows, err := csv.NewReader(got.Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	users := []string{}
	for i, row := range rows {
		if i > 0 {
			users = append([]string{row[1]}, users...)
			if row[2] != "-0.006002" {
				t.Errorf("saved_usd = %q, want -0.006002", row[2])
			}
			if strings.ContainsAny(row[3][:1], "=+-@\t\r") {
				t.Errorf("tags begin with %q", row[3])
			}
		}
	}
	want := []string{"'=1+1", "'+1", "'-1", "'@x", `'\tx`, `'\rx`, "a=b", `he said "x", then`, `two\nlines`}
	if diff := cmp.Diff(want, users); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"id", "end_user", "saved_usd", "tags"}, rows[0]); diff != "" {
		t.Error(diff)
	}
}

func TestExportWritesTimesInZone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, at := range []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"} { // the clocks go back between these two times
		e := entry(numbered(i), home)
		e.Time, _ = time.Parse(time.RFC3339, at)
		s.log.entries = append(s.log.entries, e)
	}
	for zone, want := range map[string]string{
		"":              "time\n2026-10-25T01:30:00Z\n2026-10-25T00:30:00Z\n",
		"UTC":           "time\n2026-10-25T01:30:00Z\n2026-10-25T00:30:00Z\n",
		"Europe/Berlin": "time\n2026-10-25T02:30:00+01:00\n2026-10-25T02:30:00+02:00\n",
	} {
		got := s.call("GET", "/requests/export?columns=time&from=2026-10-24T00:00:00Z&zone="+zone, "", as("acc_viewer")).want(200)
		if diff := cmp.Diff(want, got.Body.String()); diff != "" {
			t.Errorf("%q: %s", zone, diff)
		}
	}
	s.call("GET", "/requests/export?zone=Mars", "", as("acc_viewer")).want(400)
}

func TestExportIncludesAllPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 2*exportPage + 1 {
		s.log.entries = append(s.log.entries, entry(numbered(i), home))
	}
	s.log.entries[3].Model = "small"
	got := s.call("GET", "/requests/export?format=jsonl&model=gpt&columns=id,cost_usd,model,stream,policy", "", as("acc_owner")).want(200)
	lines := strings.Split(strings.TrimSpace(got.Body.String()), "\n")
	if len(lines) != 2*exportPage {
		t.Fatalf("got %d lines, want %d", len(lines), 2*exportPage)
	}
	if want := `{"id":"req_400","cost_usd":"0.003001","model":"gpt","stream":false,"policy":null}`; lines[0] != want {
		t.Errorf("%s\nwant %s", lines[0], want)
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Fatalf("not JSON: %s", line)
		}
	}
}

func TestExportReportsErrorsBeforeAndAfterFirstByte(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range exportPage + 1 {
		s.log.entries = append(s.log.entries, entry(numbered(i), home))
	}
	s.log.failAt = 1
	s.call("GET", "/requests/export", "", as("acc_owner")).rejected(http.StatusInternalServerError, "INTERNAL_ERROR")
	s.log.failAt = s.log.lists + 2
	defer func() {
		if recover() != http.ErrAbortHandler { //nolint:errorlint // recover returns the panic value, which is not wrapped
			t.Error("the failed export was not aborted")
		}
	}()
	s.call("GET", "/requests/export", "", as("acc_owner"))
}

func TestExportContinuesUnfinishedSearch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 10 {
		s.log.entries = append(s.log.entries, entry(numbered(i), home))
	}
	s.log.stops = []string{numbered(7), numbered(2)}
	got := s.call("GET", "/requests/export?columns=id&q=how", "", as("acc_owner")).want(200)
	lines := strings.Fields(got.Body.String())
	want := []string{"id"}
	for i := range 10 {
		want = append(want, numbered(9-i))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestExportColumns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry("req_1", home)}
	bad := s.call("GET", "/requests/export?columns=id,modell", "", as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	if bad.Details.Problems[0].Suggestion != "model" {
		t.Errorf("%+v", bad.Details)
	}
	usual := s.call("GET", "/requests/export", "", as("acc_owner")).want(200)
	rows, err := csv.NewReader(usual.Body).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[0]) != 25 {
		t.Fatalf("%v %v", rows, err)
	}
	all := s.call("GET", "/requests/export?columns="+strings.Join(requests.Columns(), ","), "", as("acc_viewer")).want(200)
	if strings.Contains(all.Body.String(), "how do I") {
		t.Error("the export of a viewer contains prompts")
	}
}

func TestExportHasNoRawControlCharacters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := entry(numbered(1), home)
	e.EndUser = "a\x1b[2J\u009b\x7f\tb\r\nc"
	s.log.entries = append(s.log.entries, e)
	for format, want := range map[string]string{
		"csv":   `a\u001b[2J\u009b\u007f\tb\r\nc`,
		"jsonl": `{"end_user":"a\u001b[2J\u009b\u007f\tb\r\nc"}`,
	} {
		got := s.call("GET", "/requests/export?columns=end_user&format="+format, "", as("acc_viewer")).want(200).Body.String()
		if line := strings.TrimPrefix(strings.TrimSuffix(got, "\n"), "end_user\n"); line != want {
			t.Errorf("%s: %q, want %q", format, line, want)
		}
	}
}
