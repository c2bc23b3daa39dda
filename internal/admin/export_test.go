package admin

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/requestlog"
)

// exportPage is the number of entries that an export reads at a time.
const exportPage = 200

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
}
