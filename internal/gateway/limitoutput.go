package gateway

import (
	"slices"
	"strconv"

	"fairlead/internal/provider"
)

// outputMembers are the members of a body that bound the answer, in any format.
var outputMembers = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// limitOutput holds the answer to what a policy allows. A caller who sets no bound gets this one by way of the adapter; in
// the body of one who sets a higher bound the number is replaced.
func (x *exchange) limitOutput(most int64) error {
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
	req, err := x.format.DecodeRequest(x.op, body)
	if err != nil {
		return err
	}
	req.Measure()
	req.Model, req.Controls.SessionID, req.Beta = x.req.Model, x.req.Controls.SessionID, x.req.Beta
	x.req = req
	return nil
}

// mostAt is the bound on an answer that has none of its own, at a target. A provider refuses a bound above what its model
// writes.
func (x *exchange) mostAt(t *provider.Target) int64 {
	if most := t.Model.MaxOutput; most > 0 {
		return min(x.maxOutput, most)
	}
	return x.maxOutput
}
