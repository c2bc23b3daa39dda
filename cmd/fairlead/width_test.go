package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

// TestListsKeepTheirMainColumnsAtEveryWidth checks that a narrow terminal does not hide the main columns of a list.
func TestListsKeepTheirMainColumnsAtEveryWidth(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, commands()...).Seeded()
	l.Run(cli.ExitOK, "keys", "create", "--name", "a key with a rather long name", "--rpm", "60", "--tpm", "90000", "--budget", "$50", "--period", "week", "--expires", "90d")
	l.Run(cli.ExitOK, "keys", "revoke", "a key with a rather long name", "--yes")
	l.Run(cli.ExitOK, "policies", "apply", l.File("policies.yaml", clitest.FirstPolicies))
	l.Console.Terminal = true
	width := 0
	l.Console.Width = func() int { return width }
	for _, c := range []struct {
		command []string
		always  []string // titles and cells at 60 columns and more
		from80  []string
	}{
		{[]string{"requests", "list"}, []string{"ID", "OUTCOME", "COST", "LATENCY", "req_01M7FDTBW00000000000000001", "$0.0003200", "412 ms"}, []string{"TIME", "MODEL", "11:00:00"}},
		{[]string{"keys", "list"}, []string{"NAME", "KEY", "STATE", "revoked", "fl_"}, []string{"LAST USED"}},
		{[]string{"models", "list"}, []string{"MODEL", "IN", "OUT", "sim-flagship"}, []string{"CONTEXT"}},
		{[]string{"policies", "list"}, []string{"POLICY", "STATE", "EFFECT", "no-code-outside", "off"}, []string{"FROM"}},
		{[]string{"policies", "history"}, []string{"VERSION", "SAVED", "NOTE"}, []string{"BY"}},
		{[]string{"providers", "list"}, []string{"PROVIDER", "MODELS", "STATE", "simulator"}, []string{"CREDENTIALS"}},
	} {
		for width = 60; width <= 200; width += 10 {
			out, stderr := l.Run(cli.ExitOK, append(slices.Clone(c.command), "--no-color")...)
			want := slices.Clone(c.always)
			if width >= 80 {
				want = append(want, c.from80...)
			}
			for _, text := range want {
				if !strings.Contains(out, text) {
					t.Errorf("%s at %d columns lacks %q:\n%s", strings.Join(c.command, " "), width, text, out)
				}
			}
			for line := range strings.Lines(out) {
				if n := cli.Width(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d columns printed a line of %d columns: %q", strings.Join(c.command, " "), width, n, line)
				}
			}
			if missing := !strings.Contains(out, c.from80[0]); missing != strings.Contains(stderr, c.from80[0]) {
				t.Errorf("%s at %d columns: stderr is %q; it must mention %q if and only if the column is hidden",
					strings.Join(c.command, " "), width, stderr, c.from80[0])
			}
		}
	}
}

// TestEveryListedNameIsAccepted checks that names printed by a list command are accepted by the commands that take such a name.
func TestEveryListedNameIsAccepted(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, commands()...).Seeded()
	l.Console.Env = append(l.Console.Env, "FAIRLEAD_CONFIG="+l.File("fairlead.yaml", `
providers:
  - name: house
    base_url: http://127.0.0.1:9/v1
    api_keys: [house-key-1]
    models:
      - {name: house-model, input_per_mtok: 1, output_per_mtok: 2, context: 8000}
      - {name: Team/Model:1, input_per_mtok: 1, output_per_mtok: 2, context: 8000}
`))
	l.Run(cli.ExitOK, "keys", "create", "--name", "ci")
	l.Run(cli.ExitOK, "policies", "apply", l.File("policies.yaml", "policies:\n  - {name: cheap, objective: cost}\n"))
	for _, c := range []struct {
		list  []string
		field string
		show  []string
	}{
		{[]string{"models", "list"}, "name", []string{"models", "show"}},
		{[]string{"requests", "list"}, "id", []string{"requests", "show"}},
		{[]string{"policies", "history"}, "version", []string{"policies", "show"}},
		{[]string{"keys", "list"}, "id", []string{"keys", "rotate"}},
	} {
		out, _ := l.Run(cli.ExitOK, append(c.list, "--json")...)
		rows := clitest.Lines(t, out)
		if len(rows) == 0 {
			t.Errorf("%s printed no rows", strings.Join(c.list, " "))
		}
		for _, row := range rows {
			l.Run(cli.ExitOK, append(slices.Clone(c.show), fmt.Sprint(row[c.field]))...)
		}
	}
}
