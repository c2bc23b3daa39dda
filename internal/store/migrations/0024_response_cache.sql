-- How the response cache was used: hit, miss or bypass; empty if it was not. Earlier entries did not use it.
alter table requests add column cache text not null default '';

-- The response cache settings of a key, as JSON; empty for none.
alter table keys add column response_cache text not null default '';

-- Requests that the response cache served, and the cost that was saved.
alter table rollup_days add column cache_hits bigint not null default 0;
alter table rollup_days add column cache_saved bigint not null default 0;
alter table rollup_hours add column cache_hits bigint not null default 0;
alter table rollup_hours add column cache_saved bigint not null default 0;
alter table rollup_minutes add column cache_hits bigint not null default 0;
alter table rollup_minutes add column cache_saved bigint not null default 0;
-- only: postgres
alter table rollup_waiting add column cache_hits bigint not null default 0;
-- only: postgres
alter table rollup_waiting add column cache_saved bigint not null default 0;
