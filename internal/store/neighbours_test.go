package store

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// breaking are the changes after which the release before no longer works: while replicas are replaced one by one, old
// ones go on reading and writing the schema that a new one has made.
var breaking = map[string]*regexp.Regexp{
	"takes a table away":          regexp.MustCompile(`(?i)^drop table`),
	"takes a column away":         regexp.MustCompile(`(?i)^alter table \S+ drop`),
	"renames":                     regexp.MustCompile(`(?i)^alter table .* rename`),
	"changes a column":            regexp.MustCompile(`(?i)^alter table \S+ alter`),
	"demands a value of a column": regexp.MustCompile(`(?i)^alter table \S+ add column (\S+ )+not null$`),
}

func TestMigrationsLeaveTheReleaseBeforeWorking(t *testing.T) {
	t.Parallel()
	for _, step := range embedded() {
		for _, s := range step.statements {
			if what := breaks(s.text); what != "" && !replaced(step, s.text) {
				t.Errorf("%s %s: %s", step.name, what, s.text)
			}
		}
	}
}

func TestBreakingStatementsAreSeen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"drop table keys":                                               true,
		"alter table keys drop column name":                             true,
		"alter table keys rename column name to title":                  true,
		"alter table keys alter column name type bytea":                 true,
		"alter table keys add column more text not null":                true,
		"alter table keys add column more text not null default ''":     false,
		"alter table keys\n  add column more bigint default 0":          false,
		"drop index keys_name":                                          false,
		"create table more (id bigint primary key, name text not null)": false,
	} {
		if got := breaks(text) != ""; got != want {
			t.Errorf("%q breaks: %v, want %v", text, got, want)
		}
	}
}

var aside = regexp.MustCompile(`(?i)^alter table (\S+) rename to \S+$`)

// replaced reports whether a statement puts a table aside that the same step makes anew, with its columns and its key: the
// release before finds all that it knows.
func replaced(step migration, text string) bool {
	name := aside.FindStringSubmatch(text)
	return name != nil && slices.ContainsFunc(step.statements, func(s statement) bool {
		return strings.HasPrefix(s.text, "create table "+name[1]+" (like "+name[1]+"_before including defaults, primary key")
	})
}

// breaks says what a statement does to the release before; nothing when that goes on working.
func breaks(statement string) string {
	text := strings.Join(strings.Fields(statement), " ")
	for what, pattern := range breaking {
		if pattern.MatchString(text) {
			return what
		}
	}
	return ""
}
