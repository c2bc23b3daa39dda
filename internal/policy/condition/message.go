package condition

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/operators"

	"fairlead.dev/internal/document"
)

// offsetOf converts a CEL location to an offset in characters.
func (c *compiler) offsetOf(at common.Location) int {
	if at.Line() < 1 {
		return 0 // the error refers to the whole condition
	}
	offset := 0
	for i, line := range strings.SplitAfter(c.source, "\n") {
		if i == at.Line()-1 {
			break
		}
		offset += len([]rune(line))
	}
	return max(0, offset+at.Column())
}

// unexpected matches the token that the CEL parser rejected.
var unexpected = regexp.MustCompile(`^(?:mismatched|extraneous) input '(.*)' expecting|^token recognition error at: '(.*)'$|^no viable alternative at input '(.*)'$`)

func plainSyntax(message string) (text, hint string, width int) {
	message = strings.TrimPrefix(message, "Syntax error: ")
	if strings.Contains(message, "recursion limit") {
		return "the condition is nested too deeply", "", 1
	}
	m := unexpected.FindStringSubmatch(message)
	if m == nil {
		return document.Clean(strings.ToLower(message[:min(1, len(message))]) + message[min(1, len(message)):]), "", 1
	}
	word := strings.TrimSpace(m[1] + m[2] + m[3])
	width = len([]rune(word))
	switch strings.ToLower(word) {
	case "<eof>", "":
		return "the condition ends too early", "", 1
	case "and":
		return `unexpected "` + word + `"`, "write &&", width
	case "or":
		return `unexpected "` + word + `"`, "write ||", width
	case "not":
		return `unexpected "` + word + `"`, "write !", width
	case "=":
		return `unexpected "="`, "write == to compare", width
	}
	if m[2] != "" && strings.ContainsAny(m[2][:1], `"'`) {
		return "this text has no closing quotation mark", "", width
	}
	return "unexpected " + document.Quote(word), "", width
}

var overload = regexp.MustCompile(`^found no matching overload for '(.*)' applied to '(.*)'$`)

func plainType(message string) (text string, width int) {
	message = strings.TrimSuffix(message, " (in container '')")
	m := overload.FindStringSubmatch(message)
	if m == nil {
		return document.Clean(message), 1
	}
	name := m[1]
	if symbol, ok := operators.FindReverse(name); ok && symbol != "" {
		name = symbol
	}
	if name == operators.Index {
		name = "[]"
	}
	width = len([]rune(name))
	if m[1] == name {
		width = 1 // for a function, CEL reports the position of its bracket
	}
	return document.Quote(name) + " cannot be applied to " + strings.Join(operands(m[2]), " and "), width
}

// operands returns the type names in a list such as string.(int) or (string, map(string, string)).
func operands(list string) []string {
	list = strings.TrimSuffix(strings.Replace(strings.TrimPrefix(list, "("), ".(", ", ", 1), ")")
	var names []string
	depth, start := 0, 0
	for i, r := range list + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			names = append(names, plainName(strings.TrimSpace(list[start:min(i, len(list))])))
			start = i + 1
		}
	}
	return names
}

func plainName(name string) string {
	name, _, _ = strings.Cut(name, "(")
	switch name {
	case "string":
		return "text"
	case "int", "uint", "double":
		return "number"
	case "bool":
		return "true or false"
	case "google.protobuf.Timestamp", "timestamp":
		return "time"
	case "google.protobuf.Duration":
		return "duration"
	case "map":
		return "map of text"
	}
	return name
}
