package faults

// hostileCases lists the cases about hostile input, accounts, the dashboard's side, secrets and the release. Those that show a
// promise and have no number of their own in the catalogue have the promise's.
func hostileCases() []Case {
	return []Case{
		{"F41", "slow headers", slowHeaders},
		{"F42", "large bodies", largeBodies},
		{"F43", "compressed and endless bodies", bombs},
		{"F44", "hostile JSON", hostileJSON},
		{"F45", "request smuggling", smuggling},
		{"F46", "headers in both directions", headerHygiene},
		{"F49", "everybody at every route", everybodysRights},
		{"F50", "extra fields and greedy keys", extraFields},
		{"F51", "safe as shipped", safeAsShipped},
		{"F52", "guessing passwords", guessing},
		{"F53", "sessions and other sites", sessions},
		{"F54", "addresses and fences of pages", pageFences},
		{"F55", "control characters and formulas", controlCharacters},
		{"F56", "odd searches", searching},
		{"F57", "destinations", destinations},
		{"F58", "canary secrets", secretsStayIn},
		{"F59", "bad configuration on reload", badReload},
		{"F61", "the release", release},
		{"P8h", "a silently cut HTTP/2 link", stalledLink},
		{"P11r", "slow readers", slowReaders},
		{"P13", "tenants", tenants},
		{"P15", "texts that are not kept", contentStaysOut},
		{"P11w", "slow writers", slowWriters},
	}
}
