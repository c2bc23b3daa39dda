-- SQLite stores the details and bodies of several entries of a workspace in one compressed row (a pack), because a row per entry
-- took two pages in four trees. Traces are separate, because they are most of the data and lists do not need them. The place of
-- a request is the number of the pack plus the index in the pack. Earlier entries stay in their tables. oldest is the smallest
-- id whose bodies the row has, held their number.
-- only: sqlite
alter table requests add column place bigint;
-- only: sqlite
create table packs (
    number    integer primary key,
    size      bigint not null,
    summaries blob not null,
    traces    blob not null
);
-- only: sqlite
create table packed_bodies (
    number       integer primary key,
    size         bigint not null,
    workspace_id text not null,
    oldest       text not null,
    held         bigint not null,
    content      blob not null
);
-- only: sqlite
create index packed_bodies_oldest on packed_bodies (workspace_id, oldest, held);
