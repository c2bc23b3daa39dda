package router

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/conversation"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/protocol"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/route"
)

func newRouterAgents(c *cli.Console) *cobra.Command {
	return &cobra.Command{
		Use: "agents", Short: "Measure the escalation on recorded agent conversations on standard input", Args: cli.NoArgs,
		Long: `Measure the escalation on recorded agent conversations on standard input.

Each line is an agent run: {"messages": […], "outcome": 0 to 1}, with messages in the chat format. The command reads the
conversation as the gateway would have received it at every model turn. A run is stuck when three tool results in a row look
like errors; it is healthy when it was solved and never had two errors in a row.

With "source" and "tokens": {"in", "out"} it also compares the expected cost of a run with the recorded one, as the larger value
divided by the smaller one. Text with the marker "[... N characters cut ...]" counts as N characters longer.`,
		Example: `  xz -dc runs.jsonl.xz | fairlead router agents`,
		RunE: func(*cobra.Command, []string) error {
			predictor, err := predict.Embedded()
			if err != nil {
				return err
			}
			t := &agentTally{predictor: predictor, single: map[string]*protocol.Factors{}, session: map[string]*protocol.Factors{}}
			lines := bufio.NewScanner(c.In)
			lines.Buffer(make([]byte, 1<<20), maxAgentLine)
			for lines.Scan() {
				if err := t.run(lines.Bytes()); err != nil {
					return fmt.Errorf("line %d: %w", t.runs+1, err)
				}
			}
			if err := lines.Err(); err != nil {
				return err
			}
			var costs strings.Builder
			for _, source := range slices.Sorted(maps.Keys(t.session)) {
				one, all := t.single[source].Error(), t.session[source].Error()
				fmt.Fprintf(&costs, "cost of a run, %s, %d runs: expected from its first request alone, error factor %.2f (p90 %.2f); with the expected session %.2f (p90 %.2f)\n",
					cmp.Or(source, "unnamed source"), len(*t.session[source]), one.Median, one.P90, all.Median, all.P90)
			}
			_, err = fmt.Fprintf(c.Out, `runs: %d, requests: %d
healthy runs: %d, escalated: %.2f per 100
solved runs: %d, escalated: %.2f per 100
stuck runs: %d, escalated within 3 turns: %.1f %%
`+"%s", t.runs, t.requests, t.healthy, percent(t.falseHealthy, t.healthy), t.solved, percent(t.falseSolved, t.solved), t.stuck, percent(t.caught, t.stuck), costs.String())
			return err
		},
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// agentTally counts agent runs.
type agentTally struct {
	runs, requests        int
	healthy, falseHealthy int // runs solved without two failing results in a row, and how many of them were escalated
	solved, falseSolved   int
	stuck, caught         int // runs with three failing results in a row, and how many of them were escalated within stuckTurns

	predictor *predict.Predictor
	// Errors of the predicted cost by source. single predicts the cost of the first request alone, session that of the expected session.
	single, session map[string]*protocol.Factors
}

const (
	stuckStreak  = 3 // number of failing results in a row that makes a run stuck
	stuckTurns   = 3 // number of turns within which the escalation of a stuck run counts as caught
	maxAgentLine = 64 << 20
)

// looksFailing matches tool results that probably report a failure. It is independent of the code with which the gateway detects
// failures.
var looksFailing = regexp.MustCompile(`(?i)\b(error|exception|traceback|failed|failure|not found|no such file|invalid|denied|cannot|timed out)\b`)

// agentRun is one line of the input.
type agentRun struct {
	Source   string            `json:"source"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
	Outcome  float64           `json:"outcome"`
	Tokens   *struct {
		In  float64 `json:"in"`
		Out float64 `json:"out"`
	} `json:"tokens"`
}

// run decodes one run and adds it to the counts.
func (t *agentTally) run(line []byte) error {
	var r agentRun
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if len(r.Messages) == 0 {
		return errors.New(`"messages" is missing`)
	}
	t.runs++
	t.cost(&r)
	streak, worst, turn, stuckAt, escalatedAt := 0, 0, 0, -1, -1
	body := []byte(`{"messages":[`)
	for i, raw := range r.Messages {
		m := rawjson.Parse(raw)
		switch m.Get("role").String() {
		case "assistant":
			if i > 0 {
				t.requests++
				whole := slices.Concat(body, []byte("]}"))
				req := &llm.Request{Op: llm.Chat, Payload: llm.Payload{Body: whole, Fields: []llm.Field{{Name: "messages", Value: len(`{"messages":`), End: len(whole) - 1}}}, Needs: llm.Tools}
				if conversation.Read(req).Findings.Trouble.Level >= conversation.Troubled && escalatedAt < 0 {
					escalatedAt = turn
				}
				turn++
			}
		case "tool":
			text := m.Get("content").String()
			if streak++; !looksFailing.MatchString(text[:min(len(text), 1500)]) {
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
	if stuckAt >= 0 && stuckAt < turn { // count only runs in which the model had another turn
		t.stuck++
		t.caught += count(escalatedAt >= 0 && escalatedAt <= stuckAt+stuckTurns)
	}
	return nil
}

// outputWeight is the ratio of output token price to input token price at most vendors.
const outputWeight = 5

// shortened matches the marker that replaces removed text in recorded messages. It captures the number of removed characters.
var shortened = regexp.MustCompile(`\[\.\.\. (\d+) characters cut \.\.\.\]`)

// cost compares the tokens of a run with the tokens predicted from its first request. Tokens are weighted by typical prices.
func (t *agentTally) cost(r *agentRun) {
	first := slices.IndexFunc(r.Messages, func(m json.RawMessage) bool { return rawjson.Parse(m).Get("role").String() == "user" })
	if r.Tokens == nil || r.Tokens.In <= 0 || r.Tokens.Out <= 0 || first < 0 {
		return
	}
	var missing int64
	messages := []byte("[")
	for i, m := range r.Messages[:first+1] {
		if i > 0 {
			messages = append(messages, ',')
		}
		messages = append(messages, m...)
		for _, found := range shortened.FindAllSubmatch(m, -1) {
			n, _ := strconv.ParseInt(string(found[1]), 10, 64) // the error is ignored: the pattern matches only digits
			missing += n
		}
	}
	line := promptLine{Messages: append(messages, ']'), Tools: r.Tools}
	request, err := line.read()
	if err != nil {
		return
	}
	in := route.Input{Op: llm.Chat, Prediction: route.Prediction{Features: t.predictor.Features(request.prompt)}, PromptSize: route.PromptSize{InputTokens: request.prompt.Tokens + missing/bytesPerToken}, ResponseOptions: route.ResponseOptions{Needs: llm.Tools}}
	real := r.Tokens.In + outputWeight*r.Tokens.Out
	add := func(to map[string]*protocol.Factors, input, output int64) {
		if to[r.Source] == nil {
			to[r.Source] = &protocol.Factors{}
		}
		to[r.Source].Add(float64(input+outputWeight*output), real)
	}
	add(t.single, in.InputTokens, constantOutput)
	input, output := route.ExpectedTokens(&in)
	add(t.session, input, output)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
