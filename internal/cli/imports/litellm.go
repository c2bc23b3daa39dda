package imports

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/catalog"
)

// Limits for imported files.
const (
	maxFile   = 4 << 20
	maxModels = 5000
)

// The kinds of findings.
const (
	taken       = "taken"
	changed     = "changed"
	unsupported = "unsupported"
)

// finding is the result for one setting of the imported file.
type finding struct {
	Kind    string `json:"kind"`
	Setting string `json:"setting"` // path in the imported file
	Text    string `json:"text"`    // new setting, or required action
}

// litellm converts the configuration file of the LiteLLM proxy.
type litellm struct {
	Models      []deployment `yaml:"model_list"`
	Credentials []struct {
		Name   string         `yaml:"credential_name"`
		Values map[string]any `yaml:"credential_values"`
	} `yaml:"credential_list"`
	Others map[string]any `yaml:",inline"` // the other sections

	catalog   *catalog.Catalog
	vendors   []string // names of the known vendors
	meanings  map[string]set
	names     map[string]set    // LiteLLM names by catalog model
	places    map[[2]string]set // providers by catalog model and LiteLLM name
	providers []*provider
	findings  []finding
	secrets   int // number of API keys that were written in plain text in the file
}

type set map[string]bool

// deployment is an entry of model_list.
type deployment struct {
	Name   string         `yaml:"model_name"`
	Params map[string]any `yaml:"litellm_params"`
	Info   map[string]any `yaml:"model_info"`
	Others map[string]any `yaml:",inline"`

	path     string
	vendor   string         // empty for an endpoint of an unknown vendor; "?" and the prefix for an unknown provider without an endpoint
	upstream string         // the vendor's name for the model
	known    *catalog.Model // nil if the model is not in the catalog
	inherits bool           // whether a model with another name has the price and the abilities of the known model
}

// convertLiteLLM returns the new configuration file, and the findings: models in the order of the imported file, then the other settings.
func convertLiteLLM(text []byte, c *catalog.Catalog, vendors []string) (string, []finding, error) {
	l := &litellm{catalog: c, vendors: vendors, meanings: map[string]set{}, names: map[string]set{}, places: map[[2]string]set{}}
	if err := yaml.Unmarshal(text, l); err != nil {
		return "", nil, fmt.Errorf("parse the LiteLLM configuration: %w", err)
	}
	if len(l.Models) == 0 {
		return "", nil, errors.New("the file has no model_list")
	}
	if len(l.Models) > maxModels {
		return "", nil, fmt.Errorf("the file has more than %d models", maxModels)
	}
	for i := range l.Models {
		l.Models[i].path = fmt.Sprintf("model_list[%d] %s", i, l.Models[i].Name)
		l.identify(&l.Models[i])
	}
	for i := range l.Models {
		l.convert(&l.Models[i])
	}
	l.aliases()
	l.reportSettings()
	converted, err := encode(l.providers)
	return converted, l.findings, err
}

func (l *litellm) add(kind, setting, format string, args ...any) {
	l.findings = append(l.findings, finding{kind, setting, fmt.Sprintf(format, args...)})
}

// aliases adds the names of router_settings.model_group_alias to the models that they stand for.
func (l *litellm) aliases() {
	settings, _ := l.Others["router_settings"].(map[string]any)
	names, _ := settings["model_group_alias"].(map[string]any)
	for _, alias := range slices.Sorted(maps.Keys(names)) {
		target, found := text(names[alias]), false
		if hidden, ok := names[alias].(map[string]any); ok {
			target = text(hidden["model"])
		}
		_, listed := l.catalog.Model(alias)
		for _, p := range l.providers {
			for _, m := range p.Models {
				if (m.Name == target || slices.Contains(m.Aliases, target)) && validName(alias) && !listed {
					m.Aliases, found = append(m.Aliases, alias), true
				}
			}
		}
		if found {
			l.add(taken, "router_settings.model_group_alias "+alias, "alias of %s", target)
		} else {
			l.add(unsupported, "router_settings.model_group_alias "+alias, "clients cannot use the name, because it is another model, or %s is not in the file", target)
		}
	}
}

// reportSettings reports the settings outside model_list.
func (l *litellm) reportSettings() {
	for _, section := range slices.Sorted(maps.Keys(l.Others)) {
		settings, _ := l.Others[section].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			switch {
			case name == "model_group_alias":
			case section == "environment_variables":
				l.add(unsupported, section+"."+name, "set it in the environment of the gateway")
			default:
				l.add(unsupported, section+"."+name, "%s", cmp.Or(advice[name], "has no equivalent"))
			}
		}
		if len(settings) == 0 {
			l.add(unsupported, section, "has no equivalent")
		}
	}
}

