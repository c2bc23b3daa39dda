package vendormock

import (
	"regexp"

	"github.com/tidwall/gjson"
)

// Unanswered returns the IDs of the calls that have no result at the beginning of the next turn.
func Unanswered(calls []Part, turns []Turn, i int) []string {
	var lost []string
	for _, call := range calls {
		found := false
		if i+1 < len(turns) {
			for _, p := range turns[i+1].Parts {
				if p.Kind != ResultPart {
					break
				}
				found = found || p.ID == call.ID
			}
		}
		if !found {
			lost = append(lost, call.ID)
		}
	}
	return lost
}

// OpenObject reports whether a schema contains an object that allows additional members.
func OpenObject(schema gjson.Result) bool {
	open := schema.Get("type").String() == "object" && schema.Get("additionalProperties").Raw != "false"
	for _, path := range []string{"properties", "$defs", "definitions"} {
		schema.Get(gjson.Escape(path)).ForEach(func(_, member gjson.Result) bool {
			open = open || OpenObject(member)
			return !open
		})
	}
	for _, path := range []string{"anyOf", "allOf"} {
		for _, member := range schema.Get(path).Array() {
			open = open || OpenObject(member)
		}
	}
	return open || schema.Get("items").IsObject() && OpenObject(schema.Get("items"))
}

// Index matches the index of a list in a path such as contents.0.parts.
var Index = regexp.MustCompile(`\.(\d+)`)
