package spool

// space counts the bytes of the queue and limits the share of each workspace. The lock of the spool guards space.
type space struct {
	limit   int64            // maximum of used, in bytes
	reserve int64            // bytes that Begin reserves for the end record of an admitted request
	used    int64            // bytes on disk and in batches
	queued  map[string]int64 // bytes of ended entries that are not delivered, by workspace; no zeros
}

// queueShare limits the bytes that a workspace may have queued to a multiple of the free space. One workspace can use three quarters
// of the queue, and each further workspace can use three quarters of the space that the others leave free.
const queueShare = 3

// fits reports whether the queue can take size more bytes and still has space for the end records of the given number of other requests.
func (s *space) fits(size int64, others int) bool {
	return s.used+size+s.reserve*int64(others) <= s.limit
}

// shares reports whether a workspace may add size bytes to the queue.
func (s *space) shares(workspace string, size int64) bool {
	queued := s.queued[workspace]
	return queued == 0 || queued+size <= queueShare*(s.limit-s.used-size)
}

// add adds size to the queued bytes of a workspace; size is negative after a delivery. The result is at least 0, although entries of
// an earlier process and entries written by heal are subtracted without having been added.
func (s *space) add(workspace string, size int64) {
	if n := s.queued[workspace] + size; n > 0 {
		s.queued[workspace] = n
	} else {
		delete(s.queued, workspace)
	}
}
