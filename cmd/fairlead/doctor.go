package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/app"
	"fairlead/internal/config"
)

// checkTime bounds a check: one that hangs must not hide what the others find.
const checkTime = 20 * time.Second

// The results of a check.
const (
	fine   = "ok"
	doubt  = "warn" // it works, but not for long or not for everything
	broken = "fail"
)

// finding is what a check has found, as JSON too.
type finding struct {
	Check   string `json:"check"`
	Result  string `json:"result"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// doctor is one examination.
type doctor struct {
	console  *console
	options  *options
	public   *url.URL      // where clients find the server; nil when nobody says
	patience time.Duration // with the first words of a stream
	loaded   *config.Loaded
}

func newDoctor(c *console, o *options) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check everything that a server needs, and say how to mend it; exit code 3 on a failure", Args: noArgs,
		Long: `Check everything that a server needs, whether one runs or not: configuration, port, certificate, data directory and free space,
database, Redis, the providers, clock, prices, keys and dashboard. Each line says ok, warn or fail, and how to mend it.
With --url it also asks for a stream at the address that clients use, to see whether a proxy holds it back; the key for that,
with the scope read, is taken from FAIRLEAD_API_KEY. Exit code 3 when something fails.`,
		Example: `  fairlead doctor
  fairlead doctor --json | jq -c 'select(.result != "ok")'
  FAIRLEAD_API_KEY=fl_… fairlead doctor --url https://models.example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{console: c, options: o, patience: streamTime}
			if address != "" {
				u, err := parseAddress(address)
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
	cmd.Flags().StringVar(&address, "url", "", "address that clients use, to see whether streams arrive there as they are written")
	return cmd
}

// examine makes all checks at a time and returns what they found in their order.
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

// bounded makes one check and leaves it alone when it does not end: the process is about to.
func bounded(ctx context.Context, name string, check func(context.Context) []finding) []finding {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	done := make(chan []finding, 1)
	go func() { done <- check(ctx) }()
	select {
	case found := <-done:
		return found
	case <-time.After(checkTime + time.Second): // what heeds the context has said so by now
		return []finding{{name, broken, fmt.Sprintf("the check did not end within %s", lasted(checkTime)), "see whether a disk or a network that it needs hangs"}}
	}
}

// configuration reads the configuration; what is wrong in it has its default for the other checks.
func (d *doctor) configuration(ctx context.Context) []finding {
	const check = "config"
	loaded, err := d.options.load(d.console, d.options.flags())
	if d.loaded = loaded; err != nil {
		d.loaded = &config.Loaded{Config: config.Readable(d.options.sources(d.console, d.options.flags()))}
	}
	var found []finding
	warning := ""
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		defer cancel()
		warning, err = app.Check(ctx, loaded, d.console.getenv)
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
		return []finding{{check, fine, "no file, defaults and environment", ""}}
	}
	return []finding{{check, fine, loaded.Path, ""}}
}

// show writes what was found; failures make the command one that found problems.
func (d *doctor) show(found []finding) error {
	failed, doubted := 0, 0
	for _, f := range found {
		switch f.Result {
		case broken:
			failed++
		case doubt:
			doubted++
		}
		if d.options.json {
			if err := d.console.writeJSON(f); err != nil {
				return err
			}
		}
	}
	if !d.options.json {
		if err := d.console.writeTable(d.options, findings(found, d.console.columns())); err != nil {
			return err
		}
	}
	if failed+doubted > 0 {
		d.console.say(d.options, "%s, %s", plural(failed, "failure"), plural(doubted, "warning"))
	}
	if failed > 0 {
		return &problemsError{failed}
	}
	return nil
}

// findings is a table in which nothing is cut off: what is too long for the terminal goes on below.
func findings(found []finding, width int) *table {
	paints := map[string]paint{fine: green, doubt: yellow, broken: red}
	t := &table{columns: []column{{title: "CHECK"}, {title: "RESULT"}, {title: "FOUND"}}}
	names := widthOf("CHECK")
	for _, f := range found {
		names = max(names, widthOf(clean(f.Check)))
	}
	room := width - names - widthOf("RESULT") - 2*gap
	for _, f := range found {
		for i, line := range fold(f.Message, width, room) {
			if i == 0 {
				t.add(cell{f.Check, bold}, cell{f.Result, paints[f.Result]}, cell{text: line})
				continue
			}
			t.row("", "", line)
		}
		if f.Fix != "" {
			for _, line := range fold("fix: "+f.Fix, width, room) {
				t.row("", "", line)
			}
		}
	}
	return t
}

// fold breaks a text into lines for a terminal; elsewhere it stays one.
func fold(text string, width, room int) []string {
	if width == 0 || widthOf(text) <= room {
		return []string{text}
	}
	return wrap(clean(text), max(room, 2*softest))
}
