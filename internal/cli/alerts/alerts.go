// Package alerts implements "fairlead alerts".
package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/account"
	adminalerts "fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
)

// New returns the alerts commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	cmd := cli.Group("alerts", "Add, list, mute and test alerts", `  fairlead alerts channels add ops --webhook https://example.com/hooks/fairlead
  fairlead alerts add error_rate --threshold 5 --window 15m --channel ops
  fairlead alerts test ops
  fairlead alerts mute "Error rate" --for 2h
  fairlead alerts history`)
	a := &alertCommands{instance.Commands{Console: c, Options: o}}
	cmd.PersistentFlags().StringVar(&a.Workspace, "workspace", "", instance.WorkspaceHelp)
	cmd.AddCommand(a.newList(), a.newShow(), a.newAdd(), a.newMute(), a.newTest(), a.newRemove(), a.newHistory(), a.newChannels())
	return cmd
}

// alertCommands holds the state shared by the alerts commands.
type alertCommands struct{ instance.Commands }

// session holds the services and the actor for the alerts of one workspace.
type session struct {
	*alert.Service
	accounts *account.Service
	actor    account.Actor
}

// note writes an entry to the audit log.
func (s *session) note(ctx context.Context, action, object string, before, after any) error {
	return s.accounts.Note(ctx, s.actor, action, object, before, after)
}

func (a *alertCommands) with(ctx context.Context, do func(*session) error) error {
	return a.With(ctx, func(i *instance.Instance, w account.Workspace) error {
		service, client := i.Alerts(a.Console.Version)
		defer client.Close()
		actor := account.CommandLine(w.ID)
		first, err := i.Accounts.FirstWorkspace(ctx)
		if err != nil {
			return err
		}
		actor.Operator = first.ID == w.ID
		return do(&session{service, i.Accounts, actor})
	})
}

// rule returns the rule with the given ID or name.
func (s *session) rule(ctx context.Context, given string) (alert.Rule, error) {
	rules, err := s.Rules.Rules(ctx, s.actor.WorkspaceID)
	if err != nil {
		return alert.Rule{}, err
	}
	var found []alert.Rule
	for _, r := range rules {
		if r.ID == given || r.Name == given {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return alert.Rule{}, cli.WithFix(fmt.Errorf("alert rule %q not found", cli.Clean(given)), "see  fairlead alerts list")
	case 1:
		return found[0], nil
	}
	return alert.Rule{}, cli.WithFix(fmt.Errorf("%d alert rules are named %q", len(found), cli.Clean(given)), "use the id of the rule, see  fairlead alerts list")
}

// channel returns the channel with the given ID or name.
func (s *session) channel(ctx context.Context, given string) (alert.Channel, error) {
	channels, err := s.Channels.Channels(ctx, s.actor.WorkspaceID)
	if err != nil {
		return alert.Channel{}, err
	}
	i := slices.IndexFunc(channels, func(c alert.Channel) bool { return c.ID == given || c.Name == given })
	if i < 0 {
		return alert.Channel{}, cli.WithFix(fmt.Errorf("channel %q not found", cli.Clean(given)), "see  fairlead alerts channels list")
	}
	return channels[i], nil
}

func (a *alertCommands) newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List alert rules and their state", Args: cli.NoArgs,
		Example: `  fairlead alerts list
  fairlead alerts list --json | jq -r 'select(.state == "firing") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s *session) error {
				rules, err := s.Rules.Rules(cmd.Context(), s.actor.WorkspaceID)
				if err != nil {
					return err
				}
				states, err := s.History.WorkspaceStates(cmd.Context(), s.actor.WorkspaceID)
				if err != nil {
					return err
				}
				return a.list(rules, states)
			})
		},
	}
}

