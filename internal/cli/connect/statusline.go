package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
)

// statusTime bounds the wait for the gateway. Claude Code shows the previous line until the command ends.
const statusTime = time.Second

// NewStatusline returns the command "statusline".
func NewStatusline(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "statusline", Short: "Print the model, cost and saving of a Claude Code session", Args: cli.NoArgs,
		Long: "Print one line with the model, the cost and the saving of a Claude Code session. Claude Code runs this command and writes the session " +
			"as JSON to its standard input:  fairlead connect claude-code  configures it unless the settings have another status line. The saving is " +
			"shown if the workspace has a baseline model. If the gateway has no figures yet, the line has only the model name that Claude Code uses.",
		Example: `  echo '{"session_id": "…", "model": {"display_name": "claude-auto"}}' | fairlead statusline`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var in statusInput
			if err := json.NewDecoder(io.LimitReader(c.In, maxResponse)).Decode(&in); err != nil {
				return cli.WithFix(fmt.Errorf("read the session of Claude Code from standard input: %w", err), "run it as the status line of Claude Code")
			}
			k := command{console: c, options: o}
			line := in.Model.Name
			if s, err := k.readSession(cmd.Context(), &in); err == nil {
				line = statusLine(&in, s)
			}
			return c.Print(cli.Clean(line) + "\n")
		},
	}
}

// statusInput is the part of Claude Code's description of a session that the status line uses.
type statusInput struct {
	SessionID string `json:"session_id"`
	Model     struct {
		Name string `json:"display_name"`
	} `json:"model"`
	Workspace struct {
		Project string `json:"project_dir"`
	} `json:"workspace"`
}

// readSession reads the sums of the session from the gateway to which Claude Code is connected, with the key of the connection.
func (k *command) readSession(ctx context.Context, in *statusInput) (*requests.SessionSummary, error) {
	claude, err := findAgent([]string{"claude-code"})
	if err != nil {
		return nil, err
	}
	for _, project := range []string{in.Workspace.Project, ""} {
		s, at, err := k.newSite(claude, project)
		if err != nil {
			return nil, err
		}
		r, err := readRecord(at)
		if err != nil || r == nil {
			continue
		}
		key, err := os.ReadFile(s.keyFile)
		if err != nil {
			return nil, err
		}
		gateway := remote{base: r.Gateway, key: strings.TrimSpace(string(key))}
		_, body, err := gateway.send(ctx, statusTime, http.MethodGet, "/api/v1/sessions/"+url.PathEscape(in.SessionID), nil)
		if err != nil {
			return nil, err
		}
		var summary requests.SessionSummary
		return &summary, json.Unmarshal(body, &summary)
	}
	return nil, errNotConnected
}

// statusLine describes a session in one line. A cost is unknown if no request has a known cost, and a saving needs a baseline.
func statusLine(in *statusInput, s *requests.SessionSummary) string {
	parts := []string{in.Model.Name}
	if s.LastModel != nil {
		parts[0] += " → " + *s.LastModel
	}
	switch {
	case s.Unpriced == s.Turns:
		parts = append(parts, "cost unknown")
	case s.Unpriced > 0:
		parts = append(parts, "at least "+cli.Dollars(s.Cost))
	default:
		parts = append(parts, cli.Dollars(s.Cost))
	}
	if s.Saved != nil && *s.Saved < 0 {
		parts = append(parts, cli.Dollars(-*s.Saved)+" more than the baseline")
	} else if s.Saved != nil {
		parts = append(parts, fmt.Sprintf("saved %s (%s)", cli.Dollars(*s.Saved), cli.CostChange(*s.Saved, *s.BaselineCost)))
	}
	if s.Simulated {
		parts = append(parts, "simulated")
	}
	return strings.Join(parts, " · ")
}
