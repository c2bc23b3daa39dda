package keys

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/session"
)

// keyFlags holds the settings of a new key.
type keyFlags struct {
	name     string
	scopes   []string
	models   []string
	limits   account.Limits
	budget   string
	period   string
	warn     int
	session  string
	user     string
	expires  string
	noBodies bool
	cache    string
	cacheTTL time.Duration
	shared   bool
	tags     []string
}

func (k *keyCommands) newCreate() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "create --name NAME", Short: "Create an API key and show it once", Args: cli.NoArgs,
		Long: "Create an API key and show it once. Running servers accept it immediately.",
		Example: `  fairlead keys create --name ci
  fairlead keys create --name batch --models 'gpt-4.1*' --budget 50 --period month --warn 80 --expires 90d
  KEY=$(fairlead keys create --name ci --quiet)
  fairlead keys create --name ci --json | jq -r .key`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RequireFlag(cmd, "name", "--name ci"); err != nil {
				return err
			}
			if f.budget == "" && (cmd.Flags().Changed("period") || cmd.Flags().Changed("warn")) {
				return cli.Usagef("add  --budget 50", "--period and --warn require --budget")
			}
			draft, err := f.draft(k.Console.Now())
			if err != nil {
				return err
			}
			return k.With(cmd.Context(), func(i *instance.Instance, w account.Workspace) error {
				return k.create(cmd.Context(), i, w, draft)
			})
		},
	}
	f.register(cmd)
	return cmd
}

func (f *keyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the key")
	flags.StringSliceVar(&f.scopes, "scopes", []string{"inference"}, "permissions: inference, read, manage")
	flags.StringSliceVar(&f.models, "models", nil, "allowed models, for example gpt-4.1 or gpt-4.1* (default: all)")
	flags.Int64Var(&f.limits.RequestsPerMinute, "rpm", 0, "maximum requests per minute (default 0: no limit)")
	flags.Int64Var(&f.limits.TokensPerMinute, "tpm", 0, "maximum tokens per minute (default 0: no limit)")
	flags.Int64Var(&f.limits.Concurrent, "concurrent", 0, "maximum concurrent requests (default 0: no limit)")
	flags.StringVar(&f.budget, "budget", "", "maximum spending per period in dollars (default: no budget)")
	flags.StringVar(&f.period, "period", "month", "budget period: day, week, month, total")
	flags.IntVar(&f.warn, "warn", 0, "warn at this percentage of the budget (default 0: no warning)")
	flags.StringVar(&f.session, "session-budget", "", "maximum spending of each session in dollars; auto:cost serves it from 80 % on (default: no budget)")
	flags.StringVar(&f.user, "user-budget", "", "maximum spending of each end user per day in dollars; auto:cost serves it from 80 % on (default: no budget)")
	flags.StringVar(&f.expires, "expires", "", "expiry: 90d, or a date such as 2027-01-31 (default: never)")
	flags.BoolVar(&f.noBodies, "no-bodies", false, "do not store prompts and responses")
	flags.StringVar(&f.cache, "cache", "off", "response cache: off, on_request, always")
	flags.DurationVar(&f.cacheTTL, "cache-ttl", time.Hour, "maximum age of a cached response")
	flags.BoolVar(&f.shared, "cache-shared", false, "share cached responses with the other sharing keys of the workspace")
	flags.StringSliceVar(&f.tags, "tags", nil, "tags for its requests, for example team=search,stage=prod")
	_ = cmd.RegisterFlagCompletionFunc("scopes", cobra.FixedCompletions([]string{"inference", "read", "manage"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("cache", cobra.FixedCompletions([]string{"off", "on_request", "always"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("period", cobra.FixedCompletions([]string{"day", "week", "month", "total"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *keyFlags) draft(now time.Time) (account.KeySettings, error) {
	d := account.KeySettings{Name: f.name, AllowedModels: f.models, Limits: f.limits}
	for _, scope := range f.scopes {
		d.Scopes = append(d.Scopes, account.Scope(scope))
	}
	if f.noBodies {
		d.LogBodies = new(bool)
	}
	if f.cache != "off" {
		d.Cache = &account.ResponseCache{Mode: account.CacheMode(f.cache), TTL: f.cacheTTL, Shared: f.shared}
	}
	for _, text := range f.tags {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return d, cli.Usagef("write it as name=value", "--tags: %q is not a tag", text)
		}
		if d.Tags == nil {
			d.Tags = map[string]string{}
		}
		d.Tags[name] = value
	}
	var err error
	if d.ExpiresAt, err = parseEnd(f.expires, now); err != nil {
		return d, err
	}
	if d.Budget, err = parseBudget("budget", f.budget, account.Period(f.period), f.warn); err != nil {
		return d, err
	}
	limits := account.SessionLimits{Downgrade: true}
	if limits.Budget, err = parseBudget("session-budget", f.session, account.Total, session.DowngradePercent); err != nil {
		return d, err
	}
	if limits.UserBudget, err = parseBudget("user-budget", f.user, account.Daily, session.DowngradePercent); err != nil {
		return d, err
	}
	if limits.Budget != nil || limits.UserBudget != nil {
		d.Sessions = &limits
	}
	return d, nil
}

// parseBudget parses the amount of a budget flag. It returns nil if the flag is empty.
func parseBudget(flag, text string, period account.Period, warn int) (*account.Budget, error) {
	if text == "" {
		return nil, nil
	}
	limit, err := money.Parse(strings.TrimPrefix(text, "$"))
	if err != nil {
		return nil, cli.Usagef(fmt.Sprintf("write it in dollars: --%[1]s 50 or --%[1]s 0.5", flag), "--%s: %q is not an amount", flag, text)
	}
	return &account.Budget{Amount: limit, Period: period, WarnPercent: warn}, nil
}

// parseEnd parses an expiry, given as a duration from now or as a time. An empty string means never.
func parseEnd(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if span, err := config.ParseDuration(text); err == nil {
		return now.Add(span), nil
	}
	end, err := requestlog.ParseTime(text, now)
	if err != nil {
		return time.Time{}, cli.Usagef("write it as 90d, 2027-01-31 or 2027-01-31T12:00:00Z", "--expires: %q is neither a duration nor a time", text)
	}
	return end, nil
}

func (k *keyCommands) create(ctx context.Context, i *instance.Instance, w account.Workspace, draft account.KeySettings) error {
	key, text, err := i.Accounts.CreateKey(ctx, account.CommandLine(w.ID), draft)
	if err != nil {
		return cli.AsUsageError(err)
	}
	if k.Options.JSON {
		return k.Console.PrintJSON(newKeyView(&key, text, k.Console.Now()))
	}
	k.Console.Infof(k.Options, "Key %q (%s). It is shown only once:\n", cli.Clean(key.Name), key.ID)
	if err := k.Console.Print(text + "\n"); err != nil {
		return err
	}
	if slices.Contains(key.Scopes, account.Inference) {
		k.Console.Infof(k.Options, "\nTry it:\n"+
			"  curl %s/proxy/v1/chat/completions \\\n    -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\\n"+
			`    -d '{"messages":[{"content":"Hello","role":"user"}],"model":"auto"}'`, instance.BaseURL(i.Config), text)
	}
	return nil
}
