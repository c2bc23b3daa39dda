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
	Others map[string]any `yaml:",inline"`

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
}

// provider is a provider of the new configuration.
type provider struct {
	name    string
	vendor  string
	baseURL string
	options map[string]string
	keys    []string
	catalog bool // whether the provider offers all models of the vendor
	models  []*model
}

type model struct {
	name, upstream, comment string
	aliases                 []string
	settings                map[string]string // the other settings in the notation of the file
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
	for _, name := range slices.Sorted(maps.Keys(l.Others)) {
		settings, _ := l.Others[name].(map[string]any)
		for _, setting := range slices.Sorted(maps.Keys(settings)) {
			l.add(unsupported, name+"."+setting, "only model_list is converted; set it in the new file")
		}
		if len(settings) == 0 {
			l.add(unsupported, name, "only model_list is converted; set it in the new file")
		}
	}
	return encode(mergeKeys(l.providers)), l.findings, nil
}

func (l *litellm) add(kind, setting, format string, args ...any) {
	l.findings = append(l.findings, finding{kind, setting, fmt.Sprintf(format, args...)})
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
		m.known, _ = l.catalog.Model(m.upstream)
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

// prices maps the prices of a deployment to settings of a model.
var prices = map[string]string{
	"input_cost_per_token": "input_per_mtok", "output_cost_per_token": "output_per_mtok",
	"cache_read_input_token_cost": "cache_read_per_mtok", "cache_creation_input_token_cost": "cache_write_per_mtok",
}

var (
	validModel   = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._:/+-]{0,199}$`)
	reservedName = regexp.MustCompile(`(?i)^(claude-)?auto(:.*)?$`)
)

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
	p := l.provider(m)
	if strings.Contains(m.upstream, "*") {
		p.catalog = true
		l.providers = append(l.providers, p)
		l.add(taken, m.path, "all models of %s in the catalog", cmp.Or(m.vendor, p.name))
		return
	}
	one := &model{name: m.Name, upstream: m.upstream, settings: map[string]string{}}
	switch kind := text(m.Info["mode"]); kind {
	case "", "chat", "responses":
	case "embedding", "completion", "moderation":
		one.settings["kind"] = kind
	default:
		l.add(unsupported, m.path, "models with the mode %s", kind)
		return
	}
	if !validModel.MatchString(m.Name) || reservedName.MatchString(m.Name) {
		l.add(unsupported, m.path, "clients cannot use the name; choose another one")
		return
	}
	for from, to := range prices {
		perToken, ok := number(m.Params[from])
		if !ok {
			perToken, ok = number(m.Info[from])
		}
		if ok {
			one.settings[to] = decimal(math.Round(perToken*1e12) / 1e6)
		}
	}
	for from, to := range map[string]string{"max_input_tokens": "context", "max_output_tokens": "max_output"} {
		if n, ok := number(m.Info[from]); ok && n >= 1 {
			one.settings[to] = strconv.FormatInt(int64(n), 10)
		}
	}
	for from, to := range map[string]string{"timeout": "total", "stream_timeout": "first_token"} {
		if n, ok := number(m.Params[from]); ok && n > 0 {
			one.settings[to] = seconds(n)
		}
	}
	if one.settings["first_token"] != "" {
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
	priced := one.settings["input_per_mtok"] != ""
	switch {
	case m.known == nil && !priced && slices.Contains([]string{"ollama", "vllm", "llamacpp", "lmstudio", "sglang"}, m.vendor):
		one.settings["input_per_mtok"], one.settings["output_per_mtok"] = "0", "0"
		l.add(taken, m.path, "model %s, free of charge", m.Name)
	case m.known == nil && !priced && one.settings["kind"] != "moderation":
		one.comment = "The price is unknown. Set input_per_mtok and output_per_mtok; 0 for a server of your own."
		l.add(changed, m.path, "%s has no known price: set input_per_mtok and output_per_mtok, or allow_unpriced", m.Name)
	case m.known == nil:
		l.add(taken, m.path, "model %s", m.Name)
	case len(l.meanings[m.Name]) > 1 || listed && same != m.known:
		l.describe(one, m)
		l.add(changed, m.path, "%s is a separate model here, because it stands for several models, or because the catalog has another model with this name", m.Name)
	case listed:
		one.name = m.known.Name
		l.add(taken, m.path, "model %s", m.known.Name)
	case l.separate(m):
		l.describe(one, m)
		l.add(changed, m.path, "%s is a separate model here, because other names stand for %s at other providers", m.Name, m.known.Name)
	default:
		one.name, one.aliases = m.known.Name, []string{m.Name}
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

// describe copies the properties of the catalog model, because the catalog does not know the name, or knows it for another model.
func (l *litellm) describe(one *model, m *deployment) {
	one.comment = "Prices and limits of " + m.known.Name + "."
	p := l.catalog.ListPrice(m.known.Name)
	if offer, ok := l.catalog.Offer(m.vendor, m.known.Name); ok && offer.Price != nil {
		p = offer.Price
	}
	s := one.settings
	if s["input_per_mtok"] == "" && p != nil {
		s["input_per_mtok"], s["output_per_mtok"] = decimal(p.Input.Dollars()), decimal(p.Output.Dollars())
		if p.CacheRead != nil {
			s["cache_read_per_mtok"] = decimal(p.CacheRead.Dollars())
		}
		if p.CacheWrite != nil {
			s["cache_write_per_mtok"] = decimal(p.CacheWrite.Dollars())
		}
	}
	for name, n := range map[string]int64{"context": m.known.Context, "max_output": m.known.MaxOutput} {
		if s[name] == "" && n > 0 {
			s[name] = strconv.FormatInt(n, 10)
		}
	}
	if names := m.known.Abilities.Names(); len(names) > 0 {
		s["abilities"] = list(names)
	}
	if m.known.Quality > 0 {
		s["quality"] = strconv.FormatFloat(m.known.Quality, 'f', 3, 64)
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
	p := &provider{vendor: m.vendor, baseURL: reference(params["api_base"]), options: map[string]string{}}
	switch {
	case m.vendor == "":
		p.name = "custom"
		if u, err := url.Parse(p.baseURL); err == nil && u.Hostname() != "" {
			name := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(u.Hostname()), "-"), "-._")
			p.name = cmp.Or(name[:min(len(name), 56)], "custom")
		}
	case (m.vendor == "ollama" || m.vendor == "anthropic") && strings.HasPrefix(p.baseURL, "http") && !strings.Contains(p.baseURL, "/v1"):
		p.baseURL = strings.TrimSuffix(p.baseURL, "/") + "/v1"
		l.add(changed, m.path+" api_base", "base_url includes /v1")
	}
	for name, option := range options {
		if value := reference(params[name]); value != "" {
			p.options[option] = value
		}
	}
	if params["aws_access_key_id"] != nil {
		l.add(unsupported, m.path+" aws_access_key_id", "the configuration file does not accept an AWS key pair: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role")
	}
	if key := l.key(m.path, cmp.Or(m.vendor, p.name), text(params["api_key"])); key != "" {
		p.keys = []string{key}
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

// place adds a model to an existing provider with the same settings as p, unless that provider has another model with the same name. If
// no provider fits, it adds p with the model.
func (l *litellm) place(p *provider, one *model) {
	for _, other := range l.providers {
		if other.catalog || other.vendor != p.vendor || other.baseURL != p.baseURL || !maps.Equal(other.options, p.options) || !slices.Equal(other.keys, p.keys) {
			continue
		}
		i := slices.IndexFunc(other.models, func(m *model) bool { return m.name == one.name })
		switch {
		case i < 0:
			other.models = append(other.models, one)
			return
		case other.models[i].upstream == one.upstream:
			for _, alias := range one.aliases {
				if !slices.Contains(other.models[i].aliases, alias) {
					other.models[i].aliases = append(other.models[i].aliases, alias)
				}
			}
			return
		}
	}
	p.models = []*model{one}
	l.providers = append(l.providers, p)
}

// understood lists the parameters of a deployment that are converted in addition to prices and options, the AWS keys, for which provider adds
// a finding, and the information that needs no setting.
var (
	understood = []string{
		"model", "custom_llm_provider", "api_base", "api_key", "litellm_credential_name", "timeout", "stream_timeout",
		"aws_access_key_id", "aws_secret_access_key", "aws_session_token",
	}
	understoodInfo = []string{"id", "mode", "base_model", "max_tokens", "max_input_tokens", "max_output_tokens", "description", "db_model"}
)

// advice maps unsupported deployment parameters to their replacements. Parameters without an entry have no equivalent.
var advice = map[string]string{
	"rpm": "limits are per API key (--rpm)", "tpm": "limits are per API key (--tpm)", "weight": "the gateway balances by health, latency and price",
	"order": "the gateway orders by health, latency and price; provider.order in a request takes precedence", "max_parallel_requests": "set providers[].concurrent",
	"max_retries": "set retries.attempts for all providers", "num_retries": "set retries.attempts for all providers", "organization": "set it as a header in providers[].headers",
	"extra_headers": "set providers[].headers", "drop_params": "clients send provider.best_effort: true", "tags": "set providers[].tags and use them in policies",
	"max_budget": "budgets are per API key and workspace", "budget_duration": "budgets are per API key and workspace",
	"temperature": "clients send it", "max_tokens": "clients send it, or a policy with max_output_tokens limits it", "top_p": "clients send it", "seed": "clients send it",
}

// reportRest reports the parameters that were not converted.
func (l *litellm) reportRest(m *deployment) {
	converted := func(name string) bool {
		return slices.Contains(understood, name) || prices[name] != "" || options[name] != ""
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
		case name == "access_groups":
			l.add(unsupported, m.path+" access_groups", "list the models of each API key (--models)")
		default:
			l.add(unsupported, m.path+" "+name, "has no equivalent")
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

func number(v any) (float64, bool) {
	n, err := strconv.ParseFloat(text(v), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func seconds(n float64) string {
	if n == math.Trunc(n) {
		return fmt.Sprintf("%ds", int64(n))
	}
	return fmt.Sprintf("%dms", int64(n*1000))
}
