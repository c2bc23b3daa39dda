package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// pixel is an image of one red pixel.
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// answers returns the cases about complete responses: chat, tools, structured output, images, embeddings, models.
func answers() []testCase {
	return []testCase{
		{"chat", chat},
		{"chat-auto", chatAuto},
		{"headers", headers},
		{"tool-call", toolCall},
		{"tool-calls-parallel", parallelCalls},
		{"json-schema-parse", structured},
		{"vision", vision},
		{"embeddings", embeddings},
		{"embeddings-dimensions", dimensions},
		{"models-list", listModels},
		{"models-retrieve", retrieveModels},
		{"unicode", func(ctx context.Context) error {
			return echo(ctx, "naïve 日本語 🚀👩‍👩‍👧 \u2028 \u0000 \t <&> \\ \" مرحبا")
		}},
		{"large-prompt", func(ctx context.Context) error {
			return echo(ctx, strings.Repeat("0123456789 🚀é ", 60_000)) // a bit more than 1 MB
		}},
	}
}

func chat(ctx context.Context) error {
	client := sim()
	answer, err := client.Chat.Completions.New(ctx, ask(simulated, "Say hello."))
	if err != nil {
		return err
	}
	return errors.Join(
		equal("model", answer.Model, simulated),
		equal("finish_reason", answer.Choices[0].FinishReason, "stop"),
		holds(strings.Contains(answer.Choices[0].Message.Content, "Say hello."), "content is %q", answer.Choices[0].Message.Content),
		holds(answer.Usage.PromptTokens > 0 && answer.Usage.CompletionTokens > 0, "usage is %+v", answer.Usage),
		equal("total_tokens", answer.Usage.TotalTokens, answer.Usage.PromptTokens+answer.Usage.CompletionTokens),
	)
}

func chatAuto(ctx context.Context) error {
	client := sim()
	var resp *http.Response
	answer, err := client.Chat.Completions.New(ctx, ask("auto", "What is 2+2?"), option.WithResponseInto(&resp))
	if err != nil {
		return err
	}
	return errors.Join(
		holds(strings.HasPrefix(answer.Model, "sim-"), "model is %q", answer.Model),
		equal("x-fairlead-model", resp.Header.Get("x-fairlead-model"), answer.Model),
	)
}

func headers(ctx context.Context) error {
	client := sim()
	var resp *http.Response
	if _, err := client.Chat.Completions.New(ctx, ask(simulated, "Hello"), option.WithResponseInto(&resp)); err != nil {
		return err
	}
	cost, err := strconv.ParseFloat(resp.Header.Get("x-fairlead-cost"), 64)
	return errors.Join(err,
		holds(strings.HasPrefix(resp.Header.Get("x-request-id"), "req_"), "x-request-id is %q", resp.Header.Get("x-request-id")),
		equal("decision", resp.Header.Get("x-fairlead-decision"), "expected"),
		equal("model", resp.Header.Get("x-fairlead-model"), simulated),
		equal("provider", resp.Header.Get("x-fairlead-provider"), "simulator"),
		equal("attempts", resp.Header.Get("x-fairlead-attempts"), "1"),
		holds(cost > 0, "the cost is %v", cost),
	)
}

func weather() openai.ChatCompletionToolUnionParam {
	return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "get_weather", Description: openai.String("Weather at a place"), Strict: openai.Bool(true),
		Parameters: shared.FunctionParameters{
			"type": "object",
			"properties": map[string]any{
				"place": map[string]any{"type": "string"},
				"unit":  map[string]any{"type": "string", "enum": []string{"C", "F"}},
			},
			"required": []string{"place", "unit"}, "additionalProperties": false,
		},
	})
}

func checkCall(name, arguments string) error {
	var args struct{ Place, Unit string }
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return err
	}
	return errors.Join(equal("tool", name, "get_weather"), holds(args.Unit == "C" || args.Unit == "F", "arguments are %s", arguments))
}

func toolCall(ctx context.Context) error {
	client := sim()
	params := ask(simulated, "Use get_weather for Paris.")
	params.Tools = []openai.ChatCompletionToolUnionParam{weather()}
	first, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	calls := first.Choices[0].Message.ToolCalls
	if len(calls) != 1 || first.Choices[0].FinishReason != "tool_calls" {
		return holds(false, "no tool was called: %s", first.RawJSON())
	}
	if err := checkCall(calls[0].Function.Name, calls[0].Function.Arguments); err != nil {
		return err
	}
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.ToolMessage("21 degrees, sunny", calls[0].ID))
	second, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	return holds(strings.Contains(second.Choices[0].Message.Content, "21 degrees, sunny"), "content is %q", second.Choices[0].Message.Content)
}

func parallelCalls(ctx context.Context) error {
	client := sim()
	params := ask(simulated, "Use get_weather in parallel for Paris and Rome.")
	params.Tools = []openai.ChatCompletionToolUnionParam{weather()}
	two, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	params.ParallelToolCalls = openai.Bool(false)
	one, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	calls := two.Choices[0].Message.ToolCalls
	return errors.Join(
		equal("number of calls", len(calls), 2),
		holds(len(calls) < 2 || calls[0].ID != calls[1].ID, "both calls have the same ID"),
		equal("number of calls without parallel_tool_calls", len(one.Choices[0].Message.ToolCalls), 1),
	)
}

