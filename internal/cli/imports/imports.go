// Package imports implements "fairlead import".
package imports

import (
	"fmt"

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
			data, err := c.ReadFile(args[0], maxFile)
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

// view is the JSON form of an import.
type view struct {
	Path     string    `json:"path,omitempty"`
	YAML     string    `json:"yaml,omitempty"` // content of the configuration file; empty if it was written to Path
	Findings []finding `json:"findings"`
}

// deliver writes the configuration file and prints the report.
func deliver(c *cli.Console, o *cli.Options, text string, findings []finding, out string) error {
	if out != "-" {
		if err := cli.CreateConfig(out, text, "choose another file with --out, or print to standard output:  --out -"); err != nil {
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
