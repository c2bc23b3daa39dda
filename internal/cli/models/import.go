package models

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/catalog/importer"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/pricebook"
)

// importFlags selects the changes to accept.
type importFlags struct {
	jumps     bool
	newModels bool
	dryRun    bool
}

func newModelsImport(c *cli.Console, o *cli.Options) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import [FILE|URL]", Short: "Import prices from models.dev and show the changes",
		Args: cli.OptionalArg("a file or an address"),
		Long: `Import prices from models.dev, or from a list in the same format, and show the changes. A price that changes by a factor of five or more is rejected, and so are prices of zero, because lists contain
prices that are wrong by powers of ten. Prices set by hand are kept. A running server uses the new prices immediately.`,
		Example: `  fairlead models import --dry-run
  curl -s https://models.dev/api.json | fairlead models import -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			where := importer.Address
			if len(args) > 0 {
				where = args[0]
			}
			return f.run(cmd.Context(), c, o, where)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.jumps, "yes-jumps", false, "also accept prices that change by a factor of five or more")
	flags.BoolVar(&f.newModels, "new-models", false, "also import models that are not in the catalog")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the changes without storing them")
	return cmd
}

func (f *importFlags) run(ctx context.Context, c *cli.Console, o *cli.Options, where string) error {
	text, err := readList(ctx, c, o, where)
	if err != nil {
		return err
	}
	rows, err := importer.Read(text)
	if err != nil {
		return err
	}
	return instance.With(ctx, c, o, func(i *instance.Instance) error {
		choice := importer.Options{At: c.Now().UTC(), Jumps: f.jumps, NewModels: f.newModels}
		diff, err := i.ImportPrices(ctx, rows, choice, f.dryRun)
		if err != nil {
			return err
		}
		return f.show(c, o, diff)
	})
}

// readList reads a price list from a URL, a file or standard input.
func readList(ctx context.Context, c *cli.Console, o *cli.Options, where string) (text []byte, err error) {
	if strings.HasPrefix(where, "https://") || strings.HasPrefix(where, "http://") {
		err = instance.WithProviders(ctx, c, o, func(set *instance.ProviderSet) error {
			text, err = set.FetchList(ctx, where, c.Version)
			return err
		})
		return text, err
	}
	return c.ReadFile(where, pricebook.LargestList)
}

// changeView is the JSON form of a price change.
type changeView struct {
	State     importer.State `json:"state"`
	Provider  string         `json:"provider"`
	Model     string         `json:"model"`
	OldInput  *money.Amount  `json:"old_input_per_mtok_usd"`
	NewInput  *money.Amount  `json:"new_input_per_mtok_usd"`
	OldOutput *money.Amount  `json:"old_output_per_mtok_usd"`
	NewOutput *money.Amount  `json:"new_output_per_mtok_usd"`
	Factor    *float64       `json:"factor"`
	Reason    string         `json:"reason,omitempty"`
}

func (f *importFlags) show(c *cli.Console, o *cli.Options, diff importer.Diff) error {
	view := func(change *importer.Change) changeView {
		v := changeView{State: change.State, Provider: change.Provider, Model: change.Model, Factor: known(change.Factor), Reason: change.Reason}
		if change.Old != nil {
			v.OldInput, v.OldOutput = rateAmount(&change.Old.Input), rateAmount(&change.Old.Output)
		}
		if change.New != nil {
			v.NewInput, v.NewOutput = rateAmount(&change.New.Input), rateAmount(&change.New.Output)
		}
		return v
	}
	t := changeTable()
	if err := cli.PrintList(c, o, diff.Changes, "no changes", view, t, func(change *importer.Change) { addChange(t, change) }); err != nil {
		return err
	}
	stored := "stored"
	if f.dryRun {
		stored = "would be stored"
	}
	c.Infof(o, "%s: %d new and %d changed %s, %d rejected, %d kept (set by hand), %s unchanged, %s not in the catalog",
		importer.Source, diff.Count(importer.New), diff.Count(importer.Changed), stored, diff.Count(importer.Rejected), diff.Count(importer.Kept),
		cli.Count(int64(diff.Unchanged)), cli.Count(int64(diff.Unknown)))
	return nil
}

func changeTable() *cli.Table {
	return &cli.Table{Columns: []cli.Column{
		{Title: "STATE"},
		{Title: "PROVIDER"},
		{Title: "MODEL", Soft: true},
		{Title: "IN", Right: true},
		{Title: "OUT", Right: true},
		{Title: "FACTOR", Right: true},
		{Title: "WHY", Soft: true},
	}}
}

func addChange(t *cli.Table, change *importer.Change) {
	state := cli.Cell{Text: string(change.State), Paint: cli.Green}
	if change.State == importer.Rejected || change.State == importer.Kept {
		state.Paint = cli.Yellow
	}
	times := cli.Dash
	if change.Factor > 0 {
		times = strconv.FormatFloat(change.Factor, 'g', 3, 64) + "×"
	}
	why := change.Reason
	if why == "" && change.Old != nil && change.New != nil && change.Old.Input == change.New.Input && change.Old.Output == change.New.Output {
		why = "other rates"
	}
	t.Add(state, cli.Cell{Text: change.Provider}, cli.Cell{Text: change.Model},
		cli.Cell{Text: arrow(change, func(p *catalog.Price) *money.Rate { return &p.Input })},
		cli.Cell{Text: arrow(change, func(p *catalog.Price) *money.Rate { return &p.Output })}, cli.Cell{Text: times}, cli.Cell{Text: why})
}

// arrow formats a rate before and after a change, separated by an arrow.
func arrow(change *importer.Change, rate func(*catalog.Price) *money.Rate) string {
	before, after := cli.Dash, cli.Dash
	if change.Old != nil {
		before = cli.Rate(rate(change.Old))
	}
	if change.New != nil {
		after = cli.Rate(rate(change.New))
	}
	if before == after {
		return after
	}
	return before + " → " + after
}
