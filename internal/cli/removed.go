package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// removed contains the commands that no longer exist, without "fairlead", and what to do instead.
var removed = map[string]string{
	"alerts add":               "add the rule in the dashboard under Alerts, or with the admin API",
	"alerts channels":          "use the dashboard under Alerts, or the admin API",
	"alerts mute":              "mute the rule in the dashboard under Alerts, or with the admin API",
	"alerts remove":            "delete the rule in the dashboard under Alerts, or with the admin API",
	"alerts show":              "run  fairlead alerts list",
	"alerts test":              "send a test in the dashboard under Alerts, or with the admin API",
	"budgets show":             "run  fairlead budgets list",
	"comparison":               "use the dashboard under Settings, Data, or the admin API",
	"import openrouter-models": "",
	"models import":            "set catalog.refresh to daily or to the path of a price list",
	"models new":               "open Models in the dashboard",
	"models price":             "set the price in the dashboard under Models, or in the configuration file",
	"openapi":                  "get /api/openapi.json from a running server",
	"outcomes":                 "use the dashboard under Policies, or the admin API",
	"router":                   "run  fairlead explain",
	"sessions tail":            "run  fairlead requests tail --session ID",
	"statement":                "download the statement in the dashboard under Proof, or with the admin API",
	"upgrade-check":            "",
}

// removedCommand returns a usage error if args name a command below cmd that was removed.
func removedCommand(cmd *cobra.Command, args []string) error {
	path := cmd.CommandPath() + " " + args[0]
	_, name, _ := strings.Cut(path, " ")
	fix, ok := removed[name]
	if !ok {
		return nil
	}
	if fix == "" {
		fix = "see  " + cmd.CommandPath() + " --help"
	}
	return Usagef(fix, "%q was removed; see the release notes", path)
}
