package account

import (
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
)

// Limits on the settings of a key.
const (
	maxAllowedModels = 200
	maxTags          = 32
	maxTagLength     = 200
	maxLimit         = 1_000_000_000_000
)

type keyView struct {
	Name          string            `json:"name"`
	Scopes        []Scope           `json:"scopes"`
	AllowedModels []string          `json:"allowed_models,omitempty"`
	Limits        Limits            `json:"limits"`
	Budget        *Budget           `json:"budget,omitempty"`
	Sessions      *SessionLimits    `json:"sessions,omitempty"`
	Baseline      string            `json:"baseline,omitempty"`
	LogBodies     *bool             `json:"log_bodies,omitempty"`
	Cache         *ResponseCache    `json:"cache,omitempty"`
	ErrorFormat   string            `json:"error_format,omitempty"`
	AllowUnpriced bool              `json:"allow_unpriced,omitempty"`
	Tags          map[string]string `json:"tags,omitempty"`
	ExpiresAt     time.Time         `json:"expires_at,omitzero"`
	RevokedAt     time.Time         `json:"revoked_at,omitzero"`
	Secrets       []secretView      `json:"secrets"`
}

type secretView struct {
	End       string    `json:"end"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	AfterUse  string    `json:"after_use,omitempty"`
}

// keyFacts returns the fields of a key for the audit log.
func keyFacts(k Key) keyView {
	v := keyView{
		Name: k.Name, Scopes: k.Scopes, AllowedModels: k.AllowedModels, Limits: k.Limits, Budget: k.Budget, Sessions: k.Sessions,
		Baseline: k.Baseline, LogBodies: k.LogBodies, Cache: k.Cache, ErrorFormat: k.ErrorFormat, AllowUnpriced: k.AllowUnpriced,
		Tags: k.Tags, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
	}
	for _, s := range k.Secrets {
		v.Secrets = append(v.Secrets, secretView{End: s.End, ExpiresAt: s.ExpiresAt, AfterUse: span(s.AfterUse)})
	}
	return v
}

func sortedScopes(scopes []Scope) []Scope {
	sorted := slices.Clone(scopes)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// checkKey validates the settings of a key.
func checkKey(k Key) error {
	if err := checkName("name", k.Name); err != nil {
		return err
	}
	if len(k.Scopes) == 0 {
		return invalid("scopes", "A key needs at least one scope: inference, read or manage.")
	}
	for _, scope := range k.Scopes {
		if scopeRights[scope] == nil {
			return invalid("scopes", "Unknown scope. Use inference, read or manage.")
		}
	}
	if err := checkModels(k.AllowedModels); err != nil {
		return err
	}
	for param, n := range map[string]int64{
		"limits.requests_per_minute": k.Limits.RequestsPerMinute,
		"limits.tokens_per_minute":   k.Limits.TokensPerMinute,
		"limits.concurrent":          k.Limits.Concurrent,
	} {
		if n < 0 || n > maxLimit {
			return invalid(param, "A limit must be a whole number of at least 0. 0 means no limit.")
		}
	}
	if len(k.Baseline) > maxModelName || hasControl(k.Baseline) {
		return invalid("baseline", "This is not a valid model name.")
	}
	if k.ErrorFormat != "" && k.ErrorFormat != "openai" {
		return invalid("error_format", "Unknown error format. Use openai, or omit the field.")
	}
	if err := checkTags(k.Tags); err != nil {
		return err
	}
	if err := checkSessions(k.Sessions); err != nil {
		return err
	}
	if c := k.Cache; c != nil && c.Mode != CacheOnRequest && c.Mode != CacheAlways {
		return invalid("cache.mode", "Unknown cache mode. Use on_request or always, or remove the setting to disable the cache.")
	}
	if c := k.Cache; c != nil && (c.TTL < MinCacheTTL || c.TTL > MaxCacheTTL) {
		return invalid("cache.ttl_seconds", "The maximum age of a cached response must be between 1 second and 30 days.")
	}
	return checkBudget(k.Budget)
}

func checkSessions(s *SessionLimits) error {
	if s == nil {
		return nil
	}
	for param, b := range map[string]*Budget{"sessions.budget": s.Budget, "sessions.user_budget": s.UserBudget} {
		if b != nil && b.Amount == 0 {
			return invalid(param+".amount_usd", "The budget of a session or an end user must be greater than 0.")
		}
		if err := checkBudget(b); err != nil {
			return err
		}
	}
	if s.Budget != nil && s.Budget.Period != Total {
		return invalid("sessions.budget.period", "The budget of a session never resets. Set the period to total.")
	}
	if s.TurnsPerMinute < 0 || s.TurnsPerMinute > maxLimit {
		return invalid("sessions.turns_per_minute", "A limit must be a whole number of at least 0. 0 means no limit.")
	}
	if s.SpendPerMinute < 0 {
		return invalid("sessions.spend_per_minute_usd", "The limit must not be negative. 0 means no limit.")
	}
	return nil
}

func checkModels(models []string) error {
	if len(models) > maxAllowedModels {
		return invalid("allowed_models", "A key can list at most %d models. Use wildcards such as gpt-4.1*.", maxAllowedModels)
	}
	for _, model := range models {
		if model == "" || len(model) > maxModelName || hasControl(model) {
			return invalid("allowed_models", "An entry is not a valid model name.")
		}
		if star := strings.IndexByte(model, '*'); star >= 0 && star != len(model)-1 {
			return invalid("allowed_models", "A wildcard is only allowed at the end of an entry: gpt-4.1*.")
		}
	}
	return nil
}

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return invalid("tags", "A key can have at most %d tags.", maxTags)
	}
	for _, text := range slices.Concat(slices.Collect(maps.Keys(tags)), slices.Collect(maps.Values(tags))) {
		if len(text) > maxTagLength || hasControl(text) {
			return invalid("tags", "Tags must be short and must not contain control characters.")
		}
	}
	if _, empty := tags[""]; empty {
		return invalid("tags", "A tag must have a name.")
	}
	return nil
}

func checkBudget(b *Budget) error {
	if b == nil {
		return nil
	}
	if b.Amount < 0 {
		return invalid("budget.amount_usd", "The budget must not be negative.")
	}
	switch b.Period {
	case Daily, Weekly, Monthly, Total:
	default:
		return invalid("budget.period", "Unknown period. Use day, week, month or total.")
	}
	if b.WarnPercent < 0 || b.WarnPercent > 100 {
		return invalid("budget.warn_percent", "The warning threshold must be between 0 and 100 percent.")
	}
	return checkZone("budget.zone", b.Zone)
}

// mayGrant returns an error if a change gives a key a scope that the maker cannot grant, or a setting beyond the limits of the maker's
// own key. It ignores unchanged settings, so that an actor can rename a key that a user with more permissions created.
func (m maker) mayGrant(before, after Key) error {
	for _, scope := range after.Scopes {
		if !slices.Contains(before.Scopes, scope) && !m.mayGrantScope(scope) {
			return tooMuch("scopes", "You cannot grant the \""+string(scope)+"\" scope because you do not have all of its permissions.")
		}
	}
	if m.key == nil {
		return nil
	}
	maker, made := *m.key, before.ID == ""
	limit := maker.ExpiresAt // zero for never
	switch {
	case maker.Budget != nil && slices.Contains(after.Scopes, Inference) && (made || !slices.Contains(before.Scopes, Inference) || !sameBudget(before.Budget, after.Budget)):
		return tooMuch("budget", "A key with a budget cannot give other keys the \"inference\" scope or change their budgets.")
	case (made || !slices.Equal(before.AllowedModels, after.AllowedModels)) && !covers(maker.AllowedModels, after.AllowedModels):
		return tooMuch("allowed_models", "The allowed models must be a subset of those of the key in use.")
	case (made || before.Limits != after.Limits) && !tighter(maker.Limits, after.Limits):
		return tooMuch("limits", "The limits must not exceed those of the key in use.")
	case maker.Sessions != nil && slices.Contains(after.Scopes, Inference) && (made || !slices.Contains(before.Scopes, Inference) || !sameSessions(before.Sessions, after.Sessions)) && !sameSessions(maker.Sessions, after.Sessions):
		return tooMuch("sessions", "The session limits must be those of the key in use.")
	case after.Cache != nil && after.Cache.Shared && (before.Cache == nil || !before.Cache.Shared) && (maker.Cache == nil || !maker.Cache.Shared):
		return tooMuch("cache", "The key in use does not share cached responses, so it cannot let another key read them.")
	case after.AllowUnpriced && !before.AllowUnpriced && !maker.AllowUnpriced:
		return tooMuch("allow_unpriced", "The key in use does not allow models without a price.")
	case (made || !before.ExpiresAt.Equal(after.ExpiresAt)) && !limit.IsZero() && (after.ExpiresAt.IsZero() || after.ExpiresAt.After(limit)):
		return tooMuch("expires_at", "The key must not expire later than the key in use.")
	}
	return nil
}

func tooMuch(param, message string) error {
	e := llm.Errorf(llm.PermissionDenied, "%s", message)
	e.Param = param
	return e
}

func sameBudget(a, b *Budget) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameSessions(a, b *SessionLimits) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameBudget(a.Budget, b.Budget) && sameBudget(a.UserBudget, b.UserBudget) && a.Downgrade == b.Downgrade &&
		a.TurnsPerMinute == b.TurnsPerMinute && a.SpendPerMinute == b.SpendPerMinute
}

// covers reports whether every model that inner allows is allowed by outer; an empty list allows all.
func covers(outer, inner []string) bool {
	if len(outer) == 0 {
		return true
	}
	for _, model := range inner {
		if !slices.ContainsFunc(outer, func(allowed string) bool {
			start, pattern := strings.CutSuffix(allowed, "*")
			return allowed == model || pattern && strings.HasPrefix(strings.TrimSuffix(model, "*"), start)
		}) {
			return false
		}
	}
	return len(inner) > 0
}

func tighter(outer, inner Limits) bool {
	ok := func(outer, inner int64) bool { return outer == 0 || inner > 0 && inner <= outer }
	return ok(outer.RequestsPerMinute, inner.RequestsPerMinute) &&
		ok(outer.TokensPerMinute, inner.TokensPerMinute) && ok(outer.Concurrent, inner.Concurrent)
}
