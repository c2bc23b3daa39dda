package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// sentences returns the cases about the text of errors.
func sentences() []testCase {
	wanted := map[string]string{}
	if err := json.Unmarshal([]byte(os.Getenv("SENTENCES")), &wanted); err != nil {
		panic(err) // unreachable: the driver passes valid arguments
	}
	key := func(name string) option.RequestOption { return option.WithAPIKey(os.Getenv(name)) }
	asks := func(model string, options ...option.RequestOption) func(context.Context) error {
		return func(ctx context.Context) error {
			client := mock(options...)
			_, err := client.Chat.Completions.New(ctx, ask(model, "Hi"))
			return err
		}
	}
	limited := asks("vendor/slashed", key("LIMITED_KEY"))
	var list []testCase
	for name, call := range map[string]func(context.Context) error{
		"bad-key":       asks("vendor/slashed", option.WithAPIKey("fl_wrong")),
		"unknown-model": asks("no-such-model"),
		"budget":        asks("vendor/slashed", key("BROKE_KEY")),
		"rate-limit": func(ctx context.Context) error {
			if err := limited(ctx); err != nil {
				return err
			}
			return limited(ctx)
		},
		"invalid-field":        asks("vendor/slashed", option.WithJSONSet("stream", "maybe")),
		"no-target":            asks(scripted("dead")),
		"mid-stream-chat":      readChat,
		"mid-stream-responses": readResponses,
	} {
		list = append(list, testCase{name, func(ctx context.Context) error {
			err := call(ctx)
			if err == nil {
				return holds(false, "no error was returned")
			}
			text := err.Error()
			var e *openai.Error
			if errors.As(err, &e) {
				text = e.Message // the text of this type is only the status
			}
			return holds(strings.Contains(text, wanted[name]), "%T shows %q", err, text)
		}})
	}
	return list
}

func readChat(ctx context.Context) error {
	client := mock()
	stream := client.Chat.Completions.NewStreaming(ctx, ask(scripted("cut"), "Hi"))
	for stream.Next() {
	}
	return stream.Err()
}

func readResponses(ctx context.Context) error {
	client := mock()
	stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: scripted("cut"), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")},
	})
	for stream.Next() {
	}
	return stream.Err()
}
