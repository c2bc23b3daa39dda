-- Report roll-ups. A batch of entries is queued as one block of facts per workspace, hour and class. A block has the dimensions and
-- figures of each of its requests. class is 1 for simulated requests plus 2 for requests from the playground.
-- only: postgres
create table report_waiting (
    number       bigint generated always as identity primary key,
    workspace_id text collate "C" not null,
    start        bigint not null,
    class        bigint not null,
    facts        bigint not null,
    data         bytea not null
);
-- only: sqlite
create table report_waiting (
    number       integer primary key autoincrement,
    workspace_id text not null,
    start        bigint not null,
    class        bigint not null,
    facts        bigint not null,
    data         blob not null
);
create index report_waiting_start on report_waiting (start, workspace_id, class, facts);

-- Facts by hour, after they were added to the days.
create table report_facts (
    workspace_id text collate "C" not null,
    start        bigint not null,
    number       bigint not null,
    class        bigint not null,
    facts        bigint not null,
    data         bytea not null,
    primary key (workspace_id, start, number)
);

-- Sums of a day by one or two dimensions, such as "model", or "user" and "model"; a unit separator (0x1f) is between
-- two dimensions. A row has the most expensive and the most frequent values,
-- and the sums of the others.
create table report_days (
    workspace_id text collate "C" not null,
    grain        text collate "C" not null,
    start        bigint not null,
    class        bigint not null,
    data         bytea not null,
    primary key (workspace_id, grain, start, class)
);
create index report_days_start on report_days (workspace_id, start);

-- The time from which the report roll-ups of a workspace are complete. The row with an empty workspace applies to all: requests stored
-- by earlier versions have no facts.
create table report_since (
    workspace_id text collate "C" primary key,
    since        bigint not null
);
-- only: postgres
insert into report_since (workspace_id, since)
select '', ceil(extract(epoch from now()) / 3600)::bigint * 3600000 where exists (select 1 from rollup_days);
-- only: sqlite
insert into report_since (workspace_id, since)
select '', (cast(strftime('%s', 'now') as integer) / 3600 + 1) * 3600000 where exists (select 1 from rollup_days);

-- Saved views of the report have the name of the page; those of the request list have an empty one.
alter table saved_views add column page text collate "C" not null default '';