func structured(ctx context.Context) error {
	type step struct {
		Explanation string  `json:"explanation"`
		Result      float64 `json:"result"`
	}
	var solution struct {
		Steps   []step `json:"steps"`
		Answer  string `json:"answer"`
		Certain *bool  `json:"certain"`
	}
	schema := json.RawMessage(`{"type":"object","properties":{
		"steps":{"type":"array","items":{"type":"object","properties":{"explanation":{"type":"string"},"result":{"type":"number"}},
			"required":["explanation","result"],"additionalProperties":false}},
		"answer":{"type":"string"},"certain":{"type":"boolean"}},
		"required":["steps","answer","certain"],"additionalProperties":false}`)
	params := ask("auto", "Solve 3x = 6.")
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "solution", Schema: schema, Strict: openai.Bool(true)},
	}
	client := sim()
	answer, err := client.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &solution); err != nil {
		return err
	}
	return holds(len(solution.Steps) > 0 && solution.Answer != "" && solution.Certain != nil, "solution is %+v", solution)
}

func vision(ctx context.Context) error {
	client := sim()
	answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "auto",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is this?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel, Detail: "low"}),
		})},
	})
	if err != nil {
		return err
	}
	return errors.Join(
		holds(strings.Contains(answer.Choices[0].Message.Content, "1 image"), "content is %q", answer.Choices[0].Message.Content),
		holds(slices.Contains([]string{"sim-vision", "sim-medium", "sim-large", "sim-flagship"}, answer.Model), "model is %q", answer.Model),
	)
}

// embeddings compares the two encodings of a vector, float and base64. This client decodes only float.
func embeddings(ctx context.Context) error {
	client := sim()
	params := openai.EmbeddingNewParams{
		Model: "sim-embed-small",
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"The quick brown fox", "jumps over the lazy dog", "日本語"}},
	}
	plain, err := client.Embeddings.New(ctx, params)
	if err != nil {
		return err
	}
	var packed struct{ Data []struct{ Embedding string } }
	params.EncodingFormat = openai.EmbeddingNewParamsEncodingFormatBase64
	if _, err := client.Embeddings.New(ctx, params, option.WithResponseBodyInto(&packed)); err != nil {
		return err
	}
	if len(plain.Data) != 3 || len(packed.Data) != 3 {
		return holds(false, "got %d and %d vectors, want 3", len(plain.Data), len(packed.Data))
	}
	for i, item := range plain.Data {
		if err := errors.Join(unit(item.Embedding, 1536), equalVectors(item.Embedding, packed.Data[i].Embedding)); err != nil {
			return err
		}
	}
	return holds(plain.Usage.PromptTokens > 0, "usage is %+v", plain.Usage)
}

// equalVectors compares a vector with its packed form: little-endian float32 in base64.
func equalVectors(plain []float64, packed string) error {
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return err
	}
	if len(raw) != 4*len(plain) {
		return holds(false, "the packed vector has %d bytes, want %d", len(raw), 4*len(plain))
	}
	for i, want := range plain {
		got := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		if math.Abs(got-want) > 1e-6 {
			return holds(false, "element %d is %v in base64 and %v as a float", i, got, want)
		}
	}
	return nil
}

// unit checks the length and the norm of a vector.
func unit(vector []float64, length int) error {
	sum := 0.0
	for _, x := range vector {
		sum += x * x
	}
	return errors.Join(equal("length", len(vector), length), holds(math.Abs(math.Sqrt(sum)-1) < 1e-3, "the norm is %v", math.Sqrt(sum)))
}

func dimensions(ctx context.Context) error {
	client := sim()
	answer, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "sim-embed-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("hello")}, Dimensions: openai.Int(256),
	})
	if err != nil {
		return err
	}
	return unit(answer.Data[0].Embedding, 256)
}

func listModels(ctx context.Context) error {
	client := sim()
	page, err := client.Models.List(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	for _, name := range []string{"auto", simulated, "sim-embed-small"} {
		if !slices.Contains(names, name) {
			return holds(false, "%s is not in %v", name, names)
		}
	}
	return nil
}

func retrieveModels(ctx context.Context) error {
	first, second := sim(), mock()
	auto, err := first.Models.Get(ctx, "auto")
	if err != nil {
		return err
	}
	slashed, err := second.Models.Get(ctx, "vendor/slashed")
	if err != nil {
		return err
	}
	answer, err := second.Chat.Completions.New(ctx, ask("vendor/slashed", "Hello"))
	if err != nil {
		return err
	}
	return errors.Join(
		equal("id", auto.ID, "auto"), equal("id", slashed.ID, "vendor/slashed"), equal("model", answer.Model, "vendor/slashed"),
	)
}

// echo checks that the provider received the prompt as it was sent.
func echo(ctx context.Context, text string) error {
	client := mock()
	answer, err := client.Chat.Completions.New(ctx, ask(scripted("echo"), text))
	if err != nil {
		return err
	}
	var received struct{ Body string }
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &received); err != nil {
		return err
	}
	var body struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal([]byte(received.Body), &body); err != nil {
		return err
	}
	return holds(body.Messages[0].Content == text, "the provider received another prompt")
}
