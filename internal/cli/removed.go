package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// removed contains the commands that no longer exist, without "fairlead", and what replaces them.
var removed = map[string]string{
	"import openrouter-models": "",
	"router":                   "explain",
	"sessions tail":            "requests tail --session ID",
	"statement verify":         "",
	"upgrade-check":            "",
}

// removedCommand returns a usage error if args name a command below cmd that was removed.
func removedCommand(cmd *cobra.Command, args []string) error {
	path := cmd.CommandPath() + " " + args[0]
	_, name, _ := strings.Cut(path, " ")
	instead, ok := removed[name]
	if !ok {
		return nil
	}
	fix := "see  " + cmd.CommandPath() + " --help"
	if instead != "" {
		fix = "run  fairlead " + instead
	}
	return Usagef(fix, "%q was removed; see the release notes", path)
}
