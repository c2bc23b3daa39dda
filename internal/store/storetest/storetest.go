// Package storetest is the test suite of package store. It runs every query on SQLite and PostgreSQL.
package storetest

import (
	"testing"

	"fairlead.dev/internal/store"
)

// Run runs the suite. open returns a new, empty database opened with Options, which open also closes.
func Run(t *testing.T, open func(t testing.TB) *store.DB) {
	t.Helper()
	db := open(t) // each test uses its own workspaces, so most can share one database
	for _, test := range []struct {
		name string
		run  func(*testing.T, *store.DB)
	}{
		{"EntriesRoundTrip", entriesRoundTrip},
		{"FigurePagesHaveTheFiguresOfEntries", figurePagesHaveTheFiguresOfEntries},
		{"WritingAgainChangesNothing", writingAgainChangesNothing},
		{"BatchesMayOverlap", batchesMayOverlap},
		{"InterruptedNeverReplacesComplete", interruptedNeverReplacesComplete},
		{"UnusualTextIsStored", unusualTextIsStored},
		{"WorkspacesAreIsolated", workspacesAreIsolated},
		{"FiltersAgreeWithMatch", filtersAgreeWithMatch},
		{"SortedListsAreDescending", sortedListsAreDescending},
		{"PagesAfterAnEntryAscend", pagesAfterAnEntryAscend},
		{"PagesAreBounded", pagesAreBounded},
		{"SearchesContinueWhereTheyStopped", searchesContinueWhereTheyStopped},
		{"SearchesPastTheDeadlineFail", searchesPastTheDeadlineFail},
		{"FiguresEqualRecomputation", figuresEqualRecomputation},
		{"VolumesCountAnyFilter", volumesCountAnyFilter},
		{"VolumesReportUncountedTime", volumesReportUncountedTime},
		{"VolumesOfALongRangeStartWithTheFirstEntry", volumesOfALongRangeStartWithTheFirstEntry},
		{"SeriesHasNoGaps", seriesHasNoGaps},
		{"DaysFollowTheTimeZone", daysFollowTheTimeZone},
		{"FiguresRejectInvalidQueries", figuresRejectInvalidQueries},
		{"SpendingComesFromTheLedger", spendingComesFromTheLedger},
		{"SessionsSumTheirTurns", sessionsSumTheirTurns},
		{"SubjectsAreCharged", subjectsAreCharged},
		{"ChargesAreSummedByIntervals", chargesAreSummedByIntervals},
		{"ComparisonsReadBack", comparisonsReadBack},
		{"OutcomesReadBack", outcomesReadBack},
		{"ComparisonsAreCharged", comparisonsAreCharged},
		{"ProviderObjectsReadBack", providerObjectsReadBack},
		{"ReportsEqualRecomputation", reportsEqualRecomputation},
		{"ReportsKeepTheTopValues", reportsKeepTheTopValues},
		{"SimulatedReportsAreDeleted", simulatedReportsAreDeleted},
		{"DeletedUsersAreRemovedFromReports", deletedUsersAreRemovedFromReports},
		{"FactsOfEndedDaysAreSorted", factsOfEndedDaysAreSorted},
		{"ReportsStayExactWhileFactsMove", reportsStayExactWhileFactsMove},
		{"JudgeBiasesReadBack", judgeBiasesReadBack},
		{"BodiesExpireBeforeEntries", bodiesExpireBeforeEntries},
		{"EntriesAreDeletedByFilter", entriesAreDeletedByFilter},
		{"LongestRetentionIsOfAnyWorkspace", longestRetentionIsOfAnyWorkspace},
		{"SettingsAreKept", settingsAreKept},
		{"UsageCounts", usageCounts},
		{"ConversationsRoundTrip", conversationsRoundTrip},
		{"SharedMessagesAreDeletedWithTheirLastRequest", sharedMessagesAreDeletedWithTheirLastRequest},
		{"TurnsNeedFewSearches", turnsNeedFewSearches},
		{"DeletedMessagesLeaveSharedSegments", deletedMessagesLeaveSharedSegments},
		{"ReplicasShareConversations", replicasShareConversations},
		{"TextsAreFound", textsAreFound},
		{"TextSearchContinues", textSearchContinues},
		{"TextsOfTurnsAreFound", textsOfTurnsAreFound},
		{"ManyWritersAndReaders", manyWritersAndReaders},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, db)
		})
	}
	t.Run("OldRollupsExpire", func(t *testing.T) {
		t.Parallel()
		oldRollupsExpire(t, open)
	})
	t.Run("LongReportsReadASample", func(t *testing.T) {
		t.Parallel()
		longReportsReadASample(t, open(t)) // changes the limits
	})
	t.Run("ReportsExpireWithTheEntries", func(t *testing.T) {
		t.Parallel()
		reportsExpireWithTheEntries(t, open(t)) // entries of every workspace expire
	})
	t.Run("RecordsAreExportedInOrder", func(t *testing.T) {
		t.Parallel()
		recordsAreExportedInOrder(t, open(t)) // the journal has the records of every workspace
	})
	t.Run("TextsExpire", func(t *testing.T) {
		t.Parallel()
		textsExpire(t, open(t))
	})
	t.Run("ConversationsExpireByDay", func(t *testing.T) {
		t.Parallel()
		conversationsExpireByDay(t, open(t)) // entries of every workspace expire
	})
}
