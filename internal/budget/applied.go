package budget

import (
	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
)

// Applied returns the budgets that apply to a request: the key's and the workspace's.
func Applied(grant *account.Grant) []ledger.Budget {
	var all []ledger.Budget
	add := func(id, name string, b *account.Budget) {
		if b != nil {
			all = append(all, ledger.Budget{
				ID: id, Name: name, Amount: b.Amount, Period: ledger.Period(b.Period), Zone: b.Zone, WarnPercent: b.WarnPercent, WarnOnly: b.WarnOnly,
			})
		}
	}
	add("key:"+grant.Key.ID, grant.Key.Name, grant.Key.Budget)
	add("ws:"+grant.Workspace.ID, grant.Workspace.Name, grant.Workspace.Budget)
	return all
}

// CanReject reports whether a budget can reject the request.
func CanReject(grant *account.Grant) bool {
	rejects := func(b *account.Budget) bool { return b != nil && !b.WarnOnly }
	if s := grant.Key.Sessions; s != nil && (rejects(s.Budget) || rejects(s.UserBudget)) {
		return true
	}
	return rejects(grant.Key.Budget) || rejects(grant.Workspace.Budget)
}
