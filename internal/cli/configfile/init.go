package configfile

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"fairlead/internal/cli"
	"fairlead/internal/config"
)

// starting is the file that init writes. Lines that begin with # and no space are settings that can be switched on.
//
//go:embed starting.yaml
var starting string

// written is the file that was made, as JSON.
type written struct {
	Path string `json:"path"`
}

func NewInit(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write a starting configuration file, every setting commented out", Args: cli.OptionalArg("the path of a file"),
		Long: "Write a starting configuration file: what most people set, commented out, so that nothing changes until a line is switched on.\n" +
			"Without FILE it is the one that --config or FAIRLEAD_CONFIG names, else fairlead.yaml here. A file that is there is left alone.",
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
			c.Infof(o, "switch on what you need, then run  fairlead config check %s", cli.Clean(path))
			return c.Print(cli.Clean(path) + ": written\n")
		},
	}
}

// writeStarting makes the file for its owner alone, because secrets may come to stand in it.
func writeStarting(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return cli.WithFix(fmt.Errorf("there is a file %s already, and it was left alone", path), "edit it, or name another:  fairlead init other.yaml")
	case errors.Is(err, fs.ErrNotExist):
		return cli.WithFix(fmt.Errorf("write %s: its directory is not there", path), "make the directory first, or name another file")
	case errors.Is(err, fs.ErrPermission):
		return cli.WithFix(fmt.Errorf("write %s: this user may not", path), "name a file in a directory of your own, or run it as the user who owns this one")
	case err != nil:
		return fmt.Errorf("make the configuration file: %w", err)
	}
	_, err = f.WriteString(starting)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the configuration file: %w", err), os.Remove(path)) // half of one would be read
	}
	return nil
}
