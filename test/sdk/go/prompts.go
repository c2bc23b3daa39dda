package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const bare = "Once upon a time"

// prompts returns the cases for endpoints that older programs call: legacy completions and moderations.
func prompts() []testCase {
	return []testCase{
		{"completions", completions},
		{"completions-auto", completionsAuto},
		{"completions-streamed", completionsStreamed},
		{"moderations", moderations},
	}
}

func prompted(model string, texts ...string) openai.CompletionNewParams {
	return openai.CompletionNewParams{
		Model: openai.CompletionNewParamsModel(model), Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: texts}, MaxTokens: openai.Int(64),
	}
}

func completions(ctx context.Context) error {
	client := sim()
	answer, err := client.Completions.New(ctx, prompted(simulated, bare, "There was"))
	if err != nil {
		return err
	}
	return errors.Join(
		equal("object", string(answer.Object), "text_completion"), equal("model", answer.Model, simulated), equal("choices", len(answer.Choices), 2),
		holds(strings.Contains(answer.Choices[1].Text, "There was"), "the second text is %q", answer.Choices[1].Text),
		equal("total", answer.Usage.TotalTokens, answer.Usage.PromptTokens+answer.Usage.CompletionTokens),
	)
}

func completionsAuto(ctx context.Context) error {
	client := sim()
	answer, err := client.Completions.New(ctx, prompted("auto", bare))
	if err != nil {
		return err
	}
	return holds(strings.HasPrefix(answer.Model, "sim-") && answer.Choices[0].Text != "", "got %s", answer.RawJSON())
}

func completionsStreamed(ctx context.Context) error {
	client := sim()
	whole, err := client.Completions.New(ctx, prompted(simulated, bare))
	if err != nil {
		return err
	}
	params := prompted(simulated, bare)
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Completions.NewStreaming(ctx, params)
	text, usages, total := "", 0, int64(0)
	for stream.Next() {
		chunk := stream.Current()
		for _, choice := range chunk.Choices {
			text += choice.Text
		}
		if chunk.Usage.TotalTokens > 0 {
			usages, total = usages+1, chunk.Usage.TotalTokens
		}
	}
	return errors.Join(
		stream.Err(), equal("text", text, whole.Choices[0].Text), equal("usage chunks", usages, 1), equal("total", total, whole.Usage.TotalTokens),
	)
}

func moderations(ctx context.Context) error {
	client := sim()
	var resp *http.Response
	answer, err := client.Moderations.New(ctx, openai.ModerationNewParams{
		Model: "sim-moderation", Input: openai.ModerationNewParamsInputUnion{OfStringArray: []string{"A quiet harbour.", "I will kill you."}},
	}, option.WithResponseInto(&resp))
	if err != nil {
		return err
	}
	if len(answer.Results) != 2 {
		return holds(false, "got %s", answer.RawJSON())
	}
	return errors.Join(
		equal("model", answer.Model, "sim-moderation"), equal("flagged", answer.Results[0].Flagged, false),
		equal("violence", answer.Results[1].Categories.Violence, true), equal("cost", resp.Header.Get("x-fairlead-cost"), "0"),
	)
}
