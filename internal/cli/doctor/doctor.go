// Package doctor implements "fairlead doctor", which checks an installation.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/cli/server"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/providerset"
)

// checkTime is the time limit for a check, so that a check that hangs does not block the results of the others.
const checkTime = 20 * time.Second

// Check results.
const (
	fine   = "ok"
	doubt  = "warn" // the checked component works with restrictions or may stop working soon
	broken = "fail"
)

// finding is the result of a check.
type finding struct {
	Check   string `json:"check"`
	Result  string `json:"result"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// doctor runs the checks.
type doctor struct {
	console  *cli.Console
	options  *cli.Options
	public   *url.URL      // address that clients use; nil if unknown
	patience time.Duration // timeout for the first event of a stream
	loaded   *config.Loaded
}

// New returns the command "doctor".
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the installation and suggest fixes; the exit code is 3 on a failure", Args: cli.NoArgs,
		Long: `Check everything a server needs, with or without a running server: configuration, port, certificate, data directory and free space,
database, Redis, providers, clock, prices, keys, export and dashboard. Each line is ok, warn or fail, with a fix.
With --url it also requests a stream at that address to detect proxies that buffer streams. The API key for this request,
with the scope read, is read from FAIRLEAD_API_KEY. The exit code is 3 when a check fails.`,
		Example: `  fairlead doctor
  fairlead doctor --json | jq -c 'select(.result != "ok")'
  FAIRLEAD_API_KEY=fl_… fairlead doctor --url https://models.example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{console: c, options: o, patience: streamTime}
			if address != "" {
				u, err := server.ParseAddress(address)
				if err != nil {
					return err
				}
				d.public = u
			}
			found := d.examine(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return d.show(found)
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address that clients use, to check whether streams arrive unbuffered")
	return cmd
}

// examine runs all checks concurrently and returns their findings in order.
func (d *doctor) examine(ctx context.Context) []finding {
	found := d.configuration(ctx)
	checks := []struct {
		name string
		run  func(context.Context) []finding
	}{
		{"port", d.ports},
		{"certificate", d.certificate},
		{"data", d.data},
		{"redis", d.redis},
		{"providers", d.state},
		{"dashboard", d.dashboard},
		{"stream", d.stream},
	}
	results := make([][]finding, len(checks))
	var wait sync.WaitGroup
	for i, check := range checks {
		wait.Go(func() { results[i] = bounded(ctx, check.name, check.run) })
	}
	wait.Wait()
	for _, some := range results {
		found = append(found, some...)
	}
	return found
}

// bounded runs one check. It stops waiting for a check that exceeds the time limit, because the process is about to exit.
func bounded(ctx context.Context, name string, check func(context.Context) []finding) []finding {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	done := make(chan []finding, 1)
	go func() { done <- check(ctx) }()
	select {
	case found := <-done:
		return found
	case <-time.After(checkTime + time.Second): // checks that observe the context have returned by now
		return []finding{{name, broken, fmt.Sprintf("the check did not finish within %s", cli.Duration(checkTime)), "check for a disk or network that does not respond"}}
	}
}

// configuration loads the configuration. For the other checks, invalid settings are replaced with their defaults.
func (d *doctor) configuration(ctx context.Context) []finding {
	const check = "config"
	loaded, err := instance.LoadConfig(d.console, d.options, d.options.Flags())
	if d.loaded = loaded; err != nil {
		d.loaded = &config.Loaded{Config: config.Readable(instance.ConfigSources(d.console, d.options, d.options.Flags()))}
	}
	var found []finding
	warning := ""
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		defer cancel()
		warning, err = providerset.Check(ctx, loaded, d.console.Getenv)
		for _, text := range loaded.Warnings {
			found = append(found, finding{check, doubt, text, "correct or remove it"})
		}
	}
	if warning != "" {
		found = append(found, finding{check, doubt, warning, "correct it; fairlead models list  shows the models in use"})
	}
	if problems, ok := errors.AsType[*config.Problems](err); ok {
		for _, p := range problems.List {
			found = append(found, finding{check, broken, p.String(), p.Fix})
		}
		return found
	}
	if err != nil {
		return append(found, finding{check, broken, err.Error(), "see  fairlead config check"})
	}
	if len(found) > 0 {
		return found
	}
	if loaded.Path == "" {
		return []finding{{check, fine, "no file, using defaults and environment", ""}}
	}
	return []finding{{check, fine, loaded.Path, ""}}
}

// show prints the findings. It returns an error when a check failed.
func (d *doctor) show(found []finding) error {
	failed, doubted := 0, 0
	for _, f := range found {
		switch f.Result {
		case broken:
			failed++
		case doubt:
			doubted++
		}
		if d.options.JSON {
			if err := d.console.PrintJSON(f); err != nil {
				return err
			}
		}
	}
	if !d.options.JSON {
		if err := d.console.PrintTable(d.options, findings(found, d.console.Columns())); err != nil {
			return err
		}
	}
	if failed+doubted > 0 {
		d.console.Infof(d.options, "%s, %s", cli.Plural(failed, "failure"), cli.Plural(doubted, "warning"))
	}
	if failed > 0 {
		return &cli.ProblemsError{Count: failed}
	}
	return nil
}

// findings returns the table of findings. Long messages are wrapped, not truncated.
func findings(found []finding, width int) *cli.Table {
	paints := map[string]cli.Paint{fine: cli.Green, doubt: cli.Yellow, broken: cli.Red}
	t := &cli.Table{Columns: []cli.Column{{Title: "CHECK"}, {Title: "RESULT"}, {Title: "FOUND"}}}
	names := cli.Width("CHECK")
	for _, f := range found {
		names = max(names, cli.Width(cli.Clean(f.Check)))
	}
	room := width - names - cli.Width("RESULT") - 2*cli.ColumnGap
	for _, f := range found {
		for i, line := range fold(f.Message, width, room) {
			if i == 0 {
				t.Add(cli.Cell{Text: f.Check, Paint: cli.Bold}, cli.Cell{Text: f.Result, Paint: paints[f.Result]}, cli.Cell{Text: line})
				continue
			}
			t.Row("", "", line)
		}
		if f.Fix != "" {
			for _, line := range fold("fix: "+f.Fix, width, room) {
				t.Row("", "", line)
			}
		}
	}
	return t
}

// fold wraps text into lines of at most room columns, or of 2*cli.MinSoftWidth columns if room is smaller. If width is 0, the output is not
// a terminal, and fold returns one line.
func fold(text string, width, room int) []string {
	if width == 0 || cli.Width(text) <= room {
		return []string{text}
	}
	return cli.Wrap(cli.Clean(text), max(room, 2*cli.MinSoftWidth))
}
