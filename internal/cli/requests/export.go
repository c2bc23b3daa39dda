package requests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	adminrequests "fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/requestlog"
)

// exportFlags holds the options of an export.
type exportFlags struct {
	format  string
	columns string
	output  string
}

func (r *requestCommands) newExport() *cobra.Command {
	var e exportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "Export requests as CSV or JSON lines, newest first", Args: cli.NoArgs,
		Long: "Export requests as CSV or JSON lines, newest first. In CSV, values that a spreadsheet would interpret as a formula are prefixed with an apostrophe.\n" +
			"Columns: " + strings.Join(adminrequests.Columns(), ", ") + ".",
		Example: `  fairlead requests export --from now-7d --output requests.csv
  fairlead requests export --format jsonl --decision fallback | jq -r .model
  fairlead requests export --columns id,time,model,cost_usd,saved_usd`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.Options.JSON && !cmd.Flags().Changed("format") {
				e.format = "jsonl"
			}
			if !slices.Contains([]string{"csv", "jsonl"}, e.format) {
				return cli.Usagef("use  --format csv  or  --format jsonl", "unknown format %q", e.format)
			}
			return r.selecting(cmd, func(s selected) error {
				if s.filter.To.IsZero() {
					s.filter.To = r.Console.Now() // exclude requests that arrive during the export
				}
				return r.export(cmd.Context(), s.store, s.filter, e)
			})
		},
	}
	cli.AddFilterFlags(cmd)
	cmd.Flags().StringVar(&e.format, "format", "csv", "csv or jsonl")
	cmd.Flags().StringVar(&e.columns, "columns", "", "comma-separated list of columns (default: the most common ones)")
	cmd.Flags().StringVar(&e.output, "output", "", "output file, written only on success (default: standard output)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"csv", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (r *requestCommands) export(ctx context.Context, store requestlog.Reader, f requestlog.Filter, e exportFlags) error {
	out, err := newOutput(r.Console.Out, e.output)
	if err != nil {
		return err
	}
	sheet, err := adminrequests.NewSheet(out, e.format, e.columns)
	if err != nil {
		return errors.Join(cli.AsUsageError(err), out.discard())
	}
	p := cli.NewProgress(ctx, r.Console, r.Options, store, f)
	err = writePages(ctx, store, f, sheet, p.Add)
	p.End()
	if err != nil {
		r.Console.Infof(r.Options, "%s written before the export stopped", cli.Plural(p.Done, "request"))
		return errors.Join(err, out.discard())
	}
	if err := out.keep(); err != nil {
		return err
	}
	if e.output != "" {
		r.Console.Infof(r.Options, "%s written to %s", cli.Plural(p.Done, "request"), e.output)
	}
	return nil
}

// writePages writes all pages. Each page is read after the previous one was written.
func writePages(ctx context.Context, store requestlog.Reader, f requestlog.Filter, sheet *adminrequests.Sheet, wrote func(int)) error {
	if err := sheet.Begin(); err != nil {
		return err
	}
	for before := ""; ; {
		page, err := store.Entries(ctx, f, requestlog.Page{Before: before, Limit: requestlog.MaxLimit})
		unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
		if err != nil && !partial {
			return err
		}
		for i := range page {
			if err := sheet.Write(&page[i]); err != nil {
				return err
			}
		}
		if err := sheet.Flush(); err != nil {
			return err
		}
		wrote(len(page))
		switch {
		case partial: // continues a search that reached its time limit
			before = unfinished.Before
		case len(page) < requestlog.MaxLimit:
			return nil
		default:
			before = page[len(page)-1].ID
		}
	}
}

// output is the destination of an export. A file is renamed to its final name only when it is complete, so that a partial file is
// not mistaken for a complete one.
type output struct {
	io.Writer
	file *os.File
	name string
}

func newOutput(standard io.Writer, name string) (*output, error) {
	if name == "" || name == "-" {
		return &output{Writer: standard}, nil
	}
	file, err := os.OpenFile(name+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the file: %w", err)
	}
	return &output{Writer: file, file: file, name: name}, nil
}

func (o *output) keep() error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		return fmt.Errorf("close the file: %w", err)
	}
	return os.Rename(o.file.Name(), o.name)
}

func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	return errors.Join(o.file.Close(), os.Remove(o.file.Name()))
}
