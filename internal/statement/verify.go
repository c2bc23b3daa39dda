package statement

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Difference is a figure that differs between the statement and the log.
type Difference struct {
	Line      string `json:"line"`  // name of the line, such as "days 2026-11-14"
	Field     string `json:"field"` // name of the field, such as "cost_usd"
	Statement string `json:"statement"`
	Log       string `json:"log"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s is %s in the statement, %s in the log", d.Line, d.Field, d.Statement, d.Log)
}

// absent is shown for a figure that is missing from the statement or the log.
const absent = "absent"

// Verify recomputes a statement from the log and returns the differences. If the file was edited, the first differences are the
// checksum of the statement and the HTML page.
func Verify(ctx context.Context, sources Sources, s *Statement) ([]Difference, error) {
	var list []Difference
	if sum := s.sum(); sum != s.Checksum {
		list = append(list, Difference{"statement", "checksum", s.Checksum, sum + " for the content of the file"})
	}
	if s.page != nil { // check the page too, because people read the page and not its JSON
		var page bytes.Buffer
		if err := s.HTML(&page); err != nil {
			return nil, err
		}
		if !bytes.Equal(withoutCR(s.page), withoutCR(page.Bytes())) {
			list = append(list, Difference{"statement", "page", "changed or written by another version", "computed from the data of the file"})
		}
	}
	month, err := ParseMonth(s.Month)
	if err != nil {
		return nil, err
	}
	again := &Statement{
		Format: s.Format, Month: s.Month, CreatedAt: s.CreatedAt, Program: s.Program,
		WorkspaceID: s.WorkspaceID, Workspace: s.Workspace, Simulated: s.Simulated, Method: method, Checksum: s.Checksum,
	}
	again.setPeriod(month)
	if err := again.compute(ctx, sources); err != nil {
		return nil, err
	}
	stated, err := figuresOf(s)
	if err != nil {
		return nil, err
	}
	logged, err := figuresOf(again)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(stated)
	maps.Copy(all, logged)
	byLine := func(a, b place) int { return cmp.Compare(a.line+"\x00"+a.field, b.line+"\x00"+b.field) }
	for _, at := range slices.SortedFunc(maps.Keys(all), byLine) {
		a, inStatement := stated[at]
		b, inLog := logged[at]
		if !inStatement {
			a = absent
		}
		if !inLog {
			b = absent
		}
		if a != b {
			list = append(list, Difference{at.line, at.field, a, b})
		}
	}
	return list, nil
}

// withoutCR converts CRLF line endings to LF.
func withoutCR(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// place identifies a figure by its line and field.
type place struct{ line, field string }

// figuresOf returns all figures of a statement by line and field.
func figuresOf(s *Statement) (map[place]string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	all := map[place]string{}
	collect(all, "statement", "", tree)
	return all, nil
}

// collect adds the figures of a JSON value. Each list element and each object at the top level becomes a line. The fields of
// other objects get dotted names, such as a.b.
func collect(all map[place]string, line, field string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			switch {
			case field != "":
				name = field + "." + name
			case line == "statement":
				if _, isLine := member.(map[string]any); isLine {
					collect(all, name, "", member)
					continue
				}
			}
			collect(all, line, name, member)
		}
	case []any:
		seen := map[string]int{}
		for i, element := range v {
			name := strconv.Itoa(i + 1)
			if object, ok := element.(map[string]any); ok {
				switch {
				case object["name"] != nil:
					name = fmt.Sprint(object["name"])
				case object["kind"] != nil:
					name = fmt.Sprint(object["kind"], " ", object["version"])
				}
			}
			if seen[name]++; seen[name] > 1 { // a repeated line must not replace the first one
				name += fmt.Sprintf(" (%d)", seen[name])
			}
			if line != "statement" {
				name = line + " " + field + " " + name
			} else {
				name = field + " " + name
			}
			if _, isObject := element.(map[string]any); isObject {
				collect(all, name, "", element)
			} else {
				collect(all, name, "value", element)
			}
		}
	case nil:
		all[place{line, field}] = "unknown"
	case float64:
		all[place{line, field}] = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		all[place{line, field}] = fmt.Sprint(v)
	}
}
