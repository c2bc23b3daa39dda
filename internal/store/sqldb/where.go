package sqldb

import (
	"fmt"
	"strings"
)

// Where collects the conditions and arguments of a statement.
type Where struct {
	Conds []string
	Args  []any
}

// Arg adds an argument and returns its placeholder.
func (w *Where) Arg(v any) string {
	w.Args = append(w.Args, v)
	return fmt.Sprintf("$%d", len(w.Args))
}

// And adds a condition. Each %s in the format is replaced with the placeholder of an argument.
func (w *Where) And(format string, args ...any) {
	marks := make([]any, len(args))
	for i, v := range args {
		marks[i] = w.Arg(v)
	}
	w.Conds = append(w.Conds, fmt.Sprintf(format, marks...))
}

// In adds the condition that a column has one of the values. Without values, it adds no condition.
func (w *Where) In(column string, values []string) {
	if len(values) > 0 {
		w.Conds = append(w.Conds, column+" in ("+w.Marks(values)+")")
	}
}

// Marks adds values as arguments and returns their placeholders.
func (w *Where) Marks(values []string) string {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = w.Arg(v)
	}
	return strings.Join(marks, ",")
}

// String returns the conditions joined with "and".
func (w *Where) String() string { return strings.Join(w.Conds, " and ") }

// Placeholders returns "$from,$from+1,…" with n placeholders.
func Placeholders(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "$%d", from+i)
	}
	return b.String()
}
