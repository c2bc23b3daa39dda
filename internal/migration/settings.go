package migration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// settings converts the settings sections.
func (l *litellmFile) settings(w *writer) {
	done := map[string]bool{}
	find := func(name string, sections ...string) (float64, string) {
		for _, section := range sections {
			if n, ok := number(l.section(section)[name]); ok {
				done[section+"."+name] = true
				return n, section + "." + name
			}
		}
		return 0, ""
	}
	w.line(0, "")
	if n, path := find("num_retries", "router_settings", "litellm_settings"); path != "" {
		attempts := min(10, max(1, int(n)+1))
		w.line(0, "retries:")
		w.line(1, "attempts: %d  # the first attempt and its retries, over all providers", attempts)
		l.add(Taken, path, "retries.attempts: %d", attempts)
	}
	timeout, path := find("timeout", "router_settings")
	if path == "" {
		timeout, path = find("request_timeout", "litellm_settings")
	}
	if timeout > 0 {
		w.line(0, "timeouts:")
		w.line(1, "total: %s", seconds(timeout))
		l.add(Taken, path, "timeouts.total: %s", seconds(timeout))
	}
	l.breaker(w, find)
	parallel, path := find("max_parallel_requests", "general_settings")
	if path == "" {
		parallel, path = find("global_max_parallel_requests", "general_settings")
	}
	if parallel >= 1 {
		w.line(0, "limits:")
		w.line(1, "concurrent: %d", min(1_000_000, int(parallel)))
		l.add(Taken, path, "limits.concurrent: %d", min(1_000_000, int(parallel)))
	}
	l.redis(w, done)
	// Prompts are stored only if LiteLLM stores them. LiteLLM does not store them by default.
	stored := text(l.file.General["store_prompts_in_spend_logs"]) == "true" && text(l.file.Lite["turn_off_message_logging"]) != "true"
	done["general_settings.store_prompts_in_spend_logs"], done["litellm_settings.turn_off_message_logging"] = true, true
	w.line(0, "log:")
	w.line(1, "bodies: %v  # whether prompts and responses are stored", stored)
	if !stored {
		l.add(Changed, "general_settings.store_prompts_in_spend_logs", "log.bodies: false, as in LiteLLM; the default of this gateway is true")
	} else {
		l.add(Taken, "general_settings.store_prompts_in_spend_logs", "log.bodies: true")
	}
	l.fallbacks(done)
	l.budget(done)
	l.remaining(done)
}

func (l *litellmFile) section(name string) map[string]any {
	return map[string]map[string]any{"litellm_settings": l.file.Lite, "router_settings": l.file.Router, "general_settings": l.file.General}[name]
}

func (l *litellmFile) breaker(w *writer, find func(string, ...string) (float64, string)) {
	failures, failuresPath := find("allowed_fails", "router_settings", "litellm_settings")
	after, afterPath := find("cooldown_time", "router_settings", "litellm_settings")
	if (failuresPath == "" || failures < 1) && (afterPath == "" || after <= 0) {
		return
	}
	w.line(0, "breaker:")
	if failuresPath != "" && failures >= 1 {
		w.line(1, "failures: %d  # consecutive failures", min(1000, int(failures)))
		l.add(Changed, failuresPath, "breaker.failures: %d counts consecutive failures, not failures in a minute", min(1000, int(failures)))
	}
	if afterPath != "" && after > 0 {
		w.line(1, "probe_after: %s", seconds(after))
		l.add(Taken, afterPath, "breaker.probe_after: %s", seconds(after))
	}
}

// redis converts the Redis server of the router. The replicas share limits through this server.
func (l *litellmFile) redis(w *writer, done map[string]bool) {
	address, path := l.reference(l.file.Router["redis_url"]), "router_settings.redis_url"
	if host := l.reference(l.file.Router["redis_host"]); address == "" && host != "" {
		path = "router_settings.redis_host"
		user := ""
		if password := l.reference(l.file.Router["redis_password"]); strings.HasPrefix(password, "${") {
			user = ":" + password + "@"
		} else if password != "" {
			user = ":${REDIS_PASSWORD}@"
			l.add(Changed, "router_settings.redis_password", "the password in the file is not copied: set the variable REDIS_PASSWORD to it")
		}
		address = "redis://" + user + host + ":" + cmp.Or(l.reference(l.file.Router["redis_port"]), "6379") + "/0"
	}
	for _, name := range []string{"redis_url", "redis_host", "redis_port", "redis_password"} {
		done["router_settings."+name] = true
	}
	if address == "" {
		return
	}
	if !strings.HasPrefix(address, "redis") && !strings.HasPrefix(address, "$") {
		l.add(Unsupported, path, "%q is not a Redis URL", address)
		return
	}
	w.line(0, "redis: %s  # limits and budgets shared by replicas", quoted(address))
	l.add(Taken, path, "redis")
}