func (a *alertCommands) list(rules []alert.Rule, states []alert.State) error {
	view := func(r *alert.Rule) adminalerts.AlertRule { return adminalerts.RuleView(r, states, a.Console.Now()) }
	t := &cli.Table{Columns: []cli.Column{
		{Title: "RULE", Soft: true}, {Title: "STATE"}, {Title: "KIND", Hide: 2}, {Title: "BOUND", Right: true}, {Title: "WINDOW", Hide: 3}, {Title: "VALUE", Right: true, Hide: 1}, {Title: "ID", Hide: 4},
	}}
	const none = "no alert rules yet. Add one:  fairlead alerts add error_rate --threshold 5"
	return cli.PrintList(a.Console, a.Options, rules, none, view, t, func(r *alert.Rule) {
		v := view(r)
		state := v.State
		if v.MutedUntil != nil {
			state += " (muted)"
		}
		value := "" // value of the first firing subject, else of the first subject
		if at := slices.IndexFunc(v.Values, func(one adminalerts.AlertValue) bool { return one.Firing }); at >= 0 {
			value = v.Values[at].Text
		} else if len(v.Values) > 0 {
			value = v.Values[0].Text
		}
		t.Row(cli.Clean(v.Name), state, v.Kind, boundText(r), cli.OrDash(string(r.Window)), cli.OrDash(value), v.ID)
	})
}

func boundText(r *alert.Rule) string {
	info, _ := alert.Info(r.Kind)
	sign := "≥ "
	if info.Below {
		sign = "< "
	}
	return sign + alert.Format(info.Unit, r.Threshold)
}

