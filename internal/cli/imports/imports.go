// Package imports implements "fairlead import".
package imports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/providerset"
)

// New returns the import commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	return cli.Group("import", "Convert the configuration of another gateway", `  fairlead import litellm config.yaml
  fairlead import litellm config.yaml --out /etc/fairlead/fairlead.yaml`, newLiteLLM(c, o))
}

func newLiteLLM(c *cli.Console, o *cli.Options) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "litellm FILE", Short: "Convert the model_list of a LiteLLM proxy", Args: cli.OneArg("the path of a file, or - for standard input"),
		Long: "Convert the model_list of a LiteLLM proxy, and report every setting as taken over, changed or not supported.\n" +
			"API keys and passwords in the file are not copied: the new file refers to variables.",
		Example: `  fairlead import litellm config.yaml
  fairlead import litellm config.yaml --out /etc/fairlead/fairlead.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := read(c, args[0])
			if err != nil {
				return err
			}
			known, err := catalog.Default()
			if err != nil {
				return fmt.Errorf("read the catalog: %w", err)
			}
			text, findings, err := convertLiteLLM(data, known, providerset.VendorNames())
			if err != nil {
				return fmt.Errorf("%s: %w", cli.Clean(args[0]), err)
			}
			return deliver(c, o, text, findings, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", config.FileName, "file to write; an existing file is not changed; - for standard output")
	return cmd
}

// read returns the content of a file, or of standard input for "-". It reads at most one byte more than the maximum, enough to detect a
// larger file.
func read(c *cli.Console, path string) ([]byte, error) {
	const most = maxFile + 1
	if path == "-" {
		data, err := io.ReadAll(io.LimitReader(c.In, most))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return data, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.WithFix(fmt.Errorf("%s does not exist", cli.Clean(path)), "check the path; - reads standard input")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", cli.Clean(path), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", cli.Clean(path), err)
	}
	return data, nil
}

// view is the JSON form of an import.
type view struct {
	Path     string    `json:"path,omitempty"`
	YAML     string    `json:"yaml,omitempty"` // content of the configuration file; empty if it was written to Path
	Findings []finding `json:"findings"`
}

// deliver writes the configuration file and prints the report.
func deliver(c *cli.Console, o *cli.Options, text string, findings []finding, out string) error {
	if out != "-" {
		if err := write(out, text); err != nil {
			return err
		}
	}
	switch {
	case o.JSON && out == "-":
		return c.PrintJSON(view{YAML: text, Findings: findings})
	case o.JSON:
		return c.PrintJSON(view{Path: out, Findings: findings})
	case out == "-":
		fmt.Fprint(c.Err, cli.CleanLines(report(findings)))
		return c.Print(text)
	}
	c.Infof(o, "check the report and the file, then run  fairlead config check %s", cli.Clean(out))
	return c.Print(cli.CleanLines(report(findings)) + cli.Clean(out) + ": written\n")
}

// write creates the file. It is readable only by its owner, because users may add secrets to it.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cli.WithFix(fmt.Errorf("%s already exists and was not changed", cli.Clean(path)), "choose another file with --out, or print to standard output:  --out -")
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", cli.Clean(path), err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", cli.Clean(path), err), os.Remove(path))
	}
	return nil
}
