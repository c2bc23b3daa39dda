-- SQLite keeps what only an entry's own page shows, and the texts, of some entries of a workspace in one compressed row each: a row
-- of its own for every entry cost two pages and four trees. Lists need no traces, which are most of a pack. A request's place is the pack's number and where in the pack it is, added
-- up. What was written before stays in its tables. The column oldest is the least id whose texts the row holds, held is how many
-- it holds.
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
