package app

import (
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
)

// market describes all catalog models.
type market struct{ app *App }

// Catalog returns the active catalog.
func (m market) Catalog() *catalog.Catalog { return m.app.providers.Load().Catalog }

// Rating returns the predicted quality of a chat model, corrected by the outcomes of the workspace.
func (m market) Rating(workspaceID string, model *catalog.Model) *predict.Rating {
	if model.Op != llm.Chat {
		return nil
	}
	learned, ability := m.app.feedback.For(workspaceID), predict.NewTable(m.Catalog()).Ability(model)
	rating := predict.Rate(&ability, func(f predict.Family) float64 { return learned.Shift(model.Name, f) })
	return &rating
}

// Backoffs returns the backoffs of a provider's models and credentials.
func (m market) Backoffs(providerName string) []health.ActiveBackoff {
	var ids []string
	if p, ok := m.app.gateway.Targets().Provider(providerName); ok {
		for _, c := range p.Credentials {
			ids = append(ids, c.ID)
		}
	}
	return slices.DeleteFunc(m.app.health.Backoffs(), func(b health.ActiveBackoff) bool {
		if b.Target == "" {
			return !slices.Contains(ids, b.Credential)
		}
		return !strings.HasPrefix(b.Target, providerName+"/")
	})
}
