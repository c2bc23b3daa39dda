package faults

import (
	"fairlead.dev/test/faults/access"
	"fairlead.dev/test/faults/hostile"
	"fairlead.dev/test/faults/scenario"
)

// hostileCases lists the cases about hostile input, accounts, the dashboard's API, secrets and the release. A case
// without its own number in the catalogue has the number of the promise that it checks.
func hostileCases() []scenario.Case {
	return []scenario.Case{
		{ID: "F41", Name: "slow headers", Run: hostile.SlowHeaders},
		{ID: "F42", Name: "large bodies", Run: hostile.LargeBodies},
		{ID: "F43", Name: "compressed and endless bodies", Run: hostile.Bombs},
		{ID: "F44", Name: "hostile JSON", Run: hostile.JSON},
		{ID: "F45", Name: "request smuggling", Run: hostile.Smuggling},
		{ID: "F46", Name: "headers in both directions", Run: hostile.HeaderHygiene},
		{ID: "F49", Name: "every caller on every route", Run: access.Permissions},
		{ID: "F50", Name: "extra fields and over-privileged keys", Run: access.ExtraFields},
		{ID: "F51", Name: "secure defaults", Run: access.SafeDefaults},
		{ID: "F52", Name: "password guessing", Run: access.PasswordGuessing},
		{ID: "F53", Name: "sessions and cross-site requests", Run: access.Sessions},
		{ID: "F54", Name: "redirect targets and page headers", Run: access.PageSecurity},
		{ID: "F55", Name: "control characters and formulas", Run: hostile.ControlCharacters},
		{ID: "F56", Name: "unusual searches", Run: hostile.Searching},
		{ID: "F57", Name: "outgoing destinations", Run: hostile.Destinations},
		{ID: "F58", Name: "canary secrets", Run: hostile.SecretsAreNotExposed},
		{ID: "F59", Name: "invalid configuration on reload", Run: hostile.BadReload},
		{ID: "F61", Name: "the release build", Run: hostile.Release},
		{ID: "P8h", Name: "a stalled HTTP/2 connection", Run: hostile.StalledLink},
		{ID: "P11r", Name: "slow readers", Run: hostile.SlowReaders},
		{ID: "P13", Name: "tenant isolation", Run: access.Tenants},
		{ID: "P15", Name: "content that must not be stored", Run: hostile.ContentIsNotStored},
		{ID: "P11w", Name: "slow writers", Run: hostile.SlowWriters},
	}
}
