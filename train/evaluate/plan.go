package main

// Standard returns the pairs and pools of the figures in docs/routing.md.
func Standard() Plan {
	const (
		strong = "gpt-4-1106-preview"
		weak   = "mixtral-8x7b-instruct-v0.1"
		gpt4o  = "gpt-4o-2024-05-13"
		small  = "llama-3.1-8b-instruct"
	)
	return Plan{
		Pairs: []Pair{
			{Source: "routellm_mmlu", Strong: strong, Weak: weak},
			{Source: "routellm_gsm8k", Strong: strong, Weak: weak},
			{Source: "routellm_mtbench", Strong: strong, Weak: weak},
			{Source: "arena_bench", Strong: strong, Weak: weak},
			{Source: "mmlu_pro", Strong: gpt4o, Weak: weak},
			{Source: "mmlu_pro", Strong: gpt4o, Weak: small},
			{Source: "zeroeval_mmlu_redux", Strong: gpt4o, Weak: small},
			{Source: "zeroeval_gsm", Strong: gpt4o, Weak: "llama-3-8b-instruct"},
			{Source: "zeroeval_math_l5", Strong: gpt4o, Weak: small},
			{Source: "zeroeval_zebra_grid", Strong: "claude-3-5-sonnet-20240620", Weak: "gpt-4o-mini-2024-07-18"},
			{Source: "zeroeval_crux", Strong: gpt4o, Weak: small},
			{Source: "bfcl", Strong: strong, Weak: weak},
			{Source: "bfcl", Strong: "gpt-4-0125-preview", Weak: "claude-3-haiku-20240307"},
			{Source: "swebench_verified", Strong: "claude 4.5 opus medium (20251101)", Weak: "gpt-5 mini (2025-08-07) (medium reasoning)"},
			{Source: "alpaca_eval", Strong: strong, Weak: weak},
			{Source: "gemini_svamp", Strong: strong, Weak: weak},
			{Source: "gemini_flores", Strong: strong, Weak: weak},
			{Source: "routerbench_arc", Strong: strong, Weak: weak},
			{Source: "routerbench_winogrande", Strong: strong, Weak: weak},
			{Source: "routerbench_mbpp", Strong: strong, Weak: weak},
		},
		Pools: []Pool{
			{Name: "zeroeval", Sources: []string{"zeroeval_gsm", "zeroeval_math_l5", "zeroeval_mmlu_redux", "zeroeval_zebra_grid"}},
			{Name: "mmlu_pro", Sources: []string{"mmlu_pro"}},
			{Name: "gpt-4 or mixtral", Sources: []string{"routellm_mmlu", "routellm_gsm8k", "bfcl"}, Models: []string{strong, weak}},
			{Name: "gpt-4 or mixtral, other sources", Sources: []string{"routerbench_arc", "routerbench_mbpp", "routerbench_winogrande", "gemini_svamp", "gemini_humaneval"}, Models: []string{strong, weak}},
			{Name: "routerbench", Sources: []string{"routerbench_arc", "routerbench_mbpp", "routerbench_winogrande"}},
			{Name: "swebench", Sources: []string{"swebench_verified"}},
		},
	}
}
