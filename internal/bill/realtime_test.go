package bill

import (
	"slices"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
)

func TestRealtimeHoldCoversAResponse(t *testing.T) {
	t.Parallel()
	terms, target := priced(llm.Request{Attachments: llm.Attachments{Unsized: 1}})
	terms.Request.Op = llm.Realtime
	target.Model.Op, target.Model.Context = llm.Realtime, 30_000
	held := terms.MaxCost([]*provider.Target{target})
	for _, u := range []llm.Usage{
		{Input: 30_000, Output: 1000},
		{Input: 30_000, AudioInput: 30_000, Output: 1000, AudioOutput: 1000},
		{CacheRead: 30_000, Output: 1000, AudioOutput: 500},
	} {
		if b := Realtime(target.Price.At(terms.At), u); b.Total > held || len(b.Excluded) > 0 {
			t.Errorf("%+v costs %v without %v, %v is held", u, b.Total, b.Excluded, held)
		}
	}
}

func TestRealtimeAudioWithoutARateIsExcluded(t *testing.T) {
	t.Parallel()
	u := llm.Usage{Input: 10, AudioInput: 4, Output: 20, AudioOutput: 8}
	price := catalog.Price{Input: money.PerMillion(1), Output: money.PerMillion(2)}
	b := Realtime(&price, u)
	if b.Total != 6*1000+12*2000 || !slices.Equal(b.Excluded, []string{AudioInput, AudioOutput}) || PricesAudio(&price) {
		t.Errorf("%+v", b)
	}
	price.AudioOutput = new(money.PerMillion(10))
	if b = Realtime(&price, u); b.Total != 6*1000+12*2000+8*10_000 || !slices.Equal(b.Excluded, []string{AudioInput}) || PricesAudio(&price) {
		t.Errorf("with a rate for output: %+v", b)
	}
	if b = Realtime(&catalog.Price{}, u); b.Total != 0 || len(b.Excluded) > 0 || !PricesAudio(&catalog.Price{}) {
		t.Errorf("price of 0: %+v", b)
	}
}

func TestBillsAreAdded(t *testing.T) {
	t.Parallel()
	price := catalog.Price{Input: money.PerMillion(1), Output: money.PerMillion(2)}
	sum := price.Bill(llm.Usage{Input: 10, Output: 1})
	sum.Add(price.Bill(llm.Usage{Input: 5, Output: 2, Searches: 1}))
	price.Input = money.PerMillion(3)
	sum.Add(price.Bill(llm.Usage{Input: 1, Searches: 1}))
	var rows money.Amount
	for _, row := range sum.Rows {
		rows = rows.Add(row.Amount)
	}
	if sum.Total != 15*1000+3*2000+3000 || rows != sum.Total || sum.Rows[0].Tokens != 15 || !slices.Equal(sum.Excluded, []string{catalog.WebSearch}) {
		t.Errorf("%+v", sum)
	}
}
