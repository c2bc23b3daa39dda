package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleTable() *Table {
	t := &Table{Columns: []Column{{Title: "NAME", Soft: true}, {Title: "COST", Right: true}, {Title: "STATE"}}}
	t.Row("short", "$1.00", "ok")
	t.Row("a rather long name", "$1,234.50", "failed")
	return t
}

func TestTableIsAligned(t *testing.T) {
	t.Parallel()
	want := []string{
		"NAME                     COST  STATE",
		"short                   $1.00  ok",
		"a rather long name  $1,234.50  failed",
	}
	if diff := cmp.Diff(want, sampleTable().Lines(0, false)); diff != "" {
		t.Error(diff)
	}
}

func TestTableNarrowsSoftColumnsFirst(t *testing.T) {
	t.Parallel()
	want := []string{
		"NAME             COST  STATE",
		"short           $1.00  ok",
		"a rather …  $1,234.50  failed",
	}
	if diff := cmp.Diff(want, sampleTable().Lines(29, false)); diff != "" {
		t.Error(diff)
	}
}

func TestTableIsNeverWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	table := sampleTable()
	table.Row("日本語の名前です、とても長い", "$0.00", "a last cell")
	for width := 1; width < 60; width++ {
		for _, line := range table.Lines(width, false) {
			if Width(line) > width {
				t.Errorf("width %d: %q takes %d", width, line, Width(line))
			}
		}
	}
}
