package main

import (
	"strings"
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
)

func TestInvalidCommandLinesAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want []string
	}{
		{"kyes", []string{`error: unknown command "kyes"; did you mean "keys"?`, "fix: run  fairlead keys"}},
		{"kyes create --name x", []string{`did you mean "keys"?`}},
		{"upgrade-check --url https://example.com", []string{`"fairlead upgrade-check" was removed; see the release notes`}},
		{"sessions tail conv_1", []string{`"fairlead sessions tail" was removed`, "fix: run  fairlead requests tail --session ID"}},
		{"zzzzzz", []string{`unknown command "zzzzzz"`, "fix: see  fairlead --help"}},
		{"keys", []string{"fairlead keys requires a command: create, list, revoke or rotate"}},
		{"keys crate --name x", []string{`did you mean "create"?`}},
		{"keys create --nmae x", []string{"unknown flag --nmae; did you mean --name?"}},
		{"keys create", []string{"--name is missing", "fix: run  fairlead keys create --name ci"}},
		{"keys create --name x --period day", []string{"--period and --warn require --budget"}},
		{"keys create --name x --budget lots", []string{`"lots" is not an amount`, "fix: write it in dollars"}},
		{"keys create --name x --expires soon", []string{`"soon" is neither a duration nor a time`}},
		{"keys create --name x --tags team", []string{`"team" is not a tag`}},
		{"keys create --name x --rpm many", []string{`invalid argument "many"`, "fix: see  fairlead keys create --help"}},
		{"keys create --name x extra", []string{`unexpected "extra"`}},
		{"keys rotate", []string{"the key's name or id is missing"}},
		{"keys rotate a b", []string{`unexpected "b"`}},
		{"keys rotate a --grace long", []string{`--grace: "long" is not a duration`}},
		{"requests list --desicion fallback", []string{"did you mean --decision?"}},
		{"requests list --decision sideways", []string{`"sideways" is not one of expected, fallback, policy`}},
		{"requests list --limit 1000", []string{`"1000" is not a number from 1 to 200`}},
		{"requests list --stream false", []string{`unexpected "false"`, "fix: write the value after an equals sign: --flag=false"}},
		{"requests show", []string{"the request's id is missing"}},
		{"requests export --format xml", []string{`unknown format "xml"`}},
		{"requests export --columns id,modle", []string{"modle"}},
		{"requests tail --last -1", []string{"--last: -1 is out of range"}},
		{"models list --kind video", []string{`unknown kind "video"`}},
		{"health --url nowhere", []string{`"nowhere" is not an http or https URL`}},
		{"completion tcsh", []string{`unknown shell "tcsh"`}},
		{"completion", []string{"the name of a shell is missing"}},
		{"serve --log-level loud", []string{`--log-level: level cannot be "loud"`}},
		{"help kyes", []string{`did you mean "keys"?`}},
		{"help keys crate", []string{`did you mean "create"?`}},
		{"-x", []string{"unknown shorthand flag"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			out, err := clitest.New(t, commands()...).Run(cli.ExitUsage, strings.Fields(c.line)...)
			if out != "" {
				t.Errorf("stdout is %q, want it empty", out)
			}
			clitest.MustContain(t, err, append(c.want, "error: ")...)
		})
	}
}

func TestProgramHelp(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, commands()...)
	out, err := l.Run(cli.ExitOK)
	clitest.Golden(t, "help.txt", out)
	if err != "" {
		t.Errorf("stderr is %q, want it empty", err)
	}
	if again, _ := l.Run(cli.ExitOK, "help"); again != out {
		t.Errorf("fairlead help printed\n%s\nwant the same as without a command", again)
	}
	create, _ := l.Run(cli.ExitOK, "help", "keys", "create")
	clitest.MustContain(t, create, "--expires string") // the text must come from the list of flags, because the examples contain only the flag
	rotate, _ := l.Run(cli.ExitOK, "help", "keys", "rotate")
	clitest.MustContain(t, rotate, "--grace string")
}

func TestUnderscoresInFlagsAreAccepted(t *testing.T) {
	t.Parallel()
	l := clitest.New(t, commands()...)
	l.Seed(clitest.Served())
	out, _ := l.Run(cli.ExitOK, "requests", "list", "--min_cost", "0.0001", "--json")
	if n := len(clitest.Lines(t, out)); n != 1 {
		t.Errorf("requests list --min_cost printed %d requests, want 1: %s", n, out)
	}
}
