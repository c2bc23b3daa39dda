package configfile

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

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
			if err := writeStarting(path); err != nil {
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

// writeStarting creates the file. It is readable only by its owner, because users may add secrets to it.
func writeStarting(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return cli.WithFix(fmt.Errorf("%s already exists and was not changed", path), "edit it, or use another name:  fairlead init other.yaml")
	case errors.Is(err, fs.ErrNotExist):
		return cli.WithFix(fmt.Errorf("write %s: the directory does not exist", path), "create the directory, or use another file")
	case errors.Is(err, fs.ErrPermission):
		return cli.WithFix(fmt.Errorf("write %s: permission denied", path), "use a file in a directory you own, or run the command as its owner")
	case err != nil:
		return fmt.Errorf("create the configuration file: %w", err)
	}
	_, err = f.WriteString(starting)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the configuration file: %w", err), os.Remove(path)) // a server would load an incomplete file
	}
	return nil
}