// prefixes maps LiteLLM provider prefixes to vendors. It lists prefixes that differ from the vendor's name, and older prefixes.
var prefixes = map[string]string{
	"vertex_ai": "vertex", "vertex_ai_beta": "vertex", "together_ai": "together", "fireworks_ai": "fireworks", "nvidia_nim": "nvidia", "hosted_vllm": "vllm", "ollama_chat": "ollama",
	"cohere_chat": "cohere", "github": "github_models", "jina_ai": "jina", "dashscope": "alibaba", "lm_studio": "lmstudio", "meta_llama": "meta", "ai21_chat": "ai21", "text-completion-openai": "openai",
	"vercel_ai_gateway": "vercel", "azure_text": "azure", "text-completion-codestral": "mistral", "codestral": "mistral",
}

// identify finds the vendor and the catalog model of a deployment, and notes what its LiteLLM name stands for.
func (l *litellm) identify(m *deployment) {
	m.vendor, m.upstream = l.vendor(m)
	base := text(m.Info["base_model"])
	m.known, _ = l.catalog.Model(base[strings.IndexByte(base, '/')+1:])
	if m.known == nil && m.vendor != "" { // an unknown server may use the name for another model
		m.known, _ = l.catalog.Model(regionPrefix.ReplaceAllString(m.upstream, ""))
		if m.known != nil {
			_, m.inherits = l.catalog.Offer(m.vendor, m.known.Name)
		}
	}
	meaning := m.upstream
	if m.known != nil {
		meaning = m.known.Name
		place := fmt.Sprint(m.vendor, m.Params["api_base"], m.Params["api_key"], m.Params["litellm_credential_name"], m.Params["aws_region_name"], m.Params["vertex_location"])
		insert(l.names, meaning, m.Name)
		insert(l.places, [2]string{meaning, m.Name}, place)
	}
	insert(l.meanings, m.Name, meaning)
}

func insert[K comparable](sets map[K]set, at K, value string) {
	if sets[at] == nil {
		sets[at] = set{}
	}
	sets[at][value] = true
}

func (l *litellm) vendor(m *deployment) (vendor, upstream string) {
	name, base := text(m.Params["model"]), text(m.Params["api_base"])
	prefix, rest, ok := strings.Cut(name, "/")
	if explicit := text(m.Params["custom_llm_provider"]); explicit != "" {
		prefix, rest, ok = explicit, strings.TrimPrefix(name, explicit+"/"), true
	}
	vendor = cmp.Or(prefixes[prefix], prefix)
	switch {
	case ok && slices.Contains(l.vendors, vendor):
		if vendor == "openai" && base != "" && !strings.Contains(base, "api.openai.com") {
			return "", rest // the deployment is a compatible server
		}
		for _, mode := range []string{"converse/", "invoke/", "responses/"} {
			rest = strings.TrimPrefix(rest, mode)
		}
		return vendor, rest
	case ok && slices.Contains([]string{"openai_like", "custom_openai", "litellm_proxy", "llamafile", "xinference"}, prefix):
		return "", rest
	case base != "":
		return "", name
	}
	if known, ok := l.catalog.Model(name); ok && slices.Contains(l.vendors, known.Home) {
		return known.Home, name
	}
	if ok {
		return "?" + prefix, rest
	}
	return "openai", name
}

// regionPrefix matches the prefix of an inference profile of Amazon Bedrock.
var regionPrefix = regexp.MustCompile(`^(us|us-gov|eu|apac|jp|au|ca|global)\.`)

// prices lists the prices of a deployment.
var prices = []string{"input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost"}

