package reportstore

import (
	"testing"
	"time"

	"fairlead/internal/report"
	"fairlead/internal/requestlog"
)

// Blocks that are cut off or changed are rejected or read as other facts; they never cause a panic.
func TestMalformedBlocksAreRejected(t *testing.T) {
	t.Parallel()
	b := &builder{}
	for i := range 5 {
		b.add(&requestlog.Entry{Model: string(rune('a' + i)), Time: time.Unix(int64(i), 0), Tags: map[string]string{"team": "x"}})
	}
	data := b.encode()
	read := func(data []byte) error {
		parsed, err := parseBlock(data)
		if err != nil {
			return err
		}
		if err := new(builder).append(parsed); err != nil {
			return err
		}
		return parsed.scan(&selection{by: report.Model, then: report.Tag("team"), conditions: []report.Condition{{Dimension: report.User, Values: []string{""}}}}, 0, 60, sums{})
	}
	if err := read(data); err != nil {
		t.Fatal(err)
	}
	for n := range len(data) {
		if err := read(data[:n]); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(data))
		}
		for _, value := range []byte{0, 1, 0x7f, 0xff} {
			changed := append([]byte{}, data...)
			changed[n] = value
			_ = read(changed)
		}
	}
}

func TestGrainsHaveOneName(t *testing.T) {
	t.Parallel()
	for _, g := range grains([]string{"b", "a"}) {
		if got := newGrain(g[1], g[0]); g[1] != "" && got != g {
			t.Errorf("%q, in the other order %q", g, got)
		}
	}
}
