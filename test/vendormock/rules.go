package vendormock

import (
	"regexp"

	"github.com/tidwall/gjson"
)

// Unanswered lists the calls without a result at the beginning of the next turn.
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

// OpenObject finds an object that does not say that it has no other members.
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
