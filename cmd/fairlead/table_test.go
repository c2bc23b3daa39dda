package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleTable() *table {
	t := &table{columns: []column{{title: "NAME", soft: true}, {title: "COST", right: true}, {title: "STATE"}}}
	t.row("short", "$1.00", "ok")
	t.row("a rather long name", "$1,234.50", "failed")
	return t
}

func TestTableIsAligned(t *testing.T) {
	t.Parallel()
	want := []string{
		"NAME                     COST  STATE",
		"short                   $1.00  ok",
		"a rather long name  $1,234.50  failed",
	}
	if diff := cmp.Diff(want, sampleTable().lines(0, false)); diff != "" {
		t.Error(diff)
	}
}

func TestTableGivesWayInSoftColumnsFirst(t *testing.T) {
	t.Parallel()
	want := []string{
		"NAME             COST  STATE",
		"short           $1.00  ok",
		"a rather …  $1,234.50  failed",
	}
	if diff := cmp.Diff(want, sampleTable().lines(29, false)); diff != "" {
		t.Error(diff)
	}
}

func TestTableIsNeverWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	table := sampleTable()
	table.row("日本語の名前です、とても長い", "$0.00", "a last cell")
	for width := 1; width < 60; width++ {
		for _, line := range table.lines(width, false) {
			if widthOf(line) > width {
				t.Errorf("width %d: %q takes %d", width, line, widthOf(line))
			}
		}
	}
}

func TestTablePaintsOnlyOnDemand(t *testing.T) {
	t.Parallel()
	table := &table{columns: []column{{title: "A"}, {title: "B"}}}
	table.add(cell{"x", red}, cell{"y\x1b[31m", plain})
	if got := strings.Join(table.lines(0, false), ""); strings.Contains(got, "\x1b") {
		t.Errorf("escape codes without colours: %q", got)
	}
	if got := strings.Join(table.lines(0, true), "|"); !strings.Contains(got, "\x1b[31mx\x1b[0m") || strings.Count(got, "\x1b[31m") != 1 {
		t.Errorf("the cell is not painted, or one from outside is: %q", got)
	}
}

func TestLastCellOfAShortRowRunsOn(t *testing.T) {
	t.Parallel()
	table := &table{columns: []column{{title: "RANK", right: true}, {title: "TARGET"}, {title: "SCORE", right: true}, {title: "COST", right: true}}}
	table.row("1", "a/b", "0.9", "$1.00")
	table.row("—", "c/d", "excluded: its circuit is open")
	want := []string{
		"RANK  TARGET  SCORE   COST",
		"   1  a/b       0.9  $1.00",
		"   —  c/d     excluded: its circuit is open",
	}
	if diff := cmp.Diff(want, table.lines(0, false)); diff != "" {
		t.Error(diff)
	}
}
