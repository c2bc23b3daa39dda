package migration

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/catalog"
)

// Limits for imported files.
const (
	maxFile   = 4 << 20
	maxModels = 5000
)

// liteFile is the configuration file of the LiteLLM proxy.
type liteFile struct {
	Models      []liteModel      `yaml:"model_list"`
	Credentials []liteCredential `yaml:"credential_list"`
	Others      map[string]any   `yaml:",inline"`
}

type liteModel struct {
	Name   string         `yaml:"model_name"`
	Params map[string]any `yaml:"litellm_params"`
	Info   map[string]any `yaml:"model_info"`
	Others map[string]any `yaml:",inline"`
}

type liteCredential struct {
	Name   string         `yaml:"credential_name"`
	Values map[string]any `yaml:"credential_values"`
}

// vendors maps LiteLLM provider prefixes to vendors. It lists prefixes that differ from the vendor's name, and older prefixes.
var vendors = map[string]string{
	"vertex_ai": "vertex", "vertex_ai_beta": "vertex", "together_ai": "together", "fireworks_ai": "fireworks", "nvidia_nim": "nvidia", "hosted_vllm": "vllm", "ollama_chat": "ollama",
	"cohere_chat": "cohere", "github": "github_models", "jina_ai": "jina", "dashscope": "alibaba", "lm_studio": "lmstudio", "meta_llama": "meta", "ai21_chat": "ai21", "text-completion-openai": "openai",
	"vercel_ai_gateway": "vercel", "azure_text": "azure", "text-completion-codestral": "mistral", "codestral": "mistral",
}

// litellmFile converts one LiteLLM file.
type litellmFile struct {
	Result
	catalog   *catalog.Catalog
	known     []string // vendor names
	file      liteFile
	instances []*instance
	meanings  map[string]map[string]bool     // models to which each LiteLLM name refers
	places    map[string]map[string][]string // providers by catalog model and LiteLLM name
	secrets   int                            // number of API keys that were written in plain text in the file
}

// LiteLLM converts the configuration file of the LiteLLM proxy. known lists the vendor names.
func LiteLLM(text []byte, c *catalog.Catalog, known []string) (*Result, error) {
	l := &litellmFile{catalog: c, known: known, meanings: map[string]map[string]bool{}, places: map[string]map[string][]string{}}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	if err := yaml.Unmarshal(text, &l.file); err != nil {
		return nil, fmt.Errorf("parse the LiteLLM configuration: %w", err)
	}
	if len(l.file.Models) == 0 {
		return nil, errors.New("the file has no model_list")
	}
	if len(l.file.Models) > maxModels {
		return nil, fmt.Errorf("the file has more than %d models", maxModels)
	}
	l.survey()
	for i, m := range l.file.Models {
		l.model(fmt.Sprintf("model_list[%d] %s", i, m.Name), m)
	}
	l.instances = merge(l.instances)
	l.remaining()
	var w writer
	w.line(0, "# Converted from a LiteLLM configuration. Check the report of the import, then run: fairlead config check")
	w.line(0, "# Variables such as ${OPENAI_API_KEY} are read from the environment of the gateway.")
	w.providers(l.instances)
	w.line(0, "log:")
	w.line(1, "bodies: false  # LiteLLM does not store prompts and responses by default")
	l.YAML = w.String()
	return &l.Result, nil
}

// survey collects the models and providers of each LiteLLM name.
func (l *litellmFile) survey() {
	for _, m := range l.file.Models {
		vendor, upstream := l.vendor(m)
		meaning := upstream
		if known := l.lookUp(vendor, upstream, m); known != nil {
			meaning = known.Name
			if l.places[meaning] == nil {
				l.places[meaning] = map[string][]string{}
			}
			place := fmt.Sprint(vendor, m.Params["api_base"], m.Params["api_key"], m.Params["litellm_credential_name"], m.Params["aws_region_name"], m.Params["vertex_location"])
			l.places[meaning][m.Name] = append(l.places[meaning][m.Name], place)
		}
		if l.meanings[m.Name] == nil {
			l.meanings[m.Name] = map[string]bool{}
		}
		l.meanings[m.Name][meaning] = true
	}
	for _, names := range l.places {
		for name, places := range names {
			slices.Sort(places)
			names[name] = slices.Compact(places)
		}
	}
}

// separate reports whether the name needs a separate model, because other LiteLLM names refer to the same model at other providers. If all
// these names were aliases of one model, a request for one name could be sent to the providers of another.
func (l *litellmFile) separate(known *catalog.Model, name string) bool {
	for other, places := range l.places[known.Name] {
		if other != name && len(l.meanings[other]) == 1 && !slices.Equal(places, l.places[known.Name][name]) {
			return true
		}
	}
	return false
}

