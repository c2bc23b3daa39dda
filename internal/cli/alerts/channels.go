package alerts

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	adminalerts "fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/cli"
)

// channelView is the JSON form of a channel.
type channelView struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       alert.ChannelType `json:"type"`
	Target     string            `json:"target"`
	SigningKey string            `json:"signing_key,omitempty"`
}

func viewChannel(c *alert.Channel) channelView {
	return channelView{ID: c.ID, Name: c.Name, Type: c.Type, Target: c.Target}
}

func (a *alertCommands) newChannels() *cobra.Command {
	cmd := cli.Group("channels", "Add, list and remove the channels of alerts", `  fairlead alerts channels list
  fairlead alerts channels add ops --webhook https://example.com/hooks/fairlead
  fairlead alerts channels remove ops`)
	cmd.AddCommand(a.newChannelList(), a.newChannelAdd(), a.newChannelRemove())
	return cmd
}

func (a *alertCommands) newChannelList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the channels", Args: cli.NoArgs,
		Example: `  fairlead alerts channels list --json | jq -r .name`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s *session) error {
				channels, err := s.Channels.Channels(cmd.Context(), s.actor.WorkspaceID)
				if err != nil {
					return err
				}
				t := &cli.Table{Columns: []cli.Column{{Title: "NAME", Soft: true}, {Title: "TYPE"}, {Title: "TARGET", Soft: true, Hide: 1}, {Title: "ID", Hide: 2}}}
				const none = "no channels yet. Add one:  fairlead alerts channels add ops --webhook https://example.com/hooks/fairlead"
				return cli.PrintList(a.Console, a.Options, channels, none, viewChannel, t, func(c *alert.Channel) {
					t.Row(c.Name, string(c.Type), c.Target, c.ID)
				})
			})
		},
	}
}

// maxURL is the maximum length of a URL that is read from standard input.
const maxURL = 4096

func (a *alertCommands) newChannelAdd() *cobra.Command {
	var webhook, slack string
	var email []string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a channel", Args: cli.OneArg("a name for the channel"),
		Long: "Add a channel. The address is stored encrypted. - reads a URL from standard input, because other users of the machine can\nread arguments, and the URL of an incoming webhook is a credential.",
		Example: `  fairlead alerts channels add ops --webhook https://example.com/hooks/fairlead
  fairlead alerts channels add chat --slack - < url.txt
  fairlead alerts channels add team --email ops@example.com,lead@example.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			draft := alert.ChannelDraft{Name: args[0]}
			given := 0
			if webhook != "" {
				draft.Type, draft.URL, given = alert.Webhook, webhook, given+1
			}
			if slack != "" {
				draft.Type, draft.URL, given = alert.Slack, slack, given+1
			}
			if len(email) > 0 {
				draft.Type, draft.To, given = alert.Email, email, given+1
			}
			if given != 1 {
				return cli.Usagef("add one of --webhook, --slack and --email", "a channel needs exactly one address")
			}
			if draft.URL == "-" {
				text, err := io.ReadAll(io.LimitReader(a.Console.In, maxURL))
				if err != nil {
					return fmt.Errorf("read the URL: %w", err)
				}
				draft.URL = strings.TrimSpace(string(text))
			}
			return a.with(cmd.Context(), func(s *session) error { return a.addChannel(cmd.Context(), s, draft) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&webhook, "webhook", "", "URL that receives signed JSON")
	flags.StringVar(&slack, "slack", "", "URL of an incoming webhook of Slack or a compatible service")
	flags.StringSliceVar(&email, "email", nil, "recipients, separated by commas; the configuration needs a mail server")
	return cmd
}

func (a *alertCommands) addChannel(ctx context.Context, s *session, draft alert.ChannelDraft) error {
	c, key, err := s.AddChannel(ctx, s.actor, draft)
	if err != nil {
		return cli.AsUsageError(err)
	}
	if err := s.note(ctx, "alert_channel.create", c.ID, nil, adminalerts.NoteChannel(&c)); err != nil {
		return err
	}
	if a.Options.JSON {
		view := viewChannel(&c)
		view.SigningKey = key
		return a.Console.PrintJSON(view)
	}
	a.Console.Infof(a.Options, "added %q (%s)", cli.Clean(c.Name), c.ID)
	if key == "" {
		return nil
	}
	a.Console.Infof(a.Options, "The signing key is shown only once:\n")
	return a.Console.Print(key + "\n")
}

func (a *alertCommands) newChannelRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME|ID", Short: "Delete a channel", Args: cli.OneArg("the channel's name or id"),
		Example: `  fairlead alerts channels remove ops --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(s *session) error {
				c, err := s.channel(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				yes, err := a.Console.Confirm(cmd.Context(), a.Options, fmt.Sprintf("Delete channel %q?", cli.Clean(c.Name)))
				if err != nil || !yes {
					return err
				}
				if _, err := s.RemoveChannel(cmd.Context(), s.actor, c.ID); err != nil {
					return cli.AsUsageError(err)
				}
				a.Console.Infof(a.Options, "deleted %q", cli.Clean(c.Name))
				return s.note(cmd.Context(), "alert_channel.delete", c.ID, adminalerts.NoteChannel(&c), nil)
			})
		},
	}
}