// fallbacks reports fallbacks between models. They are not converted, because another model changes the response: requests
// must list their own fallback models.
func (l *litellmFile) fallbacks(done map[string]bool) {
	for _, section := range []string{"litellm_settings", "router_settings"} {
		for _, name := range []string{"fallbacks", "default_fallbacks", "context_window_fallbacks", "content_policy_fallbacks"} {
			value := l.section(section)[name]
			if value == nil {
				continue
			}
			path := section + "." + name
			done[path] = true
			if name == "context_window_fallbacks" {
				l.add(Changed, path, "models whose context window is too small are skipped; clients list the alternatives in models")
				continue
			}
			entries, _ := value.([]any)
			for _, entry := range entries {
				from, _ := entry.(map[string]any)
				for _, model := range sortedKeys(from) {
					names := []string{model}
					others, _ := from[model].([]any)
					for _, other := range others {
						names = append(names, text(other))
					}
					list, _ := json.Marshal(names) // encoding strings never fails
					l.add(Changed, path+" "+model, `clients send "models": %s; providers of the same model are tried without it`, list)
				}
				if from == nil {
					l.add(Changed, path, "clients list the alternatives in models, or request auto")
				}
			}
		}
	}
}

// budget reports the proxy budget and the key defaults.
func (l *litellmFile) budget(done map[string]bool) {
	if n, ok := number(l.file.Lite["max_budget"]); ok {
		done["litellm_settings.max_budget"], done["litellm_settings.budget_duration"] = true, true
		l.add(Changed, "litellm_settings.max_budget", "set the budget of the workspace on the Budgets page: %g dollars per %s", n, period(text(l.file.Lite["budget_duration"])))
	}
	for _, name := range []string{"default_key_generate_params", "upperbound_key_generate_params", "default_internal_user_params"} {
		section, ok := l.file.Lite[name].(map[string]any)
		if !ok {
			continue
		}
		done["litellm_settings."+name] = true
		if flags := keyFlags(section); flags != "" {
			l.add(Changed, "litellm_settings."+name, "give each key its limits:  fairlead keys create --name NAME%s", flags)
		}
	}
}

// settingAdvice maps unsupported settings to their replacements. Settings without an entry have no equivalent.
var settingAdvice = map[string]string{
	"general_settings.master_key":               "create an account (fairlead admin create) and API keys (fairlead keys create); the master key of LiteLLM is not used",
	"general_settings.database_url":             "use a separate database: store: postgres://user@host/fairlead; the data of LiteLLM is not read",
	"general_settings.alerting":                 "add alert rules in the dashboard or with fairlead alerts add",
	"general_settings.store_model_in_db":        "connect providers in the dashboard; models in the LiteLLM database are not read",
	"general_settings.disable_spend_logs":       "the log is always written; its retention is log.entry_retention",
	"litellm_settings.drop_params":              "clients send provider.best_effort: true; otherwise a parameter that a model does not accept excludes it, or causes a warning",
	"litellm_settings.cache":                    "enable the response cache per API key (fairlead keys create --cache) or with a policy (response_cache)",
	"litellm_settings.cache_params":             "set the sizes in response_cache and the maximum age with --cache-ttl",
	"litellm_settings.set_verbose":              "set log.level: debug",
	"litellm_settings.json_logs":                "set log.format: json",
	"router_settings.routing_strategy":          "the gateway balances by health, latency and price; clients choose with auto:cost, auto:speed or provider.sort",
	"router_settings.enable_pre_call_checks":    "always on: models with a context window that is too small are skipped",
	"router_settings.retry_policy":              "the kind of the error decides whether a retry can help",
	"router_settings.provider_budget_config":    "budgets are per API key, workspace, session and end user",
	"litellm_settings.ssl_verify":               "certificates are always verified",
	"general_settings.allowed_routes":           "the scopes of an API key limit its routes (--scopes)",
	"general_settings.proxy_batch_write_at":     "entries are delivered from a local spool",
	"router_settings.model_group_retry_policy":  "the kind of the error decides whether a retry can help",
	"router_settings.allowed_fails_policy":      "set breaker.failures",
	"general_settings.custom_auth":              "applications use API keys of the gateway",
	"litellm_settings.default_team_settings":    "use workspaces",
	"general_settings.background_health_checks": "providers are probed when their circuit is open",
}