// vendor returns the vendor of a deployment and the vendor's name for the model. The vendor is empty for an endpoint of an unknown vendor,
// and "?" followed by the prefix for an unknown provider without an endpoint.
func (l *litellmFile) vendor(m liteModel) (vendor, upstream string) {
	name := text(m.Params["model"])
	prefix, rest, ok := strings.Cut(name, "/")
	explicit := text(m.Params["custom_llm_provider"])
	if explicit != "" {
		prefix, rest, ok = explicit, strings.TrimPrefix(name, explicit+"/"), true
	}
	vendor = cmp.Or(vendors[prefix], prefix)
	base := text(m.Params["api_base"])
	switch {
	case ok && slices.Contains(l.known, vendor):
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
	if known, ok := l.catalog.Model(name); ok && slices.Contains(l.known, known.Home) {
		return known.Home, name
	}
	if ok {
		return "?" + prefix, rest
	}
	return "openai", name
}

// lookUp returns the catalog model for a deployment, or nil.
func (l *litellmFile) lookUp(vendor, upstream string, m liteModel) *catalog.Model {
	if base := text(m.Info["base_model"]); base != "" {
		_, plain, ok := strings.Cut(base, "/")
		if !ok {
			plain = base
		}
		if known, ok := l.catalog.Model(plain); ok {
			return known
		}
	}
	if vendor == "" {
		return nil // an unknown server may use the name for another model
	}
	if known, ok := l.catalog.Model(upstream); ok {
		return known
	}
	return nil
}

// model converts one deployment.
func (l *litellmFile) model(path string, m liteModel) {
	vendor, upstream := l.vendor(m)
	switch {
	case upstream == "":
		l.add(Unsupported, path, "the deployment has no model")
		return
	case strings.HasPrefix(vendor, "?"):
		l.add(Unsupported, path, "the provider %s is unknown; add it with its base_url if it has an OpenAI-compatible API", vendor[1:])
		return
	}
	p := l.instance(path, vendor, m)
	if strings.Contains(upstream, "*") {
		p.catalog = true
		l.instances = append(l.instances, p)
		l.add(Taken, path, "all models of %s in the catalog", cmp.Or(vendor, p.name))
		return
	}
	kind := text(m.Info["mode"])
	switch kind {
	case "", "chat", "responses":
		kind = "chat"
	case "embedding", "completion", "moderation":
	default:
		l.add(Unsupported, path, "models with the mode %s", kind)
		return
	}
	if !validName(m.Name) {
		l.add(Unsupported, path, "clients cannot use the name; choose another one")
		return
	}
	one := &model{name: m.Name, upstream: upstream, kind: kind, price: priceOf(m)}
	known := l.lookUp(vendor, upstream, m)
	if n, ok := number(m.Info["max_input_tokens"]); ok {
		one.context = int64(n)
	}
	if n, ok := number(m.Info["max_output_tokens"]); ok {
		one.maxOutput = int64(n)
	}
	if n, ok := number(m.Params["timeout"]); ok && n > 0 {
		one.total = seconds(n)
	}
	if n, ok := number(m.Params["stream_timeout"]); ok && n > 0 {
		one.first = seconds(n)
		l.add(Changed, path+" stream_timeout", "limits the time to the first token (timeouts.first_token)")
	}
	l.name(path, one, known, vendor, m)
	l.place(p, one)
	l.rest(path, m)
}

// name sets the name of a model. Usually, the model gets its catalog name, with the LiteLLM name as an alias. If the LiteLLM name refers to
// several models, or is the name of another catalog model, the model gets the LiteLLM name.
func (l *litellmFile) name(path string, one *model, known *catalog.Model, vendor string, m liteModel) {
	same, taken := l.catalog.Model(m.Name)
	switch {
	case known == nil && one.price.input == nil && slices.Contains([]string{"ollama", "vllm", "llamacpp", "lmstudio", "sglang"}, vendor):
		one.price = price{input: new(0.0), output: new(0.0)}
		l.add(Taken, path, "model %s, free of charge", m.Name)
	case known == nil && one.price.input == nil && one.kind != "moderation":
		one.comment = "The price is unknown. Set input_per_mtok and output_per_mtok; 0 for a server of your own."
		l.add(Changed, path, "%s has no known price: set input_per_mtok and output_per_mtok, or allow_unpriced", m.Name)
	case known == nil:
		l.add(Taken, path, "model %s", m.Name)
	case len(l.meanings[m.Name]) > 1 || taken && same != known:
		one.describe(l.catalog, vendor, known)
		l.add(Changed, path, "%s is a separate model here, because it stands for several models, or because the catalog has another model with this name", m.Name)
	case taken:
		one.name = known.Name
		l.add(Taken, path, "model %s", known.Name)
	case l.separate(known, m.Name):
		one.describe(l.catalog, vendor, known)
		l.add(Changed, path, "%s is a separate model here, because other names stand for %s at other providers", m.Name, known.Name)
	default:
		one.name, one.aliases = known.Name, []string{m.Name}
		l.add(Taken, path, "%s is an alias of %[2]s; responses and the log show %[2]s", m.Name, known.Name)
	}
}

// priceOf returns the price configured for a deployment.
func priceOf(m liteModel) price {
	find := func(name string) *float64 {
		for _, from := range []map[string]any{m.Params, m.Info} {
			if n, ok := number(from[name]); ok {
				perMillion := math.Round(n*1e12) / 1e6
				return &perMillion
			}
		}
		return nil
	}
	return price{input: find("input_cost_per_token"), output: find("output_cost_per_token"), cacheRead: find("cache_read_input_token_cost"), cacheWrite: find("cache_creation_input_token_cost")}
}

// instance returns the provider of a deployment, without models.
func (l *litellmFile) instance(path, vendor string, m liteModel) *instance {
	params := m.Params
	if name := text(params["litellm_credential_name"]); name != "" {
		params = l.credential(path, name, params)
	}
	p := &instance{vendor: vendor, baseURL: l.reference(params["api_base"]), options: map[string]string{}}
	switch {
	case vendor == "":
		p.name = "custom"
		if u, err := url.Parse(p.baseURL); err == nil && u.Hostname() != "" {
			name := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(u.Hostname()), "-"), "-._")
			p.name = cmp.Or(name[:min(len(name), 56)], "custom")
		}
	case (vendor == "ollama" || vendor == "anthropic") && strings.HasPrefix(p.baseURL, "http") && !strings.Contains(strings.TrimPrefix(p.baseURL, "http"), "/v1"):
		p.baseURL = strings.TrimSuffix(p.baseURL, "/") + "/v1"
		l.add(Changed, path+" api_base", "base_url includes /v1")
	}
	for name, option := range map[string]string{
		"api_version": "api_version", "aws_region_name": "region", "aws_profile_name": "aws_profile", "aws_role_name": "role_arn", "aws_external_id": "external_id",
		"vertex_project": "project", "vertex_location": "location", "vertex_credentials": "service_account", "tenant_id": "tenant", "client_id": "client_id",
	} {
		if value := l.reference(params[name]); value != "" {
			p.options[option] = value
		}
	}
	if params["aws_access_key_id"] != nil {
		l.add(Unsupported, path+" aws_access_key_id", "the configuration file does not accept an AWS key pair: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role")
	}
	if key := l.key(path, cmp.Or(vendor, p.name), text(params["api_key"])); key != "" {
		p.keys = []string{key}
	}
	return p
}

