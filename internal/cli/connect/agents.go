package connect

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// agent is a coding agent that can use the gateway.
type agent struct {
	name    string // argument of the command, and name of the key
	title   string
	program string // file name of the program
	api     api    // API that the agent calls
	model   string // model that the agent names
	// project reports whether the agent reads the settings of a provider from the directory of a project.
	project bool
	// files returns the files that the agent reads, with the changes to them.
	files func(s *site) ([]file, error)
	// conflicts lists the variables that take precedence over the files.
	conflicts []string
	// note tells what remains to do; empty for nothing.
	note string
}

// api is an API of the gateway.
type api string

// The APIs that agents call.
const (
	chat      api = "chat completions"
	responses api = "Responses"
	messages  api = "Messages"
	gemini    api = "Gemini"
)

// site is the gateway as an agent sees it, and the place of the agent's files.
type site struct {
	gateway string // address without a path
	key     string
	keyFile string // file that contains only the key
	project string // directory of the project; empty for the user's settings
	home    string
	getenv  func(name string) string
	env     []string // environment for the agent's program
	now     string   // time of the command, for files that record it
	offer
	program string // path of the agent's program; empty if it is not installed
}

// file is a file of an agent. merge returns its new content; old is nil if the file does not exist.
type file struct {
	path  string
	merge func(old []byte) ([]byte, error)
}

// outputTokens is the output limit that agents get for routes: most models of a pool generate at least as much.
const outputTokens = 32_000

// effort is the reasoning effort that agents request. Models that reason only on request do so for a request with an effort, and most agents
// send none by themselves for a model that they do not know.
const effort = "medium"