func (a *alertCommands) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME|ID", Short: "Show an alert rule with its values and latest events", Args: cli.OneArg("the rule's name or id"),
		Example: `  fairlead alerts show "Error rate"
  fairlead alerts show rule_01J… --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(s *session) error { return a.show(cmd.Context(), s, args[0]) })
		},
	}
}

func (a *alertCommands) show(ctx context.Context, s *session, given string) error {
	r, err := s.rule(ctx, given)
	if err != nil {
		return err
	}
	states, err := s.History.WorkspaceStates(ctx, s.actor.WorkspaceID)
	if err != nil {
		return err
	}
	v := adminalerts.RuleView(&r, states, a.Console.Now())
	if a.Options.JSON {
		return a.Console.PrintJSON(v)
	}
	lines := []string{fmt.Sprintf("%s (%s): %s", cli.Clean(v.Name), v.ID, v.State), fmt.Sprintf("  %s %s %s", v.Kind, boundText(&r), r.Window)}
	if v.MutedUntil != nil {
		lines = append(lines, "  muted until "+a.Console.FormatTime(a.Options, *v.MutedUntil, cli.RowTime))
	}
	for _, value := range v.Values {
		state := "ok"
		if value.Firing {
			state = "firing since " + a.Console.FormatTime(a.Options, value.Since, cli.RowTime)
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s %s, %s. %s", cli.Clean(value.Label), value.Text, state, cli.Clean(value.Detail)), " "))
	}
	if err := a.Console.Print(strings.Join(lines, "\n") + "\n\n"); err != nil {
		return err
	}
	events, err := s.History.Events(ctx, s.actor.WorkspaceID, r.ID, "", 10)
	if err != nil {
		return err
	}
	return a.events(events)
}

func (a *alertCommands) newAdd() *cobra.Command {
	var name, window, key string
	var threshold float64
	var channels []string
	var kinds []string
	for _, k := range alert.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	cmd := &cobra.Command{
		Use: "add KIND", Short: "Add an alert rule", Args: cli.OneArg("a kind, such as error_rate"),
		Long: "Add an alert rule. Kinds: " + strings.Join(kinds, ", ") + ".\nRunning servers evaluate it within 30 seconds.",
		Example: `  fairlead alerts add spend --threshold 50 --window day --channel ops
  fairlead alerts add budget --threshold 80 --channel ops
  fairlead alerts add latency_p95 --threshold 5000 --window 15m --key ci
  fairlead alerts add open_circuits --channel ops`,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := alert.Kind(args[0])
			if !slices.Contains(kinds, args[0]) {
				return cli.Usagef("use one of: "+strings.Join(kinds, ", "), "unknown kind %q", cli.Clean(args[0]))
			}
			draft := alert.RuleDraft{Kind: &kind, Name: &name}
			if cmd.Flags().Changed("threshold") {
				draft.Threshold = &threshold
			}
			if window != "" {
				draft.Window = (*alert.Window)(&window)
			}
			return a.with(cmd.Context(), func(s *session) error { return a.add(cmd.Context(), s, draft, key, channels) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "name of the rule (default: the name of the kind)")
	flags.Float64Var(&threshold, "threshold", 0, "threshold in dollars, percent, milliseconds, points, days or a number (default: depends on the kind)")
	flags.StringVar(&window, "window", "", "time that the metric covers: 5m, 15m, 1h, 6h, 24h, 7d or 30d; for spend also day, week or month")
	flags.StringVar(&key, "key", "", "name or id of the API key that the rule watches (default: all)")
	flags.StringSliceVar(&channels, "channel", nil, "name or id of a channel to notify; can be repeated")
	return cmd
}

func (a *alertCommands) add(ctx context.Context, s *session, draft alert.RuleDraft, key string, channels []string) error {
	ids := []string{}
	for _, given := range channels {
		c, err := s.channel(ctx, given)
		if err != nil {
			return err
		}
		ids = append(ids, c.ID)
	}
	draft.Channels = &ids
	if key != "" {
		keys, err := s.Keys.Keys(ctx, s.actor.WorkspaceID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(k account.Key) bool { return k.ID == key || k.Name == key })
		if i < 0 {
			return cli.WithFix(fmt.Errorf("key %q not found", cli.Clean(key)), "see  fairlead keys list")
		}
		draft.KeyID = &keys[i].ID
	}
	r, err := s.AddRule(ctx, s.actor, draft)
	if err != nil {
		return cli.AsUsageError(err)
	}
	if err := s.note(ctx, "alert_rule.create", r.ID, nil, adminalerts.NoteRule(&r)); err != nil {
		return err
	}
	if a.Options.JSON {
		return a.Console.PrintJSON(adminalerts.RuleView(&r, nil, a.Console.Now()))
	}
	a.Console.Infof(a.Options, "added %q (%s): %s %s", cli.Clean(r.Name), r.ID, r.Kind, boundText(&r))
	if len(ids) == 0 {
		a.Console.Infof(a.Options, "it notifies no channel; crossings are listed by  fairlead alerts history")
	}
	return nil
}

func (a *alertCommands) newMute() *cobra.Command {
	var span string
	var off bool
	cmd := &cobra.Command{
		Use: "mute NAME|ID", Short: "Stop the notifications of a rule for some time", Args: cli.OneArg("the rule's name or id"),
		Long: "Stop the notifications of a rule for some time. Crossings are still recorded in the history.",
		Example: `  fairlead alerts mute "Error rate" --for 2h
  fairlead alerts mute "Error rate" --off`,
		RunE: func(cmd *cobra.Command, args []string) error {
			length, err := config.ParseDuration(span)
			if err != nil || length <= 0 {
				return cli.Usagef("write it as 2h or 7d", "--for: %q is not a duration", cli.Clean(span))
			}
			return a.with(cmd.Context(), func(s *session) error { return a.mute(cmd.Context(), s, args[0], length, off) })
		},
	}
	cmd.Flags().StringVar(&span, "for", "1h", "how long, such as 2h or 7d")
	cmd.Flags().BoolVar(&off, "off", false, "end the mute")
	return cmd
}

func (a *alertCommands) mute(ctx context.Context, s *session, given string, length time.Duration, off bool) error {
	r, err := s.rule(ctx, given)
	if err != nil {
		return err
	}
	until := a.Console.Now().Add(length).UTC().Truncate(time.Second)
	if off {
		until = time.Time{}
	}
	before, after, err := s.ChangeRule(ctx, s.actor, r.ID, alert.RuleDraft{MutedUntil: &until})
	if err != nil {
		return cli.AsUsageError(err)
	}
	if err := s.note(ctx, "alert_rule.update", r.ID, adminalerts.NoteRule(&before), adminalerts.NoteRule(&after)); err != nil {
		return err
	}
	if a.Options.JSON {
		return a.Console.PrintJSON(adminalerts.RuleView(&after, nil, a.Console.Now()))
	}
	if off {
		a.Console.Infof(a.Options, "%q is not muted", cli.Clean(r.Name))
		return nil
	}
	a.Console.Infof(a.Options, "muted %q until %s", cli.Clean(r.Name), a.Console.FormatTime(a.Options, until, cli.RowTime))
	return nil
}

func (a *alertCommands) newTest() *cobra.Command {
	return &cobra.Command{
		Use: "test CHANNEL", Short: "Send a test notification through a channel", Args: cli.OneArg("the channel's name or id"),
		Example: `  fairlead alerts test ops`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(s *session) error {
				c, err := s.channel(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				d, err := s.Test(cmd.Context(), s.actor, c.ID)
				if err != nil {
					return err
				}
				if err := s.note(cmd.Context(), "alert_channel.test", c.ID, nil, map[string]string{"state": string(d.State)}); err != nil {
					return err
				}
				if d.State != alert.Delivered {
					return cli.WithFix(fmt.Errorf("the test alert was not delivered: %s", cli.Clean(d.Error)), "check the address of the channel")
				}
				if a.Options.JSON {
					return a.Console.PrintJSON(map[string]string{"channel": c.Name, "state": string(d.State)})
				}
				a.Console.Infof(a.Options, "sent a test alert through %q", cli.Clean(c.Name))
				return nil
			})
		},
	}
}

func (a *alertCommands) newRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME|ID", Short: "Delete an alert rule", Args: cli.OneArg("the rule's name or id"),
		Long:    "Delete an alert rule. Its events stay in the history.",
		Example: `  fairlead alerts remove "Error rate" --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(s *session) error {
				r, err := s.rule(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				yes, err := a.Console.Confirm(cmd.Context(), a.Options, fmt.Sprintf("Delete alert rule %q?", cli.Clean(r.Name)))
				if err != nil || !yes {
					return err
				}
				if _, err := s.RemoveRule(cmd.Context(), s.actor, r.ID); err != nil {
					return err
				}
				a.Console.Infof(a.Options, "deleted %q", cli.Clean(r.Name))
				return s.note(cmd.Context(), "alert_rule.delete", r.ID, adminalerts.NoteRule(&r), nil)
			})
		},
	}
}

