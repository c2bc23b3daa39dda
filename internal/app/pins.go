package app

import (
	"context"
	"time"

	"fairlead/internal/account"
)

// pinTime limits how long the first embedding request of a workspace waits until its model is stored. This is the only write to the
// database on the request path.
const pinTime = 2 * time.Second

// pins stores the embedding models of workspaces, with a time limit.
type pins struct{ accounts *account.Service }

// PinEmbedding sets the model unless one is set, and returns the model that is set.
func (p pins) PinEmbedding(ctx context.Context, workspaceID, model string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pinTime)
	defer cancel()
	return p.accounts.PinEmbedding(ctx, workspaceID, model)
}
