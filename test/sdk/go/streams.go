package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// streams returns the cases about streamed responses: the accumulator, the end of a stream, and disconnects.
func streams() []testCase {
	return []testCase{
		{"stream-usage", streamUsage},
		{"stream-without-usage", streamWithoutUsage},
		{"stream-helper", accumulate},
		{"tool-call-streamed", streamTools},
		{"stream-error-before-first-token", earlyError},
		{"error-mid-stream", midStream},
		{"abort", abort},
	}
}

func withUsage(p openai.ChatCompletionNewParams) openai.ChatCompletionNewParams {
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	return p
}

func collect(ctx context.Context, p openai.ChatCompletionNewParams) ([]openai.ChatCompletionChunk, error) {
	client := sim()
	stream := client.Chat.Completions.NewStreaming(ctx, p)
	defer stream.Close()
	var chunks []openai.ChatCompletionChunk
	for stream.Next() {
		chunks = append(chunks, stream.Current())
	}
	return chunks, stream.Err()
}

func streamUsage(ctx context.Context) error {
	chunks, err := collect(ctx, withUsage(ask(simulated, "Tell me more.")))
	if err != nil {
		return err
	}
	var text strings.Builder
	finishes, usages := 0, 0
	for _, c := range chunks {
		if c.ID != chunks[0].ID || c.Model != simulated {
			return holds(false, "the id or the model changed: %s", c.RawJSON())
		}
		if c.Usage.TotalTokens > 0 {
			usages++
		}
		for _, choice := range c.Choices {
			text.WriteString(choice.Delta.Content)
			if choice.FinishReason != "" {
				finishes++
			}
		}
	}
	last := chunks[len(chunks)-1]
	return errors.Join(
		holds(strings.Contains(text.String(), "Tell me more."), "text is %q", text.String()),
		equal("number of finishes", finishes, 1),
		equal("number of usage chunks", usages, 1),
		equal("choices of the usage chunk", len(last.Choices), 0),
		holds(last.Usage.CompletionTokens > 0, "usage is %+v", last.Usage),
		equal("total_tokens", last.Usage.TotalTokens, last.Usage.PromptTokens+last.Usage.CompletionTokens),
	)
}

func streamWithoutUsage(ctx context.Context) error {
	chunks, err := collect(ctx, ask(simulated, "Hi."))
	if err != nil {
		return err
	}
	for _, c := range chunks {
		if len(c.Choices) == 0 || c.Usage.TotalTokens != 0 {
			return holds(false, "unexpected usage: %s", c.RawJSON())
		}
	}
	return holds(len(chunks) > 2, "got %d chunks, want more than 2", len(chunks))
}

// gather reads a stream with the client's accumulator.
func gather(ctx context.Context, p openai.ChatCompletionNewParams) (acc *openai.ChatCompletionAccumulator, finished []openai.FinishedChatCompletionToolCall, err error) {
	client := sim()
	stream := client.Chat.Completions.NewStreaming(ctx, p)
	defer stream.Close()
	acc = &openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			return nil, nil, errors.New("the accumulator rejected a chunk: " + stream.Current().RawJSON())
		}
		if call, ok := acc.JustFinishedToolCall(); ok {
			finished = append(finished, call)
		}
	}
	return acc, finished, stream.Err()
}

func accumulate(ctx context.Context) error {
	acc, _, err := gather(ctx, withUsage(ask("auto", "What is a knot?")))
	if err != nil {
		return err
	}
	return errors.Join(
		holds(strings.Contains(acc.Choices[0].Message.Content, "What is a knot?"), "text is %q", acc.Choices[0].Message.Content),
		equal("finish_reason", acc.Choices[0].FinishReason, "stop"),
		holds(strings.HasPrefix(acc.Model, "sim-"), "model is %q", acc.Model),
		holds(acc.Usage.TotalTokens > 0, "usage is %+v", acc.Usage),
	)
}

func streamTools(ctx context.Context) error {
	params := ask(simulated, "Use get_weather in parallel for Paris and Rome.")
	params.Tools = []openai.ChatCompletionToolUnionParam{weather()}
	acc, finished, err := gather(ctx, params)
	if err != nil {
		return err
	}
	calls := acc.Choices[0].Message.ToolCalls
	if len(calls) != 2 || len(finished) != 2 {
		return holds(false, "got %d calls and %d finished calls, want 2", len(calls), len(finished))
	}
	for i, call := range calls {
		if err := errors.Join(checkCall(call.Function.Name, call.Function.Arguments), equal("id", finished[i].ID, call.ID)); err != nil {
			return err
		}
	}
	return equal("finish_reason", acc.Choices[0].FinishReason, "tool_calls")
}

func earlyError(ctx context.Context) error {
	client := mock()
	stream := client.Chat.Completions.NewStreaming(ctx, ask(scripted("down"), "Hi"))
	defer stream.Close()
	for stream.Next() {
	}
	_, err := wantError(stream.Err(), http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")
	return err
}

func midStream(ctx context.Context) error {
	client := mock()
	var resp *http.Response
	stream := client.Chat.Completions.NewStreaming(ctx, ask(scripted("cut"), "Hi"), option.WithResponseInto(&resp))
	defer stream.Close()
	text := ""
	for stream.Next() {
		text += stream.Current().Choices[0].Delta.Content
	}
	var broken *ssestream.StreamError
	if !errors.As(stream.Err(), &broken) {
		return holds(false, "the stream ended with %v, want a StreamError", stream.Err())
	}
	return errors.Join(
		holds(text != "", "no text before the error"),
		holds(strings.HasPrefix(string(broken.Event.Data), `{"error":`), "the event is %s", broken.Event.Data),
		outcome(ctx, resp.Header.Get("x-request-id"), "partial"),
	)
}

func abort(ctx context.Context) error {
	client := mock()
	var resp *http.Response
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	stream := client.Chat.Completions.NewStreaming(leaving, ask(scripted("endless"), "Hi"), option.WithResponseInto(&resp))
	defer stream.Close()
	if !stream.Next() {
		return holds(false, "the stream did not start: %v", stream.Err())
	}
	leave()
	if err := control(ctx, "gone", url.Values{"model": {scripted("endless")}}, &struct{}{}); err != nil {
		return err
	}
	return outcome(ctx, resp.Header.Get("x-request-id"), "cancelled")
}
