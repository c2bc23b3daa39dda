// Package decisions implements "fairlead explain", "fairlead verify" and "fairlead backtest".
package decisions

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	adminpolicies "fairlead.dev/internal/admin/policies"
	adminrequests "fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/llm"
)

// decisionCommands holds the state shared by the decision commands.
type decisionCommands struct{ instance.Commands }

// explainFlags selects the request to explain.
type explainFlags struct {
	prompt   string
	model    string
	key      string
	tradeoff string
	policies string
}

// maxExplained is the maximum size of a request.
const maxExplained = 32 << 20

// NewExplain returns the command "explain".
func NewExplain(c *cli.Console, o *cli.Options) *cobra.Command {
	r := &decisionCommands{instance.Commands{Console: c, Options: o}}
	var f explainFlags
	cmd := &cobra.Command{
		Use: "explain [FILE]", Short: "Show how a request would be routed, without sending it", Args: cli.OptionalArg("a file with a request"),
		Long: "Compute the routing decision for a chat request and explain it: the reason, the candidates that compare with the choice,\n" +
			"matching policies and exclusions. --json lists every candidate.\n" +
			"The request is JSON as clients send it, in a file or on standard input (-), or a prompt given with --prompt. No provider is called. The\n" +
			"latencies, failures and prompt caches that a running server has observed are not available here; the dry run in the dashboard uses them.",
		Example: `  fairlead explain --prompt "Prove that 17 is prime."
  fairlead explain request.json --key ci
  fairlead explain request.json --policies draft.yaml       with draft policies
  jq .body log.json | fairlead explain - --json | jq .decision.candidates`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := r.explained(cmd, args, f)
			if err != nil {
				return err
			}
			return r.WithRouting(cmd.Context(), func(from instance.Routed) error { return r.explain(cmd.Context(), from, body, f) })
		},
	}
	cmd.Flags().StringVar(&f.prompt, "prompt", "", "prompt to route, instead of a file")
	cmd.Flags().StringVar(&f.model, "model", "auto", "model for --prompt: auto, auto:cost, auto:quality, auto:speed, another route or a model name")
	cmd.Flags().StringVar(&f.key, "key", "", "name or id of the API key whose restrictions apply (default: none)")
	cmd.Flags().StringVar(&f.tradeoff, "tradeoff", "", "trade-off from 0 (cheapest) to 1 (best), like the header x-fairlead-tradeoff")
	cmd.Flags().StringVar(&f.policies, "policies", "", "file with policies to use instead of the workspace's")
	cmd.Flags().StringVar(&r.Workspace, "workspace", "", instance.WorkspaceHelp)
	return cmd
}

// explained returns the body of the request to explain.
func (r *decisionCommands) explained(cmd *cobra.Command, args []string, f explainFlags) ([]byte, error) {
	switch {
	case cmd.Flags().Changed("prompt") && len(args) > 0:
		return nil, cli.Usagef("use only one of them", "both a file and --prompt are given")
	case cmd.Flags().Changed("prompt"):
		return json.Marshal(map[string]any{"model": f.model, "messages": []map[string]string{{"role": "user", "content": f.prompt}}})
	case cmd.Flags().Changed("model"):
		return nil, cli.Usagef("set the model in the request", "--model requires --prompt")
	case len(args) == 0:
		return nil, cli.Usagef(`run  fairlead explain --prompt "…"  or  fairlead explain -  to read standard input`, "no request given")
	}
	return r.Console.ReadFile(args[0], maxExplained)
}

func (r *decisionCommands) explain(ctx context.Context, from instance.Routed, body []byte, f explainFlags) error {
	q := adminpolicies.ExplainQuery{WorkspaceID: from.Workspace.ID, Body: body, Tradeoff: f.tradeoff}
	if f.key != "" {
		key, err := instance.FindKey(ctx, from.Instance, from.Workspace, f.key)
		if err != nil {
			return err
		}
		q.KeyID = key.ID
	}
	var err error
	if q.Draft, err = r.Draft(from, f.policies); err != nil {
		return err
	}
	decision, err := from.Explain(ctx, q)
	refusal, refused := errors.AsType[*llm.Error](err)
	if err != nil && (!refused || decision == nil) {
		return cli.AsUsageError(err)
	}
	if r.Options.JSON {
		explanation := adminpolicies.Explanation{Decision: decision}
		if refusal != nil {
			explanation.Refusal = &adminrequests.Failure{Code: refusal.Kind.Code(), Message: refusal.Message, Origin: string(refusal.Kind.Origin())}
		}
		return r.Console.PrintJSON(explanation)
	}
	p := &Page{cli.Page{Width: r.Console.PageWidth(60, 120), Coloured: r.Console.Coloured(r.Options)}}
	p.explanation(decision, refusal)
	return r.Console.Print(p.String())
}
