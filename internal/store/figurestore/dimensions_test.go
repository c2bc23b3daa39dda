package figurestore

import (
	"testing"

	"fairlead.dev/internal/requestlog"
)

func TestCoarsestDimensionsForFilter(t *testing.T) {
	t.Parallel()
	one := []string{"x"}
	for _, test := range []struct {
		filter requestlog.RollupFilter
		by     rollupDimensions
		want   rollupDimensions
	}{
		{requestlog.RollupFilter{}, dimensionsNone, dimensionsNone},
		{requestlog.RollupFilter{}, dimensionModel, dimensionModel},
		{requestlog.RollupFilter{Key: one}, dimensionsNone, dimensionKey},
		{requestlog.RollupFilter{Key: one}, dimensionKey, dimensionKey},
		{requestlog.RollupFilter{Key: one}, dimensionModel, dimensionsAll},
		{requestlog.RollupFilter{Key: one, Policy: one}, dimensionsNone, dimensionsAll},
		{requestlog.RollupFilter{Provider: one}, dimensionPolicy, dimensionsAll},
	} {
		if got := coarsest(&test.filter, test.by); got != test.want {
			t.Errorf("%+v by %s needs dimensions %s, want %s", test.filter, test.by, got, test.want)
		}
	}
}
