package compatible

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/openai"
)

// azureVersion is the version of the inference API that serves every model of a Foundry resource.
const azureVersion = "?api-version=2024-05-01-preview"

// hosts lists vendors that serve other vendors' models.
var hosts = []Row{
	{
		Name: "groq", Title: "Groq", BaseURL: "https://api.groq.com/openai/v1", Env: []string{"GROQ_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath, Lacks: llm.Logprobs | llm.ManyChoices,
		Asks: Asks{Drop: []string{
			"logprobs", "top_logprobs", "logit_bias", "n", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "store", "verbosity",
		}},
		Answer: Answer{UsageAt: "x_groq.usage"}, Batches: true,
	},
	{
		Name: "together", Title: "Together AI", BaseURL: "https://api.together.xyz/v1",
		Env:      []string{"TOGETHER_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"},
		Takes:    openai.Accepts{TopK: true},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath,
		Asks: Asks{MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true},
	},
	{
		Name: "fireworks", Title: "Fireworks AI", BaseURL: "https://api.fireworks.ai/inference/v1",
		Env:      []string{"FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"},
		Takes:    openai.Accepts{TopK: true},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath,
		Asks: Asks{NoBase64: true, NoTokenIDs: true},
	},
	{
		Name: "deepinfra", Title: "DeepInfra", BaseURL: "https://api.deepinfra.com/v1/openai",
		Env:      []string{"DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath,
		Asks: Asks{
			MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true,
			Weaker: map[string]map[string]string{"tool_choice": {`"required"`: `"auto"`}},
		},
	},
	{
		Name: "cerebras", Title: "Cerebras", BaseURL: "https://api.cerebras.ai/v1", Env: []string{"CEREBRAS_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath, Lacks: llm.Logprobs | llm.ManyChoices,
		Asks: Asks{Accepts: []string{
			"model", "messages", "max_tokens", "max_completion_tokens", "response_format", "seed", "stop", "stream", "stream_options",
			"temperature", "top_p", "tools", "tool_choice", "parallel_tool_calls", "user", "reasoning_effort",
		}},
	},
	{
		Name: "sambanova", Title: "SambaNova", BaseURL: "https://api.sambanova.ai/v1", Env: []string{"SAMBANOVA_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, Lacks: llm.Logprobs | llm.ManyChoices,
		Asks: Asks{
			MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true,
			Drop: []string{"n", "logprobs", "top_logprobs", "logit_bias", "presence_penalty", "frequency_penalty", "seed"},
		},
	},
	{
		Name: "openrouter", Title: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", Env: []string{"OPENROUTER_API_KEY", "OR_API_KEY"},
		Takes:    openai.Accepts{Thinking: true, Reasoning: true, CacheMarks: true, TopK: true},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath,
		Asks: Asks{Weaker: map[string]map[string]string{"reasoning_effort": {`"max"`: `"xhigh"`}}},
	},
	{
		Name: "nebius", Title: "Nebius Token Factory", BaseURL: "https://api.tokenfactory.nebius.com/v1", Env: []string{"NEBIUS_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath, Asks: Asks{NoTokenIDs: true},
	},
	{
		Name: "novita", Title: "Novita AI", BaseURL: "https://api.novita.ai/openai/v1", Env: []string{"NOVITA_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true, NoTokenIDs: true},
	},
	{
		Name: "baseten", Title: "Baseten", BaseURL: "https://inference.baseten.co/v1", Env: []string{"BASETEN_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true},
	},
	{
		Name: "nvidia", Title: "NVIDIA NIM", BaseURL: "https://integrate.api.nvidia.com/v1", Env: []string{"NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, Collects: true, // the trial service may store requests
		Asks: Asks{MaxTokensOnly: true, NoTokenIDs: true},
	},
	{
		Name: "huggingface", Title: "Hugging Face", BaseURL: "https://router.huggingface.co/v1", Env: []string{"HF_TOKEN", "HUGGINGFACE_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true},
	},
	{
		Name: "cloudflare", Title: "Cloudflare Workers AI",
		BaseURL:  "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
		Env:      []string{"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, Asks: Asks{MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true},
	},
	{
		// GitHub's usual variable, GITHUB_TOKEN, is set for other purposes on many machines, so it does not enable the
		// provider.
		Name: "github_models", Title: "GitHub Models", BaseURL: "https://models.github.ai/inference", Env: []string{"GITHUB_MODELS_TOKEN"},
		ChatPath: chatPath, EmbedPath: embedPath,
	},
	{
		Name: "siliconflow", Title: "SiliconFlow", BaseURL: "https://api.siliconflow.com/v1", Env: []string{"SILICONFLOW_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true, NoTokenIDs: true},
	},
	{
		Name: "azure_ai", Title: "Azure AI Foundry", BaseURL: "{AZURE_AI_API_BASE}/models", Env: []string{"AZURE_AI_API_KEY"}, Auth: "api-key",
		ChatPath: chatPath + azureVersion, EmbedPath: embedPath + azureVersion, Asks: Asks{NoStreamOptions: true, NoTokenIDs: true},
	},
	{
		Name: "vercel", Title: "Vercel AI Gateway", BaseURL: "https://ai-gateway.vercel.sh/v1",
		Env:      []string{"AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, Asks: Asks{NoTokenIDs: true},
	},
}

// local lists servers on this machine, at their default ports.
var local = []Row{
	{
		// Ollama ignores max_completion_tokens, so the output would not be limited.
		Name: "ollama", Title: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Env: []string{"OLLAMA_API_KEY"}, Local: true,
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath, Lacks: llm.Logprobs | llm.ManyChoices,
		Asks: Asks{MaxTokensOnly: true, NoTokenIDs: true, Drop: []string{"logit_bias", "n", "tool_choice"}},
	},
	{
		Name: "vllm", Title: "vLLM", BaseURL: "http://127.0.0.1:8000/v1", Local: true,
		Env: []string{"VLLM_API_KEY", "HOSTED_VLLM_API_KEY"}, URLEnv: "HOSTED_VLLM_API_BASE",
		Takes:    openai.Accepts{TopK: true},
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath,
	},
	{
		Name: "lmstudio", Title: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1", Env: []string{"LMSTUDIO_API_KEY"}, Local: true,
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true},
	},
	{
		Name: "llamacpp", Title: "llama.cpp", BaseURL: "http://127.0.0.1:8080/v1", Env: []string{"LLAMA_CPP_API_KEY"}, Local: true,
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true},
	},
	{
		Name: "sglang", Title: "SGLang", BaseURL: "http://127.0.0.1:30000/v1", Env: []string{"SGLANG_API_KEY"}, Local: true,
		ChatPath: chatPath, EmbedPath: embedPath, CompletePath: completePath, ModelsPath: modelsPath,
	},
}
