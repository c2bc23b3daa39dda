package sqldb

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// breaking lists changes that the previous release cannot work with. While replicas are replaced one by one, old
// replicas read and write the schema that a new replica has migrated.
var breaking = map[string]*regexp.Regexp{
	"drops a table":          regexp.MustCompile(`(?i)^drop table`),
	"drops a column":         regexp.MustCompile(`(?i)^alter table \S+ drop`),
	"renames":                regexp.MustCompile(`(?i)^alter table .* rename`),
	"changes a column":       regexp.MustCompile(`(?i)^alter table \S+ alter`),
	"adds a required column": regexp.MustCompile(`(?i)^alter table \S+ add column (\S+ )+not null$`),
}

func TestMigrationsKeepPreviousReleaseWorking(t *testing.T) {
	t.Parallel()
	for _, step := range embedded() {
		for _, s := range step.statements {
			if reason := breaks(s.text); reason != "" && !replaced(step, s.text) {
				t.Errorf("%s %s: %s", step.name, reason, s.text)
			}
		}
	}
}

func TestBreakingStatementsAreDetected(t *testing.T) {
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
			t.Errorf("%q: breaking = %t, want %t", text, got, want)
		}
	}
}

var aside = regexp.MustCompile(`(?i)^alter table (\S+) rename to \S+$`)

// replaced reports whether a statement renames a table that the same migration creates again with the same columns and
// key, so that the previous release still finds them.
func replaced(step migration, text string) bool {
	name := aside.FindStringSubmatch(text)
	return name != nil && slices.ContainsFunc(step.statements, func(s statement) bool {
		return strings.HasPrefix(s.text, "create table "+name[1]+" (like "+name[1]+"_before including defaults, primary key")
	})
}

// breaks returns the reason why the previous release cannot work after a statement, or "".
func breaks(statement string) string {
	text := strings.Join(strings.Fields(statement), " ")
	for what, pattern := range breaking {
		if pattern.MatchString(text) {
			return what
		}
	}
	return ""
}