func (a *alertCommands) newHistory() *cobra.Command {
	var limit int
	var before, rule string
	cmd := &cobra.Command{
		Use: "history", Short: "List crossings and tests with their deliveries, newest first", Args: cli.NoArgs,
		Example: `  fairlead alerts history
  fairlead alerts history --rule "Error rate" --json | jq -r '.deliveries[] | select(.state == "failed") | .error'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return cli.Usagef("use a number from 1 to 200", "--limit: %d is out of range", limit)
			}
			return a.with(cmd.Context(), func(s *session) error {
				if rule != "" {
					r, err := s.rule(cmd.Context(), rule)
					if err != nil {
						return err
					}
					rule = r.ID
				}
				events, err := s.History.Events(cmd.Context(), s.actor.WorkspaceID, rule, before, limit)
				if err != nil {
					return err
				}
				return a.events(events)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of events, up to 200")
	cmd.Flags().StringVar(&before, "before", "", "list events older than this event id")
	cmd.Flags().StringVar(&rule, "rule", "", "name or id of a rule (default: all)")
	return cmd
}

func (a *alertCommands) events(events []alert.Event) error {
	t := &cli.Table{Columns: []cli.Column{{Title: "TIME"}, {Title: "EVENT"}, {Title: "RULE", Soft: true}, {Title: "DELIVERIES", Soft: true, Hide: 2}, {Title: "DESCRIPTION", Soft: true, Hide: 1}}}
	return cli.PrintList(a.Console, a.Options, events, "no events yet", adminalerts.EventView, t, func(e *alert.Event) {
		v := adminalerts.EventView(e)
		var sent []string
		for _, d := range v.Deliveries {
			sent = append(sent, d.Channel+" "+d.State)
		}
		if v.Muted {
			sent = []string{"not sent"}
		}
		t.Row(a.Console.FormatTime(a.Options, v.At, cli.RowTime), v.Type, cli.Clean(v.RuleName), cli.OrDash(cli.Clean(strings.Join(sent, ", "))), cli.Clean(v.Text))
	})
}
