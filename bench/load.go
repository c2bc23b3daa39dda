package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// workload is a kind of traffic: so many callers, each sending its next request when it has its answer.
type workload struct {
	name    string
	callers int
	body    []byte
}

func workloads() []workload {
	return []workload{
		{"one caller, 1 KB", 1, prompt("large", 1<<10, false)},
		{"8 callers, 1 KB", 8, prompt("large", 1<<10, false)},
		{"8 callers, auto, 1 KB", 8, prompt("auto", 1<<10, false)},
		{"8 callers, 10 KB", 8, prompt("large", 10<<10, false)},
		{"8 callers, 100 KB", 8, prompt("large", 100<<10, false)},
		{"8 streams of 50 events", 8, prompt("large", 1<<10, true)},
	}
}

func prompt(model string, size int, stream bool) []byte {
	text := strings.Repeat("All hands look lively and heave the line. ", size/42+1)[:size]
	return fmt.Appendf(nil, `{"model":%q,"stream":%t,"messages":[{"role":"user","content":%q}]}`, model, stream, text)
}

// runSlice loads one server for a while and says what that cost.
func runSlice(ctx context.Context, s *server, w workload, slice time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: w.callers, DisableCompression: true}}
	defer client.CloseIdleConnections()
	before, err := cpuTime(s.pid)
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	latencies := make([][]time.Duration, w.callers)
	errs := make([]error, w.callers)
	var wait sync.WaitGroup
	for i := range w.callers {
		wait.Go(func() { latencies[i], errs[i] = callAway(ctx, client, s, w) })
	}
	wait.Wait()
	took := time.Since(began)
	after, err := cpuTime(s.pid)
	if err := errors.Join(err, errors.Join(errs...)); err != nil {
		return sample{}, err
	}
	all := slices.Concat(latencies...)
	if len(all) == 0 {
		return sample{}, errors.New("no request was answered")
	}
	slices.Sort(all)
	n := float64(len(all))
	return sample{
		cpu:  float64((after - before).Microseconds()) / n,
		p50:  float64(all[len(all)/2].Nanoseconds()) / 1e3,
		p99:  float64(all[len(all)*99/100].Nanoseconds()) / 1e3,
		rate: n / took.Seconds(),
	}, nil
}

// callAway sends one request after the other until the time is up.
func callAway(ctx context.Context, client *http.Client, s *server, w workload) ([]time.Duration, error) {
	var latencies []time.Duration
	var errs []error
	for ctx.Err() == nil {
		began := time.Now()
		err := callOnce(ctx, client, s, w.body)
		if ctx.Err() == nil {
			latencies, errs = append(latencies, time.Since(began)), append(errs, err) // else the time was up in mid-call
		}
	}
	return latencies, errors.Join(errs...)
}

func callOnce(ctx context.Context, client *http.Client, s *server, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return nil
}
