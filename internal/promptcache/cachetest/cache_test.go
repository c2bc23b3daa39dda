package cachetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

var noon = time.Date(2026, 10, 10, 12, 0, 0, 0, time.UTC)

// text returns a text of the given number of tokens that repeats one letter.
func text(letter string, tokens int) string { return strings.Repeat(letter, tokens*bytesPerToken) }

func TestReadFindsCachedPrefix(t *testing.T) {
	t.Parallel()
	blocks := Settings{Minimum: 1024, Step: 128, Lifetime: 5 * time.Minute}
	ends := Settings{Minimum: 1024, Lifetime: 5 * time.Minute, Writes: true}
	for name, tc := range map[string]struct {
		settings      Settings
		first, second []string
		after         time.Duration
		want          llm.Usage // usage of the second prompt
	}{
		"a longer prompt":          {blocks, []string{text("a", 2000)}, []string{text("a", 2000), text("b", 100)}, 0, llm.Usage{Input: 180, CacheRead: 1920}},
		"in the middle of a text":  {blocks, []string{text("a", 2000)}, []string{text("a", 1500) + text("b", 100)}, 0, llm.Usage{Input: 192, CacheRead: 1408}},
		"another prompt":           {blocks, []string{text("a", 2000)}, []string{text("b", 2000)}, 0, llm.Usage{Input: 2000}},
		"another order":            {blocks, []string{text("a", 2000), text("b", 2000)}, []string{text("b", 2000), text("a", 2000)}, 0, llm.Usage{Input: 4000}},
		"too short":                {blocks, []string{text("a", 1000)}, []string{text("a", 1000)}, 0, llm.Usage{Input: 1000}},
		"just in time":             {blocks, []string{text("a", 1280)}, []string{text("a", 1280)}, 299 * time.Second, llm.Usage{CacheRead: 1280}},
		"too late":                 {blocks, []string{text("a", 1280)}, []string{text("a", 1280)}, 300 * time.Second, llm.Usage{Input: 1280}},
		"ends of messages":         {ends, []string{text("a", 2000)}, []string{text("a", 2000), text("b", 100)}, 0, llm.Usage{CacheRead: 2000, CacheWrite: 100}},
		"ends: nothing in between": {ends, []string{text("a", 2000)}, []string{text("a", 1990)}, 0, llm.Usage{CacheWrite: 1990}},
		"cache disabled":           {Settings{}, []string{text("a", 2000)}, []string{text("a", 2000)}, 0, llm.Usage{Input: 2000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewCache(tc.settings)
			if first := c.Read(noon, tc.first); first.CacheRead != 0 {
				t.Errorf("the first prompt read %d tokens from the cache, want 0", first.CacheRead)
			}
			if diff := cmp.Diff(tc.want, c.Read(noon.Add(tc.after), tc.second)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConversationGrowsAndIsDeterministic(t *testing.T) {
	t.Parallel()
	turns, again := Conversation(Agent(3)), Conversation(Agent(3))
	if len(turns) != 40 {
		t.Fatalf("%d turns, want 40", len(turns))
	}
	for i, turn := range turns {
		if string(turn.Request.Body) != string(again[i].Request.Body) || turn.At != again[i].At {
			t.Fatalf("turn %d differs in the second conversation", i)
		}
		if i == 0 {
			continue
		}
		before := turns[i-1]
		if turn.At <= before.At || turn.Tokens <= before.Tokens {
			t.Errorf("turn %d is not later and longer than turn %d", i, i-1)
		}
		if diff := cmp.Diff(before.Messages, turn.Messages[:len(before.Messages)]); diff != "" {
			t.Errorf("turn %d does not extend turn %d", i, i-1)
		}
		if turn.Messages[len(before.Messages)] != "assistant: "+before.Answer {
			t.Errorf("turn %d does not contain the response of turn %d", i, i-1)
		}
	}
	if last := turns[39].Tokens; last < 40_000 || last > 120_000 {
		t.Errorf("the last prompt has %d tokens, want 40,000 to 120,000", last)
	}
	if string(Conversation(Agent(4))[0].Request.Body) == string(turns[0].Request.Body) {
		t.Error("another seed gives the same conversation")
	}
}
