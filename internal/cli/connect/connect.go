// Package connect implements "fairlead connect", which makes coding agents use a gateway: it creates a key, changes the agent's own files
// and can undo both.
package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/cli/server"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/spelling"
)

// command holds the flags of "connect".
type command struct {
	console *cli.Console
	options *cli.Options

	server  string
	budget  string
	project bool
	print   bool
	undo    bool
}

// New returns the command "connect".
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	k := command{console: c, options: o}
	names := make([]string, len(agents))
	for i := range agents {
		names[i] = agents[i].name
	}
	cmd := &cobra.Command{
		Use: "connect [AGENT]", Short: "Make a coding agent use the gateway", ValidArgs: names, Args: cobra.ArbitraryArgs,
		Long: "Make a coding agent use the gateway: create an API key with the name of the agent, send one request, and change the agent's own files. " +
			"Comments and other settings in the files are kept, and --undo restores the files and revokes the key. Without an agent, list the agents " +
			"and the files that would change.\n\nThe agents are " + cli.JoinOr(names) + ".",
		Example: `  fairlead connect
  fairlead connect claude-code --budget 20/week
  fairlead connect codex --print
  fairlead connect codex --undo
  FAIRLEAD_API_KEY=fl_… fairlead connect opencode --server https://models.example.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return k.list()
			}
			a, err := findAgent(args)
			if err != nil {
				return err
			}
			return k.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&k.server, "server", "", "address of the gateway (default: the configured one on this machine); on another machine, its key is read from FAIRLEAD_API_KEY or asked for")
	flags.StringVar(&k.budget, "budget", "", "maximum spending of the agent, such as 20/week (periods: day, week, month, total)")
	flags.BoolVar(&k.project, "project", false, "change the settings of the project in this directory instead of the user's")
	flags.BoolVar(&k.print, "print", false, "print the files instead of changing them, without creating a key")
	flags.BoolVar(&k.undo, "undo", false, "restore the files and revoke the key")
	return cmd
}

func findAgent(args []string) (*agent, error) {
	if len(args) > 1 {
		return nil, cli.Usagef("name one agent", "unexpected %q", args[1])
	}
	var names []string
	for i := range agents {
		a := &agents[i]
		if args[0] == a.name || args[0] == a.program {
			return a, nil
		}
		names = append(names, a.name)
	}
	fix := "see  fairlead connect"
	if near := spelling.Closest(args[0], names); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, cli.Usagef(fix, "unknown agent %q", args[0])
}

// run connects, prints or undoes one agent.
func (k *command) run(ctx context.Context, a *agent) error {
	if k.project && !a.project {
		return cli.Usagef("leave out --project", "%s reads the address of a gateway from the user's settings only", a.title)
	}
	project := ""
	if k.project {
		var err error
		if project, err = os.Getwd(); err != nil {
			return err
		}
	}
	s, at, err := k.newSite(a, project)
	if err != nil {
		return err
	}
	switch {
	case k.undo:
		return k.undoConnection(ctx, a, at)
	case k.print:
		return k.printFiles(ctx, a, s)
	}
	return k.connect(ctx, a, s, at)
}

// newSite returns the places of the agent's files, and the path of its record. project is empty for the user's settings.
func (k *command) newSite(a *agent, project string) (*site, string, error) {
	home := k.console.Getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return nil, "", err
		}
	}
	s := &site{home: home, project: project, getenv: k.console.Getenv, env: k.console.Env}
	s.now = k.console.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	s.program, _ = exec.LookPath(a.program) // empty if it is not installed
	at := recordPath(filepath.Join(s.xdgConfig(), "fairlead", "agents"), a.name, s.project)
	s.keyFile = strings.TrimSuffix(at, ".json") + ".key"
	return s, at, nil
}

// list prints the agents, whether they are installed and connected, and the files that connecting changes.
func (k *command) list() error {
	type row struct {
		Agent     string   `json:"agent"`
		Title     string   `json:"title"`
		Installed string   `json:"installed,omitempty"`
		Connected string   `json:"connected,omitempty"`
		Files     []string `json:"files"`
	}
	var rows []row
	for i := range agents {
		a := &agents[i]
		s, at, err := k.newSite(a, "")
		if err != nil {
			return err
		}
		r := row{Agent: a.name, Title: a.title, Installed: s.program}
		if connected, err := readRecord(at); err == nil && connected != nil {
			r.Connected = connected.Gateway
		}
		listed := *s
		listed.program = "" // listing runs no program of an agent
		files, err := a.files(&listed)
		if err != nil {
			return err
		}
		for _, f := range files {
			r.Files = append(r.Files, f.path)
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch {
		case (a.Installed != "") == (b.Installed != ""):
			return 0
		case a.Installed != "":
			return -1
		}
		return 1
	})
	table := cli.Table{Columns: []cli.Column{{Title: "AGENT"}, {Title: "INSTALLED"}, {Title: "CONNECTED TO"}, {Title: "FILES", Soft: true}}}
	err := cli.PrintList(k.console, k.options, rows, "", func(r *row) row { return *r }, &table, func(r *row) {
		installed := "no"
		if r.Installed != "" {
			installed = "yes"
		}
		table.Row(r.Agent, installed, r.Connected, strings.Join(r.Files, ", "))
	})
	if err == nil && !k.options.JSON {
		k.console.Infof(k.options, "\nConnect one with  fairlead connect AGENT,  or see the changes first with --print.")
	}
	return err
}

// budget is the limit of a key.
type budget struct {
	amount money.Amount
	period account.Period
}

// parseBudget parses an amount with an optional period, such as 20/week.
func parseBudget(text string) (*budget, error) {
	if text == "" {
		return nil, nil
	}
	amount, period, ok := strings.Cut(text, "/")
	if !ok {
		period = string(account.Monthly)
	}
	limit, err := money.Parse(strings.TrimPrefix(amount, "$"))
	if err != nil || !slices.Contains([]account.Period{account.Daily, account.Weekly, account.Monthly, account.Total}, account.Period(period)) {
		return nil, cli.Usagef("write it as 20/week, with the period day, week, month or total", "--budget: %q is not a budget", text)
	}
	return &budget{limit, account.Period(period)}, nil
}

// connect creates a key, tries it, and changes the files. If a step fails, the key is revoked and no file is changed.
func (k *command) connect(ctx context.Context, a *agent, s *site, at string) (err error) {
	limit, err := parseBudget(k.budget)
	if err != nil {
		return err
	}
	previous, err := readRecord(at)
	if err != nil {
		return err
	}
	r := record{Agent: a.name, Project: s.project}
	var gateway remote
	if gateway, r.KeyID, err = k.obtainKey(ctx, a, limit); err != nil {
		return err
	}
	r.Gateway, r.Remote, s.gateway, s.key = gateway.base, gateway.remote, gateway.base, gateway.key
	defer func() {
		if err != nil {
			err = errors.Join(err, k.revoke(context.WithoutCancel(ctx), &r, gateway.key))
		}
	}()
	if s.offer, err = gateway.readOffer(ctx); err != nil {
		return err
	}
	first, err := gateway.askOnce(ctx, a)
	if err != nil {
		return err
	}
	files, err := a.files(s)
	if err != nil {
		return err
	}
	changes, err := plan(append([]file{{s.keyFile, replaceWith([]byte(s.key + "\n"))}}, files...), s.key)
	if err != nil {
		return err
	}
	if err := apply(at, &r, previous, changes); err != nil {
		return err
	}
	if previous != nil {
		if err := k.revoke(ctx, previous, gateway.key); err != nil {
			k.console.Infof(k.options, "warning: the previous key was not revoked: %v", err)
		}
	}
	k.report(a, s, first, changes)
	return nil
}

// report prints what was done. With --json it prints one object.
func (k *command) report(a *agent, s *site, first answer, changes []change) {
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.path)
	}
	if k.options.JSON {
		_ = k.console.PrintJSON(map[string]any{
			"agent": a.name, "gateway": s.gateway, "model": first.model, "provider": first.provider, "simulated": first.simulated, "files": paths,
		})
		return
	}
	info := func(format string, args ...any) { k.console.Infof(k.options, format, args...) }
	info("%s now uses %s with the model %s (%s API).", a.title, s.gateway, a.model, a.api)
	info("Test request: %s.", cli.Clean(first.describe()))
	for _, c := range changes {
		info("  changed %s", cli.Clean(c.path))
		if s.project != "" && c.path != s.keyFile && bytes.Contains(c.new, []byte(s.key)) {
			info("warning: this file contains the key. Do not commit it.")
		}
	}
	if first.simulated {
		info("The simulator answered, because no provider is connected. Connect one with  fairlead providers connect")
	}
	for _, name := range a.conflicts {
		if s.getenv(name) != "" {
			info("warning: %s is set and takes precedence. Unset it before you start %s.", name, a.title)
		}
	}
	if s.program == "" {
		info("%s is not installed. Run this command again after installing it, so that the settings match its version.", a.title)
	}
	if a.note != "" {
		info("%s", a.note)
	}
	info("Undo with  fairlead connect %s --undo", a.name)
}

// obtainKey returns the gateway with a key for the agent, and the ID of the key if it was created.
func (k *command) obtainKey(ctx context.Context, a *agent, limit *budget) (gateway remote, id string, err error) {
	if k.server == "" {
		return k.createLocalKey(ctx, a, limit, "")
	}
	u, err := server.ParseAddress(k.server)
	if err != nil {
		return gateway, "", err
	}
	gateway.base = strings.TrimSuffix(strings.TrimSuffix(u.String(), "/"), "/proxy/v1")
	if gateway.key = k.console.Getenv("FAIRLEAD_API_KEY"); gateway.key == "" {
		if isLoopback(u.Hostname()) { // a gateway on this machine at another address than the configured one
			return k.createLocalKey(ctx, a, limit, gateway.base)
		}
		if !k.console.CanAsk {
			return gateway, "", cli.Usagef("set FAIRLEAD_API_KEY to a key of this gateway", "--server needs a key")
		}
		k.console.Infof(k.options, "API key of %s:", cli.Clean(gateway.base))
		if gateway.key, err = k.console.Secret(ctx); err != nil {
			return gateway, "", err
		}
	}
	gateway.remote = true
	id, key, err := gateway.createKey(ctx, a.name, limit)
	if errors.Is(err, errCannotCreate) {
		if limit != nil {
			return gateway, "", cli.WithFix(errors.New("the key may not create another key with a budget"), "use a key with the scope manage, or leave out --budget")
		}
		return gateway, "", nil // the agent uses the key itself
	}
	if err != nil {
		return gateway, "", err
	}
	gateway.key = key
	return gateway, id, nil
}

func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// createLocalKey creates a key in the data of the gateway on this machine, whose server must run. base is its address; empty for the
// configured one.
func (k *command) createLocalKey(ctx context.Context, a *agent, limit *budget, base string) (gateway remote, id string, err error) {
	err = instance.With(ctx, k.console, k.options, func(i *instance.Instance) error {
		gateway.base = cmp.Or(base, instance.ListenURL(i.Config))
		if base == "" && strings.HasPrefix(gateway.base, "https:") {
			gateway.base = instance.BaseURL(i.Config) // a certificate is for the public name
		}
		u, err := server.ParseAddress(gateway.base)
		if err != nil {
			return err
		}
		if _, _, err := server.AskReady(ctx, u, true); err != nil {
			return cli.WithFix(err, "start it with  fairlead serve,  or name its address with --server")
		}
		w, err := i.Workspace(ctx, "")
		if err != nil {
			return err
		}
		draft := account.KeySettings{Name: a.name, Scopes: []account.Scope{account.Inference}}
		if limit != nil {
			draft.Budget = &account.Budget{Amount: limit.amount, Period: limit.period}
		}
		made, key, err := i.Accounts.CreateKey(ctx, account.CommandLine(w.ID), draft)
		id, gateway.key = made.ID, key
		return err
	})
	return gateway, id, err
}

// revoke revokes the key that connecting created.
func (k *command) revoke(ctx context.Context, r *record, key string) error {
	switch {
	case r.KeyID == "":
		return nil
	case r.Remote:
		gateway := remote{base: r.Gateway, key: k.console.Getenv("FAIRLEAD_API_KEY")}
		if gateway.key == "" {
			gateway.key = key
		}
		_, _, err := gateway.send(ctx, shortTime, http.MethodDelete, "/api/v1/keys/"+r.KeyID, nil)
		return err
	}
	return instance.With(ctx, k.console, k.options, func(i *instance.Instance) error {
		w, err := i.Workspace(ctx, "")
		if err != nil {
			return err
		}
		_, err = i.Accounts.RevokeKey(ctx, account.CommandLine(w.ID), r.KeyID)
		return err
	})
}

var errNotConnected = errors.New("the agent is not connected")

// undoConnection restores the files and revokes the key.
func (k *command) undoConnection(ctx context.Context, a *agent, at string) error {
	r, err := readRecord(at)
	if err != nil {
		return err
	}
	if r == nil {
		return cli.WithFix(fmt.Errorf("%s: %w", a.title, errNotConnected), "see  fairlead connect")
	}
	kept, err := restore(at, r)
	if err != nil {
		return fmt.Errorf("restore the files: %w", err)
	}
	for _, f := range r.Files {
		done := "restored"
		if f.Backup == "" {
			done = "removed"
		}
		k.console.Infof(k.options, "%s %s", done, cli.Clean(f.Path))
	}
	for _, path := range kept {
		k.console.Infof(k.options, "%s had changed since; the changed version is kept as %s", strings.TrimSuffix(path, ".fairlead-changed"), path)
	}
	if err := k.revoke(ctx, r, ""); err != nil {
		return cli.WithFix(fmt.Errorf("the files are restored, but the key %s is not revoked: %w", r.KeyID, err), "revoke it in the API key settings of the dashboard")
	}
	return nil
}

// printFiles prints the files as they would be, with a placeholder for the key.
func (k *command) printFiles(ctx context.Context, a *agent, s *site) error {
	s.key = "fl_…"
	s.gateway = strings.TrimSuffix(k.server, "/")
	if s.gateway == "" {
		s.gateway = instance.OwnURL(k.console, k.options)
	}
	s.Auto = model{ID: "auto", Context: 200_000, MaxOutput: outputTokens, Abilities: []string{"tools", "vision", "files", "reasoning"}}
	s.Context = s.Auto.Context
	if key := k.console.Getenv("FAIRLEAD_API_KEY"); key != "" {
		o, err := remote{base: s.gateway, key: key}.readOffer(ctx)
		if err != nil {
			return err
		}
		s.offer = o
	}
	files, err := a.files(s)
	if err != nil {
		return err
	}
	changes, err := plan(files, s.key)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := k.console.Print("# " + cli.Clean(c.path) + "\n" + string(c.new) + "\n"); err != nil {
			return err
		}
	}
	return nil
}
