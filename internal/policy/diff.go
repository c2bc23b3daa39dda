package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Diff returns the differences between two documents as a unified diff with three lines of context. It is empty if the documents
// are equal.
func Diff(before, after []byte) string {
	edits := compare(lines(before), lines(after))
	var b strings.Builder
	for start := 0; start < len(edits); {
		first := nextChange(edits, start)
		if first == len(edits) {
			break
		}
		end := first + 1
		for next := nextChange(edits, end); next < len(edits) && next-end <= 2*contextLines; next = nextChange(edits, end) {
			end = next + 1
		}
		writeHunk(&b, edits, max(start, first-contextLines), min(len(edits), end+contextLines))
		start = min(len(edits), end+contextLines)
	}
	return b.String()
}

// contextLines is the number of unchanged lines shown before and after a change.
const contextLines = 3

// edit is an unchanged (' '), removed ('-') or added ('+') line.
type edit struct {
	sign byte
	text string
}

func lines(source []byte) []string {
	if len(source) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(source, []byte("\n"))), "\n")
}

func nextChange(edits []edit, from int) int {
	for i := from; i < len(edits); i++ {
		if edits[i].sign != ' ' {
			return i
		}
	}
	return len(edits)
}

func writeHunk(b *strings.Builder, edits []edit, start, end int) {
	oldLine, newLine := 1, 1
	count := func(e edit) (old, new int) {
		switch e.sign {
		case '-':
			return 1, 0
		case '+':
			return 0, 1
		}
		return 1, 1
	}
	for _, e := range edits[:start] {
		o, n := count(e)
		oldLine, newLine = oldLine+o, newLine+n
	}
	oldCount, newCount := 0, 0
	for _, e := range edits[start:end] {
		o, n := count(e)
		oldCount, newCount = oldCount+o, newCount+n
	}
	if oldCount == 0 {
		oldLine-- // an empty range refers to the preceding line
	}
	if newCount == 0 {
		newLine--
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldLine, oldCount, newLine, newCount)
	for _, e := range edits[start:end] {
		b.WriteByte(e.sign)
		b.WriteString(e.text + "\n")
	}
}

// maxCells limits the size of the table in compare. For larger input, everything between the first and the last change is
// reported as changed.
const maxCells = 4 << 20

// compare returns the edits that turn before into after. The list is minimal unless the input is too large.
func compare(before, after []string) []edit {
	var head, tail []edit
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		head = append(head, edit{' ', before[0]})
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		tail = append(tail, edit{' ', before[len(before)-1]})
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, middle(before, after), tail)
}

func middle(before, after []string) []edit {
	width := len(after) + 1
	var common []uint16 // common[i*width+j] is the number of common lines of before[i:] and after[j:]; a document has fewer than 65,536 lines
	if (len(before)+1)*width <= maxCells {
		common = make([]uint16, (len(before)+1)*width)
		for i := len(before) - 1; i >= 0; i-- {
			for j := len(after) - 1; j >= 0; j-- {
				if before[i] == after[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
	}
	var edits []edit
	i, j := 0, 0
	for i < len(before) && j < len(after) && common != nil {
		switch {
		case before[i] == after[j]:
			edits = append(edits, edit{' ', before[i]})
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			edits = append(edits, edit{'-', before[i]})
			i++
		default:
			edits = append(edits, edit{'+', after[j]})
			j++
		}
	}
	for ; i < len(before); i++ {
		edits = append(edits, edit{'-', before[i]})
	}
	for ; j < len(after); j++ {
		edits = append(edits, edit{'+', after[j]})
	}
	return edits
}