var (
	validModel   = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._:/+-]{0,199}$`)
	reservedName = regexp.MustCompile(`(?i)^(claude-)?auto(:.*)?$`)
)

// kinds maps the modes of LiteLLM to the kinds of models, except chat.
var kinds = map[string]string{
	"embedding": "embedding", "completion": "completion", "moderation": "moderation", "rerank": "rerank",
	"image_generation": "image", "audio_speech": "speech", "audio_transcription": "transcription",
}

// validName reports whether clients can use a name for a model.
func validName(name string) bool {
	return validModel.MatchString(name) && !reservedName.MatchString(name)
}

// convert converts one deployment.
func (l *litellm) convert(m *deployment) {
	switch {
	case m.upstream == "":
		l.add(unsupported, m.path, "the deployment has no model")
		return
	case strings.HasPrefix(m.vendor, "?"):
		l.add(unsupported, m.path, "the provider %s is unknown; add it with its base_url if it has an OpenAI-compatible API", m.vendor[1:])
		return
	}
	if text(m.Params["model"]) == "*" {
		l.add(taken, m.path, "all models of the providers whose variable is set, such as OPENAI_API_KEY, without an entry in the file")
		return
	}
	p := l.provider(m)
	if strings.Contains(m.upstream, "*") {
		l.place(p).Catalog = true
		l.add(taken, m.path, "all models of %[1]s in the catalog, named as there or with the prefix %[1]s/", cmp.Or(m.vendor, p.Name))
		l.reportRest(m)
		return
	}
	one := &model{Name: m.Name, Upstream: m.upstream, Context: int64(number(m.Info["max_input_tokens"])), MaxOutput: int64(number(m.Info["max_output_tokens"]))}
	switch mode := text(m.Info["mode"]); {
	case mode == "" || mode == "chat" || mode == "responses":
	case kinds[mode] != "":
		one.Kind = kinds[mode]
	default:
		l.add(unsupported, m.path, "models with the mode %s", mode)
		return
	}
	if !validName(m.Name) {
		l.add(unsupported, m.path, "clients cannot use the name; choose another one")
		return
	}
	for name, to := range map[string]**float64{
		"input_cost_per_token": &one.Input, "output_cost_per_token": &one.Output,
		"cache_read_input_token_cost": &one.CacheRead, "cache_creation_input_token_cost": &one.CacheWrite,
	} {
		if price := cmp.Or(text(m.Params[name]), text(m.Info[name])); price != "" {
			*to = new(math.Round(number(price)*1e12) / 1e6)
		}
	}
	one.Timeouts.Total = seconds(m.Params["timeout"])
	if one.Timeouts.FirstToken = seconds(m.Params["stream_timeout"]); one.Timeouts.FirstToken != "" {
		l.add(changed, m.path+" stream_timeout", "limits the time to the first token (timeouts.first_token)")
	}
	l.name(one, m)
	l.place(p, one)
	l.reportRest(m)
}

// name sets the name of a model. Usually, the model gets its catalog name, with the LiteLLM name as an alias. If the LiteLLM name stands for
// several models, or is the name of another catalog model, the model gets the LiteLLM name.
func (l *litellm) name(one *model, m *deployment) {
	same, listed := l.catalog.Model(m.Name)
	priced := one.Input != nil
	switch {
	case m.known == nil && !priced && slices.Contains([]string{"ollama", "vllm", "llamacpp", "lmstudio", "sglang"}, m.vendor):
		one.Input, one.Output = new(0.0), new(0.0)
		l.add(taken, m.path, "model %s, free of charge", m.Name)
	case m.known == nil && !priced && one.Kind != "moderation":
		l.add(changed, m.path, "%s has no known price: set input_per_mtok and output_per_mtok, 0 for a server of your own, or allow_unpriced", m.Name)
	case m.known == nil:
		l.add(taken, m.path, "model %s", m.Name)
	case listed && same != m.known:
		l.describe(one, m)
		l.add(changed, m.path, "the catalog has another model %s: with its abilities, and the price of %s", m.Name, m.known.Name)
	case m.inherits && len(l.meanings[m.Name]) > 1:
		l.add(changed, m.path, "%s stands for several models: clients get any of them, and the abilities are those of the first", m.Name)
	case listed:
		one.Name = m.known.Name
		l.add(taken, m.path, "model %s", m.known.Name)
	case m.inherits && l.separate(m):
		l.add(changed, m.path, "%s is a separate model, because other names stand for %s at other providers", m.Name, m.known.Name)
	default:
		one.Name, one.Aliases = m.known.Name, []string{m.Name}
		l.add(taken, m.path, "%s is an alias of %[2]s; responses and the log show %[2]s", m.Name, m.known.Name)
	}
}

// separate reports whether the name needs a separate model, because other LiteLLM names stand for the same model at other providers. If all
// these names were aliases of one model, a request for one name could be sent to the providers of another.
func (l *litellm) separate(m *deployment) bool {
	for other := range l.names[m.known.Name] {
		if other != m.Name && len(l.meanings[other]) == 1 && !maps.Equal(l.places[[2]string{m.known.Name, other}], l.places[[2]string{m.known.Name, m.Name}]) {
			return true
		}
	}
	return false
}

// describe copies the prices and limits of the known model, because the catalog knows the name for another model.
func (l *litellm) describe(one *model, m *deployment) {
	price := l.catalog.ListPrice(m.known.Name)
	if price == nil || one.Input != nil {
		return
	}
	one.Input, one.Output, one.Context = new(price.Input.Dollars()), new(price.Output.Dollars()), cmp.Or(one.Context, m.known.Context)
	if price.CacheRead != nil {
		one.CacheRead = new(price.CacheRead.Dollars())
	}
}

// options maps the parameters of a deployment to options of a provider.
var options = map[string]string{
	"api_version": "api_version", "aws_region_name": "region", "aws_profile_name": "aws_profile", "aws_role_name": "role_arn", "aws_external_id": "external_id",
	"vertex_project": "project", "vertex_location": "location", "vertex_credentials": "service_account", "tenant_id": "tenant", "client_id": "client_id",
}

var notSlug = regexp.MustCompile(`[^a-z0-9._-]+`)

// provider returns the provider of a deployment, without models.
func (l *litellm) provider(m *deployment) *provider {
	params := m.Params
	if name := text(params["litellm_credential_name"]); name != "" {
		params = l.credential(m, name)
	}
	p := &provider{Vendor: m.vendor, BaseURL: reference(params["api_base"]), Options: map[string]string{}}
	switch {
	case m.vendor == "":
		p.Name = "custom"
		if u, err := url.Parse(p.BaseURL); err == nil && u.Hostname() != "" {
			name := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(u.Hostname()), "-"), "-._")
			p.Name = cmp.Or(name[:min(len(name), 56)], "custom")
		}
	case (m.vendor == "ollama" || m.vendor == "anthropic") && strings.HasPrefix(p.BaseURL, "http") && !strings.Contains(p.BaseURL, "/v1"):
		p.BaseURL = strings.TrimSuffix(p.BaseURL, "/") + "/v1"
		l.add(changed, m.path+" api_base", "base_url includes /v1")
	}
	for name, option := range options {
		if value := reference(params[name]); value != "" {
			p.Options[option] = value
		}
	}
	if m.vendor == "bedrock" && p.Options["region"] == "" && p.BaseURL == "" {
		l.add(changed, m.path+" aws_region_name", "set the variable AWS_REGION, or options.region")
	}
	id, secret := reference(params["aws_access_key_id"]), reference(params["aws_secret_access_key"])
	if strings.HasPrefix(id, "${") && strings.HasPrefix(secret, "${") {
		p.APIKeys = []string{id + ":" + secret}
	} else if id != "" {
		l.add(unsupported, m.path+" aws_access_key_id", "the pair in the file is not copied: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role")
	}
	if key := l.key(m.path, cmp.Or(m.vendor, p.Name), text(params["api_key"])); key != "" {
		p.APIKeys = []string{key}
	}
	return p
}

// credential returns the parameters of a deployment together with the parameters of a named credential.
func (l *litellm) credential(m *deployment, name string) map[string]any {
	for _, c := range l.Credentials {
		if c.Name == name {
			joined := map[string]any{}
			maps.Copy(joined, c.Values)
			maps.Copy(joined, m.Params)
			return joined
		}
	}
	l.add(unsupported, m.path+" litellm_credential_name", "the credential %s is not in credential_list", name)
	return m.Params
}

// key returns the value of api_keys. A key in plain text is replaced with a variable, so that it is not copied.
func (l *litellm) key(path, owner, key string) string {
	switch {
	case key == "":
		return ""
	case strings.HasPrefix(key, "os.environ/"):
		return reference(key)
	case len(key) < 12:
		l.add(changed, path+" api_key", "a placeholder such as %q is not copied", "none")
		return ""
	}
	l.secrets++
	variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(owner)) + "_API_KEY"
	if l.secrets > 1 {
		variable = fmt.Sprintf("%s_%d", variable, l.secrets)
	}
	l.add(changed, path+" api_key", "the key in the file is not copied: set the variable %s to it", variable)
	return "${" + variable + "}"
}

// place adds models to an existing provider with the same settings as p, unless that provider has another model with the same name. If no
// provider fits, it adds p. It returns the provider.
func (l *litellm) place(p *provider, models ...*model) *provider {
	for _, other := range l.providers {
		if other.Vendor != p.Vendor || other.BaseURL != p.BaseURL || !maps.Equal(other.Options, p.Options) || !slices.Equal(other.APIKeys, p.APIKeys) {
			continue
		}
		for _, one := range models {
			i := slices.IndexFunc(other.Models, func(m *model) bool { return m.Name == one.Name })
			switch {
			case i < 0:
				other.Models = append(other.Models, one)
				return other
			case other.Models[i].Upstream == one.Upstream:
				other.Models[i].Aliases = slices.Compact(slices.Sorted(slices.Values(slices.Concat(other.Models[i].Aliases, one.Aliases))))
				return other
			}
		}
		if len(models) == 0 {
			return other
		}
	}
	p.Models = models
	l.providers = append(l.providers, p)
	return p
}

// understood lists the parameters of a deployment that are converted in addition to prices and options, and the information that needs no
// setting.
var (
	understood = []string{
		"model", "custom_llm_provider", "api_base", "api_key", "litellm_credential_name", "timeout", "stream_timeout",
		"aws_access_key_id", "aws_secret_access_key", "aws_session_token",
	}
	understoodInfo = []string{"id", "mode", "base_model", "max_tokens", "max_input_tokens", "max_output_tokens", "description", "db_model"}
)

// advice maps settings without a counterpart in the file to what replaces them. Settings without an entry have no equivalent.
var advice = map[string]string{
	// parameters of a deployment
	"rpm": "limits are per API key (--rpm)", "tpm": "limits are per API key (--tpm)", "weight": "the gateway balances by health, latency and price",
	"order":                 "the gateway orders by health, latency and price; provider.order in a request takes precedence",
	"max_parallel_requests": "set providers[].concurrent", "max_retries": "set retries.attempts", "organization": "set it as a header in providers[].headers",
	"extra_headers": "set providers[].headers", "tags": "set providers[].tags and use them in policies", "region_name": "set providers[].tags and use them in policies",
	"temperature": "clients send it", "max_tokens": "clients send it, or a policy with max_output_tokens limits it", "top_p": "clients send it", "seed": "clients send it",
	"access_groups": "list the models of each API key (--models)",
	// general_settings
	"master_key": "create keys with fairlead keys create, and the first account with fairlead admin create", "database_url": "set store to the address of an empty PostgreSQL database",
	"coordination_redis": "set redis", "alerting": "add a channel and rules on the page Alerts", "store_prompts_in_spend_logs": "set log.bodies",
	"maximum_spend_logs_retention_period": "set log.entry_retention and log.body_retention",
	// litellm_settings and router_settings
	"drop_params": "clients send provider.best_effort: true", "max_budget": "set a budget for each API key (--budget) or for the workspace", "budget_duration": "set the period of each budget (--period)",
	"num_retries": "set retries.attempts", "request_timeout": "set timeouts.total", "timeout": "set timeouts.total",
	"fallbacks": "clients send models: [first, second], or auto", "default_fallbacks": "clients send models: [first, second], or auto",
	"context_window_fallbacks": "auto, and a list of models in the request, leave out models whose context is too short",
	"routing_strategy":         "clients send auto, auto:cost or auto:speed, or provider.sort", "allowed_fails": "set breaker.failures", "cooldown_time": "set breaker.probe_after",
	"cache": "clients send the header x-fairlead-cache: on", "cache_params": "set response_cache", "redis_host": "set redis", "redis_port": "set redis", "redis_password": "set redis", "redis_url": "set redis",
	"callbacks": "set telemetry for traces and metrics; the log is built in", "success_callback": "set telemetry for traces and metrics; the log is built in",
	"failure_callback": "set telemetry for traces and metrics; the log is built in",
}

// reportRest reports the parameters that were not converted.
func (l *litellm) reportRest(m *deployment) {
	converted := func(name string) bool {
		return slices.Contains(understood, name) || slices.Contains(prices, name) || options[name] != ""
	}
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		if !converted(name) {
			l.add(unsupported, m.path+" "+name, "%s", cmp.Or(advice[name], "has no equivalent"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Info)) {
		switch {
		case slices.Contains(understoodInfo, name) || converted(name):
		case strings.HasPrefix(name, "supports_"):
			l.add(changed, m.path+" "+name, "capabilities come from the catalog; override them with models[].abilities")
		default:
			l.add(unsupported, m.path+" "+name, "%s", cmp.Or(advice[name], "has no equivalent"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Others)) {
		l.add(unsupported, m.path+" "+name, "has no equivalent")
	}
}

// text returns a scalar value as text. It returns an empty string for nil, maps and lists.
func text(v any) string {
	switch v := v.(type) {
	case nil, map[string]any, []any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// reference returns the value as text. It converts os.environ/NAME to ${NAME}, the variable syntax of the configuration file.
func reference(v any) string {
	value := text(v)
	if name, ok := strings.CutPrefix(value, "os.environ/"); ok {
		return "${" + name + "}"
	}
	return value
}

// number returns a value as a number. It returns 0 for anything else.
func number(v any) float64 {
	n, err := strconv.ParseFloat(text(v), 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 1e12 {
		return 0
	}
	return n
}

// seconds returns a number of seconds as a duration, and an empty string if it is not positive.
func seconds(v any) string {
	if n := number(v); n > 0 {
		return (time.Duration(n*1000) * time.Millisecond).String()
	}
	return ""
}
