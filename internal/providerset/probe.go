package providerset

import (
	"context"
	"net/http"
	"time"

	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// testTime is the timeout for testing one provider.
const testTime = 10 * time.Second

// Probe requests a provider's model list, the cheapest call that verifies the address and the credential. If the call
// fails, the result contains the error.
func Probe(ctx context.Context, client *egress.Client, p *provider.Provider) providers.ProbeResult {
	if len(p.Credentials) == 0 {
		return probeWith(ctx, client, p, provider.Credential{})
	}
	return probeWith(ctx, client, p, p.Credentials[0])
}

// probeWith is like Probe but uses the given credential, which is empty for a provider without credentials.
func probeWith(ctx context.Context, client *egress.Client, p *provider.Provider, c provider.Credential) providers.ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.BaseURL+p.ModelsPath, nil)
	if err != nil {
		return providers.ProbeResult{Error: "invalid address: " + err.Error()}
	}
	if p.ModelsPath == "" {
		usable := ""
		if p.Login != nil && len(p.Credentials) > 0 {
			if _, err := p.Login(ctx, c.Secret); err != nil {
				return providers.ProbeResult{Error: llm.AsError(err).Message, Cause: err}
			}
			usable = "The credential (" + c.Source + ") is usable. "
		}
		return providers.ProbeResult{Untested: true, Error: usable + p.Title + " lists no models, so it cannot be tested free of charge. Send a request in the playground."}
	}
	secret := c.Secret
	if len(p.Credentials) > 0 && p.Authorize != nil {
		if p.Login != nil {
			if secret, err = p.Login(ctx, secret); err != nil {
				return providers.ProbeResult{Error: llm.AsError(err).Message}
			}
		}
		p.Authorize(req.Header, secret)
	}
	began := time.Now()
	var resp *http.Response
	if p.Transport != nil {
		resp, err = egress.Send(p.Transport, req)
	} else {
		resp, err = client.Do(req)
	}
	if err != nil {
		return providers.ProbeResult{Latency: time.Since(began), Error: llm.AsError(err).Message, Cause: err}
	}
	defer resp.Body.Close()
	clock, _ := http.ParseTime(resp.Header.Get("Date")) // zero if the header is missing
	result := providers.ProbeResult{Latency: time.Since(began), Status: resp.StatusCode, OK: resp.StatusCode == http.StatusOK, Clock: clock}
	if !result.OK {
		result.Error = p.Chat.Failure(&provider.Call{Access: provider.Access{Secret: secret, Secrets: p.Secrets(c.Secret)}}, resp).Message
		return result
	}
	if result.Models, result.Partial, err = decodeModels(resp.Body); err != nil {
		result.OK, result.Error = false, "the response is not a model list"
	}
	return result
}
