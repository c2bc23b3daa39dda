package gemini

import (
	"strings"
	"testing"
)

func TestTraitsOfModels(t *testing.T) {
	t.Parallel()
	for model, tc := range map[string]struct {
		levels      string
		most, least int64
		off         bool
		has         func(Traits) bool
	}{
		"gemini-1.5-pro":           {has: func(t Traits) bool { return !t.JSONSchema && !t.FileURLs && t.Penalties }},
		"gemini-2.0-flash":         {has: func(t Traits) bool { return !t.JSONSchema && !t.NeedsSignatures }},
		"gemini-2.5-pro":           {most: 32768, least: 128, has: func(t Traits) bool { return t.JSONSchema && !t.JSONAndTools && !t.NeedsSignatures }},
		"gemini-2.5-flash":         {most: 24576, least: 1, off: true, has: func(t Traits) bool { return t.FileURLs }},
		"gemini-2.5-flash-lite":    {most: 24576, least: 512, off: true, has: func(t Traits) bool { return !t.CallIDs }},
		"gemini-3-pro-preview":     {levels: "low high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures && t.JSONAndTools && !t.Penalties }},
		"gemini-3.1-pro-preview":   {levels: "low medium high", most: 32768, has: func(t Traits) bool { return t.CallIDs }},
		"gemini-3-flash-preview":   {levels: "minimal low medium high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures }},
		"gemini-3.8-flash":         {levels: "low medium high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures }},
		"models/gemini-3.5-flash":  {levels: "minimal low medium high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures }},
		"gemini-flash-latest":      {levels: "low medium high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures }},
		"gemini-12.x-flash":        {levels: "low medium high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures }},
		"gemma-3-27b-it":           {has: func(t Traits) bool { return t.NoSystem && !t.JSONSchema }},
		"text-embedding-005":       {has: func(t Traits) bool { return !t.NoSystem }},
		"gemini-99999999999999999": {levels: "low medium high", most: 32768, has: func(t Traits) bool { return t.NeedsSignatures }},
	} {
		got := TraitsOf(model)
		think := got.Thinking
		if strings.Join(think.Levels, " ") != tc.levels || think.Most != tc.most || think.Least != tc.least || think.Off != tc.off || !tc.has(got) {
			t.Errorf("TraitsOf(%s) = %+v, want levels %q, budget %d to %d", model, got, tc.levels, tc.least, tc.most)
		}
	}
}

func TestNearestLevel(t *testing.T) {
	t.Parallel()
	pro := Thinking{Levels: []string{"low", "high"}}
	for asked, want := range map[string]string{"none": "low", "minimal": "low", "low": "low", "medium": "high", "high": "high", "max": "high", "odd": "low"} {
		if got, same := pro.nearest(asked); got != want || same != (asked == want) {
			t.Errorf("nearest(%s) = %s, %t; want %s", asked, got, same, want)
		}
	}
}
