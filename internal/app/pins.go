package app

import (
	"context"
	"time"

	"fairlead.dev/internal/account"
)

// pinTime limits how long the first embedding request of a workspace waits until the pinned model is stored. This is the only
// database write on the request path.
const pinTime = 2 * time.Second

// pins stores the pinned embedding model of a workspace within a time limit.
type pins struct{ accounts *account.Service }

// PinEmbedding pins model unless a model is already pinned. It returns the pinned model.
func (p pins) PinEmbedding(ctx context.Context, workspaceID, model string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pinTime)
	defer cancel()
	return p.accounts.PinEmbedding(ctx, workspaceID, model)
}
