package router

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"fairlead/internal/cli"
	"fairlead/internal/conversation"
	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
)

func newRouterAgents(c *cli.Console) *cobra.Command {
	return &cobra.Command{
		Use: "agents", Short: "Measure the escalation on recorded agent conversations on standard input", Args: cli.NoArgs,
		Long: `Measure the escalation on recorded agent conversations on standard input.

Each line is a run of an agent: {"messages": […], "outcome": 0 to 1}, with messages in the chat format. The command reads the
conversation as the gateway would have received it at every turn of the model. A run is stuck when three results of tools in a
row look like errors; it is healthy when it was solved and never had two errors in a row.`,
		Example: `  xz -dc runs.jsonl.xz | fairlead router agents`,
		RunE: func(*cobra.Command, []string) error {
			t, err := measureAgents(c.In)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Out, `runs: %d, requests: %d
healthy runs: %d, escalated: %.2f per 100
solved runs: %d, escalated: %.2f per 100
stuck runs: %d, escalated within 3 turns: %.1f %%
`, t.runs, t.requests, t.healthy, percent(t.falseHealthy, t.healthy), t.solved, percent(t.falseSolved, t.solved), t.stuck, percent(t.caught, t.stuck))
			return err
		},
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// agentTally counts runs of agents.
type agentTally struct {
	runs, requests        int
	healthy, falseHealthy int // solved without two failing results in a row; of them escalated
	solved, falseSolved   int
	stuck, caught         int // with three failing results in a row; of them escalated within stuckTurns
}

const (
	stuckStreak  = 3 // failing results in a row of a stuck run
	stuckTurns   = 3 // turns after which an escalation is late
	maxAgentLine = 64 << 20
)

// measureAgents reads runs, one a line.
func measureAgents(in io.Reader) (*agentTally, error) {
	t := &agentTally{}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), maxAgentLine)
	for lines.Scan() {
		if err := t.run(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", t.runs+1, err)
		}
	}
	return t, lines.Err()
}

// looksFailing is a rough sign of a failing result that does not depend on how the gateway reads results.
var looksFailing = regexp.MustCompile(`(?i)\b(error|exception|traceback|failed|failure|not found|no such file|invalid|denied|cannot|timed out)\b`)

var errNoMessages = errors.New(`"messages" is missing`)

// run adds one run.
func (t *agentTally) run(line []byte) error {
	var r struct {
		Messages []json.RawMessage `json:"messages"`
		Outcome  float64           `json:"outcome"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if len(r.Messages) == 0 {
		return errNoMessages
	}
	t.runs++
	streak, worst, turn, stuckAt, escalatedAt := 0, 0, 0, -1, -1
	body := []byte(`{"messages":[`)
	for i, raw := range r.Messages {
		m := rawjson.Parse(raw)
		switch m.Get("role").String() {
		case "assistant":
			if i > 0 {
				t.requests++
				if escalates(body) && escalatedAt < 0 {
					escalatedAt = turn
				}
				turn++
			}
		case "tool":
			if streak++; !looksFailing.MatchString(head(m.Get("content").String())) {
				streak = 0
			}
			if worst = max(worst, streak); streak == stuckStreak && stuckAt < 0 {
				stuckAt = turn
			}
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, raw...)
	}
	if r.Outcome >= 1 {
		t.solved++
		t.falseSolved += count(escalatedAt >= 0)
		if worst < 2 {
			t.healthy++
			t.falseHealthy += count(escalatedAt >= 0)
		}
	}
	if stuckAt >= 0 && stuckAt < turn { // the model had another turn
		t.stuck++
		t.caught += count(escalatedAt >= 0 && escalatedAt <= stuckAt+stuckTurns)
	}
	return nil
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func head(text string) string { return text[:min(len(text), 1500)] }

// escalates reports whether a request with the messages of body, which lacks its end, is escalated.
func escalates(body []byte) bool {
	whole := slices.Concat(body, []byte("]}"))
	req := &llm.Request{Op: llm.Chat, Body: whole, Needs: llm.Tools, Fields: []llm.Field{{Name: "messages", Value: len(`{"messages":`), End: len(whole) - 1}}}
	return conversation.Read(req).Findings.Trouble.Level >= conversation.Troubled
}
