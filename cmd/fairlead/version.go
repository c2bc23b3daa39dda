package main

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"fairlead/internal/admin"
)

// versionView is what this program is, as JSON.
type versionView struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(c *console, o *options) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		Example: `  fairlead version
  fairlead version --json | jq -r .version`,
		RunE: func(_ *cobra.Command, _ []string) error {
			v := versionView{version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if o.json {
				return c.writeJSON(v)
			}
			return c.write(fmt.Sprintf("fairlead %s (%s/%s, %s)\n", v.Version, v.OS, v.Arch, v.Go))
		},
	}
}

func newOpenAPI(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI document of the admin API", Args: noArgs,
		Example: `  fairlead openapi > openapi.json`,
		RunE: func(_ *cobra.Command, _ []string) error {
			document, err := admin.OpenAPI()
			if err != nil {
				return err
			}
			return c.write(string(document))
		},
	}
}

func newCompletion(c *console) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print the completion script of a shell: " + list(shells), ValidArgs: shells,
		Example: `  source <(fairlead completion bash)
  fairlead completion zsh > "${fpath[1]}/_fairlead"
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish
  fairlead completion powershell | Out-String | Invoke-Expression`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := oneArg("the name of a shell")(cmd, args); err != nil {
				return err
			}
			if !slices.Contains(shells, args[0]) {
				return usage("use  "+list(shells), "unknown shell %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.out, true)
			case "zsh":
				return root.GenZshCompletion(c.out)
			case "fish":
				return root.GenFishCompletion(c.out, true)
			}
			return root.GenPowerShellCompletionWithDesc(c.out)
		},
	}
}
