package gateway

import (
	"cmp"
	"context"

	"fairlead/internal/account"
	"fairlead/internal/catalog"
	"fairlead/internal/ledger"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// hold reserves the maximum cost of the request on every budget that applies. When the caller sets no output limit and a budget
// has too little left for the longest output, hold lowers the output limit to what the budget can pay. It waits only when the
// rest of a budget is reserved by other requests. An answer without a limit of its own is sent with the one that the hold
// assumes, see mostAt.
func (g *Gateway) hold(ctx context.Context, x *exchange) (*ledger.Hold, error) {
	budgets := Budgets(x.grant)
	x.budgeted = bounded(x.grant)
	if !writes(x.op) || x.req.MaxOutput > 0 {
		return g.Ledger.Hold(ctx, budgets, x.dearest())
	}
	hold, err := g.Ledger.TryHold(ctx, budgets, x.dearest())
	if !short(err) {
		return hold, err
	}
	unlimited := x.maxOutput // 0, or the limit of a policy
	if x.limitTo(x.affordable(g.left(budgets, true))) {
		if hold, err := g.Ledger.TryHold(ctx, budgets, x.dearest()); !short(err) {
			return hold, err
		}
	}
	x.maxOutput = unlimited
	if llm.AsError(err).Kind == llm.BudgetExceeded && !x.limitTo(x.affordable(g.left(budgets, false))) {
		return nil, err
	}
	return g.Ledger.Hold(ctx, budgets, x.dearest())
}

// short reports whether a budget has too little left, now or at all.
func short(err error) bool {
	if err == nil {
		return false
	}
	kind := llm.AsError(err).Kind
	return kind == llm.BudgetExceeded || kind == llm.RateLimited
}

// limitTo lowers the output limit to the affordable number of tokens, and reports whether that is worth asking for. A lower limit
// that a policy has set stays.
func (x *exchange) limitTo(affordable int64) bool {
	if x.maxOutput > 0 && x.maxOutput <= affordable {
		return true
	}
	x.maxOutput = affordable
	return affordable >= leastOutput
}

// writes reports whether a model answers op with text of its own, which is paid for.
func writes(op llm.Op) bool { return op == llm.Chat || op == llm.Complete }

const (
	// unboundedOutput bounds an answer on a budget where neither the caller nor the catalog bounds it.
	unboundedOutput = 16_384
	// anyOutput is more than any model writes in one answer. It stands in where nothing bounds the answer.
	anyOutput = 1_000_000
	// unknownWindow stands in for the context window of a model whose window is not known.
	unknownWindow = 200_000
	// leastOutput is the shortest answer worth asking for with what is left of a budget.
	leastOutput = 256
)

// Budgets are those that a request must fit: the key's and the workspace's.
func Budgets(grant *account.Grant) []ledger.Budget {
	var all []ledger.Budget
	if b := grant.Key.Budget; b != nil {
		all = append(all, budget("key:"+grant.Key.ID, grant.Key.Name, b))
	}
	if b := grant.Workspace.Budget; b != nil {
		all = append(all, budget("ws:"+grant.Workspace.ID, grant.Workspace.Name, b))
	}
	return all
}

func budget(id, name string, b *account.Budget) ledger.Budget {
	return ledger.Budget{
		ID: id, Name: name, Amount: b.Amount, Period: ledger.Period(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly,
	}
}

// bounded reports whether a budget can refuse the request.
func bounded(grant *account.Grant) bool {
	return refuses(grant.Key.Budget) || refuses(grant.Workspace.Budget)
}

// allowsUnpriced reports whether requests of the key may name models without a price. A budget that can reject requests rules
// it out: nothing could be reserved.
func (s *Settings) allowsUnpriced(grant *account.Grant) bool {
	return (s.AllowUnpriced || grant.Key.AllowUnpriced) && !bounded(grant)
}

func refuses(b *account.Budget) bool { return b != nil && !b.WarnOnly }

// left returns what the tightest budget has left, with or without the reservations of other requests.
func (g *Gateway) left(budgets []ledger.Budget, reserved bool) money.Amount {
	least := money.Max
	for _, b := range budgets {
		s := g.Ledger.Status(b)
		if b.WarnOnly || !s.Loaded {
			continue
		}
		left := b.Amount.Sub(s.Spent)
		if reserved {
			left = left.Sub(s.Held)
		}
		least = min(least, left)
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
		usage := x.answering(x.mostUsage(t), int64(x.req.Predicted))
		rest := amount.Sub(x.mostCost(t, usage))
		tokens = min(tokens, x.outputFor(t, usage, rest)/int64(max(x.req.Choices, 1)))
	}
	return tokens
}

// outputFor is how many tokens of answer to a prompt an amount pays for, rounded down with room for rounding up.
func (x *exchange) outputFor(t *provider.Target, prompt llm.Usage, amount money.Amount) int64 {
	if amount <= 0 {
		return 0
	}
	perThousand := x.mostCost(t, x.answering(prompt, prompt.Output+1000)) - x.mostCost(t, prompt)
	if perThousand <= 0 {
		return unboundedOutput
	}
	return int64(amount.Dollars()/perThousand.Dollars()*1000) - 1
}

// dearest is the most that any target of the plan can charge for the request.
func (x *exchange) dearest() money.Amount { return x.dearestOf(x.decision.Plan) }

// mostCost is the most that the usage can cost at a target: the service tier that was asked for may not be the one that
// is served.
func (x *exchange) mostCost(t *provider.Target, u llm.Usage) money.Amount {
	card := t.Price.At(x.start)
	cost := card.Cost(u)
	if x.req.ServiceTier == u.ServiceTier {
		return cost
	}
	u.ServiceTier = x.req.ServiceTier
	return max(cost, card.Cost(u))
}

// mostUsage bounds what the request can use at a target that has a price. The prompt is taken for the most expensive class
// of input: an hour in the cache, or audio, may cost more than fresh text.
func (x *exchange) mostUsage(t *provider.Target) llm.Usage {
	prompt := promptBound(x.req, t.Model)
	rates := t.Price.At(x.start).Rates(prompt, "") // a service tier multiplies all of them alike
	u, most := llm.Usage{Input: prompt}, rates.Input
	if rates.CacheWrite > most {
		u, most = llm.Usage{CacheWrite: prompt}, rates.CacheWrite
	}
	if rates.CacheWriteLong > most {
		u, most = llm.Usage{CacheWrite: prompt, CacheWriteLong: prompt}, rates.CacheWriteLong
	}
	if rates.AudioInput > most && (x.req.Needs.Has(llm.AudioIn) || x.req.Unsized > 0) {
		u = llm.Usage{Input: prompt, AudioInput: prompt}
	}
	if !writes(x.req.Op) {
		return u
	}
	return x.answering(u, outputBound(x.req, x.mostAt(t), t.Model))
}

// promptBound is the most tokens that a prompt can have at a model. Media that only the provider can count, and results of
// tools that the provider runs, fill the context window at most. Several inputs are read one by one, each in a window of
// its own.
func promptBound(req *llm.Request, m *catalog.Model) int64 {
	if req.Hosted || req.Unsized > 0 {
		return cmp.Or(m.Context, unknownWindow)
	}
	bound := tokens(m).Bound(token.PromptOf(req))
	if m.Context > 0 {
		bound = min(bound, m.Context*int64(max(req.Inputs, 1)))
	}
	return bound
}

// outputBound is the most output tokens that a request can be billed for: its answers, each bounded by the caller or by
// the bound that was sent in its place, and a prediction that the model rejects.
func outputBound(req *llm.Request, sent int64, m *catalog.Model) int64 {
	return cmp.Or(req.MaxOutput, sent, m.MaxOutput, anyOutput)*int64(max(req.Choices, 1)) + int64(req.Predicted)
}

// answering adds an answer to the usage, spoken where the caller asks for that.
func (x *exchange) answering(u llm.Usage, tokens int64) llm.Usage {
	u.Output = tokens
	if x.req.Needs.Has(llm.AudioOut) {
		u.AudioOutput = tokens
	}
	return u
}
