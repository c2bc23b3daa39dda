package gateway

import (
	"cmp"
	"context"

	"fairlead/internal/account"
	"fairlead/internal/ledger"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
)

// hold reserves the most the request can cost on every budget that applies. Where the caller bounds the answer itself,
// that stands; where not, a budget that cannot bear the longest answer bounds it.
func (g *Gateway) hold(ctx context.Context, x *exchange) (*ledger.Hold, error) {
	budgets := Budgets(x.grant)
	hold, err := g.Ledger.Hold(ctx, budgets, x.dearest())
	if err == nil || x.op != llm.Chat || x.req.MaxOutput > 0 || llm.AsError(err).Kind != llm.BudgetExceeded {
		return hold, err
	}
	x.maxOutput = x.affordable(g.left(budgets))
	if x.maxOutput < leastOutput {
		return nil, err
	}
	return g.Ledger.Hold(ctx, budgets, x.dearest())
}

const (
	// unboundedOutput stands in where neither the caller nor the catalog bounds the answer.
	unboundedOutput = 16_384
	// leastOutput is the shortest answer worth asking for with what is left of a budget.
	leastOutput = 256
)

// Budgets are those that a request must fit: the key's and the workspace's.
func Budgets(grant *account.Grant) []ledger.Budget {
	var all []ledger.Budget
	add := func(id, name string, b *account.Budget) {
		if b != nil {
			all = append(all, ledger.Budget{
				ID: id, Name: name, Amount: b.Amount, Period: ledger.Period(b.Period), Zone: b.Zone,
				WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly,
			})
		}
	}
	add("key:"+grant.Key.ID, `Key "`+grant.Key.Name+`"`, grant.Key.Budget)
	add("ws:"+grant.Workspace.ID, `Workspace "`+grant.Workspace.Name+`"`, grant.Workspace.Budget)
	return all
}

// left is what the tightest budget still bears.
func (g *Gateway) left(budgets []ledger.Budget) money.Amount {
	least := money.Max
	for _, b := range budgets {
		if s := g.Ledger.Status(b); !b.WarnOnly && s.Loaded {
			least = min(least, b.Amount.Sub(s.Spent).Sub(s.Held))
		}
	}
	return least
}

// affordable is how many tokens of answer an amount pays for at the dearest target of the plan.
func (x *exchange) affordable(amount money.Amount) int64 {
	var tokens int64 = unboundedOutput
	for _, t := range x.decision.Plan {
		if t.Price == nil {
			continue
		}
		usage := x.mostUsage(t)
		usage.Output = 0
		rest := amount.Sub(t.Price.Cost(usage))
		tokens = min(tokens, outputFor(t, usage.Prompt(), rest)/int64(max(x.req.Choices, 1)))
	}
	return tokens
}

// outputFor is how many tokens of answer to a prompt an amount pays for, rounded down with room for rounding up.
func outputFor(t *provider.Target, prompt int64, amount money.Amount) int64 {
	if amount <= 0 {
		return 0
	}
	perThousand := t.Price.Cost(llm.Usage{Input: prompt, Output: 1000}) - t.Price.Cost(llm.Usage{Input: prompt})
	if perThousand <= 0 {
		return unboundedOutput
	}
	return int64(amount.Dollars()/perThousand.Dollars()*1000) - 1
}

// dearest is the most that any target of the plan can charge for the request.
func (x *exchange) dearest() money.Amount {
	var most money.Amount
	for _, t := range x.decision.Plan {
		if t.Price != nil {
			most = max(most, t.Price.Cost(x.mostUsage(t)))
		}
	}
	return most
}

// mostUsage bounds what the request can use at a target: no text has more tokens than half its ASCII bytes and its other
// bytes, and writing to the cache is the dearest way to read a prompt.
func (x *exchange) mostUsage(t *provider.Target) llm.Usage {
	req := x.req
	prompt := int64(req.ASCIIBytes)/2 + int64(req.NonASCIIBytes) + int64(req.Messages)*8 + int64(req.Images)*2000 + req.TokenIDs + 16
	u := llm.Usage{Input: prompt}
	if t.Price.CacheWrite != nil && *t.Price.CacheWrite > t.Price.Input {
		u = llm.Usage{CacheWrite: prompt}
	}
	if req.Op == llm.Embed {
		return u
	}
	u.Output = cmp.Or(req.MaxOutput, x.maxOutput, t.Model.MaxOutput, unboundedOutput) * int64(max(req.Choices, 1))
	return u
}
