package models

import (
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/pricebook"
)

func TestShowListsThePriceHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	i, _ := l.Open()
	set := func(output money.Rate, from time.Time) {
		t.Helper()
		price := catalog.Price{Input: money.Rate(3 * money.Dollar / 2), Output: output, CacheRead: new(money.Rate(2 * money.Dollar / 5)), Source: catalog.OverrideSource}
		err := pricebook.Of(i.Config).Update(t.Context(), func(book *catalog.PriceHistory, known *catalog.Catalog) error {
			book.Set(known, catalog.Listing{Provider: "openai", Model: "gpt-4.1", Price: &price}, from)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(money.Rate(6*money.Dollar), clitest.Noon)
	set(money.Rate(7*money.Dollar), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	l.Console.Now = func() time.Time { return clitest.Noon.Add(time.Hour) }
	out, _ := l.Run(cli.ExitOK, "models", "show", "gpt-4.1")
	clitest.Golden(t, "model_history.txt", out)
}

func TestPriceForAllProvidersAppliesToConfiguredModel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Configure(`simulator: "off"
models: [{name: house-model, input_per_mtok: 0.7, output_per_mtok: 2.1, cache_write_1h_per_mtok: 1.4}]
providers:
  - name: mine
    base_url: http://127.0.0.1:1/v1
    models: [{name: house-model, upstream: one}]
`)
	out, _ := l.Run(cli.ExitOK, "models", "list", "--json")
	clitest.MustContain(t, out, `"input_per_mtok_usd":"0.7"`, `"output_per_mtok_usd":"2.1"`, `"cache_write_1h_per_mtok_usd":"1.4"`)
}

func TestShowAModel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.Run(cli.ExitOK, "models", "show", "deepseek-v4-pro")
	clitest.Golden(t, "model_hours.txt", out)
	out, _ = l.Run(cli.ExitOK, "models", "show", "gpt-5.6") // gpt-5.6 is an alias
	clitest.Golden(t, "model_promotion.txt", out)
	out, _ = l.Run(cli.ExitOK, "models", "show", "gemma-4-31b-it")
	clitest.MustContain(t, out, "free tier only")
	_, err := l.Run(cli.ExitFailed, "models", "show", "gpt-5.4-minni")
	clitest.MustContain(t, err, `model "gpt-5.4-minni" not found`, "did you mean", "gpt-5.4-mini")
}
