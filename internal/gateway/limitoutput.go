package gateway

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// outputMembers are the members of a body that bound the answer, in any format.
var outputMembers = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// limitOutput holds the answer to what a policy allows. A caller who sets no bound gets this one by way of the adapter; in
// the body of one who sets a higher bound the number is replaced.
func (x *exchange) limitOutput(ctx context.Context, most int64) error {
	if most == 0 {
		return nil
	}
	if x.req.MaxOutput == 0 {
		x.maxOutput = most
	}
	if x.req.MaxOutput <= most {
		return nil
	}
	body := x.req.Replace(func(name string, _ []byte) []byte {
		if slices.Contains(outputMembers, name) {
			return strconv.AppendInt(nil, most, 10)
		}
		return nil
	})
	req, err := x.format.DecodeRequest(ctx, x.op, body)
	if err != nil {
		return err
	}
	req.Measure()
	req.Model, req.Controls.SessionID, req.Beta = x.req.Model, x.req.Controls.SessionID, x.req.Beta
	x.req = req
	return nil
}

// mostAt is the bound that a target is sent for an answer that the caller did not bound; 0 for none. A policy sets one, and
// so does a budget: the answer must not cost more than was held for it. A provider rejects a bound above what its model
// writes, and some reject one that does not fit the context window after the prompt.
func (x *exchange) mostAt(t *provider.Target) int64 {
	m := t.Model
	if x.maxOutput > 0 {
		return min(x.maxOutput, cmp.Or(m.MaxOutput, x.maxOutput))
	}
	if !x.budgeted || x.req.MaxOutput > 0 || !writes(x.op) || t.Price == nil || t.Price.At(x.start).Output == 0 {
		return 0
	}
	most := cmp.Or(m.MaxOutput, unboundedOutput)
	if m.Context > 0 {
		prompt := tokens(m).Prompt(token.PromptOf(x.req))
		most = min(most, max(leastOutput, m.Context-prompt*3/2))
	}
	return most
}
