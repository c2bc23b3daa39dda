-- The parts of request bodies that the turns of a conversation share, once per workspace and day (UTC, days since 1970). A stored
-- request refers to parts of its own day by their address, a keyed hash, so that a day can be dropped as a whole.
-- only: sqlite
create table messages (
    day          bigint not null,
    workspace_id text not null,
    address      blob not null,
    content      blob not null
);
-- only: sqlite
create unique index messages_address on messages (day, workspace_id, address);
-- only: postgres
create table messages (
    day          bigint not null,
    workspace_id text collate "C" not null,
    address      bytea not null,
    content      bytea not null,
    primary key (day, workspace_id, address)
) partition by range (day);
-- only: postgres
create table messages_rest partition of messages default;

-- The days for which a workspace has messages: the number of requests, their length, and the stored bytes. sweep is 1 while
-- messages may have lost their last request.
create table message_days (
    day           bigint not null,
    workspace_id  text collate "C" not null,
    turns         bigint not null,
    request_bytes bigint not null,
    stored_bytes  bigint not null,
    sweep         bigint not null,
    primary key (day, workspace_id)
);
