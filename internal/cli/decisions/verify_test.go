package decisions

import (
	"testing"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/requestlog"
)

func TestVerifyComparesADecisionWithItsRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	same := l.StoreDecided(nil, "Write a haiku about the sea.")[0]

	out, _ := l.Run(cli.ExitOK, "verify", same)
	clitest.MustContain(t, out, "Verified: the decision of "+same+" was reproduced (expected, 7 candidates, 0 policies", "stored prompt")
	out, _ = l.Run(cli.ExitOK, "verify", same, "--json")
	if got := clitest.Lines(t, out)[0]; got["request_id"] != same || got["same"] != true || got["features_verified"] != true {
		t.Errorf("%v", got)
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	changed := l.StoreDecided(func(e *requestlog.Entry) {
		e.Decision.Candidates[0], e.Decision.Candidates[1] = e.Decision.Candidates[1], e.Decision.Candidates[0]
	}, "Write a haiku about the sea.")[0]

	out, err := l.Run(cli.ExitProblems, "verify", changed)
	clitest.MustContain(t, out, "Mismatch: recomputing the decision of "+changed, "WHAT", "plan")
	if err != "" {
		t.Errorf("stderr: got %s, want none", err)
	}
}

func TestVerifyFindsAnotherPrompt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.StoreDecided(func(e *requestlog.Entry) {
		e.Body.Request = []byte(`{"model":"auto:cost","messages":[{"role":"user","content":"Solve x^2 = 4 and prove that there are two solutions."}]}`)
	}, "Write a haiku about the sea.")[0]
	out, _ := l.Run(cli.ExitProblems, "verify", other)
	clitest.MustContain(t, out, "features of the prompt")

	l = newLab(t)
	redacted := l.StoreDecided(func(e *requestlog.Entry) {
		e.Body.Request = []byte(`{"model":"auto:cost","messages":[{"role":"user","content":"Write to [redacted: email]"}]}`)
	}, "Write to ann@example.com")[0]
	out, _ = l.Run(cli.ExitOK, "verify", redacted)
	clitest.MustContain(t, out, "0 policies).")
}

func TestVerifyListsMissingData(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	old := l.StoreDecided(func(e *requestlog.Entry) { e.Decision.Versions.Snapshot = "gone" }, "hi")[0]
	out, _ := l.Run(cli.ExitProblems, "verify", old)
	clitest.MustContain(t, out, "cannot be recomputed", "missing       targets, prices and abilities of version gone", "archived\n")

	l = newLab(t)
	refused := l.StoreDecided(func(e *requestlog.Entry) { e.Decision = nil }, "hi")[0]
	out, _ = l.Run(cli.ExitProblems, "verify", refused)
	clitest.MustContain(t, out, "rejected before a decision was made")
}

func TestVerifyOfAnUnknownRequest(t *testing.T) {
	t.Parallel()
	_, err := newLab(t).Run(cli.ExitFailed, "verify", "req_nobody")
	clitest.MustContain(t, err, `request "req_nobody"`, "fix: see  fairlead requests list")
}
