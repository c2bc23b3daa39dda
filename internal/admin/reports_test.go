package admin

import (
	"context"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/admin/reports"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
)

// sliceReader returns the same groups for every query that groups requests.
type sliceReader struct{}

func (sliceReader) Slices(_ context.Context, q *report.Query) (report.Slices, error) {
	sums := func(requests int64, cost money.Amount) requestlog.Sums {
		return requestlog.Sums{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: requests, Served: requests, Priced: requests}, Spending: requestlog.Spending{Cost: cost}}}
	}
	if q.By == "" {
		return report.Slices{Kept: true, Rows: []report.Row{{Sums: sums(10, 5*money.Dollar)}}}, nil
	}
	found := report.Slices{Kept: true, Sampled: q.By == report.Session, Rows: []report.Row{{By: "key_read", Sums: sums(6, 3*money.Dollar)}, {By: "=cmd()", Sums: sums(3, money.Dollar)}}}
	if q.Then != "" {
		found.Rows[0].Then, found.Rows[1].Then = "a,b", "=x"
	}
	return found, nil
}

func TestReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fake.keys[home][1].Name = "ci"
	var got reports.Report
	s.call("GET", "/report?by=key&then=tag:team&from=now-1h", "", as("acc_owner")).want(200).into(&got)
	if len(got.Groups) != 2 || got.Groups[0].Label != "ci" || got.Groups[0].Filter["key"] != "key_read" || got.Groups[0].Cost != 3*money.Dollar ||
		got.Groups[0].Groups[0].Filter["tag"] == "" || got.Rest == nil || got.Rest.Requests != 1 || got.Total.Requests != 10 || got.Measure != "spend" {
		t.Errorf("%+v", got)
	}
	a := s.call("GET", "/report/export?by=user", "", as("acc_owner")).want(200)
	if text := a.Body.String(); !strings.Contains(text, "\ngroup,'=cmd(),'=cmd(),,,3,") || !strings.HasSuffix(strings.TrimSpace(text), ",,") || !strings.Contains(text, "\ntotal,,,,,10,") {
		t.Errorf("export: %s", text)
	}
	a = s.call("GET", "/report/export?by=session", "", as("acc_owner")).want(200)
	if text := a.Body.String(); !strings.Contains(text, "\nestimate,'=cmd(),") || !strings.Contains(text, "\ntotal,,,,,10,") {
		t.Errorf("export of a sample: %s", text)
	}
	s.call("GET", "/report?by=session", "", as("acc_owner")).want(200).into(&got)
	if !got.Sampled || got.Notes[0].Code != report.NoteSampled {
		t.Errorf("%+v", got)
	}
}

func TestReportSeries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fake.keys[home][1].Name = "ci"
	var got reports.ReportSeries
	s.call("GET", "/report/series?by=key&then=model&from=now-30d&limit=1&zone=Europe/Paris", "", as("acc_owner")).want(200).into(&got)
	if len(got.Groups) != 1 || got.Groups[0].Label != "ci" || got.Zone != "UTC" || len(got.Bins) != 31 || got.Bins[3].Total.Requests != 10 || got.Bins[3].Groups[0].Cost != 3*money.Dollar {
		t.Errorf("%+v", got)
	}
	s.call("GET", "/report/series?by=model&from=now-30d&zone=Europe/Paris", "", as("acc_owner")).want(200).into(&got)
	if got.Zone != "Europe/Paris" || len(got.Bins) != 31 || got.Bins[1].Start.Sub(got.Bins[0].Start) < 23*time.Hour {
		t.Errorf("%+v", got)
	}
	s.call("GET", "/report/series?by=key&zone=nowhere", "", as("acc_owner")).want(400)
}
