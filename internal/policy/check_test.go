package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConditionProblemsHavePositions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, condition string // the condition starts at line 5, column 7
		want            []string
	}{
		{"ends too early", `request.task ==`, []string{`5:22+1 E2040 the condition ends too early | `}},
		{"one equals sign", `request.task = "code"`, []string{`5:20+1 E2040 unexpected "=" | write == to compare`}},
		{"and in words", `request.stream and request.tools`, []string{`5:22+3 E2040 unexpected "and" | write &&`}},
		{"or in words", `request.stream OR request.tools`, []string{`5:22+2 E2040 unexpected "OR" | write ||`}},
		{"a quotation mark is missing", `request.task == "code`, []string{`5:23+5 E2040 this text has no closing quotation mark | `}},
		{"a bracket too many", `request.stream)`, []string{`5:21+1 E2040 unexpected ")" | `}},
		{"unknown group", `reqest.task == "code"`, []string{`5:7+6 E2041 unknown name "reqest" | did you mean "request.task"?`}},
		{"a field without its group", `task == "code"`, []string{`5:7+4 E2041 unknown name "task" | did you mean "request.task"?`}},
		{"a text without quotation marks", `request.task == code`, []string{`5:23+4 E2041 unknown name "code" | put text in quotation marks; fields start with request, key, workspace, time`}},
		{"unknown field", `request.stream && request.tsak == "code"`, []string{`5:33+4 E2041 request has no field "tsak" | did you mean "task"?`}},
		{"a field similar to no other", `key.zzzzzz == "code"`, []string{`5:11+6 E2041 key has no field "zzzzzz" | its fields are id, name, tags`}},
		{"two unknown fields", `key.nane == "a" || request.tolkens > 1`, []string{
			`5:11+4 E2041 key has no field "nane" | did you mean "name"?`,
			`5:34+7 E2041 request has no field "tolkens" | did you mean "tokens"?`,
		}},
		{"a group", `workspace == "x"`, []string{`5:7+9 E2041 workspace is a group of fields, not a value | write one of id, name`}},
		{"unknown function", `request.model.startswith("gpt")`, []string{`5:21+10 E2041 unknown function "startswith" | did you mean "startsWith"?`}},
		{"unknown function of time", `time.hours("UTC") > 3`, []string{`5:12+5 E2041 unknown function "hours" | did you mean "hour"?`}},
		{"a time function of CEL", `time.at.getHours("UTC") > 3`, []string{`5:15+8 E2041 unknown function "getHours" | the functions are size, startsWith, endsWith, contains, matches, int, double, string, duration, timestamp, all, exists, exists_one, has`}},
		{"unknown zone", `time.hour("Europe/Nowhere") > 3`, []string{`5:17+16 E2035 unknown time zone "Europe/Nowhere" | use a name such as Europe/Berlin, America/New_York or UTC`}},
		{"a zone that is not a literal", `time.hour(key.name) > 3`, []string{`5:20+1 E2040 the time zone must be a literal, such as "Europe/Berlin" | `}},
		{"an impossible value", `request.task == "coed"`, []string{`5:23+6 E2035 request.task is never "coed" | did you mean "code"?`}},
		{"a value in a list", `time.weekday in ["sunday", "sat"]`, []string{`5:34+5 E2035 time.weekday is never "sat" | did you mean "saturday"?`}},
		{"a value on the left", `"mail" == request.op`, []string{`5:7+6 E2035 request.op is never "mail" | use one of chat, embeddings, completions, moderations, count_tokens`}},
		{"a value in a zone", `time.weekday("UTC") == "Monday"`, []string{`5:30+8 E2035 time.weekday is never "Monday" | did you mean "monday"?`}},
		{"text against number", `request.task == 1`, []string{`5:20+2 E2042 "==" cannot be applied to text and number | `}},
		{"a tag against a number", `key.tags["cost"] > 5`, []string{`5:24+1 E2042 ">" cannot be applied to text and number | `}},
		{"a wrong argument", `request.model.startsWith(1)`, []string{`5:31+1 E2042 "startsWith" cannot be applied to text and number | `}},
		{"not a condition", `request.tokens`, []string{`5:7+14 E2042 the condition must be true or false, but its type is number | compare the value: ==, <, in`}},
		{"a map as a condition", `key.tags`, []string{`5:7+8 E2042 the condition must be true or false, but its type is map of text | compare the value: ==, <, in`}},
		{"has() of a field", `has(request.task)`, []string{`5:11+7 E2041 request is a group of fields, not a value | write one of `}},
		{"has() of a group", `has(request)`, []string{`5:11+1 E2040 has() takes a tag, such as has(key.tags.team) | `}},
		{"too much work", `key.tags.all(a, request.tags.all(b, request.metadata.all(c, a == b || b == c)))`, []string{`5:7+79 E2043 the condition could take `}},
		{"a long list within a long list", `request.metadata.exists(k, request.tags.exists(v, k.contains(v)))`, []string{`5:7+65 E2043 the condition could take `}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, problems := Parse("workspace", []byte(one("pin: gpt-4.1\nwhen: >-\n  "+c.condition, "a")), testInventory())
			var got []string
			for i, mark := range marks(problems) {
				if i < len(c.want) && len(c.want[i]) < len(mark) && mark[:len(c.want[i])] == c.want[i] {
					mark = c.want[i] // the rest of the message is a list or a number, which is not compared
				}
				got = append(got, mark)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems of %s (-want +got):\n%s", c.condition, diff)
			}
		})
	}
}

