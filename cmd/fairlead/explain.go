package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	adminpolicies "fairlead/internal/admin/policies"
	"fairlead/internal/admin/requests"
	"fairlead/internal/llm"
	"fairlead/internal/route"
)

// explainFlags say what is to be explained.
type explainFlags struct {
	prompt   string
	model    string
	key      string
	tradeoff string
	policies string
}

// maxExplained bounds the request that is read.
const maxExplained = 32 << 20

func newExplain(c *console, o *options) *cobra.Command {
	r := &routingCommands{console: c, options: o}
	var f explainFlags
	cmd := &cobra.Command{
		Use: "explain [FILE]", Short: "Decide on a request without sending it anywhere, and say why", Args: maybeArg("a file with a request"),
		Long: "Decide on a chat request as the gateway would, and say why: what was seen, which policies matched, how every candidate does.\n" +
			"The request is JSON as clients send it, in a file or on standard input (-), or --prompt gives its text. No provider is called. What a running\n" +
			"server has seen of latencies, failures and warm prompts is not known here: the dashboard's dry run knows it.",
		Example: `  fairlead explain --prompt "Prove that 17 is prime."
  fairlead explain request.json --key ci
  fairlead explain request.json --policies draft.yaml       … under other policies
  jq .body log.json | fairlead explain - --json | jq .decision.candidates`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := r.explained(cmd, args, f)
			if err != nil {
				return err
			}
			return r.with(cmd.Context(), func(from routed) error { return r.explain(cmd.Context(), from, body, f) })
		},
	}
	cmd.Flags().StringVar(&f.prompt, "prompt", "", "text of the request, instead of a file")
	cmd.Flags().StringVar(&f.model, "model", "auto", "model that --prompt is for: auto, auto:cost, auto:quality, auto:speed or a name")
	cmd.Flags().StringVar(&f.key, "key", "", "name or id of the key whose rules apply (default none)")
	cmd.Flags().StringVar(&f.tradeoff, "tradeoff", "", "from 0 (cheapest) to 1 (best), as the header x-fairlead-tradeoff gives it")
	cmd.Flags().StringVar(&f.policies, "policies", "", "file with policies to try in place of the workspace's")
	cmd.Flags().StringVar(&r.workspace, "workspace", "", workspaceDoc)
	return cmd
}

// explained is the body of the request.
func (r *routingCommands) explained(cmd *cobra.Command, args []string, f explainFlags) ([]byte, error) {
	switch {
	case cmd.Flags().Changed("prompt") && len(args) > 0:
		return nil, usage("leave one of the two out", "both a file and --prompt are given")
	case cmd.Flags().Changed("prompt"):
		return json.Marshal(map[string]any{"model": f.model, "messages": []map[string]string{{"role": "user", "content": f.prompt}}})
	case cmd.Flags().Changed("model"):
		return nil, usage("write the model into the request", "--model belongs to --prompt")
	case len(args) == 0:
		return nil, usage(`run  fairlead explain --prompt "…"  or  fairlead explain -  to read standard input`, "a request is missing")
	}
	return r.read(args[0], maxExplained)
}

func (r *routingCommands) explain(ctx context.Context, from routed, body []byte, f explainFlags) error {
	q := adminpolicies.ExplainQuery{WorkspaceID: from.workspace.ID, Body: body, Tradeoff: f.tradeoff}
	if f.key != "" {
		key, err := findKey(ctx, from.instance, from.workspace, f.key)
		if err != nil {
			return err
		}
		q.KeyID = key.ID
	}
	var err error
	if q.Draft, err = r.draft(from, f.policies); err != nil {
		return err
	}
	decision, err := from.Explain(ctx, q)
	refusal, refused := errors.AsType[*llm.Error](err)
	if err != nil && (!refused || decision == nil) {
		return asUsage(err)
	}
	if r.options.json {
		return r.console.writeJSON(explanationOf(decision, refusal))
	}
	p := &page{width: r.pageWidth(), coloured: r.console.coloured(r.options)}
	p.explanation(decision, refusal)
	return r.console.write(p.String())
}

func explanationOf(d *route.Decision, refusal *llm.Error) adminpolicies.Explanation {
	answer := adminpolicies.Explanation{Decision: d}
	if refusal != nil {
		answer.Refusal = &requests.Failure{Code: refusal.Kind.Code(), Message: refusal.Message, Origin: string(refusal.Kind.Origin())}
	}
	return answer
}

// pageWidth is how wide a page with a table of candidates is.
func (r *routingCommands) pageWidth() int {
	const readable, narrowest = 120, 60
	width := r.console.columns()
	if width == 0 {
		return readable
	}
	return max(narrowest, min(width, readable))
}
