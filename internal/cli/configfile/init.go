package configfile

import (
	"cmp"
	_ "embed"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/config"
)

// starting is the file that init writes. A line that begins with #, without a space after it, is a setting that can be uncommented.
//
//go:embed starting.yaml
var starting string

// written is the JSON form of the created file.
type written struct {
	Path string `json:"path"`
}

// NewInit returns the command "init".
func NewInit(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write a configuration file with every setting commented out", Args: cli.OptionalArg("the path of a file"),
		Long: "Write a configuration file with the most common settings, all commented out.\n" +
			"The default FILE is --config, FAIRLEAD_CONFIG or fairlead.yaml. An existing file is not changed.",
		Example: `  fairlead init
  fairlead init /etc/fairlead/fairlead.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			path := cmp.Or(append(args, o.Config, c.Getenv("FAIRLEAD_CONFIG"), config.FileName)...)
			if err := cli.CreateConfig(path, starting, "edit it, or use another name:  fairlead init other.yaml"); err != nil {
				return err
			}
			if o.JSON {
				return c.PrintJSON(written{path})
			}
			c.Infof(o, "edit the file, then run  fairlead config check %s", cli.Clean(path))
			return c.Print(cli.Clean(path) + ": written\n")
		},
	}
}
