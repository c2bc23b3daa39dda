package models

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
)

// newModelView is the JSON form of a new model. Its JSON fields have the same names as in the admin API.
type newModelView struct {
	Provider  string    `json:"provider"`
	Model     string    `json:"model"`
	Kind      llm.Op    `json:"kind"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	Config    string    `json:"config"`
	Command   string    `json:"command"`
}

func newModelsNew(c *cli.Console, o *cli.Options) *cobra.Command {
	var provider string
	cmd := &cobra.Command{
		Use: "new", Short: "List models that providers offer but that have no known price", Args: cli.NoArgs,
		Long: `List models that are in a provider's model list, but neither in the catalog nor in the configuration. A running server
reads the lists periodically (catalog.discover). Their price is unknown, so auto never selects them. Set a price with the
command in the last column.`,
		Example: `  fairlead models new
  fairlead models new --provider openai
  fairlead models new --json | jq -r .config`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return instance.WithProviders(cmd.Context(), c, o, func(set *instance.ProviderSet) error {
				list, err := set.NewModels(cmd.Context())
				if err != nil {
					return err
				}
				list = slices.DeleteFunc(list, func(m providers.NewModel) bool { return provider != "" && m.Provider != provider })
				return showNewModels(c, o, list)
			})
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "only models of this provider")
	return cmd
}

func showNewModels(c *cli.Console, o *cli.Options, list []providers.NewModel) error {
	view := func(m *providers.NewModel) newModelView {
		return newModelView{
			Provider: m.Provider, Model: m.Model, Kind: m.Op, FirstSeen: m.FirstSeen.UTC(), LastSeen: m.LastSeen.UTC(),
			Config: m.Config, Command: m.Command,
		}
	}
	const none = "no new models. A running server reads the model lists of its providers at the interval catalog.discover (default 6h)"
	t := &cli.Table{Columns: []cli.Column{{Title: "PROVIDER"}, {Title: "MODEL"}, {Title: "FIRST SEEN"}, {Title: "SET A PRICE", Soft: true, Hide: 1}}}
	return cli.PrintList(c, o, list, none, view, t, func(m *providers.NewModel) {
		t.Row(m.Provider, m.Model, c.FormatTime(o, m.FirstSeen, "2006-01-02 15:04"), m.Command)
	})
}
