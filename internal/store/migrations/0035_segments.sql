-- The parts of request bodies in segments: the parts that a request stored first are in one row, so that a conversation is read with
-- one row per turn. A scope is a workspace's day: the number of the day (days since 1970) times 2^24, plus a number per workspace.
-- Requests of earlier versions refer to rows of messages.
alter table message_days add column scope bigint;
update message_days set scope = day * 16777216 + 1 + (select count(*) from message_days m where m.day = message_days.day and m.workspace_id < message_days.workspace_id);
create unique index message_days_scope on message_days (scope);

-- The parts of a segment: lists are not compressed, content has all others. refs has the segments with the parts that the lists
-- refer to, as distances from the number of this one.
-- only: sqlite
create table message_segments (
    number  integer primary key,
    scope   bigint not null,
    refs    blob not null,
    lists   blob not null,
    content blob not null
);
-- only: postgres
create table message_segments (
    number  bigint not null,
    scope   bigint not null,
    refs    bytea not null,
    lists   bytea not null,
    content bytea not null,
    primary key (scope, number)
) partition by range (scope);
-- only: postgres
create table message_segments_rest partition of message_segments default;
-- only: postgres
create sequence message_segment_blocks;

-- The segment of each part.
-- only: sqlite
create table message_parts (
    scope   bigint not null,
    address blob not null,
    segment bigint not null,
    primary key (scope, address)
) without rowid;
-- only: postgres
create table message_parts (
    segment bigint not null,
    scope   bigint not null,
    address bytea not null,
    primary key (scope, address)
) partition by range (scope);
-- only: postgres
create table message_parts_rest partition of message_parts default;
