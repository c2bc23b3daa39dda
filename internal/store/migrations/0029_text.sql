-- The words of stored bodies, for full-text search. SQLite has one index per day (text_N, N days since 1970), which is created with the
-- first text of the day and dropped with the day; text_days lists them. A document is named by the place of its request. merge is 1
-- while the index has words of deleted documents.
-- only: sqlite
create table text_days (
    day   integer primary key,
    merge bigint not null
);
-- only: sqlite
create index requests_place on requests (place);
-- only: postgres
create table request_text (
    workspace_id text collate "C" not null,
    request_id   text collate "C" not null,
    words        tsvector not null,
    primary key (workspace_id, request_id)
) partition by range (request_id);
-- only: postgres
create index request_text_words on request_text using gin (words);
-- only: postgres
create table request_text_rest partition of request_text default;