// remaining reports every setting that was not handled.
func (l *litellmFile) remaining(done map[string]bool) {
	done["router_settings.model_group_alias"], done["litellm_settings.model_alias_map"] = true, true
	for _, section := range []string{"litellm_settings", "router_settings", "general_settings"} {
		for _, name := range sortedKeys(l.section(section)) {
			path := section + "." + name
			switch {
			case done[path]:
			case slices.Contains([]string{"callbacks", "success_callback", "failure_callback", "service_callbacks"}, name):
				l.add(Changed, path, "%s: export traces and metrics with OpenTelemetry (telemetry.endpoint); other callbacks have no equivalent", callbackNames(l.section(section)[name]))
			default:
				l.add(Unsupported, path, "%s", cmp.Or(settingAdvice[path], "has no equivalent"))
			}
		}
	}
	for _, name := range sortedKeys(l.file.Variables) {
		l.add(Changed, "environment_variables."+name, "set the variable in the environment of the gateway; its value is not copied")
	}
	for _, name := range sortedKeys(l.file.Others) {
		l.add(Unsupported, name, "has no equivalent")
	}
}

func callbackNames(v any) string {
	names := []string{text(v)}
	if entries, ok := v.([]any); ok {
		names = nil
		for _, e := range entries {
			names = append(names, text(e))
		}
	}
	return strings.Join(names, ", ")
}

// period returns the budget period for a LiteLLM duration. It returns "total" if no period has this duration.
func period(duration string) string {
	switch duration {
	case "1d", "24h":
		return "day"
	case "7d", "1w":
		return "week"
	case "30d", "1mo", "31d":
		return "month"
	}
	return "total"
}

// keyFlags converts the limits of a LiteLLM key to flags for fairlead keys create.
func keyFlags(k map[string]any) string {
	var b strings.Builder
	if n, ok := number(k["max_budget"]); ok {
		fmt.Fprintf(&b, " --budget %g --period %s", n, period(text(k["budget_duration"])))
	}
	for _, f := range []struct{ from, flag string }{{"rpm_limit", "--rpm"}, {"tpm_limit", "--tpm"}, {"max_parallel_requests", "--concurrent"}} {
		if n, ok := number(k[f.from]); ok && n >= 1 {
			fmt.Fprintf(&b, " %s %d", f.flag, int64(n))
		}
	}
	if models, ok := k["models"].([]any); ok && len(models) > 0 {
		var names []string
		for _, m := range models {
			if name := text(m); name != "" && name != "all-proxy-models" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(&b, " --models %s", shellQuoted(strings.Join(names, ",")))
		}
	}
	return b.String()
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// AddKeys adds commands that create the keys in the response of LiteLLM's GET /key/list?return_full_object=true. LiteLLM
// stores only hashes of the secrets, so applications get new keys.
func (r *Result) AddKeys(data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	var file struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("parse the list of keys: %w", err)
	}
	for i, raw := range file.Keys {
		path := fmt.Sprintf("keys[%d]", i)
		var k map[string]any
		if json.Unmarshal(raw, &k) != nil {
			r.add(Unsupported, path, "only a hash: request the list with return_full_object=true")
			continue
		}
		name := cmp.Or(text(k["key_alias"]), text(k["key_name"]), fmt.Sprintf("key-%d", i+1))
		r.Commands = append(r.Commands, "fairlead keys create --name "+shellQuoted(name)+keyFlags(k))
		r.add(Changed, path+" "+name, "the command creates a key with a new secret")
		for _, field := range slices.Sorted(maps.Keys(k)) {
			if slices.Contains([]string{"team_id", "soft_budget", "model_max_budget", "expires", "blocked"}, field) && text(k[field]) != "" && text(k[field]) != "false" {
				r.add(Unsupported, path+" "+field, "%s is not converted", field)
			}
		}
	}
	return nil
}
