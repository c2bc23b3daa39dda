package models

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
)

// NewCatalog returns the catalog commands.
func NewCatalog(c *cli.Console, _ *cli.Options) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the built-in models, prices and abilities as tables", Args: cli.NoArgs,
		Example: `  fairlead catalog export --out catalog.txt`,
		RunE: func(*cobra.Command, []string) error {
			var text strings.Builder
			if err := catalog.Export(&text); err != nil {
				return err
			}
			if out != "" {
				return cli.CreateConfig(out, text.String(), "use another file")
			}
			_, err := io.WriteString(c.Out, text.String())
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write to this new file instead of standard output")
	return cli.Group("catalog", "Export the built-in catalog", `  fairlead catalog export --out catalog.txt`, cmd)
}