// credential returns the parameters of a deployment together with the parameters of a named credential.
func (l *litellmFile) credential(path, name string, params map[string]any) map[string]any {
	for _, c := range l.file.Credentials {
		if c.Name != name {
			continue
		}
		joined := map[string]any{}
		for _, from := range []map[string]any{c.Values, params} {
			maps.Copy(joined, from)
		}
		return joined
	}
	l.add(Unsupported, path+" litellm_credential_name", "the credential %s is not in credential_list", name)
	return params
}

// key returns the value of api_keys. A key in plain text is replaced with a variable, so that it is not copied.
func (l *litellmFile) key(path, owner, key string) string {
	switch {
	case key == "":
		return ""
	case strings.HasPrefix(key, "os.environ/"):
		return "${" + strings.TrimPrefix(key, "os.environ/") + "}"
	case len(key) < 12:
		l.add(Changed, path+" api_key", "a placeholder such as %q is not copied", "none")
		return ""
	}
	l.secrets++
	variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(owner)) + "_API_KEY"
	if l.secrets > 1 {
		variable = fmt.Sprintf("%s_%d", variable, l.secrets)
	}
	l.add(Changed, path+" api_key", "the key in the file is not copied: set the variable %s to it", variable)
	return "${" + variable + "}"
}

// place adds a model to an existing instance with the same settings as p, unless that instance has another model with the same name. If
// no instance fits, it adds p with the model.
func (l *litellmFile) place(p *instance, one *model) {
	for _, other := range l.instances {
		sameKeys := slices.Equal(other.keys, p.keys)
		conflicts := slices.ContainsFunc(other.models, func(m *model) bool { return m.name == one.name && m.upstream != one.upstream })
		if other.vendor != p.vendor || other.baseURL != p.baseURL || fmt.Sprint(other.options) != fmt.Sprint(p.options) || !sameKeys || conflicts || other.catalog {
			continue
		}
		if i := slices.IndexFunc(other.models, func(m *model) bool { return m.name == one.name }); i >= 0 {
			for _, alias := range one.aliases {
				other.models[i].alias(alias)
			}
			return
		}
		other.models = append(other.models, one)
		return
	}
	p.models = []*model{one}
	l.instances = append(l.instances, p)
}

