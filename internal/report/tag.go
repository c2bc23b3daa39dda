package report

import (
	"strings"

	"fairlead/internal/requestlog"
)

// tagCondition returns the condition of a tag filter: "name=value", or "name" for any value.
func tagCondition(filter string) Condition {
	name, value, valued := strings.Cut(filter, "=")
	c := Condition{Dimension: Tag(requestlog.Term(name)), Any: !valued}
	if valued {
		c.Values = []string{requestlog.Term(value)}
	}
	return c
}
