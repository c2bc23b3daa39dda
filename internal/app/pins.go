package app

import (
	"context"
	"time"

	"fairlead/internal/account"
)

// pinTime is how long the first embedding request of a workspace may wait for its model to be fixed. It is the one thing
// that a request writes to the database itself.
const pinTime = 2 * time.Second

// pins fixes embedding models, and gives a database up that does not answer.
type pins struct{ accounts *account.Service }

// PinEmbedding sets the model unless one is set, and returns the one that holds.
func (p pins) PinEmbedding(ctx context.Context, workspaceID, model string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pinTime)
	defer cancel()
	return p.accounts.PinEmbedding(ctx, workspaceID, model)
}
