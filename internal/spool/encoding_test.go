package spool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

func TestEntryIsEncodedAsByJSONMarshal(t *testing.T) {
	t.Parallel()
	full := requestlog.Entry{}
	fill(reflect.ValueOf(&full).Elem(), 3)
	full.Decision.Candidates[0].Excluded = new(route.NewExclusion("because", "for a reason"))
	full.Decision.Policies = []route.PolicyHit{route.NewPolicyHit("a", "instance", true, "deny", "")}
	for name, e := range map[string]requestlog.Entry{"empty": {}, "full": full, "usual": *decided()} {
		want, err := json.Marshal(&e)
		must(t, err)
		var b bytes.Buffer
		decision, err := encodeEntry(&b, &e)
		must(t, err)
		got := b.Bytes()
		var w, g any
		must(t, json.Unmarshal(want, &w))
		must(t, json.Unmarshal(got, &g))
		if diff := cmp.Diff(w, g); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if e.Decision == nil {
			continue
		}
		var d any
		must(t, json.Unmarshal(got[decision.from:decision.to], &d))
		if diff := cmp.Diff(w.(map[string]any)["trace"], d); diff != "" {
			t.Errorf("%s: decision: %s", name, diff)
		}
	}
}

// The fields of a begin record have the names of the entry's fields, because it is decoded as an entry.
func TestBeginIsDecodedLikeAnEntry(t *testing.T) {
	t.Parallel()
	var full beginning
	fill(reflect.ValueOf(&full).Elem(), 3)
	short, err := json.Marshal(&full)
	must(t, err)
	var e requestlog.Entry
	strict := json.NewDecoder(bytes.NewReader(short))
	strict.DisallowUnknownFields()
	must(t, strict.Decode(&e))
	fromBegin, err := interrupted(short)
	must(t, err)
	if fromBegin.Versions == (route.Versions{}) || fromBegin.Requested == "" || fromBegin.Time.IsZero() || len(fromBegin.Tags) == 0 {
		t.Errorf("fields of the begin record are missing: %+v", fromBegin)
	}
}

// fill sets all fields to a non-zero value.
func fill(v reflect.Value, n int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 15, 12, 0, 0, 123, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n) / 7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n+1)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"b": "2", "a": "1"}))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Plan" {
				fill(v.Field(i), n+i)
			}
		}
	default:
	}
}

// decided returns the entry of a request for auto with six candidates.
func decided() *requestlog.Entry {
	e := entry("req_1")
	d := &route.Decision{
		Kind: route.Expected, Policies: []route.PolicyHit{route.NewPolicyHit("rule", "instance", false, "", `request.task == "code" is false (request.task is "chat")`)},
		Versions: route.Versions{Router: "1", Catalog: "2026-11-01", Snapshot: "0123456789ab", Predictor: "p1"},
	}
	d.Input = route.Input{Op: "chat", Format: "chat", Model: "auto", PromptSize: route.PromptSize{InputTokens: 261}, ResponseOptions: route.ResponseOptions{Choices: 1}, PromptParts: route.PromptParts{Messages: 1}, At: time.Unix(1763200000, 0).UTC()}
	d.Input.Features.Task, d.Input.Features.Language = "chat", "en"
	for i := range 28 {
		d.Input.Text.Counts[i] = int32(i * i)
	}
	for i := range 6 {
		price := money.Amount(123_450 * (i + 1))
		d.Candidates = append(d.Candidates, route.Candidate{
			Target: "mock/model-1", Model: "model-1", Provider: "mock", Rank: i + 1, Quality: 0.7 + float64(i)/100, Spread: 0.071234,
			ExpectedCost: route.ExpectedCost{Price: &price}, Output: 320, Latency: 812, Seen: route.State{Latency: 12345678, TokensPS: 87.5},
		})
	}
	e.Decision = d
	return e
}
