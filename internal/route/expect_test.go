package route

import (
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/conversation"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
)

func TestExpectedOutputFollowsTheFeatures(t *testing.T) {
	t.Parallel()
	of := func(f predict.Features) outputPrior {
		return expectedOutput(&Input{Prediction: Prediction{Features: f}})
	}
	usual := outputPriors[predict.Chat]
	if got := of(predict.Features{Task: predict.Chat}); got != usual {
		t.Errorf("expected output without a length = %+v, want %+v", got, usual)
	}
	short := of(predict.Features{Task: predict.Chat, Output: 25, Ease: 3})
	if short.visible != 25 || short.reasoning > 50 {
		t.Errorf("expected output of a greeting = %+v, want 25 visible and at most 50 reasoning", short)
	}
	plain, demanding := of(predict.Features{Task: predict.Code, Output: 400}), of(predict.Features{Task: predict.Code, Output: 400, Ease: -2})
	if demanding.visible != plain.visible || demanding.reasoning < 3*plain.reasoning/2 {
		t.Errorf("plain %+v, demanding %+v; want equal text and at least 1.5 times the reasoning", plain, demanding)
	}
	if got := of(predict.Features{Task: predict.Translation}); got != outputPriors[predict.Translation] {
		t.Errorf("expected output of a translation = %+v, want %+v", got, outputPriors[predict.Translation])
	}
}

func TestExpectedRestOfASession(t *testing.T) {
	t.Parallel()
	rest := func(in Input) Session {
		in.Op = llm.Chat
		return expectedSession(&in, outputPrior{visible: 100})
	}
	if s := rest(Input{PromptSize: PromptSize{InputTokens: 3000}, History: History{Turns: 3}}); s != (Session{Turns: 3}) {
		t.Errorf("session without tools = %+v, want 3 turns", s)
	}
	if s := rest(Input{PromptSize: PromptSize{InputTokens: 3000}, History: History{Turns: 30}}); s.Turns != horizon {
		t.Errorf("session of a long conversation = %+v, want %v turns", s, horizon)
	}
	small, large := rest(Input{ResponseOptions: ResponseOptions{Needs: llm.Tools}, PromptSize: PromptSize{InputTokens: 900}}), rest(Input{ResponseOptions: ResponseOptions{Needs: llm.Tools}, PromptSize: PromptSize{InputTokens: 20_000}})
	if small.Turns < 3 || small.Turns > 5 || large.Turns != mostTurns || large.Growth <= small.Growth {
		t.Errorf("sessions of agents with small and large prompts = %+v, %+v", small, large)
	}
	before := large.Turns
	for turns, prompt := 1, int64(20_000); turns < 100; turns, prompt = turns+1, prompt+growthTokens {
		s := rest(Input{ResponseOptions: ResponseOptions{Needs: llm.Tools}, PromptSize: PromptSize{InputTokens: prompt}, History: History{Turns: turns}})
		if s.Turns > before || s.Turns < 4 {
			t.Fatalf("after %d turns %.1f more turns expected, want 4 to %.1f", turns, s.Turns, before)
		}
		before = s.Turns
	}
	if s := rest(Input{ResponseOptions: ResponseOptions{Needs: llm.Tools}, PromptSize: PromptSize{InputTokens: 20_000}, History: History{Conversation: conversation.Findings{Purpose: conversation.Title}}}); s.Growth != 0 || s.Turns != 0 {
		t.Errorf("session of a title call = %+v, want none", s)
	}
}

func TestObservedLengthsCorrectTheExpectedOutput(t *testing.T) {
	t.Parallel()
	in := Input{
		Op: llm.Chat, ResponseOptions: ResponseOptions{Choices: 1}, Prediction: Prediction{
			Features: predict.Features{Task: predict.Code, Output: 400},
			Lengths:  LengthFactors{Visible: 0.5, Reasoning: 2},
		},
	}
	raw := predictedOutput(&in.Features)
	if got, want := expectedOutput(&in), (outputPrior{raw.visible / 2, raw.reasoning * 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	cand := &candidate{target: &provider.Target{Model: &catalog.Model{Abilities: llm.Reasoning}}}
	cand.Target, cand.Seen.Length = "acme/m", 3
	cand.Output = expectedOutput(&in).output(&in, cand, 0)
	if want := 3*raw.visible/2 + 2*raw.reasoning; cand.Output != want {
		t.Errorf("expected output %d, want %d", cand.Output, want)
	}
	d := Decision{Input: in, Candidates: []Candidate{cand.Candidate}}
	if got, want := d.ExpectedLength("acme/m"), (Length{float64(raw.visible), float64(raw.reasoning)}); got != want {
		t.Errorf("expected length without corrections %+v, want %+v", got, want)
	}
	if got := d.ExpectedLength("acme/other"); got.Reasoning != 0 {
		t.Errorf("expected length of a target outside the decision = %+v, want no reasoning", got)
	}
}
