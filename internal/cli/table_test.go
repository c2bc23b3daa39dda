package cli

import (
	"strings"
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

func TestTableHasColoursOnlyOnDemand(t *testing.T) {
	t.Parallel()
	table := &Table{Columns: []Column{{Title: "A"}, {Title: "B"}}}
	table.Add(Cell{"x", Red}, Cell{"y\x1b[31m", Plain})
	if got := strings.Join(table.Lines(0, false), ""); strings.Contains(got, "\x1b") {
		t.Errorf("escape codes without colours: %q", got)
	}
	if got := strings.Join(table.Lines(0, true), "|"); !strings.Contains(got, "\x1b[31mx\x1b[0m") || strings.Count(got, "\x1b[31m") != 1 {
		t.Errorf("got %q, want colours for the red cell only", got)
	}
}

func TestLastCellOfAShortRowSpansColumns(t *testing.T) {
	t.Parallel()
	table := &Table{Columns: []Column{{Title: "RANK", Right: true}, {Title: "TARGET"}, {Title: "SCORE", Right: true}, {Title: "COST", Right: true}}}
	table.Row("1", "a/b", "0.9", "$1.00")
	table.Row("—", "c/d", "excluded: its circuit is open")
	want := []string{
		"RANK  TARGET  SCORE   COST",
		"   1  a/b       0.9  $1.00",
		"   —  c/d     excluded: its circuit is open",
	}
	if diff := cmp.Diff(want, table.Lines(0, false)); diff != "" {
		t.Error(diff)
	}
}
