package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// decisions is the number of requested decisions, large enough for a 99th percentile.
const decisions = 4000

// measureDecision sends dry-run requests to a gateway, one after another, and reads the decision time from each response.
// A Go benchmark of the route package measures the decision without a gateway.
func (b *bench) measureDecision(ctx context.Context) (figure, error) {
	g, err := b.startGateway(ctx, "127.0.0.1:9", deployment{models: 60, policies: 20}) // the address is never called
	if err != nil {
		return figure{}, err
	}
	var p99s []float64
	client := &http.Client{}
	for range 3 {
		took := make([]time.Duration, decisions)
		for i := range took {
			if took[i], err = decide(ctx, client, g, prose(uint64(i))); err != nil {
				return figure{}, err
			}
		}
		slices.Sort(took)
		p99s = append(p99s, float64(took[decisions*99/100].Microseconds()))
		fmt.Fprintf(b.out, "decide       p50 %s, p99 %s\n", took[decisions/2], took[decisions*99/100])
	}
	slices.Sort(p99s)
	return figure{name: "routing decision, 60 candidates, p99", value: p99s[1], unit: "µs", must: 250, stretch: 60}, nil
}

// decide requests one decision and returns how long it took.
func decide(ctx context.Context, client *http.Client, s *server, prompt string) (time.Duration, error) {
	body := fmt.Sprintf(`{"model":"auto","messages":[{"role":"user","content":%q}]}`, prompt)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.at.Address+s.at.Path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + s.at.Key, "Content-Type": "application/json", "X-Fairlead-Dry-Run": "true"} {
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var response struct {
		Decision struct{ Micros int64 } `json:"decision"`
	}
	if err := json.Unmarshal(text, &response); err != nil || resp.StatusCode != http.StatusOK || response.Decision.Micros == 0 {
		return 0, fmt.Errorf("request a decision: status %d, %.200s", resp.StatusCode, text)
	}
	return time.Duration(response.Decision.Micros) * time.Microsecond, nil
}

// prose returns a prompt of 2 KB. Different numbers give different prompts.
func prose(number uint64) string {
	words := strings.Fields("the gateway answers when a provider fails and keeps the budget of every team because " +
		"customers ask about prices in Berlin or why their function returns nothing after 42 minutes of waiting")
	random := rand.New(rand.NewPCG(2, number))
	var s strings.Builder
	for s.Len() < 2<<10 {
		s.WriteString(words[random.IntN(len(words))])
		s.WriteByte(' ')
	}
	return s.String()
}
