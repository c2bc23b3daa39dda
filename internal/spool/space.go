package spool

// space counts the bytes of the queue and divides them among the workspaces. The spool's lock guards it.
type space struct {
	limit   int64            // maximum of used
	reserve int64            // bytes that Begin reserves for the end record of an admitted request
	used    int64            // bytes on disk and in batches
	queued  map[string]int64 // bytes of ended entries that are not delivered, by workspace; no zeros
}

// queueShare is how many times the free space a workspace may have queued: one workspace can use three quarters of the queue, and
// each further workspace can use three quarters of the space that the others leave free.
const queueShare = 3

// fits reports whether a number of bytes leaves enough space for the end records of the given number of other requests.
func (s *space) fits(size int64, others int) bool {
	return s.used+size+s.reserve*int64(others) <= s.limit
}

// shares reports whether a workspace may queue the given number of additional bytes.
func (s *space) shares(workspace string, size int64) bool {
	queued := s.queued[workspace]
	return queued == 0 || queued+size <= queueShare*(s.limit-s.used-size)
}

// add counts bytes that a workspace has queued, or that were delivered. Entries of an earlier process were never added.
func (s *space) add(workspace string, size int64) {
	if n := s.queued[workspace] + size; n > 0 {
		s.queued[workspace] = n
	} else {
		delete(s.queued, workspace)
	}
}
