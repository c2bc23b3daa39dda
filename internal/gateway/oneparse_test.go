package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/simulator"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/gemini"
)

// countedFormat counts the request bodies that a format decodes.
type countedFormat struct {
	wire.Format
	decoded *atomic.Int32
}

func (f countedFormat) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	f.decoded.Add(1)
	return f.Format.DecodeRequest(ctx, op, body)
}

// countedExchange counts the requests that a provider encodes.
type countedExchange struct {
	provider.Exchange
	encoded *atomic.Int32
}

func (e countedExchange) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	e.encoded.Add(1)
	return e.Exchange.NewRequest(ctx, c)
}

// TestOneParse sends plain requests in every client format. The body is decoded once, and encoded once for each target that is called, also
// if the first target fails, if the response is streamed and if auto and a rule read the conversation.
func TestOneParse(t *testing.T) {
	t.Parallel()
	rule, problems := policy.Parse("workspace", []byte(`policies: [{name: code, when: 'request.task == "code"', deny: "No code."}]`), policy.Inventory{})
	if problems != nil {
		t.Fatal(problems)
	}
	for path, body := range map[string]string{
		"/chat/completions":      `{"model":"auto","messages":[{"role":"user","content":"hello"}]}`,
		"/messages":              `{"model":"auto","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`,
		"/responses":             `{"model":"auto","stream":true,"input":"hello"}`,
		"/generateContent":       geminiHello,
		"/streamGenerateContent": geminiHello,
	} {
		for _, failing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/failing=%t", path[1:], failing), func(t *testing.T) {
				t.Parallel()
				var decoded, encoded atomic.Int32
				k := newKit(t, func(k *kit) {
					for i := range k.routes {
						if f, ok := k.routes[i].Format.(gemini.Format); ok {
							f.Model = "auto"
							k.routes[i].Format = f
						}
						k.routes[i].Format = countedFormat{k.routes[i].Format, &decoded}
					}
					k.exchange = func(e provider.Exchange) provider.Exchange { return countedExchange{e, &encoded} }
					k.policies = fixedPolicies{rule}
				})
				if failing { // the first call, to either provider
					k.alpha.Then(simulator.Fail(http.StatusInternalServerError))
					k.beta.Then(simulator.Fail(http.StatusInternalServerError))
				}
				got := k.post(path, body)
				calls := int32(len(k.entry().Attempts))
				if got.status != http.StatusOK || (calls > 1) != failing || decoded.Load() != 1 || encoded.Load() != calls {
					t.Errorf("status %d after %d attempts: decoded %d times, encoded %d times; want 200, one decoding, one encoding for each attempt\n%s",
						got.status, calls, decoded.Load(), encoded.Load(), got.body)
				}
			})
		}
	}
}
