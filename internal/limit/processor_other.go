//go:build !unix

package limit

import "time"

// processorTime is not told here. As it stands still the process is never busy, and nothing is shed.
func processorTime() time.Duration { return 0 }
