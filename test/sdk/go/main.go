// Command fairlead-sdk-test drives a running gateway with the official OpenAI client for Go. It prints one line per case.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// simulated is the simulator's model that most cases use.
const simulated = "sim-small"

// testCase is one case that must pass. The driver expects a case with this name.
type testCase struct {
	name string
	run  func(ctx context.Context) error
}

func main() {
	failed := 0
	suite := [][]testCase{answers(), streams(), prompts(), failures()}
	if os.Getenv("CHAT_URL") != "" { // run the scenarios that all vendors share
		suite = [][]testCase{scenarios()}
	}
	if os.Getenv("SENTENCES") != "" { // run the cases about error messages
		suite = [][]testCase{sentences()}
	}
	for _, list := range suite {
		for _, c := range list {
			if !perform(c) {
				failed++
			}
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// perform runs a case and prints its line. It reports whether the case passed.
func perform(c testCase) (passed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	err := c.run(ctx)
	if err != nil {
		fmt.Printf("FAIL %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", " "))
		return false
	}
	fmt.Printf("ok %s %.2fs\n", c.name, time.Since(began).Seconds())
	return true
}

// sim returns a client of the gateway that serves the simulator.
func sim(options ...option.RequestOption) openai.Client {
	return client("SIM_URL", "SIM_KEY", options...)
}

// mock returns a client of the gateway in front of the scripted provider.
func mock(options ...option.RequestOption) openai.Client {
	return client("MOCK_URL", "MOCK_KEY", options...)
}

func client(address, key string, options ...option.RequestOption) openai.Client {
	first := []option.RequestOption{option.WithBaseURL(os.Getenv(address)), option.WithAPIKey(os.Getenv(key)), option.WithMaxRetries(0)}
	return openai.NewClient(append(first, options...)...)
}

// scripted returns a model of the scripted provider that only this suite uses.
func scripted(name string) string { return name + "-" + os.Getenv("SDK_NAME") }

func ask(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

// counting counts the HTTP requests that the client sends, including retries.
func counting(sent *int) option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		*sent++
		return next(r)
	})
}

// control requests data from the driver: the requests that the provider received, or a log entry.
func control(ctx context.Context, path string, query url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, os.Getenv("CONTROL_URL")+"/"+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s of the driver: status %d", path, resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// outcome checks the outcome of a request in the log. It returns an error if the outcome is not want.
func outcome(ctx context.Context, requestID, want string) error {
	var entry struct{ Outcome string }
	if err := control(ctx, "entry", url.Values{"id": {requestID}}, &entry); err != nil {
		return err
	}
	return equal("outcome", entry.Outcome, want)
}

func equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func holds(ok bool, format string, args ...any) error {
	if !ok {
		return fmt.Errorf(format, args...)
	}
	return nil
}
