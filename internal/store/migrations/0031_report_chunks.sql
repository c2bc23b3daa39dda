-- Facts of ended days, sorted by end user: low and high are the first and the last one of a chunk, and sessions has two bytes of a hash of each
-- session. A query that selects an end user or a session reads few chunks.
create table report_chunks (
    workspace_id text collate "C" not null,
    start        bigint not null,
    number       bigint not null,
    class        bigint not null,
    facts        bigint not null,
    low          text collate "C" not null,
    high         text collate "C" not null,
    sessions     bytea not null,
    data         bytea not null,
    primary key (workspace_id, start, number)
);

-- One of every n facts of an ended day, where n is weight, for queries that would read too many facts.
create table report_samples (
    workspace_id text collate "C" not null,
    start        bigint not null,
    number       bigint not null,
    class        bigint not null,
    weight       bigint not null,
    data         bytea not null,
    primary key (workspace_id, start, number)
);

-- Finds facts of ended days that are not sorted yet.
create index report_facts_start on report_facts (start, workspace_id, class);

-- The stored form of facts and days has changed since migration 26, which no release contains.
-- only: postgres
insert into report_since (workspace_id, since)
select '', ceil(extract(epoch from now()) / 3600)::bigint * 3600000 where exists (select 1 from report_days)
on conflict (workspace_id) do update set since = excluded.since;
-- only: sqlite
insert into report_since (workspace_id, since)
select '', (cast(strftime('%s', 'now') as integer) / 3600 + 1) * 3600000 where exists (select 1 from report_days)
on conflict (workspace_id) do update set since = excluded.since;
delete from report_waiting;
delete from report_facts;
delete from report_days;