func (m *model) alias(name string) {
	if name != m.name && !slices.Contains(m.aliases, name) {
		m.aliases = append(m.aliases, name)
	}
}

// understood lists the deployment parameters that are converted, and the AWS keys, for which instance adds a finding.
var understood = []string{
	"model", "custom_llm_provider", "api_base", "api_key", "api_version", "litellm_credential_name", "input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost",
	"timeout", "stream_timeout", "aws_region_name", "aws_profile_name", "aws_role_name", "aws_external_id", "aws_access_key_id", "aws_secret_access_key", "aws_session_token",
	"vertex_project", "vertex_location", "vertex_credentials", "tenant_id", "client_id",
}

// advice maps unsupported deployment parameters to their replacements. Parameters without an entry have no equivalent.
var advice = map[string]string{
	"rpm": "limits are per API key (--rpm)", "tpm": "limits are per API key (--tpm)", "weight": "the gateway balances by health, latency and price",
	"order": "the gateway orders by health, latency and price; provider.order in a request takes precedence", "max_parallel_requests": "set providers[].concurrent",
	"max_retries": "set retries.attempts for all providers", "num_retries": "set retries.attempts for all providers", "organization": "set it as a header in providers[].headers",
	"extra_headers": "set providers[].headers", "drop_params": "clients send provider.best_effort: true", "tags": "set providers[].tags and use them in policies",
	"max_budget": "budgets are per API key and workspace", "budget_duration": "budgets are per API key and workspace",
	"temperature": "clients send it", "max_tokens": "clients send it, or a policy with max_output_tokens limits it", "top_p": "clients send it", "seed": "clients send it",
}

// rest reports the parameters that were not converted.
func (l *litellmFile) rest(path string, m liteModel) {
	for _, name := range sortedKeys(m.Params) {
		if !slices.Contains(understood, name) {
			l.add(Unsupported, path+" "+name, "%s", cmp.Or(advice[name], "has no equivalent"))
		}
	}
	for _, name := range sortedKeys(m.Info) {
		switch {
		case slices.Contains([]string{"id", "mode", "base_model", "max_tokens", "max_input_tokens", "max_output_tokens", "description", "db_model"}, name), slices.Contains(understood, name):
		case strings.HasPrefix(name, "supports_"):
			l.add(Changed, path+" "+name, "capabilities come from the catalog; override them with models[].abilities")
		case name == "access_groups":
			l.add(Unsupported, path+" access_groups", "list the models of each API key (--models)")
		default:
			l.add(Unsupported, path+" "+name, "has no equivalent")
		}
	}
	for _, name := range sortedKeys(m.Others) {
		l.add(Unsupported, path+" "+name, "has no equivalent")
	}
}

// remaining reports the settings outside model_list. They are not converted.
func (l *litellmFile) remaining() {
	for _, name := range sortedKeys(l.file.Others) {
		settings, _ := l.file.Others[name].(map[string]any)
		for _, setting := range sortedKeys(settings) {
			l.add(Unsupported, name+"."+setting, "only model_list is converted; set it in the new file")
		}
		if len(settings) == 0 {
			l.add(Unsupported, name, "only model_list is converted; set it in the new file")
		}
	}
}

// text returns a scalar value as text. It returns an empty string for nil, maps and lists.
func text(v any) string {
	switch v := v.(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// reference returns the value as text. It converts os.environ/NAME to ${NAME}, the variable syntax of the configuration file.
func (l *litellmFile) reference(v any) string {
	value := text(v)
	if name, ok := strings.CutPrefix(value, "os.environ/"); ok {
		return "${" + name + "}"
	}
	return value
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case string:
		var parsed float64
		if _, err := fmt.Sscanf(n, "%g", &parsed); err == nil {
			return parsed, true
		}
	}
	return 0, false
}

func seconds(n float64) string {
	if n == math.Trunc(n) {
		return fmt.Sprintf("%ds", int64(n))
	}
	return fmt.Sprintf("%dms", int64(n*1000))
}
