package account

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/internal/route"
)

// maxRoutes is the maximum number of routes of a workspace. Every request compares its model name with them.
const maxRoutes = 50

// SetRoute creates or replaces a route of a workspace. The caller has checked the route.
func (s *Service) SetRoute(ctx context.Context, by Actor, t route.Route) error {
	return s.changeRoutes(ctx, by, func(w *Workspace) (AuditEvent, error) {
		i, known := findRoute(w, t.Name)
		if known {
			event := s.event(by, "route.update", t.Name, w.Routes[i], t)
			w.Routes[i] = t
			return event, nil
		}
		if len(w.Routes) >= maxRoutes {
			return AuditEvent{}, conflict(nil, "A workspace can have at most %d routes. Delete one that is not used.", maxRoutes)
		}
		w.Routes = slices.Insert(w.Routes, i, t)
		return s.event(by, "route.create", t.Name, nil, t), nil
	})
}

// DeleteRoute deletes a route of a workspace. It returns NotFound if there is no such route.
func (s *Service) DeleteRoute(ctx context.Context, by Actor, name string) error {
	return s.changeRoutes(ctx, by, func(w *Workspace) (AuditEvent, error) {
		i, known := findRoute(w, name)
		if !known {
			return AuditEvent{}, missing("route")
		}
		event := s.event(by, "route.delete", name, w.Routes[i], nil)
		w.Routes = slices.Delete(w.Routes, i, i+1)
		return event, nil
	})
}

func findRoute(w *Workspace, name string) (int, bool) {
	return slices.BinarySearchFunc(w.Routes, name, func(t route.Route, name string) int { return strings.Compare(t.Name, name) })
}

func (s *Service) changeRoutes(ctx context.Context, by Actor, change func(w *Workspace) (AuditEvent, error)) error {
	if _, err := s.store.Workspaces.ChangeWorkspace(ctx, by.WorkspaceID, change); err != nil {
		return wrapStoreError(err, "workspace", "change the routes of a workspace")
	}
	s.changed(ctx)
	return nil
}
