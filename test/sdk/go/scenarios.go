package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// Prompts and expected answers of the mocked vendors. The suites of the other clients use the same texts.
const (
	loopPrompt = "Compare Paris and Rome. [tool loop]"
	summary    = `get_temperature {"city":"Paris"} gave 21. get_temperature {"city":"Rome"} gave 17. add {"a":21,"b":17} gave 38. clock {} gave 12:00.`
	loopSteps  = "get_temperature get_temperature, add clock"
	greeting   = "Grüße, 日本語, 🚀."
)

// create gets a complete answer, from a streamed or a non-streamed response.
type create func(ctx context.Context, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error)

func whole(ctx context.Context, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	asker := client("CHAT_URL", "CHAT_KEY")
	return asker.Chat.Completions.New(ctx, params)
}

func streamed(ctx context.Context, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	asker := client("CHAT_URL", "CHAT_KEY")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := asker.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			return nil, fmt.Errorf("the accumulator rejected a chunk: %s", stream.Current().RawJSON())
		}
	}
	return &sum.ChatCompletion, stream.Err()
}

// scenarios returns the cases for typical uses of the client, against a vendor's mock or a gateway.
func scenarios() []testCase {
	model, reasoner := os.Getenv("CHAT_MODEL"), os.Getenv("CHAT_REASONER")
	return []testCase{
		{"chat", func(ctx context.Context) error {
			return says(ctx, whole, ask(model, "Hello"), `You said "Hello". `+greeting)
		}},
		{"stream", func(ctx context.Context) error {
			return says(ctx, streamed, ask(model, "Hello"), `You said "Hello". `+greeting)
		}},
		{"tool-loop", func(ctx context.Context) error { return loop(ctx, whole, ask(model, loopPrompt)) }},
		{"tool-loop-streamed", func(ctx context.Context) error { return loop(ctx, streamed, ask(model, loopPrompt)) }},
		{"tool-choice", func(ctx context.Context) error { return choice(ctx, model) }},
		{"vision", func(ctx context.Context) error { return look(ctx, model) }},
		{"json-schema", func(ctx context.Context) error { return person(ctx, model) }},
		{"reasoning", func(ctx context.Context) error { return think(ctx, ask(reasoner, "Why?")) }},
		{"reasoning-tools", func(ctx context.Context) error { return loop(ctx, whole, thinking(ask(reasoner, loopPrompt))) }},
		{"reasoning-tools-streamed", func(ctx context.Context) error { return loop(ctx, streamed, thinking(ask(reasoner, loopPrompt))) }},
		{"stop-sequence", func(ctx context.Context) error {
			params := ask(model, "Count. [count]")
			params.Stop.OfStringArray = []string{"never", "seven eight nine ten eleven twelve thirteen"}
			return says(ctx, whole, params, "one two three four five six ")
		}},
	}
}

func thinking(params openai.ChatCompletionNewParams) openai.ChatCompletionNewParams {
	params.ReasoningEffort = shared.ReasoningEffortLow
	return params
}

func says(ctx context.Context, by create, params openai.ChatCompletionNewParams, want string) error {
	answer, err := by(ctx, params)
	if err != nil {
		return err
	}
	if err := equal("finish_reason", answer.Choices[0].FinishReason, "stop"); err != nil {
		return err
	}
	return equal("content", answer.Choices[0].Message.Content, want)
}

func think(ctx context.Context, params openai.ChatCompletionNewParams) error {
	answer, err := whole(ctx, thinking(params))
	if err != nil {
		return err
	}
	counted := os.Getenv("CHAT_COUNTS_REASONING") == "no" || answer.Usage.CompletionTokensDetails.ReasoningTokens > 0
	return holds(counted && strings.Contains(answer.Choices[0].Message.Content, greeting), "got %s, want reasoning tokens and the greeting", answer.RawJSON())
}

func look(ctx context.Context, model string) error {
	answer, err := whole(ctx, openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{
		openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel}), openai.TextContentPart("What is this?"),
		}),
	}})
	if err != nil {
		return err
	}
	return holds(strings.Contains(answer.Choices[0].Message.Content, "I see image/png of 70 bytes."), "content is %q", answer.Choices[0].Message.Content)
}

func person(ctx context.Context, model string) error {
	params := ask(model, "Who?")
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "person", Strict: openai.Bool(true), Schema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}, "age": map[string]any{"type": "integer"}},
			"required": []string{"name", "age"}, "additionalProperties": false,
		},
	}}
	answer, err := whole(ctx, params)
	if err != nil {
		return err
	}
	var found struct {
		Name string
		Age  int
	}
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &found); err != nil {
		return err
	}
	return holds(found.Name != "", "no name in %s", answer.Choices[0].Message.Content)
}

func tools() []openai.ChatCompletionToolUnionParam {
	text, whole := map[string]any{"type": "string"}, map[string]any{"type": "integer"}
	declare := func(name string, properties map[string]any, required ...string) openai.ChatCompletionToolUnionParam {
		schema := shared.FunctionParameters{"type": "object", "properties": properties}
		if len(required) > 0 {
			schema["required"] = required
		}
		return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Description: openai.String("A tool"), Parameters: schema})
	}
	return []openai.ChatCompletionToolUnionParam{
		declare("get_temperature", map[string]any{"city": text}, "city"),
		declare("add", map[string]any{"a": whole, "b": whole}, "a", "b"), declare("clock", map[string]any{}),
	}
}

func choice(ctx context.Context, model string) error {
	params := ask(model, "Hi")
	params.Tools = tools()
	params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "add"})
	answer, err := whole(ctx, params)
	if err != nil {
		return err
	}
	calls := answer.Choices[0].Message.ToolCalls
	return holds(len(calls) == 1 && calls[0].Function.Name == "add", "got %s, want one call of add", answer.RawJSON())
}

// loop runs the tools that the model calls until the model returns an answer.
func loop(ctx context.Context, by create, params openai.ChatCompletionNewParams) error {
	params.Tools = tools()
	steps := []string{}
	for {
		answer, err := by(ctx, params)
		if err != nil {
			return err
		}
		message := answer.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			if err := equal("steps", strings.Join(steps, ", "), loopSteps); err != nil {
				return err
			}
			return equal("summary", message.Content, summary)
		}
		params.Messages = append(params.Messages, message.ToParam())
		names := []string{}
		for _, call := range message.ToolCalls {
			names = append(names, call.Function.Name)
			params.Messages = append(params.Messages, openai.ToolMessage(run(call.Function.Name, call.Function.Arguments), call.ID))
		}
		steps = append(steps, strings.Join(names, " "))
	}
}

func run(name, arguments string) string {
	var in struct {
		City string
		A, B int
	}
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "the arguments are not JSON: " + err.Error()
	}
	switch name {
	case "get_temperature":
		return map[string]string{"Paris": "21", "Rome": "17"}[in.City]
	case "add":
		return fmt.Sprint(in.A + in.B)
	}
	return "12:00"
}
