package reportstore

import (
	"testing"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
)

// Truncated or changed blocks return an error or are read as other facts. They never cause a panic.
func TestMalformedBlocksAreRejected(t *testing.T) {
	t.Parallel()
	b := &builder{}
	for i := range 5 {
		b.add(&requestlog.Entry{Routing: requestlog.Routing{Model: string(rune('a' + i))}, Timing: requestlog.Timing{Time: time.Unix(int64(i), 0)}, Labels: requestlog.Labels{Tags: map[string]string{"team": "x"}}})
	}
	data := b.encode()
	read := func(data []byte) error {
		parsed, err := parseBlock(data)
		if err != nil {
			return err
		}
		if err := new(builder).append(parsed, nil); err != nil {
			return err
		}
		return new(grouping).add(parsed, newSelection(report.Model, report.Tag("team"), report.Condition{Dimension: report.User, Values: []string{""}}))
	}
	if err := read(data); err != nil {
		t.Fatal(err)
	}
	for n := range len(data) {
		if err := read(data[:n]); err == nil {
			t.Errorf("read accepted %d of %d bytes, want an error", n, len(data))
		}
		for _, value := range []byte{0, 1, 0x7f, 0xff} {
			changed := append([]byte{}, data...)
			changed[n] = value
			_ = read(changed)
		}
	}
}

// The measure of a stored group equals the measure of its figures.
func TestStoredMeasureEqualsThatOfFigures(t *testing.T) {
	t.Parallel()
	d := &day{}
	for i, n := range d.find("a", "b").sums().Counts() {
		*n = int64(i*i - 50)
	}
	want := d.groups[0].row.Figures
	stored, err := parseDay(grain{report.User, report.Model}, d.encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range report.Measures() {
		if m == report.Latency { // weigh does not support it, because it needs the histograms
			continue
		}
		if got, requests := stored.weigh(0, m); got != m.Of(&want) || requests != want.Requests {
			t.Errorf("measure %s = %d of %d requests, want %d of %d", m, got, requests, m.Of(&want), want.Requests)
		}
	}
}

func TestPruneKeepsTheTotal(t *testing.T) {
	t.Parallel()
	d := &day{}
	for i := range 50 {
		row := d.find(string(rune('A'+i)), "").sums()
		row.Requests, row.Cost = int64(i+1), money.Amount(1000-i)
	}
	d.prune(10)
	requests := d.rest.Requests
	for _, g := range d.groups {
		requests += g.row.Requests
	}
	if len(d.groups) != 20 || requests != 50*51/2 {
		t.Errorf("%d groups, %d requests; want 20 and 1275", len(d.groups), requests)
	}
}
