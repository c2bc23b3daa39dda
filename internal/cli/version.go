package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// versionView is the JSON form of the version.
type versionView struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	Modules string `json:"modules,omitempty"` // SHA-256 of the versions and hashes of all modules
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(c *Console, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: NoArgs,
		Example: `  fairlead version
  fairlead version --json | jq -r .version`,
		RunE: func(_ *cobra.Command, _ []string) error {
			v := versionView{c.Version, c.commit, runtime.Version(), modulesHash(), runtime.GOOS, runtime.GOARCH}
			if o.JSON {
				return c.PrintJSON(v)
			}
			return c.Print(fmt.Sprintf("fairlead %s (%s/%s, %s)\n", v.Version, v.OS, v.Arch, v.Go))
		},
	}
}

// modulesHash returns the SHA-256 of the lines that `go version -m` prints for the modules of the program; empty without build
// information.
func modulesHash() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	sum := sha256.New()
	for _, m := range info.Deps {
		fmt.Fprintf(sum, "\tdep\t%s\t%s\t%s\n", m.Path, m.Version, m.Sum)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func newCompletion(c *Console) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print the completion script of a shell: " + JoinOr(shells), ValidArgs: shells,
		Example: `  source <(fairlead completion bash)
  fairlead completion zsh > "${fpath[1]}/_fairlead"
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish
  fairlead completion powershell | Out-String | Invoke-Expression`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := OneArg("the name of a shell")(cmd, args); err != nil {
				return err
			}
			if !slices.Contains(shells, args[0]) {
				return Usagef("use  "+JoinOr(shells), "unknown shell %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(c.Out, true)
			case "zsh":
				return root.GenZshCompletion(c.Out)
			case "fish":
				return root.GenFishCompletion(c.Out, true)
			}
			return root.GenPowerShellCompletionWithDesc(c.Out)
		},
	}
}
