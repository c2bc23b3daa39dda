package compatible

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/openai"
)

// Default paths of the format.
const (
	chatPath      = "/chat/completions"
	responsesPath = "/responses"
	embedPath     = "/embeddings"
	completePath  = "/completions"
	moderatePath  = "/moderations"
	modelsPath    = "/models"
	realtimePath  = "/realtime"
)

// accountMembers lists the members that refer to the client's OpenAI account. Rows of vendors that reject these members drop them.
var accountMembers = []string{"prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store"}

// extensions lists members that other vendors have added to the format and that OpenAI rejects.
var extensions = []string{
	"top_k", "min_p", "repetition_penalty", "chat_template_kwargs", "reasoning", "thinking", "search_parameters", "plugins",
}

// first lists the vendors that serve their own models.
var first = []Row{
	{
		Name: "openai", Title: "OpenAI", BaseURL: "https://api.openai.com/v1",
		Env: []string{"OPENAI_API_KEY"}, URLEnv: "OPENAI_BASE_URL",
		Takes:    openai.Accepts{AllowedTools: true, CustomTools: true},
		ChatPath: chatPath, ResponsesPath: responsesPath, EmbedPath: embedPath, ModelsPath: modelsPath,
		CompletePath: completePath, PromptsApart: true, ModeratePath: moderatePath, CacheKey: true, Asks: Asks{Drop: extensions}, RealtimePath: realtimePath, Batches: true,
	},
	{
		Name: "mistral", Title: "Mistral AI", BaseURL: "https://api.mistral.ai/v1", Env: []string{"MISTRAL_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, ModeratePath: moderatePath,
		Lacks: llm.Logprobs | llm.ManyChoices | llm.AudioOut, Prefill: MarkedPrefill,
		Asks: Asks{
			MaxTokensOnly: true, NoStreamOptions: true, NoBase64: true, NoTokenIDs: true, // stream_options is not needed, because the last chunk always contains usage
			NineCharCallIDs: true,
			Accepts: []string{
				"model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stream", "stop", "seed", "random_seed",
				"response_format", "tools", "tool_choice", "parallel_tool_calls", "presence_penalty", "frequency_penalty",
				"prediction", "prompt_mode", "reasoning_effort", "safe_prompt", "metadata",
				"input", "dimensions", "output_dimension", "output_dtype",
			},
			Rename: map[string]string{"seed": "random_seed", "dimensions": "output_dimension"},
			Values: map[string]map[string]string{"tool_choice": {`"required"`: `"any"`}},
		},
	},
	{
		Name: "deepseek", Title: "DeepSeek", BaseURL: "https://api.deepseek.com", Env: []string{"DEEPSEEK_API_KEY"},
		Takes:    openai.Accepts{Thinking: true},
		ChatPath: chatPath, ModelsPath: modelsPath, Collects: true,
		Lacks: llm.JSONSchema | llm.ManyChoices | llm.Files,
		Asks:  Asks{MaxTokensOnly: true},
	},
	{
		Name: "xai", Title: "xAI", BaseURL: "https://api.x.ai/v1", Env: []string{"XAI_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath,
		Asks:   Asks{Drop: append([]string{"stop", "presence_penalty", "frequency_penalty", "logit_bias", "verbosity"}, accountMembers...)},
		Answer: Answer{ReasoningOnTop: true},
	},
	{
		Name: "cohere", Title: "Cohere", BaseURL: "https://api.cohere.ai/compatibility/v1", Env: []string{"COHERE_API_KEY", "CO_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, EmbedBatch: 96,
		Lacks: llm.Logprobs | llm.ManyChoices | llm.ParallelTools,
		Asks: Asks{
			MaxTokensOnly: true, NoTokenIDs: true,
			Drop: append([]string{"n", "logit_bias", "logprobs", "top_logprobs", "metadata", "parallel_tool_calls", "user"}, accountMembers...),
		},
	},
	{
		Name: "alibaba", Title: "Alibaba Cloud Model Studio", BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
		Env: []string{"DASHSCOPE_API_KEY"}, Takes: openai.Accepts{CacheMarks: true, TopK: true},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath, EmbedBatch: 10,
		Asks: Asks{MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true},
	},
	{
		Name: "moonshot", Title: "Moonshot AI", BaseURL: "https://api.moonshot.ai/v1", Env: []string{"MOONSHOT_API_KEY"},
		Takes:    openai.Accepts{Thinking: true},
		ChatPath: chatPath, ModelsPath: modelsPath, Lacks: llm.Logprobs,
		Asks: Asks{MaxTokensOnly: true, Weaker: map[string]map[string]string{"tool_choice": {`"required"`: `"auto"`}}},
	},
	{
		Name: "zai", Title: "Z.ai", BaseURL: "https://api.z.ai/api/paas/v4", Env: []string{"ZAI_API_KEY", "ZHIPU_API_KEY"},
		Takes:    openai.Accepts{Thinking: true},
		ChatPath: chatPath, EmbedPath: embedPath, ModelsPath: modelsPath,
		Lacks: llm.Logprobs | llm.ManyChoices | llm.JSONSchema,
		Asks: Asks{
			MaxTokensOnly: true, NoBase64: true, NoTokenIDs: true,
			Accepts: []string{
				"model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stream", "stream_options", "stop", "tools",
				"tool_choice", "response_format", "thinking", "do_sample", "request_id", "user_id", "input", "dimensions",
			},
			Weaker: map[string]map[string]string{"tool_choice": {`"required"`: `"auto"`}},
		},
	},
	{
		Name: "minimax", Title: "MiniMax", BaseURL: "https://api.minimax.io/v1", Env: []string{"MINIMAX_API_KEY"},
		Takes:    openai.Accepts{Thinking: true},
		ChatPath: chatPath, ModelsPath: modelsPath, Lacks: llm.Logprobs | llm.ManyChoices,
		Asks: Asks{Drop: accountMembers},
	},
	{
		Name: "perplexity", Title: "Perplexity", BaseURL: "https://api.perplexity.ai",
		Env: []string{"PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"}, ChatPath: chatPath, EmbedPath: "/v1/embeddings",
		Lacks: llm.Tools | llm.ParallelTools | llm.Logprobs | llm.ManyChoices,
		Asks: Asks{
			MaxTokensOnly: true, NoTokenIDs: true,
			Drop: append([]string{"stop", "seed", "logprobs", "top_logprobs", "logit_bias", "parallel_tool_calls", "n", "user"}, accountMembers...),
		},
		Answer: Answer{ReasoningOnTop: true},
	},
	{
		// Meta does not publish the address of its API; the operator configures it.
		Name: "meta", Title: "Meta", Env: []string{"LLAMA_API_KEY"}, URLEnv: "LLAMA_BASE_URL",
		ChatPath: chatPath, ModelsPath: modelsPath,
	},
	{
		Name: "xiaomi", Title: "Xiaomi MiMo", BaseURL: "https://api.xiaomimimo.com/v1", Env: []string{"XIAOMI_API_KEY", "XIAOMI_MIMO_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true},
	},
	{
		Name: "ai21", Title: "AI21", BaseURL: "https://api.ai21.com/studio/v1", Env: []string{"AI21_API_KEY"},
		ChatPath: chatPath, Lacks: llm.Logprobs, Asks: Asks{MaxTokensOnly: true},
	},
	{
		Name: "upstage", Title: "Upstage", BaseURL: "https://api.upstage.ai/v1/solar", Env: []string{"UPSTAGE_API_KEY"},
		ChatPath: chatPath, EmbedPath: embedPath, Asks: Asks{MaxTokensOnly: true, NoTokenIDs: true},
	},
	{
		Name: "stepfun", Title: "StepFun", BaseURL: "https://api.stepfun.com/v1", Env: []string{"STEPFUN_API_KEY"},
		ChatPath: chatPath, ModelsPath: modelsPath, Asks: Asks{MaxTokensOnly: true},
	},
	{
		Name: "voyage", Title: "Voyage AI", BaseURL: "https://api.voyageai.com/v1", Env: []string{"VOYAGE_API_KEY", "VOYAGE_AI_API_KEY"},
		EmbedPath: embedPath, EmbedBatch: 1000,
		Asks: Asks{
			NoBase64: true, NoTokenIDs: true, Drop: []string{"user"},
			Rename: map[string]string{"dimensions": "output_dimension"},
		},
	},
	{
		Name: "jina", Title: "Jina AI", BaseURL: "https://api.jina.ai/v1", Env: []string{"JINA_API_KEY", "JINA_AI_API_KEY"},
		EmbedPath: embedPath, Asks: Asks{NoBase64: true, NoTokenIDs: true, Drop: []string{"user"}},
	},
}