// agents lists the known agents in the order of the guide.
var agents = []agent{
	{
		name: "claude-code", title: "Claude Code", program: "claude", api: messages, model: "claude-auto", project: true,
		conflicts: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"},
		files: func(s *site) ([]file, error) {
			path := filepath.Join(s.configDir("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
			if s.project != "" {
				path = filepath.Join(s.project, ".claude", "settings.local.json")
			}
			return []file{{path, mergeJSON(
				set(s.printKey(), "apiKeyHelper"),
				set("claude-auto", "model"),
				set(s.gateway+"/proxy", "env", "ANTHROPIC_BASE_URL"),
				set("claude-auto:cost", "env", "ANTHROPIC_DEFAULT_HAIKU_MODEL"),
				set("1", "env", "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY"),
				set(strconv.FormatInt(s.Context, 10), "env", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"),
				unset("env", "ANTHROPIC_AUTH_TOKEN"), unset("env", "ANTHROPIC_API_KEY"), unset("env", "ANTHROPIC_MODEL"),
				setDefault(map[string]any{"type": "command", "command": ownProgram() + " statusline", "refreshInterval": 10}, "statusLine"),
			)}}, nil
		},
	},
	{
		name: "codex", title: "Codex", program: "codex", api: responses, model: "auto",
		files: func(s *site) ([]file, error) {
			dir := s.configDir("CODEX_HOME", ".codex")
			catalog := filepath.Join(dir, "fairlead.json")
			models, err := codexCatalog(s)
			if err != nil {
				return nil, err
			}
			settings := []setting{set("auto", "model"), set("fairlead", "model_provider"), set(effort, "model_reasoning_effort")}
			files := []file{}
			if models != nil {
				settings = append(settings, set(catalog, "model_catalog_json"))
				files = append(files, file{catalog, replaceWith(models)})
			}
			const table = "model_providers.fairlead"
			settings = append(settings,
				unset(table, "env_key"), unset(table, "experimental_bearer_token"), unset(table, "requires_openai_auth"), unset(table, "supports_websockets"),
				set("Fairlead", table, "name"), set(s.gateway+"/proxy/v1", table, "base_url"), set("responses", table, "wire_api"),
				set("cat", table+".auth", "command"), set([]string{s.keyFile}, table+".auth", "args"))
			return append(files, file{filepath.Join(dir, "config.toml"), mergeTOML(settings...)}), nil
		},
	},
	{
		name: "gemini-cli", title: "Gemini CLI", program: "gemini", api: gemini, model: "gemini-auto", project: true,
		conflicts: []string{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_MODEL"},
		files: func(s *site) ([]file, error) {
			dir := filepath.Join(s.root(), ".gemini")
			return []file{
				{filepath.Join(dir, "settings.json"), mergeJSON(
					set("gemini-api-key", "security", "auth", "selectedType"),
					set("gemini-auto", "model", "name"),
				)},
				{filepath.Join(dir, ".env"), mergeEnv(set(s.gateway+"/proxy", "GOOGLE_GEMINI_BASE_URL"), set(s.key, "GEMINI_API_KEY"))},
			}, nil
		},
	},
	{
		name: "opencode", title: "opencode", program: "opencode", api: chat, model: "auto", project: true,
		files: func(s *site) ([]file, error) {
			path := s.getenv("OPENCODE_CONFIG")
			switch {
			case s.project != "":
				path = filepath.Join(s.project, "opencode.json")
			case path == "":
				path = firstExisting(filepath.Join(s.xdgConfig(), "opencode", "opencode.jsonc"), filepath.Join(s.xdgConfig(), "opencode", "opencode.json"))
			}
			settings := []setting{
				setDefault("https://opencode.ai/config.json", "$schema"),
				set("fairlead/auto", "model"),
				set("fairlead/auto:cost", "small_model"),
				set("@ai-sdk/openai-compatible", "provider", "fairlead", "npm"),
				set("Fairlead", "provider", "fairlead", "name"),
				set(s.gateway+"/proxy/v1", "provider", "fairlead", "options", "baseURL"),
				set("{file:"+s.keyFile+"}", "provider", "fairlead", "options", "apiKey"),
			}
			for _, m := range s.chatModels() {
				settings = append(settings, set(openCodeModel(m), "provider", "fairlead", "models", m.ID))
			}
			return []file{{path, mergeJSON(settings...)}}, nil
		},
	},
	{
		name: "aider", title: "aider", program: "aider", api: chat, model: "auto", project: true,
		conflicts: []string{"OPENAI_API_BASE", "OPENAI_API_KEY", "AIDER_MODEL"},
		files: func(s *site) ([]file, error) {
			limits := func(name string) setting {
				return set(map[string]any{
					"max_input_tokens": s.Context, "max_output_tokens": outputTokens, "input_cost_per_token": 0, "output_cost_per_token": 0,
					"litellm_provider": "openai", "mode": "chat", "supports_vision": s.images(),
				}, name)
			}
			return []file{
				{filepath.Join(s.root(), ".aider.conf.yml"), mergeYAML(
					set(s.gateway+"/proxy/v1", "openai-api-base"), set(s.key, "openai-api-key"),
					set("openai/auto", "model"), set("openai/auto:cost", "weak-model"), set(false, "show-model-warnings"),
				)},
				{filepath.Join(s.root(), ".aider.model.metadata.json"), mergeJSON(limits("openai/auto"), limits("openai/auto:cost"))},
			}, nil
		},
	},
	{
		name: "cline", title: "Cline", program: "cline", api: chat, model: "auto",
		files: func(s *site) ([]file, error) {
			provider := []string{"providers", "openai-compatible"}
			return []file{{filepath.Join(s.home, ".cline", "data", "settings", "providers.json"), mergeJSON(
				setDefault(1, "version"),
				set("openai-compatible", "lastUsedProvider"),
				setDefault(map[string]any{}, "modes"),
				set(map[string]string{"provider": "openai-compatible", "apiKey": s.key, "model": "auto", "baseUrl": s.gateway + "/proxy/v1"}, append(provider, "settings")...),
				set(s.now, append(provider, "updatedAt")...),
				set("manual", append(provider, "tokenSource")...),
			)}}, nil
		},
	},
	{
		name: "qwen-code", title: "Qwen Code", program: "qwen", api: chat, model: "auto", project: true,
		conflicts: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"},
		files: func(s *site) ([]file, error) {
			return []file{{filepath.Join(s.root(), ".qwen", "settings.json"), mergeJSON(
				set("openai", "security", "auth", "selectedType"),
				set("auto", "model", "name"),
				set(listEntry{"id", map[string]any{
					"id": "auto", "name": "Fairlead auto", "baseUrl": s.gateway + "/proxy/v1", "envKey": "FAIRLEAD_API_KEY",
					"generationConfig": map[string]any{
						"contextWindowSize": s.Context, "modalities": map[string]bool{"image": s.images(), "pdf": s.images()}, "reasoning": map[string]string{"effort": effort},
					},
				}}, "modelProviders", "openai"),
				set(s.key, "env", "FAIRLEAD_API_KEY"),
			)}}, nil
		},
	},
	{
		name: "goose", title: "goose", program: "goose", api: chat, model: "auto",
		conflicts: []string{"GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_HOST", "OPENAI_API_KEY"},
		files: func(s *site) ([]file, error) {
			dir := filepath.Join(s.xdgConfig(), "goose")
			return []file{
				{filepath.Join(dir, "config.yaml"), mergeYAML(
					set("openai", "GOOSE_PROVIDER"), set("auto", "GOOSE_MODEL"), set(s.gateway, "OPENAI_HOST"),
					set("proxy/v1/chat/completions", "OPENAI_BASE_PATH"), set(s.Context, "GOOSE_CONTEXT_LIMIT"), set(true, "GOOSE_DISABLE_KEYRING"),
				)},
				{filepath.Join(dir, "secrets.yaml"), mergeYAML(set(s.key, "OPENAI_API_KEY"))},
			}, nil
		},
	},
	{
		name: "copilot", title: "Copilot CLI", program: "copilot", api: chat, model: "auto",
		note: "Open a new terminal: Copilot CLI reads its provider from the environment only.",
		files: func(s *site) ([]file, error) {
			variables := filepath.Join(filepath.Dir(s.keyFile), "copilot.sh")
			return []file{
				{variables, mergeEnv(
					set("openai", "export COPILOT_PROVIDER_TYPE"), set(s.gateway+"/proxy/v1", "export COPILOT_PROVIDER_BASE_URL"),
					set("auto", "export COPILOT_MODEL"), set("true", "export COPILOT_OFFLINE"),
					set(strconv.FormatInt(s.Context-outputTokens, 10), "export COPILOT_PROVIDER_MAX_PROMPT_TOKENS"),
					set(strconv.Itoa(outputTokens), "export COPILOT_PROVIDER_MAX_OUTPUT_TOKENS"), set(s.key, "export COPILOT_PROVIDER_API_KEY"),
				)},
				{shellProfile(s), appendLine("[ -f " + quoteShell(variables) + " ] && . " + quoteShell(variables) + " # Fairlead: provider of Copilot CLI")},
			}, nil
		},
	},
	{
		name: "pi", title: "pi", program: "pi", api: responses, model: "auto",
		files: func(s *site) ([]file, error) {
			dir := s.configDir("PI_CODING_AGENT_DIR", filepath.Join(".pi", "agent"))
			models := []any{}
			for _, m := range s.chatModels() {
				models = append(models, map[string]any{
					"id": m.ID, "reasoning": m.has("reasoning"), "input": m.inputs("text", "image"), "contextWindow": m.Context, "maxTokens": m.MaxOutput,
				})
			}
			return []file{
				{filepath.Join(dir, "models.json"), mergeJSON(set(map[string]any{
					"baseUrl": s.gateway + "/proxy/v1", "api": "openai-responses", "apiKey": s.key, "models": models,
				}, "providers", "fairlead"))},
				{filepath.Join(dir, "settings.json"), mergeJSON(set("fairlead", "defaultProvider"), set("auto", "defaultModel"))},
			}, nil
		},
	},
	{
		name: "continue", title: "Continue", program: "cn", api: chat, model: "auto",
		files: func(s *site) ([]file, error) {
			capabilities := []string{"tool_use"}
			if s.images() {
				capabilities = append(capabilities, "image_input")
			}
			return []file{{filepath.Join(s.configDir("CONTINUE_GLOBAL_DIR", ".continue"), "config.yaml"), mergeYAML(
				setDefault("Local settings", "name"), setDefault("1.0.0", "version"), setDefault("v1", "schema"),
				set(listEntry{"name", map[string]any{
					"name": "Fairlead auto", "provider": "openai", "model": "auto", "apiBase": s.gateway + "/proxy/v1", "apiKey": s.key,
					"capabilities": capabilities, "roles": []string{"chat", "edit", "apply"},
					"defaultCompletionOptions": map[string]any{"contextLength": s.Context},
					"requestOptions":           map[string]any{"extraBodyProperties": map[string]string{"reasoning_effort": effort}},
				}}, "models"),
			)}}, nil
		},
	},
	{
		name: "crush", title: "crush", program: "crush", api: chat, model: "auto", project: true,
		files: func(s *site) ([]file, error) {
			path := filepath.Join(s.xdgConfig(), "crush", "crush.json")
			if s.project != "" {
				path = filepath.Join(s.project, "crush.json")
			}
			models := []any{}
			for _, m := range s.chatModels() {
				models = append(models, map[string]any{
					"id": m.ID, "name": "Fairlead " + m.ID, "context_window": m.Context, "default_max_tokens": m.MaxOutput,
					"can_reason": m.has("reasoning"), "supports_attachments": m.has("vision"),
				})
			}
			return []file{{path, mergeJSON(
				set(map[string]any{"name": "Fairlead", "type": "openai-compat", "base_url": s.gateway + "/proxy/v1", "api_key": s.key, "models": models}, "providers", "fairlead"),
				set(map[string]string{"provider": "fairlead", "model": "auto"}, "models", "large"),
				set(map[string]string{"provider": "fairlead", "model": "auto:cost"}, "models", "small"),
			)}}, nil
		},
	},
}

func openCodeModel(m model) map[string]any {
	about := map[string]any{
		"name": "Fairlead " + m.ID, "attachment": m.has("vision"), "reasoning": m.has("reasoning"), "tool_call": true,
		"modalities": map[string]any{"input": m.inputs("text", "image", "pdf"), "output": []string{"text"}},
		"limit":      map[string]any{"context": m.Context, "output": m.MaxOutput},
	}
	if m.ID == "auto" {
		about["options"] = map[string]string{"reasoningEffort": effort}
	}
	return about
}

// root returns the directory of the project or the home directory.
func (s *site) root() string {
	if s.project != "" {
		return s.project
	}
	return s.home
}

// configDir returns the directory that the variable names, or a directory in the home directory.
func (s *site) configDir(variable, name string) string {
	if dir := s.getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join(s.home, name)
}

func (s *site) xdgConfig() string { return s.configDir("XDG_CONFIG_HOME", ".config") }

// printKey returns a shell command that prints the key.
func (s *site) printKey() string { return "cat " + quoteShell(s.keyFile) }

// ownProgram returns this program for a POSIX shell. The path on PATH has precedence because an upgrade can move the file behind it.
func ownProgram() string {
	own, err := os.Executable()
	if err != nil {
		return "fairlead"
	}
	if found, err := exec.LookPath("fairlead"); err == nil {
		if target, err := filepath.EvalSymlinks(found); err == nil && target == own {
			own = found
		}
	}
	return quoteShell(own)
}

func (s *site) images() bool { return s.Auto.has("vision") }

// chatModels returns the route auto, its cheap variant, and the models of the gateway that can call tools.
func (s *site) chatModels() []model {
	list := []model{s.Auto, s.Auto}
	list[1].ID = "auto:cost"
	for _, m := range s.Models {
		if m.Kind == "chat" && m.has("tools") && !slices.ContainsFunc(list, func(known model) bool { return known.ID == m.ID }) {
			list = append(list, m)
		}
	}
	return list
}

// quoteShell quotes a path for a POSIX shell if necessary.
func quoteShell(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+", r)
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// shellProfile returns the file that the user's shell reads at start.
func shellProfile(s *site) string {
	switch filepath.Base(s.getenv("SHELL")) {
	case "zsh":
		return filepath.Join(s.configDir("ZDOTDIR", ""), ".zshrc")
	case "bash":
		return filepath.Join(s.home, ".bashrc")
	}
	return filepath.Join(s.home, ".profile")
}

// codexModels is the model catalog of Codex. Its other members are copied unchanged.
type codexModels struct {
	Models []map[string]json.RawMessage `json:"models"`
}