// Problems are reported at the wrong word, regardless of the YAML style.
func TestConditionsAreMarkedInEveryStyle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, when string // starts at line 4, column 5
		want       string
	}{
		{"plain", `when: request.tsak == "x"`, "4:19"},
		{"plain, blanks before it", `when:    request.tsak == "x"`, "4:22"},
		{"plain over two lines", "when: request.stream &&\n  request.tsak == \"x\"", "5:15"},
		{"plain with an empty line", "when: request.stream &&\n\n  request.tsak == \"x\"", "6:15"},
		{"single quotation marks", `when: 'request.model == ''a'' && request.tsak == "x"'`, "4:46"},
		{"double quotation marks", `when: "request.model == \"a\" && request.tsak == \"x\""`, "4:46"},
		{"double with an escape", `when: "request.model == \"\u00e4\" && request.tsak == \"x\""`, "4:51"},
		{"double over two lines", "when: \"request.stream \\\n  && request.tsak == 'x'\"", "5:18"},
		{"letters beyond ASCII", `when: request.model == "äöü😀" && request.tsak == "x"`, "4:46"},
		{"an anchor", `when: &here request.tsak == "x"`, "4:25"},
		{"an anchor before a quotation mark", `when: &here "request.tsak == 'x'"`, "4:26"},
		{"a tag and an anchor on a line of their own", "when: !!str &here\n  request.tsak", "5:15"},
		{"a block", "when: |\n  request.stream &&\n  request.tsak == \"x\"\n", "6:15"},
		{"an indented block", "when: |\n  request.stream\n    && request.tsak == \"x\"\n", "6:20"},
		{"a folded block", "when: >-\n  request.stream\n  &&\n  request.tsak == \"x\"\n", "7:15"},
		{"a block with a comment after its indicator", "when: | # why\n  request.tsak == \"x\"\n", "5:15"},
		{"a block with an empty line", "when: |\n  request.stream &&\n\n  request.tsak == \"x\"\n", "7:15"},
		{"the end of a block", "when: |\n  request.stream &&\n", "5:24"},
		{"the end of quotation marks", `when: 'request.stream &&'`, "4:29"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			source := one("pin: gpt-4.1\n"+c.when, "a")
			_, problems := Parse("workspace", []byte(source), testInventory())
			if len(problems) != 1 {
				t.Fatalf("problems: %v\nof\n%s", problems, source)
			}
			if got := fmt.Sprintf("%d:%d", problems[0].Line, problems[0].Column); got != c.want {
				t.Errorf("marked at %s, want %s:\n%s", got, c.want, Pretty("f", []byte(source), problems))
			}
		})
	}
}

func TestCarriageReturnsDoNotShiftPositions(t *testing.T) {
	t.Parallel()
	source := strings.ReplaceAll(one("pin: gpt-4.1\nwhen: |\n  request.stream &&\n  request.tsak", "a"), "\n", "\r\n")
	_, problems := Parse("workspace", []byte(source), testInventory())
	if len(problems) != 1 || problems[0].Line != 6 || problems[0].Column != 15 {
		t.Errorf("problems: %v, want one at 6:15", problems)
	}
}
